package acptest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"acp-agent/acp"
)

// read is the reading goroutine.
func (c *Client) read(r io.Reader) {
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadString('\n')
		c.awaitResume()
		if line != "" {
			c.frame(line)
		}
		if err != nil {
			c.finishReading(err)
			return
		}
	}
}

// Pause stops the client's reading, but for the line that it waits for, until resume is called.
func (c *Client) Pause() (resume func()) {
	gate := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = gate
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paused = nil
		close(gate)
	}
}

func (c *Client) awaitResume() {
	c.mu.Lock()
	gate := c.paused
	c.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (c *Client) finishReading(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = err
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		c.problem("read from the agent: %v", err)
	}
	for key, p := range c.calls {
		delete(c.calls, key)
		p.fail(errHungUp)
	}
	for _, cancel := range c.serving {
		cancel()
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// problem records a violation; c.mu is held.
func (c *Client) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// frame records, checks and dispatches one line.
func (c *Client) frame(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := Frame{N: len(c.frames), Raw: strings.TrimSuffix(line, "\n")}
	if f.Raw == line {
		c.problem("frame %d has no newline at its end: %.200s", f.N, line)
	}
	m, bad := acp.ParseMessage([]byte(f.Raw))
	if bad != nil {
		c.problem("frame %d is no message: %v: %.200s", f.N, bad, f.Raw)
	}
	if bad == nil && m.Hollow() {
		c.problem("frame %d has an id and nothing else: %.200s", f.N, f.Raw)
	}
	f.Msg = m
	var answered *Pending
	if m.IsResponse() {
		answered = c.answer(&f)
	} else if bad == nil {
		if err := CheckParams(m.Method, m.Params); err != nil {
			c.problem("frame %d: %v: %.400s", f.N, err, f.Raw)
		}
	}
	if m.Method == acp.MethodSessionUpdate {
		var n acp.SessionNotification
		if acp.Unmarshal(m.Params, &n) == nil {
			f.Update = &n
		}
	}
	c.frames = append(c.frames, f)
	// The frame is recorded before anyone is woken: who waits for an answer can look at what came before.
	if answered != nil {
		answered.answer = &f
		close(answered.done)
	}
	if m.Method != "" && bad == nil {
		c.dispatch(m)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// answer finds the request that a response belongs to and checks the result; c.mu is held.
func (c *Client) answer(f *Frame) *Pending {
	key, ok := acp.IDKey(f.Msg.ID)
	if !ok {
		if f.Msg.Error == nil {
			c.problem("frame %d is a result without an id: %.200s", f.N, f.Raw)
		}
		return nil
	}
	p := c.calls[key]
	if p == nil {
		// A test that sends raw lines has requests that we don't know of. An answer to those is only
		// recorded.
		return nil
	}
	if string(p.ID) != string(f.Msg.ID) {
		c.problem("frame %d: the id came back as %s, sent as %s", f.N, f.Msg.ID, p.ID)
	}
	delete(c.calls, key)
	f.Answers = p.Method
	if f.Msg.Error == nil {
		if err := CheckResult(p.Method, f.Msg.Result); err != nil {
			c.problem("frame %d: %v: %.400s", f.N, err, f.Raw)
		}
	}
	return p
}

// dispatch serves a request or a notification of the agent's; c.mu is held.
func (c *Client) dispatch(m acp.Message) {
	if m.Method == acp.MethodCancelRequest {
		var p acp.CancelRequestNotification
		if acp.Unmarshal(m.Params, &p) == nil {
			key, _ := acp.IDKey(p.RequestID)
			if cancel := c.serving[key]; cancel != nil {
				cancel()
			}
		}
		return
	}
	if m.ID == nil {
		return
	}
	key, _ := acp.IDKey(m.ID)
	if _, dup := c.serving[key]; dup {
		c.problem("the agent used id %s for two open requests", m.ID)
	}
	h := c.handlers[m.Method]
	ctx, cancel := context.WithCancel(context.Background())
	c.serving[key] = cancel
	c.handlersDone.Add(1)
	go func() { // ends with the handler, whose context ends with the agent
		defer c.handlersDone.Done()
		defer cancel()
		out := acp.Message{ID: m.ID}
		err := error(acp.MethodNotFound(m.Method))
		var result any
		if h != nil {
			result, err = h(ctx, m.Params)
		}
		if err == nil {
			out.Result, err = acp.Marshal(result)
		}
		if err != nil {
			out.Error, out.Result = acp.ToError(err), nil
		}
		c.mu.Lock()
		delete(c.serving, key)
		c.mu.Unlock()
		_ = c.send(out) // the agent may be gone by now
	}()
}
