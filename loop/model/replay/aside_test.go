package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/session"
)

func asked(handler string, round, attempt int) session.Data {
	return &session.HookRequest{Turn: 1, Point: "Stop", HandlerID: handler, Round: round, Attempt: attempt, Digest: "sha256:"}
}

func answered(handler string, round, attempt int, blocks ...session.Block) session.Data {
	return &session.HookAnswer{
		Turn: 1, Point: "Stop", HandlerID: handler, Round: round, Attempt: attempt, Usage: &session.Usage{InputTokens: 4, OutputTokens: 2},
		Message: &session.LoggedMessage{Role: session.RoleAssistant, Content: blocks},
	}
}

// Hooks ask side by side: whoever comes first, each gets its own answers, and the
// session's own calls are not touched.
func TestHooksHaveTheirOwnAnswers(t *testing.T) {
	a, b := "claude-code:Stop:1", "claude-code:Stop:2"
	call := session.Block{Type: session.BlockToolCall, ID: "c", Name: "read", Arguments: `{}`}
	r := open(t, record(t, t.TempDir(),
		&session.TurnStart{Turn: 1}, &session.StepStart{Turn: 1, Step: 1},
		sent(1), message(session.FinishStop, nil, session.Text("hello")),
		asked(a, 1, 1), asked(b, 1, 1),
		&session.HookAnswer{HandlerID: b, Round: 1, Attempt: 1, Error: &session.TurnError{Kind: "overloaded", Message: "busy", Status: 529}},
		answered(a, 1, 1, call), asked(b, 1, 2), answered(b, 1, 2, session.Text("{B}")), asked(a, 2, 1), answered(a, 2, 1, session.Text("{A}")),
		&session.HookResult{Turn: 1, Point: "Stop", HandlerID: a, Decision: "pass"},
		end(session.EndCompleted, nil),
	))
	if r.Calls() != 5 {
		t.Errorf("%d calls", r.Calls())
	}
	next := func(handler string) string {
		return play(t.Context(), r, &model.Request{SessionID: "live", Handler: handler})
	}
	for i, step := range []struct{ handler, want string }{
		{b, `error overloaded 529 0s retryable=true "busy"` + "\n"},
		{b, "text \"{B}\"\nusage 4 2\nfinish stop\n"},
		{"", "text \"hello\"\nfinish stop\n"},
		{a, "call c read {}\nusage 4 2\nfinish tool-calls\n"},
	} {
		if got := next(step.handler); got != step.want {
			t.Errorf("%d: %q, want %q", i, got, step.want)
		}
	}
	if err := r.Check(); err == nil || !strings.Contains(err.Error(), "1 recorded model calls were not asked for, the next is call 2 of the hook "+a) {
		t.Errorf("%v", err)
	}
	next(a)
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if got := next(a); !strings.Contains(got, "model call 3 is asked for by the hook "+a+", but log.jsonl holds 2") {
		t.Error(got)
	}
	if got := next("codex:Stop:1"); !strings.Contains(got, "but log.jsonl holds 0") {
		t.Error(got)
	}
}

// A hook that was cut while its model was silent hangs again; a failure that was
// not followed by another try is final.
func TestHooksThatWereCut(t *testing.T) {
	r := open(t, record(t, t.TempDir(),
		&session.TurnStart{Turn: 1}, asked("h", 1, 1),
		&session.HookAnswer{HandlerID: "h", Round: 1, Attempt: 1, Error: &session.TurnError{Kind: "server", Message: "x", Retryable: true}},
		asked("g", 1, 1), end(session.EndCancelled, nil),
	))
	if got := play(t.Context(), r, &model.Request{Handler: "h"}); !strings.Contains(got, "retryable=false") {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan string)
	go func() { done <- play(ctx, r, &model.Request{Handler: "g"}) }()
	cancel()
	if got := <-done; got != fmt.Sprintf("error %v\n", context.Canceled) {
		t.Error(got)
	}
}

func TestHookAnswersWithoutQuestions(t *testing.T) {
	for name, data := range map[string][]session.Data{
		"none":  {answered("h", 1, 1)},
		"twice": {asked("h", 1, 1), answered("h", 1, 1), answered("h", 1, 1)},
	} {
		if _, err := Open(record(t, t.TempDir(), data...)); err == nil || !strings.Contains(err.Error(), "hook/answer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
