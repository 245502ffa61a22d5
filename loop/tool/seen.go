package tool

import (
	"crypto/sha256"
	"sync"
)

// Seen remembers which version of each file the session has read or written, so
// that an edit never lands on text the model has not seen. It is safe for
// concurrent use: read-only tools run side by side.
type Seen struct {
	mu    sync.Mutex
	files map[string][sha256.Size]byte
}

// NewSeen returns an empty memory.
func NewSeen() *Seen { return &Seen{files: map[string][sha256.Size]byte{}} }

// Note records that the file's content is known.
func (s *Seen) Note(path string, data []byte) { s.NoteSum(path, sha256.Sum256(data)) }

// NoteSum is Note for content that was streamed.
func (s *Seen) NoteSum(path string, sum [sha256.Size]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = sum
}

// KnownSum reports whether the file was seen, and whether the content with that
// sum is the version that was.
func (s *Seen) KnownSum(path string, sum [sha256.Size]byte) (seen, same bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.files[path]
	return ok, ok && was == sum
}
