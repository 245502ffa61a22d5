//go:build unix

package shell

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isolate gives the command a session of its own: its process group can be
// signalled as a whole, and with no controlling terminal nothing in it can stop
// to ask for a password.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
}

// group is a command's process group; its id is the command's pid.
type group struct {
	pid   int
	watch *exec.Cmd
	alive *os.File
}

// newGroup takes charge of a started command's group. It starts a watcher that
// kills the group when this process is gone, however it went: the watcher waits
// for the end of a pipe that only this process can write to. Without a watcher
// (no sh, no more processes) the command still runs; only the guard for a killed
// agent is missing.
func newGroup(cmd *exec.Cmd) *group {
	g := &group{pid: cmd.Process.Pid}
	r, w, err := os.Pipe()
	if err != nil {
		return g
	}
	defer r.Close()
	watch := exec.Command("/bin/sh", "-c", `read -r _; kill -KILL "-$1"`, "watch", strconv.Itoa(g.pid))
	watch.Stdin, watch.Env, watch.Dir = r, []string{}, "/"
	// In a session of its own, so that a signal to the agent's group spares it.
	watch.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if watch.Start() != nil {
		w.Close()
		return g
	}
	g.watch, g.alive = watch, w
	return g
}

func (g *group) terminate() { _ = syscall.Kill(-g.pid, syscall.SIGTERM) }

func (g *group) kill() { _ = syscall.Kill(-g.pid, syscall.SIGKILL) }

// end ends what is left of the group after the command has ended and the time
// to settle is over, and reports whether there was anything. It does not wait
// for zombies that nobody reaps.
func (g *group) end(settle time.Duration) bool {
	left := g.exists() && !g.await(settle)
	if left {
		g.terminate()
		if !g.await(leftGrace) {
			g.kill()
			g.await(leftGrace)
		}
	}
	if g.watch != nil {
		_ = g.watch.Process.Kill()
		_ = g.watch.Wait()
		g.alive.Close()
	}
	return left
}

// await reports whether the group is gone within the limit.
func (g *group) await(limit time.Duration) bool {
	pause := time.Millisecond
	for end := time.Now().Add(limit); g.exists(); pause = min(2*pause, groupPoll) {
		if !time.Now().Before(end) {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// status returns the exit code, 128+n and its name for signal n.
func status(s *os.ProcessState) (int, string) {
	if s == nil {
		return -1, ""
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		if name == "" {
			name = strconv.Itoa(int(ws.Signal()))
		}
		return 128 + int(ws.Signal()), name
	}
	return s.ExitCode(), ""
}
