package snapshots

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client is the scenario's end of the connection. It is written apart from
// package acp on purpose: a harness that shared the agent's codec could not see
// the codec's faults.
//
// One goroutine reads the agent's stdout and answers its requests; the steps
// run on the caller's. Everything below mu is shared by the two.
type client struct {
	limit time.Duration
	out   *writer

	mu      sync.Mutex
	frames  []record
	ended   bool // the agent's stdout is at its end
	changed chan struct{}
	// problems are faults that no recorded file shows: impure lines, questions
	// that nobody answers, updates outside a turn.
	problems []string
	answers  []PermissionAnswer
	elicits  []ElicitationAnswer
	// recorded says how a reference recording has a question about a call
	// answered, and whether that one takes the next of answers; nil for others.
	recorded func(callID string) (kind string, listed bool)
	// hold keeps permission questions open; they are answered as cancelled once
	// the agent withdraws them or ends the turn, so that it is the agent's own
	// doing that the turn ends.
	hold bool
	held []heldQuestion
	// open counts the unanswered requests of a session that let its updates
	// through: prompt, load, resume.
	open  map[string]int
	calls map[int]call
	// running are the tool calls, by session and id, that the client was told of
	// and that have not ended.
	running map[[2]string]bool
}

type call struct {
	method, session string
	answer          record
}

// heldQuestion is a question that is open; cancel is the answer that ends it.
type heldQuestion struct {
	id      *value
	session string
	cancel  string
}

func newClient(stdin io.Writer, in *Input, limit time.Duration) *client {
	return &client{
		limit: limit, out: newWriter(stdin), answers: in.PermissionAnswers, elicits: in.ElicitationAnswers, changed: make(chan struct{}),
		open: map[string]int{}, calls: map[int]call{}, running: map[[2]string]bool{},
	}
}

// maxLine is the largest frame that is read: twice the agent's own limit.
const maxLine = 128 << 20

// read takes the agent's stdout until its end. It returns when the agent's
// process closes it.
func (c *client) read(stdout io.Reader) {
	r := bufio.NewReaderSize(stdout, 64<<10)
	for {
		line, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 {
			c.take(line, err == nil)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				c.problem("reading the agent's stdout: %v", err)
			}
			c.mu.Lock()
			c.ended = true
			c.wake()
			c.mu.Unlock()
			return
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("a line longer than %d bytes", maxLine)
		}
	}
}

func (c *client) take(line []byte, whole bool) {
	v, err := parseValue(line)
	if err == nil && !whole {
		err = errors.New("the line has no end")
	}
	if err == nil {
		err = checkFrame(v)
	}
	if err != nil {
		c.problem("the agent's stdout holds a line that is no JSON-RPC frame (%v): %s", err, clip(string(bytes.TrimSpace(line))))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = append(c.frames, v)
	c.dispatch(v)
	c.wake()
}

// checkFrame holds a line against JSON-RPC 2.0.
func checkFrame(v *value) error {
	switch {
	case v.kind != objectValue:
		return errors.New("not an object")
	case v.text("jsonrpc") != "2.0":
		return errors.New(`no "jsonrpc":"2.0"`)
	}
	id, method, result, fault := v.get("id"), v.get("method"), v.get("result"), v.get("error")
	switch {
	case method != nil && method.kind != stringValue:
		return errors.New("its method is not a string")
	case method != nil && (result != nil || fault != nil):
		return errors.New("a request with a result")
	case method == nil && id == nil:
		return errors.New("neither method nor id")
	case method == nil && (result == nil) == (fault == nil):
		return errors.New("a response needs exactly one of result and error")
	case fault != nil && (fault.get("code") == nil || fault.get("message") == nil):
		return errors.New("an error without code or message")
	}
	return nil
}

// dispatch keeps the books on a frame and answers a request of the agent.
func (c *client) dispatch(v *value) {
	method := v.text("method")
	switch {
	case method == "":
		c.answered(v)
	case method == "session/update":
		c.checkUpdate(v)
	case method == "$/cancel_request":
		id := v.get("params", "requestId")
		c.release(func(q heldQuestion) bool { return id != nil && equal(q.id, id) })
	case v.get("id") != nil:
		c.serve(method, v)
	}
}

func (c *client) answered(v *value) {
	n, err := strconv.Atoi(v.get("id").str)
	ca, ok := c.calls[n]
	if err != nil || !ok || ca.answer != nil {
		return // an answer to a raw line, or to nothing: the wire file shows it
	}
	ca.answer = v
	c.calls[n] = ca
	if opensUpdates(ca.method) {
		c.open[ca.session]--
	}
	if ca.method == "session/prompt" {
		c.checkCalls(ca.session)
		c.release(func(q heldQuestion) bool { return q.session == ca.session })
	}
}

func opensUpdates(method string) bool {
	return method == "session/prompt" || method == "session/load" || method == "session/resume"
}

// checkCalls holds the rule that a turn's tool calls end before its answer: a
// client would show them as running for ever.
func (c *client) checkCalls(session string) {
	for key := range c.running {
		if key[0] == session {
			c.problems = append(c.problems, fmt.Sprintf("tool call %s of session %s has not ended for the client when its prompt is answered", key[1], session))
			delete(c.running, key)
		}
	}
}

// checkUpdate holds the rule that a turn's updates precede its answer.
func (c *client) checkUpdate(v *value) {
	kind, id := v.text("params", "update", "sessionUpdate"), v.text("params", "sessionId")
	if callID := v.text("params", "update", "toolCallId"); callID != "" {
		switch status := v.text("params", "update", "status"); {
		case status == "completed" || status == "failed":
			delete(c.running, [2]string{id, callID})
		case kind == "tool_call":
			c.running[[2]string{id, callID}] = true
		}
	}
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		if c.open[id] == 0 {
			c.problems = append(c.problems, fmt.Sprintf("%s of session %s came outside a turn: %s", kind, id, clip(v.String())))
		}
	}
}

func (c *client) serve(method string, v *value) {
	id := v.get("id")
	if method == "elicitation/create" {
		c.elicit(id, v)
		return
	}
	if method != "session/request_permission" {
		c.reply(id, "error", fmt.Sprintf(`{"code":-32601,"message":"the snapshot client does not serve %s"}`, method))
		return
	}
	if c.hold {
		c.held = append(c.held, heldQuestion{id, v.text("params", "sessionId"), noPermission})
		return
	}
	if c.recorded != nil {
		kind, listed := c.recorded(v.text("params", "toolCall", "toolCallId"))
		if !listed || len(c.answers) == 0 {
			c.answers = slices.Insert(c.answers, 0, PermissionAnswer{Kind: kind})
		}
	}
	if len(c.answers) == 0 {
		c.problems = append(c.problems, "the agent asked for permission and input.json has no answer left: add one to permissionAnswers: "+clip(v.String()))
		c.reply(id, "result", noPermission)
		return
	}
	kind := c.answers[0].Kind
	c.answers = c.answers[1:]
	if kind == "cancelled" {
		c.reply(id, "result", noPermission)
		return
	}
	if options := v.get("params", "options"); options != nil {
		for _, o := range options.items {
			if o.text("kind") == kind {
				answer := text(o.text("optionId"))
				c.reply(id, "result", `{"outcome":{"outcome":"selected","optionId":`+answer.String()+`}}`)
				return
			}
		}
	}
	c.problems = append(c.problems, fmt.Sprintf("input.json answers %s, which the agent did not offer: %s", kind, clip(v.String())))
	c.reply(id, "result", noPermission)
}

// noPermission answers a permission question as cancelled.
const noPermission = `{"outcome":{"outcome":"cancelled"}}`

// elicit answers a question with a form or a URL.
func (c *client) elicit(id *value, v *value) {
	const cancel = `{"action":"cancel"}`
	if len(c.elicits) == 0 {
		c.problems = append(c.problems, "the agent asked for something and input.json has no answer left: add one to elicitationAnswers: "+clip(v.String()))
		c.reply(id, "result", cancel)
		return
	}
	a := c.elicits[0]
	c.elicits = c.elicits[1:]
	if a.Action == "hold" {
		c.held = append(c.held, heldQuestion{id, v.text("params", "sessionId"), cancel})
		return
	}
	body, err := json.Marshal(a)
	if err != nil {
		panic("snapshots: an answer does not encode: " + err.Error()) // it was decoded from JSON
	}
	c.reply(id, "result", string(body))
}

// release answers held questions as cancelled, as a client must.
func (c *client) release(which func(heldQuestion) bool) {
	c.held = slices.DeleteFunc(c.held, func(q heldQuestion) bool {
		if !which(q) {
			return false
		}
		c.reply(q.id, "result", q.cancel)
		return true
	})
}

func (c *client) reply(id *value, member, body string) {
	c.out.line(`{"jsonrpc":"2.0","id":` + id.String() + `,"` + member + `":` + body + `}`)
}

func (c *client) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
	c.wake()
}

// wake tells waiting steps that something has changed. mu is held.
func (c *client) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// request sends a request and returns its id.
func (c *client) request(method, sessionID string, params *value) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := len(c.calls) + 1
	c.calls[id] = call{method: method, session: sessionID}
	if opensUpdates(method) {
		c.open[sessionID]++
	}
	c.out.line(`{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":` + text(method).String() + `,"params":` + params.String() + `}`)
	return id
}

func (c *client) notify(method string, params *value) {
	c.out.line(`{"jsonrpc":"2.0","method":` + text(method).String() + `,"params":` + params.String() + `}`)
}

// await waits until cond, called under mu at each change, says true. The bound
// is there to end a hung run, not to measure one.
func (c *client) await(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	for {
		c.mu.Lock()
		done, ended, changed := cond(), c.ended, c.changed
		c.mu.Unlock()
		switch {
		case done:
			return nil
		case ended:
			return fmt.Errorf("the agent closed its stdout while the client waited for %s", what)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s for %s: %w", what, c.limit, context.Cause(ctx))
		}
	}
}

// answer waits for the response to a request.
func (c *client) answer(ctx context.Context, id int) (record, error) {
	var got record
	var method string
	err := c.await(ctx, "the answer to request "+strconv.Itoa(id), func() bool {
		got, method = c.calls[id].answer, c.calls[id].method
		return got != nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return got, nil
}

// poll waits for something outside the connection (a file, the log), which
// nobody announces.
func (c *client) poll(ctx context.Context, what string, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		c.mu.Lock()
		ended := c.ended
		c.mu.Unlock()
		if ended {
			return fmt.Errorf("the agent closed its stdout while the client waited for %s", what)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s for %s: %w", what, c.limit, context.Cause(ctx))
		}
	}
	return nil
}

// said joins the agent's message text so far.
func (c *client) said() string {
	var b strings.Builder
	for _, f := range c.frames {
		if f.text("params", "update", "sessionUpdate") == "agent_message_chunk" {
			b.WriteString(f.text("params", "update", "content", "text"))
		}
	}
	return b.String()
}

// writer puts lines on the agent's stdin from one goroutine, so that the
// reading side never waits for an agent that does not read.
type writer struct {
	mu     sync.Mutex
	queue  []string
	closed bool
	more   chan struct{}
	done   chan struct{}
}

func newWriter(w io.Writer) *writer {
	q := &writer{more: make(chan struct{}, 1), done: make(chan struct{})}
	go q.run(w) // ends with close, or when the agent's stdin breaks
	return q
}

func (q *writer) line(s string) {
	q.mu.Lock()
	q.queue = append(q.queue, s+"\n")
	q.mu.Unlock()
	q.signal()
}

// close ends the agent's input once all lines are out.
func (q *writer) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

func (q *writer) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

func (q *writer) run(w io.Writer) {
	defer close(q.done)
	for range q.more {
		q.mu.Lock()
		lines, closed := q.queue, q.closed
		q.queue = nil
		q.mu.Unlock()
		for _, l := range lines {
			if _, err := io.WriteString(w, l); err != nil {
				return // the agent is gone: the reading side says so
			}
		}
		if closed {
			if cl, ok := w.(io.Closer); ok {
				cl.Close()
			}
			return
		}
	}
}
