//go:build unix

package jsonl_test

import (
	"os"
	"syscall"
	"testing"
)

// stopped runs f while the process is stopped.
func stopped(t *testing.T, p *os.Process, f func()) {
	t.Helper()
	check(t, p.Signal(syscall.SIGSTOP))
	f()
	check(t, p.Signal(syscall.SIGCONT))
}
