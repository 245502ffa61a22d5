package procgroup

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// system is the group as this system has it.
type system struct {
	id int // of the process group: the program's pid
	// strays are descendants outside the group that Terminate or Kill found.
	strays []stray
}

// dieWithParent has the kernel kill the program when the thread that started it
// ends. What the program starts does not inherit that.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// stray is a process outside the group. The time of its start, in the kernel's
// ticks, tells it from another that has got its pid.
type stray struct {
	pid   int
	start string
}

// proc is a row of the process table.
type proc struct {
	pid, ppid, pgrp int
	start           string
	dead            bool // a zombie, or about to vanish
}

// table reads all processes from /proc; nil where that cannot be read.
func table() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []proc
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := look(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// look reads one process's row; there is none when it is gone.
func look(pid int) (proc, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	// proc(5): pid (comm) state ppid pgrp … starttime (the 22nd), where comm may
	// hold anything.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return proc{}, false
	}
	ppid, err1 := strconv.Atoi(string(f[1]))
	pgrp, err2 := strconv.Atoi(string(f[2]))
	return proc{pid: pid, ppid: ppid, pgrp: pgrp, start: string(f[19]), dead: f[0][0] == 'Z' || f[0][0] == 'X'}, err1 == nil && err2 == nil
}

// alive reports whether the group has a member, or there is a known stray, that
// is not a zombie. A signal reaches zombies too, and in a container whose first
// process reaps nobody they stay, so the answer is looked up in /proc.
func (g *Group) alive() bool {
	for _, s := range g.strays {
		if p, ok := look(s.pid); ok && p.start == s.start && !p.dead {
			return true
		}
	}
	if syscall.Kill(-g.id, 0) != nil {
		return false
	}
	all := table()
	return len(all) == 0 || slices.ContainsFunc(all, func(p proc) bool { return p.pgrp == g.id && !p.dead })
}

// terminate signals the group and the strays of this moment.
func (g *Group) terminate() {
	g.find()
	g.signal(syscall.SIGTERM)
	g.signalStrays(syscall.SIGTERM)
}

// kill stops everything first, and looks for strays until there are no more: a
// process that is stopped starts nothing, and does not leave its children without
// a parent that leads to the group.
func (g *Group) kill() {
	g.signal(syscall.SIGSTOP)
	for g.find() {
		g.signalStrays(syscall.SIGSTOP)
	}
	g.signal(syscall.SIGKILL)
	g.signalStrays(syscall.SIGKILL)
}

// find notes the descendants of the group and of known strays that are outside
// the group, and reports whether there was a new one.
func (g *Group) find() bool {
	all := table()
	ours := map[int]bool{}
	for _, p := range all {
		if p.pgrp == g.id || slices.Contains(g.strays, stray{p.pid, p.start}) {
			ours[p.pid] = true
		}
	}
	before := len(g.strays)
	for more := true; more; {
		more = false
		for _, p := range all {
			if ours[p.ppid] && !ours[p.pid] {
				ours[p.pid], more = true, true
				g.strays = append(g.strays, stray{p.pid, p.start})
			}
		}
	}
	return len(g.strays) > before
}

func (g *Group) signalStrays(s syscall.Signal) {
	for _, one := range g.strays {
		// On Linux this holds the process itself (a pidfd), so that what is
		// looked at is what is signalled.
		p, err := os.FindProcess(one.pid)
		if err != nil {
			continue
		}
		if now, ok := look(one.pid); ok && now.start == one.start {
			_ = p.Signal(s) // gone meanwhile, or of another user: there is no more to do
		}
		_ = p.Release()
	}
}
