package loop

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/session"
)

// Hooks hear once that a prompt is waited for, a minute after a turn; one that takes
// its time holds up no prompt, and ends with the session.
func TestIdleNotification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("one"), text("two"), text("three"))
		begun := time.Now()
		var heard []time.Duration
		hold, ended := false, false
		r.hooks.on[hooks.Notification] = func(ctx context.Context, c *hooks.Call) *hooks.Outcome {
			if c.Fields["notification_type"] != "idle_prompt" || c.Fields["message"] != idleText {
				t.Errorf("%v", c.Fields)
			}
			heard = append(heard, time.Since(begun))
			if hold {
				<-ctx.Done()
				ended = true
			}
			return &hooks.Outcome{Contexts: []hooks.Text{hookText("still here?")}}
		}
		say := func(text string) {
			t.Helper()
			if _, err := r.prompt(text); err != nil {
				t.Fatal(err)
			}
		}
		say("one")
		<-time.After(50 * time.Second)
		say("two") // in time
		<-time.After(3 * time.Minute)
		synctest.Wait()
		if want := []time.Duration{110 * time.Second}; !slices.Equal(heard, want) {
			t.Fatalf("heard at %v, want %v", heard, want)
		}
		hold = true
		say("three")
		told := slices.ContainsFunc(r.model.requests[2].Messages, func(m session.Message) bool { return m.Content[0].Text == "still here?" })
		if !told {
			t.Error("the model was not told what the hook had said")
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if err := r.Close(t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		if len(heard) != 2 || !ended {
			t.Errorf("heard at %v, ended: %v", heard, ended)
		}
		if n := slices.Index(r.log.types(), session.TypeHookInvoked); n < 0 {
			t.Error("it is not on the log")
		}
	})
}
