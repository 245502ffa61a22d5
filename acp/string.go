package acp

import (
	"math/bits"
	"unicode/utf8"
)

// plain marks the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// special marks, with the high bit of its byte, the first of eight bytes that
// does not stand for itself in a JSON string: below 0x20, a quote, a backslash or
// not ASCII. Bits above the first mark mean nothing; 0 means that all eight are
// plain. Text is looked at eight bytes at a time: a tool's output may be long.
func special(s string) uint64 {
	_ = s[7]
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	const ones = 0x0101010101010101
	return (x | (x - 0x20*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & (0x80 * ones)
}

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, one for each bad byte, so
// that output is valid UTF-8 whatever a tool or a model emitted. HTML characters, U+2028 and U+2029
// stay as they are: all are allowed in JSON.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start, wide := 0, 0
	for i := 0; i < len(s); {
		if i >= wide && len(s)-i >= 8 {
			m := special(s[i:])
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			wide = i + 8 // where one is, more may be: go on byte by byte
		}
		c := s[i]
		if plain[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			wide = i + 64 // a text in another script
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendTextChunk appends a whole session/update line, newline included, for one piece of streamed
// text: the hot path, which costs no allocation when dst is large enough. kind is the update kind
// (agent_message_chunk, agent_thought_chunk or user_message_chunk) and must need no escaping; an
// empty messageID is left out.
func AppendTextChunk(dst []byte, sessionID, kind, messageID, text string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	dst = AppendString(dst, sessionID)
	dst = append(dst, `,"update":{"sessionUpdate":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","content":{"type":"text","text":`...)
	dst = AppendString(dst, text)
	dst = append(dst, '}')
	if messageID != "" {
		dst = append(dst, `,"messageId":`...)
		dst = AppendString(dst, messageID)
	}
	return append(dst, "}}}\n"...)
}
