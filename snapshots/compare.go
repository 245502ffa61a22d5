package snapshots

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Difference is one place where a run did not give what is recorded.
type Difference struct {
	// File is the recorded file, relative to the scenario.
	File string
	// Path is where in it: a line, then a field (line 4 data.reason.kind).
	Path string
	Want string
	Got  string
}

func (d Difference) String() string {
	p := 0 // bytes that both begin with
	for p < min(len(d.Want), len(d.Got)) && d.Want[p] == d.Got[p] {
		p++
	}
	for p > 0 && p < len(d.Want) && !utf8.RuneStart(d.Want[p]) {
		p--
	}
	from := 0
	if p > clipped/2 {
		from = p - clipped/4
		for !utf8.RuneStart(d.Want[from]) {
			from--
		}
	}
	want, got := clipFrom(d.Want, from), clipFrom(d.Got, from)
	if unseen(d.Want[p:]) || unseen(d.Got[p:]) {
		want, got = escaped(want), escaped(got)
	}
	return fmt.Sprintf("%s\n  want %s\n  got  %s", strings.TrimSpace(d.File+" "+d.Path), want, got)
}

// clipped is how much a report shows of one value, in bytes; the artifacts hold all
// of it.
const clipped = 600

func clip(s string) string { return clipFrom(s, 0) }

// clipFrom bounds what a report shows of a value, the part before from left out
// where the value is too long.
func clipFrom(s string, from int) string {
	if len(s) <= clipped {
		return s
	}
	from = min(from, len(s))
	cut := strings.ToValidUTF8(s[from:min(from+clipped, len(s))], "")
	var b strings.Builder
	if from > 0 {
		fmt.Fprintf(&b, "(%d bytes before) …", from)
	}
	b.WriteString(cut)
	if rest := len(s) - from - len(cut); rest > 0 {
		fmt.Fprintf(&b, "… (%d bytes more)", rest)
	}
	return b.String()
}

// unseen reports whether a text begins with what nobody sees on a screen, or sees
// only with the letter before it: a space of another width, an accent of its own.
func unseen(s string) bool {
	for range 2 {
		r, n := utf8.DecodeRuneInString(s)
		if r != ' ' && unicode.In(r, unicode.M, unicode.Cf, unicode.Z) {
			return true
		}
		s = s[n:]
	}
	return false
}

// escaped writes a text in ASCII.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf || r == '…' {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u{%04x}", r)
	}
	return b.String()
}

// resyncWithin is how many lines too few or too many are found as such.
const resyncWithin = 50

// compareLines reports, line by line, the first field in which two files
// differ. Lines too few or too many are one difference, so that what is changed in
// one place is not reported for all that follows it.
func compareLines(file string, want, got []record) []Difference {
	var out []Difference
	add := func(i int, path, w, g string) {
		line := 1
		switch { // blank lines count, so a record's place is not its line
		case i < len(want):
			line = want[i].line
		case len(want) > 0:
			line = want[len(want)-1].line + 1
		}
		at := "line " + strconv.Itoa(line) + " " + strings.TrimPrefix(path, ".")
		out = append(out, Difference{file, strings.TrimSuffix(at, " "), w, g})
	}
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		d := firstDifference(want[i], got[j], "")
		if d != nil {
			if few, many := resync(want[i:], got[j:]); few > 0 {
				add(i, "", want[i].String()+more(few-1), "nothing")
				i += few
				continue
			} else if many > 0 {
				add(i, "", "no line before this one", got[j].String()+more(many-1))
				j += many
				continue
			}
			add(i, d.Path, d.Want, d.Got)
		}
		i, j = i+1, j+1
	}
	switch {
	case i < len(want):
		add(i, "", want[i].String()+more(len(want)-i-1), "the end of the output")
	case j < len(got):
		add(i, "", "the end of the file", got[j].String()+more(len(got)-j-1))
	}
	return out
}

// resync returns how many lines of want did not come, or how many came that want
// does not have, before the two go on alike for two lines; zeros when a line is
// another one.
func resync(want, got []record) (few, many int) {
	goesOn := func(i, j int) bool {
		for k := range 2 {
			switch endW, endG := i+k >= len(want), j+k >= len(got); {
			case endW && endG:
				return k > 0
			case endW || endG || shape(want[i+k]) != shape(got[j+k]):
				return false
			}
		}
		return true
	}
	if goesOn(1, 1) {
		return 0, 0
	}
	for n := 1; n <= resyncWithin; n++ {
		switch {
		case n < len(want) && goesOn(n, 0):
			return n, 0
		case n < len(got) && goesOn(0, n):
			return 0, n
		}
	}
	return 0, 0
}

// shape is a line with the numbers of its tokens left out, which move with what
// precedes it.
func shape(r record) string { return tokens().ReplaceAllString(r.String(), "{{$1}}") }

var tokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{([a-z]+):[0-9]+\}\}`) })

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d lines more", n)
}

// firstDifference walks two values in the order of want and returns the first
// field that differs, nil when they are equal. Member order does not matter.
func firstDifference(want, got *value, path string) *Difference {
	if want.kind != got.kind {
		return &Difference{Path: path, Want: want.String(), Got: got.String()}
	}
	switch want.kind {
	case arrayValue:
		came := got.items
		if strings.HasSuffix(path, ".header.tools") || strings.HasSuffix(path, ".head.tools") {
			came = withoutNewTools(want.items, came)
		}
		for i := range max(len(want.items), len(came)) {
			at := path + "[" + strconv.Itoa(i) + "]"
			if i >= len(want.items) {
				return &Difference{Path: at, Want: "nothing", Got: came[i].String()}
			}
			if i >= len(came) {
				return &Difference{Path: at, Want: want.items[i].String(), Got: "nothing"}
			}
			if d := firstDifference(want.items[i], came[i], at); d != nil {
				return d
			}
		}
	case objectValue:
		for _, m := range want.members {
			at := path + "." + m.key
			other := got.member(m.key)
			if other == nil {
				return &Difference{Path: at, Want: m.val.String(), Got: "nothing"}
			}
			if d := firstDifference(m.val, other, at); d != nil {
				return d
			}
		}
		for _, m := range got.members {
			if want.member(m.key) == nil {
				return &Difference{Path: path + "." + m.key, Want: "nothing", Got: m.val.String()}
			}
		}
	default:
		if want.str != got.str || want.truth != got.truth {
			return &Difference{Path: path, Want: want.String(), Got: got.String()}
		}
	}
	return nil
}

// withoutNewTools leaves out the agent's own tools that a recording does not have: one
// that a later version brings changes what every request offers and nothing that was
// recorded. A scenario that is about the tools pins them (tool-schemas.expected.json).
func withoutNewTools(want, got []*value) []*value {
	known := map[string]bool{}
	for _, t := range want {
		known[t.text("name")] = true
	}
	return slices.DeleteFunc(slices.Clone(got), func(t *value) bool {
		name := t.text("name")
		return name != "" && !known[name] && !strings.HasPrefix(name, "mcp__")
	})
}

// equal reports whether two values are the same, member order aside.
func equal(a, b *value) bool { return firstDifference(a, b, "") == nil }
