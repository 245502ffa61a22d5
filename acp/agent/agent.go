// Package agent serves ACP over loop and session: it answers the client's
// requests, projects a session's events to session/update and puts questions to
// the client. It decides nothing that the model or the log could tell apart:
// what happens in a turn is loop's business, what is on disk session's.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/session"
)

// SessionParams is what a session is made for.
type SessionParams struct {
	Header session.Header
	// Roots are the cwd and the additional directories, symlinks resolved.
	Roots  []string
	Client acp.ClientCapabilities
}

// Builder makes the configuration of a session: models, tools, hooks, rules.
// An *acp.Error it returns goes to the client as it is. It makes no network
// call and waits for nothing: session/new is answered after it.
type Builder interface {
	Session(ctx context.Context, p *SessionParams) (loop.Config, error)
}

// Config is what an Agent is made with. All fields are required.
type Config struct {
	Store   session.Store
	Builder Builder
	// Info names the agent and its version.
	Info acp.Implementation
	// AuthMethods are those to advertise; Authenticate checks an id of them.
	AuthMethods  []acp.AuthMethod
	Authenticate func(ctx context.Context, methodID string) error
	NewID        func() string
	Now          func() time.Time
	Log          *slog.Logger
}

// Agent serves one connection.
type Agent struct {
	cfg  Config
	conn *acp.Conn

	mu       sync.Mutex
	caps     acp.ClientCapabilities
	sessions map[string]*live
	closing  bool
}

// live is a session that is active on this connection.
type live struct {
	*loop.Session
	view *view
}

// New returns an agent.
func New(cfg Config) *Agent {
	return &Agent{cfg: cfg, sessions: map[string]*live{}}
}

// Attach gives the agent its connection, before the first message.
func (a *Agent) Attach(c *acp.Conn) { a.conn = c }

// Register adds the agent's methods to a mux. What is not served is not
// registered and not advertised: it answers -32601.
func (a *Agent) Register(m *acp.Mux) {
	acp.HandleRequest(m, acp.MethodInitialize, a.initialize)
	acp.HandleRequest(m, acp.MethodAuthenticate, a.authenticate)
	acp.HandleRequest(m, acp.MethodSessionNew, a.newSession)
	acp.HandleRequest(m, acp.MethodSessionPrompt, a.prompt)
	acp.HandleNotification(m, acp.MethodSessionCancel, a.cancel)
}

func (a *Agent) initialize(_ context.Context, p *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
	a.mu.Lock()
	a.caps = p.ClientCapabilities
	a.mu.Unlock()
	return func() (*acp.InitializeResponse, error) {
		return &acp.InitializeResponse{
			// The only version this agent speaks, whatever was asked for.
			ProtocolVersion: 1,
			AgentInfo:       &a.cfg.Info,
			AuthMethods:     a.authMethods(&p.ClientCapabilities),
			AgentCapabilities: acp.AgentCapabilities{
				PromptCapabilities: acp.PromptCapabilities{EmbeddedContext: true},
			},
		}, nil
	}, nil
}

// authMethods leaves out terminal methods for a client that did not opt in.
func (a *Agent) authMethods(caps *acp.ClientCapabilities) []acp.AuthMethod {
	var out []acp.AuthMethod
	for _, m := range a.cfg.AuthMethods {
		if m.Terminal == nil || caps.Auth.Terminal {
			out = append(out, m)
		}
	}
	return out
}

func (a *Agent) authenticate(ctx context.Context, p *acp.AuthenticateRequest) (func() (*acp.AuthenticateResponse, error), error) {
	known := false
	for _, m := range a.cfg.AuthMethods {
		known = known || m.Agent != nil && m.Agent.ID == p.MethodID
	}
	if !known {
		return nil, acp.InvalidParams("methodId", fmt.Sprintf("%q is not one of the agent's authentication methods", p.MethodID))
	}
	return func() (*acp.AuthenticateResponse, error) {
		return nil, a.cfg.Authenticate(ctx, p.MethodID)
	}, nil
}

func (a *Agent) newSession(ctx context.Context, p *acp.NewSessionRequest) (func() (*acp.NewSessionResponse, error), error) {
	if len(p.McpServers) > 0 {
		return nil, acp.InvalidParams("mcpServers", "MCP servers are not served by this version: leave the list empty")
	}
	if len(p.AdditionalDirectories) > 0 {
		return nil, acp.InvalidParams("additionalDirectories", "additional directories were not advertised: leave the list empty")
	}
	return func() (*acp.NewSessionResponse, error) {
		h := session.Header{
			Version: session.Version, ID: a.cfg.NewID(), CreatedAt: a.cfg.Now().UTC(), Cwd: p.Cwd,
			Agent: a.cfg.Info.Name + "/" + a.cfg.Info.Version,
		}
		params, err := a.params(h)
		if err != nil {
			return nil, err
		}
		cfg, err := a.cfg.Builder.Session(ctx, params)
		if err != nil {
			return nil, err
		}
		log, err := a.cfg.Store.Create(ctx, h)
		if err != nil {
			return nil, acp.InternalError(fmt.Sprintf("making the session's log: %v", err))
		}
		if _, err := a.open(cfg, log, session.NewState(h), "startup"); err != nil {
			return nil, err
		}
		return &acp.NewSessionResponse{SessionID: h.ID}, nil
	}, nil
}

// params checks a session's directories.
func (a *Agent) params(h session.Header) (*SessionParams, error) {
	p := &SessionParams{Header: h}
	a.mu.Lock()
	p.Client = a.caps
	a.mu.Unlock()
	for i, dir := range append([]string{h.Cwd}, h.AdditionalDirectories...) {
		field := "cwd"
		if i > 0 {
			field = fmt.Sprintf("additionalDirectories[%d]", i-1)
		}
		if !filepath.IsAbs(dir) {
			return nil, acp.InvalidParams(field, fmt.Sprintf("%q is not an absolute path", dir))
		}
		root, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, acp.InvalidParams(field, fmt.Sprintf("the directory %s cannot be used: %v", dir, err))
		}
		if st, err := os.Stat(root); err != nil || !st.IsDir() {
			return nil, acp.InvalidParams(field, fmt.Sprintf("%s is not a directory", dir))
		}
		p.Roots = append(p.Roots, root)
	}
	return p, nil
}

// open makes a log's session live on this connection.
func (a *Agent) open(cfg loop.Config, log session.Log, st *session.State, source string) (*live, error) {
	v := newView(a, &cfg, st)
	cfg.Observer, cfg.Asker = v, v
	s, err := loop.New(cfg, log, st, source)
	if err != nil {
		_ = log.Close()
		return nil, acp.InternalError(fmt.Sprintf("starting the session: %v", err))
	}
	l := &live{Session: s, view: v}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closing {
		go func() { _ = s.Close(context.Background(), "other") }() // the process is on its way out
		return nil, acp.InternalError("the agent is shutting down")
	}
	a.sessions[s.ID()] = l
	return l, nil
}

// session returns an active session, or the error for one that is not.
func (a *Agent) session(id string) (*live, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.sessions[id]
	if !ok {
		return nil, acp.SessionNotFound(id)
	}
	return l, nil
}

// prompt takes the turn slot on the reading goroutine, so that neither a cancel
// nor a second prompt can overtake it.
func (a *Agent) prompt(ctx context.Context, p *acp.PromptRequest) (func() (*acp.PromptResponse, error), error) {
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	content, err := promptContent(p.Prompt, l.view.caps())
	if err != nil {
		return nil, err
	}
	slot, err := l.Admit(ctx)
	switch {
	case errors.Is(err, loop.ErrBusy):
		return nil, acp.InvalidRequest(fmt.Sprintf("a prompt is already running in session %s: wait for its answer or send session/cancel", p.SessionID))
	case err != nil:
		return nil, acp.SessionNotFound(p.SessionID)
	}
	return func() (*acp.PromptResponse, error) {
		reason, err := slot.Prompt(content, session.Source{Kind: session.SourceUser})
		return promptResponse(reason, err)
	}, nil
}

// promptResponse is the answer to a prompt. Only a failed model call or a
// broken log is an error; every other end is a stop reason.
func promptResponse(reason session.EndReason, err error) (*acp.PromptResponse, error) {
	stop := acp.StopReasonEndTurn
	switch reason.Kind {
	case session.EndCancelled:
		stop = acp.StopReasonCancelled
	case session.EndRefusal:
		stop = acp.StopReasonRefusal
	case session.EndMaxTokens:
		stop = acp.StopReasonMaxTokens
	case session.EndMaxTurnRequests:
		stop = acp.StopReasonMaxTurnRequests
	case session.EndError:
		return nil, turnFailure(reason.Error)
	case "":
		if err == nil {
			err = errors.New("the turn ended without a reason")
		}
	}
	if err != nil {
		return nil, acp.InternalError(err.Error())
	}
	return &acp.PromptResponse{StopReason: stop}, nil
}

// FailureData is error.data of a prompt whose model call failed: a short code,
// the provider's HTTP status, and whether and when another try makes sense.
type FailureData struct {
	Kind         string `json:"kind"`
	Status       int    `json:"status,omitempty"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

func turnFailure(e *session.TurnError) error {
	out := acp.InternalError(e.Message)
	if e.Kind == "auth" {
		out = acp.AuthRequired(e.Message)
	}
	out.Data = FailureData{Kind: e.Kind, Status: e.Status, Retryable: e.Retryable, RetryAfterMs: e.RetryAfterMs}
	return out
}

func (a *Agent) cancel(_ context.Context, p *acp.CancelNotification) {
	if l, err := a.session(p.SessionID); err == nil {
		l.Cancel()
	}
}

// Shutdown closes every session: turns are cancelled and awaited, children and
// logs closed. ctx bounds the hooks that run at a session's end.
func (a *Agent) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	a.closing = true
	all := make([]*live, 0, len(a.sessions))
	for id, l := range a.sessions {
		all = append(all, l)
		delete(a.sessions, id)
	}
	a.mu.Unlock()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() { errs[i] = l.Close(ctx, "other") })
	}
	wg.Wait()
	return errors.Join(errs...)
}
