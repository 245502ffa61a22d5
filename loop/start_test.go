package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/hooks"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// reopen makes the rig's session anew, as a load does.
func (r *rig) reopen(state *session.State, change func(*Config)) {
	r.t.Helper()
	cfg := r.cfg
	change(&cfg)
	s, err := New(cfg, r.log, state, "resume")
	if err != nil {
		r.t.Fatal(err)
	}
	r.Session = s
}

func (r *rig) sources() []string {
	r.hooks.mu.Lock()
	defer r.hooks.mu.Unlock()
	var out []string
	for _, c := range r.hooks.seen {
		if c.Event == hooks.SessionStart || c.Event == hooks.CwdChanged {
			from, _ := c.Fields["old_cwd"].(string)
			out = append(out, string(c.Event)+" "+c.Source+from)
		}
	}
	return out
}

// SessionStart hooks of a project run in the very session in which the person
// lets them, before the prompt, once; and other events' wait for nothing.
func TestSessionStartWaitsForTrust(t *testing.T) {
	r := newRig(t, nil, text("one"), text("two"))
	asked := false
	r.hooks.on[hooks.SessionStart] = func(context.Context, *hooks.Call) *hooks.Outcome {
		if !asked {
			t.Error("SessionStart ran before the question about trust")
		}
		return &hooks.Outcome{Contexts: []hooks.Text{hookText("from the start")}}
	}
	r.watch.ask = func(context.Context, *Question) (string, error) { asked = true; return "allow_once", nil }
	trust := &fakeTrust{held: []HeldHook{{ID: "h", Event: "SessionStart"}}}
	st := session.NewState(session.Header{Version: 1, ID: "s1", Cwd: "/w"})
	r.reopen(st, func(c *Config) { c.Trust = trust })
	if got := r.sources(); len(got) > 0 {
		t.Fatalf("%q at the start", got)
	}
	for range 2 {
		if _, err := r.prompt("hi"); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.sources(); !slices.Equal(got, []string{"SessionStart resume"}) {
		t.Errorf("%q", got)
	}
	var order []string
	for _, m := range r.model.requests[0].Messages {
		order = append(order, m.Content[0].Text)
	}
	if !slices.Equal(order, []string{"from the start", "hi"}) {
		t.Errorf("%q", order)
	}
}

// A session that is loaded with another directory tells CwdChanged hooks, once.
func TestCwdChangedWhenLoaded(t *testing.T) {
	r := newRig(t, nil, text("one"))
	for _, ev := range []hooks.Event{hooks.SessionStart, hooks.CwdChanged} {
		r.hooks.on[ev] = func(context.Context, *hooks.Call) *hooks.Outcome { return &hooks.Outcome{} }
	}
	h := session.Header{Version: 1, ID: "s1", Cwd: "/w"}
	moved := &session.ConfigSet{ID: ConfigCwd, Value: "/other", Source: session.Source{Kind: session.SourceClient}}
	if _, err := r.log.Append(moved); err != nil {
		t.Fatal(err)
	}
	fold := func() *session.State {
		st, err := session.Fold(h, r.log.events)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	r.reopen(fold(), func(*Config) {})
	if _, err := r.prompt("hi"); err != nil {
		t.Fatal(err)
	}
	r.reopen(fold(), func(*Config) {})
	want := []string{"SessionStart resume", "CwdChanged /w", "SessionStart resume"}
	if got := r.sources(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// Closed before a prompt: what became of the hooks is in the log all the same.
	if err := r.Close(context.Background(), "other"); err != nil {
		t.Fatal(err)
	}
	var started, ended int
	for _, typ := range r.log.types() {
		switch typ {
		case session.TypeHookInvoked:
			started++
		case session.TypeHookResult:
			ended++
		}
	}
	if started != 3 || ended != 3 {
		t.Errorf("%d hooks started, %d ended", started, ended)
	}
}

// A ConfigChange hook that objects keeps the hooks in force.
func TestConfigChangeRefused(t *testing.T) {
	r := newRig(t, nil, text("one"), text("two"), text("three"))
	refuse := true
	r.hooks.on[hooks.ConfigChange] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
		if c.Fields["file_path"] != "/h/settings.json" || c.Fields["source"] != "user_settings" {
			t.Errorf("%v", c.Fields)
		}
		return &hooks.Outcome{Blocked: refuse, Reasons: []hooks.Text{hookText("not today")}}
	}
	next := &fakeHooks{on: map[hooks.Event]func(context.Context, *hooks.Call) *hooks.Outcome{}}
	refusals := 0
	r.cfg.Reload = func() (Reloaded, bool) {
		return Reloaded{Hooks: next, Continuations: 3, Changed: map[string]string{"/h/settings.json": "user_settings"}, Refused: func() { refusals++ }}, true
	}
	if _, err := r.prompt("one"); err != nil {
		t.Fatal(err)
	}
	if r.cfg.Hooks != hooks.Engine(r.hooks) || r.cfg.Limits.Continuations != 8 {
		t.Error("the refused hooks are in force")
	}
	said := false
	for _, ev := range r.watch.events {
		n, ok := ev.Data.(*session.Notice)
		said = said || ok && strings.Contains(n.Text, "/h/settings.json") && strings.Contains(n.Text, "not today")
	}
	if !said {
		t.Error("the person was not told")
	}
	refuse = false
	if _, err := r.prompt("two"); err != nil {
		t.Fatal(err)
	}
	if r.cfg.Hooks != hooks.Engine(next) || r.cfg.Limits.Continuations != 3 || refusals == 0 {
		t.Errorf("the new hooks are not in force after %d refusals", refusals)
	}
	refusals = 0
	if _, err := r.prompt("three"); err != nil || refusals > 0 {
		t.Errorf("%d refusals where nobody objects, %v", refusals, err)
	}
}

// An administrator's change counts whatever a hook says of it.
func TestReloadOfPolicyIsNotRefused(t *testing.T) {
	r := newRig(t, nil, text("one"))
	r.hooks.on[hooks.ConfigChange] = func(context.Context, *hooks.Call) *hooks.Outcome {
		return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("not today")}}
	}
	next := &fakeHooks{on: map[hooks.Event]func(context.Context, *hooks.Call) *hooks.Outcome{}}
	r.cfg.Reload = func() (Reloaded, bool) {
		return Reloaded{Hooks: next, Changed: map[string]string{"/etc/x": "policy_settings", "/h/settings.json": "user_settings"}}, true
	}
	if _, err := r.prompt("one"); err != nil {
		t.Fatal(err)
	}
	if r.cfg.Hooks != hooks.Engine(next) {
		t.Error("the new hooks are not in force")
	}
}

// What changes while a turn runs counts from its next step on: a stop hook that
// a tool call has written decides about this very turn.
func TestReloadWithinATurn(t *testing.T) {
	written := false
	write := &fakeTool{name: "bash", run: func(context.Context, *tool.Env, string) tool.Result { written = true; return tool.Text("ok") }}
	r := newRig(t, []tool.Tool{write}, calls(call("c1", "bash", `{"command":"echo"}`)), text("done"), text("again"))
	stops := 0
	next := &fakeHooks{on: map[hooks.Event]func(context.Context, *hooks.Call) *hooks.Outcome{
		hooks.Stop: func(context.Context, *hooks.Call) *hooks.Outcome {
			if stops++; stops > 1 {
				return &hooks.Outcome{}
			}
			return &hooks.Outcome{Blocked: true, Reasons: []hooks.Text{hookText("go on")}}
		},
	}}
	r.cfg.Reload = func() (Reloaded, bool) {
		if !written {
			return Reloaded{}, false
		}
		written = false
		return Reloaded{Hooks: next, Notices: []session.Notice{{Severity: "warning", Text: "something of the new file"}}}, true
	}
	if _, err := r.prompt("go"); err != nil {
		t.Fatal(err)
	}
	told := false
	for _, ev := range r.watch.events {
		n, ok := ev.Data.(*session.Notice)
		told = told || ok && n.Text == "something of the new file"
	}
	if stops != 2 || !told {
		t.Errorf("the new stop hook ran %d times; told: %v", stops, told)
	}
}

// A PermissionRequest hook's allow does not carry a rewritten call past a rule
// that denies; PermissionDenied hooks may invite another try.
func TestPermissionRequestRewriteMeetsRules(t *testing.T) {
	ran := ""
	bash := &fakeTool{name: "bash", run: func(_ context.Context, _ *tool.Env, in string) tool.Result { ran = in; return tool.Text("ok") }}
	for _, c := range []struct{ updated, ran, result string }{
		{`{"command":"rm -rf /"}`, "", "rule"},
		{`{"command":"ls"}`, `{"command":"ls"}`, "ok"},
		{"", `{"command":"echo"}`, "ok"},
	} {
		ran = ""
		r := newRig(t, []tool.Tool{bash}, calls(call("c1", "bash", `{"command":"echo"}`)), text("done"))
		rules, err := permission.NewRules("", nil, nil, []string{"Bash(rm:*)"})
		if err != nil {
			t.Fatal(err)
		}
		r.cfg.Rules = rules
		r.hooks.on[hooks.PermissionRequest] = func(context.Context, *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Decision: hooks.Allow, UpdatedInput: json.RawMessage(c.updated)}
		}
		r.hooks.on[hooks.PermissionDenied] = func(context.Context, *hooks.Call) *hooks.Outcome { return &hooks.Outcome{Retry: true} }
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		res := r.last().Content[0].Content[0].Text
		if ran != c.ran || !strings.Contains(res, c.result) || (c.ran == "") != strings.Contains(res, "may try this call again") {
			t.Errorf("%s: ran %q, result %q", c.updated, ran, res)
		}
	}
}

// FileChanged hooks hear of the files that their matchers name and of those that
// hooks have named, before the model is asked again, and of what has happened
// between two prompts.
func TestFileChanged(t *testing.T) {
	dir := t.TempDir()
	env, other := filepath.Join(dir, ".env"), filepath.Join(dir, "other")
	n := 0
	write := func(path string) {
		n++ // another text each time: a clock may stand still
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Error(err)
		}
	}
	touch := &fakeTool{name: "bash", run: func(context.Context, *tool.Env, string) tool.Result {
		write(env)
		return tool.Text("ok")
	}}
	r := newRig(t, []tool.Tool{touch}, calls(call("c1", "bash", "{}")), text("one"), text("two"), text("three"))
	var heard []string
	r.hooks.watched = []string{env}
	r.hooks.on[hooks.FileChanged] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
		heard = append(heard, fmt.Sprintf("%s %s after %d", c.Fields["event"], filepath.Base(c.Fields["file_path"].(string)), r.model.calls()))
		return &hooks.Outcome{WatchPaths: []string{other}}
	}
	for _, say := range []string{"one", "two", "three"} {
		if _, err := r.prompt(say); err != nil {
			t.Fatal(err)
		}
		write(other)
		if say == "two" {
			if err := os.Remove(env); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{"add .env after 1", "add other after 2", "unlink .env after 3", "change other after 3"}; !slices.Equal(heard, want) {
		t.Errorf("%q, want %q", heard, want)
	}
}
