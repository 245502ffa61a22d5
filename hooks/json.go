package hooks

import (
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"acp-agent/internal/jsonstring"
)

// Payloads are written by hand rather than by encoding/json because hooks grep
// them (public configs): the key order is fixed, nothing is blank between tokens, and
// text goes out as raw UTF-8 where encoding/json escapes <, >, & and U+2028.

// ObjectWriter appends one JSON object, members in the order of the calls.
type ObjectWriter struct {
	dst []byte
	any bool
}

// NewObject starts an object at the end of dst.
func NewObject(dst []byte) *ObjectWriter { return &ObjectWriter{dst: append(dst, '{')} }

// Close ends the object and returns all bytes.
func (w *ObjectWriter) Close() []byte { return append(w.dst, '}') }

// Key starts a member; its value must be appended next.
func (w *ObjectWriter) Key(k string) {
	if w.any {
		w.dst = append(w.dst, ',')
	}
	w.any = true
	w.dst = AppendString(w.dst, k)
	w.dst = append(w.dst, ':')
}

// Str adds a string member.
func (w *ObjectWriter) Str(k, v string) { w.Key(k); w.dst = AppendString(w.dst, v) }

// OptStr adds a string member unless v is empty.
func (w *ObjectWriter) OptStr(k, v string) {
	if v != "" {
		w.Str(k, v)
	}
}

// Int adds a number member.
func (w *ObjectWriter) Int(k string, v int64) { w.Key(k); w.dst = strconv.AppendInt(w.dst, v, 10) }

// Bool adds a boolean member.
func (w *ObjectWriter) Bool(k string, v bool) { w.Key(k); w.dst = strconv.AppendBool(w.dst, v) }

// Null adds a null member.
func (w *ObjectWriter) Null(k string) { w.Key(k); w.dst = append(w.dst, "null"...) }

// Raw adds a member from JSON text, compacted and in raw UTF-8; null when v is
// empty or not valid JSON.
func (w *ObjectWriter) Raw(k string, v json.RawMessage) { w.Key(k); w.dst = AppendJSON(w.dst, v) }

// Value adds a member from any value that encoding/json can write.
func (w *ObjectWriter) Value(k string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = nil
	}
	w.Raw(k, b)
}

// Object adds a member that fn writes.
func (w *ObjectWriter) Object(k string, fn func(*ObjectWriter)) {
	w.Key(k)
	in := NewObject(w.dst)
	fn(in)
	w.dst = in.Close()
}

// AppendString appends s as a JSON string, as JSON.stringify would: everything
// but controls, quote and backslash as it is. A byte that is not UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte { return jsonstring.Stringify.Append(dst, s) }

// AppendJSON appends JSON text in compact form, its strings in raw UTF-8 instead
// of \u escapes, members in the order they have. Text that is empty or no JSON
// becomes null.
func AppendJSON(dst []byte, raw json.RawMessage) []byte {
	if !json.Valid(raw) {
		return append(dst, "null"...)
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := i + 1
			escaped := false
			for raw[end] != '"' {
				if raw[end] == '\\' {
					escaped = true
					end++
				}
				end++
			}
			end++
			if escaped || !utf8.Valid(raw[i:end]) {
				var s string
				// The text is valid JSON, so a string in it decodes.
				_ = json.Unmarshal(raw[i:end], &s)
				dst = AppendString(dst, s)
			} else {
				dst = append(dst, raw[i:end]...)
			}
			i = end
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// EscapeASCII rewrites JSON text so that it holds ASCII only. It is for hooks
// that decode stdin with a locale's code page (claude-plugins-official#4104).
func EscapeASCII(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			out = append(out, b[i])
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		i += n
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			out = appendU(appendU(out, r1), r2)
		} else {
			out = appendU(out, r)
		}
	}
	return out
}

const hexDigits = "0123456789abcdef"

func appendU(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
