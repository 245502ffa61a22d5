package main

import (
	"path/filepath"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/codex"
)

// loadHooks reads the hooks that a session in a directory has, both dialects,
// and what is wrong with their files. Nothing is started.
func loadHooks(cfg *config.Config, cwd string) (*hooks.Set, []hooks.Problem) {
	env := hooks.Environ(cfg.HookEnviron())
	files, problems := codex.Discover(codex.DiscoverOptions{Extra: cfg.Hooks.CodexFiles})
	cx, more := codex.New(codex.Options{Files: files, Env: env, Home: cfg.Home()})
	set := hooks.NewEngine(hooks.Options{
		Dialects: []hooks.Dialect{cx}, ProjectDir: cwd,
		Trust: hooks.OpenTrust(cfg.StateDir), SpillDir: filepath.Join(cfg.StateDir, "hook-output"),
	})
	return set, append(problems, more...)
}
