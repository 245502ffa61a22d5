package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/hooks"
	"acp-agent/loop"
	"acp-agent/session"
)

// stopHooks is an engine with one handler, on Stop, which shows a status message
// and does what run says. It may ask the session, or deliver to it.
type stopHooks struct {
	run  func(ctx context.Context, s *loop.Session) hooks.Decision
	live *loop.Session
	n    int
}

func (h *stopHooks) Has(ev hooks.Event) bool { return ev == hooks.Stop }
func (h *stopHooks) Watched() []string       { return nil }
func (h *stopHooks) Match(*hooks.Call) hooks.Batch {
	h.n++
	return stopBatch{h}
}

type stopBatch struct{ h *stopHooks }

func (b stopBatch) one() hooks.Run {
	return hooks.Run{Dialect: "claude-code", Event: hooks.Stop, Handler: "claude-code:Stop:" + string(rune('0'+b.h.n)), StatusMessage: "Looking\nclosely"}
}
func (b stopBatch) Runs() []hooks.Run { return []hooks.Run{b.one()} }
func (b stopBatch) Run(ctx context.Context) *hooks.Outcome {
	r := b.one()
	r.Decision = b.h.run(ctx, b.h.live)
	return &hooks.Outcome{Runs: []hooks.Run{r}}
}

func (h *stopHooks) options() options {
	return options{hold: func(c loop.Config) loop.Config {
		c.Hooks, c.OnOpen = h, func(s *loop.Session) { h.live = s }
		return c
	}}
}

func question() *hooks.Question {
	return &hooks.Question{Handler: "claude-code:Stop:1", Event: hooks.Stop, System: "s", Prompt: "p", Rounds: 1, Check: func(string) error { return nil }}
}

// A hook with a status message is seen running, as a tool call that ends before
// the prompt is answered; what it costs is in the usage at once; none of it is
// there again in a load.
func TestHookStatusAndCost(t *testing.T) {
	for decision, want := range map[hooks.Decision]acp.ToolCallStatus{
		hooks.Pass: acp.ToolCallStatusCompleted, hooks.Failed: acp.ToolCallStatusFailed, hooks.TimedOut: acp.ToolCallStatusFailed,
	} {
		h := &stopHooks{run: func(ctx context.Context, s *loop.Session) hooks.Decision {
			if _, err := s.Judge(ctx, question()); err != nil {
				t.Error(err)
			}
			return decision
		}}
		bubble(t, h.options(), func(r *rig) {
			id := r.open()
			r.model.add(usage(session.Usage{InputTokens: 1000}, "a"), usage(session.Usage{InputTokens: 3000}, "{}"))
			r.say(id, "go", acp.StopReasonEndTurn)
			call := last(r, id, func(u acp.SessionUpdate) *acp.ToolCall { return u.ToolCall })
			end := last(r, id, func(u acp.SessionUpdate) *acp.ToolCallUpdate { return u.ToolCallUpdate })
			if call.ToolCallID != "hook:claude-code:Stop:1" || call.Title != "Looking ⏎ closely" || call.Status != acp.ToolCallStatusInProgress || end.ToolCallID != call.ToolCallID || end.Status != want {
				t.Errorf("%s: %+v, then %+v", decision, call, end)
			}
			if u := last(r, id, func(u acp.SessionUpdate) *acp.UsageUpdate { return u.UsageUpdate }); u.Used != 1000 || u.Cost.Amount != 0.004 {
				t.Errorf("usage %+v, cost %+v", u, u.Cost)
			}
			r.close(id)
			n := len(r.Frames())
			r.load(id)
			u := r.WaitFrame(r.t.Context(), n, func(f acptest.Frame) bool { return f.Update != nil && f.Update.Update.UsageUpdate != nil }).Update.Update.UsageUpdate
			if u.Used != 1000 || u.Cost.Amount != 0.004 {
				t.Errorf("after a load: %+v, cost %+v", u, u.Cost)
			}
			for _, f := range r.Frames()[n:] {
				if f.Update != nil && f.Update.Update.ToolCall != nil {
					t.Errorf("a load shows %+v", f.Update.Update.ToolCall)
				}
			}
		})
	}
}

// A cancel ends the hook, and the tool call that showed it.
func TestHookStatusOfACancelledTurn(t *testing.T) {
	h := &stopHooks{run: func(ctx context.Context, s *loop.Session) hooks.Decision {
		if _, err := s.Judge(ctx, question()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		return hooks.Cancelled
	}}
	bubble(t, h.options(), func(r *rig) {
		id := r.open()
		r.model.add(says("a"), hangs())
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		r.seen(id, func(u acp.SessionUpdate) bool { return u.ToolCall != nil })
		settle(r)
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		if end := last(r, id, func(u acp.SessionUpdate) *acp.ToolCallUpdate { return u.ToolCallUpdate }); end.Status != acp.ToolCallStatusFailed {
			t.Errorf("%+v", end)
		}
	})
}

// Between turns the person hears at once of what would wake the model, as a
// notice where the client takes them and as marked text elsewhere; the next
// prompt brings it along.
func TestRewakeBetweenTurns(t *testing.T) {
	for _, notices := range []bool{false, true} {
		h := &stopHooks{run: func(context.Context, *loop.Session) hooks.Decision { return hooks.Pass }}
		o := h.options()
		if notices {
			o.caps.Session = &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}
		}
		bubble(t, o, func(r *rig) {
			id := r.open()
			r.say(id, "go", acp.StopReasonEndTurn)
			n := len(r.Frames())
			late := hooks.Late{Text: hooks.Text{Text: "tests fail\nin b", Dialect: "claude-code"}, Event: hooks.Stop, Rewake: true}
			if err := h.live.Deliver(r.t.Context(), late); err != nil {
				t.Fatal(err)
			}
			settle(r)
			var told []string
			for _, f := range r.Frames()[n:] {
				if f.Update == nil {
					continue
				}
				switch u := f.Update.Update; {
				case u.Notice != nil:
					told = append(told, "notice "+string(u.Notice.Severity)+": "+u.Notice.Title)
				case u.AgentMessageChunk != nil:
					told = append(told, u.AgentMessageChunk.Content.Text.Text)
				}
			}
			const line = "A Stop hook in the background says: tests fail (The model gets it with your next prompt.)"
			want := "[info] " + line + "\n"
			if notices {
				want = "notice info: " + line
			}
			if !slices.Equal(told, []string{want}) {
				t.Errorf("the person was told %q", told)
			}
			r.say(id, "on", acp.StopReasonEndTurn)
			if got := allText(r.model.request(t, -1)); !strings.HasSuffix(got, "tests fail\nin b\non\n") {
				t.Errorf("the next request: %q", got)
			}
		})
	}
}
