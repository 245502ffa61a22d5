//go:build unix

package hooks

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the place of a config file must not hang whoever reads it.
func TestReadConfigRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hooks.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes in %s: %v", filepath.Dir(path), err)
	}
	if _, err := ReadConfig(path); err == nil || !strings.Contains(err.Error(), "a pipe") {
		t.Errorf("%v", err)
	}
	if s := OpenTrust(filepath.Dir(path)); s.Err() != nil {
		t.Errorf("%v", s.Err())
	}
}
