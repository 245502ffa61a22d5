package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// agentQuestion is what an agent handler asks.
func agentQuestion(check func(string) error) *hooks.Question {
	return &hooks.Question{
		Handler: "claude-code:Stop:1", Event: hooks.Stop, System: "judge", Prompt: "is it done?", Check: check, Rounds: 50,
		Tool: hooks.AnswerTool{Name: "Verdict", Description: "d", Schema: []byte(`{"type":"object"}`)},
	}
}

func verdictOnly(answer string) error {
	if !strings.HasPrefix(answer, "{") {
		return errors.New("no object")
	}
	return nil
}

func reader(name string, kind tool.Kind, run func(env *tool.Env, input string) tool.Result) *kindTool {
	return &kindTool{fakeTool{name: name, readOnly: kind != tool.KindExecute, run: func(_ context.Context, env *tool.Env, input string) tool.Result { return run(env, input) }}, kind}
}

// kindTool is a fakeTool of a kind.
type kindTool struct {
	fakeTool
	kind tool.Kind
}

func (k *kindTool) Spec() tool.Spec {
	s := k.fakeTool.Spec()
	s.Kind = k.kind
	return s
}

// judging answers Stop hooks by asking the session.
func (r *rig) judging(q *hooks.Question, got func(answer string, err error) *hooks.Outcome) {
	r.hooks.on[hooks.Stop] = func(ctx context.Context, _ *hooks.Call) *hooks.Outcome {
		return got(r.Judge(ctx, q))
	}
}

// The whole of it: the evaluator reads, decides, and the turn goes on by what it
// said. Its conversation is on the log, apart from the session's.
func TestJudgeInATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen *tool.Seen
		read := reader("read", tool.KindRead, func(env *tool.Env, _ string) tool.Result {
			seen = env.Seen
			return tool.Text("the file")
		})
		write := &fakeTool{name: "write"}
		r := newRig(t, []tool.Tool{read, write},
			text("done"),
			calls(call("", "read", `{"file_path":"a"}`)), calls(call("x", "Verdict", `{"ok":false}`)),
			text("really done"),
			calls(call("x", "Verdict", `{"ok":true}`)))
		n := 0
		q := agentQuestion(verdictOnly)
		r.judging(q, func(answer string, err error) *hooks.Outcome {
			if err != nil {
				t.Error(err)
			}
			if n++; answer == `{"ok":true}` {
				return &hooks.Outcome{}
			}
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("not yet")}}
		})
		if _, err := r.prompt("go"); err != nil || n != 2 {
			t.Fatalf("%v after %d rounds of hooks", err, n)
		}
		reqs := r.model.requests
		first := reqs[1]
		if first.Handler != q.Handler || first.Head.System != "judge" || first.SessionID != "s1" || len(first.Messages) != 1 || first.Messages[0].Content[0].Text != "is it done?" {
			t.Errorf("the first request of the hook: %+v", first)
		}
		var names []string
		for _, s := range first.Head.Tools {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, []string{"read", "Verdict"}) {
			t.Errorf("its tools are %v", names)
		}
		if res := reqs[2].Messages[2].Content[0]; res.CallID != "call_1_0" || res.Content[0].Text != "the file" || res.IsError {
			t.Errorf("what it read: %+v", res)
		}
		if got := transcriptTexts(reqs[3].Messages); !slices.Equal(got, []string{"user: go", "assistant: done", "user: not yet"}) {
			t.Errorf("the session's own model saw %q", got)
		}
		if seen == r.seen {
			t.Error("what a hook reads counts as read by the session's model")
		}
		if p := session.Verify(session.Header{ID: "s1"}, r.log.events); len(p) > 0 {
			t.Errorf("%v", p)
		}
		// Each request is on the log before it is sent.
		for _, ev := range r.watch.events {
			if _, ok := ev.Data.(*session.HookRequest); ok {
				return
			}
		}
		t.Error("the observer heard of no request")
	})
}

// A cancel ends the evaluator with the turn.
func TestJudgeIsCancelledWithTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, text("done"))
		r.model.streams = append(r.model.streams, hangs(r.Cancel))
		var failed error
		r.judging(agentQuestion(verdictOnly), func(_ string, err error) *hooks.Outcome {
			failed = err
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("too late")}}
		})
		end, err := r.prompt("go")
		if err != nil || end.Kind != session.EndCancelled || !errors.Is(failed, context.Canceled) || r.model.calls() != 2 {
			t.Errorf("%+v %v, the hook had %v", end, err, failed)
		}
	})
}

// What an evaluator may do: read and search; a command only by an allow rule, and
// not one that hooks would look at first. Nothing else is there.
func TestWhatAJudgeMayDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := map[string]int{}
		does := func(name string, kind tool.Kind) tool.Tool {
			return reader(name, kind, func(_ *tool.Env, input string) tool.Result { ran[name+input]++; return tool.Text("ran") })
		}
		tools := []tool.Tool{
			does("bash", tool.KindExecute), does("read", tool.KindRead), does("grep", tool.KindSearch), does("mcp__s__look", tool.KindRead),
			does("ask_user", tool.KindOther), does("todo_write", tool.KindThink), &fakeTool{name: "edit"},
			&kindTool{fakeTool{name: "job_output", readOnly: true}, tool.KindExecute},
		}
		const ls, rm, bg = `{"command":"ls -l"}`, `{"command":"rm -rf x"}`, `{"command":"ls","run_in_background":true}`
		steps := []session.Block{
			call("a", "bash", ls), call("b", "bash", rm), call("c", "bash", bg), call("d", "read", `{"file_path":"/w/.env"}`),
			call("e", "read", `{"file_path":"/w/a"}`), call("f", "edit", `{}`), call("g", "ask_user", `{}`), call("h", "read", `{`), call("i", "mcp__s__look", `{}`),
		}
		r := newRig(t, tools, text("done"), calls(steps...), calls(call("x", "Verdict", `{"ok":true}`)))
		var err error
		if r.cfg.Rules, err = permission.NewRules("", []string{"Bash(ls:*)"}, nil, []string{"Read(.env)"}); err != nil {
			t.Fatal(err)
		}
		r.mode.set(permission.ModeBypass) // of the session: an evaluator has nothing of it
		r.judging(agentQuestion(verdictOnly), func(string, error) *hooks.Outcome { return &hooks.Outcome{} })
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range r.model.requests[1].Head.Tools {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, []string{"bash", "grep", "mcp__s__look", "read", "Verdict"}) {
			t.Errorf("it was offered %v", names)
		}
		var got []string
		for _, m := range r.model.requests[2].Messages[2:] {
			b := m.Content[0]
			got = append(got, b.CallID+" "+strings.SplitAfter(b.Content[0].Text, ".")[0])
		}
		want := []string{
			"a ran", "b This call did not run: no rule allows it, and nobody can be asked here.", "c Nothing can run in the background here.",
			"d The rule Read(.", "e ran", "f There is no tool named \"edit\" here.", "g There is no tool named \"ask_user\" here.",
			"h The arguments are not valid JSON: send one JSON object.", "i ran",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(ran) != 3 {
			t.Errorf("%v ran", ran)
		}
		for _, c := range r.hooks.seen {
			if c.Event != hooks.Stop && c.Event != hooks.UserPromptSubmit {
				t.Errorf("a hook fired for what a hook does: %s", c.Event)
			}
		}
	})
}

// guardingHooks are hooks that look at commands.
type guardingHooks struct{ *fakeHooks }

func (guardingHooks) Guards(c *hooks.Call) bool {
	return c.Event == hooks.PreToolUse && c.Tool.Name == "bash" && strings.Contains(string(c.Tool.Input), "ls")
}

// A command that a PreToolUse hook would look at does not run past it.
func TestJudgeDoesNotGetRoundGuards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		bash := reader("bash", tool.KindExecute, func(*tool.Env, string) tool.Result { ran++; return tool.Text("ran") })
		r := newRig(t, []tool.Tool{bash}, text("done"), calls(call("a", "bash", `{"command":"ls"}`), call("b", "bash", `{"command":"pwd"}`)), calls(call("x", "Verdict", `{}`)))
		var err error
		if r.cfg.Rules, err = permission.NewRules("", []string{"Bash"}, nil, nil); err != nil {
			t.Fatal(err)
		}
		r.cfg.Hooks = guardingHooks{r.hooks}
		r.judging(agentQuestion(verdictOnly), func(string, error) *hooks.Outcome { return &hooks.Outcome{} })
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		msgs := r.model.requests[2].Messages
		if ran != 1 || msgs[2].Content[0].Content[0].Text != guarded || msgs[3].Content[0].Content[0].Text != "ran" {
			t.Errorf("%d ran: %+v", ran, msgs[2:])
		}
	})
}

// The model is the hook's where it can be reached, with the retries of the
// session; tokens and cost are the session's.
func TestJudgesModelRetriesAndCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		use := session.Chunk{Type: session.ChunkUsage, Usage: &session.Usage{InputTokens: 1_000_000, OutputTokens: 1}}
		answer := says(session.Chunk{Type: session.ChunkText, Text: "{}"}, use, session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop})
		r := newRig(t, nil, says(session.Chunk{Type: session.ChunkText, Text: "done"}, use, session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}),
			fails(model.Errorf(model.KindOverloaded, "busy")), answer, fails(model.Errorf(model.KindAuth, "no key")))
		var asked []string
		priced := &pricedModels{script: r.model, asked: &asked}
		r.cfg.Models = priced
		r.cfg.HookModel = func(name, current string) string { return name + " of " + current }
		q := agentQuestion(verdictOnly)
		q.Model, q.Rounds, q.Tool = "small", 1, hooks.AnswerTool{}
		n := 0
		r.judging(q, func(answer string, err error) *hooks.Outcome {
			n++
			if answer != "{}" || err != nil {
				t.Errorf("%q %v", answer, err)
			}
			return &hooks.Outcome{}
		})
		began := time.Now()
		if _, err := r.prompt("go"); err != nil || n != 1 {
			t.Fatalf("%v %d", err, n)
		}
		if time.Since(began) == 0 {
			t.Error("it did not wait before it tried again")
		}
		if !slices.Contains(asked, "small of test/model") {
			t.Errorf("asked for %v", asked)
		}
		if st := r.state; st.Cost != 4 || st.Total.InputTokens != 2_000_000 || st.Used.Cost != 2 {
			t.Errorf("cost %v of %+v, shown %v", st.Cost, st.Total, st.Used.Cost)
		}
		if p := session.Verify(session.Header{ID: "s1"}, r.log.events); len(p) > 0 {
			t.Errorf("%v", p)
		}
		// A failure that does not pass is the hook's.
		r.judging(q, func(_ string, err error) *hooks.Outcome {
			if err == nil || err.Error() != "no key" {
				t.Errorf("%v", err)
			}
			return &hooks.Outcome{}
		})
		r.model.streams = slices.Insert(r.model.streams, 3, text("more"))
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
	})
}

type pricedModels struct {
	*script
	asked *[]string
}

func (m *pricedModels) Client(ref string) (model.Client, model.Info, error) {
	*m.asked = append(*m.asked, ref)
	return m.script, model.Info{Ref: "test/model", Window: 1 << 40, Price: &model.Price{Input: 2}}, nil
}

// A denial by a hook that also ends the turn is the model's to read: verbatim.
func TestDenialThatEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, []tool.Tool{&fakeTool{name: "look", readOnly: true}}, calls(call("a", "look", "{}")))
		r.hooks.on[hooks.PreToolUse] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Blocked: true, Decision: hooks.Deny, DecisionReason: hookText(" no <b>\n"), Halted: true, HaltReason: hookText("stop")}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if got := r.state.Messages[2].Content[0]; got.Content[0].Text != " no <b>\n" || !got.IsError {
			t.Errorf("%+v", got)
		}
	})
}
