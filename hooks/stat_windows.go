package hooks

import (
	"io/fs"
	"os"
	"time"
)

// stat is what tells one state of a path from another.
type stat struct{ info fs.FileInfo }

// statOf follows links, as reading does; false where there is nothing that can be
// seen.
func statOf(path string) (stat, bool) {
	info, err := os.Stat(path)
	return stat{info}, err == nil
}

func (s stat) isDir() bool        { return s.info.IsDir() }
func (s stat) modTime() time.Time { return s.info.ModTime() }

// same compares all but a directory's size.
func (s stat) same(other stat) bool {
	return os.SameFile(s.info, other.info) && s.modTime().Equal(other.modTime()) &&
		s.isDir() == other.isDir() && (s.isDir() || s.info.Size() == other.info.Size())
}
