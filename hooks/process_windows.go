package hooks

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const pathSeparators = `/\:`

// group is the job object that holds a hook and what it has started.
type group struct {
	job windows.Handle
	p   *os.Process
}

func prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// newGroup puts the started process in a job object. What it starts before
// that escapes; the window is the time of two system calls.
func newGroup(p *os.Process) group {
	g := group{p: p}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return g
	}
	defer windows.CloseHandle(h)
	// No kill-on-close limit: detached children outlive a hook that succeeded.
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	_, _ = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// terminate does nothing: there is no signal to ask a console program nicely
// with that works in a job of its own. kill follows after the grace.
func (g group) terminate() {}

func (g group) kill() {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
		return
	}
	_ = g.p.Kill()
}

func (g group) release() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
	}
}

func signalName(*os.ProcessState) string { return "" }

// readNow is not possible on these pipes; RunProcess waits WaitDelay instead.
func readNow(*os.File, []byte) (int, bool) { return 0, false }
