package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// isolate keeps a console's Ctrl-C from the server.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

// group is a server's process tree. Windows has no groups to signal; taskkill
// follows the tree while the server itself is alive.
type group struct{ process *os.Process }

func newGroup(cmd *exec.Cmd) *group { return &group{cmd.Process} }

// terminate ends the tree at once: there is no softer way that a console program
// without a window would hear.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.process.Pid)).Run() != nil {
		_ = g.process.Kill()
	}
}

// end has nothing to find: once the server is gone its tree has no root.
func (g *group) end(time.Duration) {}

func exitText(s *os.ProcessState) string {
	if s == nil {
		return "it ended"
	}
	return fmt.Sprintf("it exited with code %d", s.ExitCode())
}

// lookPath finds the program, with the extensions of PATHEXT.
func lookPath(command string, _ []string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", fmt.Errorf("the program %q cannot be found: %w", command, err)
	}
	return path, nil
}
