package main

import (
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
	"acp-agent/loop"
	"acp-agent/session"
)

// loadedHooks are the hooks of a directory and what is wrong with their files.
type loadedHooks struct {
	set      *hooks.Set
	problems []hooks.Problem
}

// loadHooks reads the hook files of both dialects for a session; nil when hooks
// are switched off. It starts nothing.
func (w *wiring) loadHooks(cwd string, o hookOptions) *loadedHooks {
	if !w.cfg.Hooks.Enabled {
		return nil
	}
	set, problems := loadHooks(w.cfg, cwd, o)
	return &loadedHooks{set: set, problems: problems}
}

// transcriber makes the transcript of a session in a dialect's format.
func transcriber(dialect string, m hooks.TranscriptMeta) hooks.Transcriber {
	switch dialect {
	case "claude-code":
		return claudecode.NewTranscriber(m)
	case "codex":
		return codex.NewTranscriber(m)
	}
	return nil
}

// notices are what the person is told of hook files that are not in order.
func (l *loadedHooks) notices() []session.Notice {
	var out []session.Notice
	for _, p := range l.problems {
		text := "Hooks: " + p.File
		if p.Where != "" {
			text += ": " + p.Where
		}
		out = append(out, session.Notice{Severity: "warning", Text: text + ": " + p.Text, Source: session.Source{Kind: session.SourceAgent}})
	}
	return out
}

// trustGate lets the first prompt ask about hooks that a repository brings
// (loop.Trust).
type trustGate struct{ set *hooks.Set }

// Held implements loop.Trust.
func (g trustGate) Held() []loop.HeldHook {
	var out []loop.HeldHook
	for _, h := range g.set.Held() {
		out = append(out, loop.HeldHook{ID: h.ID(), File: h.Place.File, Event: string(h.Event), Command: h.Describe()})
	}
	return out
}

// Approve implements loop.Trust.
func (g trustGate) Approve(ids []string, always bool) error { return g.set.Approve(ids, always) }

// Reject implements loop.Trust.
func (g trustGate) Reject(ids []string, always bool) error { return g.set.Reject(ids, always) }
