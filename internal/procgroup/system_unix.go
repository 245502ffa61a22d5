//go:build unix

package procgroup

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func file(stream any) bool {
	switch stream.(type) {
	case nil, *os.File:
		return true
	}
	return false
}

// isolate gives the program a session of its own: its process group can be
// signalled as a whole, a Ctrl-C in the agent's terminal does not reach it, and
// with no controlling terminal nothing in it can stop to ask for a password.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
}

func (g *Group) watch() {
	g.id = g.cmd.Process.Pid
	guarded.add(g.id)
}

func (g *Group) unwatch(bool) { guarded.remove(g.id) }

func (g *Group) signal(s syscall.Signal) { _ = syscall.Kill(-g.id, s) }

// Signal returns the number and name (SIGSEGV) of the signal that ended a
// program, or 0 and "".
func Signal(st *os.ProcessState) (int, string) {
	if st == nil {
		return 0, ""
	}
	ws, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, ""
	}
	n := int(ws.Signal())
	if name := unix.SignalName(ws.Signal()); name != "" {
		return n, name
	}
	return n, strconv.Itoa(n) // a real-time one has no name
}
