//go:build unix && !linux

package procgroup

import "syscall"

// stray is never found here: nothing portable tells who has started whom.
type stray struct{}

// dieWithParent has nothing to set here; the guard does it alone.
func dieWithParent(*syscall.SysProcAttr) {}

// alive reports whether the group has members, zombies included.
func (g *Group) alive() bool { return syscall.Kill(-g.pid(), 0) == nil }

func (g *Group) terminate() { g.signal(syscall.SIGTERM) }

func (g *Group) kill() { g.signal(syscall.SIGKILL) }
