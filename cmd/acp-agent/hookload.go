package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"acp-agent/acp/agent"
	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
)

// hookOptions are what a session adds to the hooks of its directory.
type hookOptions struct {
	mcp     hooks.MCPCaller
	judge   hooks.Judge
	deliver func(hooks.Late)
	notify  func(hooks.Text)
	envFile func(sessionID string) string
	session string // its id
	// commands are the command files whose hooks count.
	commands []claudecode.CommandFile
	// previous is what the session had until now, when files have changed; found
	// is what another session of the directory found, when none has.
	previous *loadedHooks
	found    *foundHooks
	// decided is what the person has decided for a session.
	decided map[string]hooks.TrustState
}

// loadedHooks are the hooks of a directory, both dialects, and what is wrong with
// their files.
type loadedHooks struct {
	*foundHooks
	set      *hooks.Set
	problems []hooks.Problem
	// stopCap is how often in a row stop hooks may keep a turn going.
	stopCap int
}

// systemCodexDir is where an administrator configures Codex.
const systemCodexDir = "/etc/codex"

// loadHooks reads the hooks that a session in a directory has. Nothing is
// started.
func loadHooks(cfg *config.Config, cwd string, o hookOptions) *loadedHooks {
	l := &loadedHooks{foundHooks: o.found}
	var before *hooks.Set
	switch {
	case o.previous != nil:
		before, l.foundHooks = o.previous.set, findHooks(cfg, cwd, o.commands, hooks.NewWatch(o.previous.watch))
	case l.foundHooks == nil:
		l.foundHooks = findHooks(cfg, cwd, o.commands, hooks.NewWatch(nil))
	}
	env := hooks.Environ(cfg.HookEnviron())
	home := cfg.Home()
	// The environment has lost the providers' keys already, but for those that
	// the config file lets through.
	cc := claudecode.New(claudecode.Config{
		Files: l.claude, Env: env, Home: home, PID: os.Getpid(), HideEnv: []string{},
		EnvFile: o.envFile, MCP: o.mcp, Judge: o.judge,
	})
	l.stopCap = cfg.StopCap(cc.Variable(config.StopCapVariable))
	cx, more := codex.New(codex.Options{Files: l.codex, Env: env, Shell: passwdShell(), Home: home, MCP: o.mcp})
	l.problems = slices.Concat(l.faults, more)
	trust, more := l.trustStore(cfg)
	l.problems = append(l.problems, more...)
	l.set = hooks.NewEngine(hooks.Options{
		Dialects: []hooks.Dialect{cc, cx}, ProjectDir: cwd, Trust: trust, Watch: l.watch,
		SpillDir: spillDir(cfg, o.session), Deliver: o.deliver, Notify: o.notify, Previous: before, Decided: o.decided,
	})
	return l
}

// trustStore is where the person's decisions are kept. One that lies in the
// project is the repository's word: it could vouch for itself.
func (f *foundHooks) trustStore(cfg *config.Config) (*hooks.Trust, []hooks.Problem) {
	if cfg.StateDir == "" {
		return nil, nil
	}
	if f.vouched {
		return nil, []hooks.Problem{{File: cfg.StateDir, Text: "the state directory lies in this project, whose repository could vouch for its own hooks there: what is trusted is neither read nor kept; name another with --state-dir"}}
	}
	return hooks.OpenTrust(cfg.StateDir), nil
}

func stateInProject(cfg *config.Config, cwd string) bool {
	return hooks.FromRepository(cfg.StateDir, hooks.RepositoryRoot(cwd), cfg.Home())
}

// settingsSource is Claude Code's name for a layer (Claude Code hooks reference,
// ConfigChange).
func settingsSource(l hooks.Layer) string {
	switch l {
	case hooks.LayerManaged, hooks.LayerSystem:
		return "policy_settings"
	case hooks.LayerProject, hooks.LayerOffered:
		return "project_settings"
	case hooks.LayerLocal:
		return "local_settings"
	case hooks.LayerCommand, hooks.LayerProjectCommand:
		return "skills"
	}
	return "user_settings"
}

// source is settingsSource of something that has changed: a file that was read,
// or a directory that says which files there are.
func (l *loadedHooks) source(path string) string {
	if s, ok := l.sources[path]; ok {
		return s
	}
	for file, s := range l.sources {
		if rel, err := filepath.Rel(path, file); err == nil && filepath.IsLocal(rel) {
			return s
		}
	}
	if filepath.Base(path) == "managed-settings.d" {
		return "policy_settings"
	}
	return "user_settings"
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

// claudeCommandDirs are the directories of Claude Code's command files, the
// project's and the person's.
func claudeCommandDirs(cfg *config.Config, cwd string) []string {
	dirs := []string{filepath.Join(cwd, ".claude", "commands")}
	if dir := cfg.Hooks.ClaudeDir; dir != "" {
		dirs = append(dirs, filepath.Join(dir, "commands"))
	}
	return dirs
}

// claudeCommands are the command files of a directory that Claude Code has, too,
// for who wants to know what would count.
func claudeCommands(cfg *config.Config, cwd string) []claudecode.CommandFile {
	var out []claudecode.CommandFile
	for _, dir := range claudeCommandDirs(cfg, cwd) {
		agent.CommandFiles(dir, func(name, path string) {
			out = append(out, claudecode.CommandFile{Name: name, Path: path})
		})
	}
	return out
}

// describeHooks says for a person which hooks run in a session and its directory.
func (w *wiring) describeHooks(session, cwd string) string {
	if !w.cfg.Hooks.Enabled {
		return "Hooks are switched off."
	}
	o := hookOptions{mcp: noSession{}, judge: &dryJudge{}, commands: claudeCommands(w.cfg, cwd)}
	if set, ok := w.sets.Load(session); ok {
		o.decided = set.(*hooks.Set).Decisions()
	}
	l := loadHooks(w.cfg, cwd, o)
	defer l.set.Close()
	var b bytes.Buffer
	listHooks(&b, w.cfg, l)
	return b.String()
}
