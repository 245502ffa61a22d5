package loop

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

func late(dialect, s string) hooks.Late {
	return hooks.Late{Text: hooks.Text{Text: s, Dialect: dialect, Handler: dialect + ":PostToolUse:1"}, Event: hooks.PostToolUse}
}

func wake(lead, s, summary string) hooks.Late {
	l := late("claude-code", s)
	l.Rewake, l.Lead, l.Summary = true, lead, summary
	return l
}

func (r *rig) deliver(ls ...hooks.Late) {
	r.t.Helper()
	for _, l := range ls {
		if err := r.Deliver(r.t.Context(), l); err != nil {
			r.t.Error(err)
		}
	}
}

// notices are the texts of the notices that the person has had.
func (r *rig) notices() []string {
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	var out []string
	for _, ev := range r.watch.events {
		if n, ok := ev.Data.(*session.Notice); ok {
			out = append(out, n.Text)
		}
	}
	return out
}

// What async hooks say while a turn runs: Codex's and what wakes the model go into
// it, the rest waits for its end; each byte for byte, the hook's prefix as a block
// of its own.
func TestAsyncTextWithinATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil, text("again"), text("ok"))
		r.model.streams[0] = func(ctx context.Context, req *model.Request, yield func(session.Chunk, error) bool) {
			r.deliver(late("codex", " codex\n"), late("claude-code", "claude"), wake("<lead>", " wake <b>\n", "found something"))
			text("first")(ctx, req, yield)
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if got := r.notices(); !slices.Equal(got, []string{"found something"}) {
			t.Errorf("the person was told %q", got)
		}
		types := r.log.types()
		if types[len(types)-2] != session.TypeTurnEnd || types[len(types)-1] != session.TypeContextMessage || r.log.durable != len(types) {
			t.Errorf("the log ends in %v, %d of %d durable", types[len(types)-2:], r.log.durable, len(types))
		}
		if _, err := r.prompt("on"); err != nil {
			t.Fatal(err)
		}
		msgs := r.model.requests[1].Messages
		if got := transcriptTexts(msgs[2:]); !slices.Equal(got, []string{"user:  codex\n", "user: <lead>", "user:  wake <b>\n"}) || len(msgs[3].Content) != 2 {
			t.Errorf("within the turn the model saw %q", got)
		}
		msgs = r.model.requests[2].Messages
		if got := transcriptTexts(msgs[len(msgs)-2:]); !slices.Equal(got, []string{"user: claude", "user: on"}) {
			t.Errorf("the next prompt began with %q", got)
		}
	})
}

// After a tool's results is a safe point: the text does not come between a call
// and its result.
func TestRewakeBetweenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result {
			r.deliver(wake("", "wake", ""))
			return tool.Text("seen")
		}}
		r = newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}"), call("b", "look", "{}")), text("ok"))
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		got := transcriptTexts(r.model.requests[1].Messages[2:])
		if want := []string{"tool: ", "tool: ", "user: wake", "user: wake"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		if n := r.notices(); len(n) > 0 {
			t.Errorf("without a summary the person was told %q", n)
		}
	})
}

// What comes while the stop hooks run is for the turn that they let end.
func TestRewakeWhileStopHooksRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("one"), text("two"))
		n := 0
		r.hooks.on[hooks.Stop] = func(context.Context, *hooks.Call) *hooks.Outcome {
			if n++; n == 1 {
				r.deliver(wake("", "wake", ""))
			}
			return &hooks.Outcome{}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if r.model.calls() != 2 || r.last().Content[0].Text != "wake" || n != 2 {
			t.Errorf("%d requests, the last ends in %+v; %d stops", r.model.calls(), r.last(), n)
		}
	})
}

// A stop hook that wakes the model again and again is held by the same cap as one
// that blocks; what is left over is on the log.
func TestRewakeIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answers []stream
		for range 50 {
			answers = append(answers, text("x"))
		}
		r := newRig(t, nil, answers...)
		r.hooks.on[hooks.Stop] = func(context.Context, *hooks.Call) *hooks.Outcome {
			l := wake("", "again", "")
			l.Event = hooks.Stop
			r.deliver(l)
			return &hooks.Outcome{}
		}
		end, err := r.prompt("go")
		if err != nil || end.Kind != session.EndCompleted || r.model.calls() != 9 {
			t.Errorf("%+v %v after %d requests", end, err, r.model.calls())
		}
		if types := r.log.types(); !slices.Contains(types[slices.Index(types, session.TypeTurnEnd):], session.TypeContextMessage) {
			t.Errorf("the last text is lost: %v", types[len(types)-3:])
		}
	})
}

// An idle session has it on the log at once, and the person is told in one line
// what would have woken the model.
func TestAsyncTextWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("one"), text("two"))
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		r.deliver(late("claude-code", "context"), wake("lead", "first line\nsecond", ""), wake("only", "", "a summary"))
		if n := len(r.log.events); r.log.durable != n || r.log.types()[n-5] != session.TypeContextMessage {
			t.Errorf("%d of %d durable: %v", r.log.durable, n, r.log.types()[n-5:])
		}
		want := []string{
			"A PostToolUse hook in the background says: first line (The model gets it with your next prompt.)",
			"a summary (The model gets it with your next prompt.)",
		}
		if got := r.notices(); !slices.Equal(got, want) {
			t.Errorf("the person was told %q", got)
		}
		if _, err := r.prompt("on"); err != nil {
			t.Fatal(err)
		}
		got := transcriptTexts(r.model.requests[1].Messages[2:])
		if want := []string{"user: context", "user: lead", "user: first line\nsecond", "user: only", "user: on"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		src := r.log.events[slices.Index(r.log.types(), session.TypeContextMessage)].Data.(*session.ContextMessage).Source
		if src.Kind != session.SourceHook || src.Event != "PostToolUse" || src.Handler != "claude-code:PostToolUse:1" {
			t.Errorf("%+v", src)
		}
		if err := r.Close(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		r.deliver(late("codex", "too late"))
	})
}

// Hooks are looked at again at each point of a turn before which it has waited for
// something, and once where two points follow each other.
func TestHooksAreLookedAtOncePerWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("seen") }}
		r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}")), text("ok"), text("fine"))
		var at []session.Type
		r.cfg.Reload = func() (Reloaded, bool) {
			types := r.log.types()
			at = append(at, types[len(types)-1])
			return Reloaded{}, false
		}
		for _, want := range [][]session.Type{
			{session.TypeTurnStart, session.TypeStepEnd, session.TypeStepEnd}, // prompt, the request after the tool, stop
			{session.TypeTurnStart, session.TypeStepEnd},
		} {
			at = nil
			if _, err := r.prompt("go"); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(at, want) {
				t.Errorf("looked after %v, want %v", at, want)
			}
		}
	})
}
