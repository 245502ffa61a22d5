package jsonl

import (
	"errors"
	"math"

	"golang.org/x/sys/windows"

	"acp-agent/session"
)

const (
	// syncsDirs: a directory handle cannot be flushed; NTFS journals names.
	syncsDirs = false
	// removesOpen: a file that is open cannot be removed.
	removesOpen = false
)

// lockRange is the one byte that is locked. It lies far behind any content,
// because a locked range cannot be read through another handle.
func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32 - 1}
}

// TryLock locks one byte behind the end with LockFileEx.
func (f osFile) TryLock() error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockRange())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return session.ErrLocked
	}
	return err
}

// Unlock gives the byte up.
func (f osFile) Unlock() error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockRange())
}
