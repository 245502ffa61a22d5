package hooks

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Links tells where names of files lead, for one search: files that lie together
// share what is known of their directory, and a name that leads nowhere, as most of
// those that are looked for, costs one look. The zero value is ready.
type Links struct{ dirs map[string]string }

// Real is the file that a name leads to, as filepath.EvalSymlinks has it; the name
// itself, cleaned, where it leads nowhere.
func (l *Links) Real(path string) string {
	clean := filepath.Clean(path)
	info, err := os.Lstat(path)
	if err != nil {
		return clean
	}
	// Links, names with "..", and on Windows all: a name has several forms there.
	if info.Mode()&fs.ModeSymlink != 0 || path != clean || runtime.GOOS == "windows" {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return clean
	}
	dir := filepath.Dir(path)
	real, ok := l.dirs[dir]
	if !ok {
		if real, err = filepath.EvalSymlinks(dir); err != nil {
			return path
		}
		if l.dirs == nil {
			l.dirs = map[string]string{}
		}
		l.dirs[dir] = real
	}
	return filepath.Join(real, filepath.Base(path))
}
