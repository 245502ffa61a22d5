package shell

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

const (
	// termGrace is how long a command has to end after SIGTERM before SIGKILL.
	termGrace = 3 * time.Second
	// cancelGrace is the same for a cancelled turn, whose answer waits for it.
	cancelGrace = 250 * time.Millisecond
	// settle is how long what a command left behind it, such as the tee of a
	// process substitution, has to end by itself; leftGrace is what it then has
	// after SIGTERM.
	settle    = 100 * time.Millisecond
	leftGrace = 500 * time.Millisecond
	// drainDelay is how long output is still read after the command and its
	// group have ended: only a process that left the group can hold the pipe then.
	drainDelay = time.Second
	// groupPoll is how seldom, at most, it is asked whether the group is gone; the
	// kernel tells nobody but the parents.
	groupPoll = 20 * time.Millisecond
)

// command is what is run.
type command struct {
	path    string
	args    []string
	env     []string
	dir     string
	timeout time.Duration // 0: none
	stdout  io.Writer
	stderr  io.Writer // may be stdout itself
}

// exit is how it ended.
type exit struct {
	code      int
	signal    string // a name such as SIGSEGV, when a signal ended it
	timedOut  bool
	cancelled bool
	// left: processes of its group outlived it and were killed.
	left bool
}

// run runs a command in a session and process group of its own, with nothing on
// stdin and pipes of its own for output, and returns when the command and its
// whole group are gone and the output is read. The error says that it could not
// be started.
//
// If the agent itself is killed, the group dies too. On Linux the kernel kills
// the command when the thread that started it ends (Pdeathsig), hence the locked
// thread: Go may end a thread at any time when a locked goroutine on it returns,
// and without the lock that could be any goroutine's. What the command has
// started is out of the kernel's reach; a watcher (proc_unix.go) covers that.
func run(ctx context.Context, c command) (exit, error) {
	type result struct {
		exit exit
		err  error
	}
	done := make(chan result, 1)
	go func() { // ends with the command; run waits for it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		e, err := c.run(ctx)
		done <- result{e, err}
	}()
	r := <-done
	return r.exit, r.err
}

func (c command) run(ctx context.Context) (exit, error) {
	if err := ctx.Err(); err != nil {
		return exit{cancelled: true, code: -1}, nil
	}
	cmd := exec.Command(c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir // Stdin nil is the null device
	isolate(cmd)

	var pipes pipes
	var err error
	if cmd.Stdout, err = pipes.to(c.stdout); err == nil {
		cmd.Stderr = cmd.Stdout
		if c.stderr != c.stdout {
			cmd.Stderr, err = pipes.to(c.stderr)
		}
	}
	if err == nil {
		err = cmd.Start()
	}
	pipes.started()
	if err != nil {
		pipes.drain(0)
		return exit{}, err
	}
	group := newGroup(cmd)
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }() // received below, always

	var e exit
	var timeout <-chan time.Time
	if c.timeout > 0 {
		t := time.NewTimer(c.timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case err = <-waited:
	case <-timeout:
		e.timedOut = true
		err = stop(group, waited, termGrace)
	case <-ctx.Done():
		e.cancelled = true
		err = stop(group, waited, cancelGrace)
	}
	if e.timedOut || e.cancelled {
		group.end(0)
	} else {
		e.left = group.end(settle)
	}
	pipes.drain(drainDelay)
	e.code, e.signal = status(cmd.ProcessState)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return e, err
	}
	return e, nil
}

// stop asks the group to end and, after the grace, makes it.
func stop(g *group, waited <-chan error, grace time.Duration) error {
	g.terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case err := <-waited:
		return err
	case <-t.C:
	}
	g.kill()
	return <-waited
}

// pipes carry a child's output to writers. They are not exec's own, because
// between the end of the command and the end of its output the group is killed.
type pipes struct {
	read, write []*os.File
	copies      sync.WaitGroup
}

func (p *pipes) to(w io.Writer) (io.Writer, error) {
	r, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.read, p.write = append(p.read, r), append(p.write, pw)
	p.copies.Go(func() {
		// An error is the pipe being closed by drain: what came so far counts.
		_, _ = io.CopyBuffer(w, struct{ io.Reader }{r}, make([]byte, 32<<10))
	})
	return pw, nil
}

// started closes the child's ends in this process.
func (p *pipes) started() {
	for _, w := range p.write {
		w.Close()
	}
}

// drain reads on for at most the delay and then closes the pipes.
func (p *pipes) drain(delay time.Duration) {
	copied := make(chan struct{})
	go func() { // ends with the copies, which end with the pipes
		p.copies.Wait()
		close(copied)
	}()
	t := time.NewTimer(delay)
	defer t.Stop()
	select {
	case <-copied:
	case <-t.C:
	}
	for _, r := range p.read {
		r.Close()
	}
	<-copied
}
