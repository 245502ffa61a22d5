package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// surviveBrokenPipes does nothing: Windows has no such signal.
func surviveBrokenPipes() {}

// takeStdout keeps the real stdout for the caller and points the process's
// standard output at stderr, so that nothing else can reach the protocol.
func takeStdout() (*os.File, error) {
	self := windows.CurrentProcess()
	var h windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(os.Stdout.Fd()), self, &h, 0, false, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return nil, os.NewSyscallError("DuplicateHandle", err)
	}
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, os.NewSyscallError("SetStdHandle", err)
	}
	os.Stdout = os.Stderr
	return os.NewFile(uintptr(h), "stdout"), nil
}
