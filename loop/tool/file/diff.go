package file

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"acp-agent/session"
)

const (
	// maxDiff bounds the texts that a diff is made of, old and new together.
	maxDiff = 1 << 20
	// contextLines is how many unchanged lines are shown round a change.
	contextLines = 3
)

// diffs returns the change of a file as hunks, each with the lines round it, in
// the file's own line endings on both sides. There are none for what is too
// large, for what is not text and for what did not change.
func diffs(path string, old, new []byte, exists bool) []session.Diff {
	if len(old)+len(new) > maxDiff || !isText(old) || !isText(new) {
		return nil
	}
	if !exists {
		return []session.Diff{{Path: path, NewText: string(new), Line: 1}}
	}
	before, after := string(old), string(new)
	if before == after {
		return nil
	}
	u, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil { // edits that do not fit their own text
		return []session.Diff{{Path: path, OldText: &before, NewText: after, Line: 1}}
	}
	out := make([]session.Diff, len(u.Hunks))
	// shift is how many lines the hunks so far have added. The library's own count
	// (ToLine of go-udiff 0.4.1) leaves out the unchanged lines inside a hunk.
	shift := 0
	for i, h := range u.Hunks {
		var from, to strings.Builder
		line := h.FromLine + shift
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				to.WriteString(l.Content)
				shift++
			case udiff.Delete:
				from.WriteString(l.Content)
				shift--
			default:
				from.WriteString(l.Content)
				to.WriteString(l.Content)
			}
		}
		text := from.String()
		out[i] = session.Diff{Path: path, OldText: &text, NewText: to.String(), Line: max(line, 1)}
	}
	return out
}

// changed returns the places of a file's hunks, at the first line that differs.
func changed(path string, ds []session.Diff) []session.Location {
	if len(ds) == 0 {
		return []session.Location{{Path: path}}
	}
	out := make([]session.Location, len(ds))
	for i, d := range ds {
		out[i] = session.Location{Path: path, Line: d.Line}
		if d.OldText == nil {
			continue
		}
		a, b := *d.OldText, d.NewText
		for {
			n := strings.IndexByte(a, '\n') + 1
			if n == 0 || !strings.HasPrefix(b, a[:n]) {
				break
			}
			a, b = a[n:], b[n:]
			out[i].Line++
		}
	}
	return out
}

// isText: UTF-8 without NUL.
func isText(data []byte) bool { return bytes.IndexByte(data, 0) < 0 && utf8.Valid(data) }
