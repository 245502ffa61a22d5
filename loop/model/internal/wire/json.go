package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Scanner reads one JSON text field by field. It exists for speed: a delta is
// some 300 bytes of which three fields matter, and it comes some hundred times
// a second in each session. It is lenient where leniency costs nothing (a field
// of the wrong type counts as absent) and reads all that encoding/json reads,
// which a fuzz test holds. After a fault Bad reports true and every method
// returns zero values.
type Scanner struct {
	b   []byte
	i   int
	bad bool
}

// NewScanner returns a scanner at the beginning of b, which it does not change.
func NewScanner(b []byte) Scanner { return Scanner{b: b} }

// Bad reports whether what was read is no JSON.
func (s *Scanner) Bad() bool { return s.bad }

// Rest returns what follows the value that was read.
func (s *Scanner) Rest() []byte { return s.b[s.i:] }

func (s *Scanner) fail() { s.bad, s.i = true, len(s.b) }

// Peek skips white space and returns the next byte, 0 at the end.
func (s *Scanner) Peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// Enter steps into an object or array that opens with c. A value of another
// kind is skipped and false returned.
func (s *Scanner) Enter(c byte) bool {
	if s.Peek() != c {
		s.Skip()
		return false
	}
	s.i++
	return true
}

// First reports whether a just entered container has an element, Next whether
// another follows; both step out of it when not.
func (s *Scanner) First(closing byte) bool {
	switch s.Peek() {
	case 0:
		s.fail()
		return false
	case closing:
		s.i++
		return false
	}
	return true
}

func (s *Scanner) Next(closing byte) bool {
	switch s.Peek() {
	case ',':
		s.i++
		return true
	case closing:
		s.i++
	default:
		s.fail()
	}
	return false
}

// Key reads an object key and the colon after it.
func (s *Scanner) Key() []byte {
	if s.Peek() != '"' {
		s.fail()
		return nil
	}
	raw, escaped := s.span()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	if s.Peek() != ':' {
		s.fail()
		return nil
	}
	s.i++
	return raw
}

// span reads a string and returns what is between its quotes.
func (s *Scanner) span() (raw []byte, escaped bool) {
	start := s.i + 1
	j := bytes.IndexByte(s.b[start:], '"')
	if j < 0 {
		s.fail()
		return nil, false
	}
	if e := bytes.IndexByte(s.b[start:start+j], '\\'); e >= 0 {
		return s.escaped(start, start+e)
	}
	s.i = start + j + 1
	return s.b[start : start+j], false
}

// escaped reads a string that begins at start and whose first escape is at i.
func (s *Scanner) escaped(start, i int) (raw []byte, escaped bool) {
	for ; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			s.i = i + 1
			return s.b[start:i], true
		}
	}
	s.fail()
	return nil, false
}

// Str reads a string. ok is false for null and for a value of another kind,
// which is skipped.
func (s *Scanner) Str() (v string, ok bool) {
	if s.Peek() != '"' {
		s.Skip()
		return "", false
	}
	raw, escaped := s.span()
	if s.bad {
		return "", false
	}
	if escaped || !utf8.Valid(raw) {
		var room [128]byte // most deltas fit, and are then copied once
		raw = appendUnescaped(room[:0], raw)
	}
	return string(raw), true
}

// Word reads a string without copying it: what it returns is part of the input
// unless it had escapes. It is nil for null and for a value of another kind.
func (s *Scanner) Word() []byte {
	if s.Peek() != '"' {
		s.Skip()
		return nil
	}
	raw, escaped := s.span()
	if escaped {
		raw = appendUnescaped(nil, raw)
	}
	return raw
}

// Int reads a number, or a string that holds one.
func (s *Scanner) Int() (v int64, ok bool) {
	c := s.Peek()
	raw := s.Raw()
	if c == '"' && len(raw) >= 2 {
		raw = raw[1 : len(raw)-1]
	} else if c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	if v, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f > 1e15 || f < -1e15 {
		return 0, false
	}
	return int64(f), true
}

// Raw skips a value and returns its bytes.
func (s *Scanner) Raw() []byte {
	s.Peek()
	start := s.i
	s.Skip()
	if s.bad {
		return nil
	}
	return s.b[start:s.i]
}

// Null reports whether the next value is null, and skips it if so.
func (s *Scanner) Null() bool {
	if s.Peek() != 'n' {
		return false
	}
	s.Skip()
	return true
}

// Skip steps over one value.
func (s *Scanner) Skip() {
	switch c := s.Peek(); c {
	case '"':
		s.span()
	case '{', '[':
		s.skipContainer()
	default:
		start := s.i
		for s.i < len(s.b) && !endsLiteral[s.b[s.i]] {
			s.i++
		}
		if s.i == start || c != '-' && c != 't' && c != 'f' && c != 'n' && (c < '0' || c > '9') {
			s.fail()
		}
	}
}

// endsLiteral has what may follow a number, true, false or null.
var endsLiteral = [256]bool{',': true, ']': true, '}': true, ' ': true, '\t': true, '\r': true, '\n': true}

func (s *Scanner) skipContainer() {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			s.span()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.i++
				return
			}
		}
		s.i++
	}
	s.fail()
}

// appendUnescaped appends what the inside of a JSON string stands for. Bytes that
// are not UTF-8 and half surrogate pairs become U+FFFD, as encoding/json has it.
func appendUnescaped(out, raw []byte) []byte {
	if out == nil {
		out = make([]byte, 0, len(raw))
	}
	for i := 0; i < len(raw); {
		c := raw[i]
		if c != '\\' {
			if c < utf8.RuneSelf {
				out = append(out, c)
				i++
				continue
			}
			r, n := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		if i+1 >= len(raw) {
			break
		}
		c = raw[i+1]
		i += 2
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(raw[i:])
			i = min(i+4, len(raw))
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+1 < len(raw) && raw[i] == '\\' && raw[i+1] == 'u' {
					pair = utf16.DecodeRune(r, hex4(raw[i+2:]))
				}
				if pair != utf8.RuneError {
					i += 6
				}
				r = pair
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
	return out
}

// hex4 reads four hex digits, U+FFFD when there are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return utf8.RuneError
	}
	v, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(v)
}
