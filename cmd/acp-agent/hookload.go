package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
)

// hookOptions are what a session adds to the hooks of its directory.
type hookOptions struct {
	mcp      hooks.MCPCaller
	prompter hooks.Prompter
	deliver  func(t hooks.Text, rewake bool)
	notify   func(hooks.Text)
	envFile  func(sessionID string) string
	session  string // its id
	// previous is the session's engine until now, when files have changed.
	previous *hooks.Set
}

// systemCodexDir is where an administrator configures Codex.
const systemCodexDir = "/etc/codex"

// loadHooks reads the hooks that a session in a directory has, both dialects,
// and what is wrong with their files. Nothing is started.
func loadHooks(cfg *config.Config, cwd string, o hookOptions) (*hooks.Set, []hooks.Problem) {
	env := hooks.Environ(cfg.HookEnviron())
	home := cfg.Home()
	ccFiles, problems := claudecode.Discover(claudecode.DiscoverOptions{
		Env: env, Cwd: cwd, Home: home, ConfigDir: cfg.Hooks.ClaudeDir, Extra: cfg.Hooks.ClaudeFiles,
		DataDir: pluginData(cfg),
	})
	// The environment has lost the providers' keys already, but for those that
	// the config file lets through.
	cc := claudecode.New(claudecode.Config{
		Files: ccFiles, Env: env, Home: home, PID: os.Getpid(), HideEnv: []string{},
		EnvFile: o.envFile, MCP: o.mcp, Prompter: o.prompter,
	})
	cxFiles, more := codex.Discover(codex.DiscoverOptions{
		Cwd: cwd, Home: home, CodexHome: cfg.Hooks.CodexDir, SystemDir: systemCodexDir, Extra: cfg.Hooks.CodexFiles,
		DataDir: pluginData(cfg),
	})
	problems = append(problems, more...)
	cx, more := codex.New(codex.Options{Files: cxFiles, Env: env, Shell: passwdShell(), Home: home, MCP: o.mcp})
	set := hooks.NewEngine(hooks.Options{
		Dialects: []hooks.Dialect{cc, cx}, ProjectDir: cwd, Trust: hooks.OpenTrust(cfg.StateDir),
		SpillDir: spillDir(cfg, o.session), Deliver: o.deliver, Notify: o.notify, Previous: o.previous,
	})
	return set, append(problems, more...)
}

// spillDir is where a session keeps what hooks wrote beyond the limit; "" where
// nothing is kept.
func spillDir(cfg *config.Config, id string) string {
	if cfg.StateDir == "" {
		return ""
	}
	return filepath.Join(cfg.StateDir, "hook-output", id)
}

// pluginData is where plugins that the person names keep their data.
func pluginData(cfg *config.Config) string {
	if cfg.StateDir == "" {
		return ""
	}
	return filepath.Join(cfg.StateDir, "plugin-data")
}

// passwdShell is the person's shell by the user database, which Codex runs hooks
// with. It is looked up once a process, not once a session.
var passwdShell = sync.OnceValue(func() string {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	return codex.PasswdShell(string(data), strconv.Itoa(os.Getuid()))
})

// describeHooks says for a person which hooks run in a directory.
func (w *wiring) describeHooks(cwd string) string {
	if !w.cfg.Hooks.Enabled {
		return "Hooks are switched off."
	}
	set, problems := loadHooks(w.cfg, cwd, hookOptions{mcp: noSession{}, prompter: prompter{w.models}})
	defer set.Close()
	var b bytes.Buffer
	listHooks(&b, w.cfg, set.Handlers(), problems)
	return b.String()
}
