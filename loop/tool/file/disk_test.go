package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

func TestDiskWrite(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are those of Unix")
	}
	env := dir(t, map[string]string{"plain": "old", "script": "old", "target/real": "old", "one": "old"})
	at := func(name string) string { return filepath.Join(env.Cwd, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(at("script"), 0o751))
	must(os.Symlink("target/real", at("link")))
	must(os.Symlink("target", at("dirlink")))
	must(os.Link(at("one"), at("two")))
	for _, name := range []string{"plain", "script", "link", "one", "new", "x/y/new", "dirlink/new"} {
		must(env.Files.WriteFile(t.Context(), at(name), []byte("new "+name)))
		if got := get(t, env, name); got != "new "+name {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if info, err := os.Stat(at("script")); err != nil || info.Mode() != 0o751 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	if to, err := os.Readlink(at("link")); err != nil || to != "target/real" {
		t.Errorf("the link is gone: %q, %v", to, err)
	}
	if got := get(t, env, "target/real"); got != "new link" {
		t.Errorf("the link's target holds %q", got)
	}
	if got := get(t, env, "two"); got != "new one" {
		t.Errorf("the other name of a file holds %q", got)
	}
	if got := get(t, env, "target/new"); got != "new dirlink/new" {
		t.Errorf("got %q", got)
	}
	must(env.Files.WriteFile(t.Context(), at("one"), []byte("n"))) // shorter, in place
	if got := get(t, env, "two"); got != "n" {
		t.Errorf("got %q", got)
	}
	must(filepath.WalkDir(env.Cwd, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("left over: %s", path)
		}
		return err
	}))
}

// What lies outside, special files and directories are refused, by the tools and
// by the disk itself.
func TestRefusedPlaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	outside := t.TempDir()
	env := dir(t, map[string]string{"a/x": "", "f": ""})
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"out": outside, "secret": outside + "/secret", "dangling": outside + "/made", "null": "/dev/null"} {
		if err := os.Symlink(to, filepath.Join(env.Cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	special(t, filepath.Join(env.Cwd, "fifo"))
	for _, path := range []string{"../x", outside + "/secret", "out/secret", "out/new", "secret", "dangling", "null", "/dev/null", "/etc/passwd", "fifo", "f/below"} {
		for _, tl := range Tools() {
			r, text := run(t, env, tl, "file_path", path, "content", "x", "old_string", "secret", "new_string", "x")
			if !r.IsError || text == "" {
				t.Errorf("%s %s: %q", tl.Spec().Name, path, text)
			}
			if strings.Contains(text, "\n") {
				t.Errorf("%s %s: the message is more than a line: %q", tl.Spec().Name, path, text)
			}
		}
		abs := path
		if !filepath.IsAbs(path) {
			abs = filepath.Join(env.Cwd, path)
		}
		if b, err := env.Files.ReadFile(t.Context(), abs); err == nil {
			t.Errorf("read %s: %q", path, b)
		}
		if env.Files.WriteFile(t.Context(), abs, []byte("x")) == nil {
			t.Errorf("wrote %s", path)
		}
	}
	names, err := os.ReadDir(outside)
	if b, _ := os.ReadFile(filepath.Join(outside, "secret")); err != nil || len(names) != 1 || string(b) != "secret" {
		t.Errorf("outside: %v, %q, %v", names, b, err)
	}
	if env.Files.WriteFile(t.Context(), filepath.Join(env.Cwd, "a"), nil) == nil {
		t.Error("wrote over a directory")
	}
}

// client is an editor whose answers are scripted.
type client struct {
	read  func(path string) ([]byte, error)
	write func(path string, data []byte) error
	calls []string
}

func (c *client) ReadFile(_ context.Context, path string) ([]byte, error) {
	c.calls = append(c.calls, "read")
	return c.read(path)
}

func (c *client) WriteFile(_ context.Context, path string, data []byte) error {
	c.calls = append(c.calls, "write")
	return c.write(path, data)
}

// Case H8: an edit lands, or fails and says so, whatever the client says.
func TestH8ClientsThatLie(t *testing.T) {
	broken := errors.New("the editor refuses")
	for _, tt := range []struct {
		name  string
		read  func(string) ([]byte, error)
		write func(string, []byte) error
		// calls are those of a read, an edit and a second edit.
		calls string
	}{
		{"empty reads", func(string) ([]byte, error) { return nil, nil }, os2, "read read write read write"},
		{"writes that do nothing", os.ReadFile, func(string, []byte) error { return nil }, "read read write read read"},
		{"both", func(string) ([]byte, error) { return nil, nil }, func(string, []byte) error { return nil }, "read read write read read"},
		{"cannot write", func(string) ([]byte, error) { return nil, broken }, func(string, []byte) error { return fmt.Errorf("%w: %w", tool.ErrUnable, broken) }, "read write"},
		{"writes something else", os.ReadFile, func(p string, _ []byte) error { return os.WriteFile(p, []byte("?"), 0o644) }, "read read write read read"},
		{"is honest", os.ReadFile, os2, "read read write read write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := dir(t, map[string]string{"f": "one\n"})
			c := &client{read: tt.read, write: tt.write}
			env.Files = Guard(c, c, Disk(env.Roots))
			ok(t, env, readTool{}, "file_path", "f")
			ok(t, env, editTool{}, "file_path", "f", "old_string", "one", "new_string", "two")
			if got := get(t, env, "f"); got != "two\n" {
				t.Errorf("the file holds %q", got)
			}
			ok(t, env, editTool{}, "file_path", "f", "old_string", "two", "new_string", "three")
			if got := get(t, env, "f"); got != "three\n" {
				t.Errorf("the file holds %q", got)
			}
			if got := strings.Join(c.calls, " "); got != tt.calls {
				t.Errorf("calls: %s, want %s", got, tt.calls)
			}
		})
	}
}

// A client that refuses a write has its way, also where nobody was asked before;
// what it has just allowed itself it does not refuse but cannot do.
func TestRefusedWrites(t *testing.T) {
	env := dir(t, map[string]string{"f": "one\n"})
	refuses := errors.New("permission denied by the person")
	c := &client{read: os.ReadFile, write: func(string, []byte) error { return refuses }}
	env.Files = Guard(c, c, Disk(env.Roots))
	ok(t, env, readTool{}, "file_path", "f")
	for range 2 { // it is asked again: a no is one to this write
		c.calls = nil
		text := fails(t, env, editTool{}, "file_path", "f", "old_string", "one", "new_string", "two")
		if !strings.Contains(text, "permission denied by the person") || !strings.Contains(text, "not written") || get(t, env, "f") != "one\n" {
			t.Errorf("the model reads %q, the file holds %q", text, get(t, env, "f"))
		}
		if !slices.Contains(c.calls, "write") {
			t.Errorf("calls: %v", c.calls)
		}
	}
	if fails(t, env, writeTool{}, "file_path", "new", "content", "x"); exists(env, "new") {
		t.Error("a new file was made")
	}
	if err := env.Files.WriteFile(tool.WithConsent(t.Context()), filepath.Join(env.Cwd, "f"), []byte("two\n")); err != nil || get(t, env, "f") != "two\n" {
		t.Errorf("allowed: %v, the file holds %q", err, get(t, env, "f"))
	}
	// Allowed once is not allowed for good.
	if err := env.Files.WriteFile(t.Context(), filepath.Join(env.Cwd, "f"), []byte("three\n")); err == nil || get(t, env, "f") != "two\n" {
		t.Errorf("%v, the file holds %q", err, get(t, env, "f"))
	}
}

// fails runs a tool that must fail and returns what the model reads.
func fails(t testing.TB, env *tool.Env, tl tool.Tool, pairs ...any) string {
	t.Helper()
	r, text := run(t, env, tl, pairs...)
	if !r.IsError {
		t.Fatalf("%s %v: %s", tl.Spec().Name, pairs, text)
	}
	return text
}

func exists(env *tool.Env, name string) bool {
	_, err := os.Lstat(filepath.Join(env.Cwd, name))
	return err == nil
}

func os2(path string, data []byte) error { return os.WriteFile(path, data, 0o644) }

// buffers is an editor that holds texts and may save them.
type buffers struct {
	text  map[string]string
	saves bool
}

func (b *buffers) ReadFile(_ context.Context, path string) ([]byte, error) {
	if s, ok := b.text[path]; ok {
		return []byte(s), nil
	}
	return nil, os.ErrNotExist
}

func (b *buffers) WriteFile(_ context.Context, path string, data []byte) error {
	b.text[path] = string(data)
	if b.saves {
		return os2(path, data)
	}
	return nil
}

// Case H7: every file tool sees the unsaved text, and a write that stays in the
// buffer has landed. Case H1: a buffer from before a command is not believed.
func TestGuardBuffers(t *testing.T) {
	env := dir(t, map[string]string{"f": "disk\n", "crlf": "a\r\nb\r\n", "latin": "caf\xe9"})
	at := func(name string) string { return filepath.Join(env.Cwd, name) }
	b := &buffers{text: map[string]string{at("f"): "unsaved\n", at("crlf"): "a\nb\n", at("latin"): "caf\uFFFD", at("untitled"): "never saved\n"}}
	env.Files = Guard(b, b, Disk(env.Roots))
	if _, text := ok(t, env, readTool{}, "file_path", "f"); !strings.HasPrefix(text, "1: unsaved\n") {
		t.Errorf("H7: read sees %q", text)
	}
	ok(t, env, editTool{}, "file_path", "f", "old_string", "unsaved", "new_string", "edited")
	if b.text[at("f")] != "edited\n" || get(t, env, "f") != "disk\n" {
		t.Errorf("H7: buffer %q, disk %q", b.text[at("f")], get(t, env, "f"))
	}
	if _, text := ok(t, env, readTool{}, "file_path", "untitled"); !strings.HasPrefix(text, "1: never saved\n") {
		t.Errorf("H7: read sees %q", text)
	}
	// An editor keeps line ends beside its text; the disk's bytes count.
	b.saves = true
	ok(t, env, readTool{}, "file_path", "crlf")
	ok(t, env, editTool{}, "file_path", "crlf", "old_string", "b", "new_string", "B")
	if got := get(t, env, "crlf"); got != "a\r\nB\r\n" {
		t.Errorf("H2: %q", got)
	}
	if data, err := env.Files.ReadFile(t.Context(), at("latin")); err != nil || string(data) != "caf\xe9" {
		t.Errorf("what is not text: %q, %v", data, err)
	}
	// H1
	put(t, env, "crlf", "changed by sed\n")
	if data, err := env.Files.ReadFile(t.Context(), at("crlf")); err != nil || string(data) != "changed by sed\n" {
		t.Errorf("H1: %q, %v", data, err)
	}
	b.text[at("crlf")] = "typed meanwhile\n"
	if data, err := env.Files.ReadFile(t.Context(), at("crlf")); err != nil || string(data) != "typed meanwhile\n" {
		t.Errorf("H1, unsaved edits: %q, %v", data, err)
	}
}

// Case H6: what the client does not offer is not asked of it.
func TestH6OneCapability(t *testing.T) {
	for _, which := range []string{"none", "read", "write", "both"} {
		env := dir(t, map[string]string{"f": "one\n"})
		c := &client{read: os.ReadFile, write: os2}
		var read, write tool.Files
		var want []string
		if which == "read" || which == "both" {
			read = c
			want = append(want, "read")
		}
		if which == "write" || which == "both" {
			write = c
			want = append(want, "write")
		}
		env.Files = Guard(read, write, Disk(env.Roots))
		ok(t, env, readTool{}, "file_path", "f")
		ok(t, env, editTool{}, "file_path", "f", "old_string", "one", "new_string", "two")
		slices.Sort(c.calls)
		if got := slices.Compact(c.calls); !slices.Equal(got, want) || get(t, env, "f") != "two\n" {
			t.Errorf("%s: calls %v, file %q", which, got, get(t, env, "f"))
		}
	}
}

// FuzzSplice: the bytes outside the edit stay, and the text becomes what a plain
// replacement of the text makes it.
func FuzzSplice(f *testing.F) {
	for _, s := range [][3]string{{"a\r\nb\r\nc\r\n", "b", "B\nB2"}, {"a\nb\r\n", "\n", "\r\n\n"}, {"\uFEFFa\r\r\n", "a\r", "x"}, {"aaa", "aa", "b"}, {"a\r\nb", "a\nb", ""}} {
		f.Add(s[0], s[1], s[2], true)
	}
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		old = normalise(old)
		if old == "" {
			return
		}
		x := newText([]byte(file))
		if want := normalise(strings.TrimPrefix(file, string(bom))); x.norm != want {
			t.Fatalf("text of %q: %q", file, x.norm)
		}
		at, _ := x.find(old)
		if len(at) == 0 {
			return
		}
		if !all {
			at = at[:1]
		}
		got := x.splice(at, len(old), new)
		first, last := x.offset(at[0]), x.offset(at[len(at)-1]+len(old))
		if !strings.HasPrefix(string(got), file[:first]) || !strings.HasSuffix(string(got), file[last:]) {
			t.Fatalf("%q → %q: bytes outside [%d, %d) changed", file, got, first, last)
		}
		n := 1
		if all {
			n = -1
		}
		want := strings.Replace(x.norm, old, normalise(new), n)
		// A \r that was text may now stand before a \n, here or there.
		flat := func(s string) string { return strings.ReplaceAll(s, "\r", "") }
		if g := newText(got).norm; flat(g) != flat(want) {
			t.Fatalf("%q, %q → %q: got %q, want %q", file, old, new, g, want)
		}
	})
}

func benchFile(b *testing.B) *tool.Env {
	var s strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&s, "line %d of a file that is edited\n", i)
	}
	return dir(b, map[string]string{"f": s.String()})
}

func BenchmarkRead(b *testing.B) {
	env := benchFile(b)
	args := tooltest.Args("file_path", "f", "offset", 1000)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := (readTool{}).Run(b.Context(), env, args); err != nil || r.IsError {
			b.Fatal(err, tooltest.Text(r))
		}
	}
}

func BenchmarkReadSmall(b *testing.B) {
	env := dir(b, map[string]string{"f": "line one\nline two\n"})
	args := tooltest.Args("file_path", "f")
	b.ReportAllocs()
	for b.Loop() {
		if r, err := (readTool{}).Run(b.Context(), env, args); err != nil || r.IsError {
			b.Fatal(err, tooltest.Text(r))
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	env := benchFile(b)
	ok(b, env, readTool{}, "file_path", "f")
	args := [2][]byte{
		tooltest.Args("file_path", "f", "old_string", "line 2500 of", "new_string", "row 2500 of"),
		tooltest.Args("file_path", "f", "old_string", "row 2500 of", "new_string", "line 2500 of"),
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if r, err := (editTool{}).Run(b.Context(), env, args[i%2]); err != nil || r.IsError {
			b.Fatal(err, tooltest.Text(r))
		}
	}
}
