package session

import (
	"strconv"
	"unicode/utf8"
)

// objectWriter appends the members of one JSON object. It exists because the
// log is written once per event and encoding/json's reflection and its
// re-validation of MarshalJSON results would dominate a 20 MB prompt.
type objectWriter struct {
	dst []byte
	any bool
}

func (w *objectWriter) key(k string) {
	if w.any {
		w.dst = append(w.dst, ',')
	}
	w.any = true
	w.dst = append(w.dst, '"')
	w.dst = append(w.dst, k...)
	w.dst = append(w.dst, '"', ':')
}

func (w *objectWriter) str(k, v string) {
	w.key(k)
	w.dst = AppendString(w.dst, v)
}

func (w *objectWriter) optStr(k, v string) {
	if v != "" {
		w.str(k, v)
	}
}

func (w *objectWriter) int(k string, v int64) {
	w.key(k)
	w.dst = strconv.AppendInt(w.dst, v, 10)
}

func (w *objectWriter) bool(k string, v bool) {
	w.key(k)
	w.dst = strconv.AppendBool(w.dst, v)
}

// plain marks the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Valid UTF-8 comes back byte for byte
// from any decoder; a byte that is not UTF-8 becomes U+FFFD, as JSON cannot
// hold it. U+2028 and U+2029 are escaped, so that no reader takes them for line
// ends.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; ; {
		// Nearly all of any text passes here: a request holds the whole
		// conversation each time.
		for i < len(s) && plain[s[i]] {
			i++
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
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
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == 0x2028 || r == 0x2029 {
			dst = append(dst, s[start:i]...)
			switch r {
			case 0x2028:
				dst = append(dst, `\u2028`...)
			case 0x2029:
				dst = append(dst, `\u2029`...)
			default:
				// As a character, not as an escape: what is read back and written
				// again must be the same bytes, or digests would differ.
				dst = append(dst, "\ufffd"...)
			}
			i += n
			start = i
			continue
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }
