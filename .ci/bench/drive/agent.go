package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// spec is an agent that can be started.
type spec struct {
	name string
	argv []string
}

// process is one running agent. Frames are stamped when they are read; what is
// not needed of them is not kept, so that the driver takes little of the machine.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	start time.Time
	dir   string // home, state and workspace

	mu      sync.Mutex
	waiting map[string]chan answer
	nextID  int
	chunks  int       // text chunks since mark
	bytes   int       // their text bytes, by frame length alone
	first   time.Time // the first of them
	tools   []time.Time
	firstCh chan struct{} // closed at the first chunk after mark
	exited  chan struct{}
	exitAt  time.Time
	stderr  bytes.Buffer
}

type answer struct {
	at     time.Time
	result json.RawMessage
	err    json.RawMessage
}

// launch starts an agent in a home of its own, with hook files of both dialects
// in it: discovery is part of what is measured.
func launch(s spec, mock string) (*process, error) {
	dir, err := os.MkdirTemp(stateRoot, "run-")
	if err != nil {
		return nil, err
	}
	return launchIn(s, mock, dir, nil)
}

func launchIn(s spec, mock, dir string, env []string) (*process, error) {
	p := &process{dir: dir, waiting: map[string]chan answer{}, exited: make(chan struct{}), firstCh: make(chan struct{})}
	if err := p.furnish(); err != nil {
		return nil, err
	}
	p.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	p.cmd.Dir = p.workspace()
	p.cmd.Env = append([]string{
		"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SHELL=/bin/sh", "MOCK_URL=" + mock,
		"OPENAI_BASE_URL=" + mock + "/v1", "OPENAI_API_KEY=bench-key-of-no-use", "ACP_AGENT_MODEL=openai/mock-model",
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "NO_PROXY=127.0.0.1",
	}, env...)
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout = w
	p.start = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	w.Close()
	go p.read(r)
	go func() {
		_ = p.cmd.Wait()
		p.exitAt = time.Now()
		close(p.exited)
	}()
	return p, nil
}

func (p *process) workspace() string { return filepath.Join(p.dir, "ws") }

// furnish writes the workspace and the person's hook settings. The hooks are for
// an event that does not occur: they are found and read, and never run.
func (p *process) furnish() error {
	const hook = `{"hooks":{"PreCompact":[{"matcher":"*","hooks":[{"type":"command","command":"true"}]}]}}`
	for name, body := range map[string]string{
		".claude/settings.json": hook, ".codex/hooks.json": hook, "ws/.claude/settings.json": `{"hooks":{}}`,
		"ws/file.txt": "line one\nline two\n",
	} {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
			return err
		}
		// As old as such files are: what was just written is looked at more closely.
		if old := time.Now().Add(-time.Hour); os.Chtimes(path, old, old) != nil {
			return fmt.Errorf("setting the time of %s", path)
		}
	}
	return nil
}

var (
	updateMark = []byte(`"method":"session/update"`)
	chunkMark  = []byte(`"agent_message_chunk"`)
	doneMark   = []byte(`"status":"completed"`)
)

func (p *process) read(r io.ReadCloser) {
	defer r.Close()
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		raw, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long := bytes.Clone(raw)
			raw, err = br.ReadBytes('\n')
			raw = append(long, raw...)
		}
		if len(raw) > 1 {
			p.line(time.Now(), raw)
		}
		if err != nil {
			p.mu.Lock()
			for id, ch := range p.waiting {
				close(ch)
				delete(p.waiting, id)
			}
			p.mu.Unlock()
			return
		}
	}
}

func (p *process) line(now time.Time, raw []byte) {
	if head := raw[:min(len(raw), 400)]; bytes.Contains(head, updateMark) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case bytes.Contains(head, chunkMark):
			if p.chunks == 0 {
				p.first = now
				close(p.firstCh)
			}
			p.chunks++
			p.bytes += len(raw)
		case bytes.Contains(raw, doneMark):
			p.tools = append(p.tools, now)
		}
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	if m.Method != "" {
		if m.ID != nil { // nothing that is measured asks the client for anything
			fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not offered"}}`+"\n", m.ID)
		}
		return
	}
	p.mu.Lock()
	ch := p.waiting[string(m.ID)]
	delete(p.waiting, string(m.ID))
	p.mu.Unlock()
	if ch != nil {
		ch <- answer{now, m.Result, m.Error}
	}
}

// mark begins a new count of chunks and returns the channel of the first.
func (p *process) mark() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chunks, p.bytes, p.first, p.tools, p.firstCh = 0, 0, time.Time{}, nil, make(chan struct{})
	return p.firstCh
}

func (p *process) send(method string, params string) (chan answer, time.Time) {
	ch := make(chan answer, 1)
	p.mu.Lock()
	p.nextID++
	id := fmt.Sprint(p.nextID)
	p.waiting[id] = ch
	p.mu.Unlock()
	line := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + "}\n"
	at := time.Now()
	// The write must not block the caller on a full pipe.
	if len(line) < 32<<10 {
		_, _ = io.WriteString(p.in, line)
	} else {
		go func() { _, _ = io.WriteString(p.in, line) }()
	}
	return ch, at
}

const patience = 120 * time.Second

func (p *process) await(ch chan answer) (answer, error) {
	select {
	case a, ok := <-ch:
		switch {
		case !ok:
			return a, fmt.Errorf("the agent closed its stdout: %s", tail(p.stderr.String()))
		case a.err != nil:
			return a, fmt.Errorf("the agent answered the error %s", a.err)
		}
		return a, nil
	case <-time.After(patience):
		return answer{}, errors.New("no answer in time")
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }

// call sends a request and returns how long its answer took.
func (p *process) call(method, params string) (json.RawMessage, time.Duration, error) {
	ch, at := p.send(method, params)
	a, err := p.await(ch)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", method, err)
	}
	return a.result, a.at.Sub(at), nil
}

// initialize returns the time from the start of the process to the answer.
func (p *process) initialize() (time.Duration, error) {
	ch, _ := p.send("initialize", `{"protocolVersion":1,"clientCapabilities":{},"clientInfo":{"name":"bench","version":"0"}}`)
	a, err := p.await(ch)
	if err != nil {
		return 0, fmt.Errorf("initialize: %w", err)
	}
	return a.at.Sub(p.start), nil
}

func (p *process) newParams() string {
	return fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, p.workspace())
}

func sessionID(result json.RawMessage) string {
	var s struct {
		SessionID string `json:"sessionId"`
	}
	_ = json.Unmarshal(result, &s)
	return s.SessionID
}

func (p *process) newSession() (string, time.Duration, error) {
	res, took, err := p.call("session/new", p.newParams())
	return sessionID(res), took, err
}

func promptParams(sid, text string) string {
	return `{"sessionId":"` + sid + `","prompt":[{"type":"text","text":"` + text + `"}]}`
}

// turn is what one prompt cost.
type turn struct {
	first, total time.Duration
	cpu          time.Duration
	chunks       int
}

func (p *process) prompt(sid, text string) (turn, error) {
	p.mark()
	before := cpuOf(p.cmd.Process.Pid)
	ch, at := p.send("session/prompt", promptParams(sid, text))
	a, err := p.await(ch)
	if err != nil {
		return turn{}, fmt.Errorf("session/prompt: %w", err)
	}
	t := turn{total: a.at.Sub(at), cpu: cpuOf(p.cmd.Process.Pid) - before}
	p.mu.Lock()
	defer p.mu.Unlock()
	t.first, t.chunks = p.first.Sub(at), p.chunks
	return t, nil
}

// hangUp closes stdin and returns how long the process then lived.
func (p *process) hangUp() (time.Duration, error) {
	at := time.Now()
	p.in.Close()
	select {
	case <-p.exited:
		return p.exitAt.Sub(at), nil
	case <-time.After(10 * time.Second):
		return 0, errors.New("the agent still runs 10 s after the end of its input")
	}
}

// kill ends the process if it still runs and removes what it has written.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	os.RemoveAll(p.dir)
}
