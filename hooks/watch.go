package hooks

import (
	"crypto/sha256"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Watch knows what a load of config files has looked at: files that were read,
// files that were not there, directories that were listed. Changed compares it
// with the disk. What a file was like is taken before it is read, so that a
// change in between is noticed too.
//
// It also keeps what each file said when it was last whole. An editor that saves
// in place leaves half a file for a moment; a guard must not be lost for that
// (Before).
//
// A Watch belongs to one goroutine until its load is done; after that Changed may
// be called from any.
type Watch struct {
	seen  map[string]*sight
	whole map[string][]byte
	last  map[string][]byte
}

// NewWatch begins a load. before is the session's load until now, or nil.
func NewWatch(before *Watch) *Watch {
	w := &Watch{seen: map[string]*sight{}, whole: map[string][]byte{}}
	if before != nil {
		w.last = before.whole
	}
	return w
}

// Read is ReadConfig, watched.
func (w *Watch) Read(path string) ([]byte, error) {
	w.Look(path)
	return ReadConfig(path)
}

// Look watches a file or a directory that is not read itself: that it is there
// or not, or what it lists, has a say in what is.
func (w *Watch) Look(path string) {
	if _, ok := w.seen[path]; !ok {
		w.seen[path] = look(path, time.Now())
	}
}

// List is the names in a directory in order, watched; none where there is no
// such directory or it cannot be listed.
func (w *Watch) List(dir string) []string {
	w.Look(dir)
	return list(dir)
}

func list(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Keep remembers what a file said, because it is whole.
func (w *Watch) Keep(path string, data []byte) { w.whole[path] = data }

// Before returns what the file said in the session's earlier loads, when it was
// last whole. It is kept on, for as long as the file stays in pieces.
func (w *Watch) Before(path string) ([]byte, bool) {
	data, ok := w.last[path]
	if ok {
		w.whole[path] = data
	}
	return data, ok
}

// Changed names what is not as it was, in order.
func (w *Watch) Changed() []string {
	var out []string
	now := time.Now()
	for path, was := range w.seen {
		if !was.same(path, now) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Paths names all that is watched, in order.
func (w *Watch) Paths() []string {
	out := make([]string, 0, len(w.seen))
	for path := range w.seen {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

// sight is what a path was like: nothing, or which file, of which time and size. A
// file that was written so shortly before that its time may not tell a second
// change apart has its content's sum as well, until it is seen to be the same when
// its time is long past.
type sight struct {
	there bool
	stat  stat
	sum   atomic.Pointer[[sha256.Size]byte]
}

// coarse is the coarsest time that a file system keeps (FAT: two seconds).
const coarse = 2 * time.Second

func look(path string, now time.Time) *sight {
	s := &sight{}
	if s.stat, s.there = statOf(path); s.there && fresh(s.stat, now) {
		s.sum.Store(content(path, s.stat))
	}
	return s
}

func fresh(st stat, now time.Time) bool { return now.Sub(st.modTime()) < coarse }

// content sums up a file's text or a directory's names; nil for what is neither,
// or too large to be a config file.
func content(path string, st stat) *[sha256.Size]byte {
	var text []byte
	switch {
	case st.isDir():
		for _, name := range list(path) {
			text = append(append(text, name...), 0)
		}
	default:
		var err error
		if text, err = ReadConfig(path); err != nil {
			return nil
		}
	}
	sum := sha256.Sum256(text)
	return &sum
}

func (s *sight) same(path string, now time.Time) bool {
	is, there := statOf(path)
	if !there || !s.there {
		return there == s.there
	}
	if !is.same(s.stat) {
		return false
	}
	was := s.sum.Load()
	if was == nil {
		return true
	}
	sum := content(path, is)
	if sum == nil || *sum != *was {
		return false
	}
	if !fresh(is, now) {
		s.sum.Store(nil) // whatever is written from now on has another time
	}
	return true
}
