package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"acp-agent/acp/agent"
	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
	"acp-agent/loop"
	"acp-agent/loop/tool/shell"
	"acp-agent/session"
)

// sessionHooks are the hooks of one session: loaded at its start, and again when
// a file changes.
type sessionHooks struct {
	w    *wiring
	cwd  string
	opts hookOptions

	*loadedHooks
	// refused are files whose change a hook has refused, with their sources.
	refused map[string]string
	// said are the notices that the person has had.
	said map[string]bool
	live atomic.Pointer[loop.Session]
}

// sessionHooks loads the hooks of both dialects for a session; nil when hooks
// are switched off. It starts nothing.
func (w *wiring) sessionHooks(p *agent.SessionParams, mcp hooks.MCPCaller) *sessionHooks {
	if !w.cfg.Hooks.Enabled {
		return nil
	}
	s := &sessionHooks{w: w, cwd: p.Header.Cwd, said: map[string]bool{}}
	s.opts = hookOptions{
		mcp: mcp, judge: sessionJudge{&s.live}, session: p.Header.ID,
		envFile: func(id string) string {
			path := w.envFile(id)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				w.log.Warn("hooks get no CLAUDE_ENV_FILE", "error", err)
				return ""
			}
			return path
		},
		deliver: func(late hooks.Late) {
			l := s.live.Load()
			if l == nil {
				return
			}
			if err := l.Deliver(w.ctx, late); err != nil && w.ctx.Err() == nil {
				w.log.Warn("what a hook in the background said is not on the log", "handler", late.Handler, "error", err)
			}
		},
		notify: func(t hooks.Text) {
			l := s.live.Load()
			if l == nil {
				return
			}
			n := &session.Notice{Severity: "warning", Text: t.Text, Source: session.Source{Kind: session.SourceHook, Name: t.Dialect, Handler: t.Handler}}
			if err := l.Record(w.ctx, n); err != nil { // it came too late, say: it is said here or nowhere
				w.log.Warn("a hook's notice was not recorded", "notice", t.Text, "error", err)
			}
		},
	}
	opts := s.opts
	opts.found = w.found.find(w.cfg, s.cwd)
	s.loadedHooks = loadHooks(w.cfg, s.cwd, opts)
	return s
}

// steering is what decides what this program runs by itself, and what it asks.
func steering(cfg *config.Config) []string {
	return slices.Concat([]string{cfg.File, cfg.Dir, cfg.StateDir, cfg.Hooks.ClaudeDir, cfg.Hooks.CodexDir}, cfg.Hooks.ClaudeFiles, cfg.Hooks.CodexFiles)
}

// into puts the hooks into a session's configuration.
func (s *sessionHooks) into(cfg *loop.Config) {
	cfg.Hooks, cfg.Trust, cfg.Notices, cfg.Reload = s.set, trustGate{s.set}, s.notices(), s.reload
	cfg.OnCommand, cfg.Limits.Continuations = s.onCommand, s.stopCap
	cfg.OnOpen = func(l *loop.Session) { s.live.Store(l) }
	cfg.HookModel = s.w.models.hookModel
}

// reload is loop.Config.Reload. It is called by the session's owner alone.
func (s *sessionHooks) reload() (loop.Reloaded, bool) {
	if !s.set.Changed() {
		return loop.Reloaded{}, false
	}
	changed := maps.Clone(s.refused)
	if changed == nil {
		changed = map[string]string{}
	}
	for _, f := range s.set.ChangedFiles() {
		changed[f] = s.source(f)
	}
	return s.load(changed), true
}

// load reads the hooks anew. changed are the files that are not yet what hooks in
// force have agreed to.
func (s *sessionHooks) load(changed map[string]string) loop.Reloaded {
	opts := s.opts
	opts.previous, s.refused = s.loadedHooks, nil
	s.loadedHooks = loadHooks(s.w.cfg, s.cwd, opts)
	return loop.Reloaded{
		Hooks: s.set, Trust: trustGate{s.set}, Notices: s.notices(), Changed: changed, Continuations: s.stopCap,
		Refused: func() { s.refused = changed },
	}
}

// onCommand is loop.Config.OnCommand. It is called by the session's owner alone.
func (s *sessionHooks) onCommand(name, path string) (loop.Reloaded, bool) {
	ours := slices.ContainsFunc(claudeCommandDirs(s.w.cfg, s.cwd), func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
	if !ours || !claudecode.BringsHooks(path) {
		return loop.Reloaded{}, false
	}
	c := claudecode.CommandFile{Name: name, Path: path}
	if !slices.Contains(s.opts.commands, c) {
		s.opts.commands = append(s.opts.commands, c)
	}
	re := s.load(s.refused)
	s.set.Again(path)
	return re, true
}

// envFile is where SessionStart hooks of a session leave export lines.
func (w *wiring) envFile(id string) string {
	if w.cfg.StateDir == "" {
		return ""
	}
	return filepath.Join(w.cfg.StateDir, "env", id+".sh")
}

// forgetHookFiles removes what is kept of a session for its hooks: transcripts,
// which hold the whole conversation, long outputs, exported variables.
func (w *wiring) forgetHookFiles(id string) error {
	dir := w.cfg.StateDir
	if dir == "" || id == "" || !filepath.IsLocal(id) || strings.ContainsAny(id, `/\*?[`) {
		return nil
	}
	files := []string{w.envFile(id), loop.EnvStart(w.envFile(id))}
	for _, pattern := range []string{
		filepath.Join("transcripts", "claude-code", "*", id+".jsonl"),
		filepath.Join("transcripts", "codex", "sessions", "*", "*", "*", "rollout-*-"+id+".jsonl"),
	} {
		found, err := fs.Glob(os.DirFS(dir), filepath.ToSlash(pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			files = append(files, filepath.Join(dir, filepath.FromSlash(f)))
		}
	}
	var errs []error
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, os.RemoveAll(spillDir(w.cfg, id)))...)
}

func (s *sessionHooks) close() { s.set.Close() }

// jobs are the commands that run in the background, as hooks are told of them.
func jobs(sh *shell.Shell) []hooks.BackgroundJob {
	var out []hooks.BackgroundJob
	for _, j := range sh.Running() {
		out = append(out, hooks.BackgroundJob(j))
	}
	return out
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

// notices are what the person is told of hook files that are not in order, one
// for each file, each fault once a session.
func (s *sessionHooks) notices() []session.Notice {
	faults := map[string][]string{}
	var files []string
	for _, p := range s.problems {
		if p.Minor || s.said[p.String()] {
			continue
		}
		s.said[p.String()] = true
		if faults[p.File] == nil {
			files = append(files, p.File)
		}
		faults[p.File] = append(faults[p.File], hooks.Visible(strings.TrimPrefix(p.String(), p.File+": ")))
	}
	var out []session.Notice
	for _, file := range files {
		text := "Hooks: " + hooks.Visible(file) + ": " + faults[file][0]
		if len(faults[file]) > 1 {
			text = "Hooks: " + hooks.Visible(file) + ":\n- " + strings.Join(faults[file], "\n- ")
		}
		out = append(out, session.Notice{Severity: "warning", Text: text, Source: session.Source{Kind: session.SourceAgent}})
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
		out = append(out, loop.HeldHook{
			ID: h.ID(), File: hooks.Visible(h.Place.File), Event: string(h.Event), Matcher: hooks.Visible(h.Matcher),
			Text: h.Question(), Setting: h.Type == hooks.SwitchType,
		})
	}
	return out
}

// Asked implements loop.Trust.
func (g trustGate) Asked(ids []string) { g.set.Asked(ids) }

// Approve implements loop.Trust.
func (g trustGate) Approve(ids []string, always bool) error { return g.set.Approve(ids, always) }

// Reject implements loop.Trust.
func (g trustGate) Reject(ids []string, always bool) error { return g.set.Reject(ids, always) }
