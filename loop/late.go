package loop

import (
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

// reload reads the hooks anew when their files have changed, and tells
// ConfigChange hooks of it. A hook's objection does not undo the change: the
// file is what it is.
func (t *turn) reload() error {
	s := t.s
	if s.cfg.Reload == nil {
		return nil
	}
	re, ok := s.cfg.Reload()
	if !ok {
		return nil
	}
	s.cfg.Hooks, s.cfg.Trust, s.trustAsked = re.Hooks, re.Trust, false
	s.cfg.Notices = append(s.cfg.Notices, re.Notices...)
	for file, source := range re.Changed {
		if _, err := t.fire(&hooks.Call{Event: hooks.ConfigChange, Fields: map[string]any{"source": source, "file_path": file}}); err != nil {
			return err
		}
	}
	return nil
}
