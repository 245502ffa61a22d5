package agent

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/loop/permission"
	"acp-agent/session"
)

// setup is what the requests that make a session active have in common.
type setup struct {
	cwd     string
	dirs    []string
	servers []acp.McpServer
	system  *acp.SystemPrompt
}

// clean is a directory as everybody else writes it. Some clients send a slash at its
// end, and hooks compare paths as texts: "$CLAUDE_PROJECT_DIR"/* is to match. One
// that is not absolute is refused later, as it came.
func clean(dir string) string {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return dir
}

func cleanAll(dirs []string) []string {
	out := slices.Clone(dirs)
	for i, dir := range out {
		out[i] = clean(dir)
	}
	return out
}

func (a *Agent) newSession(ctx context.Context, p *acp.NewSessionRequest) (func() (*acp.NewSessionResponse, error), error) {
	su := setup{clean(p.Cwd), cleanAll(p.AdditionalDirectories), p.McpServers, p.SystemPrompt}
	return func() (*acp.NewSessionResponse, error) {
		h := session.Header{
			Version: session.Version, ID: a.cfg.NewID(), CreatedAt: a.cfg.Now().UTC(), Cwd: su.cwd,
			AdditionalDirectories: su.dirs, Agent: a.cfg.Info.Name + "/" + a.cfg.Info.Version,
		}
		params, err := a.check(h, su)
		if err != nil {
			return nil, err
		}
		cfg, log, err := a.make(ctx, h, params)
		if err != nil {
			return nil, err
		}
		l, err := a.open(cfg, log, session.NewState(h), "startup")
		if err != nil {
			return nil, err
		}
		modes, options, err := l.introduce(ctx)
		if err != nil {
			return nil, errors.Join(err, a.unmake(ctx, l))
		}
		return &acp.NewSessionResponse{SessionID: h.ID, Modes: modes, ConfigOptions: options}, nil
	}, nil
}

// introduce returns what the reply that names a session says of it, and has the
// rest follow that reply.
func (l *live) introduce(ctx context.Context) (*acp.SessionModeState, []acp.SessionConfigOption, error) {
	modes, options, err := l.settings(ctx)
	if err != nil {
		return nil, nil, err
	}
	acp.AfterReply(ctx, l.settled)
	return modes, options, nil
}

// settled tells what a client may hear of a session only after the reply that
// names it.
func (l *live) settled() {
	defer l.once.Do(func() { close(l.introduced) })
	l.view.refreshCommands()
	l.sendUsage()
	if news := l.news; len(news) > 0 {
		_ = l.Do(l.view.agent.ctx, func(*session.State) error { // as for sendUsage
			l.view.Events(l.view.agent.ctx, news)
			return nil
		})
	}
}

// make makes a new session's log beside its configuration, since both wait for the
// disk. Nothing is left of either when one cannot be made.
func (a *Agent) make(ctx context.Context, h session.Header, params *SessionParams) (loop.Config, session.Log, error) {
	type made struct {
		log session.Log
		err error
	}
	logs := make(chan made, 1)
	go func() { // received below
		log, err := a.cfg.Store.Create(ctx, h)
		logs <- made{log, err}
	}()
	cfg, err := a.cfg.Builder.Session(ctx, params)
	m := <-logs
	switch {
	case err == nil && m.err == nil:
		return cfg, m.log, nil
	case err == nil:
		release(cfg)
		err = failed("making the session's log", m.err)
	case m.err == nil:
		if derr := errors.Join(m.log.Close(), a.cfg.Catalog.Delete(context.WithoutCancel(ctx), h.ID)); derr != nil {
			a.cfg.Log.Warn("the log of a session that was not made stays", "session", h.ID, "error", derr)
		}
	}
	return loop.Config{}, nil, err
}

// build checks what a client asked for and makes the session's configuration.
func (a *Agent) build(ctx context.Context, h session.Header, su setup) (loop.Config, error) {
	params, err := a.check(h, su)
	if err != nil {
		return loop.Config{}, err
	}
	return a.cfg.Builder.Session(ctx, params)
}

// check checks what a client asked for and says it in the agent's terms.
func (a *Agent) check(h session.Header, su setup) (*SessionParams, error) {
	if err := a.signedIn(); err != nil {
		return nil, err
	}
	h.Cwd, h.AdditionalDirectories = su.cwd, su.dirs
	params, err := a.params(h)
	if err != nil {
		return nil, err
	}
	if params.System, params.OverrideSystem, err = systemPrompt(su.system); err != nil {
		return nil, err
	}
	if params.Servers, err = servers(su.servers); err != nil {
		return nil, err
	}
	cl := &client{agent: a, id: h.ID}
	if params.Client.FS.ReadTextFile {
		params.Read = clientReader{cl}
	}
	if params.Client.FS.WriteTextFile {
		params.Write = clientWriter{cl}
	}
	if params.Client.Terminal {
		params.Terminal = clientTerminal{cl}
	}
	if params.Client.Elicitation != nil && params.Client.Elicitation.Form != nil {
		params.Forms = clientForms{cl}
	}
	if e := params.Client.Elicitation; e != nil && (e.Form != nil || e.URL != nil) {
		params.Elicit = clientElicitor{cl, e.Form != nil, e.URL != nil}
	}
	return params, nil
}

// systemPrompt reads a client's system prompt: text blocks, appended to the
// agent's own or in its place.
func systemPrompt(p *acp.SystemPrompt) (text string, override bool, err error) {
	if p == nil {
		return "", false, nil
	}
	switch p.Mode {
	case acp.SystemPromptModeAppend:
	case acp.SystemPromptModeOverride:
		override = true
	default:
		return "", false, acp.InvalidParams("systemPrompt.mode", fmt.Sprintf("%q is not a mode of this agent: use append or override", p.Mode))
	}
	if len(p.Content) == 0 {
		return "", false, acp.InvalidParams("systemPrompt.content", "it is empty: send at least one text block")
	}
	var parts []string
	for i, b := range p.Content {
		if b.Text == nil {
			return "", false, acp.InvalidParams(fmt.Sprintf("systemPrompt.content[%d]", i), "only text blocks are taken")
		}
		parts = append(parts, b.Text.Text)
	}
	return strings.Join(parts, "\n\n"), override, nil
}

// servers takes a client's MCP servers into the agent's terms. Only what the
// protocol requires of an entry is required here.
func servers(in []acp.McpServer) ([]Server, error) {
	out := make([]Server, 0, len(in))
	names := map[string]bool{}
	for i, m := range in {
		field := fmt.Sprintf("mcpServers[%d]", i)
		var s Server
		switch {
		case m.Stdio != nil:
			s = Server{Name: m.Stdio.Name, Command: m.Stdio.Command, Args: m.Stdio.Args}
			for _, e := range m.Stdio.Env {
				s.Env = append(s.Env, e.Name+"="+e.Value)
			}
			if s.Command == "" {
				return nil, acp.InvalidParams(field+".command", "it is empty: name the program to start")
			}
		case m.HTTP != nil:
			s = Server{Name: m.HTTP.Name, URL: m.HTTP.URL, Headers: headers(m.HTTP.Headers)}
		case m.SSE != nil:
			s = Server{Name: m.SSE.Name, URL: m.SSE.URL, Headers: headers(m.SSE.Headers), SSE: true}
		default:
			return nil, acp.InvalidParams(field, "this kind of MCP server is not supported: use stdio, http or sse")
		}
		if s.Name == "" {
			return nil, acp.InvalidParams(field+".name", "it is empty: name the server")
		}
		if s.Command == "" && s.URL == "" {
			return nil, acp.InvalidParams(field+".url", "it is empty: give the server's address")
		}
		if names[s.Name] {
			return nil, acp.InvalidParams(field+".name", fmt.Sprintf("there is another server named %q", s.Name))
		}
		names[s.Name] = true
		out = append(out, s)
	}
	return out, nil
}

func headers(in []acp.HttpHeader) map[string]string {
	out := map[string]string{}
	for _, h := range in {
		out[h.Name] = h.Value
	}
	return out
}

func (a *Agent) loadSession(ctx context.Context, p *acp.LoadSessionRequest) (func() (*acp.LoadSessionResponse, error), error) {
	su := setup{clean(p.Cwd), cleanAll(p.AdditionalDirectories), p.McpServers, p.SystemPrompt}
	begin := a.startLoad(p.SessionID)
	return func() (*acp.LoadSessionResponse, error) {
		defer begin()()
		modes, options, err := a.restore(ctx, p.SessionID, su, true)
		if err != nil {
			return nil, err
		}
		return &acp.LoadSessionResponse{Modes: modes, ConfigOptions: options}, nil
	}, nil
}

func (a *Agent) resumeSession(ctx context.Context, p *acp.ResumeSessionRequest) (func() (*acp.ResumeSessionResponse, error), error) {
	su := setup{clean(p.Cwd), cleanAll(p.AdditionalDirectories), p.McpServers, p.SystemPrompt}
	begin := a.startLoad(p.SessionID)
	return func() (*acp.ResumeSessionResponse, error) {
		defer begin()()
		modes, options, err := a.restore(ctx, p.SessionID, su, false)
		if err != nil {
			return nil, err
		}
		return &acp.ResumeSessionResponse{Modes: modes, ConfigOptions: options}, nil
	}, nil
}

// startLoad says, on the reading goroutine, that a session is being loaded, so that
// what follows on the wire finds it so. begin waits until nothing else opens or
// closes the session; end lets others do so.
func (a *Agent) startLoad(id string) (begin func() (end func())) {
	a.mu.Lock()
	a.loading[id]++
	a.mu.Unlock()
	wait, done := a.opening.join(id)
	return func() func() {
		wait()
		return func() {
			a.mu.Lock()
			if a.loading[id]--; a.loading[id] == 0 {
				delete(a.loading, id)
			}
			a.mu.Unlock()
			done()
		}
	}
}

// restore makes a stored session active. A session that is active already is
// attached to when it is idle, and refused while a prompt runs in it: there is
// never a second one of the same id.
func (a *Agent) restore(ctx context.Context, id string, su setup, replay bool) (*acp.SessionModeState, []acp.SessionConfigOption, error) {
	if l, err := a.session(id); err == nil {
		if l.Busy() {
			return nil, nil, acp.InvalidRequest(fmt.Sprintf("session %s is active and a prompt is running in it: wait for it or send session/cancel", id))
		}
		// Given anew: other servers, directories and prompt may come with it.
		a.forget(id)
		if err := a.end(ctx, l); err != nil {
			a.cfg.Log.Warn("closing a session that is loaded again", "session", id, "error", err)
		}
	}
	// The directories are checked before the log is locked and its tail mended.
	cfg, err := a.build(ctx, session.Header{ID: id}, su)
	if err != nil {
		return nil, nil, err
	}
	rp := newReplayer(a, id, &cfg, su.cwd)
	var news []session.Event
	log, st, err := Reopen(ctx, a.cfg.Store, &cfg, id, su.cwd, func(ev session.Event, said bool) {
		if replay {
			rp.add(ev)
		}
		if said {
			news = append(news, ev)
		}
	})
	if err != nil {
		release(cfg)
		return nil, nil, err
	}
	l, err := a.open(cfg, log, st, "resume")
	if err != nil {
		return nil, nil, err
	}
	if replay {
		if err := rp.send(ctx, l.view); err != nil {
			// Half a conversation is none: who took the load back has no session.
			a.drop(ctx, l)
			return nil, nil, err
		}
	}
	l.news = news
	modes, options, err := l.introduce(ctx)
	if err != nil {
		a.drop(ctx, l)
	}
	return modes, options, err
}

// drop ends a session whose request has failed: its client does not know that there
// is one.
func (a *Agent) drop(ctx context.Context, l *live) {
	if a.forget(l.ID()) == nil {
		return // by who shuts down
	}
	if err := a.end(context.WithoutCancel(ctx), l); err != nil {
		a.cfg.Log.Warn("closing a session whose request has failed", "session", l.ID(), "error", err)
	}
}

// unmake is drop for a session that was made for the request: nothing is left of it.
func (a *Agent) unmake(ctx context.Context, l *live) error {
	a.drop(ctx, l)
	return a.cfg.Catalog.Delete(context.WithoutCancel(ctx), l.ID())
}

// Reopen opens a stored session's log for a session that goes on in cwd, and fits cfg
// to it: what was answered "always" counts again, and what there is no more gives way,
// which the log and cfg's notices say. visit is called with each event of the log; said
// marks a notice of what the opening has found, which the person has not had yet. The
// error is an *acp.Error.
func Reopen(ctx context.Context, store session.Store, cfg *loop.Config, id, cwd string, visit func(ev session.Event, said bool)) (session.Log, *session.State, error) {
	var answered []*session.PermissionAnswered
	log, st, err := store.Open(ctx, id, func(ev session.Event) error {
		if d, ok := ev.Data.(*session.PermissionAnswered); ok && d.Rule != "" {
			answered = append(answered, d)
		}
		_, notice := ev.Data.(*session.Notice)
		visit(ev, notice && ev.Fresh)
		return nil
	})
	if err != nil {
		return nil, nil, storeError(id, "loading", err)
	}
	recall(cfg, answered)
	if err := adopt(cfg, log, st, cwd); err != nil {
		return nil, nil, errors.Join(err, log.Close())
	}
	return log, st, nil
}

// recall takes over what the person has answered "always" to in this session.
func recall(cfg *loop.Config, answered []*session.PermissionAnswered) {
	for _, d := range answered {
		switch d.Outcome {
		case "allow_always":
			cfg.Rules.Allow(d.Rule)
		case "reject_always":
			cfg.Rules.Reject(d.Rule)
		}
	}
}

// adopt makes a stored session's settings fit where it is loaded: the directory
// that the client gave rules from here on, and a mode or a model that there is
// no more gives way to the default. The log says so, and so is the person told.
func adopt(cfg *loop.Config, log session.Log, st *session.State, cwd string) error {
	src := session.Source{Kind: session.SourceClient}
	own := session.Source{Kind: session.SourceAgent}
	var data []session.Data
	say := func(severity, format string, args ...any) {
		cfg.Notices = append(cfg.Notices, session.Notice{Severity: severity, Text: fmt.Sprintf(format, args...), Source: own})
	}
	if from := cmp.Or(st.Config[loop.ConfigCwd], st.Header.Cwd); clean(from) != cwd {
		data = append(data, &session.ConfigSet{ID: loop.ConfigCwd, Value: cwd, Source: src})
		say("info", "This session worked in %s before; it works in %s now.", from, cwd)
	}
	if st.Mode != "" && !knownMode(st.Mode) {
		data = append(data, &session.ModeSet{Mode: permission.ModeDefault, Source: own})
		say("warning", "The session's mode %q is none of this agent's; it is %s now.", st.Mode, permission.ModeDefault)
	}
	if ref := st.Config[loop.ConfigModel]; ref != "" && ref != cfg.ModelRef {
		if _, _, err := cfg.Models.Client(ref); err != nil {
			data = append(data, &session.ConfigSet{ID: loop.ConfigModel, Value: cfg.ModelRef, Source: own})
			say("warning", "The session's model %s cannot be used (%v); it is %s now.", ref, err, cfg.ModelRef)
		}
	}
	if len(data) == 0 {
		return nil
	}
	err := record(log, st, data...)
	if err == nil {
		err = log.Sync()
	}
	if err != nil {
		return acp.InternalError(fmt.Sprintf("noting the settings of session %s: %v", st.Header.ID, err))
	}
	return nil
}

// record appends to a log that no session owns yet.
func record(log session.Log, st *session.State, data ...session.Data) error {
	evs, err := log.Append(data...)
	for _, ev := range evs {
		if err == nil {
			err = st.Apply(ev)
		}
	}
	return err
}

// release frees what a configuration holds that no session was made of.
func release(cfg loop.Config) {
	if cfg.OnClose != nil {
		cfg.OnClose()
	}
}

// storeError puts a failure of the store in the client's terms.
func storeError(id, doing string, err error) error {
	switch {
	case errors.Is(err, session.ErrNotFound):
		return acp.SessionNotFound(id)
	case errors.Is(err, session.ErrLocked):
		return acp.InvalidRequest(fmt.Sprintf("%s session %s: it is in use by another process; close it there first", doing, id))
	case errors.Is(err, session.ErrVersion):
		return acp.InternalError(fmt.Sprintf("%s session %s: %v", doing, id, err))
	case errors.Is(err, session.ErrCorrupt):
		return acp.InternalError(fmt.Sprintf("%s session %s: %v; `acp-agent sessions verify %s` says more, `acp-agent sessions export %s` writes what stands before the damage", doing, id, err, id, id))
	}
	return failed(doing+" session "+id, err)
}

// failed is a failure of the agent's own, unless it is that the request was taken
// back or its connection has ended.
func failed(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return acp.RequestCancelled()
	}
	return acp.InternalError(doing + ": " + err.Error())
}

// forget takes a session from those that are active; nil when it is none.
func (a *Agent) forget(id string) *live {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.sessions[id]
	delete(a.sessions, id)
	return l
}

// closeSession closes what a load that came before on the wire opens, too, and has
// ended the session before a load that comes after begins.
func (a *Agent) closeSession(ctx context.Context, p *acp.CloseSessionRequest) (func() (*acp.CloseSessionResponse, error), error) {
	a.mu.Lock()
	loading := a.loading[p.SessionID] > 0
	l := a.sessions[p.SessionID]
	if !loading { // what is being loaded again is the load's until that has ended
		delete(a.sessions, p.SessionID)
	}
	a.mu.Unlock()
	if l == nil && !loading {
		return nil, nil // closing what is not open: there is nothing left to do
	}
	wait, done := a.opening.join(p.SessionID)
	return func() (*acp.CloseSessionResponse, error) {
		wait()
		defer done()
		if loading {
			if l = a.forget(p.SessionID); l == nil {
				return nil, nil
			}
		}
		if err := a.end(ctx, l); err != nil {
			return nil, acp.InternalError(err.Error())
		}
		return nil, nil
	}, nil
}

func (a *Agent) deleteSession(ctx context.Context, p *acp.DeleteSessionRequest) (func() (*acp.DeleteSessionResponse, error), error) {
	wait, done := a.opening.join(p.SessionID)
	return func() (*acp.DeleteSessionResponse, error) {
		wait()
		defer done()
		if l := a.forget(p.SessionID); l != nil {
			if err := a.end(ctx, l); err != nil {
				a.cfg.Log.Warn("closing a session that is deleted", "session", p.SessionID, "error", err)
			}
		}
		if err := a.cfg.Catalog.Delete(ctx, p.SessionID); err != nil && !errors.Is(err, session.ErrNotFound) {
			return nil, storeError(p.SessionID, "deleting", err)
		}
		return nil, nil
	}, nil
}

// pageSize is how many sessions one answer of session/list holds.
const pageSize = 50

func (a *Agent) listSessions(ctx context.Context, p *acp.ListSessionsRequest) (func() (*acp.ListSessionsResponse, error), error) {
	after, err := readCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	return func() (*acp.ListSessionsResponse, error) {
		infos, err := a.cfg.Catalog.List(ctx)
		if err != nil {
			return nil, failed("listing the sessions", fmt.Errorf("%w: fix the permissions of the state directory", err))
		}
		res := &acp.ListSessionsResponse{Sessions: []acp.SessionInfo{}}
		var last cursor
		for _, in := range infos {
			key := cursor{in.UpdatedAt.UnixNano(), in.ID}
			switch {
			case in.Err != nil && in.Cwd == "":
				a.cfg.Log.Warn("a session is left out of the list", "session", in.ID, "error", in.Err)
				continue
			case p.Cwd != "" && clean(in.Dir) != clean(p.Cwd), after != nil && !after.before(key):
				continue
			}
			if len(res.Sessions) == pageSize {
				res.NextCursor = last.String()
				break
			}
			last = key
			res.Sessions = append(res.Sessions, acp.SessionInfo{
				SessionID: in.ID, Cwd: in.Dir, AdditionalDirectories: in.AdditionalDirectories,
				Title: in.Title, UpdatedAt: in.UpdatedAt.UTC().Format(time.RFC3339),
			})
		}
		return res, nil
	}, nil
}

// cursor names the last entry of a page: pages stay whole and without doubles
// when sessions are added meanwhile.
type cursor struct {
	updated int64
	id      string
}

// before reports whether the entry comes after the cursor's in a list that is
// ordered by last activity.
func (c *cursor) before(k cursor) bool {
	return k.updated < c.updated || k.updated == c.updated && k.id > c.id
}

func (c cursor) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", c.updated, c.id))
}

func readCursor(s string) (*cursor, error) {
	if s == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	var c cursor
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "%d %s", &c.updated, &c.id)
	}
	if err != nil || c.String() != s {
		return nil, acp.InvalidParams("cursor", "it is not one of this agent's: use the nextCursor of the page before, or none")
	}
	return &c, nil
}
