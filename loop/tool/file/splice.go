package file

import (
	"bytes"
	"slices"
	"strings"
)

// text is a file's bytes with the text that a model sees of them: no byte order
// mark, and every line end \n.
type text struct {
	raw  []byte
	bom  int // length of the byte order mark
	norm string
	// crs holds, for each \r that norm leaves out, the offset in norm of the \n
	// after it.
	crs []int
}

var bom = []byte("\uFEFF")

func newText(raw []byte) text {
	t := text{raw: raw}
	body := raw
	if bytes.HasPrefix(raw, bom) {
		t.bom = len(bom)
		body = raw[t.bom:]
	}
	if !bytes.Contains(body, []byte("\r\n")) {
		t.norm = string(body)
		return t
	}
	var b strings.Builder
	b.Grow(len(body))
	for {
		i := bytes.Index(body, []byte("\r\n"))
		if i < 0 {
			b.Write(body)
			break
		}
		b.Write(body[:i])
		t.crs = append(t.crs, b.Len())
		b.WriteByte('\n')
		body = body[i+2:]
	}
	t.norm = b.String()
	return t
}

// offset is where a place in norm is in raw. A \n that was \r\n is at its \r:
// text that ends before a line end leaves it whole, text that starts with one
// takes it whole.
func (t text) offset(norm int) int {
	before, _ := slices.BinarySearch(t.crs, norm)
	return t.bom + norm + before
}

// crlf reports whether the line end at offset i of norm was \r\n.
func (t text) crlf(i int) bool {
	_, ok := slices.BinarySearch(t.crs, i)
	return ok
}

// find returns where old is in norm, without overlaps, and whether two of its
// occurrences overlap: "aa" is in "aaa" once, but not at one place.
func (t text) find(old string) (at []int, overlap bool) {
	for from := 0; ; {
		i := strings.Index(t.norm[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + len(old)
	}
	if len(at) == 1 {
		overlap = strings.Contains(t.norm[at[0]+1:], old)
	}
	return at, overlap
}

// splice replaces the places at, each length bytes of norm, by new, and leaves
// every byte outside them as it is. Line ends in new become what the file has at
// that place, so a file with both keeps both.
func (t text) splice(at []int, length int, new string) []byte {
	new = normalise(new)
	out := make([]byte, 0, len(t.raw)+len(at)*len(new))
	last := 0
	for _, i := range at {
		out = append(out, t.raw[last:t.offset(i)]...)
		if t.crs != nil && t.style(i, i+length) {
			out = append(out, strings.ReplaceAll(new, "\n", "\r\n")...)
		} else {
			out = append(out, new...)
		}
		last = t.offset(i + length)
	}
	return append(out, t.raw[last:]...)
}

// style reports whether lines put at [from, to) end in \r\n: as the first line
// end inside does, else the next after it, else the last before it.
func (t text) style(from, to int) bool {
	if i := strings.IndexByte(t.norm[from:to], '\n'); i >= 0 {
		return t.crlf(from + i)
	}
	if i := strings.IndexByte(t.norm[to:], '\n'); i >= 0 {
		return t.crlf(to + i)
	}
	if i := strings.LastIndexByte(t.norm[:from], '\n'); i >= 0 {
		return t.crlf(i)
	}
	return false
}

func normalise(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// similar returns the line, counted from 1, at which the first line of old that
// is not blank is in the text but for white space, 0 when it is nowhere.
func (t text) similar(old string) int {
	want := ""
	for l := range strings.Lines(old) {
		if want = strings.TrimSpace(l); want != "" {
			break
		}
	}
	if want == "" {
		return 0
	}
	n := 0
	for l := range strings.Lines(t.norm) {
		n++
		if strings.TrimSpace(l) == want {
			return n
		}
	}
	return 0
}
