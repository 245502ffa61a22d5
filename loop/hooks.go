package loop

import (
	"context"
	"strings"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/session"
)

// noOutcome is what an event without hooks comes to.
var noOutcome = &hooks.Outcome{}

func (s *Session) hasHooks(ev hooks.Event) bool {
	return s.cfg.Hooks != nil && s.cfg.Hooks.Has(ev)
}

// fill adds what every call has.
func (s *Session) fill(c *hooks.Call) {
	c.SessionID = s.ID()
	c.Cwd, c.ProjectDir = s.cwd(), s.cwd()
	_, c.Model, _ = strings.Cut(s.modelRef(), "/")
	c.Effort = s.effort()
	c.Mode = s.Mode()
	c.TranscriptPath = s.transcripts.path
}

// fire runs the hooks of a call beside the owner and logs them. The outcome is
// never nil; what hooks said after the turn was cancelled is not in it.
func (t *turn) fire(c *hooks.Call) (*hooks.Outcome, error) {
	s := t.s
	if !s.hasHooks(c.Event) {
		return noOutcome, nil
	}
	s.fill(c)
	c.TurnID, c.PromptID = t.id, t.promptID
	return s.fire(t.ctx, c, s.turnNumber())
}

func (s *Session) turnNumber() int {
	if s.state.Turn != nil {
		return s.state.Turn.Number
	}
	return 0
}

// fire is turn.fire for calls with their fields filled in.
func (s *Session) fire(ctx context.Context, c *hooks.Call, turn int) (*hooks.Outcome, error) {
	batch := s.cfg.Hooks.Match(c)
	if batch == nil {
		return noOutcome, nil
	}
	if err := s.invoked(c, batch, turn); err != nil {
		return noOutcome, err
	}
	// Hooks may read the transcript: everything so far must be in it.
	if err := s.commit(ctx); err != nil {
		return noOutcome, err
	}
	out := await(s, func() *hooks.Outcome { return batch.Run(ctx) })
	return out, s.ran(c, out, turn)
}

func (s *Session) invoked(c *hooks.Call, batch hooks.Batch, turn int) error {
	var data []session.Data
	for _, r := range batch.Runs() {
		if r.Decision == hooks.Held {
			continue
		}
		data = append(data, &session.HookInvoked{
			Turn: turn, Point: point(c, &r), Dialect: r.Dialect, Matcher: r.Matcher, HandlerID: r.Handler, CallID: callID(c),
			StatusMessage: r.StatusMessage,
		})
	}
	return s.append(data...)
}

// point is the event that the handler listens to: a failed tool is a
// PostToolUseFailure for one dialect and a PostToolUse for the other.
func point(c *hooks.Call, r *hooks.Run) string {
	if r.Event != "" {
		return string(r.Event)
	}
	return string(c.Event)
}

func callID(c *hooks.Call) string {
	if c.Tool != nil {
		return c.Tool.CallID
	}
	return ""
}

// ran logs how the handlers of a call ended, and what the person is told. What they
// want to hear of is taken up.
func (s *Session) ran(c *hooks.Call, out *hooks.Outcome, turn int) error {
	if out.WatchPaths != nil {
		s.watchPaths = out.WatchPaths
	}
	var data []session.Data
	for _, r := range out.Runs {
		res := &session.HookResult{
			Turn: turn, Point: point(c, &r), HandlerID: r.Handler, Decision: string(r.Decision), ExitCode: r.ExitCode,
			StderrSummary: r.Stderr, DurationMs: float64(r.Duration) / float64(time.Millisecond), Reason: r.Reason, CallID: callID(c),
		}
		if !s.ignored(c, out) {
			for _, kind := range r.Injected {
				res.Injected = append(res.Injected, injectedType(c.Event, r.Dialect, kind))
			}
		}
		data = append(data, res)
	}
	for _, m := range out.Messages {
		data = append(data, &session.Notice{Severity: "info", Text: m.Text, Source: hookSource(m, c.Event)})
	}
	for _, n := range out.Notices {
		data = append(data, &session.Notice{Severity: "warning", Text: n.Text, Source: hookSource(n, c.Event)})
	}
	return s.append(data...)
}

// ignored reports whether what stop hooks said goes nowhere: continue:false beats
// a block, and past the cap the turn ends all the same.
func (s *Session) ignored(c *hooks.Call, out *hooks.Outcome) bool {
	return c.Event == hooks.Stop && (out.Halted || s.capped())
}

// capped reports whether stop hooks have kept the turn going often enough.
func (s *Session) capped() bool {
	limit := s.cfg.Limits.Continuations
	return limit > 0 && s.state.Turn != nil && s.state.Turn.Continued >= limit
}

// injectedType names the event that a hook's text becomes.
func injectedType(ev hooks.Event, dialect, kind string) session.Type {
	if ev == hooks.Elicitation || ev == hooks.ElicitationResult {
		return session.TypeElicitAnswered
	}
	switch kind {
	case "feedback":
		if dialect != "claude-code" {
			return session.TypeToolResult
		}
	case "reason":
		switch ev {
		case hooks.Stop, hooks.SubagentStop:
			return session.TypeSteeringMessage
		case hooks.PreToolUse, hooks.PermissionRequest:
			return session.TypeToolResult
		case hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.PostToolBatch:
			return session.TypeTurnEnd
		}
		return session.TypeNotice // the person is told why nothing came of it
	}
	return session.TypeContextMessage
}

// endHooks tells hooks how a turn ended other than by itself: Interrupt and
// StopFailure. What they say changes nothing.
func (t *turn) endHooks(reason session.EndReason) {
	s := t.s
	var c *hooks.Call
	switch reason.Kind {
	case session.EndCancelled:
		c = &hooks.Call{Event: hooks.Interrupt}
	case session.EndError:
		c = &hooks.Call{Event: hooks.StopFailure, Fields: map[string]any{
			"error": stopFailure(reason.Error.Kind), "error_details": reason.Error.Message,
		}}
		msg := reason.Error.Message
		c.LastAssistantMessage = &msg
	default:
		return
	}
	if !s.hasHooks(c.Event) {
		return
	}
	s.fill(c)
	c.TurnID, c.PromptID = t.id, t.promptID
	// The turn's context is done after a cancel; these hooks have their own limit.
	if _, err := s.fire(context.WithoutCancel(t.ctx), c, s.turnNumber()); err != nil {
		s.cfg.Log.Error("end-of-turn hooks could not be logged", "error", err)
	}
}

// endHooks runs SessionEnd hooks, within ctx and their own budget.
func (s *Session) endHooks(ctx context.Context, reason string) {
	s.endStarts()
	if !s.hasHooks(hooks.SessionEnd) || s.failed != nil {
		return
	}
	c := &hooks.Call{Event: hooks.SessionEnd, Reason: reason}
	s.fill(c)
	batch := s.cfg.Hooks.Match(c)
	if batch == nil {
		return
	}
	if err := s.invoked(c, batch, 0); err == nil {
		err = s.ran(c, batch.Run(ctx), 0)
		if err != nil {
			s.cfg.Log.Error("SessionEnd hooks could not be logged", "error", err)
		}
	}
}

// notification is a Notification event.
func notification(kind, message string) *hooks.Call {
	return &hooks.Call{Event: hooks.Notification, Fields: map[string]any{"message": message, "notification_type": kind}}
}

// stopFailure is Claude Code's name for a model failure (Claude Code hooks reference, events, StopFailure).
func stopFailure(kind string) string {
	switch model.Kind(kind) {
	case model.KindAuth:
		return "authentication_failed"
	case model.KindQuota:
		return "billing_error"
	case model.KindRateLimit:
		return "rate_limit"
	case model.KindOverloaded:
		return "overloaded"
	case model.KindInvalidRequest, model.KindContextOverflow:
		return "invalid_request"
	case model.KindNotFound:
		return "model_not_found"
	case model.KindServer:
		return "server_error"
	}
	return "unknown"
}
