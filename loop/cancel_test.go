package loop

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

func TestRetries(t *testing.T) {
	busy := model.Errorf(model.KindOverloaded, "overloaded")
	t.Run("before output", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, fails(busy), fails(busy), text("ok"))
			end, err := r.prompt("go")
			if err != nil || end.Kind != session.EndCompleted {
				t.Fatalf("got %v, %v", end, err)
			}
			var attempts []int
			for _, ev := range r.log.events {
				if s, ok := ev.Data.(*session.RequestSent); ok {
					attempts = append(attempts, s.Attempt)
				}
			}
			if !slices.Equal(attempts, []int{1, 2, 3}) {
				t.Errorf("attempts %v", attempts)
			}
		})
	})
	t.Run("bounded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, fails(busy), fails(busy), fails(busy), fails(busy), text("never"))
			end, err := r.prompt("go")
			if err == nil || end.Kind != session.EndError || end.Error.Kind != "overloaded" || r.model.calls() != 4 {
				t.Fatalf("got %+v, %v after %d calls", end, err, r.model.calls())
			}
		})
	})
	t.Run("not after output", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, fails(busy, session.Chunk{Type: session.ChunkText, Text: "half"}), text("never"), text("next"))
			end, err := r.prompt("go")
			if err == nil || end.Kind != session.EndError || r.model.calls() != 1 {
				t.Fatalf("got %+v, %v", end, err)
			}
			if got := r.watch.deltas.String(); got != "half" {
				t.Errorf("shown %q", got)
			}
			r.model.streams[1] = text("fine")
			if end, err := r.prompt("again"); err != nil || end.Kind != session.EndCompleted {
				t.Fatalf("the session is not usable after a failure: %v, %v", end, err)
			}
			if m := r.model.requests[1].Messages[1]; m.Role != session.RoleAssistant || m.Content[0].Text != "half" {
				t.Errorf("what the person saw is not in the transcript: %+v", m)
			}
		})
	})
	t.Run("retry-after is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limited := model.Errorf(model.KindRateLimit, "slow down")
			limited.RetryAfter = 42 * time.Second
			r := newRig(t, nil, fails(limited), text("ok"))
			begin := time.Now()
			if _, err := r.prompt("go"); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); d < 42*time.Second {
				t.Errorf("waited %v", d)
			}
		})
	})
	t.Run("auth is not retried", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, nil, fails(model.Errorf(model.KindAuth, "bad key")))
			if end, err := r.prompt("go"); err == nil || end.Error.Kind != "auth" || r.model.calls() != 1 {
				t.Fatalf("got %+v, %v", end, err)
			}
		})
	})
}

// Cancel in every phase ends the turn as cancelled, leaves a log that providers
// accept, and the next prompt works.
func TestCancel(t *testing.T) {
	block := func(ctx context.Context, _ *tool.Env, _ string) tool.Result {
		<-ctx.Done()
		return tool.Fail("stopped")
	}
	phases := map[string]func(r *rig, cancel func()){
		"before the first byte": func(r *rig, cancel func()) { r.model.streams[0] = hangs(cancel) },
		"mid-text": func(r *rig, cancel func()) {
			r.model.streams[0] = hangs(cancel, session.Chunk{Type: session.ChunkText, Text: "par"})
		},
		"mid-call": func(r *rig, cancel func()) {
			r.model.streams[0] = hangs(cancel, session.Chunk{Type: session.ChunkToolCall, ID: "x", Name: "look", Text: `{"a`})
		},
		"mid-tool": func(r *rig, cancel func()) {
			r.model.streams[0] = calls(call("a", "work", "{}"), call("b", "work", "{}"), call("c", "look", "{}"))
			r.watch.onEv = func(ev session.Event) {
				if c, ok := ev.Data.(*session.ToolCall); ok && c.CallID == "a" {
					go func() { synctest.Wait(); cancel() }() // the tool runs and waits
				}
			}
		},
		"at a permission question": func(r *rig, cancel func()) {
			r.model.streams[0] = calls(call("a", "work", "{}"))
			r.watch.ask = func(ctx context.Context, _ *Question) (string, error) {
				cancel()
				<-ctx.Done()
				return "", ctx.Err()
			}
		},
		"late permission answer": func(r *rig, cancel func()) {
			r.model.streams[0] = calls(call("a", "work", "{}"))
			r.watch.ask = func(context.Context, *Question) (string, error) { cancel(); return "allow_once", nil }
		},
		"during a stop hook that blocks": func(r *rig, cancel func()) {
			r.model.streams[0] = text("a")
			r.hooks.on[hooks.Stop] = func(context.Context, *hooks.Call) *hooks.Outcome {
				cancel()
				return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("go on")}}
			}
		},
		"during a prompt hook": func(r *rig, cancel func()) {
			r.hooks.on[hooks.UserPromptSubmit] = func(context.Context, *hooks.Call) *hooks.Outcome { cancel(); return &hooks.Outcome{} }
		},
		"during a tool hook": func(r *rig, cancel func()) {
			r.model.streams[0] = calls(call("a", "work", "{}"))
			r.hooks.on[hooks.PreToolUse] = func(context.Context, *hooks.Call) *hooks.Outcome { cancel(); return &hooks.Outcome{} }
		},
		"during a retry sleep": func(r *rig, cancel func()) {
			r.model.streams[0] = fails(model.Errorf(model.KindServer, "500"))
			r.watch.onEv = func(ev session.Event) {
				if _, ok := ev.Data.(*session.ModelRetry); ok {
					cancel()
				}
			}
		},
	}
	for name, set := range phases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tools := []tool.Tool{
					&fakeTool{name: "work", run: block},
					&fakeTool{name: "look", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("ok") }},
				}
				r := newRig(t, tools, nil)
				set(r, r.Cancel)
				end, err := r.prompt("go")
				if err != nil || end.Kind != session.EndCancelled {
					t.Fatalf("got %+v, %v", end, err)
				}
				before := r.model.calls()
				synctest.Wait()
				if r.model.calls() != before {
					t.Error("work went on after the cancel")
				}
				r.hooks.on = nil
				r.watch.onEv = nil
				r.model.streams = append(r.model.streams[:before:before], text("fine"))
				if end, err := r.prompt("next"); err != nil || end.Kind != session.EndCompleted {
					t.Fatalf("the next prompt gave %+v, %v", end, err)
				}
			})
		})
	}
}

// A tool that ignores its cancel does not keep the process from ending.
func TestCloseDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		stuck := &fakeTool{name: "stuck", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result { <-free; return tool.Text("x") }}
		r := newRig(t, []tool.Tool{stuck}, calls(call("a", "stuck", "{}")))
		slot, err := r.Admit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = slot.Prompt([]session.Block{session.Text("x")}, session.Source{Kind: "user"})
		}()
		synctest.Wait()
		if err := r.Close(t.Context(), "other"); err == nil {
			t.Error("Close did not say that the turn was left")
		}
		if r.log.closed {
			t.Error("the log was taken from the turn")
		}
		close(free)
		<-done
		synctest.Wait()
		if !r.log.closed { // and with it its lock given up
			t.Error("the log is open although the turn has ended")
		}
	})
}
