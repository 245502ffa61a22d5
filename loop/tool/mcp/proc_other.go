//go:build unix && !linux

package mcp

import "syscall"

// dieWithParent has nothing to set here; the watcher does it alone.
func dieWithParent(*syscall.SysProcAttr) {}

// exists reports whether the group has members, zombies included.
func (g *group) exists() bool { return syscall.Kill(-g.pid, 0) == nil }
