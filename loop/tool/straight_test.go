package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// What is straight is what filepath.EvalSymlinks leaves as it is.
func TestStraight(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "a", "f"), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "a", "a/file": "f", "a/abs": filepath.Join(base, "a", "b"), "none": "nowhere", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(base, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for name, want := range map[string]bool{
		"": true, "a": true, "a/b": true, "a/f": true,
		"link": false, "link/b": false, "link/f": false, "a/file": false, "a/abs": false, "none": false, "loop": false,
		"missing": false, "a/missing": false, "a/f/below": false, "missing/f": false,
	} {
		path := filepath.Join(base, name)
		real, err := filepath.EvalSymlinks(path)
		if (err == nil && real == path) != want {
			t.Fatalf("%s leads to %s, %v", name, real, err)
		}
		if got := straight(path); got && !want || !got && want && runtime.GOOS == "linux" && !gaveUp() {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func BenchmarkFollow(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if got, err := follow(path); err != nil || got != path {
			b.Fatal(got, err)
		}
	}
}
