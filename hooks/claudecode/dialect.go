package claudecode

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"acp-agent/hooks"
)

// Config makes a Dialect.
type Config struct {
	// Files are Discover's, in its order.
	Files []*File
	// Env is the agent's environment; hooks inherit it less what is hidden.
	Env  hooks.Environ
	Home string
	PID  int

	// HideEnv names the variables that hooks do not get: the model providers'
	// keys, by default DefaultHideEnv. AllowEnv takes names out of it again.
	// OTEL_* are always hidden (Claude Code hooks reference, execution).
	HideEnv, AllowEnv []string
	// EnvFile returns the file that CLAUDE_ENV_FILE names for a session, whose
	// export lines the agent sources before bash calls. It is called for
	// SessionStart, CwdChanged and FileChanged. Nil: the variable is not set.
	EnvFile func(sessionID string) string

	// MaxText caps additionalContext, systemMessage and plain stdout, in
	// characters; 0 is the vendor's 10,000, negative none.
	MaxText int
	// ASCII escapes all non-ASCII text in payloads, for locales in which hooks
	// misread UTF-8 (claude-plugins-official#4104). Off, as hooks grep payloads for it (public configs).
	ASCII bool

	// HTTP sends http hooks; nil is a plain client without proxies. MCP and
	// Judge serve the other types; where one is nil, its handlers are held.
	HTTP  *http.Client
	MCP   hooks.MCPCaller
	Judge hooks.Judge
}

// DefaultHideEnv are the keys of the model providers that this agent speaks to.
var DefaultHideEnv = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "DEEPSEEK_API_KEY", "OPENAI_API_KEY"}

// ownEnv are variables that only a hook's own occasion may set: those that the
// agent inherits are another agent's, in whose terminal it was started.
var ownEnv = []string{
	"CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_EFFORT", "CLAUDE_PID", "CLAUDE_CODE_SESSION_ID",
	"CLAUDE_PROJECT_DIR", "CLAUDE_CODE_BRIDGE_SESSION_ID",
}

const optionPrefix = "CLAUDE_PLUGIN_OPTION_"

// credentials are what CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1 takes out beside the
// providers' keys: those of the clouds that serve models, and of the runners that
// agents work on. A name goes with INPUT_ before it as well, as a runner hands an
// action its inputs. Tokens of a forge stay: hooks work with them.
var credentials = append([]string{
	"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_FOUNDRY_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN",
	"AWS_BEARER_TOKEN_BEDROCK", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_CLIENT_SECRET", "GOOGLE_APPLICATION_CREDENTIALS",
	"ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_RUNTIME_URL",
	"SSH_SIGNING_KEY",
}, DefaultHideEnv...)

// hidden says of which variables of the agent's a hook gets none.
func (d *Dialect) hidden() func(key string) bool {
	cfg, scrub := &d.cfg, d.Variable("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB")
	return func(key string) bool {
		switch {
		case hooks.IsOTel(key), slices.Contains(ownEnv, key), strings.HasPrefix(key, optionPrefix):
			return true
		case scrub == "1" && slices.Contains(credentials, strings.TrimPrefix(key, "INPUT_")):
			return true
		}
		return slices.Contains(cfg.HideEnv, key) && !slices.Contains(cfg.AllowEnv, key)
	}
}

// Dialect is Claude Code's hooks, loaded. It implements hooks.Dialect.
type Dialect struct {
	cfg      Config
	handlers []*hooks.Handler
	env      hooks.Environ // what every hook inherits
	// vars are the env blocks of the settings that are not a repository's.
	vars hooks.Environ

	// endBudget is what all SessionEnd hooks share (Claude Code hooks reference, handlers).
	endBudget time.Duration
	// asking bounds prompt and agent hooks: twelve at once (Claude Code hooks reference, handlers).
	asking chan struct{}
}

var (
	_ hooks.Dialect = (*Dialect)(nil)
	_ hooks.Capper  = (*Dialect)(nil)
	_ hooks.Idler   = (*Dialect)(nil)
)

// New makes the dialect of the files, which it leaves as they are. The switches of
// all of them are settled here: handlers that they turn off say so in Why.
func New(cfg Config) *Dialect {
	if cfg.HideEnv == nil {
		cfg.HideEnv = DefaultHideEnv
	}
	d := &Dialect{cfg: cfg, asking: make(chan struct{}, 12)}
	d.cfg.Files = ownHandlers(cfg.Files)
	for _, f := range d.cfg.Files {
		d.handlers = append(d.handlers, f.Handlers...)
	}
	for _, f := range byPrecedence(cfg.Files) {
		// A repository's env block goes to its own, trusted hooks only.
		if !f.Layer.NeedsTrust() {
			for _, k := range sortedKeys(f.Env) {
				d.vars = d.vars.Set(k, f.Env[k])
			}
		}
	}
	d.env = cfg.Env.Without(d.hidden())
	for _, kv := range d.vars {
		k, v, _ := strings.Cut(kv, "=")
		d.env = d.env.Set(k, v)
	}
	d.switches()
	d.budget()
	return d
}

// ownHandlers returns the files with handlers of their own: what is settled of a
// handler, its trust too, is the session's.
func ownHandlers(files []*File) []*File {
	switches := map[*hooks.Handler]*hooks.Handler{}
	out := make([]*File, len(files))
	for i, f := range files {
		own := *f
		own.Handlers = make([]*hooks.Handler, len(f.Handlers))
		for j, h := range f.Handlers {
			own.Handlers[j] = ownHandler(h)
		}
		if f.offBy != nil {
			if switches[f.offBy] == nil {
				switches[f.offBy] = ownHandler(f.offBy)
			}
			own.offBy = switches[f.offBy]
		}
		out[i] = &own
	}
	return out
}

func ownHandler(h *hooks.Handler) *hooks.Handler {
	own, x := *h, *extOf(h)
	own.Ext = &x
	return &own
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// budget settles the time that SessionEnd hooks share: 1.5 seconds, up to 60 by
// the timeouts that settings files name, or what the environment says.
func (d *Dialect) budget() {
	d.endBudget = 1500 * time.Millisecond
	if v := d.Variable("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS"); v != "" {
		if ms, err := strconv.Atoi(v); err == nil && ms > 0 {
			d.endBudget = seconds(float64(ms) / 1000)
		}
	} else {
		for _, h := range d.handlers {
			if h.Event == hooks.SessionEnd && h.TimeoutSet && !h.Place.Layer.Plugin() {
				d.endBudget = min(max(d.endBudget, h.Timeout), 60*time.Second)
			}
		}
	}
	for _, h := range d.handlers {
		if h.Event == hooks.SessionEnd {
			if !h.TimeoutSet || h.Place.Layer.Plugin() {
				h.Timeout = d.endBudget
			}
			h.Timeout = min(h.Timeout, d.endBudget)
		}
	}
}

// Variable is a variable as the vendor's program would have it: the env block of the
// settings, a repository's left out, stands above the environment (Claude Code
// settings reference, env). "" where neither sets it.
func (d *Dialect) Variable(name string) string {
	if v, ok := d.vars.Get(name); ok {
		return v
	}
	v, _ := d.cfg.Env.Get(name)
	return v
}

// Name implements hooks.Catalog.
func (d *Dialect) Name() string { return Name }

// Handlers implements hooks.Catalog.
func (d *Dialect) Handlers() []*hooks.Handler { return d.handlers }

// Match implements hooks.Catalog. Identical handlers of several settings files
// run once; a plugin's copies run beside them (Claude Code hooks reference, execution, claude-code#76297).
func (d *Dialect) Match(c *hooks.Call) []*hooks.Handler {
	ev := eventOf(c)
	var (
		out   []*hooks.Handler
		names []string
		seen  map[string]bool
	)
	for _, h := range d.handlers {
		if h.Event != ev {
			continue
		}
		x := extOf(h)
		if x.quiet {
			continue
		}
		if names == nil {
			names = subject(ev, c)
		}
		if !x.matcher.matches(names...) {
			continue
		}
		if x.rule != nil && !x.rule.matches(c, d.cfg.Home) {
			continue
		}
		if h.Why == "" && !h.Place.Layer.Plugin() {
			if seen == nil {
				seen = map[string]bool{}
			}
			key := dedupeKey(h, x)
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		out = append(out, h)
	}
	return out
}

func dedupeKey(h *hooks.Handler, x *ext) string {
	parts := append([]string{h.Type, h.Command, h.Shell, x.model, x.ifText, strconv.FormatBool(h.ExecForm), string(x.input)}, h.Args...)
	// A repository's env block makes another command of it.
	for _, k := range sortedKeys(x.env) {
		parts = append(parts, k+"="+x.env[k])
	}
	return strings.Join(parts, "\x00")
}

// Exec implements hooks.Speaker.
func (d *Dialect) Exec(ctx context.Context, job *hooks.Job) hooks.Exit {
	h := job.Handler
	if h.Type == "command" {
		p, err := d.process(job)
		if err != nil {
			return hooks.Exit{Code: -1, StartErr: err}
		}
		return hooks.RunProcess(ctx, job.Background, p)
	}
	limited, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	var exit hooks.Exit
	switch h.Type {
	case "http":
		exit = d.post(limited, job)
	case "mcp_tool":
		exit = d.callMCP(limited, job)
	default:
		exit = d.ask(limited, job)
	}
	switch {
	case ctx.Err() != nil:
		return hooks.Exit{Code: -1, Cancelled: true}
	case limited.Err() != nil && !exit.OK():
		return hooks.Exit{Code: -1, TimedOut: true}
	}
	return exit
}

// Cap implements hooks.Capper: additionalContext, systemMessage and plain
// stdout above 10,000 characters go to a file (Claude Code hooks reference, output). A block's reason is
// never cut: it is the instruction that the turn goes on with.
func (d *Dialect) Cap(h *hooks.Handler, kind hooks.TextKind, text string, spill func(string) (string, error)) (string, bool) {
	limit := d.cfg.MaxText
	if limit == 0 {
		limit = 10_000
	}
	if kind == hooks.ReasonText || kind == hooks.ReplaceText || limit < 0 || len(text) <= limit {
		return text, false
	}
	n := len([]rune(text))
	if n <= limit {
		return text, false
	}
	const preview = 2000
	head := hooks.Head(text, preview)
	path, err := spill(text)
	if err != nil {
		return head + "\n… (" + itoa(n) + " characters in all; the rest could not be kept: " + err.Error() + ")", true
	}
	return head + "\n… (" + itoa(n) + " characters in all; the full text is in " + filepath.ToSlash(path) + ")", true
}
