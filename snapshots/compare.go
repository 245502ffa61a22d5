package snapshots

import (
	"fmt"
	"strconv"
	"strings"
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
	return fmt.Sprintf("%s %s\n  want %s\n  got  %s", d.File, d.Path, clip(d.Want), clip(d.Got))
}

// clip bounds what a report shows of one value; the artifacts hold all of it.
func clip(s string) string {
	const limit = 600
	if len(s) <= limit {
		return s
	}
	cut := strings.ToValidUTF8(s[:limit], "")
	return fmt.Sprintf("%s… (%d bytes more)", cut, len(s)-len(cut))
}

// compareLines reports, line by line, the first field in which two files
// differ. A line too few or too many is one difference, so that one changed
// byte is never reported twice.
func compareLines(file string, want, got []record) []Difference {
	var out []Difference
	for i := range max(len(want), len(got)) {
		at := "line " + strconv.Itoa(i+1)
		switch {
		case i >= len(want):
			out = append(out, Difference{file, at, "the end of the file", got[i].String() + more(len(got)-i-1)})
			return out
		case i >= len(got):
			out = append(out, Difference{file, at, want[i].String() + more(len(want)-i-1), "the end of the output"})
			return out
		}
		if d := firstDifference(want[i], got[i], ""); d != nil {
			d.File = file
			d.Path = strings.TrimSuffix(at+" "+strings.TrimPrefix(d.Path, "."), " ")
			out = append(out, *d)
		}
	}
	return out
}

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
		for i := range max(len(want.items), len(got.items)) {
			at := path + "[" + strconv.Itoa(i) + "]"
			if i >= len(want.items) {
				return &Difference{Path: at, Want: "nothing", Got: got.items[i].String()}
			}
			if i >= len(got.items) {
				return &Difference{Path: at, Want: want.items[i].String(), Got: "nothing"}
			}
			if d := firstDifference(want.items[i], got.items[i], at); d != nil {
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

// equal reports whether two values are the same, member order aside.
func equal(a, b *value) bool { return firstDifference(a, b, "") == nil }
