package hooks

import (
	"slices"
	"strings"
	"time"
)

// FileChange is a change of a file that hooks listen to. Kind is change, add or
// unlink, in Claude Code's words.
type FileChange struct{ Path, Kind string }

// Files notices what becomes of files from one look at them to the next. The zero
// value has seen none. It belongs to one goroutine.
type Files struct{ seen map[string]*sight }

// Look returns what has become of the files at the paths since the last look, in
// order; a path that was not among the last look's has not changed. A directory
// counts as no file.
func (f *Files) Look(paths []string) []FileChange {
	now := time.Now()
	seen := make(map[string]*sight, len(paths))
	var out []FileChange
	for _, path := range paths {
		if seen[path] != nil {
			continue
		}
		was := f.seen[path]
		if was != nil && was.same(path, now) {
			seen[path] = was
			continue
		}
		is := look(path, now)
		if is.there && is.stat.isDir() {
			is = &sight{}
		}
		seen[path] = is
		switch {
		case was == nil || !was.there && !is.there:
		case !was.there:
			out = append(out, FileChange{path, "add"})
		case !is.there:
			out = append(out, FileChange{path, "unlink"})
		default:
			out = append(out, FileChange{path, "change"})
		}
	}
	f.seen = seen
	slices.SortFunc(out, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Watched implements Engine.
func (s *Set) Watched() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, h := range s.byEvent[FileChanged] {
		if heldReason(h) == "" {
			out = append(out, h.Watches...)
		}
	}
	return out
}
