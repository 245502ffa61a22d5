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
	"strings"
	"sync"
	"time"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// SessionParams is what a session is made for.
type SessionParams struct {
	Header session.Header
	// Roots are the cwd and the additional directories, symlinks resolved.
	Roots  []string
	Client acp.ClientCapabilities
	// System is the client's system prompt; OverrideSystem puts it in the place
	// of the agent's own.
	System         string
	OverrideSystem bool
	// Servers are the MCP servers to connect to.
	Servers []Server
	// Read, Write, Terminal, Forms and Elicit are the client's services, nil where
	// it does not offer them. Client says which modes Elicit has.
	Read, Write tool.Files
	Terminal    tool.Terminal
	Forms       tool.Forms
	Elicit      tool.Elicitor
}

// Server is an MCP server that a client names.
type Server struct {
	Name string
	// Command, Args and Env (K=V, laid over the agent's environment) start a
	// stdio server.
	Command   string
	Args, Env []string
	// URL and Headers reach an http server, or an sse one.
	URL     string
	Headers map[string]string
	SSE     bool
}

// Builder makes the configuration of a session: models, tools, hooks, rules.
// An *acp.Error it returns goes to the client as it is. It makes no network
// call and waits for nothing: session/new is answered after it.
type Builder interface {
	Session(ctx context.Context, p *SessionParams) (loop.Config, error)
}

// Config is what an Agent is made with. All fields are required but SignedIn, Fork and
// Ready.
type Config struct {
	// Context is the process's: updates outside a request end with it.
	Context context.Context
	Store   session.Store
	Catalog session.Catalog
	Builder Builder
	// Models are the models to choose from, without any network.
	Models func() []model.Info
	// CommandDirs are the directories of command files for a working directory,
	// of which the first that has a name counts.
	CommandDirs func(cwd string) []string
	// DescribeHooks says for a person which hooks run in a session and its directory.
	DescribeHooks func(session, cwd string) string
	// Info names the agent and its version.
	Info acp.Implementation
	// AuthMethods are those to advertise; Authenticate checks an id of them.
	AuthMethods  []acp.AuthMethod
	Authenticate func(ctx context.Context, methodID string) error
	// SignedIn says, by an *acp.Error, why no session can be had as long as nobody has
	// signed in; it is asked before anything is made for one.
	SignedIn func() error
	// Fork, where it is set, serves and advertises the unstable session/fork. It
	// reads a log without locking it, also one that is open.
	Fork func(ctx context.Context, id string, visit func(session.Event) error) error
	// Ready is called once initialize has been answered, beside what comes next: for
	// what a session needs and the start of the program must not wait for.
	Ready func()
	// Trim, where it is set, is called when a session has been closed, once for all that
	// are closed in a row: to give its memory back to the system.
	Trim  func()
	NewID func() string
	Now   func() time.Time
	Log   *slog.Logger
}

// Agent serves one connection.
type Agent struct {
	cfg  Config
	conn *acp.Conn

	mu        sync.Mutex
	caps      acp.ClientCapabilities
	sessions  map[string]*live
	closing   bool
	signedOut bool

	// opening has those who open, close or delete a session take turns.
	opening keyedQueue
	// loading counts the loads and resumes of a session that have not ended; mu
	// guards it.
	loading map[string]int
	ctx     context.Context
	// precedence is what the sessions' turns give each other.
	precedence loop.Precedence
	// trim is what calls Config.Trim, nil before the first close; mu guards it.
	trim *time.Timer
}

// keyedQueue has those who ask for a key take turns, in the order in which they
// asked: asked on the goroutine that reads the connection, that is the order of the
// wire.
type keyedQueue struct {
	mu sync.Mutex
	// last is closed when the newest of a key is done.
	last map[string]chan struct{}
}

// join asks for a key. wait returns when it is the caller's turn; then done is called,
// once.
func (q *keyedQueue) join(key string) (wait, done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.last == nil {
		q.last = map[string]chan struct{}{}
	}
	before, own := q.last[key], make(chan struct{})
	q.last[key] = own
	wait = func() {
		if before != nil {
			<-before
		}
	}
	return wait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.last[key] == own {
			delete(q.last, key)
		}
		close(own)
	}
}

// live is a session that is active on this connection.
type live struct {
	*loop.Session
	view *view
	// news are notices of what the opening of its log has found.
	news []session.Event
	// introduced is closed when the client has heard what follows the reply that names
	// the session: once, by the first.
	introduced chan struct{}
	once       sync.Once
	// answered is closed when the newest prompt has been answered, nil before the
	// first. Agent.mu guards it.
	answered chan struct{}
}

// end closes a session for good. An open prompt is answered, with cancelled,
// before it returns: what closed the session is answered after that.
func (a *Agent) end(ctx context.Context, l *live) error {
	err := l.Close(ctx, "other")
	a.mu.Lock()
	answered := l.answered
	a.trimLater()
	a.mu.Unlock()
	if answered != nil {
		select {
		case <-answered:
		case <-ctx.Done():
		}
	}
	return err
}

// trimAfter is how long no session must have been closed before Config.Trim is called.
const trimAfter = time.Second

// trimLater sees to the memory of a session that has been closed; mu is held. Where
// nothing more is done, Go's runtime collects it after two minutes and keeps most of
// it: 500 of 620 MB that a log of 288 MB had taken, in a process that stays all day.
func (a *Agent) trimLater() {
	switch {
	case a.cfg.Trim == nil:
	case a.trim == nil:
		a.trim = time.AfterFunc(trimAfter, a.cfg.Trim)
	default:
		a.trim.Reset(trimAfter)
	}
}

// New returns an agent.
func New(cfg Config) *Agent {
	return &Agent{cfg: cfg, sessions: map[string]*live{}, loading: map[string]int{}, ctx: cfg.Context}
}

// Attach gives the agent its connection, before the first message.
func (a *Agent) Attach(c *acp.Conn) { a.conn = c }

// Register adds the agent's methods to a mux. What is not served is not
// registered and not advertised: it answers -32601.
func (a *Agent) Register(m *acp.Mux) {
	acp.HandleRequest(m, acp.MethodInitialize, a.initialize)
	acp.HandleRequest(m, acp.MethodAuthenticate, a.authenticate)
	acp.HandleRequest(m, acp.MethodSessionNew, a.newSession)
	acp.HandleRequest(m, acp.MethodLogout, a.logout)
	acp.HandleRequest(m, acp.MethodSessionLoad, a.loadSession)
	acp.HandleRequest(m, acp.MethodSessionResume, a.resumeSession)
	acp.HandleRequest(m, acp.MethodSessionList, a.listSessions)
	acp.HandleRequest(m, acp.MethodSessionClose, a.closeSession)
	acp.HandleRequest(m, acp.MethodSessionDelete, a.deleteSession)
	acp.HandleRequest(m, acp.MethodSessionSetMode, a.setMode)
	acp.HandleRequest(m, acp.MethodSessionSetConfigOption, a.setOption)
	acp.HandleRequest(m, acp.MethodSessionPrompt, a.prompt)
	acp.HandleRequest(m, MethodSteer, a.steer)
	if a.cfg.Fork != nil {
		acp.HandleRequest(m, acp.MethodSessionFork, a.forkSession)
	}
	acp.HandleNotification(m, acp.MethodSessionCancel, a.cancel)
}

func (a *Agent) initialize(ctx context.Context, p *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
	a.mu.Lock()
	a.caps = p.ClientCapabilities
	a.mu.Unlock()
	return func() (*acp.InitializeResponse, error) {
		if a.cfg.Ready != nil {
			acp.AfterReply(ctx, a.cfg.Ready)
		}
		return &acp.InitializeResponse{
			// The only version this agent speaks, whatever was asked for.
			ProtocolVersion:   1,
			AgentInfo:         &a.cfg.Info,
			AuthMethods:       a.authMethods(&p.ClientCapabilities),
			AgentCapabilities: a.capabilities(),
		}, nil
	}, nil
}

// capabilities are what this agent serves, no more and no less.
func (a *Agent) capabilities() acp.AgentCapabilities {
	c := acp.AgentCapabilities{
		LoadSession:        true,
		PromptCapabilities: acp.PromptCapabilities{EmbeddedContext: true, Image: true},
		McpCapabilities:    acp.McpCapabilities{Http: true, Sse: true},
		SessionCapabilities: acp.SessionCapabilities{
			List: &acp.SessionListCapabilities{}, Delete: &acp.SessionDeleteCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			Close: &acp.SessionCloseCapabilities{}, AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
			SystemPrompt: &acp.SessionSystemPromptCapabilities{Mode: &acp.SessionSystemPromptModeCapabilities{
				Override: &acp.SessionSystemPromptOverrideCapabilities{},
			}},
		},
		Auth: acp.AgentAuthCapabilities{Logout: &acp.LogoutCapabilities{}},
		Meta: acp.Meta{MetaKey: map[string]any{"steer": MethodSteer}},
	}
	if a.cfg.Fork != nil {
		c.SessionCapabilities.Fork = &acp.SessionForkCapabilities{}
	}
	return c
}

// MetaKey is the key of this agent's own part of a _meta object.
const MetaKey = "acp-agent"

// MethodSteer puts a message into the running turn of a session: params
// {sessionId, content: [ContentBlock]}, result {}. It is a request of this
// agent's own, advertised under _meta of its capabilities. With no turn running
// it answers -32600: send a prompt instead.
const MethodSteer = "_acp-agent/steer"

// SteerRequest is the params of MethodSteer.
type SteerRequest struct {
	SessionID acp.SessionId      `json:"sessionId"`
	Content   []acp.ContentBlock `json:"content"`
}

// SteerResponse is its result.
type SteerResponse struct{}

func (a *Agent) steer(ctx context.Context, p *SteerRequest) (func() (*SteerResponse, error), error) {
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	content, err := promptContent("content", p.Content)
	if err != nil {
		return nil, err
	}
	return func() (*SteerResponse, error) {
		err := l.Steer(ctx, content, session.Source{Kind: session.SourceClient, Name: MethodSteer})
		if errors.Is(err, loop.ErrIdle) {
			return nil, acp.InvalidRequest(fmt.Sprintf("no prompt is running in session %s: send session/prompt", p.SessionID))
		}
		return nil, l.setError(err)
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
		if err := a.cfg.Authenticate(ctx, p.MethodID); err != nil {
			return nil, err
		}
		a.mu.Lock()
		a.signedOut = false
		a.mu.Unlock()
		return nil, nil
	}, nil
}

func (a *Agent) logout(context.Context, *acp.LogoutRequest) (func() (*acp.LogoutResponse, error), error) {
	a.mu.Lock()
	a.signedOut = true
	a.mu.Unlock()
	return nil, nil
}

// signedIn fails after a logout, until authenticate succeeds.
func (a *Agent) signedIn() error {
	a.mu.Lock()
	out := a.signedOut
	a.mu.Unlock()
	switch {
	case out:
		return acp.AuthRequired("the client has logged out: call authenticate")
	case a.cfg.SignedIn != nil:
		return a.cfg.SignedIn()
	}
	return nil
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
	cfg.Observer, cfg.Asker, cfg.Precedence = v, v, &a.precedence
	s, err := loop.New(cfg, log, st, source)
	if err != nil {
		_ = log.Close()
		release(cfg)
		return nil, acp.InternalError(fmt.Sprintf("starting the session: %v", err))
	}
	v.proj.tools = s.Tools
	l := &live{Session: s, view: v, introduced: make(chan struct{})}
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
	switch {
	case !ok && a.loading[id] > 0:
		return nil, errLoading(id)
	case !ok:
		return nil, acp.SessionNotFound(id)
	}
	return l, nil
}

func errLoading(id string) error {
	return acp.InvalidRequest(fmt.Sprintf("session %s is being loaded: wait for the answer of session/load or session/resume", id))
}

// prompt takes the turn slot on the reading goroutine, so that neither a cancel
// nor a second prompt can overtake it. A session that is being loaded takes none:
// its updates would stand among those of the replay.
func (a *Agent) prompt(ctx context.Context, p *acp.PromptRequest) (func() (*acp.PromptResponse, error), error) {
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	loading := a.loading[p.SessionID] > 0
	a.mu.Unlock()
	if loading {
		return nil, errLoading(p.SessionID)
	}
	content, err := promptContent("prompt", p.Prompt)
	if err != nil {
		return nil, err
	}
	slot, err := l.Admit(model.WithTrace(ctx, traceOf(p.Meta)))
	switch {
	case errors.Is(err, loop.ErrBusy):
		return nil, acp.InvalidRequest(fmt.Sprintf("a prompt is already running in session %s: wait for its answer or send session/cancel", p.SessionID))
	case err != nil:
		return nil, acp.SessionNotFound(p.SessionID)
	}
	answered := make(chan struct{})
	a.mu.Lock()
	l.answered = answered
	a.mu.Unlock()
	acp.AfterAnswer(ctx, func() { close(answered) })
	return func() (*acp.PromptResponse, error) {
		// Behind the turn, where nobody waits for it: a command is looked up anew
		// when it is typed.
		defer l.view.refreshCommands()
		// A client may prompt as soon as it has the reply that names the session. What
		// else that brings comes first, not somewhere in the turn.
		select {
		case <-l.introduced:
		case <-ctx.Done():
		}
		if c, args, ok := l.view.parseCommand(content); ok {
			reason, err := l.run(ctx, slot, c, args, content)
			return promptResponse(reason, err)
		}
		l.unseen(ctx, content)
		reason, err := slot.Prompt(l.view.attach(ctx, slot.Files(), content), session.Source{Kind: session.SourceUser})
		return promptResponse(reason, err)
	}, nil
}

// traceOf is the W3C trace context that a client sent with a request.
func traceOf(m acp.Meta) model.Trace {
	text := func(key string) string { s, _ := m[key].(string); return s }
	return model.Trace{Parent: text("traceparent"), State: text("tracestate"), Baggage: text("baggage")}
}

// unseen tells the person of images that the model in use cannot be shown. The
// model gets a note in their place.
func (l *live) unseen(ctx context.Context, content []session.Block) {
	n, odd := 0, 0
	for i := range content {
		b := &content[i]
		if b.Type == session.BlockImage || b.Type == session.BlockResource && b.Data != "" && strings.HasPrefix(b.MimeType, "image/") {
			n++
			if model.ImageType(b) == "" {
				odd++
			}
		}
	}
	if n == 0 {
		return
	}
	info, err := l.Model(ctx)
	if err != nil || info.Images && odd == 0 {
		return // without a model the prompt itself says what is wrong
	}
	say := session.Notice{
		Severity: "warning", Text: fmt.Sprintf("The model %s takes no images: it is not shown the %d of this prompt.", info.Ref, n),
		Detail: "Switch the model (/model) and send them again. Where it does take some, set images = true for its provider in the config file.", Source: session.Source{Kind: session.SourceAgent},
	}
	if info.Images {
		say.Text = fmt.Sprintf("Of the images of this prompt %d are of a format that models do not take: it is not shown them.", odd)
		say.Detail = "Send them as PNG, JPEG, GIF or WebP."
	}
	// An error is that of the log, which the prompt meets next and reports.
	_ = l.Record(ctx, &say)
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
