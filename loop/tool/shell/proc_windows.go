package shell

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// isolate keeps a console's Ctrl-C from the command.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// group is a command's process tree. Windows has no groups to signal; taskkill
// follows the tree while the command itself is alive.
type group struct{ process *os.Process }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd.Process} }

// terminate ends the tree at once: there is no softer way that a console
// program without a window would hear.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.process.Pid)).Run() != nil {
		_ = g.process.Kill()
	}
}

// end has nothing to find: once the command is gone its tree has no root.
func (g *group) end(time.Duration) bool { return false }

func status(s *os.ProcessState) (int, string) {
	if s == nil {
		return -1, ""
	}
	return s.ExitCode(), ""
}
