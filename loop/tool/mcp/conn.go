package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/model"
)

const (
	// legacyVersion is the last protocol with a handshake. It comes first: every
	// server has it, and one that does not know the newer discovery may leave that
	// question unanswered for ever.
	legacyVersion = "2025-11-25"
	// codeRejected is how the SDK marks an HTTP request that failed: no server has
	// answered with it.
	codeRejected = -32005
	// maxTools bounds what a server may offer, whose list has pages without end.
	maxTools = 2000
	// lostWait is how long, after a call has failed for no reason that is named,
	// the connection is watched for its end: that reason is the better one.
	lostWait = 250 * time.Millisecond
)

var (
	errSilent  = errors.New("no answer in time")
	errConnect = errors.New("it did not answer in time")
)

// conn is one connection to a server.
type conn struct {
	server  *server
	session *sdk.ClientSession
	proc    *process   // stdio only
	web     *webClient // the others
	// cancel ends the requests that carry the connection.
	cancel context.CancelCauseFunc
	// lost is closed when the protocol is over, gone when also what carried it is.
	lost, gone chan struct{}
	// stale: the server's tools have changed since they were read. Guarded by
	// set.mu.
	stale bool
	// more: the server has more tools than were read.
	more bool

	tokens atomic.Int64
	mu     sync.Mutex
	calls  map[int64]*calling
	// questions are those that the server has open, errands the URLs that the
	// person was sent to, by the server's id.
	questions map[*question]bool
	errands   map[string]*errand
}

// dial connects: start, handshake, list of tools. What it has started is gone
// again when it returns an error.
func (s *server) dial() (*conn, []*sdk.Tool, error) {
	c, tools, err := s.dialVersion(legacyVersion)
	if _, refused := rpcError(err); refused && s.set.soft.Err() == nil {
		// A server that has given up the handshake says so. The SDK's default is to
		// discover what it has instead.
		var second error
		if c, tools, second = s.dialVersion(""); second == nil {
			err = nil
		}
	}
	return c, tools, err
}

func (s *server) dialVersion(version string) (*conn, []*sdk.Tool, error) {
	limit := s.set.opts.ConnectTimeout
	// Not WithTimeout: the context also carries an SSE connection after it is made.
	ctx, cancel := context.WithCancelCause(s.set.soft)
	timer := time.AfterFunc(limit, func() { cancel(errConnect) })
	defer timer.Stop()
	c := &conn{
		server: s, cancel: cancel, lost: make(chan struct{}), gone: make(chan struct{}),
		calls: map[int64]*calling{}, questions: map[*question]bool{}, errands: map[string]*errand{},
	}
	transport, err := c.transport()
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	var tools []*sdk.Tool
	c.session, err = c.client().Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		tools, c.more, err = listTools(ctx, c.session)
	}
	if err == nil && !timer.Stop() {
		err = errConnect
	}
	if err == nil {
		return c, tools, nil
	}
	switch {
	case s.set.soft.Err() != nil:
		err = errClosed
	case errors.Is(context.Cause(ctx), errConnect):
		err = fmt.Errorf("it did not answer within %v", limit)
	}
	close(c.lost)
	why := c.end()
	if c.proc == nil {
		return nil, nil, s.clean(err)
	}
	return nil, nil, c.proc.explain(s.clean(err), why)
}

// transport starts the process or makes the client that carries the protocol.
func (c *conn) transport() (sdk.Transport, error) {
	cfg, o := c.server.cfg, c.server.set.opts
	switch {
	case cfg.Command != "":
		p, err := startProcess(cfg.Command, cfg.Args, overlay(o.Environ, cfg.Env), o.Cwd, c.server.log)
		if err != nil {
			return nil, err
		}
		c.proc = p
		return p.transport(), nil
	case cfg.URL == "":
		return nil, errors.New("neither a command nor a URL is given for it")
	}
	web, err := newWebClient(c.server.set.hard, cfg)
	if err != nil {
		return nil, err
	}
	c.web = web
	if cfg.SSE {
		return &sdk.SSEClientTransport{Endpoint: cfg.URL, HTTPClient: web.client, MaxEventSize: maxMessage}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: cfg.URL, HTTPClient: web.client, MaxEventSize: maxMessage}, nil
}

func (c *conn) client() *sdk.Client {
	s := c.server
	o := &sdk.ClientOptions{
		Logger: s.log,
		// Nothing is offered but what the person can be asked: no sampling, and no
		// roots, which some servers would take in place of the directories that they
		// were given.
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			s.listChanged(c)
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.progressed(r.Params)
		},
	}
	if form, byURL := s.set.opts.AskForm, s.set.opts.AskURL; form || byURL {
		caps := &sdk.ElicitationCapabilities{}
		if form {
			caps.Form = &sdk.FormElicitationCapabilities{}
		}
		if byURL {
			caps.URL = &sdk.URLElicitationCapabilities{}
		}
		o.Capabilities.Elicitation = caps
		o.ElicitationHandler = c.elicit
		o.ElicitationCompleteHandler = func(_ context.Context, r *sdk.ElicitationCompleteNotificationRequest) {
			c.elicited(r.Params.ElicitationID)
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: s.set.opts.Name, Version: s.set.opts.Version}, o)
	client.AddReceivingMiddleware(guard)
	return client
}

// listTools reads what a server offers, page by page: to maxTools, and no page more
// than one that brings nothing new, which is what a server gives that ignores the
// cursor. more is set where there was another.
func listTools(ctx context.Context, session *sdk.ClientSession) (all []*sdk.Tool, more bool, err error) {
	seen := map[string]bool{}
	params := &sdk.ListToolsParams{}
	for {
		res, err := session.ListTools(ctx, params)
		if err != nil {
			if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
				if _, refused := rpcError(err); refused {
					return nil, false, nil // it never said that it has tools
				}
			}
			return nil, false, fmt.Errorf("listing its tools: %w", err)
		}
		known := len(all)
		for _, t := range res.Tools {
			if t.Name != "" && !seen[t.Name] {
				seen[t.Name] = true
				all = append(all, t)
			}
		}
		if res.NextCursor == "" || len(all) == known {
			return all, false, nil
		}
		if len(all) >= maxTools {
			return all, true, nil
		}
		params = &sdk.ListToolsParams{Cursor: res.NextCursor}
	}
}

// serve returns when the connection is lost (true) or the set is being closed.
func (c *conn) serve(soft context.Context) bool {
	go func() { // ends with the connection, which end closes; end waits for it
		_ = c.session.Wait()
		close(c.lost)
	}()
	select {
	case <-c.lost:
		return soft.Err() == nil
	case <-soft.Done():
		return false
	}
}

// end ends the connection and what carries it, and says how it ended. It takes
// no longer than the grace of a process, or half of closeLimit for the goodbye
// that HTTP servers are sent.
func (c *conn) end() error {
	why := errors.New("the connection was closed")
	if c.proc != nil {
		why = c.proc.stop()
	}
	closed := make(chan struct{})
	go func() { // ends with the process or the requests; waited for below
		defer close(closed)
		if c.session != nil {
			_ = c.session.Close()
			<-c.lost
		}
	}()
	select {
	case <-closed:
	case <-c.server.set.hard.Done():
	case <-time.After(closeLimit / 2):
	}
	c.cancel(errClosed)
	if c.web != nil {
		c.web.close()
	}
	<-closed
	return why
}

// goneError: the server ended during a call.
type goneError struct{ why error }

func (e *goneError) Error() string { return e.why.Error() }

// cause finds the better reason for an error of a call: that the connection is
// at its end.
func (c *conn) cause(ctx context.Context, err error) error {
	if _, answered := rpcError(err); answered || errors.Is(err, errSilent) || errors.Is(err, errClosed) {
		return err
	}
	wait := time.NewTimer(lostWait)
	defer wait.Stop()
	if broken(err) {
		wait.Reset(2 * closeLimit)
	}
	select {
	case <-c.lost:
	case <-wait.C:
		return err
	case <-ctx.Done():
		return err
	}
	select {
	case <-c.gone:
	case <-ctx.Done():
		return err
	}
	c.server.set.mu.Lock()
	defer c.server.set.mu.Unlock()
	return &goneError{c.server.whyLocked()}
}

func (s *server) whyLocked() error {
	if s.err != nil {
		return s.err
	}
	return errors.New("the connection broke")
}

// call makes one call and waits for its answer, for ctx, and for the time limit.
func (c *conn) call(ctx context.Context, name string, input json.RawMessage, from caller) (*sdk.CallToolResult, error) {
	s := c.server
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.set.soft, func() { cancel(errClosed) })()
	cl := &calling{caller: from, token: c.tokens.Add(1)}
	if limit := s.set.opts.CallTimeout; limit > 0 {
		cl.limit, cl.timer = limit, time.AfterFunc(limit, func() { cancel(errSilent) })
	}
	c.mu.Lock()
	c.calls[cl.token] = cl
	c.mu.Unlock()
	defer func() {
		cancel(nil)
		c.leave(cl)
		cl.stop()
	}()
	ctx = context.WithValue(ctx, callingKey{}, cl)
	params := &sdk.CallToolParams{Name: name, Arguments: arguments(input)}
	params.Meta = sdk.Meta{"progressToken": cl.name()}
	// MCP reserves these names in _meta for the W3C trace context (SEP-414).
	for name, v := range model.TraceValues(ctx) {
		params.Meta[name] = v
	}
	res, err := c.send(ctx, params)
	refusal, ok := rpcError(err)
	if !ok || refusal.Code != sdk.CodeURLElicitationRequired {
		return res, err
	}
	where, err := c.runErrands(ctx, cl, refusal)
	if err != nil {
		return nil, err
	}
	res, err = c.send(ctx, params)
	if again, ok := rpcError(err); ok && again.Code == sdk.CodeURLElicitationRequired {
		return nil, c.needs(again, "The person agreed and was sent to "+where+", but is not done there. Let them say when they are, then call the tool again.")
	}
	return res, err
}

// send is one request and its answer.
func (c *conn) send(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	type answer struct {
		res *sdk.CallToolResult
		err error
	}
	got := make(chan answer, 1)
	// In a goroutine of its own: the SDK writes without regard to ctx, and a
	// server may have stopped to read. Then it ends with the connection.
	if !c.server.set.run(func() {
		res, err := c.session.CallTool(ctx, params)
		got <- answer{res, err}
	}) {
		return nil, errClosed
	}
	select {
	case a := <-got:
		if a.err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return a.res, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// arguments: a call without arguments has an empty object.
func arguments(input json.RawMessage) json.RawMessage {
	if s := strings.TrimSpace(string(input)); s == "" || s == "null" {
		return json.RawMessage("{}")
	}
	return input
}

// rpcError finds the error that a server has answered with.
func rpcError(err error) (*jsonrpc.Error, bool) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return e, ok && e.Code != codeRejected
}
