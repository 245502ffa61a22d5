// Package lossy reads bytes that ought to be UTF-8 as text. Go's own ways put one
// U+FFFD for each wrong byte, or one for a run of them; those who wrote for Claude
// Code and for Codex have seen neither.
package lossy

import (
	"bytes"
	"unicode/utf8"
)

// Text decodes bytes as UTF-8. What is wrong becomes U+FFFD, one for as many bytes
// as begin a character, else one a byte: as Node.js and Rust's from_utf8_lossy do
// (WHATWG Encoding, UTF-8 decoder; Unicode 16, 3.9, "maximal subpart").
func Text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out bytes.Buffer
	out.Grow(len(b) + 8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = begun(b)
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// begun returns how many bytes at the start of b, at least one, begin a character
// that they do not end.
func begun(b []byte) int {
	low, high, more := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		more = 1
	case c >= 0xe0 && c <= 0xef:
		more = 2
	case c >= 0xf0 && c <= 0xf4:
		more = 3
	}
	switch b[0] { // no long forms, no surrogates, nothing beyond U+10FFFF
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for ; n <= more && n < len(b) && low <= b[n] && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}
