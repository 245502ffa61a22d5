package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// DefaultGrace is how long Serve waits for handlers once the connection has ended.
const DefaultGrace = 2 * time.Second

// ServeOptions adjusts Serve; the zero value is usable.
type ServeOptions struct {
	// OnConn is given the connection before the first message is read.
	OnConn func(*Conn)
	// Logger gets panics, and failures whose text the client does not see; nil discards them.
	Logger *slog.Logger
	// Grace bounds the wait for handlers after the end; 0 means DefaultGrace.
	Grace time.Duration
}

// Serve runs the agent's side of a connection until the client hangs up (nil), the stream breaks (its
// error) or ctx ends (ctx's error). Then it admits nothing more, cancels the contexts of all requests,
// waits for their handlers for at most Grace, lets the answers out, and closes the stream. Calls fail from
// a hang-up on. When ctx ends the client is still there: handlers that end may call it, as they must to
// release what it holds for them.
func Serve(ctx context.Context, stream jsonrpc2.ObjectStream, mux *Mux, opts ServeOptions) error {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Grace <= 0 {
		opts.Grace = DefaultGrace
	}
	c := newConn(stream, opts.Logger)
	if opts.OnConn != nil {
		opts.OnConn(c)
	}
	reqCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &link{
		Conn: c, mux: mux, ctx: reqCtx, private: map[uint64]RequestId{},
		broken: make(chan error, 1), release: make(chan struct{}),
	}
	l.intake.sunk.L = &l.intake.mu
	// jsonrpc2 closes itself when its context ends or a read fails, and can then answer nothing more.
	// It therefore gets a context without end, and a stream that holds the end back until we are done.
	rpc := jsonrpc2.NewConn(context.WithoutCancel(ctx), l, l, jsonrpc2.OnSend(l.onSend), jsonrpc2.SetLogger(quiet{}))

	var err error
	select {
	case err = <-l.broken:
		c.end()
	case <-ctx.Done():
		err = ctx.Err()
		c.refuse()
	}
	cancel()
	l.dismiss()
	c.wait(opts.Grace, l.broken)
	c.end()
	cerr := rpc.Close() // flushes and closes the stream; waits for both, within the stream's own bound
	close(l.release)
	if errors.Is(err, io.EOF) {
		err = cerr
	}
	return err
}

// quiet silences jsonrpc2's logger, which writes to stderr what we report by ourselves.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// refuse stops the intake: no request is admitted any more.
func (c *Conn) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = true
}

// end stops the intake and fails open calls.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = true
	if !c.closed {
		c.closed = true
		close(c.ended)
	}
}

// wait waits for the handlers, at most for d. A client that hangs up meanwhile answers no more calls.
func (c *Conn) wait(d time.Duration, broken <-chan error) {
	done := make(chan struct{})
	go func() { // ends with the last handler
		c.handler.Wait()
		close(done)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-done:
			return
		case <-broken: // once
			c.end()
		case <-t.C:
			c.mu.Lock()
			n := len(c.serving)
			c.mu.Unlock()
			c.log.Warn("acp: requests are still running after the connection ended; leaving them", "requests", n, "grace", d)
			return
		}
	}
}

// link stands between jsonrpc2 and the stream. jsonrpc2 decodes params twice and HTML-escapes results,
// and can't hold a negative id or tell null from none. So it is shown only the bones of a request (a
// number of ours for the id, the method), and link keeps the rest: the client's id, the params, and on
// the way out the result. Answers to our own calls do not pass through jsonrpc2 at all.
type link struct {
	*Conn
	mux     *Mux
	ctx     context.Context // parent of all request contexts
	broken  chan error      // gets the first read error; room for it
	release chan struct{}   // closed by Serve when jsonrpc2 may see that error

	// Owned by the reading goroutine.
	in          Message
	lastPrivate uint64

	intake      intake
	initialized bool // intake.mu guards it

	// out is set by onSend and taken by WriteObject, both under jsonrpc2's sending lock.
	out *jsonrpc2.Response

	idMu    sync.Mutex
	private map[uint64]RequestId // our number for an open request → the client's id
}

// ReadObject implements jsonrpc2.ObjectStream for jsonrpc2.Conn.
func (l *link) ReadObject(v any) error {
	for {
		l.in = Message{}
		if err := l.Conn.stream.ReadObject(&l.in); err != nil {
			l.broken <- err
			<-l.release
			return err
		}
		// What is hollow and answers no call is a request without a method.
		if l.in.Method == "" && (!l.in.Hollow() || l.calling(l.in.ID)) {
			l.deliver(l.in)
			continue
		}
		bones := []byte(`{"method":`)
		bones = appendString(bones, l.in.Method)
		if l.in.ID != nil {
			l.lastPrivate++
			l.idMu.Lock()
			l.private[l.lastPrivate] = l.in.ID
			l.idMu.Unlock()
			bones = fmt.Appendf(bones, `,"id":%d`, l.lastPrivate)
		}
		return json.Unmarshal(append(bones, '}'), v)
	}
}

// onSend is called by jsonrpc2 right before WriteObject, under the same lock.
func (l *link) onSend(_ *jsonrpc2.Request, resp *jsonrpc2.Response) { l.out = resp }

// WriteObject implements jsonrpc2.ObjectStream for jsonrpc2.Conn. All that passes here is responses.
func (l *link) WriteObject(any) error {
	resp := l.out
	l.out = nil
	l.idMu.Lock()
	id := l.private[resp.ID.Num]
	delete(l.private, resp.ID.Num)
	l.idMu.Unlock()
	m := Message{ID: id}
	if resp.Error != nil {
		m.Error = ToError(resp.Error)
	} else {
		m.Result = *resp.Result
	}
	return l.Conn.stream.WriteObject(&m)
}

// Close implements jsonrpc2.ObjectStream for jsonrpc2.Conn.
func (l *link) Close() error { return l.Conn.stream.Close() }

// Handle implements jsonrpc2.Handler, on the reading goroutine.
func (l *link) Handle(_ context.Context, rpc *jsonrpc2.Conn, req *jsonrpc2.Request) {
	l.take(arrival{Message: l.in, rpc: rpc, private: req.ID})
}

func (l *link) notification(m *Message) {
	if m.Method == MethodCancelRequest {
		var p CancelRequestNotification
		if decodeParams(m.Params, &p) != nil {
			return
		}
		key, _ := IDKey(p.RequestID)
		l.mu.Lock()
		f := l.serving[key]
		l.mu.Unlock()
		if f != nil {
			f.cancel()
		}
		return
	}
	h, ok := l.mux.notifications[m.Method]
	if !ok || !l.initialized {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("acp: a notification handler panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err := h(l.ctx, m.Params); err != nil {
		l.log.Warn("acp: dropped a notification", "method", m.Method, "err", err)
	}
}

// request admits a request and starts it; intake.mu is held.
func (l *link) request(m arrival) {
	// The context ends before Serve has seen it, and with it the wait for room: what
	// waits is not to run for that.
	if l.ctx.Err() != nil || !l.enter() {
		l.reply(m, nil, InternalError("the agent is shutting down"))
		return
	}
	key, _ := IDKey(m.ID)
	f := new(inflight)
	ctx, cancel := context.WithCancel(context.WithValue(l.ctx, inflightKey{}, f))
	f.cancel = cancel
	run, err := l.admit(ctx, m, key, f)
	if err == nil && m.Method == MethodInitialize {
		l.initialized = true
	}
	if err != nil && l.room() == nil {
		cancel()
		l.reply(m, nil, err)
		l.handler.Done()
		return
	}
	// A prompt takes as long as its person does, and there is one a session.
	counted := err != nil || m.Method != MethodSessionPrompt
	if counted {
		l.intake.running++
	}
	go func() { // counted by enter, waited for by Serve
		defer l.handler.Done()
		if counted {
			defer l.leave()
		}
		if err != nil {
			cancel()
			l.awaitRoom()
			l.reply(m, nil, err)
			return
		}
		l.run(m, key, f, run, counted)
	}()
}

// run does the work of an admitted request and answers it.
func (l *link) run(m arrival, key string, f *inflight, run func() (json.RawMessage, error), counted bool) {
	result, err := json.RawMessage(nil), error(InternalError("the handler did not return"))
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("acp: a request handler panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, InternalError("")
		}
		if counted {
			l.awaitRoom()
		}
		// The id is free before the answer is out, so that a client may use it again at once.
		l.closeRequest(key)
		f.cancel()
		l.reply(m, result, err)
		if err == nil {
			for _, fn := range f.after {
				fn()
			}
		}
		for _, fn := range f.finally {
			fn()
		}
	}()
	result, err = run()
}

type inflightKey struct{}

// AfterAnswer has fn called once the request of ctx has been answered, by a result or an error. It may be
// called from the request's admission, for a request that is admitted, and from its run; else it is as AfterReply.
func AfterAnswer(ctx context.Context, fn func()) {
	if f, ok := ctx.Value(inflightKey{}).(*inflight); ok {
		f.finally = append(f.finally, fn)
	}
}

// AfterReply has fn called once the request of ctx has been answered, if not by an error: what a client
// must hear of a session only after the reply that names it. It is called from the request's run; fn runs
// on the same goroutine, and must not use ctx, which ends with the reply.
func AfterReply(ctx context.Context, fn func()) {
	if f, ok := ctx.Value(inflightKey{}).(*inflight); ok {
		f.after = append(f.after, fn)
	}
}

// enter counts the handler of a request; false when no more are taken.
func (c *Conn) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing {
		return false
	}
	c.handler.Add(1)
	return true
}

// open registers a request.
func (c *Conn) open(key string, f *inflight) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, dup := c.serving[key]; dup {
		return InvalidRequest("a request with this id is still open; use a new id")
	}
	c.serving[key] = f
	return nil
}

func (c *Conn) closeRequest(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.serving, key)
}

// admit registers a request, decodes it and has its handler admit it. With an error it is not registered.
func (l *link) admit(ctx context.Context, m arrival, key string, f *inflight) (run func() (json.RawMessage, error), err error) {
	if m.Hollow() {
		return nil, noMember()
	}
	if err := l.open(key, f); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("acp: admitting a request panicked", "method", m.Method, "panic", p, "stack", string(debug.Stack()))
			run, err = nil, InternalError("")
		}
		if err != nil {
			l.closeRequest(key)
		}
	}()
	if !l.initialized && m.Method != MethodInitialize {
		return nil, InvalidRequest("send initialize first")
	}
	h, ok := l.mux.requests[m.Method]
	if !ok {
		return nil, MethodNotFound(m.Method)
	}
	return h(ctx, m.Params)
}

// reply answers a request. A failed write is not reported here: it ends the stream, and Serve with it.
func (l *link) reply(m arrival, result json.RawMessage, err error) {
	resp := &jsonrpc2.Response{ID: m.private, Result: &result}
	if err != nil {
		if hidden(err) {
			l.log.Error("acp: a request failed", "method", m.Method, "err", err)
		}
		we := ToError(err)
		resp.Result, resp.Error = nil, &jsonrpc2.Error{Code: int64(we.Code), Message: we.Message}
		if data, merr := Marshal(we.Data); we.Data != nil && merr == nil {
			raw := json.RawMessage(data)
			resp.Error.Data = &raw
		}
	}
	_ = m.rpc.SendResponse(l.ctx, resp)
}
