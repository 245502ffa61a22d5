//go:build unix

package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

func TestSchemas(t *testing.T) {
	s := newShell(t)
	tooltest.Schema[bashArgs](t, &bash{s})
	tooltest.Schema[jobOutputArgs](t, &jobOutput{s})
	tooltest.Schema[jobKillArgs](t, &jobKill{s})
}

func newShell(t *testing.T) *Shell {
	t.Helper()
	s := New(Options{TempDir: t.TempDir()})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// call runs bash in a new directory and returns the result and its response.
func call(t *testing.T, env *tool.Env, pairs ...any) (tool.Result, bashResponse) {
	t.Helper()
	return callCtx(t, t.Context(), newShell(t), env, pairs...)
}

func callCtx(t *testing.T, ctx context.Context, s *Shell, env *tool.Env, pairs ...any) (tool.Result, bashResponse) {
	t.Helper()
	r, err := (&bash{s}).Run(ctx, env, tooltest.Args(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	var resp bashResponse
	if r.Meta.Response != nil {
		if err := json.Unmarshal(r.Meta.Response, &resp); err != nil {
			t.Fatal(err)
		}
	}
	return r, resp
}

func TestBashResults(t *testing.T) {
	for _, tt := range []struct {
		name, command, want string
		resp                bashResponse
	}{
		{"stdout", `echo TERMINAL_OK`, "TERMINAL_OK\n", bashResponse{Stdout: "TERMINAL_OK\n"}},
		{"both streams", `printf out; echo err >&2`, "out\n[stderr]\nerr\n", bashResponse{Stdout: "out", Stderr: "err\n"}},
		{"only stderr", `echo err >&2`, "[stderr]\nerr\n", bashResponse{Stderr: "err\n"}},
		{"nothing", `true`, "(no output)", bashResponse{}},
		{"exit code", `printf x; exit 3`, "x\n[exit code: 3]", bashResponse{Stdout: "x", ExitCode: 3}},
		{"exit code alone", `exit 1`, "(no output)\n[exit code: 1]", bashResponse{ExitCode: 1}},
		{"signal", `kill -SEGV $$`, "(no output)\n[killed by signal: SIGSEGV]", bashResponse{ExitCode: 139}},
		{"invalid UTF-8", `printf 'a\377b'`, "a\uFFFDb", bashResponse{Stdout: "a\uFFFDb"}},
		{"A3: cat has nothing to read", `cat; echo '{"jsonrpc":"2.0"}' >&1`, "{\"jsonrpc\":\"2.0\"}\n", bashResponse{Stdout: "{\"jsonrpc\":\"2.0\"}\n"}},
		{"no terminal to ask on", `(: < /dev/tty) 2>/dev/null || echo none`, "none\n", bashResponse{Stdout: "none\n"}},
		{"not a login shell", `shopt -q login_shell || echo plain`, "plain\n", bashResponse{Stdout: "plain\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, resp := call(t, tooltest.Env(t, t.TempDir()), "command", tt.command, "description", "a test")
			if got := tooltest.Text(r); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.resp, resp); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if r.IsError {
				t.Error("a command that ran is reported as a failed tool")
			}
			if r.Meta.ExitCode == nil || *r.Meta.ExitCode != tt.resp.ExitCode {
				t.Errorf("exit code in meta: %v", r.Meta.ExitCode)
			}
		})
	}
}

func TestBashWorkdir(t *testing.T) {
	dir := t.TempDir()
	env := tooltest.Env(t, dir)
	if err := os.Mkdir(filepath.Join(env.Cwd, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		workdir, want string
		fails         bool
	}{
		{"", env.Cwd + "\n", false},
		{"sub", env.Cwd + "/sub\n", false},
		{filepath.Join(env.Cwd, "sub"), env.Cwd + "/sub\n", false},
		{"gone", "The workdir " + env.Cwd + "/gone cannot be used: no such file or directory", true},
		{"/dev/null", "The workdir /dev/null is not a directory.", true},
	} {
		r, _ := call(t, env, "command", "pwd -P", "workdir", tt.workdir)
		if got := tooltest.Text(r); got != tt.want || r.IsError != tt.fails {
			t.Errorf("workdir %q: got %q (error %v), want %q", tt.workdir, got, r.IsError, tt.want)
		}
	}
}

// Case Q1: the command has the environment that the Env holds, whole, and Q7: no
// more than that.
func TestQ1EnvironmentIsKept(t *testing.T) {
	t.Setenv("SECRET_OF_THE_AGENT", "hidden")
	env := tooltest.Env(t, t.TempDir())
	env.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/someone", "GH_TOKEN=gh", "PAGER=less"}
	r, _ := call(t, env, "command", `echo "$HOME $GH_TOKEN $PAGER $NO_COLOR $TERM $GIT_TERMINAL_PROMPT [$SECRET_OF_THE_AGENT]"`)
	if got, want := tooltest.Text(r), "/home/someone gh cat 1 dumb 0 []\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env.Environ = nil
	r, _ = call(t, env, "command", `echo "[$SECRET_OF_THE_AGENT]"`)
	if got, want := tooltest.Text(r), "[]\n"; got != want {
		t.Errorf("with no environment: got %q, want %q", got, want)
	}
}

func TestBashRefuses(t *testing.T) {
	for _, tt := range []struct{ input, want string }{
		{`{}`, `the required "command" (string) is missing`},
		{`{"command":" \n"}`, `"command" is empty`},
		{`{"command":"a\u0000b"}`, `"command" holds a NUL character`},
		{`{"command":"x","timeoutMs":-1}`, `"timeoutMs" must not be negative`},
		{`{"command":"echo`, `not valid JSON`},
	} {
		b := &bash{newShell(t)}
		r, err := b.Run(t.Context(), tooltest.Env(t, t.TempDir()), json.RawMessage(tt.input))
		if err != nil || !r.IsError || !strings.Contains(tooltest.Text(r), tt.want) {
			t.Errorf("%s: got %q, %v", tt.input, tooltest.Text(r), err)
		}
		if err := b.Check(json.RawMessage(tt.input)); err == nil || err.Error() != tooltest.Text(r) {
			t.Errorf("%s: Check says %v", tt.input, err)
		}
	}
}

// Case G14 and what View must bear.
func TestBashView(t *testing.T) {
	b := &bash{newShell(t)}
	for _, tt := range []struct{ input, want string }{
		{`{"command":"go test ./..."}`, "go test ./..."},
		{`{"command":"a\nb"}`, "a ⏎ b"},
		{`{"command":5}`, "bash"},
		{`{"comm`, "bash"},
		{``, "bash"},
	} {
		if got := b.View(nil, json.RawMessage(tt.input)).Title; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.input, got, tt.want)
		}
	}
}

// lifeline is a pipe with a name. A command that opens it for writing keeps the
// returned function waiting until all that inherited it are gone.
func lifeline(t *testing.T) (path string, gone func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "lifeline")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan *os.File, 1)
	go func() { // ends when a command opens the other end
		f, err := os.Open(path)
		if err != nil {
			t.Error(err)
		}
		opened <- f
	}()
	return path, func() {
		f := <-opened
		defer f.Close()
		if _, err := f.Read(make([]byte, 1)); err == nil {
			t.Error("somebody wrote to the lifeline")
		}
	}
}

func TestTimeout(t *testing.T) {
	path, gone := lifeline(t)
	r, resp := call(t, tooltest.Env(t, t.TempDir()), "command", `exec 3>`+path+`; echo begun; sleep 1000 & sleep 1000; echo never`, "timeoutMs", 400)
	gone()
	want := "begun\n[timed out after 400ms]\n[killed by signal: SIGTERM]"
	if got := tooltest.Text(r); got != want || r.IsError {
		t.Errorf("got %q (error %v), want %q", got, r.IsError, want)
	}
	if resp.TimedOutMs != 400 || resp.ExitCode != 143 || resp.Interrupted {
		t.Errorf("response %+v", resp)
	}
}

// cancelWhen returns an Env whose call is cancelled when its output holds text.
func cancelWhen(t *testing.T, text string) (context.Context, *tool.Env) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	env := tooltest.Env(t, t.TempDir())
	var out tooltest.Output
	env.Progress = func(p tool.Progress) {
		out.Progress(p)
		if strings.Contains(out.Text(), text) {
			cancel()
		}
	}
	return ctx, env
}

func TestCancel(t *testing.T) {
	for _, tt := range []struct{ name, command, want string }{
		{"tree", `sleep 1000 & echo ready; sleep 1000; echo never`, "ready\n[cancelled]\n[killed by signal: SIGTERM]"},
		{"ignores SIGTERM", `trap '' TERM; echo ready; while :; do sleep 1000; done`, "ready\n[cancelled]\n[killed by signal: SIGKILL]"},
		{"child ignores SIGTERM", `(trap '' TERM; echo ready; while :; do sleep 1000; done); echo never`, "ready\n[cancelled]\n[killed by signal: SIGTERM]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path, gone := lifeline(t)
			ctx, env := cancelWhen(t, "ready")
			r, resp := callCtx(t, ctx, newShell(t), env, "command", `exec 3>`+path+`; `+tt.command)
			gone()
			if got := tooltest.Text(r); got != tt.want || !r.IsError || !resp.Interrupted {
				t.Errorf("got %q (error %v), want %q", got, r.IsError, tt.want)
			}
		})
	}
	t.Run("leaves the group", func(t *testing.T) {
		if _, err := exec.LookPath("setsid"); err != nil || runtime.GOOS != "linux" {
			t.Skip("needs setsid to leave the group with, and Linux's /proc to be found by")
		}
		path, gone := lifeline(t)
		ctx, env := cancelWhen(t, "ready")
		r, _ := callCtx(t, ctx, newShell(t), env, "command", `exec 3>`+path+`; setsid bash -c 'echo ready; sleep 1000' & wait`)
		gone()
		if got, want := tooltest.Text(r), "ready\n[cancelled]\n[killed by signal: SIGTERM]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("before it started", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, _ := callCtx(t, ctx, newShell(t), tooltest.Env(t, t.TempDir()), "command", "echo never")
		if got := tooltest.Text(r); got != "(no output)\n[cancelled]" || !r.IsError {
			t.Errorf("got %q", got)
		}
	})
}

// What has left the group and holds the pipe does not hold the answer to a cancel,
// however long a command that ends by itself would be listened to.
func TestCancelDoesNotDrain(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	pid := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() {
		if data, err := os.ReadFile(pid); err == nil {
			_ = exec.Command(bash, "-c", "kill -KILL "+string(data)).Run()
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	out := &writer{func(p []byte) {
		if strings.Contains(string(p), "ready") {
			cancel()
		}
	}}
	e, err := run(ctx, command{
		path: bash, args: []string{"-c", `(set -m; sleep 1000 & echo $! > "` + pid + `"); echo ready; sleep 1000`},
		env: os.Environ(), dir: t.TempDir(), stdout: out, stderr: out, drain: 24 * time.Hour,
	})
	if err != nil || !e.cancelled {
		t.Errorf("%+v, %v", e, err)
	}
}

type writer struct{ f func([]byte) }

func (w *writer) Write(p []byte) (int, error) { w.f(p); return len(p), nil }

// Case P4: what a command leaves behind holds its stdout, and must neither hang
// the call nor outlive it.
func TestP4LeftOverGrandchild(t *testing.T) {
	path, gone := lifeline(t)
	r, _ := call(t, tooltest.Env(t, t.TempDir()), "command", `exec 3>`+path+`; sleep 1000 & echo hi`)
	gone()
	want := "hi\n[processes it left running were ended; use run_in_background to keep one]"
	if got := tooltest.Text(r); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A process that has left the group lives on after its command, and does not hold
// the call.
func TestEscapedGrandchildDoesNotHang(t *testing.T) {
	if _, _, err := find(); err != nil {
		t.Skipf("there is no bash to run: %v", err)
	}
	dir := t.TempDir()
	r, _ := call(t, tooltest.Env(t, dir), "command",
		`command -v setsid >/dev/null || { echo no setsid; exit; }
		 setsid bash -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' &
		 while ! [ -e pid ]; do :; done; echo hi`)
	if tooltest.Text(r) == "no setsid\n" {
		t.Skip("there is no setsid to leave the group with")
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	call(t, tooltest.Env(t, dir), "command", "kill -KILL "+string(pid))
	if got := tooltest.Text(r); got != "hi\n" {
		t.Errorf("got %q", got)
	}
}

// The tee of a process substitution ends after the command, by itself.
func TestProcessSubstitutionIsNotCutOff(t *testing.T) {
	r, _ := call(t, tooltest.Env(t, t.TempDir()), "command", `echo hello > >(cat; echo after)`)
	if got := tooltest.Text(r); got != "hello\nafter\n" {
		t.Errorf("got %q", got)
	}
}

// Case G7: the output is shown while the command runs.
func TestG7OutputStreams(t *testing.T) {
	env := tooltest.Env(t, t.TempDir())
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	var out tooltest.Output
	opened := make(chan struct{})
	env.Progress = func(p tool.Progress) {
		out.Progress(p)
		if out.Text() == "url\n" {
			go func() { // ends when the command reads
				if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
					t.Error(err)
				}
				close(opened)
			}()
		}
	}
	r, _ := call(t, env, "command", `echo url; read -r x < `+gate+`; echo "$x"`)
	<-opened
	if got := tooltest.Text(r); got != "url\ngo\n" || out.Text() != got {
		t.Errorf("got %q, shown %q", got, out.Text())
	}
}

func TestTwentyMegabytes(t *testing.T) {
	s := newShell(t)
	env := tooltest.Env(t, t.TempDir())
	r, resp := callCtx(t, t.Context(), s, env, "command", `printf BEGIN; head -c 20000000 /dev/zero | tr '\0' x; printf END`)
	text := tooltest.Text(r)
	if len(text) > streamLimit+500 || !strings.HasPrefix(text, "BEGINx") || !strings.HasSuffix(text, "xEND") {
		t.Errorf("%d bytes, %.20q … %q", len(text), text, text[len(text)-20:])
	}
	if resp.Stdout != text {
		t.Error("the response holds another text")
	}
	_, rest, _ := strings.Cut(text, "the full output is in ")
	path, _, ok := strings.Cut(rest, "]")
	if !ok {
		t.Fatal("the text names no file")
	}
	if !strings.Contains(text, "[19936008 bytes left out here; ") {
		t.Errorf("the text does not say what is gone: %q", text[streamLimit/2-10:streamLimit/2+100])
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != 20000008 || info.Mode() != 0o600 {
		t.Errorf("spill file: %v, %v", info, err)
	}
	if info, err = os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info.Mode(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close the directory is still there: %v", err)
	}
}
