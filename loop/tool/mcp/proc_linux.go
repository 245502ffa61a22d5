package mcp

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// dieWithParent has the kernel kill the server when the thread that started it
// ends. See startProcess for why that is the agent's end.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// exists reports whether the group has a member that is not a zombie. A signal
// reaches zombies too, and in a container whose first process reaps nobody they
// stay, so the answer is looked up in /proc.
func (g *group) exists() bool {
	if syscall.Kill(-g.pid, 0) != nil {
		return false
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil || len(names) == 0 {
		return true
	}
	pgrp := []byte(strconv.Itoa(g.pid))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // gone meanwhile
		}
		// pid (comm) state ppid pgrp …, where comm may hold anything.
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) > 2 && bytes.Equal(f[2], pgrp) && f[0][0] != 'Z' && f[0][0] != 'X' {
			return true
		}
	}
	return false
}
