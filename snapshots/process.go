package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// searchPath is where the agent and its children find commands. The person's
// own is not passed on: what is installed there must not decide a result.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// process is a running agent.
type process struct {
	cmd    *exec.Cmd
	c      *client
	stderr tail
	read   chan struct{} // closed when its stdout has been read to the end
	limit  time.Duration
}

// command returns the agent's command line for a scenario: the given one with
// its placeholders filled in, or this project's agent in replay.
func (r *runner) command(s *Scenario, p place) []string {
	var argv []string
	if r.o.Foreign {
		for _, a := range r.o.Agent {
			argv = append(argv, p.expand(a))
		}
		return argv
	}
	argv = append(argv, r.o.Agent...)
	model := "replay:" + s.Dir
	if r.o.Model != "" {
		model = r.o.Model
	}
	argv = append(argv, "serve", "--model", model, "--state-dir", p.state)
	for _, h := range []struct{ file, flag string }{{claudeHooksFile, "--claude-hooks"}, {codexHooksFile, "--codex-hooks"}} {
		file := filepath.Join(p.cwd, h.file)
		if _, err := os.Stat(file); err == nil {
			argv = append(argv, h.flag, file)
		}
	}
	for _, a := range s.Input.Args {
		argv = append(argv, p.expand(a))
	}
	return argv
}

func (r *runner) environment(s *Scenario, p place) []string {
	env := []string{
		"PATH=" + searchPath, "HOME=" + p.home, "TMPDIR=" + p.tmp, "SHELL=/bin/sh", "TERM=dumb", "LANG=C.UTF-8", "TZ=UTC",
		"ACP_AGENT_REQUESTS=" + p.requests,
	}
	env = append(env, r.o.Env...)
	names := make([]string, 0, len(s.Input.Env))
	for k := range s.Input.Env {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		env = append(env, k+"="+p.expand(s.Input.Env[k]))
	}
	return env
}

// start runs the agent. The caller ends it with finish.
func (r *runner) start(ctx context.Context, s *Scenario, p place) (*process, error) {
	argv := r.command(s, p)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = p.cwd
	cmd.Env = r.environment(s, p)
	ownGroup(cmd)
	pr := &process{cmd: cmd, read: make(chan struct{}), limit: r.o.Limit}
	cmd.Stderr = &pr.stderr
	// Stderr may stay open in a child that outlives the agent; the run must not
	// wait for it.
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	// An own pipe and not StdoutPipe: Wait closes that one under the reader.
	stdout, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	cmd.Stdout = child
	err = cmd.Start()
	child.Close()
	if err != nil {
		stdout.Close()
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	pr.c = newClient(stdin, s.Input, r.o.Limit)
	go func() { // ends at the end of the agent's stdout, or when finish closes it
		defer close(pr.read)
		pr.c.read(stdout)
		stdout.Close()
	}()
	context.AfterFunc(ctx, func() { stdout.Close() })
	return pr, nil
}

// finish closes the agent's stdin and waits for its end. An agent that does
// not leave is killed with its children, and that is an error.
func (pr *process) finish() (exit int, err error) {
	pr.c.out.close()
	done := make(chan error, 1)
	go func() { done <- pr.cmd.Wait() }() // ends with the process, which is killed below at the latest
	var waitErr error
	select {
	case waitErr = <-done:
	case <-time.After(pr.limit):
		killGroup(pr.cmd)
		<-done
		return -1, fmt.Errorf("the agent was still running %s after its stdin was closed; it was killed", pr.limit)
	}
	select {
	case <-pr.read:
	case <-time.After(pr.limit):
		killGroup(pr.cmd)
		return -1, errors.New("the agent has ended and a child of it still holds its stdout")
	}
	killGroup(pr.cmd) // what is left of its process group must not outlive the run
	var exited *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exited) && !errors.Is(waitErr, exec.ErrWaitDelay) {
		return -1, fmt.Errorf("waiting for the agent: %w", waitErr)
	}
	return pr.cmd.ProcessState.ExitCode(), nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailLimit = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	if over := t.buf.Len() - tailLimit; over > 0 {
		t.buf.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

var _ io.Writer = (*tail)(nil)
