//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package jsonl

import (
	"errors"
	"runtime"
)

const (
	syncsDirs   = true
	removesOpen = true
)

// TryLock fails: without a lock that dies with its process two writers could
// damage a log, which is worse than not starting.
func (f osFile) TryLock() error {
	return errors.New("locking session logs is not supported on " + runtime.GOOS)
}

// Unlock does nothing.
func (f osFile) Unlock() error { return nil }
