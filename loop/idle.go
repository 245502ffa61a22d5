package loop

import (
	"context"
	"errors"
	"time"

	"acp-agent/hooks"
)

// idleAfter is how long a prompt is waited for before hooks hear of it, idleText what
// they hear, which public ones look for (Claude Code hooks reference, Notification,
// idle_prompt).
const (
	idleAfter = time.Minute
	idleText  = "Claude is waiting for your input"
)

// waitForPrompt has hooks told when a turn is over and no prompt comes for a while.
// The owner calls it.
func (s *Session) waitForPrompt() {
	if !s.hasHooks(hooks.Notification) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.turn == nil {
		s.idle = time.AfterFunc(idleAfter, s.idled) // ended by a prompt, and by Close
	}
}

// stopWaiting ends waitForPrompt. s.mu is held.
func (s *Session) stopWaiting() {
	if s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
}

// idled tells hooks. A prompt that comes meanwhile does not wait for them.
func (s *Session) idled() {
	s.mu.Lock()
	if s.closed || s.turn != nil {
		s.mu.Unlock()
		return
	}
	s.wg.Add(1)
	s.mu.Unlock()
	defer s.wg.Done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s.wg.Go(func() {
		select {
		case <-s.closing:
			stop()
		case <-ctx.Done():
		}
	})
	_, err := s.fireBeside(ctx, notification("idle_prompt", idleText), nil)
	if err != nil && !errors.Is(err, ErrClosed) && ctx.Err() == nil {
		s.cfg.Log.Error("hooks were not told that a prompt is waited for", "session", s.ID(), "error", err)
	}
}
