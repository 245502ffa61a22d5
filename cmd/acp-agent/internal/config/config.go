// Package config is the only reader of the environment, of config files and of
// stored credentials. Everything else is given a Config.
//
// Load is cheap on purpose: an editor waits for the initialize reply of a process
// that has just been started. It decodes config.toml when there is one and looks
// up nothing else; keys, credentials and directories are looked up when they are
// asked for (Key, ResolveModel, EnsureStateDir). A flag beats a variable, a
// variable beats the file, the file beats the default.
//
// It knows no provider's wire, no hook dialect and no ACP: it hands out names,
// paths, numbers and strings.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"acp-agent/internal/files"
)

// Flags are the common flags as they were given; empty means not given.
type Flags struct {
	Model      string
	StateDir   string
	ConfigFile string
	LogLevel   string
	LogFile    string
	Trace      string
	Mode       string

	ClaudeHooks []string
	CodexHooks  []string
	NoHooks     bool
}

// Config is the merged configuration of one process.
type Config struct {
	// Model is the model that was asked for; its zero value means that none was
	// (see ResolveModel).
	Model ModelRef
	// Effort is the reasoning effort to start sessions with, empty for the
	// provider's default.
	Effort string

	// File is the config file that was read, or the one that would be; Dir is
	// its directory, which also holds the stored credentials. Both are empty
	// when no place for them is known (no HOME).
	File, Dir string
	// StateDir holds logs, trust and remembered answers. It may be empty and may
	// not exist yet: use EnsureStateDir.
	StateDir string

	LogLevel slog.Level
	// LogFile is empty for stderr. Trace is the file of the raw wire, or empty.
	LogFile, Trace string

	Hooks       Hooks
	Limits      Limits
	Permissions Permissions
	Client      Client
	// Fork serves the unstable session/fork.
	Fork bool

	env  Env
	file file
	// data is the file as it was read.
	data []byte
}

// Hooks says which hooks run.
type Hooks struct {
	// Enabled is false with --no-hooks, ACP_AGENT_NO_HOOKS or hooks.enabled = false.
	Enabled bool
	// ClaudeFiles and CodexFiles are extra hook files, absolute; being named by
	// the person they count as trusted.
	ClaudeFiles, CodexFiles []string
	// ClaudeDir and CodexDir are where the person's own settings of the two
	// programs are (CLAUDE_CONFIG_DIR, CODEX_HOME), empty when not known.
	ClaudeDir, CodexDir string
}

// Limits bound what a turn may do.
type Limits struct {
	// MaxSteps is how many model requests one turn may make.
	MaxSteps int
	// StopContinuations is how often in a row stop hooks may keep a turn going
	// without a tool having run.
	StopContinuations int
	// Retries is how often a failed model request is tried again.
	Retries int
	// IdleTimeout is how long a model stream may be silent.
	IdleTimeout time.Duration
	// ToolTimeout is a shell command's default time limit.
	ToolTimeout time.Duration
	// MaxTokens bounds one answer; 0 leaves it to the provider.
	MaxTokens int64
}

// Permissions are the rules of the config file, in the syntax of
// loop/permission, and the mode that sessions start in.
type Permissions struct {
	Mode             string
	Allow, Ask, Deny []string
	// RememberProject: "always" answers are for all sessions of the project, not
	// for the one session.
	RememberProject bool
}

// Client says which of the client's services are preferred to the agent's own.
type Client struct {
	// Terminal runs commands in the client's terminal, Files reads and writes
	// files through the client, where the client offers it.
	Terminal, Files bool
}

// Load merges flags, environment and config file. Its errors are *Error.
func Load(f Flags, env Env) (*Config, error) {
	c := &Config{env: env}
	if err := c.loadFile(f.ConfigFile); err != nil {
		return nil, err
	}
	if err := c.setModel(f.Model); err != nil {
		return nil, err
	}
	if err := c.setLog(f); err != nil {
		return nil, err
	}
	c.setState(f.StateDir)
	c.setLimits()
	c.setHooks(f)
	var err error
	if c.Effort, err = oneOf("effort", efforts, said{env.Get("ACP_AGENT_EFFORT"), "ACP_AGENT_EFFORT"}, said{c.file.Effort, c.File}); err != nil {
		return nil, err
	}
	mode, err := oneOf("permission mode", modes, said{f.Mode, "--mode"}, said{env.Get("ACP_AGENT_MODE"), "ACP_AGENT_MODE"}, said{c.file.Permissions.Mode, c.File})
	if err != nil {
		return nil, err
	}
	c.Permissions = Permissions{
		Mode:  first(mode, modes[0]),
		Allow: c.file.Permissions.Allow, Ask: c.file.Permissions.Ask, Deny: c.file.Permissions.Deny,
		RememberProject: c.file.Permissions.Remember == "project",
	}
	c.Fork = c.file.Unstable.Fork
	c.Client = Client{Terminal: orTrue(c.file.Client.Terminal), Files: orTrue(c.file.Client.Files)}
	return c, nil
}

// The permission modes, the default first, and the reasoning efforts.
var (
	modes   = []string{"default", "acceptEdits", "plan", "bypassPermissions"}
	efforts = []string{"off", "low", "medium", "high", "max"}
)

// said is a value and where it was given.
type said struct{ value, where string }

// oneOf returns the first value that was given. One that is not allowed is an
// error: a mistyped mode must not quietly be another one.
func oneOf(what string, allowed []string, values ...said) (string, error) {
	for _, v := range values {
		switch {
		case v.value == "":
		case slices.Contains(allowed, v.value):
			return v.value, nil
		default:
			return "", &Error{What: fmt.Sprintf("%s: there is no %s %q", v.where, what, v.value), Do: "use " + orList(allowed), Usage: true}
		}
	}
	return "", nil
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// loadFile reads the config file. A default file that is not there is fine; one
// that was named must exist.
func (c *Config) loadFile(flag string) error {
	named := first(flag, c.env.Get("ACP_AGENT_CONFIG"))
	if named != "" {
		abs, err := c.env.Abs(named)
		if err != nil {
			return fail("finding the config file "+named, err, "give an absolute path")
		}
		c.File, c.Dir = abs, filepath.Dir(abs)
	} else if dir := c.env.ConfigHome(); dir != "" {
		c.Dir = filepath.Join(dir, "acp-agent")
		c.File = filepath.Join(c.Dir, "config.toml")
	}
	if c.File == "" {
		return nil
	}
	data, err := os.ReadFile(c.File)
	switch {
	case err == nil:
		c.data = bytes.TrimPrefix(data, bom)
		return c.file.decode(c.File, c.data)
	case errors.Is(err, fs.ErrNotExist) && named == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fail("reading the config file "+c.File, errors.New("no such file"), "create it, or leave out --config and ACP_AGENT_CONFIG")
	}
	return fail("reading the config file "+c.File, files.Cause(err), "make it readable, or name another with --config")
}

func (c *Config) setModel(flag string) error {
	for _, from := range []struct {
		value, where string
		usage        bool
	}{
		{flag, "--model", true},
		{c.env.Get("ACP_AGENT_MODEL"), "ACP_AGENT_MODEL", true},
		{c.file.Model, "model in " + c.Place("model"), false},
	} {
		if from.value == "" {
			continue
		}
		ref, err := ParseModel(from.value)
		if err == nil {
			err = c.checkProvider(ref)
		}
		if err != nil {
			return &Error{What: from.where + ": " + err.Error(), Do: c.modelHelp(), Usage: from.usage}
		}
		c.Model = ref
		return nil
	}
	return nil
}

func (c *Config) checkProvider(ref ModelRef) error {
	if ref.Provider == Replay {
		return nil
	}
	if _, ok := c.provider(ref.Provider); !ok {
		return fmt.Errorf("no provider is called %q", ref.Provider)
	}
	return nil
}

func (c *Config) setLog(f Flags) error {
	level := first(f.LogLevel, c.env.Get("ACP_AGENT_LOG_LEVEL"), c.file.LogLevel, "warn")
	switch strings.ToLower(level) {
	case "debug":
		c.LogLevel = slog.LevelDebug
	case "info":
		c.LogLevel = slog.LevelInfo
	case "warn":
		c.LogLevel = slog.LevelWarn
	case "error":
		c.LogLevel = slog.LevelError
	default:
		return &Error{What: fmt.Sprintf("log level %q is not known", level), Do: "use debug, info, warn or error", Usage: true}
	}
	c.LogFile = c.env.Expand(first(f.LogFile, c.env.Get("ACP_AGENT_LOG_FILE"), c.file.LogFile))
	c.Trace = c.env.Expand(first(f.Trace, c.env.Get("ACP_AGENT_TRACE"), c.file.Trace))
	return nil
}

func (c *Config) setState(flag string) {
	dir := c.env.Expand(first(flag, c.env.Get("ACP_AGENT_STATE_DIR"), c.file.StateDir))
	if dir == "" {
		if home := c.env.StateHome(); home != "" {
			dir = filepath.Join(home, "acp-agent")
		}
	}
	c.StateDir = c.env.absolute(dir)
}

// StopCapVariable is Claude Code's variable for Limits.StopContinuations. It may
// stand in the env block of a settings file, too, which this package does not read.
const StopCapVariable = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

// StopCap is Limits.StopContinuations where StopCapVariable has the value: the
// config file's word, else the variable's, else Claude Code's 8.
func (c *Config) StopCap(variable string) int {
	if n := c.file.Limits.StopContinuations; n != nil {
		return *n
	}
	if n, err := strconv.Atoi(variable); err == nil && n >= 0 {
		return n
	}
	return 8
}

func (c *Config) setLimits() {
	l := &c.file.Limits
	c.Limits = Limits{
		MaxSteps:          or(l.MaxSteps, 200),
		StopContinuations: c.StopCap(c.env.Get(StopCapVariable)),
		Retries:           or(l.Retries, 5),
		IdleTimeout:       or(l.IdleTimeout, Duration{span: 5 * time.Minute}).span,
		ToolTimeout:       or(l.ToolTimeout, Duration{span: 2 * time.Minute}).span,
		MaxTokens:         or(l.MaxTokens, 0),
	}
}

func (c *Config) setHooks(f Flags) {
	h := &c.file.Hooks
	c.Hooks = Hooks{
		Enabled:   !f.NoHooks && !truthy(c.env.Get("ACP_AGENT_NO_HOOKS")) && orTrue(h.Enabled),
		ClaudeDir: c.env.absolute(first(c.env.Get("CLAUDE_CONFIG_DIR"), c.env.inHome(".claude"))),
		CodexDir:  c.env.absolute(first(c.env.Get("CODEX_HOME"), c.env.inHome(".codex"))),
	}
	c.Hooks.ClaudeFiles = c.paths(f.ClaudeHooks, "ACP_AGENT_CLAUDE_HOOKS", h.ClaudeFiles)
	c.Hooks.CodexFiles = c.paths(f.CodexHooks, "ACP_AGENT_CODEX_HOOKS", h.CodexFiles)
}

// paths adds up the three places: extra hook files do not replace one another.
// A path in the config file counts from that file's directory, the others from
// the working directory.
func (c *Config) paths(flags []string, variable string, inFile []string) []string {
	var out []string
	add := func(p, base string) {
		p = c.env.Expand(p)
		if p == "" {
			return
		}
		if !filepath.IsAbs(p) && base != "" {
			p = filepath.Join(base, p)
		}
		if abs, err := c.env.Abs(p); err == nil {
			p = abs
		}
		out = append(out, p)
	}
	for _, p := range inFile {
		add(p, c.Dir)
	}
	for _, p := range filepath.SplitList(c.env.Get(variable)) {
		add(p, "")
	}
	for _, p := range flags {
		add(p, "")
	}
	return out
}

// EnsureStateDir makes the state directory, private to the person, and returns
// it.
func (c *Config) EnsureStateDir() (string, error) {
	if c.StateDir == "" {
		return "", &Error{What: "finding the state directory: neither XDG_STATE_HOME nor HOME is set", Do: "give one with --state-dir or ACP_AGENT_STATE_DIR"}
	}
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return "", fail("making the state directory "+c.StateDir, files.Cause(err), "name a writable one with --state-dir or ACP_AGENT_STATE_DIR")
	}
	return c.StateDir, nil
}

// SessionsDir is where session logs lie.
func (c *Config) SessionsDir() string { return filepath.Join(c.StateDir, "sessions") }

// Getenv returns a variable of the process's environment, for the few that
// belong to other programs (PATH, SHELL, TERM).
func (c *Config) Getenv(name string) string { return c.env.Get(name) }

// Home is the person's home directory, empty when it is not known.
func (c *Config) Home() string { return c.env.Home() }

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

func or[T any](p *T, def T) T {
	if p != nil {
		return *p
	}
	return def
}

func orTrue(p *bool) bool { return or(p, true) }

func truthy(s string) bool {
	switch strings.ToLower(s) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}
