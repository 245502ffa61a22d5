//go:build unix

package hooks

import (
	"time"

	"golang.org/x/sys/unix"
)

// stat is what tells one state of a path from another. A prompt looks at some
// fifty paths before anything else happens: os.Stat made garbage for each and took
// twice as long (docs/performance.md).
type stat struct {
	dev, ino uint64
	mtime    int64 // ns
	size     int64
	dir      bool
}

// statOf follows links, as reading does; false where there is nothing that can be
// seen.
func statOf(path string) (stat, bool) {
	var st unix.Stat_t
	for {
		switch err := unix.Stat(path, &st); err {
		case nil:
			return stat{uint64(st.Dev), uint64(st.Ino), st.Mtim.Nano(), st.Size, st.Mode&unix.S_IFMT == unix.S_IFDIR}, true
		case unix.EINTR:
		default:
			return stat{}, false
		}
	}
}

func (s stat) isDir() bool        { return s.dir }
func (s stat) modTime() time.Time { return time.Unix(0, s.mtime) }

// same compares all but a directory's size.
func (s stat) same(other stat) bool {
	if s.dir {
		s.size = other.size
	}
	return s == other
}
