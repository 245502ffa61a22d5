package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/loop"
	"acp-agent/loop/prompt"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/ask"
	"acp-agent/loop/tool/file"
	"acp-agent/loop/tool/mcp"
	"acp-agent/loop/tool/search"
	"acp-agent/loop/tool/shell"
	"acp-agent/loop/tool/todo"
	"acp-agent/loop/tool/web"
	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// agentName is how the agent calls itself on the wire.
const agentName = "acp-agent"

// wiring is the process's parts, put together: what serve and exec share.
// Nothing in it touches a file before a session asks for it, except a recording
// that is to be replayed.
type wiring struct {
	cfg      *config.Config
	log      *slog.Logger
	closeLog func() error
	models   *models
	ctx      context.Context
	stop     context.CancelFunc

	remembering sync.Mutex
	found       hookFinder
	// sets has the first hooks.Set of each open session, by its id: those that
	// follow share its decisions.
	sets sync.Map

	storeMu sync.Mutex
	store   *jsonl.Store
}

func (a *app) runtime() (*wiring, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	log, closeLog, err := a.logger(cfg)
	if err != nil {
		return nil, err
	}
	m, err := newModels(cfg, log)
	if err != nil {
		_ = closeLog()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	return &wiring{cfg: cfg, log: log, closeLog: closeLog, models: m, ctx: ctx, stop: stop}, nil
}

func (w *wiring) close() {
	w.stop()
	_ = w.closeLog()
}

// finish says at the very end whether a recording was used up.
func (w *wiring) finish() error { return w.models.finish() }

func (w *wiring) agentConfig() agent.Config {
	c := agent.Config{
		Context: w.ctx, Store: w, Catalog: w, Builder: w, Models: w.models.known,
		CommandDirs: w.commandDirs, DescribeHooks: w.describeHooks, Info: acp.Implementation{Name: agentName, Title: "ACP Agent", Version: version()},
		AuthMethods: authMethods(), Authenticate: w.authenticate,
		SignedIn: w.signedIn, Ready: w.cfg.Conceal, Trim: debug.FreeOSMemory, NewID: newID, Now: time.Now, Log: w.log,
	}
	if w.cfg.Fork {
		c.Fork = w.read
	}
	return c
}

// read reads a log without locking it.
func (w *wiring) read(ctx context.Context, id string, visit func(session.Event) error) error {
	s, err := w.open()
	if err != nil {
		return err
	}
	_, err = s.Read(ctx, id, visit)
	return err
}

// newID makes the ids of sessions and messages. Version 7: they sort by time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// authMethods: one agent method always (registries and clients want one), a
// terminal method for clients that offer it.
func authMethods() []acp.AuthMethod {
	return []acp.AuthMethod{
		{Agent: &acp.AuthMethodAgent{ID: "api-key", Name: "API key", Description: "Uses the provider key in DEEPSEEK_API_KEY, OPENAI_API_KEY or ANTHROPIC_API_KEY, or one stored by `acp-agent login`."}},
		{Terminal: &acp.AuthMethodTerminal{ID: "login", Name: "Log in", Description: "Asks for a provider key in a terminal and stores it.", Args: []string{"login"}}},
	}
}

// authenticate looks again whether there is a key: one that appeared since the
// start needs no restart.
func (w *wiring) authenticate(context.Context, string) error {
	_, err := w.models.defaultRef()
	if err != nil {
		return acp.AuthRequired(err.Error())
	}
	return nil
}

// open makes the store when the first session needs it.
func (w *wiring) open() (*jsonl.Store, error) {
	w.storeMu.Lock()
	defer w.storeMu.Unlock()
	if w.store != nil {
		return w.store, nil
	}
	// What fails is tried again: the person may have made room or set it right.
	if _, err := w.cfg.EnsureStateDir(); err != nil {
		return nil, err
	}
	store, err := jsonl.Open(w.cfg.SessionsDir(), jsonl.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: make it writable, or name another state directory with --state-dir or ACP_AGENT_STATE_DIR", err)
	}
	w.store = store
	return store, nil
}

// Create implements session.Store.
func (w *wiring) Create(ctx context.Context, h session.Header) (session.Log, error) {
	s, err := w.open()
	if err != nil {
		return nil, err
	}
	log, err := s.Create(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("%w: free the disk or fix the permissions of the state directory", err)
	}
	return log, nil
}

// Open implements session.Store.
func (w *wiring) Open(ctx context.Context, id string, visit func(session.Event) error) (session.Log, *session.State, error) {
	s, err := w.open()
	if err != nil {
		return nil, nil, err
	}
	return s.Open(ctx, id, visit)
}

// List implements session.Catalog.
func (w *wiring) List(ctx context.Context) ([]session.Info, error) {
	s, err := w.open()
	if err != nil {
		return nil, err
	}
	return s.List(ctx)
}

// Delete implements session.Catalog.
func (w *wiring) Delete(ctx context.Context, id string) error {
	s, err := w.open()
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, id); err != nil {
		return err
	}
	if err := w.forgetHookFiles(id); err != nil {
		return fmt.Errorf("deleting session %s: its log is gone, but what its hooks were given is not: %w", id, err)
	}
	return nil
}

// system is a session's system prompt: the agent's own, with the client's behind
// it or in its place.
func system(p *agent.SessionParams) string {
	own := prompt.System(prompt.Environment{Cwd: p.Header.Cwd, Roots: p.Header.AdditionalDirectories, OS: runtime.GOOS})
	switch {
	case p.OverrideSystem:
		return p.System
	case p.System != "":
		return own + "\n" + p.System
	}
	return own
}

// files is a session's file layer: the client's where it offers one and the
// config prefers it, with the disk as the judge; else the disk.
func (w *wiring) files(p *agent.SessionParams) tool.Files {
	disk := file.Disk(p.Roots)
	if !w.cfg.Client.Files || p.Read == nil && p.Write == nil {
		return disk
	}
	return file.Guard(p.Read, p.Write, disk)
}

// ref is the model of new sessions.
func (w *wiring) ref() (string, error) {
	ref, err := w.models.defaultRef()
	if err != nil {
		return "", acp.AuthRequired(err.Error())
	}
	return ref, nil
}

func (w *wiring) signedIn() error {
	_, err := w.ref()
	return err
}

// Session implements agent.Builder.
func (w *wiring) Session(_ context.Context, p *agent.SessionParams) (loop.Config, error) {
	ref, err := w.ref()
	if err != nil {
		return loop.Config{}, err
	}
	sh := shell.New(shell.Options{Timeout: w.cfg.Limits.ToolTimeout})
	tools, err := newTools(sh, p.Forms != nil)
	if err != nil {
		return loop.Config{}, fmt.Errorf("making the tools: %w", err)
	}
	rules, err := permissionRules(w.cfg)
	if err != nil {
		return loop.Config{}, acp.InvalidRequest(err.Error())
	}
	rules.Guard(steering(w.cfg)...)
	h := p.Header
	servers := w.servers(p)
	var caller hooks.MCPCaller
	if servers != nil {
		caller = servers
	}
	hs := w.sessionHooks(p, caller)
	cfg := loop.Config{
		Mode: w.cfg.Permissions.Mode, Models: w.models, ModelRef: ref, Effort: w.cfg.Effort, Tools: tools, Rules: rules,
		System: system(p), Environ: w.cfg.Environ(), Files: w.files(p), Roots: p.Roots, Instructions: w.instructions(h.Cwd),
		Limits:        loop.Limits{Steps: w.cfg.Limits.MaxSteps, Continuations: w.cfg.Limits.StopContinuations},
		Retry:         w.models.retry(w.cfg.Limits.Retries),
		TranscriptDir: filepath.Join(w.cfg.StateDir, "transcripts"), Transcribers: transcriber,
		History: func(visit func(session.Event) error) error { return w.read(context.Background(), h.ID, visit) },
		Version: version(), NewID: newID, Now: time.Now, Log: w.log, Redact: w.cfg.Redactor(),
	}
	cfg.Forms, cfg.Elicit = p.Forms, p.Elicit
	if w.cfg.Client.Terminal {
		cfg.Terminal = p.Terminal
	}
	w.remember(&cfg, p.Roots[0])
	if servers != nil {
		cfg.Servers = servers
	}
	var forget func()
	if hs != nil {
		hs.into(&cfg)
		set := hs.set
		w.sets.Store(h.ID, set)
		forget = func() { w.sets.CompareAndDelete(h.ID, set) }
		cfg.EnvFile = w.envFile(h.ID)
		cfg.Jobs = func() []hooks.BackgroundJob { return jobs(sh) }
	}
	cfg.OnClose = func() {
		if servers != nil {
			servers.Close()
		}
		if hs != nil {
			forget()
			hs.close()
		}
		if err := sh.Close(); err != nil {
			w.log.Warn("the session's shell was not closed cleanly", "session", h.ID, "error", err)
		}
	}
	return cfg, nil
}

// remember takes over what was answered in the project before, and keeps what
// will be, where the config says that answers are for the project.
func (w *wiring) remember(cfg *loop.Config, root string) {
	if !w.cfg.Permissions.RememberProject || w.cfg.StateDir == "" {
		return
	}
	r := w.remembered(root)
	if err := r.apply(cfg.Rules); err != nil {
		cfg.Notices = append(cfg.Notices, session.Notice{Severity: "warning", Text: err.Error(), Source: session.Source{Kind: session.SourceAgent}})
	}
	cfg.Remember = func(rule string, allow bool) error { return r.add(root, rule, allow) }
}

// servers starts connecting to the MCP servers that a client names; nil when it
// names none.
func (w *wiring) servers(p *agent.SessionParams) *mcp.Set {
	if len(p.Servers) == 0 {
		return nil
	}
	list := make([]mcp.Server, len(p.Servers))
	for i, s := range p.Servers {
		list[i] = mcp.Server{Name: s.Name, Command: s.Command, Args: s.Args, Env: s.Env, URL: s.URL, Headers: s.Headers, SSE: s.SSE}
	}
	o := mcp.Options{Cwd: p.Header.Cwd, Environ: w.cfg.Environ(), Name: agentName, Version: version(), NewID: newID, Log: w.log}
	if e := p.Client.Elicitation; e != nil && p.Elicit != nil {
		o.AskForm, o.AskURL = e.Form != nil, e.URL != nil
	}
	return mcp.Start(w.ctx, list, o)
}

// fetcher is the same for all sessions.
var fetcher = sync.OnceValue(func() *web.Fetch { return web.New(agentName + "/" + version()) })

// newTools returns a session's tools. The shell keeps the session's background
// jobs; the others keep nothing. ask_user is there for clients that show forms.
func newTools(sh *shell.Shell, forms bool) (*tool.Registry, error) {
	all := sh.Tools()
	all = append(all, file.Tools()...)
	all = append(all, search.Tools()...)
	all = append(all, todo.New(nil), fetcher())
	if forms {
		all = append(all, ask.New())
	}
	return tool.NewRegistry(all...)
}
