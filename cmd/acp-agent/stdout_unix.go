//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// surviveBrokenPipes makes a reader that goes away an error of that write and
// not the end of the process. Ignoring the signal would be inherited by
// children; a handler is not.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// takeStdout keeps the real stdout for the caller and points descriptor 1 at
// stderr: whatever a dependency or a forgotten Println writes to "stdout" then
// cannot reach the protocol. Children do not inherit the kept descriptor.
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
