package procgroup

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// system is the group as this system has it: the job object that holds the
// program and what it has started. 0 where it could not be made; then only the
// program itself can be ended.
type system struct{ job windows.Handle }

func file(stream any) bool {
	switch stream.(type) {
	case nil, *os.File:
		return true
	}
	return false
}

// isolate keeps a console's Ctrl-C from the program.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// watch puts the program in a job object. What it starts before that escapes;
// the window is the time of three system calls.
func (g *Group) watch() {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(g.cmd.Process.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
	g.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
}

// limit sets what the job's end does.
func (g *Group) limit(flags uint32) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = flags
	_, _ = windows.SetInformationJobObject(g.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
}

func (g *Group) unwatch(spare bool) {
	if g.job == 0 {
		return
	}
	if spare {
		g.limit(0)
	}
	windows.CloseHandle(g.job)
	g.job = 0
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION of winnt.h, which
// x/sys/windows has not.
type accounting struct {
	TotalUserTime, TotalKernelTime                                            int64
	ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime                        int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TerminatedProcesses uint32
}

// alive reports whether a process of the job runs.
func (g *Group) alive() bool {
	if g.job == 0 {
		return false
	}
	var a accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return err == nil && a.ActiveProcesses > 0
}

func (g *Group) terminate() { g.kill() }

func (g *Group) kill() {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
		return
	}
	_ = g.cmd.Process.Kill()
}

// Signal is always 0 and "": no signal ends a program here.
func Signal(*os.ProcessState) (int, string) { return 0, "" }
