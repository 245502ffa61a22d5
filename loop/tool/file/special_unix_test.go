//go:build unix

package file

import (
	"syscall"
	"testing"
)

// special makes a named pipe, which must not be opened.
func special(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
