package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

func TestTextTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("Hel", "lo"))
		reason, err := r.prompt("hi")
		if err != nil || reason.Kind != session.EndCompleted {
			t.Fatalf("got %v, %v", reason, err)
		}
		if got := r.watch.deltas.String(); got != "Hello" {
			t.Errorf("streamed %q", got)
		}
		want := []session.Type{
			"turn/start", "user/message", "session/title", "step/start", "request/header", "request/sent",
			"assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/message", "step/end", "turn/end",
		}
		if got := r.log.types(); !slices.Equal(got, want) {
			t.Errorf("log\n got %v\nwant %v", got, want)
		}
		if r.log.durable != len(r.log.events) {
			t.Error("the turn was answered before it was durable")
		}
		if r.watch.calls != 2 {
			t.Errorf("the observer was told %d times of what two commits made durable", r.watch.calls)
		}
	})
}

// The heart: what a stop hook says reaches the model as a plain user message,
// byte for byte.
func TestStopReasonIsVerbatim(t *testing.T) {
	reasons := []string{
		"Run the tests.", "<b>&\"q\"</b>", "  leading and trailing \n\n", "line\u2028separator", "emoji 👩‍👩‍👧 \U0001F9EA", "\ttab\r\n",
		strings.Repeat("a long reason ", 75_000),
	}
	for _, reason := range reasons {
		t.Run(fmt.Sprintf("%.12q", reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, text("FIRST"), text("SECOND"))
				r.hooks.on[hooks.Stop] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
					if c.StopHookActive {
						return &hooks.Outcome{}
					}
					if c.LastAssistantMessage == nil || *c.LastAssistantMessage != "FIRST" {
						t.Errorf("last_assistant_message %v", c.LastAssistantMessage)
					}
					return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText(reason)}}
				}
				end, err := r.prompt("go")
				if err != nil || end.Kind != session.EndCompleted {
					t.Fatalf("got %v, %v", end, err)
				}
				last := r.last()
				if last.Role != session.RoleUser || len(last.Content) != 1 || last.Content[0].Text != reason {
					t.Errorf("the model was sent %.200v", last.Content)
				}
				steered := 0
				for _, ev := range r.log.events {
					if m, ok := ev.Data.(*session.SteeringMessage); ok {
						steered++
						if m.Source.Kind != session.SourceHook || m.Content[0].Text != reason {
							t.Errorf("steering/message is %+v", m.Source)
						}
					}
				}
				if steered != 1 {
					t.Errorf("%d steering messages", steered)
				}
			})
		})
	}
}

func TestStopReasonsOfSeveralHooksAreSeveralBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("a"), text("b"))
		r.hooks.on[hooks.Stop] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
			if c.StopHookActive {
				return &hooks.Outcome{}
			}
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("one"), hookText("two\n")}, Contexts: []hooks.Text{hookText("ctx")}}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		msgs := r.model.requests[1].Messages
		got := msgs[len(msgs)-2:]
		want := []session.Message{
			{Role: session.RoleUser, Content: []session.Block{session.Text("one"), session.Text("two\n")}},
			{Role: session.RoleUser, Content: []session.Block{session.Text("ctx")}},
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v", got)
		}
	})
}

// Stop hooks are told what runs in the background.
func TestStopHearsOfJobs(t *testing.T) {
	r := newRig(t, nil, text("done"))
	r.cfg.Jobs = func() []hooks.BackgroundJob { return []hooks.BackgroundJob{{ID: "job-1"}} }
	var got []hooks.BackgroundJob
	r.hooks.on[hooks.Stop] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
		got = c.Jobs
		return &hooks.Outcome{}
	}
	if _, err := r.prompt("go"); err != nil || len(got) != 1 || got[0].ID != "job-1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStopCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		streams := make([]stream, 20)
		for i := range streams {
			streams[i] = text("again")
		}
		r := newRig(t, nil, streams...)
		r.hooks.on[hooks.Stop] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("more")}}
		}
		end, err := r.prompt("go")
		if err != nil || end.Kind != session.EndCompleted {
			t.Fatalf("got %v, %v", end, err)
		}
		if n := r.model.calls(); n != 9 {
			t.Errorf("%d model calls, want the first and 8 continuations", n)
		}
		if !slices.Contains(r.log.types(), session.TypeNotice) {
			t.Error("the person was not told that the cap ended the turn")
		}
	})
}

// A tool that ran is progress: the count of continuations starts anew.
func TestStopCapResetsOnToolProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams []stream
		for i := range 12 {
			streams = append(streams, calls(call(fmt.Sprintf("c%d", i), "look", "{}")), text("t"))
		}
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }}
		r := newRig(t, []tool.Tool{look}, streams...)
		n := 0
		r.hooks.on[hooks.Stop] = func(context.Context, *hooks.Call) *hooks.Outcome {
			if n++; n == 12 {
				return &hooks.Outcome{}
			}
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("more")}}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if got := r.model.calls(); got != 24 {
			t.Errorf("%d model calls", got)
		}
	})
}

func TestParallelToolsAnswerInTheModelsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := make(chan struct{}) // closed when the second has run
		slow := &fakeTool{name: "slow", readOnly: true, run: func(_ context.Context, _ *tool.Env, in string) tool.Result {
			if strings.Contains(in, "first") {
				select {
				case <-second:
				case <-time.After(time.Minute): // the bubble's: all else waits for this call
					t.Error("the two ran one after the other")
				}
			} else {
				close(second)
			}
			return tool.Text(in)
		}}
		r := newRig(t, []tool.Tool{slow}, calls(call("a", "slow", `{"n":"first"}`), call("b", "slow", `{"n":"second"}`)), text("done"))
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		msgs := r.model.requests[1].Messages
		if a, b := msgs[2].Content[0], msgs[3].Content[0]; a.CallID != "a" || b.CallID != "b" {
			t.Errorf("results came as %s, %s", a.CallID, b.CallID)
		}
	})
}

// A context that a hook gave for the first of two calls must not come between
// their results: no provider takes that.
func TestHookContextFollowsAllResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }}
		r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}"), call("b", "look", "{}")), text("done"))
		r.hooks.on[hooks.PostToolUse] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Contexts: []hooks.Text{hookText("ctx " + c.Tool.CallID)}}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range r.model.requests[1].Messages[2:] {
			got = append(got, string(m.Role)+":"+m.Content[0].CallID+m.Content[0].Text)
		}
		want := []string{"tool:a", "tool:b", "user:ctx a", "user:ctx b"}
		if !slices.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	})
}

func TestPreToolDenyIsTheResultVerbatim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false
		bash := &fakeTool{name: "bash", run: func(context.Context, *tool.Env, string) tool.Result { ran = true; return tool.Text("x") }}
		r := newRig(t, []tool.Tool{bash}, calls(call("a", "bash", `{"command":"ls"}`)), text("ok"))
		r.hooks.on[hooks.PreToolUse] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Decision: hooks.Deny, DecisionReason: hookText(" no\nway ")}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		b := r.last().Content[0]
		if ran || !b.IsError || b.Content[0].Text != " no\nway " {
			t.Errorf("ran %v, result %+v", ran, b)
		}
	})
}

func TestRewrittenInputRunsAndBothFormsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		bash := &fakeTool{name: "bash", run: func(_ context.Context, _ *tool.Env, in string) tool.Result { got = in; return tool.Text("x") }}
		r := newRig(t, []tool.Tool{bash}, calls(call("a", "bash", `{"command":"a"}`)), text("ok"))
		r.hooks.on[hooks.PreToolUse] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Decision: hooks.Allow, UpdatedInput: json.RawMessage(`{"command":"b"}`)}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if got != `{"command":"b"}` {
			t.Errorf("ran on %s", got)
		}
		if b := r.model.requests[1].Messages[1].Content[0]; b.Arguments != `{"command":"a"}` {
			t.Errorf("the model's own message was rewritten: %s", b.Arguments)
		}
		found := false
		for _, ev := range r.log.events {
			if c, ok := ev.Data.(*session.ToolCall); ok && string(c.Input) == `{"command":"b"}` && c.Arguments == `{"command":"a"}` {
				found = true
			}
		}
		if !found {
			t.Error("no tool/call holds both forms")
		}
	})
}

func TestPromptBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("never"))
		r.hooks.on[hooks.UserPromptSubmit] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("secret found")}}
		}
		end, err := r.prompt("my key")
		if err != nil || end.Kind != session.EndBlocked || end.Message != "secret found" {
			t.Fatalf("got %+v, %v", end, err)
		}
		if r.model.calls() != 0 || slices.Contains(r.log.types(), session.TypeUserMessage) {
			t.Error("a blocked prompt reached the model or the log")
		}
	})
}

func TestSessionStartContextIsInTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		on := map[hooks.Event]func(context.Context, *hooks.Call) *hooks.Outcome{
			hooks.SessionStart: func(context.Context, *hooks.Call) *hooks.Outcome {
				synctest.Wait() // the prompt comes first, and waits for this
				return &hooks.Outcome{Contexts: []hooks.Text{hookText("start")}}
			},
		}
		r := newRig(t, nil, text("a"), text("b"))
		r.hooks.on = on
		r.Session, _ = New(r.cfg, r.log, session.NewState(session.Header{ID: "s1", Cwd: "/w"}), "startup")
		for range 2 {
			if _, err := r.prompt("hi"); err != nil {
				t.Fatal(err)
			}
		}
		var n int
		for _, m := range r.model.requests[1].Messages {
			if m.Content[0].Text == "start" {
				n++
			}
		}
		if n != 1 || r.model.requests[0].Messages[0].Content[0].Text != "start" {
			t.Errorf("%d start contexts, first message %q", n, r.model.requests[0].Messages[0].Content[0].Text)
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams []stream
		for i := range 60 {
			streams = append(streams, calls(call(fmt.Sprint(i), "look", "{}")))
		}
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }}
		r := newRig(t, []tool.Tool{look}, streams...)
		end, err := r.prompt("go")
		if err != nil || end.Kind != session.EndMaxTurnRequests || r.model.calls() != 50 {
			t.Fatalf("got %+v, %v after %d calls", end, err, r.model.calls())
		}
	})
}

func TestMaxTokensDropsTheCutCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, says(
			session.Chunk{Type: session.ChunkText, Text: "let me"},
			session.Chunk{Type: session.ChunkToolCall, Index: 1, ID: "x", Name: "bash", Text: `{"comm`},
			session.Chunk{Type: session.ChunkFinish, Finish: session.FinishMaxTokens}), text("ok"))
		end, err := r.prompt("go")
		if err != nil || end.Kind != session.EndMaxTokens {
			t.Fatalf("got %+v, %v", end, err)
		}
		if _, err := r.prompt("on"); err != nil {
			t.Fatal(err)
		}
		if m := r.model.requests[1].Messages[1]; len(m.Content) != 1 || m.Content[0].Text != "let me" {
			t.Errorf("transcript has %+v", m)
		}
	})
}

func TestCallIDsAreUnique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }}
		r := newRig(t, []tool.Tool{look},
			says(
				session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockToolCall},
				session.Chunk{Type: session.ChunkToolCall, Name: "look", Text: "{}"},
				session.Chunk{Type: session.ChunkBlockStart, Index: 1, BlockType: session.BlockToolCall},
				session.Chunk{Type: session.ChunkToolCall, Index: 1, Name: "look", Text: "{}"},
				session.Chunk{Type: session.ChunkFinish, Finish: session.FinishToolCalls}),
			calls(call("same", "look", "{}"), call("same", "look", "{}")), calls(call("same", "look", "{}")), text("ok"))
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, ev := range r.log.events {
			if c, ok := ev.Data.(*session.ToolCall); ok {
				if c.CallID == "" || seen[c.CallID] {
					t.Errorf("call id %q", c.CallID)
				}
				seen[c.CallID] = true
			}
		}
		if len(seen) != 5 {
			t.Errorf("%d calls", len(seen))
		}
	})
}

func TestSteeringIsInTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil, text("ok"))
		r.model.streams[0] = func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			err := r.Steer(ctx, []session.Block{session.Text(" turn left ")}, session.Source{Kind: session.SourceClient})
			if err != nil {
				t.Error(err)
			}
			yield(session.Chunk{Type: session.ChunkText, Text: "on my way"}, nil)
			yield(session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}, nil)
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if got := r.last(); got.Role != session.RoleUser || got.Content[0].Text != " turn left " {
			t.Errorf("got %+v", got)
		}
		if err := r.Steer(t.Context(), nil, session.Source{}); !errors.Is(err, ErrIdle) {
			t.Errorf("steering an idle session gave %v", err)
		}
	})
}

func TestSecondPromptIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("ok"))
		slot, err := r.Admit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Admit(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		if _, err := slot.Prompt([]session.Block{session.Text("x")}, session.Source{Kind: "user"}); err != nil {
			t.Fatal(err)
		}
	})
}

// A log that cannot be written stops the session: nothing runs unlogged.
func TestLogFailureStopsTheSession(t *testing.T) {
	for n := 1; n < 16; n++ {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { ran++; return tool.Text("ok") }}
			r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}")), text("ok"))
			r.log.failAfter = n
			slot, _ := r.Admit(t.Context())
			_, err := slot.Prompt([]session.Block{session.Text("x")}, session.Source{Kind: "user"})
			var le *LogError
			if !errors.As(err, &le) {
				t.Fatalf("append %d failed, the prompt gave %v", n, err)
			}
			if logged := len(r.log.events); logged < 11 && ran > 0 {
				t.Errorf("the tool ran though only %d events were logged", logged)
			}
			slot, _ = r.Admit(t.Context())
			if _, err := slot.Prompt([]session.Block{session.Text("y")}, session.Source{Kind: "user"}); !errors.As(err, &le) {
				t.Errorf("the next prompt gave %v", err)
			}
		})
	}
}

// Every digest in the log is that of the state at its place.
func TestDigestsCanBeRecomputed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }}
		r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}")), text("ok"), text("b"))
		for range 2 {
			if _, err := r.prompt("go"); err != nil {
				t.Fatal(err)
			}
		}
		st := session.NewState(session.Header{ID: "s1"})
		n := 0
		for _, ev := range r.log.events {
			if s, ok := ev.Data.(*session.RequestSent); ok {
				n++
				if got, _ := st.Digest(); got != s.Digest {
					t.Errorf("request %d: digest %s, recomputed %s", n, s.Digest, got)
				}
			}
			if err := st.Apply(ev); err != nil {
				t.Fatal(err)
			}
		}
		if n != 3 {
			t.Errorf("%d requests", n)
		}
	})
}
