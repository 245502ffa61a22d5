package acp

import "unicode/utf8"

// plain marks the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, one for each bad byte, so
// that output is valid UTF-8 whatever a tool or a model emitted. HTML characters, U+2028 and U+2029
// stay as they are: all are allowed in JSON.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; ; {
		for i < len(s) && plain[s[i]] { // nearly all of any text
			i++
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
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
