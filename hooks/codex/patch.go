package codex

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Codex edits files with one tool, apply_patch, whose argument is a patch text.
// Guards in the wild read the headers of that text (public configs), so an edit and
// a write of this agent are put into it, and a patch that a hook gives back is
// read out of it again.

const (
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
	patchAdd    = "*** Add File: "
	patchUpdate = "*** Update File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
	patchEOF    = "*** End of File"
)

// addPatch is the patch for a whole new content of a file. Codex's Add File
// overwrites as our write does, so it stands for both.
func addPatch(path, content string) string {
	var b strings.Builder
	b.WriteString(patchBegin + "\n" + patchAdd + headerPath(path) + "\n")
	writeLines(&b, '+', splitLines(content))
	b.WriteString(patchEnd)
	return b.String()
}

// updatePatch is the patch for one replacement. Its lines are the replaced
// text's own: where that begins or ends inside a line, so does the hunk's.
func updatePatch(path, old, new string) string {
	var b strings.Builder
	b.WriteString(patchBegin + "\n" + patchUpdate + headerPath(path) + "\n@@\n")
	o, n := hunkLines(old, new)
	writeLines(&b, '-', o)
	writeLines(&b, '+', n)
	b.WriteString(patchEnd)
	return b.String()
}

// splitLines splits a file's text into lines; the last line's end is not a
// line of its own.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// hunkLines splits both sides of a replacement. Their line ends at the end are
// dropped only when both have one, so that nothing is lost that reading the hunk
// (endLine) could not bring back.
func hunkLines(old, new string) (o, n []string) {
	if sharedEnd(old, new) {
		return splitLines(old), splitLines(new)
	}
	return splitAll(old), splitAll(new)
}

func sharedEnd(old, new string) bool {
	return strings.HasSuffix(old, "\n") && strings.HasSuffix(new, "\n")
}

func splitAll(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func writeLines(b *strings.Builder, sign byte, lines []string) {
	for _, l := range lines {
		b.WriteByte(sign)
		b.WriteString(l)
		b.WriteByte('\n')
	}
}

// headerPath keeps a path on its header's line: a line end in a file name must
// not be able to forge another header.
func headerPath(path string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(path)
}

// patchPath is the path as Codex's model would write it: relative to the
// working directory where the file is below it, absolute elsewhere.
func patchPath(cwd, path string) string {
	if cwd == "" || !filepath.IsAbs(path) {
		return path
	}
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

// filePatch is a parsed patch of a single file.
type filePatch struct {
	add      bool // Add File, else Update File
	path     string
	lines    []string // Add File: the content's
	old, new []string // Update File: the one hunk's
}

// parsePatch reads a patch that this agent's tools can carry out: one file,
// added whole or changed in one hunk. Everything else is an error that says
// what is in the way.
func parsePatch(text string) (*filePatch, error) {
	lines := strings.Split(strings.Trim(text, "\r\n"), "\n")
	if strings.HasSuffix(lines[0], "\r") {
		// The patch itself came with \r\n; in any other, a \r is the file's.
		for i, l := range lines {
			lines[i] = strings.TrimSuffix(l, "\r")
		}
	}
	if len(lines) < 2 || strings.TrimSpace(lines[0]) != patchBegin || strings.TrimSpace(lines[len(lines)-1]) != patchEnd {
		return nil, fmt.Errorf("the patch must begin with %q and end with %q", patchBegin, patchEnd)
	}
	body := lines[1 : len(lines)-1]
	if len(body) == 0 {
		return nil, fmt.Errorf("the patch changes no file")
	}
	p := &filePatch{}
	head := body[0]
	switch {
	case strings.HasPrefix(head, patchAdd):
		p.add, p.path = true, strings.TrimSpace(head[len(patchAdd):])
	case strings.HasPrefix(head, patchUpdate):
		p.path = strings.TrimSpace(head[len(patchUpdate):])
	case strings.HasPrefix(head, patchDelete):
		return nil, fmt.Errorf("the patch deletes a file, which edit and write cannot do")
	default:
		return nil, fmt.Errorf("line 2 of the patch must be a file header such as %q, not %q", strings.TrimSpace(patchUpdate), clip(head))
	}
	if p.path == "" {
		return nil, fmt.Errorf("the file header of the patch names no file")
	}
	if p.add {
		return p, p.readAdd(body[1:])
	}
	return p, p.readHunk(body[1:])
}

func (p *filePatch) readAdd(body []string) error {
	for i, l := range body {
		if err := oneFile(l); err != nil {
			return err
		}
		if !strings.HasPrefix(l, "+") {
			return fmt.Errorf("line %d of the patch must begin with \"+\"", i+3)
		}
		p.lines = append(p.lines, l[1:])
	}
	return nil
}

func (p *filePatch) readHunk(body []string) error {
	started := false
	for i, l := range body {
		if err := oneFile(l); err != nil {
			return err
		}
		at := i + 3
		switch {
		case strings.HasPrefix(l, patchMove):
			return fmt.Errorf("the patch moves the file, which edit cannot do")
		case strings.HasPrefix(l, patchEOF):
			return fmt.Errorf("the patch is tied to the end of the file, which edit cannot do")
		case strings.HasPrefix(l, "@@"):
			if started {
				return fmt.Errorf("line %d begins a second hunk; edit makes one replacement", at)
			}
			if strings.TrimSpace(l[2:]) != "" {
				return fmt.Errorf("line %d names a place (%q), which edit cannot look for", at, clip(l))
			}
			started = true
			continue
		}
		started = true
		switch {
		case l == "":
			p.old, p.new = append(p.old, ""), append(p.new, "")
		case l[0] == ' ':
			p.old, p.new = append(p.old, l[1:]), append(p.new, l[1:])
		case l[0] == '-':
			p.old = append(p.old, l[1:])
		case l[0] == '+':
			p.new = append(p.new, l[1:])
		default:
			return fmt.Errorf("line %d of the patch must begin with \" \", \"-\" or \"+\"", at)
		}
	}
	if len(p.old) == 0 && len(p.new) == 0 {
		return fmt.Errorf("the patch changes nothing in %s", p.path)
	}
	return nil
}

func oneFile(line string) error {
	for _, h := range []string{patchAdd, patchUpdate, patchDelete} {
		if strings.HasPrefix(line, h) {
			return fmt.Errorf("the patch changes more than one file; one edit or write changes one")
		}
	}
	return nil
}

// clip shortens what is quoted in an error.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
