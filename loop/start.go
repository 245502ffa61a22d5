package loop

import (
	"context"
	"slices"

	"acp-agent/hooks"
	"acp-agent/session"
)

// pendingStart is hooks that were started when the session was opened, those of
// SessionStart and CwdChanged. The first prompt waits for them.
type pendingStart struct {
	call *hooks.Call
	turn int
	stop context.CancelFunc
	done chan *hooks.Outcome
}

// open starts the hooks of a session that was just opened. SessionStart waits for
// the first prompt where the project brings hooks for it that nobody has trusted
// yet: the answer to the question about them decides whether they run.
func (s *Session) open(source string) error {
	s.fileChanges() // what becomes of them counts from here on
	waits := s.cfg.Trust != nil && slices.ContainsFunc(s.cfg.Trust.Held(), func(h HeldHook) bool {
		return h.Event == string(hooks.SessionStart)
	})
	if waits {
		s.startLater = source
	} else if err := s.startHooks(&hooks.Call{Event: hooks.SessionStart, Source: source}); err != nil {
		return err
	}
	if from, to := s.state.MovedFrom, s.cwd(); from != "" && from != to {
		return s.startHooks(&hooks.Call{Event: hooks.CwdChanged, Fields: map[string]any{"old_cwd": from, "new_cwd": to}})
	}
	return nil
}

// startHooks starts the hooks of a call; the next prompt waits for them.
func (s *Session) startHooks(c *hooks.Call) error {
	if !s.hasHooks(c.Event) {
		return nil
	}
	s.fill(c)
	batch := s.cfg.Hooks.Match(c)
	if batch == nil {
		return nil
	}
	p := &pendingStart{call: c, turn: s.turnNumber(), done: make(chan *hooks.Outcome, 1)}
	if err := s.invoked(c, batch, p.turn); err != nil {
		return err
	}
	if err := s.commit(context.Background()); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	s.starts = append(s.starts, p)
	s.wg.Go(func() { p.done <- batch.Run(ctx) }) // ended by Close through stop
	return nil
}

// startedLate runs the SessionStart hooks that waited for the question about
// trust. A non-nil reason ends the turn.
func (t *turn) startedLate() (*session.EndReason, error) {
	s := t.s
	source := s.startLater
	if source == "" || t.ctx.Err() != nil {
		return nil, nil
	}
	s.startLater = ""
	if err := s.startHooks(&hooks.Call{Event: hooks.SessionStart, Source: source}); err != nil {
		return nil, err
	}
	return t.finishStart()
}

// finishStart waits for the hooks that were started with the session and appends
// their context, once. A cancel leaves them running for the next prompt. A hook
// that said continue:false ends the turn before it asks the model anything.
func (t *turn) finishStart() (*session.EndReason, error) {
	s := t.s
	var end *session.EndReason
	for len(s.starts) > 0 {
		p := s.starts[0]
		out := await(s, func() *hooks.Outcome {
			select {
			case out := <-p.done:
				return out
			case <-t.ctx.Done():
				return nil
			}
		})
		if out == nil {
			return end, nil
		}
		s.starts = s.starts[1:]
		if err := s.started(p, out); err != nil {
			return nil, err
		}
		if err := s.append(contextData(out, p.call.Event)...); err != nil {
			return nil, err
		}
		if out.Title != "" {
			if err := s.append(&session.SessionTitle{Title: out.Title, Source: session.Source{Kind: session.SourceHook}}); err != nil {
				return nil, err
			}
		}
		if out.Halted && end == nil {
			end = &session.EndReason{Kind: session.EndBlocked, Message: blockText(out)}
		}
	}
	return end, nil
}

func (s *Session) started(p *pendingStart, out *hooks.Outcome) error {
	p.stop()
	return s.ran(p.call, out, p.turn)
}

// endStarts ends the hooks that no prompt has waited for, and logs how they
// ended. They are killed, so this does not take long.
func (s *Session) endStarts() {
	starts := s.starts
	s.starts = nil
	for _, p := range starts {
		p.stop()
	}
	for _, p := range starts {
		if err := s.started(p, <-p.done); err != nil {
			s.cfg.Log.Error("hooks of the session's start could not be logged", "error", err)
		}
	}
}
