//go:build unix

package mcp

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

// alive reports whether a process runs; a zombie that nobody reaps does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	rest := strings.TrimSpace(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return rest[0] != 'Z' && rest[0] != 'X'
}

// pids are the processes that have left their id in a directory.
func pids(t testing.TB, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func noneAlive(t *testing.T, dir string, want int) {
	t.Helper()
	all := pids(t, dir)
	if len(all) < want {
		t.Errorf("%d processes have run, want %d", len(all), want)
	}
	// On a machine that has no time for them they may end after Close gave up.
	for ctx := soon(t); slices.ContainsFunc(all, alive); runtime.Gosched() {
		if ctx.Err() == nil {
			continue
		}
		for _, pid := range all {
			if alive(pid) {
				t.Errorf("process %d is left", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return
	}
}

// TestClose: whatever a server does, nothing of it is left.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	mark := pidsVar + "=" + dir
	s := start(t, Options{}, stdio(t, "good", "tools", mark), stdio(t, "stubborn", "stubborn", mark), stdio(t, "deaf", "deaf", mark), stdio(t, "orphan", "orphan", mark))
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	done := make(chan bool)
	go func() { // joined below
		_, res := run(t, tools, "mcp__good__block")
		done <- res.IsError
	}()
	s.Close()
	noneAlive(t, dir, 6)
	if !<-done {
		t.Error("a call that Close interrupted has no error")
	}
	s.Close()
}

// TestKilledAgent: kill -9 of the agent leaves neither a server that ignores all
// else nor the server's child.
func TestKilledAgent(t *testing.T) {
	dir := t.TempDir()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), kindVar+"=host", pidsVar+"="+dir)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = host.Process.Kill()
	_ = host.Wait()
	if line != "ready []\n" {
		t.Fatalf("the agent says %q", line)
	}
	all := pids(t, dir)
	if len(all) != 3 {
		t.Errorf("%d processes have run", len(all))
	}
	for ctx := soon(t); slices.ContainsFunc(all, alive); runtime.Gosched() { // nobody here is their parent
		if ctx.Err() != nil {
			t.Fatal("a process is left")
		}
	}
}

// TestCloseWhileConnecting: also what has only been started.
func TestCloseWhileConnecting(t *testing.T) {
	dir := t.TempDir()
	mark := pidsVar + "=" + dir
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	s := start(t, Options{}, stdio(t, "never", "never", mark, gateVar+"="+gate.Addr().String()))
	c, err := gate.Accept() // it runs, and has left its pid
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.Close()
	noneAlive(t, dir, 1)
	if _, failures, _ := s.Tools(t.Context()); len(failures) > 1 {
		t.Errorf("%q", failures)
	}
}

func TestCloseAtOnce(t *testing.T) {
	dir := t.TempDir()
	for range 5 {
		start(t, Options{}, stdio(t, "a", "tools", pidsVar+"="+dir), stdio(t, "b", "never", pidsVar+"="+dir)).Close()
	}
	noneAlive(t, dir, 0)
}

// TestHalfStarted: servers that start and then fail leave neither a process nor
// a goroutine behind, long before the session ends (P7).
func TestHalfStarted(t *testing.T) {
	dir := t.TempDir()
	before := runtime.NumGoroutine()
	var servers []Server
	for i := range 20 {
		servers = append(servers, stdio(t, "s"+strconv.Itoa(i), []string{"listfail", "exit", "garbage"}[i%3], pidsVar+"="+dir))
	}
	s := start(t, Options{}, servers...)
	if _, failures := settled(t, s); len(failures) != len(servers) {
		t.Errorf("%d failures", len(failures))
	}
	noneAlive(t, dir, len(servers))
	s.Close()
	for ctx := soon(t); runtime.NumGoroutine() > before; runtime.Gosched() { // the SDK's end by themselves
		if ctx.Err() != nil {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

// TestKilled: a server that is killed between calls is started again by the next.
func TestKilled(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	before, _ := run(t, tools, "mcp__a__pid")
	pid, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	gone := s.servers[0].conn.gone
	s.mu.Unlock()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-gone
	after, res := run(t, tools, "mcp__a__pid")
	if res.IsError || after == before {
		t.Errorf("after a kill: %q", after)
	}
	if s.servers[0].lost != 0 {
		t.Error("the answer did not count")
	}
}

// TestKilledAtWork: the call is not made twice, and its result says what is known.
func TestKilledAtWork(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	before, _ := run(t, tools, "mcp__a__pid")
	pid, _ := strconv.Atoi(before)
	env := tooltest.Env(t, t.TempDir())
	env.Progress = func(tool.Progress) { _ = syscall.Kill(pid, syscall.SIGKILL) } // it has started
	res, err := tools["mcp__a__block"].Run(soon(t), env, json.RawMessage("{}"))
	if err != nil || !res.IsError {
		t.Error(res, err)
	}
	contains(t, tooltest.Text(res), "SIGKILL", "not known")
}
