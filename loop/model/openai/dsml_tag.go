package openai

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// tag is one tag of DeepSeek's markup.
type tag struct {
	// old: a token of the older markup; closes says that it is an end token.
	old, closes bool
	// word is the tag's name in lower case, with _ for ▁.
	word  string
	attrs map[string]string
	// empty: the tag closes itself.
	empty bool
}

// verdict says whether bytes are what is looked for; unsure that more of them
// are needed to tell.
type verdict int

const (
	no verdict = iota
	unsure
	yes
)

// maxTag bounds how long a tag may be before it is taken for none.
const maxTag = 4096

// tagReader reads runes; bad is set when they run out or do not fit.
type tagReader struct {
	s []byte
	i int
}

// peek returns the next rune, 0 when it has not come whole.
func (r *tagReader) peek() (rune, int) {
	if !utf8.FullRune(r.s[r.i:]) {
		return 0, 0
	}
	return utf8.DecodeRune(r.s[r.i:])
}

// skip steps over runes that fit and returns how many there were.
func (r *tagReader) skip(fits func(rune) bool) int {
	n := 0
	for {
		c, size := r.peek()
		if size == 0 || !fits(c) {
			return n
		}
		r.i += size
		n++
	}
}

func (r *tagReader) ended() bool { _, size := r.peek(); return size == 0 }

func blank(c rune) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// bar are the bars seen: full-width, ASCII, double.
func bar(c rune) bool { return c == '｜' || c == '|' || c == '‖' }

// fill is what comes between the bars and around them. Line ends are no part of
// it: < at the end of a line is a comparison.
func fill(c rune) bool { return c == ' ' || bar(c) || c == '_' || c == '▁' }

func wordRune(c rune) bool {
	return c == '_' || c == '▁' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// readMark reads a tag up to its word. The reader is left after the word. A
// word at the end of the input may go on and is unsure.
func readMark(r *tagReader) (tg tag, v verdict) {
	if len(r.s) == 0 {
		return tg, unsure
	}
	if r.s[0] != '<' {
		return tg, no
	}
	r.i = 1
	r.skip(func(c rune) bool { return c == ' ' })
	if c, size := r.peek(); c == '/' {
		tg.closes = true
		r.i += size
	}
	bars := r.skip(fill)
	if r.ended() {
		return tg, unsure
	}
	if bars == 0 || !strings.ContainsFunc(string(r.s[1:r.i]), bar) {
		return tg, no
	}
	switch v, size := hasPrefix(r.s[r.i:], "dsml"); {
	case v == unsure:
		return tg, unsure
	case v == yes:
		r.i += size
		bars := r.i
		r.skip(fill)
		if r.ended() {
			return tg, unsure
		}
		if !strings.ContainsFunc(string(r.s[bars:r.i]), bar) {
			return tg, no
		}
	default:
		tg.old = true
	}
	start := r.i
	r.skip(wordRune)
	tg.word = strings.ToLower(strings.ReplaceAll(string(r.s[start:r.i]), "▁", "_"))
	if tg.old && !strings.HasPrefix(tg.word, "tool_") && !strings.HasPrefix("tool_", tg.word) {
		return tg, no
	}
	if r.ended() {
		return tg, unsure
	}
	if tg.word == "" {
		return tg, no
	}
	return tg, yes
}

// hasPrefix reports whether s begins with the lower-case word, in any case.
func hasPrefix(s []byte, word string) (verdict, int) {
	n := min(len(s), len(word))
	if !strings.EqualFold(string(s[:n]), word[:n]) {
		return no, 0
	}
	if n < len(word) {
		return unsure, 0
	}
	return yes, n
}

// isOuter reports whether the word is that of the tag round the calls.
func isOuter(word string) bool {
	switch word {
	case "tool_calls", "function_calls", "calls", "tool_call", "function_call", "tool_use", "tools":
		return true
	}
	return false
}

// isMarkup reports whether text that begins with < is markup. A word that the
// markup has decides at once, whatever follows it, since broken markup is not to
// be shown either; with any other it must look like a tag.
func isMarkup(s []byte) verdict {
	r := tagReader{s: s}
	tg, v := readMark(&r)
	if v != yes {
		return v
	}
	if tg.old {
		switch tg.word {
		case "tool_calls_begin", "tool_calls_end", "tool_call_begin", "tool_call_end", "tool_sep":
			_, _, v := readTag(s)
			return v
		}
		return no
	}
	if isOuter(tg.word) || tg.word == "invoke" || tg.word == "parameter" {
		return yes
	}
	_, _, v = readTag(s)
	return v
}

// readTag reads a whole tag and returns its length.
func readTag(s []byte) (tag, int, verdict) {
	r := tagReader{s: s}
	tg, v := readMark(&r)
	if v != yes {
		return tg, 0, v
	}
	for {
		r.skip(func(c rune) bool { return blank(c) || bar(c) })
		c, size := r.peek()
		switch {
		case size == 0:
			return tg, 0, unsure
		case c == '>':
			if tg.old {
				tg.closes = strings.HasSuffix(tg.word, "_end")
			}
			return tg, r.i + size, yes
		case tg.old || tg.empty:
			return tg, 0, no
		case c == '/':
			tg.empty = true
			r.i += size
		default:
			if v := r.attr(&tg); v != yes {
				return tg, 0, v
			}
		}
	}
}

// attr reads name="value"; either quote will do.
func (r *tagReader) attr(tg *tag) verdict {
	start := r.i
	r.skip(wordRune)
	name := strings.ToLower(string(r.s[start:r.i]))
	r.skip(blank)
	c, size := r.peek()
	switch {
	case size == 0:
		return unsure
	case c != '=' || name == "":
		return no
	}
	r.i += size
	r.skip(blank)
	quote, size := r.peek()
	switch {
	case size == 0:
		return unsure
	case quote != '"' && quote != '\'':
		return no
	}
	r.i += size
	end := bytes.IndexByte(r.s[r.i:], byte(quote))
	if end < 0 {
		return unsure
	}
	if tg.attrs == nil {
		tg.attrs = map[string]string{}
	}
	tg.attrs[name] = string(r.s[r.i : r.i+end])
	r.i += end + 1
	return yes
}

// begun reports whether the undecided end of an answer is the beginning of
// markup and not some text with < in it.
func begun(s []byte) bool {
	if len(s) == 0 || s[0] != '<' {
		return false
	}
	rest := bytes.TrimLeft(s[1:], "/ ")
	c, size := utf8.DecodeRune(rest)
	if !bar(c) {
		return false
	}
	// <| alone, and with one letter, is an operator.
	return c != '|' || len(bytes.TrimLeft(rest[size:], "|_ ▁")) > 1
}

// cutTag splits s at the tag of a word of the older markup.
func cutTag(s []byte, word string) (before, after []byte, ok bool) {
	for i := range s {
		if s[i] != '<' {
			continue
		}
		if tg, n, v := readTag(s[i:]); v == yes && tg.old && tg.word == word {
			return s[:i], s[i+n:], true
		}
	}
	return nil, nil, false
}

func trim(s []byte) []byte     { return bytes.TrimSpace(s) }
func trimLeft(s []byte) []byte { return bytes.TrimLeft(s, " \t\r\n") }

// codeTracker tells whether the place where a text stands is inside a code span
// or block, by as much of Markdown as that takes. A span ends with its line:
// a lone backtick must not hide what follows.
type codeTracker struct {
	// run is the length of the backticks or tildes just read, of which is ch.
	run int
	ch  byte
	// began: the run is the first of its line.
	began bool
	// line: something other than an indent or a list's mark is on the line.
	line bool
	// fence and size are those of the open block; info: its first line is not
	// over; closing: a run that closes it was read and nothing after it.
	fence         byte
	size          int
	info, closing bool
	// span is the length of the open span's backticks.
	span int
}

// inside settles a run, which the caller says has ended, and tells.
func (t *codeTracker) inside() bool {
	t.settle()
	return t.span > 0 || t.fence != 0 && !t.closing
}

func (t *codeTracker) add(c byte) {
	if c == '`' || c == '~' {
		if t.run > 0 && t.ch != c {
			t.settle()
		}
		if t.run == 0 {
			t.ch, t.began = c, !t.line
		}
		t.run++
		return
	}
	t.settle()
	switch {
	case c == '\n':
		if t.closing {
			t.fence = 0
		}
		t.line, t.info, t.closing, t.span = false, false, false, 0
	case t.fence != 0 && !blank(rune(c)) && c != '>':
		t.line, t.closing = true, false
	case !strings.ContainsRune(" \t>-*+.)0123456789", rune(c)):
		t.line = true
	}
}

// text adds all of s.
func (t *codeTracker) text(s string) {
	for i := range len(s) {
		if c := s[i]; t.run > 0 || !t.line || t.closing || c == '`' || c == '~' || c == '\n' {
			t.add(c)
		} // else nothing changes before the line's end
	}
}

func (t *codeTracker) settle() {
	n := t.run
	if n == 0 {
		return
	}
	t.run = 0
	t.line = true
	switch {
	case t.fence != 0 && t.info:
		// A fence of backticks has none on its first line: this was a span.
		if t.ch == '`' && t.fence == '`' {
			t.fence, t.info = 0, false
		}
	case t.fence != 0:
		t.closing = t.began && t.ch == t.fence && n >= t.size
	case n >= 3 && t.began:
		t.fence, t.size, t.info = t.ch, n, true
	case t.ch != '`':
	case t.span == 0:
		t.span = n
	case t.span == n:
		t.span = 0
	}
}
