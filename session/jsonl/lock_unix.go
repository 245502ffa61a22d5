//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package jsonl

import (
	"errors"

	"golang.org/x/sys/unix"

	"acp-agent/session"
)

const (
	syncsDirs = true
	// removesOpen: an open file can be removed, so Delete removes it while it
	// still holds the lock.
	removesOpen = true
)

// TryLock takes a flock, which belongs to the open file: a second open in the
// same process is refused like one in another.
func (f osFile) TryLock() error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return session.ErrLocked
		default:
			return err
		}
	}
}

// Unlock is explicit, rather than left to close(2), because a child that was
// just forked shares the open file until it execs and would keep the lock.
func (f osFile) Unlock() error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
