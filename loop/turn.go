package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// errCancelled is the cause of a turn's context that the client ended.
var errCancelled = errors.New("the turn was cancelled")

// turn is one running prompt. Its fields belong to the owner but for cancel.
type turn struct {
	s      *Session
	ctx    context.Context
	cancel context.CancelCauseFunc

	id, promptID string
	// typed is the slash command that the prompt stands for, as it was typed.
	typed string
	// steers waits for the next point at which a message may stand.
	steers []steer
	// contexts are hook contexts of the step's tool calls: they follow all of
	// its results, since no provider takes a message between them.
	contexts []session.Data
	// compactedStep is the step that was compacted for: once is enough.
	compactedStep int
	// ended gives up the precedence that a cancel gave the turn; s.mu guards it.
	ended func()
	// unwatch stops looking for the end of the prompt's own context, which is a
	// cancel, too ($/cancel_request).
	unwatch func() bool
}

type steer struct {
	content []session.Block
	source  session.Source
}

// Slot is the session's turn slot, taken. Exactly one of its methods is called,
// once.
type Slot struct{ t *turn }

// Admit takes the session's turn slot. It does not block, so that it can run on
// the goroutine that reads the connection: a cancel that follows its prompt
// always finds it.
func (s *Session) Admit(ctx context.Context) (*Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.turn != nil:
		return nil, ErrBusy
	}
	s.stopWaiting()
	tctx, cancel := context.WithCancelCause(ctx)
	t := &turn{s: s, ctx: tctx, cancel: cancel, id: s.cfg.NewID(), compactedStep: -1}
	t.unwatch = context.AfterFunc(ctx, t.precede)
	s.turn = t
	return &Slot{t}, nil
}

// Prompt runs a turn on the prompt. The error is a *LogError, or the failure of
// the model call that the reason holds.
func (sl *Slot) Prompt(content []session.Block, src session.Source) (session.EndReason, error) {
	t := sl.t
	return t.own(func() (session.EndReason, error) {
		return t.run(func() (session.EndReason, error) { return t.drive(content, src) })
	})
}

// Typed is a slash command that stands for a prompt: its name without the slash,
// the file that it comes from, what came after, and the whole as the person typed
// it.
type Typed struct{ Name, Path, Args, Text string }

// Command runs a turn on the prompt that a slash command stands for, when
// UserPromptExpansion hooks let it.
func (sl *Slot) Command(c Typed, content []session.Block, src session.Source) (session.EndReason, error) {
	t := sl.t
	t.typed = c.Text
	return t.own(func() (session.EndReason, error) {
		return t.run(func() (session.EndReason, error) {
			if end, err := t.prepare(); end != nil || err != nil {
				return orNone(end), err
			}
			out, err := t.fire(&hooks.Call{Event: hooks.UserPromptExpand, Prompt: promptText(content), Typed: t.typed, Fields: map[string]any{
				"expansion_type": "slash_command", "command_name": c.Name, "command_args": c.Args,
			}})
			if err != nil {
				return session.EndReason{}, err
			}
			if out.Blocked || out.Halted {
				return session.EndReason{Kind: session.EndBlocked, Message: blockText(out)}, nil
			}
			t.contexts = contextData(out, hooks.UserPromptExpand)
			if err := t.commandHooks(c); err != nil {
				return session.EndReason{}, err
			}
			return t.drive(content, src)
		})
	})
}

// Compact runs a turn that replaces the older part of the conversation by a
// summary; extra is what the person says about it.
func (sl *Slot) Compact(extra string) (session.EndReason, error) {
	t := sl.t
	return t.own(func() (session.EndReason, error) {
		return t.run(func() (session.EndReason, error) {
			if end, err := t.prepare(); end != nil || err != nil {
				return orNone(end), err
			}
			err := t.runCompact(extra)
			end := session.EndReason{Kind: session.EndCompleted}
			if errors.Is(err, errNothingToCompact) || isCompactionFailure(err) {
				end.Message, err = err.Error(), nil
			}
			return end, err
		})
	})
}

// Tell runs a turn that only tells the person something, by a notice each.
func (sl *Slot) Tell(notices ...session.Notice) (session.EndReason, error) {
	t := sl.t
	return t.own(func() (session.EndReason, error) {
		return t.run(func() (session.EndReason, error) {
			for i := range notices {
				if err := t.s.append(&notices[i]); err != nil {
					return session.EndReason{}, err
				}
			}
			return session.EndReason{Kind: session.EndCompleted}, nil
		})
	})
}

// Files are the session's files for what a prompt links to: whatever waits for them
// ends with the turn.
func (sl *Slot) Files() tool.Files { return turnFiles{sl.t.s.cfg.Files, sl.t.ctx} }

// Release gives the slot back unused.
func (sl *Slot) Release() {
	_, _ = sl.t.own(func() (session.EndReason, error) { return session.EndReason{}, nil })
}

// own runs fn as the session's owner and frees the slot after it.
func (t *turn) own(fn func() (session.EndReason, error)) (session.EndReason, error) {
	s := t.s
	defer t.cancel(nil)
	defer func() {
		t.unwatch()
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.ended != nil {
			t.ended()
		}
	}()
	select {
	case s.owner <- struct{}{}:
	case <-s.closing: // Close came between the admission and here
		return session.EndReason{Kind: session.EndCancelled}, nil
	}
	defer func() {
		s.mu.Lock()
		s.turn = nil
		s.mu.Unlock()
		// Behind that, so that whatever Deliver left to this turn is seen.
		if err := s.settle(context.WithoutCancel(t.ctx)); err != nil {
			s.cfg.Log.Error("what hooks in the background said is not on the log", "session", s.ID(), "error", err)
		}
		s.waitForPrompt()
		<-s.owner
	}()
	s.loan.waited = true // for this prompt
	t.giveWay()
	return fn()
}

// Cancel ends the running turn; with none it does nothing.
func (s *Session) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil {
		t.claim()
		t.cancel(errCancelled)
	}
}

// precede is called when the prompt's context has ended.
func (t *turn) precede() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.s.turn == t {
		t.claim()
	}
}

// claim has the turns of other sessions wait for the end of this one. s.mu is held.
func (t *turn) claim() {
	if t.ended == nil {
		t.ended = t.s.cfg.Precedence.claim()
	}
}

// Busy reports whether a turn is running.
func (s *Session) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn != nil
}

// Steer puts a message into the running turn: the model sees it, verbatim, with
// its next request, which there will be. ErrIdle when no turn is running.
func (s *Session) Steer(ctx context.Context, content []session.Block, src session.Source) error {
	return s.Do(ctx, func(*session.State) error {
		s.mu.Lock()
		t := s.turn
		s.mu.Unlock()
		if t == nil || s.state.Turn == nil {
			return ErrIdle
		}
		t.steers = append(t.steers, steer{content, src})
		return nil
	})
}

// run puts a turn's start and end round its body.
func (t *turn) run(body func() (session.EndReason, error)) (session.EndReason, error) {
	s := t.s
	halted, err := t.finishStart()
	if err != nil {
		return session.EndReason{}, err
	}
	number := s.state.Turns + 1
	start := &session.TurnStart{Turn: number, ID: t.id}
	if cwd := s.cwd(); cwd != s.state.Header.Cwd {
		start.Cwd = cwd
	}
	if err := s.append(start); err != nil {
		return session.EndReason{}, err
	}
	var reason session.EndReason
	if halted != nil {
		reason = *halted
	} else {
		reason, err = body()
	}
	if s.failed != nil {
		return session.EndReason{}, s.failed
	}
	return t.end(number, reason, err)
}

// end closes the turn truthfully and durably, whatever cut it.
func (t *turn) end(number int, reason session.EndReason, cause error) (session.EndReason, error) {
	s := t.s
	if cause == nil && t.ctx.Err() != nil && reason.Kind != session.EndCancelled {
		reason = session.EndReason{Kind: session.EndCancelled}
	}
	if cause != nil {
		reason = t.failure(cause)
	}
	// The client's connection may be what ended the turn; its context is done
	// and must not keep the last events from the observer.
	ctx := context.WithoutCancel(t.ctx)
	data := s.state.CloseCalls()
	data = append(data, t.takeContexts()...)
	if s.state.Turn.StepOpen {
		data = append(data, &session.StepEnd{Turn: number, Step: s.state.Turn.Step})
	}
	if err := s.append(data...); err != nil {
		return reason, err
	}
	t.endHooks(reason)
	t.giveWay()
	if err := s.append(&session.TurnEnd{Turn: number, Reason: reason}); err != nil {
		return reason, err
	}
	if err := s.commit(ctx); err != nil {
		return reason, err
	}
	if reason.Kind == session.EndError {
		return reason, cause
	}
	return reason, nil
}

// drive is the turn between its start and its end.
func (t *turn) drive(content []session.Block, src session.Source) (session.EndReason, error) {
	if blocked, err := t.submit(content, src); err != nil || blocked != nil {
		return orNone(blocked), err
	}
	for {
		if t.ctx.Err() != nil {
			return session.EndReason{Kind: session.EndCancelled}, nil
		}
		t.giveWay()
		action, kind := Next(t.s.state, t.s.cfg.Limits)
		if action == CallModel || action == AtStop {
			if err := t.refresh(); err != nil {
				return session.EndReason{}, err
			}
			if took, err := t.takeDue(action == AtStop); err != nil {
				return session.EndReason{}, err
			} else if took {
				continue
			}
		}
		if (action == CallModel || action == AtStop) && len(t.steers) > 0 {
			if err := t.takeSteers(); err != nil {
				return session.EndReason{}, err
			}
			continue
		}
		var (
			end *session.EndReason
			err error
		)
		switch action {
		case CallModel:
			err = t.step()
		case RunTools:
			end, err = t.tools()
		case AtStop:
			if end, err = t.stop(); err == nil && end != nil && *end == completed && t.ctx.Err() == nil {
				// What came while the stop hooks ran is for this turn, too.
				var took bool
				if took, err = t.takeDue(true); took {
					end = nil
				}
			}
		case End:
			end = &session.EndReason{Kind: kind}
		}
		if err != nil || end != nil {
			return orNone(end), err
		}
	}
}

func orNone(end *session.EndReason) session.EndReason {
	if end == nil {
		return session.EndReason{}
	}
	return *end
}

func (t *turn) takeSteers() error {
	for _, st := range t.steers {
		if err := t.s.append(&session.SteeringMessage{Turn: t.s.state.Turn.Number, Content: st.content, Source: st.source}); err != nil {
			return err
		}
	}
	t.steers = nil
	return t.s.commit(t.ctx)
}

func (t *turn) takeContexts() []session.Data {
	out := t.contexts
	t.contexts = nil
	return out
}

// prepare brings the hooks up to date before the first of a turn runs: changed
// files are read again, the person is told what is wrong with them and asked
// about those that a repository brings. A non-nil reason ends the turn.
func (t *turn) prepare() (*session.EndReason, error) {
	s := t.s
	if t.promptID != "" {
		return nil, nil // done for this turn
	}
	t.promptID = s.cfg.NewID()
	t.giveWay()
	if err := t.refresh(); err != nil {
		return nil, err
	}
	if err := t.askTrust(); err != nil {
		return nil, err
	}
	return t.startedLate()
}

// submit shows the prompt to UserPromptSubmit hooks and appends what becomes of
// it. A non-nil reason ends the turn.
func (t *turn) submit(content []session.Block, src session.Source) (*session.EndReason, error) {
	s := t.s
	if end, err := t.prepare(); end != nil || err != nil {
		return end, err
	}
	if err := t.joinServers(); err != nil {
		return nil, err
	}
	t.giveWay()
	out, err := t.fire(&hooks.Call{Event: hooks.UserPromptSubmit, Prompt: promptText(content), Typed: t.typed})
	if err != nil {
		return nil, err
	}
	if t.ctx.Err() != nil {
		return &session.EndReason{Kind: session.EndCancelled}, nil
	}
	contexts := contextData(out, hooks.UserPromptSubmit)
	if out.Blocked || out.Halted {
		// Codex keeps the context of a blocked prompt, Claude Code erases both;
		// which of them stand in the outcome is the dialect's decision.
		if err := s.append(contexts...); err != nil {
			return nil, err
		}
		return &session.EndReason{Kind: session.EndBlocked, Message: blockText(out)}, nil
	}
	t.giveWay()
	data, err := t.initialInstructions()
	if err != nil {
		return nil, err
	}
	data = append(data, lateData(s.takeLate(true), false)...)
	data = append(data, &session.UserMessage{ID: t.promptID, Typed: t.typed, Content: content, Source: src})
	data = append(data, t.takeContexts()...)
	data = append(data, contexts...)
	title := out.Title
	if title == "" && s.state.Title == "" {
		title = titleOf(content)
	}
	if title != "" && title != s.state.Title {
		data = append(data, &session.SessionTitle{Title: title, Source: session.Source{Kind: session.SourceAgent}})
	}
	return nil, s.append(data...)
}

// completed is the end of a turn that nothing stopped.
var completed = session.EndReason{Kind: session.EndCompleted}

// stop asks the stop hooks whether the turn may end.
func (t *turn) stop() (*session.EndReason, error) {
	s := t.s
	st := s.state.Turn
	done := completed
	if !s.hasHooks(hooks.Stop) {
		return &done, nil
	}
	if err := s.commit(t.ctx); err != nil {
		return nil, err
	}
	call := &hooks.Call{Event: hooks.Stop, StopHookActive: st.Continuations > 0}
	if s.cfg.Jobs != nil {
		call.Jobs = s.cfg.Jobs()
	}
	if st.HasText {
		text := st.LastText
		call.LastAssistantMessage = &text
	}
	out, err := t.fire(call)
	if err != nil {
		return nil, err
	}
	if t.ctx.Err() != nil {
		// What a hook says after the cancel restarts nothing.
		return &session.EndReason{Kind: session.EndCancelled}, nil
	}
	if out.Halted {
		return &session.EndReason{Kind: session.EndCompleted, Message: out.HaltReason.Text}, nil
	}
	var data []session.Data
	if out.Blocked && len(out.Reasons) > 0 {
		data = append(data, steering(st.Number, out.Reasons))
	}
	data = append(data, contextData(out, hooks.Stop)...)
	if len(data) == 0 {
		return &done, nil
	}
	if s.capped() {
		return &done, s.append(&session.Notice{
			Severity: "warning",
			Text:     fmt.Sprintf("Stop hooks kept this turn going %d times in a row without a tool having run; the turn was ended.", s.cfg.Limits.Continuations),
			Detail:   "Raise limits.stop_continuations in the config file to allow more.",
			Source:   session.Source{Kind: session.SourceAgent},
		})
	}
	if err := s.append(data...); err != nil {
		return nil, err
	}
	return nil, s.commit(t.ctx)
}

// steering makes the one event of a round of stop hooks: a block a reason, each
// as its hook wrote it.
func steering(turn int, reasons []hooks.Text) *session.SteeringMessage {
	m := &session.SteeringMessage{Turn: turn}
	for _, r := range reasons {
		m.Content = append(m.Content, session.Text(r.Text))
		m.Sources = append(m.Sources, hookSource(r, hooks.Stop))
	}
	m.Source = m.Sources[0]
	if len(m.Sources) == 1 {
		m.Sources = nil
	}
	return m
}

// contextData makes one context/message a handler, each as the hook wrote it.
func contextData(out *hooks.Outcome, ev hooks.Event) []session.Data {
	var data []session.Data
	for _, c := range out.Contexts {
		data = append(data, &session.ContextMessage{Content: []session.Block{session.Text(c.Text)}, Source: hookSource(c, ev)})
	}
	return data
}

func hookSource(t hooks.Text, ev hooks.Event) session.Source {
	return session.Source{Kind: session.SourceHook, Name: t.Dialect, Event: string(ev), Handler: t.Handler}
}

// blockText is what the person is told about a prompt that was not sent.
func blockText(out *hooks.Outcome) string {
	if out.Halted {
		if out.HaltReason.Text != "" {
			return out.HaltReason.Text
		}
		return "A hook stopped the turn."
	}
	var b strings.Builder
	for i, r := range out.Reasons {
		if i > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(r.Text)
	}
	if b.Len() == 0 {
		return "A hook blocked the prompt and gave no reason."
	}
	return b.String()
}

// promptText is the prompt as hooks see it: its text blocks, one a line.
func promptText(content []session.Block) string {
	var parts []string
	for _, b := range content {
		switch b.Type {
		case session.BlockText:
			parts = append(parts, b.Text)
		case session.BlockResourceLink:
			parts = append(parts, b.URI)
		}
	}
	return strings.Join(parts, "\n")
}

// titleOf names a session after the first words of its first prompt.
func titleOf(content []session.Block) string {
	text := strings.Join(strings.Fields(promptText(content)), " ")
	const limit = 60
	n := 0
	for i := range text {
		if n == limit {
			return strings.TrimSpace(text[:i]) + "…"
		}
		n++
	}
	return text
}
