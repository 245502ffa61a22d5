package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "keys.json")
	for _, want := range []string{"one", "", "three"} {
		if err := Replace(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	taken := filepath.Join(dir, "taken", "x")
	if err := os.MkdirAll(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(filepath.Dir(taken), []byte("x")); err == nil {
		t.Error("a directory is replaced")
	}
	for _, d := range []string{filepath.Dir(path), dir} {
		if left, _ := filepath.Glob(filepath.Join(d, ".*")); len(left) > 0 {
			t.Errorf("%v stays", left)
		}
	}
}

func TestCause(t *testing.T) {
	plain := errors.New("x")
	for err, want := range map[error]error{
		&fs.PathError{Op: "open", Path: "a", Err: syscall.ENOENT}:                            syscall.ENOENT,
		fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "a", Err: syscall.EISDIR}): syscall.EISDIR,
		&os.LinkError{Op: "rename", Old: ".a-1", New: "a", Err: syscall.EACCES}:              syscall.EACCES,
		plain: plain,
	} {
		if got := Cause(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}
