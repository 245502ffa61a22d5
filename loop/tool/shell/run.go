package shell

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"acp-agent/internal/procgroup"
)

const (
	// termGrace is how long a command has to end after SIGTERM before SIGKILL.
	termGrace = 3 * time.Second
	// cancelGrace is the same for a cancelled turn, whose answer waits for it: for
	// the whole group, also for what the command has left behind.
	cancelGrace = 250 * time.Millisecond
	// cancelRest is how long after that, or after the group's end, a cancelled
	// command is waited for: what ignores even SIGKILL, and what left the group and
	// holds the pipe, does not hold the answer.
	cancelRest = 50 * time.Millisecond
	// settle is how long what a command left behind it, such as the tee of a
	// process substitution, has to end by itself; leftGrace is what it then has
	// after SIGTERM.
	settle    = 100 * time.Millisecond
	leftGrace = 500 * time.Millisecond
	// drainDelay is how long output is still read after the command and its
	// group have ended: only a process that left the group can hold the pipe then.
	drainDelay = time.Second
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
	// drain is drainDelay where it is 0.
	drain time.Duration
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

// run runs a command in a process group of its own (procgroup says what of it can
// be ended), with nothing on stdin and pipes of its own for output, and returns
// when the command and its whole group are gone and the output is read. The error
// says that it could not be started. If the agent itself is killed, the group
// dies too.
func run(ctx context.Context, c command) (exit, error) {
	if err := ctx.Err(); err != nil {
		return exit{cancelled: true, code: -1}, nil
	}
	cmd := exec.Command(c.path, c.args...)
	cmd.Env, cmd.Dir = c.env, c.dir // Stdin nil is the null device

	var pipes pipes
	var group *procgroup.Group
	var err error
	if cmd.Stdout, err = pipes.open(c.stdout); err == nil {
		cmd.Stderr = cmd.Stdout
		if c.stderr != c.stdout {
			cmd.Stderr, err = pipes.open(c.stderr)
		}
	}
	if err == nil {
		group, err = procgroup.Start(cmd)
	}
	pipes.started()
	if err != nil {
		pipes.drain(0)
		return exit{}, err
	}
	var e exit
	drain := cmp.Or(c.drain, drainDelay)
	var cancelled time.Time
	var timeout <-chan time.Time
	if c.timeout > 0 {
		t := time.NewTimer(c.timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-group.Exited():
	case <-timeout:
		e.timedOut = true
		stop(group, termGrace)
	case <-ctx.Done():
		e.cancelled, cancelled = true, time.Now()
		stop(group, cancelGrace)
	}
	err = group.Wait()
	switch {
	case e.cancelled:
		group.End(max(0, cancelGrace-time.Since(cancelled)), cancelRest)
		drain = cancelRest
	case e.timedOut:
		group.End(0, leftGrace)
	default:
		e.left = group.End(settle, leftGrace)
	}
	pipes.drain(drain)
	e.code, e.signal = status(cmd.ProcessState)
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return e, err
	}
	return e, nil
}

// stop asks the group to end and, after the grace, makes it.
func stop(g *procgroup.Group, grace time.Duration) {
	g.Terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-g.Exited():
	case <-t.C:
		g.Kill()
	}
}

// status returns the exit code; 128+n and its name for signal n.
func status(s *os.ProcessState) (int, string) {
	if n, name := procgroup.Signal(s); n > 0 {
		return 128 + n, name
	}
	return s.ExitCode(), "" // -1 of nil
}

// pipes carry a child's output to writers. They are not exec's own, because
// between the end of the command and the end of its output the group is killed.
type pipes struct {
	read, write []*os.File
	to          []io.Writer
	copies      sync.WaitGroup
}

// open makes a pipe for a writer and returns the child's end.
func (p *pipes) open(to io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.read, p.write, p.to = append(p.read, r), append(p.write, w), append(p.to, to)
	return w, nil
}

// started closes the child's ends in this process and begins to copy. Whoever
// sees output knows by it that the command's group is in the guard's charge.
func (p *pipes) started() {
	for i, w := range p.write {
		w.Close()
		p.copies.Go(func() {
			// An error is the pipe being closed by drain: what came so far counts.
			_, _ = io.CopyBuffer(p.to[i], struct{ io.Reader }{p.read[i]}, make([]byte, 32<<10))
		})
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
