package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/internal/lookpath"
	"acp-agent/internal/procgroup"
)

// The steps of ending a process: what it has after its stdin is closed, after
// SIGTERM, and what the rest of its group has. Together they stay below
// closeLimit. drainDelay is how long its output is still read when a process that
// left the group holds the pipe.
const (
	stdinGrace = 700 * time.Millisecond
	termGrace  = 400 * time.Millisecond
	leftGrace  = 200 * time.Millisecond
	drainDelay = 400 * time.Millisecond
)

// process is a running stdio server. It is not the SDK's CommandTransport, which
// signals one process and not its group, takes up to 15 seconds to end it, and
// gives up on the first line of stdout that is not JSON.
type process struct {
	cmd   *exec.Cmd
	group *procgroup.Group
	stdin *os.File
	out   *lines
	words *stderr
	// done is closed when the process and its group are gone; exit is how it
	// ended.
	done   chan struct{}
	exit   string
	forced atomic.Bool
}

// startProcess starts a server in a process group of its own. Many servers are a
// launcher and what it has launched: all of it is ended, also when the agent is
// killed.
func startProcess(command string, args, env []string, dir string, log *slog.Logger) (*process, error) {
	path, ok := lookpath.In(env, command)
	if !ok {
		return nil, fmt.Errorf("the program %q is not in its PATH", command)
	}
	p := &process{done: make(chan struct{})}
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err1 := pipe()
	outR, outW, err2 := pipe()
	errR, errW, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		p.cmd = &exec.Cmd{Path: path, Args: append([]string{command}, args...), Env: env, Dir: dir, Stdin: inR, Stdout: outW, Stderr: errW}
		p.group, err = procgroup.Start(p.cmd)
	}
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("it could not be started in %s: %w", dir, err)
	}
	inR.Close()
	outW.Close()
	errW.Close()
	p.stdin = inW
	p.out = newLines(outR, log)
	p.words = &stderr{log: log}
	go func() { // ends with the process; stop waits for it
		defer close(p.done)
		defer closeAll()
		p.follow(errR, outR)
	}()
	return p, nil
}

// follow reads the server's stderr until the server and its group are gone.
func (p *process) follow(errR, outR *os.File) {
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(p.words, struct{ io.Reader }{errR}) })
	_ = p.group.Wait() // how it ended is in ProcessState
	p.group.End(0, leftGrace)
	p.exit = exitText(p.cmd.ProcessState)
	limit := time.AfterFunc(drainDelay, func() { errR.Close(); outR.Close(); p.out.end() })
	copying.Wait()
	p.words.flush()
	p.out.drained()
	limit.Stop()
}

// transport speaks the protocol over the pipes. The reads end with the process;
// the SDK's close is that of stdin, which tells the server to end.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: p.out, Writer: p.stdin, MaxLineLength: maxMessage}
}

// stop ends the process and its group, if it has not ended by itself, and says
// how it ended.
func (p *process) stop() error {
	p.stdin.Close()
	for _, step := range []struct {
		wait time.Duration
		then func()
	}{{stdinGrace, p.group.Terminate}, {termGrace, p.group.Kill}} {
		if p.ended(step.wait) {
			break
		}
		p.forced.Store(true)
		step.then()
	}
	<-p.done // after SIGKILL there is no more to wait for than the kernel
	if p.forced.Load() {
		return errors.New("the connection broke and it was stopped")
	}
	return errors.New(p.exit)
}

// exitText says how a process ended.
func exitText(s *os.ProcessState) string {
	if _, name := procgroup.Signal(s); name != "" {
		return "it was ended by " + name
	}
	return fmt.Sprintf("it exited with code %d", s.ExitCode())
}

func (p *process) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// explain adds to the error of an attempt to connect what the process itself has
// said and how it ended.
func (p *process) explain(err, why error) error {
	switch {
	case !broken(err):
	case p.forced.Load(): // it had to be ended: only its stdout was gone
		err = errors.New("it closed its stdout before it was ready")
	default:
		err = fmt.Errorf("%w before it was ready", why)
	}
	if junk := p.out.skipped(); junk != "" {
		err = fmt.Errorf("%w; what it wrote to its stdout is not MCP: %q", err, junk)
	}
	if last := p.words.lastLine(); last != "" {
		err = fmt.Errorf("%w; the last line of its stderr: %q", err, last)
	}
	return err
}

// broken reports whether an error is that of a pipe whose other end is gone.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// overlay lays K=V entries over an environment. The last of a name counts.
func overlay(environ, over []string) []string {
	out := make([]string, 0, len(environ)+len(over))
	return append(append(out, environ...), over...)
}

// stderr logs what a server says there, a line at a time, and keeps the last.
type stderr struct {
	log  *slog.Logger
	mu   sync.Mutex
	part []byte
	last string
}

// maxLogLine bounds a line in the log.
const maxLogLine = 4096

// Write never fails: a server must not be stopped by its log.
func (s *stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(b)
	for {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		if room := maxLogLine - len(s.part); room > 0 {
			s.part = append(s.part, line[:min(room, len(line))]...)
		}
		if !found {
			return n, nil
		}
		s.lineLocked()
		b = rest
	}
}

func (s *stderr) lineLocked() {
	line := strings.TrimSpace(strings.ToValidUTF8(string(s.part), "\uFFFD"))
	s.part = s.part[:0]
	if line == "" {
		return
	}
	s.last = line
	s.log.Info("MCP server: " + line)
}

func (s *stderr) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lineLocked()
}

func (s *stderr) lastLine() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return excerpt(s.last)
}

// excerpt is the start of a line, for a sentence.
func excerpt(s string) string {
	const enough = 200
	if r := []rune(s); len(r) > enough {
		return string(r[:enough]) + "…"
	}
	return s
}
