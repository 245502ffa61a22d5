//go:build unix

package procgroup

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// guardScript keeps the ids of the running groups, which it is told on its
// stdin, and kills those that are left when the other end of that pipe is gone.
const guardScript = `groups=
while read -r op id; do
	case $op in
	+) groups="$groups $id" ;;
	-)
		rest=
		for g in $groups; do [ "$g" = "$id" ] || rest="$rest $g"; done
		groups=$rest
		;;
	esac
done
for g in $groups; do kill -KILL "-$g"; done`

// guard kills the groups of this process when it is gone. One process serves all
// groups; it is started with the first, and again should somebody have ended it.
// Without it (no sh, no more processes) programs run all the same; only this
// safeguard is missing.
type guard struct {
	mu      sync.Mutex
	process *os.Process // nil: none runs
	pipe    *os.File
	groups  map[int]bool
}

var guarded = guard{groups: map[int]bool{}}

func (g *guard) add(pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[pgid] = true
	if g.process != nil && g.tell('+', pgid) {
		return
	}
	if g.start() {
		for id := range g.groups {
			g.tell('+', id)
		}
	}
}

func (g *guard) remove(pgid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.groups[pgid] && g.process != nil {
		g.tell('-', pgid) // should it have ended, the next add notices
	}
	delete(g.groups, pgid)
}

// tell writes a line to the guard and reports whether it took it. It does not
// wait: a guard that does not read is as good as none.
func (g *guard) tell(op byte, pgid int) bool {
	raw, err := g.pipe.SyscallConn()
	if err != nil {
		return false
	}
	line := fmt.Appendf(nil, "%c %d\n", op, pgid) // shorter than PIPE_BUF: all of it or nothing
	n := 0
	if werr := raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), line)
		return err != syscall.EINTR
	}); werr != nil {
		return false
	}
	return err == nil && n == len(line)
}

// start starts the guard, in the place of one that has ended.
func (g *guard) start() bool {
	if g.process != nil {
		g.pipe.Close()
		_ = g.process.Kill()
		_, _ = g.process.Wait()
		g.process, g.pipe = nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return false
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		w.Close()
		return false
	}
	defer null.Close()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", guardScript, "acp-agent-guard"}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{r, null, null},
		// In a session of its own, so that a signal to the agent's group spares it.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		w.Close()
		return false
	}
	g.process, g.pipe = p, w
	return true
}
