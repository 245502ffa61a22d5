package acptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"acp-agent/acp"
	"acp-agent/acp/stdio"
)

// TB is the part of testing.TB that a Client uses.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	Context() context.Context
}

// Frame is one message from the agent.
type Frame struct {
	// N counts the frames from 0, in the order of arrival.
	N   int
	Raw string
	Msg acp.Message
	// Update is set for a session/update.
	Update *acp.SessionNotification
	// Answers is the method of the request that a response answers.
	Answers string
}

// Client is a fake client. Its methods may be used from any goroutine.
type Client struct {
	tb TB
	w  io.WriteCloser

	wmu sync.Mutex // serialises lines to the agent

	mu       sync.Mutex
	frames   []Frame
	changed  chan struct{} // closed and replaced with every frame, and at the end
	ended    error         // why reading ended; nil while it goes on
	lastID   int
	calls    map[string]*Pending // by IDKey
	handlers map[string]handler
	serving  map[string]context.CancelFunc // the agent's open requests, by IDKey
	problems []string
	paused   chan struct{} // nil, or closed by who has the reading go on

	handlersDone sync.WaitGroup
}

type handler func(ctx context.Context, params json.RawMessage) (any, error)

// NewClient returns a client that reads the agent's output from r and writes its input to w, which are
// the child's stdout and stdin, or the ends of two pipes. It reads until r ends. When the test ends it
// closes w, waits for the end of r, and fails the test if a frame did not fit the schema.
func NewClient(tb TB, r io.Reader, w io.WriteCloser) *Client {
	c := &Client{
		tb:       tb,
		w:        w,
		changed:  make(chan struct{}),
		calls:    map[string]*Pending{},
		handlers: map[string]handler{},
		serving:  map[string]context.CancelFunc{},
	}
	go c.read(r) // ends with r
	tb.Cleanup(func() { c.Finish() })
	return c
}

// Start runs an agent over in-memory pipes and returns a client for it. serve gets the agent's stream,
// and a context that ends with the test. When the test ends, the client hangs up and serve must return.
func Start(tb TB, serve func(ctx context.Context, stream *stdio.Stream) error) *Client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	stream := stdio.NewStream(inR, outW, stdio.Options{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan struct{})
	tb.Cleanup(func() { // runs after the client's own clean-up, which hangs up
		<-done
		cancel()
	})
	go func() { // ended by the client's hanging up
		defer close(done)
		defer outW.Close()
		if err := serve(ctx, stream); err != nil {
			tb.Errorf("acptest: the agent ended with: %v", err)
		}
	}()
	return NewClient(tb, outR, inW)
}

// Finish hangs up, waits until the agent has closed its output, and reports what did not fit. It is
// called when the test ends; calling it earlier is allowed.
func (c *Client) Finish() {
	_ = c.w.Close()
	c.await(context.Background(), func() bool { return c.ended != nil })
	c.handlersDone.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.problems {
		c.tb.Errorf("acptest: %s", p)
	}
	c.problems = nil
}

// Hangup closes the agent's input.
func (c *Client) Hangup() { _ = c.w.Close() }

// SendLine writes a line to the agent as it is; the newline is added.
func (c *Client) SendLine(line string) {
	c.tb.Helper()
	if err := c.write([]byte(line + "\n")); err != nil {
		c.tb.Errorf("acptest: write %.80q to the agent: %v", line, err)
	}
}

func (c *Client) write(b []byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_, err := c.w.Write(b)
	return err
}

// send encodes and writes a message.
func (c *Client) send(m acp.Message) error {
	b, err := m.AppendJSON(nil)
	if err != nil {
		return err
	}
	return c.write(append(b, '\n'))
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.tb.Helper()
	raw, err := acp.Marshal(params)
	if err == nil {
		err = c.send(acp.Message{Method: method, Params: raw})
	}
	if err != nil {
		c.tb.Errorf("acptest: notify %s: %v", method, err)
	}
}

// Pending is a request that was sent to the agent.
type Pending struct {
	// ID is the request's id as sent.
	ID     acp.RequestId
	Method string
	done   chan struct{} // closed when answer is set or the agent is gone
	answer *Frame
	err    error
}

// Done is closed when the answer is there, or the agent is gone.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Frame returns the answer, nil before Done or when the agent went away without one.
func (p *Pending) Frame() *Frame { return p.answer }

// Wait waits for the answer and decodes it into result, which may be nil. An error answer is returned
// as the *acp.Error it is.
func (p *Pending) Wait(ctx context.Context, result any) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("wait for the answer to %s (id %s): %w", p.Method, p.ID, ctx.Err())
	}
	if p.err != nil {
		return p.err
	}
	if e := p.answer.Msg.Error; e != nil {
		return e
	}
	if result == nil {
		return nil
	}
	return acp.Unmarshal(p.answer.Msg.Result, result)
}

// Go sends a request and returns without waiting for the answer.
func (c *Client) Go(method string, params any) *Pending {
	c.mu.Lock()
	c.lastID++
	id := acp.RequestId(strconv.Itoa(c.lastID))
	c.mu.Unlock()
	return c.GoID(id, method, params)
}

// GoID is Go with an id of the test's choosing, in its JSON form.
func (c *Client) GoID(id acp.RequestId, method string, params any) *Pending {
	p := &Pending{ID: id, Method: method, done: make(chan struct{})}
	raw, err := acp.Marshal(params)
	if err != nil {
		return p.fail(err)
	}
	key, _ := acp.IDKey(id)
	c.mu.Lock()
	if c.ended != nil {
		c.mu.Unlock()
		return p.fail(c.ended)
	}
	c.calls[key] = p
	c.mu.Unlock()
	if err := c.send(acp.Message{ID: id, Method: method, Params: raw}); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.calls[key] == p {
			delete(c.calls, key)
			p.fail(err)
		}
	}
	return p
}

func (p *Pending) fail(err error) *Pending {
	p.err = err
	close(p.done)
	return p
}

// Call sends a request and waits for its answer.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.Go(method, params).Wait(ctx, result)
}

// Handle sets how the client answers a request of the agent's. Without a handler the answer is -32601.
// fn runs on a goroutine of its own; its ctx ends when the agent cancels the request or goes away.
func Handle[P, R any](c *Client, method string, fn func(ctx context.Context, p *P) (*R, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[method] = func(ctx context.Context, params json.RawMessage) (any, error) {
		p := new(P)
		if err := acp.Unmarshal(params, p); err != nil {
			return nil, err
		}
		return fn(ctx, p)
	}
}

// HandlePermission answers permission requests by the first option of the given kind, or by
// "cancelled" when there is none.
func (c *Client) HandlePermission(kind acp.PermissionOptionKind) {
	Handle(c, acp.MethodSessionRequestPermission, func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		for _, o := range p.Options {
			if o.Kind == kind {
				return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: o.OptionID}}, nil
			}
		}
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
	})
}

// Frames returns what the agent has sent so far, in order.
func (c *Client) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.frames[:len(c.frames):len(c.frames)]
}

// Updates returns the updates for a session so far, in order.
func (c *Client) Updates(session acp.SessionId) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for _, f := range c.Frames() {
		if f.Update != nil && f.Update.SessionID == session {
			out = append(out, f.Update.Update)
		}
	}
	return out
}

// Text returns the agent's message text for a session so far, chunks joined.
func (c *Client) Text(session acp.SessionId) string {
	var out []byte
	for _, u := range c.Updates(session) {
		if ch := u.AgentMessageChunk; ch != nil && ch.Content.Text != nil {
			out = append(out, ch.Content.Text.Text...)
		}
	}
	return string(out)
}

// WaitFrame waits for the first frame from number "from" on that match accepts, which may have come
// already. It fails the test when ctx ends or the agent goes away first.
func (c *Client) WaitFrame(ctx context.Context, from int, match func(Frame) bool) Frame {
	c.tb.Helper()
	var found Frame
	ok := c.await(ctx, func() bool {
		for ; from < len(c.frames); from++ {
			if match(c.frames[from]) {
				found = c.frames[from]
				return true
			}
		}
		return false
	})
	if !ok {
		c.tb.Fatalf("acptest: no frame matched; the agent sent:\n%s", c.dump())
	}
	return found
}

// Await waits until done, called with all frames so far, returns true. It fails the test when ctx ends
// or the agent goes away first.
func (c *Client) Await(ctx context.Context, done func(frames []Frame) bool) {
	c.tb.Helper()
	if !c.await(ctx, func() bool { return done(c.frames) }) {
		c.tb.Fatalf("acptest: the condition was never met; the agent sent:\n%s", c.dump())
	}
}

// WaitEnd waits until the agent has closed its output.
func (c *Client) WaitEnd(ctx context.Context) {
	c.tb.Helper()
	if !c.await(ctx, func() bool { return c.ended != nil }) {
		c.tb.Fatalf("acptest: the agent did not close its output")
	}
}

// Problems returns what did not fit the protocol so far, and forgets it, so that the test does not fail
// for it.
func (c *Client) Problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.problems
	c.problems = nil
	return p
}

// await waits until cond, called under c.mu, is true; false when ctx ends or nothing more can come.
func (c *Client) await(ctx context.Context, cond func() bool) bool {
	for {
		c.mu.Lock()
		ok, ended, changed := cond(), c.ended != nil, c.changed
		c.mu.Unlock()
		if ok || ended {
			return ok
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (c *Client) dump() string {
	var out []byte
	for _, f := range c.Frames() {
		out = fmt.Appendf(out, "%4d %.300s\n", f.N, f.Raw)
	}
	return string(out)
}

// errHungUp is what open requests get when the agent goes away.
var errHungUp = errors.New("the agent closed its output without an answer")
