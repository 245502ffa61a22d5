package loop

import (
	"errors"
	"fmt"
	"strings"

	"acp-agent/hooks"
	"acp-agent/loop/compact"
	"acp-agent/loop/model"
	"acp-agent/session"
)

// summaryTokens bounds a summary. It is some times what one needs: reasoning
// counts in it, and a summary that is cut has lost the newest (NousResearch/hermes-agent#93156).
const summaryTokens = 32_000

// errNothingToCompact is a compaction that would gain nothing.
var errNothingToCompact = errors.New("there is nothing to compact yet")

// dueCompaction compacts before a request that would not fit, once a step.
func (t *turn) dueCompaction(client model.Client, info model.Info) error {
	s := t.s
	if s.state.Used == nil || t.compactedStep == s.state.Turn.Step {
		return nil
	}
	used := s.state.Used.Usage.Context()
	var added int64
	if n := s.state.MessagesSince(s.usedSeq); n > 0 {
		added = compact.Estimate(s.state.Messages[len(s.state.Messages)-n:])
	}
	if !compact.Due(used, added, info.Window, info.OutputBudget()) {
		return nil
	}
	err := t.compact(client, info, "auto", "")
	if errors.Is(err, errNothingToCompact) || isCompactionFailure(err) {
		return nil // the request may fit all the same; if not, its error says so
	}
	return err
}

// compactionFailure is a summary that could not be had; the session is as it
// was.
type compactionFailure struct{ err error }

func (e *compactionFailure) Error() string { return "compacting the conversation: " + e.err.Error() }
func (e *compactionFailure) Unwrap() error { return e.err }

func isCompactionFailure(err error) bool {
	var f *compactionFailure
	return errors.As(err, &f)
}

// compact replaces the older part of the transcript by a summary that the model
// writes. Mode, settings and the display stay; the log keeps everything.
func (t *turn) compact(client model.Client, info model.Info, trigger, extra string) error {
	s := t.s
	st := s.state.Turn
	t.compactedStep = st.Step
	n := compact.Cut(s.state.Messages, info.Window)
	if n == 0 {
		return errNothingToCompact
	}
	out, err := t.fire(&hooks.Call{Event: hooks.PreCompact, Trigger: trigger, Instructions: extra})
	if err != nil {
		return err
	}
	if out.Blocked || out.Halted {
		return &compactionFailure{fmt.Errorf("a PreCompact hook refused it: %s", blockText(out))}
	}
	c := session.Compaction{
		ID: s.cfg.NewID(), Trigger: trigger, Status: "in_progress", Through: s.state.MessageSeq(n - 1), Content: compact.Prompt(extra),
		MaxTokens: summaryTokens,
	}
	if info.Window > 0 {
		c.MaxTokens = min(summaryTokens, info.Window/8)
	}
	head, msgs := s.state.SummaryRequest(&c)
	if c.Digest, err = session.RequestDigest(&head, msgs); err != nil {
		return err
	}
	begin := c
	if err := s.append(&begin); err != nil {
		return err
	}
	if err := s.commit(t.ctx); err != nil {
		return err
	}
	summary, usage, serr := t.summarise(client, head, msgs)
	end := session.Compaction{ID: c.ID, Trigger: trigger, Usage: usage}
	switch {
	case s.failed != nil:
		return s.failed
	case t.ctx.Err() != nil:
		end.Status = "cancelled"
	case serr != nil:
		end.Status, end.Error = "failed", serr.Error()
	default:
		end.Status, end.Through, end.Content = "completed", c.Through, compact.Content(summary)
	}
	if err := s.append(&end); err != nil {
		return err
	}
	if err := s.commit(t.ctx); err != nil {
		return err
	}
	if end.Status != "completed" {
		if serr == nil {
			return nil
		}
		return &compactionFailure{serr}
	}
	return t.compacted(trigger, summary)
}

// compacted tells hooks. SessionStart hooks of source compact may add context
// that the summary has lost.
func (t *turn) compacted(trigger, summary string) error {
	if _, err := t.fire(&hooks.Call{Event: hooks.PostCompact, Trigger: trigger, Summary: summary}); err != nil {
		return err
	}
	out, err := t.fire(&hooks.Call{Event: hooks.SessionStart, Source: "compact"})
	if err != nil {
		return err
	}
	if err := t.s.append(contextData(out, hooks.SessionStart)...); err != nil {
		return err
	}
	return t.s.commit(t.ctx)
}

// summarise makes the summary call. Its stream is logged as any other, so that
// a recording replays.
func (t *turn) summarise(client model.Client, head session.RequestHead, msgs []session.Message) (string, *session.Usage, error) {
	s := t.s
	req := &model.Request{
		Head: head, Messages: msgs, SessionID: s.ID(), Cwd: s.cwd(),
		Turn: s.state.Turn.Number, Step: s.state.Turn.Step, Attempt: 1,
	}
	if err := t.stream(client, req, ""); err != nil {
		return "", nil, err
	}
	a := s.state.Summary()
	if a == nil {
		return "", nil, errors.New("the model answered nothing")
	}
	var b strings.Builder
	for _, blk := range a.Blocks(false) {
		if blk.Type == session.BlockText {
			b.WriteString(blk.Text)
		}
	}
	if b.Len() == 0 {
		return "", a.Usage(), errors.New("the model answered without text")
	}
	return b.String(), a.Usage(), nil
}

// runCompact is a turn that only compacts, on the person's word.
func (t *turn) runCompact(extra string) error {
	client, info, err := t.s.cfg.Models.Client(t.s.modelRef())
	if err != nil {
		return err
	}
	if t.s.state.Head == nil {
		return errNothingToCompact
	}
	return t.compact(client, info, "manual", extra)
}
