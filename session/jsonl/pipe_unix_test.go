//go:build unix

package jsonl_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A named pipe with a log's name is no log: opening it would wait for a writer.
func TestListPassesAPipe(t *testing.T) {
	s := newStore(t)
	write(t, s, "a", 1)
	if err := unix.Mkfifo(filepath.Join(s.Dir(), "pipe.jsonl"), 0o600); err != nil {
		t.Skipf("no named pipe can be made here: %v", err)
	}
	got, err := s.List(t.Context())
	if err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("listed %v, %v", got, err)
	}
}
