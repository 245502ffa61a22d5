package hooks

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestFilesLook(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	var f Files
	all := []string{b, a, a}
	for _, step := range []struct {
		what  string
		do    func()
		paths []string
		want  []FileChange
	}{
		{"the first look", func() { write(a, "1") }, all, nil},
		{"nothing has happened", func() {}, all, nil},
		{"another text of the same length", func() { write(a, "2") }, all, []FileChange{{a, "change"}}},
		{"the same text", func() { write(a, "2") }, nil, nil},
		{"no longer watched, and back", func() { write(a, "333") }, all, nil},
		{"one appears, one goes", func() { remove(a); write(b, "1") }, all, []FileChange{{a, "unlink"}, {b, "add"}}},
		{"a directory in a file's place", func() {
			remove(b)
			if err := os.Mkdir(b, 0o700); err != nil {
				t.Fatal(err)
			}
		}, all, []FileChange{{b, "unlink"}}},
		{"what is in it", func() { write(filepath.Join(b, "c"), "") }, all, nil},
		{"an older time", func() {
			write(a, "1")
			if err := os.Chtimes(a, time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, all, []FileChange{{a, "add"}}},
	} {
		step.do()
		if got := f.Look(step.paths); !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s: %v, want %v", step.what, got, step.want)
		}
	}
}

// What held handlers want to hear of is not looked at.
func TestWatched(t *testing.T) {
	cc, _, set := newFakes()
	cc.add(FileChanged, says(Answer{})).Watches = []string{".env", "/abs"}
	cc.add(FileChanged, says(Answer{})).Watches = []string{"go.mod"}
	held := cc.add(FileChanged, says(Answer{}))
	held.Watches, held.Why = []string{"x"}, "its matcher is not valid"
	cc.add(Stop, says(Answer{}))
	if got, want := set().Watched(), []string{".env", "/abs", "go.mod"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
