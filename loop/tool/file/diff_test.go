package file

import (
	"strings"
	"testing"
)

// FuzzDiffs: the hunks stand in both texts, where they say they do.
func FuzzDiffs(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\n")
	f.Add("a\r\nb", "")
	f.Add("", "x")
	f.Add(strings.Repeat("a\n", 50), "b\n"+strings.Repeat("a\n", 49)+"c")
	// Two changes near each other make a hunk with unchanged lines between them.
	f.Add(strings.Repeat("a\n", 30), "b\na\na\nb\n"+strings.Repeat("a\n", 24)+"c\na\n")
	f.Fuzz(func(t *testing.T, old, new string) {
		if !isText([]byte(old)) || !isText([]byte(new)) {
			return
		}
		ds := diffs("f", []byte(old), []byte(new), true)
		if (old != new) != (len(ds) > 0) {
			t.Fatalf("%q → %q: %d hunks", old, new, len(ds))
		}
		for _, d := range ds {
			rest := new
			for range d.Line - 1 {
				i := strings.IndexByte(rest, '\n') + 1
				if i == 0 {
					t.Fatalf("%q → %q: line %d is past the end", old, new, d.Line)
				}
				rest = rest[i:]
			}
			if !strings.HasPrefix(rest, d.NewText) {
				t.Fatalf("%q → %q: line %d does not start %q", old, new, d.Line, d.NewText)
			}
			if !strings.Contains(old, *d.OldText) || *d.OldText == d.NewText {
				t.Fatalf("%q → %q: old text %q", old, new, *d.OldText)
			}
		}
	})
}

// BenchmarkDiffsWorst is a file of many lines none of which stay in place.
func BenchmarkDiffsWorst(b *testing.B) {
	var x, y strings.Builder
	for i := range 100_000 {
		x.WriteString(string(rune('a'+i*7%26)) + string(rune('a'+i*11%23)) + "\n")
		y.WriteString(string(rune('a'+i*5%25)) + string(rune('a'+i*3%24)) + "\n")
	}
	old, new := []byte(x.String()), []byte(y.String())
	for b.Loop() {
		diffs("f", old, new, true)
	}
}
