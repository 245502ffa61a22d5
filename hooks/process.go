package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"acp-agent/internal/procgroup"
)

const (
	// MaxOutput is how much of a stream is kept; the rest is read and dropped, so
	// that the hook never blocks on a full pipe.
	MaxOutput = 20 << 20
	// WaitDelay is how long after the hook's own exit its streams may stay open:
	// a process that it left behind may hold them. Both vendors wait for the end
	// and their users suffer (claude-code#77078, claude-remember#646).
	WaitDelay = time.Second
	// maxFirstLine bounds the look-out for a detaching first line.
	maxFirstLine = 4096
)

// RunProcess runs a command hook to its end. It returns when the hook's own
// process has exited and its streams are read, or they were given up after
// WaitDelay; when the time limit or ctx ended it, with its process group killed
// (procgroup); or when it detached itself. bg bounds the life of a detached one.
//
// Payloads go through stdin only: the size of argv and of an environment
// variable is limited (cursor#4039). A hook that does not read them is no
// error. What the hook leaves running after a success lives on, and its output
// is drained for as long as it holds the pipe, so that it does not die of
// SIGPIPE.
func RunProcess(ctx, bg context.Context, p *Process) Exit {
	if ctx.Err() != nil {
		return Exit{Code: -1, Cancelled: true}
	}
	dir, err := p.dir()
	if err != nil {
		return Exit{Code: -1, StartErr: err}
	}
	r, err := start(p, dir)
	if err != nil {
		return Exit{Code: -1, StartErr: err}
	}
	if dir != p.Dir {
		r.dir = dir
	}
	return r.wait(ctx, bg, p.Timeout, p.Detach)
}

// dir picks the first working directory that is there.
func (p *Process) dir() (string, error) {
	for _, d := range append([]string{p.Dir}, p.Fallbacks...) {
		if fi, err := os.Stat(d); err == nil && fi.IsDir() {
			return d, nil
		}
	}
	return "", fmt.Errorf("the working directory %s is gone", p.Dir)
}

// running is a started hook.
type running struct {
	p              *Process
	dir            string
	cmd            *exec.Cmd
	group          *procgroup.Group
	stdin          *os.File
	stdout, stderr *stream
}

func start(p *Process, dir string) (*running, error) {
	if len(p.Argv) == 0 {
		return nil, errors.New("there is no command")
	}
	path, ok := Environ(p.Env).LookPath(p.Argv[0])
	if !ok {
		return nil, fmt.Errorf("%s: not found in PATH", p.Argv[0])
	}
	files, err := openPipes()
	if err != nil {
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	cmd := &exec.Cmd{
		Path: path, Args: p.Argv, Dir: dir,
		// Never nil: nil would be the agent's own environment.
		Env:   append([]string{}, p.Env...),
		Stdin: files.childIn, Stdout: files.childOut, Stderr: files.childErr,
	}
	group, err := procgroup.Start(cmd)
	files.closeChild()
	if err != nil {
		files.closeOurs()
		return nil, fmt.Errorf("starting %s: %w", p.Argv[0], err)
	}
	r := &running{p: p, cmd: cmd, group: group, stdin: files.in}
	// Ended by the hook reading, exiting, or by wait closing the pipe.
	go func() {
		// EPIPE and the like: the hook does not want its input.
		_, _ = files.in.Write(p.Stdin)
		files.in.Close()
	}()
	r.stdout, r.stderr = newStream(files.out), newStream(files.err)
	r.stdout.wantFirst = p.Detach != nil
	// Ended by the other end closing: all that inherited the streams are gone.
	go r.stdout.read()
	go r.stderr.read()
	return r, nil
}

// wait follows the hook to its end. limit 0 is none.
func (r *running) wait(ctx, bg context.Context, limit time.Duration, detach func([]byte) (time.Duration, bool)) Exit {
	var timeout <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	first := r.stdout.first
	for {
		select {
		case <-r.group.Exited():
			r.finishReading(ctx)
			return r.exit()
		case <-timeout:
			r.timeOut(ctx)
			e := r.exit()
			e.TimedOut = true
			return e
		case <-ctx.Done():
			r.group.Kill()
			r.awaitExit(WaitDelay)
			e := r.exit()
			e.Cancelled = true
			return e
		case line := <-first:
			first = nil
			if detach == nil {
				continue
			}
			bgLimit, ok := detach(line)
			if !ok {
				continue
			}
			rest := make(chan Exit, 1)
			// Ended by the hook's exit, its limit or bg.
			go func() {
				rest <- r.wait(bg, bg, bgLimit, nil)
				close(rest)
			}()
			return Exit{Code: -1, Dir: r.dir, Rest: rest}
		}
	}
}

// timeOut ends the whole group: SIGTERM and a grace where the dialect has one,
// then SIGKILL. The grace ends early when the streams are closed, which is when
// everything that could be waited for is gone.
func (r *running) timeOut(ctx context.Context) {
	if r.p.TermGrace > 0 {
		r.group.Terminate()
		t := time.NewTimer(r.p.TermGrace)
		defer t.Stop()
		gone := make(chan struct{})
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for _, c := range []<-chan struct{}{r.group.Exited(), r.stdout.eof, r.stderr.eof} {
				select {
				case <-c:
				case <-stop:
					return
				}
			}
			close(gone)
		}()
		select {
		case <-gone:
		case <-t.C:
		case <-ctx.Done():
		}
	}
	r.group.Kill()
	r.awaitExit(WaitDelay)
}

// awaitExit waits for the hook's own process after a SIGKILL. A process that
// the kernel cannot end (in a dead network file system) is left behind.
func (r *running) awaitExit(limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-r.group.Exited():
	case <-t.C:
	}
}

// finishReading takes what the hook wrote before it exited, and waits for more
// only while something holds the streams and no whole answer is there.
func (r *running) finishReading(ctx context.Context) {
	t := time.NewTimer(WaitDelay)
	defer t.Stop()
	for _, s := range []*stream{r.stdout, r.stderr} {
		s.poke()
		select {
		case <-s.drained:
		case <-s.eof:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
	for _, s := range []*stream{r.stdout, r.stderr} {
		select {
		case <-s.eof:
			continue
		default:
		}
		if WholeObject(r.stdout.bytes()) {
			return
		}
		select {
		case <-s.eof:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// exit collects what is known. The streams are drained and dropped from here.
func (r *running) exit() Exit {
	// Unblocks the writer when something still holds the read end.
	r.stdin.Close()
	e := Exit{Code: -1, Dir: r.dir}
	var cutOut, cutErr bool
	e.Stdout, cutOut = r.stdout.take()
	e.Stderr, cutErr = r.stderr.take()
	e.Truncated = cutOut || cutErr
	select {
	case <-r.group.Exited():
		r.group.Release()
		e.Code = r.cmd.ProcessState.ExitCode()
		_, e.Signal = procgroup.Signal(r.cmd.ProcessState)
	default:
	}
	return e
}

// stream reads one of the hook's output pipes for as long as it is open.
type stream struct {
	f *os.File
	// first gets the first line, once, when wantFirst says so.
	first chan []byte
	// drained is closed when all that was in the pipe at poke's time is read,
	// eof when the other end is closed.
	drained, eof chan struct{}

	mu        sync.Mutex
	wantFirst bool
	buf       []byte
	cut       bool
	discard   bool
}

func newStream(f *os.File) *stream {
	return &stream{f: f, first: make(chan []byte, 1), drained: make(chan struct{}), eof: make(chan struct{})}
}

func (s *stream) read() {
	defer close(s.eof)
	defer s.f.Close()
	buf := make([]byte, 64<<10)
	drained := false
	for {
		n, err := s.f.Read(buf)
		s.add(buf[:n])
		if err == nil {
			continue
		}
		if drained || !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		// poke: take what is there without waiting, say so, and go on reading.
		drained = true
		if s.f.SetReadDeadline(time.Time{}) != nil {
			return
		}
		for {
			n, eof := readNow(s.f, buf)
			s.add(buf[:n])
			if eof {
				return
			}
			if n == 0 {
				break
			}
		}
		close(s.drained)
	}
}

// poke interrupts the read that may be waiting. Where pipes have no deadlines
// (Windows) nothing happens and eof or WaitDelay decide.
func (s *stream) poke() { _ = s.f.SetReadDeadline(time.Unix(1, 0)) }

func (s *stream) add(b []byte) {
	if len(b) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.discard {
		return
	}
	if room := MaxOutput - len(s.buf); len(b) > room {
		b = b[:room]
		s.cut = true
	}
	s.buf = append(s.buf, b...)
	if !s.wantFirst {
		return
	}
	if i := bytes.IndexByte(s.buf, '\n'); i >= 0 {
		s.wantFirst = false
		s.first <- bytes.Clone(s.buf[:i])
	} else if len(s.buf) > maxFirstLine {
		s.wantFirst = false
	}
}

func (s *stream) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf[:len(s.buf):len(s.buf)]
}

func (s *stream) take() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buf
	s.buf, s.discard = nil, true
	return b, s.cut
}

// pipes are the two ends of the three standard streams. The agent's own ends
// are close-on-exec, as is everything else it has open: a hook inherits 0, 1, 2.
type pipes struct {
	childIn, childOut, childErr *os.File
	in, out, err                *os.File
}

func openPipes() (p pipes, err error) {
	defer func() {
		if err != nil {
			p.closeChild()
			p.closeOurs()
		}
	}()
	if p.childIn, p.in, err = os.Pipe(); err != nil {
		return p, err
	}
	if p.out, p.childOut, err = os.Pipe(); err != nil {
		return p, err
	}
	p.err, p.childErr, err = os.Pipe()
	return p, err
}

func (p *pipes) closeChild() { closeAll(p.childIn, p.childOut, p.childErr) }
func (p *pipes) closeOurs()  { closeAll(p.in, p.out, p.err) }

func closeAll(cs ...*os.File) {
	for _, c := range cs {
		if c != nil {
			_ = io.Closer(c).Close()
		}
	}
}
