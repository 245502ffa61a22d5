package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/session"
)

// RetryPolicy bounds the retries of one model request.
type RetryPolicy struct {
	// Max is how many retries follow the first attempt.
	Max int
	// Base is the first wait; it doubles up to Cap, with 20 % jitter.
	Base, Cap time.Duration
	// MaxAfter is the longest Retry-After that is waited for; a longer one
	// fails the request at once.
	MaxAfter time.Duration
}

// step makes one model request, with its retries, and commits the answer.
func (t *turn) step() error {
	s := t.s
	st := s.state.Turn
	client, info, err := s.cfg.Models.Client(s.modelRef())
	if err != nil {
		return err
	}
	number := st.Step + 1
	data := []session.Data{&session.StepStart{Turn: st.Number, Step: number}}
	head := s.head(info)
	if s.state.Head == nil || !reflect.DeepEqual(*s.state.Head, head) {
		reason := "change"
		if s.state.Head == nil {
			reason = "initial"
		}
		data = append(data, &session.RequestHeader{Header: head, Reason: reason})
	}
	if err := s.append(data...); err != nil {
		return err
	}
	if err := t.dueCompaction(client, info); err != nil || t.ctx.Err() != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		merr := t.attempt(client, info, attempt)
		if merr == nil {
			return nil
		}
		if s.failed != nil || t.ctx.Err() != nil {
			return s.failed
		}
		if fits, err := t.overflowed(client, info, merr); err != nil {
			return err
		} else if fits {
			continue
		}
		wait, ok := t.retry(merr, attempt)
		if !ok {
			return merr
		}
		if err := s.append(&session.ModelRetry{
			Turn: st.Number, Step: number, Retry: attempt, Max: s.cfg.Retry.Max,
			DelayMs: wait.Milliseconds(), Failure: model.TurnError(merr),
		}); err != nil {
			return err
		}
		if err := s.commit(t.ctx); err != nil {
			return err
		}
		await(s, func() struct{} {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-t.ctx.Done():
			}
			return struct{}{}
		})
		if t.ctx.Err() != nil {
			return nil
		}
	}
}

// overflowed compacts after a request that did not fit, once a step; true means
// that another attempt makes sense.
func (t *turn) overflowed(client model.Client, info model.Info, err error) (bool, error) {
	var me *model.Error
	if !errors.As(err, &me) || me.Kind != model.KindContextOverflow || t.compactedStep == t.s.state.Turn.Step {
		return false, nil
	}
	cerr := t.compact(client, info, "auto", "")
	switch {
	case cerr == nil:
		return t.ctx.Err() == nil, nil
	case errors.Is(cerr, errNothingToCompact), isCompactionFailure(cerr):
		return false, nil
	}
	return false, cerr
}

// retry says whether and when a failed attempt is followed by another. After
// output that a person has seen there is none: nothing is ever said twice.
func (t *turn) retry(err error, attempt int) (time.Duration, bool) {
	if a := t.s.state.Stream(); a != nil && a.Shown() {
		return 0, false
	}
	return t.s.cfg.Retry.Next(err, attempt)
}

// Next says whether and when a failed attempt, counted from 1, is followed by
// another.
func (p RetryPolicy) Next(err error, attempt int) (time.Duration, bool) {
	var me *model.Error
	if !errors.As(err, &me) || !me.Retryable || attempt > p.Max {
		return 0, false
	}
	if me.RetryAfter > 0 {
		return me.RetryAfter, me.RetryAfter <= p.MaxAfter
	}
	wait := p.Base << min(attempt-1, 16)
	if wait > p.Cap || wait <= 0 {
		wait = p.Cap
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())), true
}

// attempt sends the request once and commits its answer.
func (t *turn) attempt(client model.Client, info model.Info, attempt int) error {
	s := t.s
	st := s.state.Turn
	digest, err := s.state.Digest()
	if err != nil {
		return err
	}
	t.giveWay()
	messageID := s.cfg.NewID()
	sent := &session.RequestSent{Turn: st.Number, Step: st.Step, Attempt: attempt, Digest: digest, MessageID: messageID}
	if err := s.append(sent); err != nil {
		return err
	}
	if s.hasHooks(hooks.PreModelRequest) {
		if err := s.commit(t.ctx); err != nil {
			return err
		}
	} else if err := s.log.Flush(); err != nil { // the stream commits it, while it waits for the model
		return s.fail(err)
	}
	req := &model.Request{
		Head: *s.state.Head, Messages: s.state.Messages[:len(s.state.Messages):len(s.state.Messages)],
		SessionID: s.ID(), Cwd: s.cwd(), Turn: st.Number, Step: st.Step, Attempt: attempt,
	}
	if err := t.modelHooks(hooks.PreModelRequest, messageID, attempt, nil); err != nil {
		return err
	}
	t.giveWay()
	serr := t.stream(client, req, messageID)
	if s.failed != nil {
		return s.failed
	}
	if err := t.modelHooks(hooks.PostModelRequest, messageID, attempt, serr); err != nil {
		return err
	}
	if serr != nil {
		return serr
	}
	if t.ctx.Err() != nil {
		return nil
	}
	t.giveWay()
	return t.commitAnswer(messageID, info)
}

// modelHooks shows a model request to the hooks that observe them (Codex). What
// they say has no effect.
func (t *turn) modelHooks(ev hooks.Event, requestID string, attempt int, failure error) error {
	s := t.s
	if !s.hasHooks(ev) {
		return nil
	}
	fields := map[string]any{"kind": "sampling", "request_id": requestID, "attempt_number": attempt, "thread_id": s.ID()}
	if ev == hooks.PostModelRequest {
		fields["status"], fields["error"], fields["response_id"] = "completed", nil, requestID
		if failure != nil {
			fields["status"], fields["error"] = "failed", failure.Error()
		}
		if a := s.state.Stream(); a != nil && a.Usage() != nil {
			u := a.Usage()
			in := u.InputTokens + u.CacheReadTokens + u.CacheWriteTokens
			fields["token_usage"] = map[string]int64{
				"input_tokens": in, "cached_input_tokens": u.CacheReadTokens, "cache_write_input_tokens": u.CacheWriteTokens,
				"output_tokens": u.OutputTokens, "reasoning_output_tokens": u.ReasoningTokens, "total_tokens": in + u.OutputTokens,
			}
		}
	}
	_, err := t.fire(&hooks.Call{Event: ev, Fields: fields})
	return err
}

// stream runs one model stream on the turn's own goroutine: deltas go to the
// observer as they come (a summary's, which has no message id, do not), and to
// the log in batches. What is not yet committed is while the model is waited for,
// and before a delta is shown.
func (t *turn) stream(client model.Client, req *model.Request, messageID string) error {
	ctx, stop := context.WithCancel(t.ctx)
	defer stop()
	d := newDeltas(t.s, t.s.state.Turn, stop)
	err := d.run(ctx, client.Stream(ctx, req), messageID)
	if t.s.failed != nil {
		return t.s.failed
	}
	if lerr := d.drain(); lerr != nil {
		return lerr
	}
	return err
}

// commitAnswer turns the stream into the step's assistant message. It becomes
// durable with what it leads to: the announcement of its tool calls, a stop hook
// or the turn's end, none of which the client or a hook hears of before that.
func (t *turn) commitAnswer(messageID string, info model.Info) error {
	s := t.s
	st := s.state.Turn
	a := s.state.Stream()
	// A model that has nothing to add to what its tools say may say nothing (Claude's
	// does, build-with-claude/handling-stop-reasons, "Empty responses"): it has ended
	// its turn.
	last := s.state.Messages[len(s.state.Messages)-1]
	if a == nil || a.Empty() && a.Finish() == session.FinishStop && last.Role != session.RoleTool {
		return model.Errorf(model.KindEmpty, "the model's stream ended without anything in it")
	}
	m := &session.AssistantMessage{Turn: st.Number, Step: st.Step, Usage: a.Usage(), Stop: a.Finish()}
	// A tool call that was cut by the output limit is not whole: it is left out
	// of the message, so that it neither runs nor poisons later requests.
	blocks := a.Blocks(m.Stop != session.FinishMaxTokens && m.Stop != session.FinishRefusal)
	model.NameCalls(blocks, fmt.Sprintf("call_%d_%d", st.Number, st.Step), s.state.UsedCallID)
	head := s.state.Head.Config
	m.Message = session.LoggedMessage{
		ID: messageID, Role: session.RoleAssistant, Content: blocks,
		Source: session.Source{Kind: session.SourceModel, Provider: head.Provider, Model: head.Model},
	}
	data := []session.Data{m}
	if u := m.Usage; u != nil {
		report := &session.UsageReport{Turn: st.Number, Step: st.Step, Usage: *u, Window: info.Window, Output: info.OutputBudget()}
		if cost, ok := info.Cost(*u); ok {
			report.Cost, report.Currency = s.state.Cost+cost, "USD"
		}
		data = append(data, report)
		s.usedSeq = s.state.Seq + 2 // the message and the report
	}
	if len(s.state.Turn.Calls) == 0 && !hasCalls(blocks) {
		data = append(data, &session.StepEnd{Turn: st.Number, Step: st.Step})
	}
	return s.append(data...)
}

func hasCalls(blocks []session.Block) bool {
	for _, b := range blocks {
		if b.Type == session.BlockToolCall {
			return true
		}
	}
	return false
}
