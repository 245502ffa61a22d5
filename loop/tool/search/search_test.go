package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

func TestSchemas(t *testing.T) {
	tooltest.Schema[globArgs](t, globTool{})
	tooltest.Schema[grepArgs](t, grepTool{})
}

// tree makes files; each is changed one second after the one before.
func tree(t testing.TB, files ...[2]string) *tool.Env {
	t.Helper()
	env := tooltest.Env(t, t.TempDir())
	for i, f := range files {
		path := filepath.Join(env.Cwd, f[0])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

func project(t testing.TB) *tool.Env {
	t.Helper()
	env := tree(t,
		[2]string{".git/config", "needle"}, [2]string{".git/info/exclude", "private.txt\n"},
		[2]string{".gitignore", "# out\n*.log\n/build/\nnode_modules/\n!keep.log\n"},
		[2]string{"main.go", "package main\n\nfunc main() { needle() }\n"},
		[2]string{"src/a.go", "needle 1\nhay\nneedle 2\n"}, [2]string{"src/deep/b.go", "hay\r\nneedle\r\n"},
		[2]string{"src/c.ts", "const needle = 1"}, [2]string{"src/.gitignore", "gen/\n"},
		[2]string{"src/gen/x.go", "needle"}, [2]string{"gen/y.go", "needle"},
		[2]string{"build/out.go", "needle"}, [2]string{"src/build/z.go", "needle"},
		[2]string{"debug.log", "needle"}, [2]string{"keep.log", "needle"}, [2]string{"private.txt", "needle"},
		[2]string{"node_modules/m/index.go", "needle"}, [2]string{".hidden/h.go", "needle"},
		[2]string{"bin.dat", "needle\x00"}, [2]string{"latin.txt", "n\xe9edle needle"},
	)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), []byte("needle"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"loop": ".", "out": outside, "src/up": ".."} {
		if err := os.Symlink(to, filepath.Join(env.Cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

func run(t testing.TB, env *tool.Env, tl tool.Tool, pairs ...any) (tool.Result, string) {
	t.Helper()
	r, err := tl.Run(t.Context(), env, tooltest.Args(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return r, tooltest.Text(r)
}

func TestGlob(t *testing.T) {
	env := project(t)
	for _, tt := range []struct {
		pattern, path, want string
	}{
		{"*.go", "", ".hidden/h.go\nsrc/build/z.go\ngen/y.go\nsrc/deep/b.go\nsrc/a.go\nmain.go"},
		{"**/*.go", "src", "src/build/z.go\nsrc/deep/b.go\nsrc/a.go"},
		{"src/**/*.{go,ts}", "", "src/build/z.go\nsrc/c.ts\nsrc/deep/b.go\nsrc/a.go"},
		{"src/*.go", "", "src/a.go"},
		{"./src/*.ts", "", "src/c.ts"},
		{env.Cwd + "/src/*.ts", "", "src/c.ts"},
		{env.Cwd + "/src/b.go", "", "[no file matches]"},
		{"*.log", "", "keep.log"},
		{"*.go", "node_modules", "node_modules/m/index.go"},
		{"*.go", "node_modules/m", "node_modules/m/index.go"},
		{"*.py", "", "[no file matches]"},
		{"config", ".", "[no file matches]"},
	} {
		r, got := run(t, env, globTool{}, "pattern", tt.pattern, "path", tt.path)
		if got != tt.want || r.IsError {
			t.Errorf("%s in %q:\ngot  %q\nwant %q", tt.pattern, tt.path, got, tt.want)
		}
		var resp globResponse
		if err := json.Unmarshal(r.Meta.Response, &resp); err != nil || resp.Files == nil || resp.Truncated {
			t.Errorf("response %s", r.Meta.Response)
		}
	}
}

func TestGlobCap(t *testing.T) {
	var files [][2]string
	for i := range 150 {
		files = append(files, [2]string{fmt.Sprintf("f%03d.txt", i), ""})
	}
	env := tree(t, files...)
	r, got := run(t, env, globTool{}, "pattern", "*.txt")
	if !strings.HasPrefix(got, "f149.txt\nf148.txt\n") || !strings.HasSuffix(got, "\nf050.txt\n\n[100 of 150 files, those changed last; narrow the pattern or the path]") {
		t.Errorf("got %q", got)
	}
	var resp globResponse
	if err := json.Unmarshal(r.Meta.Response, &resp); err != nil || len(resp.Files) != 100 || !resp.Truncated || resp.Files[0] != filepath.Join(env.Cwd, "f149.txt") {
		t.Errorf("response %s", r.Meta.Response)
	}
}

func TestGrep(t *testing.T) {
	env := project(t)
	for _, tt := range []struct{ pattern, path, include, want string }{
		{"needle", "src", "", "src/a.go\nLine 1: needle 1\nLine 3: needle 2\n\nsrc/build/z.go\nLine 1: needle\n\nsrc/c.ts\nLine 1: const needle = 1\n\nsrc/deep/b.go\nLine 2: needle\n\n[5 matches in 4 files]"},
		{"needle", "", "*.ts", "src/c.ts\nLine 1: const needle = 1\n\n[1 match in 1 file]"},
		{"needle", "", "src/*.go", "src/a.go\nLine 1: needle 1\nLine 3: needle 2\n\n[2 matches in 1 file]"},
		{"^needle$", "src/deep", "", "src/deep/b.go\nLine 2: needle\n\n[1 match in 1 file]"},
		{"(?i)NEEDLE [0-9]", "src/a.go", "", "src/a.go\nLine 1: needle 1\nLine 3: needle 2\n\n[2 matches in 1 file]"},
		{"needle", "latin.txt", "", "latin.txt\nLine 1: n\uFFFDedle needle\n\n[1 match in 1 file]"},
		{"needle", "", "*.log", "keep.log\nLine 1: needle\n\n[1 match in 1 file]"},
		{"needle", "", "*.{dat,txt}", "latin.txt\nLine 1: n\uFFFDedle needle\n\n[1 match in 1 file]"},
		{"nothing at all", "", "", "[no match]"},
	} {
		r, got := run(t, env, grepTool{}, "pattern", tt.pattern, "path", tt.path, "include", tt.include)
		if got != tt.want || r.IsError {
			t.Errorf("%s in %q %q:\ngot  %q\nwant %q", tt.pattern, tt.path, tt.include, got, tt.want)
		}
	}
	r, _ := run(t, env, grepTool{}, "pattern", "needle", "path", "src/deep")
	want := `{"files":["` + env.Cwd + `/src/deep/b.go"],"content":"src/deep/b.go\nLine 2: needle","matches":1}`
	if diff := cmp.Diff(want, string(r.Meta.Response)); diff != "" {
		t.Error(diff)
	}
}

func TestGrepCaps(t *testing.T) {
	env := tree(t,
		[2]string{"many.txt", strings.Repeat("needle\n", 300)},
		[2]string{"wide.txt", "wide " + strings.Repeat("€", 2000)},
		[2]string{"wider.txt", strings.Repeat("x", 200_000) + "tail\nafter\n"},
		[2]string{"heavy.txt", strings.Repeat("heavy"+strings.Repeat("z", 1990)+"\n", 100)},
	)
	if _, got := run(t, env, grepTool{}, "pattern", "needle"); strings.Count(got, "needle") != 250 || !strings.HasSuffix(got, "\n\n[the first 250 matches; narrow the pattern or the path]") {
		t.Errorf("%d matches: …%q", strings.Count(got, "needle"), got[len(got)-80:])
	}
	if _, got := run(t, env, grepTool{}, "pattern", "^wide "); got != "wide.txt\nLine 1: wide "+strings.Repeat("€", 665)+"…\n\n[1 match in 1 file]" {
		t.Errorf("got %.60q … %q", got, got[len(got)-40:])
	}
	if _, got := run(t, env, grepTool{}, "pattern", "tail|after"); got != "wider.txt\nLine 1: "+strings.Repeat("x", 2000)+"…\nLine 2: after\n\n[2 matches in 1 file]" {
		t.Errorf("got … %q", got[len(got)-60:])
	}
	if _, got := run(t, env, grepTool{}, "pattern", "heavy"); len(got) > maxOutput+200 || !strings.HasSuffix(got, "[the first 31 matches, as much as fits; narrow the pattern or the path]") {
		t.Errorf("%d bytes … %q", len(got), got[len(got)-80:])
	}
}

func TestRefused(t *testing.T) {
	env := project(t)
	for _, tt := range []struct {
		tl   tool.Tool
		args []any
		want string
	}{
		{globTool{}, []any{"pattern", ""}, `"pattern" is empty`},
		{globTool{}, []any{"pattern", "a/[b"}, `"pattern" is not a glob`},
		{globTool{}, []any{"pattern", "../*.go"}, `"pattern" holds ".."`},
		{globTool{}, []any{"pattern", "/etc/*"}, `outside the session's directories`},
		{globTool{}, []any{"pattern", "*", "path", "out"}, `outside the session's directories`},
		{globTool{}, []any{"pattern", "*", "path", "main.go"}, `main.go is not a directory.`},
		{globTool{}, []any{"pattern", "*", "path", "gone"}, `gone does not exist.`},
		{grepTool{}, []any{"pattern", "a(?=b)"}, `"pattern" is not an RE2 expression (invalid or unsupported Perl syntax: (?=); there is no look-around`},
		{grepTool{}, []any{"pattern", "a", "path", "/etc"}, `outside the session's directories`},
		{grepTool{}, []any{"pattern", "a", "include", "[x"}, `"include" is not a glob`},
		{grepTool{}, []any{"pattern", "a", "path", "gone"}, `gone does not exist.`},
	} {
		if r, got := run(t, env, tt.tl, tt.args...); !r.IsError || !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %q", tt.args, got)
		}
	}
}

func TestCancelled(t *testing.T) {
	env := project(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tl := range Tools() {
		r, err := tl.Run(ctx, env, tooltest.Args("pattern", "x"))
		if err != nil || !r.IsError || tooltest.Text(r) != "[cancelled]" {
			t.Errorf("got %q, %v", tooltest.Text(r), err)
		}
	}
}

func TestView(t *testing.T) {
	env := project(t)
	for _, tt := range []struct {
		tl          tool.Tool
		input, want string
	}{
		{globTool{}, `{"pattern":"*.go"}`, "Find *.go"},
		{globTool{}, `{"pattern":"*.go","path":"src"}`, "Find *.go in src"},
		{grepTool{}, `{"pattern":"a|b","include":"*.go"}`, "Search for a|b in *.go"},
		{grepTool{}, `{`, "Search for"},
	} {
		if got := tt.tl.View(env, json.RawMessage(tt.input)).Title; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.input, got, tt.want)
		}
	}
}

func BenchmarkGrep(b *testing.B) {
	var files [][2]string
	for i := range 200 {
		files = append(files, [2]string{fmt.Sprintf("d%d/f%d.go", i%10, i), strings.Repeat("some text that is not looked for\n", 300)})
	}
	env := tree(b, files...)
	for b.Loop() {
		run(b, env, grepTool{}, "pattern", "needle[0-9]")
	}
}
