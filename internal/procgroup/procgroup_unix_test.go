//go:build unix

package procgroup

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon is longer than anything here takes, on any machine.
const soon = 5 * time.Minute

// TestMain runs the test binary as a process that has a group, when it is told
// to: it says so and waits to be killed.
func TestMain(m *testing.M) {
	if script, ok := os.LookupEnv("PROCGROUP_TEST_SCRIPT"); ok {
		if _, err := Start(exec.Command("/bin/sh", "-c", script)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// lifeline is a pipe with a name. What has it open for writing, or has inherited
// that, lives.
type lifeline struct {
	t    *testing.T
	path string
	f    *bufio.Reader
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	l := &lifeline{t: t, path: filepath.Join(t.TempDir(), "lifeline")}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// up waits until n processes have written a line each.
func (l *lifeline) up(n int) {
	l.t.Helper()
	f, err := os.Open(l.path) // waits for the first
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	l.f = bufio.NewReader(f)
	for range n {
		if _, err := l.f.ReadString('\n'); err != nil {
			l.t.Fatal(err)
		}
	}
}

// gone waits until all of them have ended.
func (l *lifeline) gone() {
	l.t.Helper()
	if rest, err := io.ReadAll(l.f); err != nil || len(rest) > 0 {
		l.t.Errorf("%q, %v", rest, err)
	}
}

// start runs a script with the lifeline's path in $L.
func start(t *testing.T, l *lifeline, script string) *Group {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), "L="+l.path)
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func status(g *Group) string {
	_ = g.Wait()
	n, name := Signal(g.cmd.ProcessState)
	return fmt.Sprintf("%d %d %s", g.cmd.ProcessState.ExitCode(), n, name)
}

func TestStatus(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":        "3 0 ",
		"kill -KILL $$": "-1 9 SIGKILL",
		"kill -SEGV $$": "-1 11 SIGSEGV",
	} {
		g := start(t, newLifeline(t), script)
		if got := status(g); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		if g.End(0, soon) {
			t.Errorf("%s left something", script)
		}
	}
	if n, name := Signal(nil); n != 0 || name != "" {
		t.Error(n, name)
	}
}

func TestCannotStart(t *testing.T) {
	if _, err := Start(exec.Command("/no/such/program")); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Error(err)
	}
	cmd := exec.Command("/bin/sh")
	cmd.Stdout = &bytes.Buffer{}
	if _, err := Start(cmd); err == nil || !strings.Contains(err.Error(), "*bytes.Buffer") {
		t.Error(err)
	}
}

// The members of a group end with it, whatever they think of SIGTERM.
func TestKill(t *testing.T) {
	for name, end := range map[string]func(*Group){
		"kill":      (*Group).Kill,
		"terminate": func(g *Group) { g.Terminate(); _ = g.Wait(); g.End(0, 50*time.Millisecond) },
	} {
		l := newLifeline(t)
		g := start(t, l, `(trap '' TERM; exec 3>$L; echo child >&3; exec sleep 1000) & exec 3>$L; echo parent >&3; wait`)
		l.up(2)
		end(g)
		l.gone()
		if got := status(g); !strings.HasPrefix(got, "-1") {
			t.Errorf("%s: %s", name, got)
		}
		g.End(0, soon)
		g.Kill() // its number may be another's by now
		g.Terminate()
		g.End(0, soon)
	}
}

// linuxOnly says why a test of strays is for Linux.
func linuxOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("descendants outside the group are found by /proc, which is Linux's")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("there is no setsid to leave a group with")
	}
}

// strays leaves the group by setsid, and its child by another; both ignore
// SIGTERM.
const strays = `setsid sh -c 'trap "" TERM; exec 3>$L; (setsid sh -c "trap \"\" TERM; echo grandchild >&3; exec sleep 1000"; :) & echo child >&3; wait; wait' & `

// What has left the group, and still has a parent in it, ends with it.
func TestKillReachesStrays(t *testing.T) {
	linuxOnly(t)
	for name, end := range map[string]func(*Group){
		"kill": (*Group).Kill,
		// The parent ends by SIGTERM, and with it the chain that leads to the strays.
		"terminate": func(g *Group) {
			g.Terminate()
			_ = g.Wait()
			if !g.End(0, 50*time.Millisecond) {
				t.Error("nothing was left")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLifeline(t)
			g := start(t, l, strays+`exec 3>$L; echo parent >&3; wait`)
			l.up(3)
			end(g)
			l.gone()
			_ = g.Wait()
			g.End(0, soon)
		})
	}
}

// A process that starts others without end, each in a session of its own, does
// not outrun the kill.
func TestKillEndsWhatKeepsForking(t *testing.T) {
	linuxOnly(t)
	l := newLifeline(t)
	g := start(t, l, `exec 3>$L; echo parent >&3
f() { n=$1; while [ $n -gt 0 ]; do n=$((n-1)); setsid sleep 1000 & done; wait; }
f 20 & f 20 & wait`)
	l.up(1)
	g.Kill()
	l.gone()
	_ = g.Wait()
	g.End(0, soon)
}

// At the program's own end the rest of its group is ended; a daemon is not, and
// a group that is released lives on.
func TestEndAndRelease(t *testing.T) {
	const rest = `(exec 3>$L; echo rest >&3; exec sleep 1000) & `
	l := newLifeline(t)
	g := start(t, l, rest)
	l.up(1)
	if status(g); !g.End(0, soon) {
		t.Error("nothing was left")
	}
	l.gone()

	l = newLifeline(t)
	if err := syscall.Mkfifo(l.path+".go", 0o600); err != nil {
		t.Fatal(err)
	}
	g = start(t, l, `(exec 3>$L; echo rest >&3; read x <$L.go; echo on >&3) & `)
	l.up(1)
	status(g)
	g.Release()
	g.Kill()
	if g.End(0, soon) {
		t.Error("a released group has members")
	}
	if err := os.WriteFile(l.path+".go", []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if line, err := l.f.ReadString('\n'); err != nil || line != "on\n" {
		t.Errorf("what was released says %q, %v", line, err)
	}
	l.gone()
}

// What ends by itself within the time to settle was not left.
func TestSettle(t *testing.T) {
	l := newLifeline(t)
	if err := syscall.Mkfifo(l.path+".go", 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, l, `(exec 3>$L; echo rest >&3; read x <$L.go) & `)
	l.up(1)
	status(g)
	go func() { // ends when the rest reads
		if err := os.WriteFile(l.path+".go", []byte("\n"), 0); err != nil {
			t.Error(err)
		}
	}()
	if g.End(soon, soon) {
		t.Error("what ended by itself was ended")
	}
	l.gone()
}

// When the process that started a group is killed, the group ends; the guard is
// started again when somebody has ended it.
func TestGuard(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := newLifeline(t)
	host := exec.Command(exe)
	host.Env = append(os.Environ(), "L="+l.path,
		"PROCGROUP_TEST_SCRIPT=(trap '' TERM HUP; exec 3>$L; echo child >&3; exec sleep 1000) & exec 3>$L; echo parent >&3; wait")
	in, err := host.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	l.up(2)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	l.gone()
}

func TestGuardIsReplaced(t *testing.T) {
	g := guard{groups: map[int]bool{}}
	defer func() {
		g.groups = nil
		g.pipe.Close()
		_, _ = g.process.Wait()
	}()
	// Groups that the guard kills when it reads the end of its pipe.
	var programs []*exec.Cmd
	for range 2 {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, cmd)
		g.add(cmd.Process.Pid)
		if len(programs) == 1 {
			if err := g.process.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, err := g.process.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	spared := exec.Command("cat")
	spared.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := spared.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := spared.Start(); err != nil {
		t.Fatal(err)
	}
	g.add(spared.Process.Pid)
	g.remove(spared.Process.Pid)
	g.pipe.Close()
	for _, cmd := range programs {
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Error(err)
		}
	}
	in.Close()
	if err := spared.Wait(); err != nil {
		t.Errorf("a group that was taken out: %v", err)
	}
	if len(g.groups) != len(programs) {
		t.Errorf("the guard has %v", g.groups)
	}
}

func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		g, err := Start(exec.Command("/bin/true"))
		if err != nil {
			b.Fatal(err)
		}
		_ = g.Wait()
		g.End(0, 0)
	}
}
