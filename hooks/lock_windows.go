package hooks

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes an exclusive lock that the system drops when we die.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
