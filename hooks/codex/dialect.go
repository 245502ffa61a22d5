package codex

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"acp-agent/hooks"
)

// Options are what a Dialect is made of; nothing is taken from the process.
type Options struct {
	// Files are Discover's.
	Files []File
	// Env is the environment at the session's start, which every hook gets whole:
	// Codex filters nothing (Codex 0.171.0, execution).
	Env hooks.Environ
	// Shell is the person's shell by the user database; Codex does not look at
	// $SHELL. Empty: bash, else sh, from Env's PATH.
	Shell string
	// Home is a directory to run in when the session's is gone.
	Home string
	// MCP calls tools for mcp_tool handlers; nil makes those fail.
	MCP hooks.MCPCaller
	// GOOS is runtime.GOOS when empty.
	GOOS string
}

// Dialect is the hooks of some Codex config files. It implements hooks.Dialect,
// hooks.Capper, hooks.AsyncLimiter and hooks.Idler.
type Dialect struct {
	opts     Options
	handlers []*hooks.Handler
	byEvent  map[hooks.Event][]*hooks.Handler
}

// ext is the dialect's own part of a handler.
type ext struct {
	matcher      *matcher // nil: invalid, never matches
	contextLimit uint64
	mcp          *mcpTool
	codexHash    string
	file         *File
	// quiet: switched off by who would be told of it, so it is listed only.
	quiet bool
}

var (
	_ hooks.Dialect      = (*Dialect)(nil)
	_ hooks.Capper       = (*Dialect)(nil)
	_ hooks.AsyncLimiter = (*Dialect)(nil)
	_ hooks.Idler        = (*Dialect)(nil)
)

// New makes the dialect of discovered files. Its problems are those of single
// handlers and groups; Discover has reported the files' already.
func New(o Options) (*Dialect, []hooks.Problem) {
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	d := &Dialect{opts: o, byEvent: map[hooks.Event][]*hooks.Handler{}}
	var problems []hooks.Problem
	for i := range o.Files {
		f := &o.Files[i]
		if f.config == nil {
			continue
		}
		for j := range f.config.groups {
			problems = append(problems, d.addGroup(f, &f.config.groups[j])...)
		}
	}
	for _, h := range d.handlers {
		d.byEvent[h.Event] = append(d.byEvent[h.Event], h)
	}
	return d, problems
}

func (d *Dialect) addGroup(f *File, g *group) []hooks.Problem {
	var problems []hooks.Problem
	m := &matcher{all: true}
	invalid := ""
	if hasSubject(g.event) {
		var err error
		if m, err = compileMatcher(g.matcher); err != nil {
			invalid = fmt.Sprintf("the matcher %q of its group is not a regular expression (%v)", g.matcher, err)
			problems = append(problems, f.problem(g.off, g.path+".matcher", invalid+"; the group never runs, the rest of the file does"))
		}
	} else if g.matcher != "" && g.matcher != "*" {
		problems = append(problems, f.problem(g.off, g.path+".matcher", fmt.Sprintf("Codex ignores a matcher on %s; the group runs every time", g.event)))
	}
	for i := range g.handlers {
		h, notes := d.makeHandler(f, g, &g.handlers[i])
		h.Ext.(*ext).matcher = m
		for _, n := range notes {
			problems = append(problems, f.problem(g.handlers[i].off, g.handlers[i].path, n))
		}
		if h.Why == "" {
			h.Why = invalid
		}
		d.handlers = append(d.handlers, h)
	}
	return problems
}

// makeHandler makes the handler, and says what of its config has no effect.
func (d *Dialect) makeHandler(f *File, g *group, c *handler) (h *hooks.Handler, notes []string) {
	x := &ext{contextLimit: defaultContextLimit, codexHash: codexHash(g, c, d.opts.GOOS), file: f}
	if c.contextLimit != nil {
		x.contextLimit = *c.contextLimit
	}
	h = &hooks.Handler{
		Dialect: Name, Event: g.event, Matcher: g.matcher, Type: string(c.kind),
		Timeout: time.Duration(c.seconds(g.event)) * time.Second, TimeoutSet: c.timeout != nil,
		Async: c.async && g.event != hooks.SessionEnd, // as Codex 0.171.0 does
		Place: hooks.Place{File: f.Path, Layer: f.Layer, Group: g.index, Index: c.index},
		Raw:   c.raw, Ext: x,
	}
	if c.statusMessage != nil {
		h.StatusMessage = *c.statusMessage
	}
	problem := ""
	switch {
	case c.timeout != nil && *c.timeout > maxEndSeconds && (g.event == hooks.SessionEnd || g.event == hooks.Interrupt):
		notes = append(notes, fmt.Sprintf("Codex limits %s hooks to %d s; the timeout of %d s is cut to that", g.event, maxEndSeconds, *c.timeout))
	case c.async && g.event == hooks.SessionEnd:
		notes = append(notes, "Codex waits for SessionEnd hooks, async ones too")
	case c.contextLimit != nil && !takesContext(g.event):
		notes = append(notes, fmt.Sprintf("additionalContextLimit has no effect on %s, which takes no context", g.event))
	}
	switch c.kind {
	case commandHandler:
		h.Command = c.effective(d.opts.GOOS)
		if c.blank() {
			problem = "the command is empty, so there is nothing to run"
		}
	case mcpToolHandler:
		x.mcp = &mcpTool{server: c.server, tool: c.tool, input: c.input}
		h.Command = c.server + "/" + c.tool
		if g.event == hooks.SessionEnd {
			problem = "Codex runs no mcp_tool handlers on SessionEnd; use a command"
		}
	default:
		problem = fmt.Sprintf("Codex does not support %s hooks yet and skips them; use a command", c.kind)
	}
	if problem != "" {
		notes = append(notes, problem)
	}
	h.Why = problem
	if why := hooks.Absent(g.event); why != "" {
		h.Why = why
	}
	if f.off != "" {
		h.Why, x.quiet = f.off, f.ownSwitch
	}
	h.Hash = hooks.HashHandler(Name, h.Event, h.Matcher, h.Raw)
	d.applyState(f, g, c, h)
	return h, notes
}

// takesContext reports the events whose answers can carry additionalContext.
func takesContext(e hooks.Event) bool {
	return slices.Contains(shapes[e].specific, "additionalContext")
}

// applyState honours Codex's own record about the handler (Codex 0.171.0, config and trust).
func (d *Dialect) applyState(f *File, g *group, c *handler, h *hooks.Handler) {
	if f.managed {
		h.Trust = hooks.TrustManaged
		return
	}
	s, ok := stateOf(f.state, f, g, c)
	if !ok {
		return
	}
	if s.enabled != nil && !*s.enabled && h.Why == "" {
		h.Why = "it is switched off (enabled = false) in Codex's own [hooks.state]"
		h.Ext.(*ext).quiet = true
	}
	if f.Layer.NeedsTrust() && !f.projectUntrusted && s.trustedHash == h.Ext.(*ext).codexHash {
		h.Trust = hooks.TrustTrusted
	}
}

// Name implements hooks.Catalog.
func (d *Dialect) Name() string { return Name }

// Handlers implements hooks.Catalog.
func (d *Dialect) Handlers() []*hooks.Handler { return d.handlers }

// Match implements hooks.Catalog. Codex drops no duplicates: the same command
// listed twice runs twice (observed dup).
func (d *Dialect) Match(c *hooks.Call) []*hooks.Handler {
	hs := d.byEvent[c.Event]
	if len(hs) == 0 || !fires(c) {
		return nil
	}
	s := subjectOf(c)
	var out []*hooks.Handler
	for _, h := range hs {
		// An invalid matcher never matches; it was reported when it was read.
		if x := h.Ext.(*ext); !x.quiet && x.matcher != nil && x.matcher.matches(s) {
			out = append(out, h)
		}
	}
	return out
}

// fires reports whether Codex fires the event for this call at all. PostToolUse
// follows every run of a tool, a command's non-zero exit too, but not a call
// that never ran or whose tool failed (Codex 0.171.0, events).
func fires(c *hooks.Call) bool {
	if c.Event != hooks.PostToolUse || c.Tool == nil {
		return true
	}
	return !c.Tool.NotRun && (!c.Tool.Failed || c.Tool.Name == "bash" && c.Tool.ExitCode != nil)
}

// Payload implements hooks.Speaker.
func (d *Dialect) Payload(c *hooks.Call) ([]byte, error) { return payload(c) }

// Decode implements hooks.Speaker.
func (d *Dialect) Decode(c *hooks.Call, h *hooks.Handler, e hooks.Exit) hooks.Answer {
	return decode(c, h, e)
}

// AsyncLimit implements hooks.AsyncLimiter (Codex 0.171.0, handlers).
func (d *Dialect) AsyncLimit() int { return 8 }

// Exec implements hooks.Speaker.
func (d *Dialect) Exec(ctx context.Context, job *hooks.Job) hooks.Exit {
	if x, ok := job.Handler.Ext.(*ext); ok && x.mcp != nil {
		return d.execMCP(ctx, x.mcp, job)
	}
	env, command := d.opts.Env.Without(func(string) bool { return false }).WithShellLevel(), job.Handler.Command
	if x, ok := job.Handler.Ext.(*ext); ok && x.file != nil && x.file.plugin != nil {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(x.file.plugin)) {
			env = env.Set(name, x.file.plugin[name])
			pairs = append(pairs, "${"+name+"}", x.file.plugin[name])
		}
		command = strings.NewReplacer(pairs...).Replace(command)
		if x.file.pluginData != "" {
			// A plugin that finds it missing says so better than this could.
			_ = os.MkdirAll(x.file.pluginData, 0o700)
		}
	}
	argv, err := d.argv(command)
	if err != nil {
		return hooks.Exit{Code: -1, StartErr: err}
	}
	return hooks.RunProcess(ctx, job.Background, &hooks.Process{
		Argv: argv,
		Env:  env,
		Dir:  job.Call.Cwd,
		// Codex does not start a hook whose directory is gone, and lets the tool
		// run unguarded (openai/codex#45293). A guard that runs elsewhere is better
		// than none.
		Fallbacks: d.fallbacks(job.Call),
		Stdin:     job.Payload,
		Timeout:   job.Handler.Timeout,
		// No grace: Codex kills the whole group at once (Codex 0.171.0, execution).
	})
}

func (d *Dialect) fallbacks(c *hooks.Call) []string {
	var out []string
	for _, dir := range []string{c.ProjectDir, d.opts.Home} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}

// argv is the shell line for a command: the person's own shell, not a login
// shell (Codex 0.171.0, execution, observed sh_*).
func (d *Dialect) argv(command string) ([]string, error) {
	if d.opts.GOOS == "windows" {
		for _, name := range []string{d.opts.Shell, "pwsh", "powershell"} {
			if name == "" {
				continue
			}
			if p, ok := d.opts.Env.LookPath(name); ok {
				return []string{p, "-NoProfile", "-Command", command}, nil
			}
		}
		if comspec, ok := d.opts.Env.Get("COMSPEC"); ok && comspec != "" {
			return []string{comspec, "/C", command}, nil
		}
		return nil, fmt.Errorf("there is no shell: neither pwsh nor powershell is in the PATH, and COMSPEC is not set")
	}
	for _, name := range []string{d.opts.Shell, "bash", "sh", "/bin/sh"} {
		if name == "" {
			continue
		}
		if p, ok := d.opts.Env.LookPath(name); ok {
			return []string{p, "-c", command}, nil
		}
	}
	return nil, fmt.Errorf("there is no shell: neither bash nor sh is in the PATH")
}
