//go:build unix

package hooks

import (
	"os"
	"syscall"
)

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
