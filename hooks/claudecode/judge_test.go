//go:build unix

package claudecode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-agent/hooks"
)

type fakeJudge func(q *hooks.Question) (string, error)

func (f fakeJudge) Judge(_ context.Context, q *hooks.Question) (string, error) { return f(q) }

func judgedBy(f fakeJudge) func(*Config, *hooks.Options) {
	return func(c *Config, _ *hooks.Options) { c.Judge = f }
}

// CC#32608: a prompt hook that is not content keeps the session going. The
// prompt is the handler's own, byte for byte, with the input filled in.
func TestPromptHooks(t *testing.T) {
	var asked *hooks.Question
	answer := `{"ok":false,"reason":"run the tests"}`
	model := judgedBy(func(q *hooks.Question) (string, error) { asked = q; return answer, nil })
	r := newRig(t, settings("Stop", m{"type": "prompt", "prompt": "cost \\$5: $ARGUMENTS!\n", "model": "small"}), model)
	c := r.call(hooks.Stop)
	out := r.run(c)
	payload, _ := r.d.Payload(c)
	if !out.Blocked || out.Reasons[0].Text != "run the tests" {
		t.Errorf("%+v", out)
	}
	if want := "cost $5: " + strings.TrimSpace(string(payload)) + "!\n"; asked.Prompt != want {
		t.Errorf("asked %q, want %q", asked.Prompt, want)
	}
	if asked.Model != "small" || asked.Rounds != 1 || asked.Tool.Name != "" || asked.Handler != "claude-code:Stop:1" || !strings.Contains(asked.System, `{"ok": true}`) {
		t.Errorf("%+v", asked)
	}
	for text, want := range map[string]hooks.Decision{
		"```json\n{\"ok\":true}\n```": hooks.Pass,
		"I think so":                  hooks.Failed,
		`{"reason":"x"}`:              hooks.Failed,
		`{"ok":"yes"}`:                hooks.Failed,
	} {
		answer = text
		if out := r.run(c); out.Runs[0].Decision != want || (want == hooks.Failed) != (asked.Check(text) != nil) {
			t.Errorf("%s: %+v", text, out.Runs)
		}
	}
}

// What an agent handler's evaluator is asked, and with what.
func TestAgentHooks(t *testing.T) {
	var asked *hooks.Question
	model := judgedBy(func(q *hooks.Question) (string, error) { asked = q; return `{"ok":true}`, nil })
	r := newRig(t, settings("Stop", m{"type": "agent", "prompt": "Do the tests pass?"}), model)
	c := r.call(hooks.Stop)
	c.TranscriptPath = func(string) string { return "/state/t.jsonl" }
	if out := r.run(c); out.Blocked || out.Runs[0].Decision != hooks.Pass {
		t.Errorf("%+v", out)
	}
	if asked.Rounds != 50 || asked.Tool.Name != "StructuredOutput" || asked.Transcript != "/state/t.jsonl" || !strings.Contains(asked.System, "/state/t.jsonl") {
		t.Errorf("%+v", asked)
	}
	if payload, _ := r.d.Payload(c); asked.Prompt != "Do the tests pass?\n\n"+strings.TrimSuffix(string(payload), "\n") {
		t.Errorf("%q", asked.Prompt)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(asked.Tool.Schema)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("s", doc); err != nil {
		t.Fatal(err)
	}
	if _, err := compiler.Compile("s"); err != nil {
		t.Errorf("the answer's schema: %v", err)
	}
}

// A model that gives no decision decides nothing, and the person is told once.
func TestJudgeFails(t *testing.T) {
	r := newRig(t, settings("Stop", m{"type": "agent", "prompt": "p"}), judgedBy(func(*hooks.Question) (string, error) {
		return "", errors.New("it gave no decision in 50 rounds")
	}))
	out := r.run(r.call(hooks.Stop))
	if out.Blocked || out.Runs[0].Decision != hooks.Failed || len(out.Notices) != 1 ||
		out.Notices[0].Text != "Stop hook `agent: p` failed: asking the model: it gave no decision in 50 rounds" {
		t.Errorf("%+v", out)
	}
	if out := r.run(r.call(hooks.Stop)); len(out.Notices) != 0 {
		t.Errorf("told again: %+v", out.Notices)
	}
	// A dry run is no failure.
	r = newRig(t, settings("Stop", m{"type": "agent", "prompt": "p"}), judgedBy(func(*hooks.Question) (string, error) {
		return "", fmt.Errorf("dry: %w", hooks.ErrNotAsked)
	}))
	out = r.run(r.call(hooks.Stop))
	if out.Blocked || out.Runs[0].Decision != hooks.Held || len(out.Notices) != 0 {
		t.Errorf("%+v", out)
	}
}

// What ok:false does, event by event (Claude Code hooks reference, handlers).
func TestVerdictsByEvent(t *testing.T) {
	no, noWay, yes := `{"ok":false,"reason":" R\n"}`, `{"ok":false,"reason":"R","impossible":true}`, `{"ok":true,"reason":"fine"}`
	const reason = " R\n"
	for _, tc := range []struct {
		ev        hooks.Event
		typ       string
		goOn      bool
		answer    string
		decision  hooks.Decision // logged
		blocked   bool
		halted    bool
		permitted hooks.Decision
	}{
		{ev: hooks.Stop, typ: "prompt", answer: yes, decision: hooks.Pass},
		{ev: hooks.Stop, typ: "prompt", answer: no, decision: hooks.Block, blocked: true},
		{ev: hooks.Stop, typ: "agent", answer: no, decision: hooks.Block, blocked: true},
		{ev: hooks.Stop, typ: "agent", answer: noWay, decision: hooks.Pass},
		{ev: hooks.PreToolUse, typ: "prompt", answer: yes, decision: hooks.Pass},
		{ev: hooks.PreToolUse, typ: "prompt", answer: no, decision: hooks.Halt, blocked: true, halted: true, permitted: hooks.Deny},
		{ev: hooks.PreToolUse, typ: "prompt", goOn: true, answer: no, decision: hooks.Deny, blocked: true, permitted: hooks.Deny},
		{ev: hooks.PreToolUse, typ: "agent", answer: no, decision: hooks.Deny, blocked: true, permitted: hooks.Deny},
		{ev: hooks.PostToolUse, typ: "prompt", answer: no, decision: hooks.Halt, blocked: true, halted: true},
		{ev: hooks.PostToolUse, typ: "prompt", goOn: true, answer: no, decision: hooks.Block, blocked: true},
		{ev: hooks.PostToolUse, typ: "agent", answer: no, decision: hooks.Block, blocked: true},
		{ev: hooks.PostToolBatch, typ: "prompt", answer: no, decision: hooks.Halt, blocked: true, halted: true},
		{ev: hooks.PermissionRequest, typ: "prompt", answer: no, decision: hooks.Pass},
		{ev: hooks.PermissionDenied, typ: "agent", answer: no, decision: hooks.Pass},
		{ev: hooks.UserPromptSubmit, typ: "agent", answer: no, decision: hooks.Block, blocked: true},
		{ev: hooks.UserPromptExpand, typ: "prompt", answer: no, decision: hooks.Block, blocked: true},
	} {
		h := m{"type": tc.typ, "prompt": "p", "continueOnBlock": tc.goOn}
		r := newRig(t, settings(string(tc.ev), h), judgedBy(func(*hooks.Question) (string, error) { return tc.answer, nil }))
		c := r.call(tc.ev)
		if isToolEvent(tc.ev) || tc.ev == hooks.PostToolBatch {
			c = r.tool(tc.ev, "bash", `{}`)
		}
		out := r.run(c)
		name := fmt.Sprintf("%s %s continueOnBlock=%v %s", tc.ev, tc.typ, tc.goOn, tc.answer)
		if len(out.Notices) > 0 {
			t.Errorf("%s: %v", name, out.Notices)
		}
		if out.Runs[0].Decision != tc.decision || out.Blocked != tc.blocked || out.Halted != tc.halted || out.Decision != tc.permitted {
			t.Errorf("%s: %s, blocked %v, halted %v, permission %q", name, out.Runs[0].Decision, out.Blocked, out.Halted, out.Decision)
		}
		if tc.blocked && (len(out.Reasons) != 1 || out.Reasons[0].Text != reason) || tc.halted && out.HaltReason.Text != reason {
			t.Errorf("%s: reasons %q, halt %q", name, texts(out.Reasons), out.HaltReason.Text)
		}
	}
}

func texts(ts []hooks.Text) (out []string) {
	for _, t := range ts {
		out = append(out, t.Text)
	}
	return out
}

// A refusal without a reason still tells the model that it was refused.
func TestVerdictWithoutReason(t *testing.T) {
	r := newRig(t, settings("Stop", m{"type": "prompt", "prompt": "p"}), judgedBy(func(*hooks.Question) (string, error) { return `{"ok":false}`, nil }))
	if out := r.run(r.call(hooks.Stop)); !out.Blocked || out.Reasons[0].Text == "" {
		t.Errorf("%+v", out)
	}
}

// Only the events whose answer can decide take them; elsewhere they are listed
// with the reason.
func TestJudgedEvents(t *testing.T) {
	takes := map[hooks.Event]bool{}
	for _, ev := range []hooks.Event{
		hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch, hooks.PermissionRequest,
		hooks.PermissionDenied, hooks.Stop, hooks.UserPromptSubmit, hooks.UserPromptExpand,
	} {
		takes[ev] = true
	}
	for _, ev := range hooks.Events() {
		if ev == hooks.Interrupt || ev == hooks.PreModelRequest || ev == hooks.PostModelRequest {
			continue // Codex's
		}
		for _, typ := range []string{"prompt", "agent"} {
			f, _ := parseFile("/f", hooks.LayerUser, []byte(settings(string(ev), m{"type": typ, "prompt": "p"})))
			hs := New(Config{Files: []*File{f}, Judge: fakeJudge(nil)}).Handlers()
			if len(hs) != 1 || (hs[0].Why == "") != takes[ev] {
				t.Errorf("%s on %s: %+v", typ, ev, hs)
			}
		}
	}
}

// async is for commands: an agent handler is waited for all the same.
func TestAgentHooksAreWaitedFor(t *testing.T) {
	r := newRig(t, settings("Stop", m{"type": "agent", "prompt": "p", "async": true}), judgedBy(func(*hooks.Question) (string, error) {
		return `{"ok":false,"reason":"r"}`, nil
	}))
	if out := r.run(r.call(hooks.Stop)); !out.Blocked {
		t.Errorf("%+v", out)
	}
}

// At most twelve are asked at once.
func TestTwelveAtOnce(t *testing.T) {
	var mu sync.Mutex
	var once sync.Once
	running, most := 0, 0
	full, release := make(chan struct{}), make(chan struct{})
	var handlers []m
	for i := range 20 {
		handlers = append(handlers, m{"type": "agent", "prompt": fmt.Sprint("p", i)})
	}
	r := newRig(t, settings("Stop", handlers...), judgedBy(func(*hooks.Question) (string, error) {
		mu.Lock()
		running++
		if most = max(most, running); running == 12 {
			once.Do(func() { close(full) })
		}
		mu.Unlock()
		<-release
		mu.Lock()
		running--
		mu.Unlock()
		return `{"ok":true}`, nil
	}))
	done := make(chan *hooks.Outcome)
	go func() { done <- r.run(r.call(hooks.Stop)) }()
	<-full
	close(release)
	if out := <-done; len(out.Runs) != 20 || most > 12 {
		t.Errorf("%d runs, %d at once", len(out.Runs), most)
	}
}

// Whatever a model says, it is a decision or it is not, and a decision is an
// answer that the rest understands, on every event.
func FuzzVerdict(f *testing.F) {
	for _, s := range []string{`{"ok":true}`, "```json\n{\"ok\": false, \"reason\": \"a } b\"}\n```", `{"ok":false,"impossible":true}`, "}{", `{"ok":null}`, "{\"ok\":false,\"reason\":\"\xff\"}"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, goOn bool) {
		v, err := parseVerdict(text)
		if err != nil {
			return
		}
		if v.OK == nil {
			t.Fatalf("%q decides nothing", text)
		}
		for _, ev := range []hooks.Event{hooks.Stop, hooks.PreToolUse, hooks.PostToolUse, hooks.PermissionRequest, hooks.UserPromptSubmit} {
			a := decode(bashCall(ev), commandHandler(ev), hooks.Exit{Stdout: v.answer(ev, goOn)})
			if a.Decision == hooks.Failed {
				t.Fatalf("%q on %s: %s", text, ev, a.Why)
			}
			if *v.OK && (a.Blocked || a.Halt || a.Permission != "") {
				t.Fatalf("%q on %s refuses: %s", text, ev, show(a))
			}
			if ev == hooks.UserPromptSubmit && !*v.OK && (!a.Blocked || v.Reason != "" && strings.TrimSpace(v.Reason) != "" && a.Reason != v.Reason) {
				t.Fatalf("%q: reason %q became %q", text, v.Reason, a.Reason)
			}
		}
	})
}
