// Package procgroup runs a program so that all of it can be ended: the program
// at the head of a process group of its own, without a terminal, and whatever it
// starts.
//
// What is ended, and when:
//
//   - Terminate and Kill reach every member of the group. On Linux they also
//     reach descendants that have left it (setsid, a shell with job control), for
//     as long as the chain of parents from them to the group stands. On Windows
//     they reach the whole job object.
//   - End is for when the program has ended by itself: it ends what is left of
//     the group, and its descendants. What has left the group and has no parent
//     in it lives on.
//   - Release lets everything live on.
//   - When this process ends before one of the last two, however it went
//     (kill -9 included), the group is killed: on Unix by a guard, a small shell
//     in a session of its own that waits for the end of a pipe; on Windows by the
//     system, as the job's last handle goes.
//
// Out of reach are a daemon that has both left the group and lost its parent, and
// whatever another program starts on request (docker run, systemd-run). Becoming
// the reaper of orphans (PR_SET_CHILD_SUBREAPER) would not change that: an orphan
// does not say whose it was, and each of them would have to be waited for beside
// os/exec, which waits for its own. A mark in the environment would, and would
// also find what is meant to stay: the servers of gpg, gradle, bazel or tmux.
//
// The guard learns of a group when it has been started. A process that is killed
// between those two system calls leaves what the program has started by then; the
// program itself dies in any case on Linux (PR_SET_PDEATHSIG).
//
// The package knows nothing of pipes, time limits or what the program says: those
// are its callers', the bash tool, the MCP client and the hook runner.
package procgroup

import (
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// poll is how seldom, at most, it is asked whether a group is gone; the kernel
// tells nobody but the parents.
const poll = 10 * time.Millisecond

// Group is a started program and the processes that it has started. Its methods
// may be called from several goroutines.
type Group struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the program has been waited for
	err    error         // of that wait

	mu     sync.Mutex
	closed bool // by End or Release: its ids may be another's from then on
	system
}

// Start starts a command in a group of its own. Its SysProcAttr is set here; its
// streams must be files or nil, so that no copying of os/exec holds up the end.
// The error is that of cmd.Start.
//
// After a Start without an error the caller calls End or Release once, when the
// program has ended or has been given up.
func Start(cmd *exec.Cmd) (*Group, error) {
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if !file(stream) {
			return nil, fmt.Errorf("starting %s in a group: a stream is a %T, which has to be copied; give it a file", cmd.Path, stream)
		}
	}
	g := &Group{cmd: cmd, exited: make(chan struct{})}
	isolate(cmd)
	started := make(chan error)
	go func() { // ends with the program
		// On Linux the kernel kills the program when the thread that started it
		// ends. Go may end a thread when a locked goroutine returns, and without
		// the lock that could be any goroutine's.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			g.watch()
		}
		started <- err
		if err != nil {
			return
		}
		g.err = cmd.Wait()
		close(g.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

// Exited is closed when the program itself has ended and been waited for; from
// then on the command's ProcessState says how.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// Wait waits for the program itself and returns what exec.Cmd.Wait does.
func (g *Group) Wait() error {
	<-g.exited
	return g.err
}

// Terminate asks the group to end (SIGTERM). Windows has no word for that which
// a program without a console would hear: there it is Kill. After End or Release
// it does nothing.
func (g *Group) Terminate() { g.unlessClosed(g.terminate) }

// Kill ends the group (SIGKILL). After End or Release it does nothing.
func (g *Group) Kill() { g.unlessClosed(g.kill) }

// End ends what is left of the group once the program has ended, and reports
// whether there was anything. What is left has the time of settle to go by
// itself, then that of grace after a SIGTERM, and again after a SIGKILL: zombies
// that nobody reaps, and what the kernel cannot end, are not waited for longer.
// After Terminate or Kill it also looks after the descendants that those found.
func (g *Group) End(settle, grace time.Duration) bool {
	left := !g.gone(settle)
	if left {
		g.Terminate()
		if !g.gone(grace) {
			g.Kill()
			g.gone(grace)
		}
	}
	g.close(false)
	return left
}

// Release gives the group up: what is left of it lives on.
func (g *Group) Release() { g.close(true) }

func (g *Group) unlessClosed(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		f()
	}
}

func (g *Group) close(spare bool) {
	g.unlessClosed(func() {
		g.closed = true
		g.unwatch(spare)
	})
}

// gone reports whether the group is empty within the limit.
func (g *Group) gone(limit time.Duration) bool {
	end := time.NewTimer(limit)
	defer end.Stop()
	for pause := time.Millisecond; ; pause = min(2*pause, poll) {
		alive := false
		g.unlessClosed(func() { alive = g.alive() })
		if !alive {
			return true
		}
		select {
		case <-end.C:
			return false
		case <-time.After(pause):
		}
	}
}
