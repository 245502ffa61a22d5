package hooks

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Real is filepath.EvalSymlinks, whatever of a path is a link or missing.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs a privilege there")
	}
	base := t.TempDir()
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"a/f", "a/b/f", "c/f"} {
		if err := os.WriteFile(filepath.Join(base, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"a/up": "..", "dir": "a/b", "c/file": "../a/f", "c/chain": "file", "c/none": "nowhere", "c/loop": "loop", "a/b/abs": filepath.Join(base, "c"),
	} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	var l Links
	for _, name := range []string{
		"a/f", "a/b/f", "dir/f", "dir", "c/file", "c/chain", "c/none", "c/loop", "a/up/c/f", "a/up/dir/abs/file", "dir/abs/f",
		"a/missing", "missing/f", "a/f/below", "a/../c//f", "dir/../f", "c/loop/f", ".", "",
	} {
		for range 2 { // from memory, too
			path := base + "/" + name
			want, err := filepath.EvalSymlinks(path)
			if err != nil {
				want = filepath.Clean(path)
			}
			if got := l.Real(path); got != want {
				t.Errorf("%s leads to %s, want %s (%v)", name, got, want, err)
			}
		}
	}
}
