//go:build unix && !linux

package procgroup

import "syscall"

// system is the group as this system has it. Nothing portable tells who has
// started whom, so descendants outside the group are not looked for.
type system struct {
	id int // of the process group: the program's pid
}

// dieWithParent has nothing to set here; the guard does it alone.
func dieWithParent(*syscall.SysProcAttr) {}

// alive reports whether the group has members, zombies included.
func (g *Group) alive() bool { return syscall.Kill(-g.id, 0) == nil }

func (g *Group) terminate() { g.signal(syscall.SIGTERM) }

func (g *Group) kill() { g.signal(syscall.SIGKILL) }
