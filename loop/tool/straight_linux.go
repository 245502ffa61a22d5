package tool

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 is set where the kernel, or what filters its calls, does not have it.
var noOpenat2 atomic.Bool

// straight reports whether something is at the path and no link is on the way to
// it: then it leads where it says. False means that it has to be followed. One
// system call instead of a lstat for each part (openat2(2), Linux 5.6; O_PATH: the
// file itself is not opened).
func straight(path string) bool {
	if noOpenat2.Load() {
		return false
	}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
		switch {
		case err == nil:
			_ = unix.Close(fd) // it was opened for nothing else
			return true
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			noOpenat2.Store(true)
		}
		return false
	}
}
