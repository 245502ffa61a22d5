package main

import (
	"path/filepath"

	"acp-agent/acp/agent"
	"acp-agent/hooks"
	"acp-agent/hooks/codex"
)

// hooks loads the hooks of a session's directory; nil when there are none to
// run.
func (w *wiring) hooks(p *agent.SessionParams) (*hooks.Set, error) {
	if !w.cfg.Hooks.Enabled {
		return nil, nil
	}
	cwd := p.Header.Cwd
	files, _ := codex.Discover(codex.DiscoverOptions{Extra: w.cfg.Hooks.CodexFiles})
	cx, _ := codex.New(codex.Options{Files: files, Env: hooks.Environ(w.cfg.HookEnviron()), Home: w.cfg.Home()})
	return hooks.NewEngine(hooks.Options{
		Dialects: []hooks.Dialect{cx}, ProjectDir: cwd,
		Trust: hooks.OpenTrust(w.cfg.StateDir), SpillDir: filepath.Join(w.cfg.StateDir, "hook-output"),
	}), nil
}

// transcriber makes the transcript of a session in a dialect's format.
func transcriber(dialect string, m hooks.TranscriptMeta) hooks.Transcriber {
	if dialect == "codex" {
		return codex.NewTranscriber(m)
	}
	return nil
}
