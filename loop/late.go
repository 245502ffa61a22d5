package loop

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"acp-agent/hooks"
	"acp-agent/session"
)

// lateText is what an async hook said after its event.
type lateText struct {
	hooks.Late
	// next: it belongs to the next prompt, not to the running turn.
	next bool
}

// Deliver takes what an async hook says for the model. While a turn runs, Codex's
// and what is to wake the model (asyncRewake) go into it at its next safe point,
// and what else Claude Code's hooks say waits for the turn's end. While none runs
// it goes on the log at once, where the next prompt finds it; an agent cannot
// start a turn in ACP, so that the person is told of what would have. All are
// context messages, verbatim.
//
// It may be called from any goroutine but the owner's, at any time.
func (s *Session) Deliver(ctx context.Context, l hooks.Late) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.late = append(s.late, lateText{l, l.Dialect != "codex" && !l.Rewake})
	busy := s.turn != nil
	s.mu.Unlock()
	if busy {
		return nil
	}
	err := s.Do(ctx, func(st *session.State) error {
		if st.Turn != nil {
			return nil // one has started meanwhile
		}
		return s.settle(ctx)
	})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// keep holds the context of a hook that fired outside the turn's own order until
// a message may stand.
func (s *Session) keep(contexts []hooks.Text, ev hooks.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range contexts {
		s.late = append(s.late, lateText{hooks.Late{Text: c, Event: ev}, false})
	}
}

// takeLate returns what async hooks have said that is due: outside a turn and at
// a prompt all of it, within a turn what does not wait for the next prompt.
func (s *Session) takeLate(all bool) []lateText {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due, rest []lateText
	for _, l := range s.late {
		if l.next && !all {
			rest = append(rest, l)
		} else {
			due = append(due, l)
		}
	}
	s.late = rest
	return due
}

// lateData is what goes on the log of it. idle: no turn will take it up.
func lateData(late []lateText, idle bool) []session.Data {
	var data []session.Data
	for _, l := range late {
		src := hookSource(l.Text, l.Event)
		m := &session.ContextMessage{Source: src}
		for _, text := range []string{l.Lead, l.Text.Text} {
			if text != "" {
				m.Content = append(m.Content, session.Text(text))
			}
		}
		data = append(data, m)
		if text := wakeNotice(&l.Late, idle); text != "" {
			data = append(data, &session.Notice{Severity: "info", Text: text, Source: src})
		}
	}
	return data
}

// wakeNotice is the line that the person has of what is to wake the model: always
// when the session sleeps on, else where the hook brings one.
func wakeNotice(l *hooks.Late, idle bool) string {
	switch {
	case !l.Rewake, !idle && l.Summary == "":
		return ""
	case !idle:
		return l.Summary
	}
	what := l.Summary
	if what == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(l.Text.Text, l.Lead)), "\n")
		what = "A " + string(l.Event) + " hook in the background says: " + hooks.Head(line, 200)
	}
	return what + " (The model gets it with your next prompt.)"
}

// settle puts all that async hooks have said on the log. No turn is open.
func (s *Session) settle(ctx context.Context) error {
	if s.failed != nil {
		return nil // said when it failed
	}
	late := s.takeLate(true)
	if len(late) == 0 {
		return nil
	}
	if err := s.append(lateData(late, true)...); err != nil {
		return err
	}
	return s.commit(ctx)
}

// takeDue appends what async hooks have said for the running turn, at a point at
// which a message may stand, and reports whether there was any. Past the cap on
// stop hooks it waits for the turn's end.
func (t *turn) takeDue(atStop bool) (bool, error) {
	if atStop && t.s.capped() {
		return false, nil
	}
	late := t.s.takeLate(false)
	if len(late) == 0 {
		return false, nil
	}
	return true, t.s.append(lateData(late, false)...)
}

// refresh brings the hooks up to date and tells the person what is wrong with
// their files. It is for the points of a turn at which no hook runs: before a
// prompt, a model request, a stop. Between two of them at which the owner has
// waited for nothing, no time has passed.
func (t *turn) refresh() error {
	if t.s.loan.waited {
		t.s.loan.waited = false
		if err := t.reload(); err != nil {
			return err
		}
		if err := t.filesChanged(); err != nil {
			return err
		}
	}
	return t.notices()
}

// filesChanged tells hooks what has become of the files that they want to hear of
// since it was asked last.
func (t *turn) filesChanged() error {
	for _, c := range t.s.fileChanges() {
		call := &hooks.Call{Event: hooks.FileChanged, Fields: map[string]any{"file_path": c.Path, "event": c.Kind}}
		if _, err := t.fire(call); err != nil {
			return err
		}
	}
	return nil
}

// fileChanges looks at the files that hooks want to hear of.
func (s *Session) fileChanges() []hooks.FileChange {
	if !s.hasHooks(hooks.FileChanged) {
		return nil
	}
	var paths []string
	for _, name := range s.cfg.Hooks.Watched() {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.cwd(), name)
		}
		paths = append(paths, name)
	}
	return s.files.Look(append(paths, s.watchPaths...))
}

// notices tells what is to be told of hook files.
func (t *turn) notices() error {
	s := t.s
	for i := range s.cfg.Notices {
		if err := s.append(&s.cfg.Notices[i]); err != nil {
			return err
		}
	}
	s.cfg.Notices = nil
	return nil
}

// reload reads the hooks anew when their files have changed. What a repository has
// added meanwhile is held back, and asked about with the next prompt.
func (t *turn) reload() error {
	s := t.s
	if s.cfg.Reload == nil {
		return nil
	}
	re, ok := s.cfg.Reload()
	if !ok {
		return nil
	}
	taken, err := t.take(&re)
	if taken {
		s.trustAsked = nil
	}
	return err
}

// take puts hooks that were read anew into force. Those in force are told first
// (ConfigChange), file by file; one that objects keeps them in force until a file
// changes again.
func (t *turn) take(re *Reloaded) (bool, error) {
	s := t.s
	s.cfg.Notices = append(s.cfg.Notices, re.Notices...)
	var refused []session.Data
	policy := false
	for _, file := range slices.Sorted(maps.Keys(re.Changed)) {
		out, err := t.fire(&hooks.Call{Event: hooks.ConfigChange, Fields: map[string]any{"source": re.Changed[file], "file_path": file}})
		if err != nil {
			return false, err
		}
		policy = policy || re.Changed[file] == "policy_settings"
		if out.Blocked {
			refused = append(refused, &session.Notice{Severity: "warning", Text: "Hooks stay as they were: a hook refused the change of " + file + ": " + blockText(out), Source: session.Source{Kind: session.SourceAgent}})
		}
	}
	// An administrator's change is not for a hook to refuse, nor what comes with it.
	if len(refused) > 0 && !policy {
		if re.Refused != nil {
			re.Refused()
		}
		return false, s.append(refused...)
	}
	s.cfg.Hooks, s.cfg.Trust, s.cfg.Limits.Continuations = re.Hooks, re.Trust, re.Continuations
	return true, nil
}

// commandHooks takes up the hooks that a slash command brings, once its expansion
// has been let through: they hear of the prompt that it makes. Those that nobody
// has trusted yet are asked about first.
func (t *turn) commandHooks(c Typed) error {
	if t.s.cfg.OnCommand == nil {
		return nil
	}
	re, ok := t.s.cfg.OnCommand(c.Name, c.Path)
	if !ok {
		return nil
	}
	if _, err := t.take(&re); err != nil {
		return err
	}
	if err := t.notices(); err != nil {
		return err
	}
	return t.askTrust()
}
