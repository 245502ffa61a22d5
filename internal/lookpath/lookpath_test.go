package lookpath

import (
	"os"
	"path/filepath"
	"testing"
)

// A program in the working directory must not be found through an empty or
// relative PATH entry.
func TestRelativeEntriesDoNotCount(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("evil.exe", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if p, ok := In([]string{"PATH=:.:" + string(filepath.ListSeparator)}, "evil.exe"); ok {
		t.Errorf("found %s", p)
	}
	if p, ok := In([]string{"PATH=" + dir}, "evil.exe"); !ok || p != filepath.Join(dir, "evil.exe") {
		t.Errorf("%s, %v", p, ok)
	}
}

func TestIn(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, p := range []string{filepath.Join(second, "program.exe"), filepath.Join(first, "taken.exe", "x")} {
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	both := "PATH=" + first + string(filepath.ListSeparator) + second
	for name, want := range map[string]string{
		"program.exe":                        filepath.Join(second, "program.exe"),
		"taken.exe":                          "", // a directory
		"nowhere.exe":                        "",
		filepath.Join("not", "here.exe"):     filepath.Join("not", "here.exe"),
		filepath.Join(second, "program.exe"): filepath.Join(second, "program.exe"),
	} {
		// The last PATH counts.
		if got, ok := In([]string{"PATH=/nowhere", both, "A=b"}, name); got != want || ok != (want != "") {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
	if v, ok := Get([]string{"A=1", "A=x=y"}, "A"); v != "x=y" || !ok {
		t.Errorf("A is %q, %v", v, ok)
	}
}
