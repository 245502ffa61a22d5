// Package jsonstring writes JSON strings. encoding/json would do, but escapes <,
// > and & or costs an encoder and a copy a string, and what is written here is a
// session's log, a request with the whole conversation, each frame to the client
// and what hooks search by grep.
//
// It knows two forms, which differ in what JSON leaves open. Both write text as
// raw UTF-8, and a byte that is not UTF-8 as U+FFFD: the character and not an
// escape, so that what is read back and written again is the same bytes.
package jsonstring

import "unicode/utf8"

// Form says what is escaped, and how.
type Form struct {
	// escapes are what stands for an ASCII character, "" where it stands for
	// itself; plain are those, for all bytes.
	escapes [utf8.RuneSelf]string
	plain   [256]bool
	// separators: U+2028 and U+2029 are escaped.
	separators bool
}

// Stringify is what JavaScript's JSON.stringify writes (ECMA-262, QuoteJSONString).
var Stringify = newForm(map[byte]string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}, false)

// Lines also escapes U+2028 and U+2029, so that no reader of lines takes them for
// the end of one. It is the form of session logs: the digests in them depend on
// each byte of it.
var Lines = newForm(map[byte]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, true)

func newForm(short map[byte]string, separators bool) *Form {
	f := &Form{separators: separators}
	// One string that all are parts of: this runs at each start of the program.
	const hex, size = "0123456789abcdef", len(`\u0000`)
	var all []byte
	for c := range byte(' ') {
		all = append(all, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
	}
	long := string(all)
	for c := range int(' ') {
		f.escapes[c] = long[size*c : size*(c+1)]
	}
	for c, s := range short {
		f.escapes[c] = s
	}
	f.escapes['"'], f.escapes['\\'] = `\"`, `\\`
	for c, s := range f.escapes {
		f.plain[c] = s == ""
	}
	return f
}

// Append appends s in quotes.
func (f *Form) Append(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start, plain := 0, &f.plain
	for i := 0; ; {
		for i < len(s) && plain[s[i]] { // nearly all of any text
			i++
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if c < utf8.RuneSelf {
			dst = append(append(dst, s[start:i]...), f.escapes[c]...)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		instead := ""
		switch {
		case r == utf8.RuneError && n == 1:
			instead = "\ufffd"
		case r == 0x2028 && f.separators:
			instead = `\u2028`
		case r == 0x2029 && f.separators:
			instead = `\u2029`
		default:
			i += n
			continue
		}
		dst = append(append(dst, s[start:i]...), instead...)
		i += n
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}
