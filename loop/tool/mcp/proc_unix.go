//go:build unix

package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupPoll is how seldom, at most, it is asked whether a group is gone; the
// kernel tells nobody but the parents.
const groupPoll = 10 * time.Millisecond

// isolate gives the server a session of its own: its process group can be
// signalled as a whole, and a Ctrl-C in the agent's terminal does not reach it.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
}

// group is a server's process group; its id is the server's pid.
type group struct {
	pid   int
	watch *exec.Cmd
	alive *os.File
}

// newGroup takes charge of a started server's group. It starts a watcher that
// kills the group when this process is gone, however it went: the watcher waits
// for the end of a pipe that only this process can write to. Many servers are a
// launcher and what it has launched, and the kernel would end the launcher only.
// Without a watcher (no sh, no more processes) the server still runs.
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

// end ends what is left of the group after the server itself has ended. It does
// not wait for zombies that nobody reaps.
func (g *group) end(grace time.Duration) {
	if g.exists() {
		g.terminate()
		if !g.await(grace) {
			g.kill()
			g.await(grace)
		}
	}
	if g.watch != nil {
		_ = g.watch.Process.Kill()
		_ = g.watch.Wait()
		g.alive.Close()
	}
}

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

// exitText says how a process ended.
func exitText(s *os.ProcessState) string {
	if s == nil {
		return "it ended"
	}
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		if name == "" {
			name = strconv.Itoa(int(ws.Signal()))
		}
		return "it was ended by " + name
	}
	return fmt.Sprintf("it exited with code %d", s.ExitCode())
}

// lookPath finds a program in the PATH of the server's own environment, which the
// client may have set. A name with a slash is left to the kernel.
func lookPath(command string, env []string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	path := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a program of the project must be named as such
		}
		file := filepath.Join(dir, command)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
	}
	return "", fmt.Errorf("the program %q is not in its PATH", command)
}
