package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Whatever happens to a file or a directory that was looked at is noticed: the
// table is what editors, installers and administrators do.
func TestWatchNotices(t *testing.T) {
	type place struct{ dir, file, gone string }
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name string
		do   func(p place)
		want func(p place) []string
	}{
		{"nothing", func(place) {}, func(place) []string { return nil }},
		{"appears", func(p place) { write(p.gone, "x") }, func(p place) []string { return []string{p.dir, p.gone} }},
		{"deleted", func(p place) { must(os.Remove(p.file)) }, func(p place) []string { return []string{p.dir, p.file} }},
		{"another size", func(p place) { write(p.file, "longer text") }, func(p place) []string { return []string{p.file} }},
		{"the same size at once", func(p place) { write(p.file, "two") }, func(p place) []string { return []string{p.file} }},
		{"half written", func(p place) { write(p.file, "") }, func(p place) []string { return []string{p.file} }},
		{"replaced by rename, same size, same time", func(p place) {
			info, err := os.Stat(p.file)
			must(err)
			next := filepath.Join(t.TempDir(), "next")
			write(next, "two")
			must(os.Chtimes(next, info.ModTime(), info.ModTime()))
			must(os.Rename(next, p.file))
		}, func(p place) []string { return []string{p.dir, p.file} }},
		{"becomes a directory", func(p place) { must(os.Remove(p.file)); must(os.Mkdir(p.file, 0o700)) }, func(p place) []string { return []string{p.file} }},
		{"a new file in a listed directory", func(p place) { write(filepath.Join(p.dir, "z.json"), "{}") }, func(p place) []string { return []string{p.dir} }},
		{"renamed in a listed directory", func(p place) { must(os.Rename(p.file, p.file+".off")) }, func(p place) []string { return []string{p.dir, p.file} }},
	} {
		for _, age := range []string{"fresh", "old"} {
			base := t.TempDir()
			p := place{dir: filepath.Join(base, "drop"), file: filepath.Join(base, "drop", "a.json"), gone: filepath.Join(base, "drop", "b.json")}
			must(os.Mkdir(p.dir, 0o700))
			write(p.file, "one")
			if age == "old" {
				must(os.Chtimes(p.file, old, old))
				must(os.Chtimes(p.dir, old, old))
			}
			w := NewWatch(nil)
			if got := w.List(p.dir); !slices.Equal(got, []string{"a.json"}) {
				t.Fatal(got)
			}
			if data, err := w.Read(p.file); err != nil || string(data) != "one" {
				t.Fatal(string(data), err)
			}
			if _, err := w.Read(p.gone); err == nil {
				t.Fatal("read what is not there")
			}
			c.do(p)
			if c.name == "becomes a directory" {
				// Whether the directory above is another one is its clock's business.
				if got := w.Changed(); !slices.Contains(got, p.file) {
					t.Errorf("%s, %s: %v", c.name, age, got)
				}
				continue
			}
			if got := w.Changed(); !slices.Equal(got, c.want(p)) {
				t.Errorf("%s, %s: %v, want %v", c.name, age, got, c.want(p))
			}
		}
	}
}

// The text of a file that was just written is compared until its time is past, and
// then no more: whatever is written after that has another time.
func TestWatchSettles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	written := info.ModTime()
	s := look(path, written.Add(time.Millisecond))
	if s.sum.Load() == nil || !s.same(path, written.Add(coarse-1)) || s.sum.Load() == nil {
		t.Error("a fresh file is told by its time alone")
	}
	if !s.same(path, written.Add(coarse)) || s.sum.Load() != nil {
		t.Error("the text of an old file is read again and again")
	}
	if err := os.WriteFile(path, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	later := written.Add(coarse)
	if err := os.Chtimes(path, later, later); err != nil { // the write comes after what was seen
		t.Fatal(err)
	}
	if s.same(path, later) {
		t.Error("a later write is not noticed")
	}
}

// A file that was written between the look and the read counts as changed.
func TestWatchLooksFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	w := NewWatch(nil)
	w.Look(path)
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := w.Read(path); err != nil || string(data) != "x" {
		t.Fatal(string(data), err)
	}
	if got := w.Changed(); !slices.Equal(got, []string{path}) {
		t.Errorf("%v", got)
	}
}

// What a file said when it was last whole lasts for as long as it is in pieces.
func TestWatchBefore(t *testing.T) {
	first := NewWatch(nil)
	first.Keep("f", []byte("whole"))
	if _, ok := first.Before("f"); ok {
		t.Error("a first load has nothing before it")
	}
	second := NewWatch(first)
	if data, ok := second.Before("f"); !ok || string(data) != "whole" {
		t.Error(string(data), ok)
	}
	third := NewWatch(second)
	if data, ok := third.Before("f"); !ok || string(data) != "whole" {
		t.Error("forgotten after two loads")
	}
	third.Keep("f", []byte("mended"))
	if data, _ := NewWatch(third).Before("f"); string(data) != "mended" {
		t.Errorf("%s", data)
	}
	fourth := NewWatch(third)
	if _, ok := NewWatch(fourth).Before("f"); ok {
		t.Error("kept of a file that is gone")
	}
}

func TestFromRepository(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"home/.claude", "repo/.cfg", "dotfiles/claude", "home/proj/.cfg"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "repo", ".cfg"), filepath.Join(base, "link")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for _, c := range []struct {
		dir, root, home string
		want            bool
	}{
		{"repo/.cfg", "repo", "home", true},
		{"repo/.cfg/not/there/yet", "repo", "home", true},
		{"link", "repo", "home", true},
		{"home/.claude", "repo", "home", false},
		{"home/.claude", "home", "home", false}, // dotfiles in git
		{"home/.claude", "", "home", false},     // no project
		{"home/proj/.cfg", "home/proj", "home", true},
		{"repository/.cfg", "repo", "home", false}, // a longer name
		{"repo/.cfg", "repo", "", true},
	} {
		abs := func(s string) string {
			if s == "" {
				return ""
			}
			return filepath.Join(base, s)
		}
		if got := FromRepository(abs(c.dir), abs(c.root), abs(c.home)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestPluginPath(t *testing.T) {
	root := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(root, "out")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for path, ok := range map[string]bool{
		"./hooks/more.json": true, "./a/../b.json": true,
		"hooks/more.json": false, "/etc/x.json": false, "./../x.json": false, "./a/../../x.json": false,
		"./out/x.json": false, `./a\b.json`: false, "": false,
	} {
		if got, err := PluginPath(root, path); (err == nil) != ok {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
}
