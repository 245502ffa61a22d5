package loop

import (
	"maps"
	"slices"

	"acp-agent/hooks"
	"acp-agent/session"
)

// lateText is what an async hook said after its event.
type lateText struct {
	text hooks.Text
	// next: it belongs to the next prompt, not to the running turn.
	next bool
}

// Deliver takes what an async hook says for the model. Codex's goes into the
// running turn at its next safe point, Claude Code's to the next prompt; both
// are context messages, verbatim. It never blocks and may be called from any
// goroutine at any time.
func (s *Session) Deliver(t hooks.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.late = append(s.late, lateText{t, t.Dialect != "codex"})
	}
}

// keep holds the context of a hook that fired outside the turn's own order until
// a message may stand.
func (s *Session) keep(contexts []hooks.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range contexts {
		s.late = append(s.late, lateText{c, false})
	}
}

// takeLate returns what async hooks have said that is due: at a prompt all of
// it, within a turn what does not wait for the next prompt.
func (s *Session) takeLate(prompt bool) []session.Data {
	s.mu.Lock()
	defer s.mu.Unlock()
	var data []session.Data
	var rest []lateText
	for _, l := range s.late {
		if l.next && !prompt {
			rest = append(rest, l)
			continue
		}
		src := hookSource(l.text, "")
		data = append(data, &session.ContextMessage{Content: []session.Block{session.Text(l.text.Text)}, Source: src})
	}
	s.late = rest
	return data
}

// reload reads the hooks anew when their files have changed. The hooks in force
// are told first (ConfigChange), file by file; one that objects keeps them in
// force until a file changes again.
func (t *turn) reload() error {
	s := t.s
	if s.cfg.Reload == nil {
		return nil
	}
	re, ok := s.cfg.Reload()
	if !ok {
		return nil
	}
	s.cfg.Notices = append(s.cfg.Notices, re.Notices...)
	refused := false
	for _, file := range slices.Sorted(maps.Keys(re.Changed)) {
		out, err := t.fire(&hooks.Call{Event: hooks.ConfigChange, Fields: map[string]any{"source": re.Changed[file], "file_path": file}})
		if err != nil {
			return err
		}
		if !out.Blocked {
			continue
		}
		refused = true
		n := &session.Notice{Severity: "warning", Text: "Hooks stay as they were: a hook refused the change of " + file + ": " + blockText(out), Source: session.Source{Kind: session.SourceAgent}}
		if err := s.append(n); err != nil {
			return err
		}
	}
	if !refused {
		s.cfg.Hooks, s.cfg.Trust, s.trustAsked = re.Hooks, re.Trust, false
	}
	return nil
}
