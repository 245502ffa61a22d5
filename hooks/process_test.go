//go:build unix

package hooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var testEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}

// sh is a process that runs a script; limits are generous, as nothing here may
// depend on how fast the machine is.
func sh(t *testing.T, script string) *Process {
	t.Helper()
	return &Process{Argv: []string{"sh", "-c", script}, Env: testEnv, Dir: t.TempDir(), Timeout: 5 * time.Minute}
}

func run(t *testing.T, p *Process) Exit {
	t.Helper()
	return RunProcess(t.Context(), t.Context(), p)
}

func TestProcessExit(t *testing.T) {
	for _, tc := range []struct {
		script         string
		code           int
		signal         string
		stdout, stderr string
	}{
		{script: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{script: "cat; exit 2", code: 2, stdout: "in"},
		{script: "exit 127", code: 127},
		{script: "no-such-command-here 2>/dev/null", code: 127},
		{script: "printf x; kill -9 $$", code: -1, signal: "SIGKILL", stdout: "x"},
		{script: "kill -TERM $$", code: -1, signal: "SIGTERM"},
		{script: `printf '\377\376 text'`, stdout: "\xff\xfe text"},
	} {
		p := sh(t, tc.script)
		p.Stdin = []byte("in")
		e := run(t, p)
		if e.StartErr != nil || e.Code != tc.code || e.Signal != tc.signal || string(e.Stdout) != tc.stdout || string(e.Stderr) != tc.stderr {
			t.Errorf("%q: %+v", tc.script, e)
		}
	}
}

func TestProcessCannotStart(t *testing.T) {
	for name, p := range map[string]*Process{
		"no program":   {Argv: []string{"no-such-program-here"}, Env: testEnv, Dir: t.TempDir()},
		"no path":      {Argv: []string{"/no/such/program"}, Env: testEnv, Dir: t.TempDir()},
		"no directory": {Argv: []string{"true"}, Env: testEnv, Dir: "/no/such/dir"},
		"nothing":      {Env: testEnv, Dir: t.TempDir()},
	} {
		if e := run(t, p); e.StartErr == nil || e.Code != -1 || e.OK() {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// CC#78756, #90585: stdin left open; cursor/cursor#4039, claude-remember#266:
// payload in argv or environment.
func TestBigPayload(t *testing.T) {
	payload := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	p := sh(t, "wc -c")
	p.Stdin = payload
	if e := run(t, p); strings.TrimSpace(string(e.Stdout)) != strconv.Itoa(len(payload)) {
		t.Errorf("read by the hook: %+v", e)
	}
	p = sh(t, "exit 0") // never reads
	p.Stdin = payload
	if e := run(t, p); e.Code != 0 || !e.OK() {
		t.Errorf("not read by the hook: %+v", e)
	}
	p = sh(t, "exec 0<&-; echo closed") // closes it
	p.Stdin = payload
	if e := run(t, p); string(e.Stdout) != "closed\n" {
		t.Errorf("closed by the hook: %+v", e)
	}
	// A background process keeps the read end and never reads.
	p = sh(t, "exec 3<&0; sleep 300 <&3 >/dev/null 2>&1 & echo $!")
	p.Stdin = payload
	e := run(t, p)
	if !e.OK() {
		t.Errorf("held by a child: %+v", e)
	}
	killPID(t, string(e.Stdout))
}

func TestFloodIsBounded(t *testing.T) {
	e := run(t, sh(t, "head -c 25000000 /dev/zero; head -c 25000000 /dev/zero >&2; exit 3"))
	if e.Code != 3 || len(e.Stdout) != MaxOutput || len(e.Stderr) != MaxOutput || !e.Truncated {
		t.Errorf("code %d, %d and %d bytes, truncated %v", e.Code, len(e.Stdout), len(e.Stderr), e.Truncated)
	}
}

func killPID(t *testing.T, text string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Errorf("no pid in %q", text)
		return
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the detached child %d did not survive: %v", pid, err)
	}
}

// CC#77078, #85250, claude-remember#646, oh-my-claudecode#3920: an orphan that
// holds the output pipe must not hold the turn, and must live on.
func TestOrphanHoldsStdout(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	for _, answer := range []string{`{"decision":"block"}`, "plain text", strings.Repeat("x", 60000)} {
		e := run(t, sh(t, fmt.Sprintf("sleep 300 & echo $! > %s; printf '%%s' '%s'; echo e >&2; exit 2", pidFile, answer)))
		if e.Code != 2 || string(e.Stdout) != answer || string(e.Stderr) != "e\n" || !e.OK() {
			t.Errorf("%.30q: code %d, stdout %.30q, stderr %q", answer, e.Code, e.Stdout, e.Stderr)
		}
		pid, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		killPID(t, string(pid))
	}
}

// An orphan that writes after the hook is done does not die of SIGPIPE.
func TestOrphanIsDrained(t *testing.T) {
	dir := t.TempDir()
	fifo, done := filepath.Join(dir, "fifo"), filepath.Join(dir, "done")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(done, 0o600); err != nil {
		t.Fatal(err)
	}
	e := run(t, sh(t, fmt.Sprintf("(cat %s; head -c 300000 /dev/zero && echo alive > %s) & echo '{}'", fifo, done)))
	if !e.OK() || string(e.Stdout) != "{}\n" {
		t.Fatalf("%+v", e)
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(done)
	if err != nil || string(b) != "alive\n" {
		t.Errorf("the orphan wrote %q, %v", b, err)
	}
}

// held is a fifo that a process of the hook keeps open for writing for as long
// as it lives.
type held struct {
	path string
	f    *os.File
}

func newHeld(t *testing.T) *held {
	t.Helper()
	h := &held{path: filepath.Join(t.TempDir(), "fifo")}
	if err := syscall.Mkfifo(h.path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(h.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	h.f = f
	return h
}

// up waits for the first line.
func (h *held) up(t *testing.T) {
	t.Helper()
	for b := make([]byte, 16); ; {
		// Without a writer yet it is at its end.
		if n, _ := h.f.Read(b); n > 0 {
			return
		}
	}
}

// gone checks that no process holds it any more.
func (h *held) gone(t *testing.T) {
	t.Helper()
	_ = h.f.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.ReadAll(h.f); err != nil {
		t.Errorf("a process of the hook lives on: %v", err)
	}
}

// vybestack/llxprt-code#2791: a hook that ignores SIGTERM; GraphAgent#500: only
// the shell is killed.
func TestTimeoutKillsGroup(t *testing.T) {
	for _, grace := range []time.Duration{0, 50 * time.Millisecond} {
		h := newHeld(t)
		p := sh(t, fmt.Sprintf("trap '' TERM; (trap '' TERM; exec sleep 300 > %s) & sleep 300; wait", h.path))
		p.Timeout, p.TermGrace = 300*time.Millisecond, grace
		if e := run(t, p); !e.TimedOut || e.OK() {
			t.Errorf("grace %v: %+v", grace, e)
		}
		h.gone(t)
	}
}

// SIGTERM comes first where there is a grace, so that a hook can clean up.
func TestTimeoutTermFirst(t *testing.T) {
	p := sh(t, "trap 'echo cleaned; exit 5' TERM; echo ready; while :; do sleep 0.05; done")
	p.Timeout, p.TermGrace = time.Second, time.Minute
	e := run(t, p)
	if !e.TimedOut || !strings.HasSuffix(string(e.Stdout), "cleaned\n") || e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

func TestCancelKillsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHeld(t)
	p := sh(t, fmt.Sprintf("trap '' TERM; echo said; (echo up; exec sleep 300) > %s & wait", h.path))
	go func() {
		h.up(t)
		cancel()
	}()
	if e := RunProcess(ctx, t.Context(), p); !e.Cancelled || e.OK() {
		t.Errorf("%+v", e)
	}
	h.gone(t)
	if e := RunProcess(ctx, t.Context(), sh(t, "echo no")); !e.Cancelled || len(e.Stdout) > 0 {
		t.Errorf("started after the cancel: %+v", e)
	}
}

// openai/codex#45293: the working directory is gone.
func TestDirFallback(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	back := t.TempDir()
	p := sh(t, "pwd")
	p.Dir, p.Fallbacks = gone, []string{gone + "2", back}
	e := run(t, p)
	if strings.TrimSpace(string(e.Stdout)) != realDir(back) || e.Dir != back {
		t.Errorf("%+v", e)
	}
	// A hook that deletes its own directory.
	p = sh(t, `rmdir "$PWD"; echo still here`)
	if e := run(t, p); string(e.Stdout) != "still here\n" {
		t.Errorf("%+v", e)
	}
}

func TestOwnSessionAndDescriptors(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc, in which a process's descriptors can be seen")
	}
	// Something of ours that must not leak: a socket and a file.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := os.Create(filepath.Join(t.TempDir(), "our-own-file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := run(t, sh(t, `for f in /proc/$$/fd/*; do readlink $f; done; (exec </dev/tty) 2>/dev/null && echo has a tty; cut -d' ' -f6 /proc/$$/stat; echo $$`))
	out := string(e.Stdout)
	for _, bad := range []string{"our-own-file", "socket:", "has a tty"} {
		if strings.Contains(out, bad) {
			t.Errorf("the hook has %q: %s", bad, out)
		}
	}
	if l := strings.Fields(out); len(l) < 2 || l[len(l)-1] != l[len(l)-2] {
		t.Errorf("it does not lead its own session: %s", out)
	}
}

// With a socket for stdin, or Debian's SSH_CLIENT, a
// bash at level 1 reads ~/.bashrc.
func TestBashReadsNoProfile(t *testing.T) {
	bash, ok := Environ(testEnv).LookPath("bash")
	if !ok {
		t.Skip("there is no bash, whose start-up files this is about")
	}
	home := t.TempDir()
	for _, f := range []string{".bashrc", ".profile", ".bash_profile"} {
		if err := os.WriteFile(filepath.Join(home, f), []byte("echo banner from "+f+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := Environ(testEnv).Without(func(string) bool { return false }).
		Set("HOME", home).Set("SSH_CLIENT", "1.2.3.4 5 6").WithShellLevel()
	e := run(t, &Process{Argv: []string{bash, "-c", "echo $SHLVL"}, Env: env, Dir: home, Timeout: time.Minute})
	if string(e.Stdout) != "2\n" {
		t.Errorf("%q", e.Stdout)
	}
}

func TestDetach(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := sh(t, "echo first; cat "+fifo)
	p.Detach = func(line []byte) (time.Duration, bool) { return time.Minute, string(line) == "first" }
	e := run(t, p)
	if e.Rest == nil {
		t.Fatalf("%+v", e)
	}
	if err := os.WriteFile(fifo, []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if last := <-e.Rest; string(last.Stdout) != "first\nsecond\n" || !last.OK() {
		t.Errorf("%+v", last)
	}
	p.Detach = func([]byte) (time.Duration, bool) { return 0, false }
	p.Argv = []string{"sh", "-c", "echo first; echo second"}
	if e := run(t, p); e.Rest != nil || string(e.Stdout) != "first\nsecond\n" {
		t.Errorf("%+v", e)
	}
}
