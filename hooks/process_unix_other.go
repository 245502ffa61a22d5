//go:build unix && !linux

package hooks

import "syscall"

// dieWithParent has nothing to offer here: should the agent be killed, a hook
// ends when it next writes to its pipes.
func dieWithParent(*syscall.SysProcAttr) {}
