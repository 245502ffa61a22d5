package claudecode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// rig is an engine over settings texts in a scratch project.
type rig struct {
	t    *testing.T
	dir  string
	home string
	set  *hooks.Set
	d    *Dialect
}

func testEnv(home string) hooks.Environ {
	return hooks.Environ{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home}
}

// newRig makes an engine of one explicit settings file.
func newRig(t *testing.T, settings string, change ...func(*Config, *hooks.Options)) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), home: t.TempDir()}
	f, problems := parseFile(filepath.Join(r.dir, "settings.json"), hooks.LayerExplicit, []byte(settings))
	for _, p := range problems {
		t.Logf("problem: %v", p)
	}
	r.start([]*File{f}, change...)
	return r
}

func (r *rig) start(files []*File, change ...func(*Config, *hooks.Options)) {
	cfg := Config{Files: files, Env: testEnv(r.home), Home: r.home}
	opts := hooks.Options{ProjectDir: r.dir, SpillDir: filepath.Join(r.home, "spill")}
	for _, fn := range change {
		fn(&cfg, &opts)
	}
	r.d = New(cfg)
	opts.Dialects = []hooks.Dialect{r.d}
	r.set = hooks.NewEngine(opts)
	r.t.Cleanup(r.set.Close)
}

func (r *rig) call(ev hooks.Event) *hooks.Call {
	return &hooks.Call{Event: ev, SessionID: "S", Cwd: r.dir, ProjectDir: r.dir, Model: "m", Mode: "default"}
}

func (r *rig) tool(ev hooks.Event, name, input string) *hooks.Call {
	c := r.call(ev)
	c.Tool = &hooks.Tool{Name: name, Input: json.RawMessage(input), CallID: "call_1"}
	return c
}

func (r *rig) run(c *hooks.Call) *hooks.Outcome {
	r.t.Helper()
	b := r.set.Match(c)
	if b == nil {
		r.t.Fatalf("%s matches no hook", c.Event)
	}
	return b.Run(r.t.Context())
}

// one wraps a command as the only handler of an event.
func one(ev, command string) string {
	b, _ := json.Marshal(map[string]any{"hooks": map[string]any{ev: []any{map[string]any{
		"hooks": []any{map[string]any{"type": "command", "command": command}},
	}}}})
	return string(b)
}

func reference(t *testing.T, scenario string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "reference", scenario+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReferenceStopContinue(t *testing.T) {
	r := newRig(t, reference(t, "hook-cc-stop-continue"))
	if !r.set.Has(hooks.Stop) || r.set.Has(hooks.PreToolUse) {
		t.Fatal("Has is wrong")
	}
	out := r.run(r.call(hooks.Stop))
	if !out.Blocked || len(out.Reasons) != 1 || out.Reasons[0].Text != "Also reply with the single word SECOND, then stop." {
		t.Fatalf("first stop: %+v", out)
	}
	run := out.Runs[0]
	if run.Handler != "claude-code:Stop:1" || run.Decision != hooks.Block || *run.ExitCode != 2 ||
		run.Stderr != "Also reply with the single word SECOND, then stop." {
		t.Fatalf("first run: %+v", run)
	}
	out = r.run(r.call(hooks.Stop))
	if out.Blocked || out.Runs[0].Handler != "claude-code:Stop:2" || out.Runs[0].Decision != hooks.Pass {
		t.Fatalf("second stop: %+v", out)
	}
}

func TestReferencePreToolDeny(t *testing.T) {
	r := newRig(t, reference(t, "hook-cc-pretool-deny"))
	out := r.run(r.tool(hooks.PreToolUse, "bash", `{"command":"ls"}`))
	if out.Decision != hooks.Deny || out.DecisionReason.Text != "bash is disabled by policy in this session" {
		t.Fatalf("%+v", out)
	}
	if run := out.Runs[0]; run.Decision != hooks.Block || run.Matcher != "bash" || run.Handler != "claude-code:PreToolUse:1" {
		t.Fatalf("%+v", run)
	}
	if b := r.set.Match(r.tool(hooks.PreToolUse, "read", `{"file_path":"a"}`)); b != nil {
		t.Fatal("CC#20334: a bash matcher fired on read")
	}
}

func TestReferencePostToolContext(t *testing.T) {
	r := newRig(t, reference(t, "hook-cc-posttool-context"))
	c := r.tool(hooks.PostToolUse, "bash", `{"command":"ls"}`)
	c.Tool.Response = json.RawMessage(`{"stdout":"a\n","stderr":"","exitCode":0,"interrupted":false}`)
	out := r.run(c)
	if len(out.Contexts) != 1 || out.Contexts[0].Text != "Note: command output has been verified against the audit log." {
		t.Fatalf("%+v", out)
	}
	if out.Blocked || out.Runs[0].Decision != hooks.Pass || strings.Join(out.Runs[0].Injected, ",") != "context" {
		t.Fatalf("%+v", out)
	}
}
