package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLost is how often in a row a server may end without having answered a call
// before it is not started again.
const maxLost = 5

// server is one server over the session's life: at most one connection at a
// time, or one attempt to make it. The fields below are guarded by set.mu.
type server struct {
	set *Set
	cfg Server
	log *slog.Logger

	conn *conn
	// attempt is open while one is running.
	attempt chan struct{}
	// met: it has connected once. tools are what it offered last, also after it
	// ended.
	met   bool
	tools []*sdk.Tool
	// failure is the sentence for the person where it never connected, or has more
	// than it may; told: the person has it.
	failure string
	told    bool
	// err is why the last connection or attempt ended.
	err error
	// lost counts the connections and attempts that failed since the last answer.
	lost int
	// relisting: the list of tools is being read again.
	relisting bool
}

func newServer(s *Set, cfg Server) *server {
	return &server{set: s, cfg: cfg, log: s.log.With("mcp", cfg.Name)}
}

// pendingLocked: what the server offers is about to be known.
func (s *server) pendingLocked() bool { return s.attempt != nil && !s.met || s.relisting }

func (s *server) connect() {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	s.connectLocked()
}

// connectLocked starts an attempt, where none is running, and returns what is
// closed at its end; nil when the set is closed.
func (s *server) connectLocked() chan struct{} {
	if s.attempt == nil {
		done := make(chan struct{})
		if !s.set.runLocked(func() { s.live(done) }) {
			return nil
		}
		s.attempt = done
	}
	return s.attempt
}

// live is one connection from the attempt to its end. It returns when all that
// belongs to it is gone.
func (s *server) live(attempt chan struct{}) {
	c, tools, err := s.dial()
	mu := &s.set.mu
	mu.Lock()
	s.attempt = nil
	close(attempt)
	if err != nil {
		s.err = err
		s.lost++
		if !s.met {
			s.failure = fmt.Sprintf("The MCP server %q is not available: %v. This session goes on without its tools.", s.cfg.Name, err)
		}
		s.set.changeLocked()
		mu.Unlock()
		if !errors.Is(err, errClosed) {
			s.log.Warn("an MCP server could not be connected", "error", err)
		}
		return
	}
	if c.more && !s.met {
		s.failure = fmt.Sprintf("The MCP server %q offers more tools than the first %d, which this session has.", s.cfg.Name, len(tools))
	}
	s.conn, s.tools, s.met, s.err = c, tools, true, nil
	s.relistLocked(c)
	s.set.changeLocked()
	mu.Unlock()
	s.log.Debug("an MCP server is connected", "tools", len(tools))

	lost := c.serve(s.set.soft)
	why := c.end()

	mu.Lock()
	s.conn, s.err = nil, why
	if lost {
		s.lost++
	}
	close(c.gone)
	s.set.changeLocked()
	mu.Unlock()
	if lost {
		s.log.Warn("an MCP server is gone", "cause", why)
	}
}

var errClosed = errors.New("the session is closing")

// connection returns the live connection. It waits for an attempt that is
// running, and makes one where the server has ended.
func (s *server) connection(ctx context.Context) (*conn, error) {
	mu := &s.set.mu
	tried := false
	for {
		mu.Lock()
		if s.conn != nil {
			defer mu.Unlock()
			return s.conn, nil
		}
		switch {
		case s.attempt != nil:
		case s.set.closed:
			mu.Unlock()
			return nil, errClosed
		case !s.met:
			defer mu.Unlock()
			return nil, &callError{s.failure, s.err}
		case tried:
			defer mu.Unlock()
			return nil, &callError{fmt.Sprintf("The MCP server %q has ended and could not be started again: %v. The tool did not run.", s.cfg.Name, s.err), s.err}
		case s.lost >= maxLost:
			defer mu.Unlock()
			return nil, &callError{fmt.Sprintf("The MCP server %q has failed %d times in a row and is not started again in this session; the last time: %v. The tool did not run.", s.cfg.Name, s.lost, s.err), s.err}
		}
		tried = true
		attempt := s.connectLocked()
		mu.Unlock()
		if attempt == nil {
			return nil, errClosed
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// call calls a tool. A server that has ended is started again, once a call; a
// call that may have reached the server is not made twice.
func (s *server) call(ctx context.Context, name string, input json.RawMessage, from caller) (*sdk.CallToolResult, error) {
	for again := false; ; again = true {
		c, err := s.connection(ctx)
		if err != nil {
			return nil, s.explain(ctx, name, err)
		}
		res, err := c.call(ctx, name, input, from)
		if _, refused := rpcError(err); err == nil || refused {
			s.set.mu.Lock()
			s.lost = 0
			s.set.mu.Unlock()
		}
		if err == nil {
			return res, nil
		}
		unsent := errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
		if unsent && !again {
			select {
			case <-c.gone:
				continue
			case <-ctx.Done():
			}
		}
		return nil, s.explain(ctx, name, c.cause(ctx, err))
	}
}

// explain words an error for who made the call.
func (s *server) explain(ctx context.Context, name string, err error) error {
	if _, said := errors.AsType[*callError](err); said && ctx.Err() == nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return &callError{fmt.Sprintf("The call was cancelled. The MCP server %q was told so; whether the call has had an effect is not known.", s.cfg.Name), context.Cause(ctx)}
	case errors.Is(err, errClosed):
		return &callError{"The tool did not run: " + errClosed.Error() + ".", err}
	case errors.Is(err, errSilent):
		return &callError{fmt.Sprintf("The tool %s of the MCP server %q did not answer within %v and was told to stop; whether it has had an effect is not known.", name, s.cfg.Name, s.set.opts.CallTimeout), err}
	}
	if gone, ok := errors.AsType[*goneError](err); ok {
		return &callError{fmt.Sprintf("The MCP server %q ended while the tool %s ran (%v), so it is not known whether the call has had an effect. The next call starts the server again.", s.cfg.Name, name, gone.why), err}
	}
	if rpc, ok := rpcError(err); ok {
		return &callError{fmt.Sprintf("The MCP server %q answered the call of %s with an error: %s (code %d).", s.cfg.Name, name, rpc.Message, rpc.Code), err}
	}
	if strings.Contains(err.Error(), "json: cannot unmarshal") { // with types of Go, which the SDK's decoder names
		return &callError{fmt.Sprintf("The MCP server %q answered the call of %s with something that is no tool's result by the protocol; whether the call has had an effect is not known.", s.cfg.Name, name), err}
	}
	return &callError{fmt.Sprintf("The call of %s did not come through to the MCP server %q or back: %s.", name, s.cfg.Name, s.redact(err.Error())), err}
}

// callError is a sentence, for the model or a hook's log, over its cause.
type callError struct {
	text  string
	cause error
}

func (e *callError) Error() string { return e.text }
func (e *callError) Unwrap() error { return e.cause }

// relistLocked reads the list of tools again where the server has said that it
// changed.
func (s *server) relistLocked(c *conn) {
	if !c.stale || s.relisting || s.conn != c {
		return
	}
	s.relisting = s.set.runLocked(func() {
		mu := &s.set.mu
		mu.Lock()
		defer mu.Unlock()
		for c.stale && s.conn == c {
			c.stale = false
			mu.Unlock()
			ctx, cancel := context.WithTimeout(s.set.soft, s.set.opts.ConnectTimeout)
			tools, _, err := listTools(ctx, c.session)
			cancel()
			mu.Lock()
			if err != nil {
				s.log.Warn("the changed tools of an MCP server could not be read", "error", err)
			} else if s.conn == c {
				s.tools = tools
			}
		}
		s.relisting = false
		s.set.changeLocked()
	})
}

// listChanged is the server's word that its tools are others now.
func (s *server) listChanged(c *conn) {
	s.set.mu.Lock()
	defer s.set.mu.Unlock()
	c.stale = true
	s.relistLocked(c)
}
