package file

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
	"acp-agent/session"
)

func TestSchemas(t *testing.T) {
	tooltest.Schema[readArgs](t, readTool{})
	tooltest.Schema[writeArgs](t, writeTool{})
	tooltest.Schema[editArgs](t, editTool{})
}

// dir makes a directory with these files and an Env in it.
func dir(t testing.TB, files map[string]string) *tool.Env {
	t.Helper()
	env := tooltest.Env(t, t.TempDir())
	env.Files = Disk(env.Roots)
	for name, content := range files {
		put(t, env, name, content)
	}
	return env
}

func put(t testing.TB, env *tool.Env, name, content string) {
	t.Helper()
	path := filepath.Join(env.Cwd, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, env *tool.Env, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(env.Cwd, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func run(t testing.TB, env *tool.Env, tl tool.Tool, pairs ...any) (tool.Result, string) {
	t.Helper()
	r, err := tl.Run(t.Context(), env, tooltest.Args(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return r, tooltest.Text(r)
}

// refused runs a tool that must fail with this text. foreseen: its View says so.
func refused(t testing.TB, env *tool.Env, tl tool.Tool, foreseen bool, want string, pairs ...any) {
	t.Helper()
	if v := tl.View(env, tooltest.Args(pairs...)); foreseen && v.Refused != want || !foreseen && v.Refused != "" {
		t.Errorf("%s %v: its view says %q", tl.Spec().Name, pairs, v.Refused)
	}
	if r, got := run(t, env, tl, pairs...); !r.IsError || got != want {
		t.Errorf("%s %v: got %q, want %q", tl.Spec().Name, pairs, got, want)
	}
}

// ok runs a tool that must succeed.
func ok(t testing.TB, env *tool.Env, tl tool.Tool, pairs ...any) (tool.Result, string) {
	t.Helper()
	r, text := run(t, env, tl, pairs...)
	if r.IsError {
		t.Fatalf("%s %v: %s", tl.Spec().Name, pairs, text)
	}
	return r, text
}

func response1[T any](t *testing.T, r tool.Result) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(r.Meta.Response, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRead(t *testing.T) {
	many := strings.Repeat("line\n", 2500)
	env := dir(t, map[string]string{
		"two.txt": "mode=DEBUG\nlevel=info\n", "one.txt": "hello", "empty.txt": "", "crlf.txt": "a\r\nb\r\n",
		"bom.txt": "\uFEFFx\n", "many.txt": many, "wide.txt": strings.Repeat("€", 2001) + "\nnext\n",
		"wider.txt": strings.Repeat("x", 100_000) + "\r\nnext\n", "latin.txt": "caf\xe9\n", "bin": "a\x00b",
		"utf16.txt": "\xff\xfea\x00", "heavy.txt": strings.Repeat(strings.Repeat("y", 999)+"\n", 100),
		"sub/inner.txt": "", "sub/deep/x": "",
	})
	for _, tt := range []struct {
		name string
		args []any
		want string
	}{
		{"whole", []any{"file_path", "two.txt"}, "1: mode=DEBUG\n2: level=info\n\n[end of file, 2 lines]"},
		{"absolute", []any{"file_path", filepath.Join(env.Cwd, "two.txt")}, "1: mode=DEBUG\n2: level=info\n\n[end of file, 2 lines]"},
		{"no final line end", []any{"file_path", "one.txt"}, "1: hello\n\n[end of file, 1 line]"},
		{"empty", []any{"file_path", "empty.txt"}, "[empty file]"},
		{"CRLF", []any{"file_path", "crlf.txt"}, "1: a\n2: b\n\n[end of file, 2 lines, CRLF]"},
		{"byte order mark", []any{"file_path", "bom.txt"}, "1: x\n\n[end of file, 1 line]"},
		{"window", []any{"file_path", "many.txt", "offset", 7, "limit", 2}, "7: line\n8: line\n\n[lines 7-8 of 2500; go on with offset 9]"},
		{"end of a window", []any{"file_path", "many.txt", "offset", 2500}, "2500: line\n\n[lines 2500-2500 of 2500, the end]"},
		{"numbers as strings", []any{"file_path", "many.txt", "offset", "2499", "limit", "1"}, "2499: line\n\n[lines 2499-2499 of 2500; go on with offset 2500]"},
		{"wide line", []any{"file_path", "wide.txt"}, "1: " + strings.Repeat("€", 2000) + "… [3 more bytes in this line]\n2: next\n\n[end of file, 2 lines]"},
		{"line over the buffer", []any{"file_path", "wider.txt"}, "1: " + strings.Repeat("x", 2000) + "… [98000 more bytes in this line]\n2: next\n\n[end of file, 2 lines, CRLF]"},
		{"not UTF-8", []any{"file_path", "latin.txt"}, "1: caf\uFFFD\n\n[end of file, 1 line; bytes that are not UTF-8 are shown as \uFFFD]"},
		{"binary", []any{"file_path", "bin"}, "[bin is a binary file; 3 bytes, not shown]"},
		{"UTF-16", []any{"file_path", "utf16.txt"}, "[utf16.txt is UTF-16 text, which iconv in bash can convert; 4 bytes, not shown]"},
		{"directory", []any{"file_path", "sub"}, "deep/\ninner.txt\n\n[directory, 2 entries]"},
		{"empty directory", []any{"file_path", "sub/deep/../../sub/deep"}, "x\n\n[directory, 1 entries]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := ok(t, env, readTool{}, tt.args...); got != tt.want {
				t.Errorf("got %.300q\nwant %.300q", got, tt.want)
			}
		})
	}
	r, text := ok(t, env, readTool{}, "file_path", "many.txt")
	if !strings.HasSuffix(text, "2000: line\n\n[lines 1-2000 of 2500; go on with offset 2001]") {
		t.Errorf("line cap: …%q", text[len(text)-100:])
	}
	if got := response1[readResponse](t, r); got.StartLine != 1 || got.NumLines != 2000 || got.TotalLines != 2500 || got.Content != strings.TrimSuffix(many[:5*2000], "\n") {
		t.Errorf("response %d %d %d", got.StartLine, got.NumLines, got.TotalLines)
	}
	if _, text = ok(t, env, readTool{}, "file_path", "heavy.txt"); !strings.HasSuffix(text, "\n[lines 1-51 of 100; go on with offset 52]") || len(text) > maxBytes+200 {
		t.Errorf("byte cap: %d bytes, …%q", len(text), text[len(text)-60:])
	}
}

func TestReadFails(t *testing.T) {
	env := dir(t, map[string]string{"config.txt": "a\n", "confiG.tx": "", "other.go": "", "d/config.yaml": ""})
	for _, tt := range []struct{ path, want string }{
		{"confg.txt", "confg.txt does not exist. Did you mean config.txt, confiG.tx?"},
		{"d/config.yml", "d/config.yml does not exist. Did you mean d/config.yaml?"},
		{"nothing-like-it", "nothing-like-it does not exist."},
		{"config.txt/x", env.Cwd + "/config.txt/x cannot be used: not a directory"},
		{"a\x00b", "is not a path."},
	} {
		if r, got := run(t, env, readTool{}, "file_path", tt.path); !r.IsError || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: got %q", tt.path, got)
		}
	}
	if r, got := run(t, env, readTool{}, "file_path", "config.txt", "offset", 5); !r.IsError || got != "Line 5 is past the end: config.txt has 1 lines." {
		t.Errorf("got %q", got)
	}
	if r, got := run(t, env, readTool{}, "file_path", ""); !r.IsError || !strings.Contains(got, "file_path") {
		t.Errorf("got %q", got)
	}
}

func TestReadImage(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n....."
	env := dir(t, map[string]string{"a.png": png})
	if _, got := ok(t, env, readTool{}, "file_path", "a.png"); got != "[a.png is an image (image/png); this model takes no images; 13 bytes, not shown]" {
		t.Errorf("got %q", got)
	}
	env.Images = true
	r, _ := ok(t, env, readTool{}, "file_path", "a.png")
	want := []session.Block{session.Text("[image, image/png, 13 bytes]"), {Type: session.BlockImage, MimeType: "image/png", Data: base64.StdEncoding.EncodeToString([]byte(png))}}
	if diff := cmp.Diff(want, r.Content); diff != "" {
		t.Error(diff)
	}
}

// A file of streaming size is paged through without being held.
func TestReadStreams(t *testing.T) {
	env := dir(t, map[string]string{"big.txt": strings.Repeat(strings.Repeat("z", 99)+"\n", streaming/100+10)})
	env.Files = refuse{}
	_, text := ok(t, env, readTool{}, "file_path", "big.txt", "offset", 100_000, "limit", 1)
	if want := fmt.Sprintf("100000: %s\n\n[lines 100000-100000 of %d; go on with offset 100001]", strings.Repeat("z", 99), streaming/100+10); text != want {
		t.Errorf("got %q", text)
	}
	env.Files = Disk(env.Roots)
	ok(t, env, editTool{}, "file_path", "big.txt", "old_string", strings.Repeat("z", 99)+"\n", "new_string", "", "replace_all", true)
}

// What read shows of a file is the same whether it reads on in the file that it
// has opened or asks for the content.
func TestReadOnInTheOpenFile(t *testing.T) {
	env := dir(t, nil)
	for _, size := range []int{0, 1, 15, 16, sniffed - 1, sniffed, sniffed + 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
		for name, line := range map[string]string{"lines": "a line of text\n", "one": "x", "long": strings.Repeat("é", 9000) + "\r\n"} {
			put(t, env, name, strings.Repeat(line, size/len(line)+1)[:size])
			env.Files = Disk(env.Roots)
			here, _ := run(t, env, readTool{}, "file_path", name)
			env.Files = asked{Disk(env.Roots)}
			there, _ := run(t, env, readTool{}, "file_path", name)
			if diff := cmp.Diff(there, here); diff != "" {
				t.Errorf("%s of %d bytes:\n%s", name, size, diff)
			}
			content := get(t, env, name)
			if seen, same := env.Seen.KnownSum(filepath.Join(env.Roots[0], name), sha256.Sum256([]byte(content))); !seen || !same {
				t.Errorf("%s of %d bytes: not noted as it is", name, size)
			}
		}
	}
}

// asked hides that its files are the disk.
type asked struct{ tool.Files }

type refuse struct{}

func (refuse) ReadFile(context.Context, string) ([]byte, error) { return nil, os.ErrPermission }

func (refuse) WriteFile(context.Context, string, []byte) error { return os.ErrPermission }

func TestWrite(t *testing.T) {
	env := dir(t, map[string]string{"old.txt": "old\n", "bin": "a\x00b", "empty.txt": ""})
	r, got := ok(t, env, writeTool{}, "file_path", "notes.txt", "content", "hello world")
	if got != "Created notes.txt (1 line)." || get(t, env, "notes.txt") != "hello world" {
		t.Errorf("got %q, %q", got, get(t, env, "notes.txt"))
	}
	if resp := response1[writeResponse](t, r); !resp.Created || resp.Original != nil || resp.Path != filepath.Join(env.Cwd, "notes.txt") {
		t.Errorf("response %+v", resp)
	}
	if _, got = ok(t, env, writeTool{}, "file_path", "a/b/c.txt", "content", "1\n2\n"); got != "Created a/b/c.txt (2 lines)." {
		t.Errorf("got %q", got)
	}
	// What it wrote itself it knows.
	if _, got = ok(t, env, writeTool{}, "file_path", "notes.txt", "content", ""); got != "Updated notes.txt (0 lines)." {
		t.Errorf("got %q", got)
	}
	ok(t, env, writeTool{}, "file_path", "empty.txt", "content", "no longer")
	ok(t, env, writeTool{}, "file_path", "old.txt", "content", "old\n") // the same
	refused(t, env, writeTool{}, false, "bin exists and has not been read. Read it first, then try again.", "file_path", "bin", "content", "x")
	ok(t, env, readTool{}, "file_path", "bin")
	put(t, env, "bin", "a\x00c")
	refused(t, env, writeTool{}, false, "bin has changed since it was read. Read it again, then try again.", "file_path", "bin", "content", "x")
	refused(t, env, writeTool{}, true, "a/b is a directory.", "file_path", "a/b", "content", "x")
}

// Case G4: an overwrite is not shown as a creation.
func TestG4OverwriteShowsWhatIsLost(t *testing.T) {
	big := strings.Repeat("0123456789\n", 100_000)
	env := dir(t, map[string]string{"old.txt": "old\n", "empty.txt": "", "bin": "a\x00b", "big.txt": big, "huge.txt": ""})
	if err := os.Truncate(filepath.Join(env.Cwd, "huge.txt"), maxWhole+1); err != nil { // sparse
		t.Fatal(err)
	}
	old, empty := "old\n", ""
	for _, tt := range []struct {
		file, title string
		want        []session.Diff
	}{
		{"new.txt", "Write new.txt", []session.Diff{{NewText: "new\n", Line: 1}}},
		{"old.txt", "Write old.txt", []session.Diff{{OldText: &old, NewText: "new\n", Line: 1}}},
		{"empty.txt", "Write empty.txt", []session.Diff{{OldText: &empty, NewText: "new\n", Line: 1}}},
		{"bin", "Write bin (too large or binary, no diff)", nil},
		{"big.txt", "Write big.txt (too large or binary, no diff)", nil},
		{"huge.txt", "Write huge.txt (too large or binary, no diff)", nil},
	} {
		path := filepath.Join(env.Cwd, tt.file)
		for i := range tt.want {
			tt.want[i].Path = path
		}
		ok := func(what string, got []session.Diff) {
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, %s:\n%s", tt.file, what, diff)
			}
		}
		v := writeTool{}.View(env, tooltest.Args("file_path", tt.file, "content", "new\n"))
		if v.Title != tt.title {
			t.Errorf("title %q, want %q", v.Title, tt.title)
		}
		ok("preview", v.Diffs)
		if tt.file != "new.txt" {
			run(t, env, readTool{}, "file_path", tt.file)
		}
		r, text := run(t, env, writeTool{}, "file_path", tt.file, "content", "new\n")
		if r.IsError {
			t.Errorf("%s: %s", tt.file, text)
		}
		ok("result", r.Meta.Diffs)
		if get(t, env, tt.file) != "new\n" {
			t.Errorf("%s was not written", tt.file)
		}
	}
}

func TestEdit(t *testing.T) {
	env := dir(t, map[string]string{"config.txt": "mode=DEBUG\nlevel=info"})
	refused(t, env, editTool{}, false, "config.txt exists and has not been read. Read it first, then try again.", "file_path", "config.txt", "old_string", "DEBUG", "new_string", "RELEASE")
	ok(t, env, readTool{}, "file_path", "config.txt")
	r, got := ok(t, env, editTool{}, "file_path", "config.txt", "old_string", "DEBUG", "new_string", "RELEASE")
	if got != "Updated config.txt (1 replacement)." || get(t, env, "config.txt") != "mode=RELEASE\nlevel=info" {
		t.Errorf("got %q, %q", got, get(t, env, "config.txt"))
	}
	old, path := "mode=DEBUG\nlevel=info", filepath.Join(env.Cwd, "config.txt")
	want := session.ToolMeta{
		Diffs:     []session.Diff{{Path: path, OldText: &old, NewText: "mode=RELEASE\nlevel=info", Line: 1}},
		Locations: []session.Location{{Path: path, Line: 1}},
		Response:  response(editResponse{path, "DEBUG", "RELEASE", false, &old}),
	}
	if diff := cmp.Diff(want, r.Meta); diff != "" {
		t.Error(diff)
	}
	// It knows what it wrote, until something else writes.
	ok(t, env, editTool{}, "file_path", "config.txt", "old_string", "info", "new_string", "warn")
	put(t, env, "config.txt", "mode=OTHER\n")
	refused(t, env, editTool{}, false, "config.txt has changed since it was read. Read it again, then try again.", "file_path", "config.txt", "old_string", "OTHER", "new_string", "x")
	refused(t, env, editTool{}, true, "config.txt has changed since it was read. Read it again, then try again.", "file_path", "config.txt", "old_string", "warn", "new_string", "x")
}

func TestEditFails(t *testing.T) {
	env := dir(t, map[string]string{"f.go": "func a() {\n\treturn 1\n}\nfunc b() {\n\treturn 1\n}\n", "aaa": "xaaay", "latin": "caf\xe9", "d/x": ""})
	for _, f := range []string{"f.go", "aaa", "latin"} {
		ok(t, env, readTool{}, "file_path", f)
	}
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{"file_path", "f.go", "old_string", "return 1", "new_string", "return 2"}, "old_string is in f.go 2 times. Add lines round it until it is there once, or set replace_all."},
		{[]any{"file_path", "f.go", "old_string", "return 3", "new_string", "x"}, "old_string is not in f.go. Read the file again and copy the text exactly, without line numbers."},
		{[]any{"file_path", "f.go", "old_string", "func b() {\n  return 1\n", "new_string", "x"}, "old_string is not in f.go. Its first line is like line 4 of the file; compare white space and what follows."},
		{[]any{"file_path", "f.go", "old_string", "a()", "new_string", "a()"}, "old_string and new_string are the same; nothing would change."},
		{[]any{"file_path", "f.go", "old_string", "", "new_string", "x"}, "old_string is empty, but f.go is not. Give the text to replace, or use write."},
		{[]any{"file_path", "aaa", "old_string", "aa", "new_string", "x"}, "old_string overlaps with itself in aaa, so the place is not clear. Add lines round it."},
		{[]any{"file_path", "latin", "old_string", "caf", "new_string", "x"}, "latin is not UTF-8 text, so it cannot be edited. Use bash."},
		{[]any{"file_path", "g.go", "old_string", "a", "new_string", "x"}, "g.go does not exist. Did you mean f.go? To make a new file leave old_string empty."},
		{[]any{"file_path", "d", "old_string", "a", "new_string", "x"}, "d is a directory."},
	} {
		refused(t, env, editTool{}, true, tt.want, tt.args...)
	}
	ok(t, env, editTool{}, "file_path", "f.go", "old_string", "return 1", "new_string", "return 2", "replace_all", true)
	if got := get(t, env, "f.go"); strings.Count(got, "return 2") != 2 {
		t.Errorf("got %q", got)
	}
	if _, got := ok(t, env, editTool{}, "file_path", "new/n.txt", "old_string", "", "new_string", "x\ny"); got != "Created new/n.txt (2 lines)." || get(t, env, "new/n.txt") != "x\ny" {
		t.Errorf("got %q", got)
	}
}

// Case H2: line ends, byte order marks and everything outside the edit stay.
func TestH2LineEnds(t *testing.T) {
	for _, tt := range []struct{ name, file, old, new, want string }{
		{"CRLF", "a\r\nb\r\nc\r\n", "b", "B\nB2", "a\r\nB\r\nB2\r\nc\r\n"},
		{"CRLF, several lines", "a\r\nb\r\nc\r\n", "a\nb\n", "x\n", "x\r\nc\r\n"},
		{"CRLF, from a line end", "a\r\nb\r\nc\r\n", "\nb", "\nB", "a\r\nB\r\nc\r\n"},
		{"CRLF in the call", "a\r\nb\r\nc\r\n", "a\r\nb", "A\r\nB", "A\r\nB\r\nc\r\n"},
		{"CRLF in the call, not in the file", "a\nb\nc\n", "a\r\nb", "A\r\nB", "A\nB\nc\n"},
		{"LF", "a\nb\n", "b", "B\nB2", "a\nB\nB2\n"},
		{"mixed, near CRLF", "a\nb\r\nc\n", "b", "B\nB2", "a\nB\r\nB2\r\nc\n"},
		{"mixed, near LF", "a\r\nb\nc\r\n", "b", "B\nB2", "a\r\nB\nB2\nc\r\n"},
		{"mixed, last line", "a\nb\r\nc", "c", "C\nD", "a\nb\r\nC\r\nD"},
		{"no final line end", "a\r\nb", "b", "B", "a\r\nB"},
		{"byte order mark", "\uFEFFa\r\nb\r\n", "a", "A", "\uFEFFA\r\nb\r\n"},
		{"lone CR", "a\rb\r\nc", "b", "B", "a\rB\r\nc"},
		{"double CR", "a\r\r\nb\r\n", "b", "B", "a\r\r\nB\r\n"},
		{"delete lines", "a\r\nb\r\nc\r\n", "b\n", "", "a\r\nc\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := dir(t, map[string]string{"f": tt.file})
			ok(t, env, readTool{}, "file_path", "f")
			ok(t, env, editTool{}, "file_path", "f", "old_string", tt.old, "new_string", tt.new)
			if got := get(t, env, "f"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Case G2: a one-line edit in a long CRLF file is shown as one hunk.
func TestG2HunkSizedDiff(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "line %d\r\n", i+1)
	}
	env := dir(t, map[string]string{"long.txt": b.String()})
	ok(t, env, readTool{}, "file_path", "long.txt")
	args := []any{"file_path", "long.txt", "old_string", "line 2500\n", "new_string", "changed\n"}
	view := editTool{}.View(env, tooltest.Args(args...))
	r, _ := ok(t, env, editTool{}, args...)
	old := "line 2497\r\nline 2498\r\nline 2499\r\nline 2500\r\nline 2501\r\nline 2502\r\nline 2503\r\n"
	path := filepath.Join(env.Cwd, "long.txt")
	want := []session.Diff{{Path: path, OldText: &old, NewText: strings.Replace(old, "line 2500", "changed", 1), Line: 2497}}
	if diff := cmp.Diff(want, r.Meta.Diffs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, view.Diffs); diff != "" {
		t.Errorf("preview: %s", diff)
	}
	if diff := cmp.Diff([]session.Location{{Path: path, Line: 2500}}, view.Locations); diff != "" {
		t.Error(diff)
	}
	if view.Title != "Edit long.txt" {
		t.Errorf("title %q", view.Title)
	}
}

func TestViewBearsAnything(t *testing.T) {
	env := dir(t, map[string]string{"a": "x"})
	for _, tl := range Tools() {
		for _, in := range []string{``, `{`, `null`, `[]`, `{"file_path":7}`, `{"file_path":"../../x"}`, `{"file_path":"a"}`, `{"file_path":"a\n` + "`" + `b"}`, `{"file_path":"a","old_string":"y","new_string":"z","content":"q"}`} {
			v := tl.View(env, json.RawMessage(in))
			if v.Title == "" || strings.Contains(v.Title, "\n") {
				t.Errorf("%s %s: title %q", tl.Spec().Name, in, v.Title)
			}
		}
	}
	if seen, _ := env.Seen.KnownSum(filepath.Join(env.Cwd, "a"), sha256.Sum256(nil)); seen {
		t.Error("a view counts as a read")
	}
}

// What a formatter makes of a file that the session has written is known; what
// was never read stays to be read.
func TestFollowTakesInWhatHooksWrote(t *testing.T) {
	env := dir(t, map[string]string{"other": "x\n"})
	ok(t, env, writeTool{}, "file_path", "a", "content", "x=1\n")
	args := func(name string) json.RawMessage { return tooltest.Args("file_path", name, "content", "x=1\n") }
	if (writeTool{}).Follow(t.Context(), env, args("a")) {
		t.Error("followed where nothing has changed")
	}
	put(t, env, "a", "x = 1\n")
	if _, text := run(t, env, editTool{}, "file_path", "a", "old_string", "x = 1", "new_string", "x=2"); !strings.Contains(text, "has changed since it was read") {
		t.Errorf("without Follow: %s", text)
	}
	if !(writeTool{}).Follow(t.Context(), env, args("a")) {
		t.Error("did not follow")
	}
	ok(t, env, editTool{}, "file_path", "a", "old_string", "x = 1", "new_string", "x=2")
	put(t, env, "a", "x = 2\n")
	if !(editTool{}).Follow(t.Context(), env, tooltest.Args("file_path", "a", "old_string", "x = 1", "new_string", "x=2")) {
		t.Error("edit did not follow")
	}
	ok(t, env, writeTool{}, "file_path", "a", "content", "x=3\n")
	for _, name := range []string{"other", "gone", "../outside"} {
		if (writeTool{}).Follow(t.Context(), env, args(name)) {
			t.Errorf("followed %s, which was never seen", name)
		}
	}
	if _, text := run(t, env, editTool{}, "file_path", "other", "old_string", "x", "new_string", "y"); !strings.Contains(text, "has not been read") {
		t.Errorf("a file that was never read: %s", text)
	}
}
