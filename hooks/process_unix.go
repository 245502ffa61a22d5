//go:build unix

package hooks

import (
	"os"
	"os/exec"
	"syscall"
)

const pathSeparators = "/"

// group is the process group of a hook, its session leader's.
type group struct{ pgid int }

// prepare puts the command in its own session: it has no controlling terminal,
// and one signal reaches all that stays in its group.
func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
}

func newGroup(p *os.Process) group { return group{pgid: p.Pid} }

func (g group) terminate() { _ = syscall.Kill(-g.pgid, syscall.SIGTERM) }
func (g group) kill()      { _ = syscall.Kill(-g.pgid, syscall.SIGKILL) }
func (g group) release()   {}

// signalName returns the name of the signal that ended the process, or "".
func signalName(st *os.ProcessState) string {
	ws, ok := st.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return ""
	}
	switch ws.Signal() {
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGABRT:
		return "SIGABRT"
	case syscall.SIGPIPE:
		return "SIGPIPE"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return ws.Signal().String()
}

// readNow reads what the pipe holds without waiting. It reports the bytes read,
// and whether the other end is closed; 0, false means it is empty.
func readNow(f *os.File, buf []byte) (n int, eof bool) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, true
	}
	rerr := rc.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), buf)
			if err != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case rerr != nil:
		return 0, true
	case err == syscall.EAGAIN:
		return 0, false
	case err != nil || n <= 0:
		return 0, true
	}
	return n, false
}
