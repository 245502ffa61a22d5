package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// row is one observed run of codex-cli 0.171.0; testdata/README.md says how
// the fields came about.
type row struct {
	Name              string            `json:"name"`
	Hooks             json.RawMessage   `json:"hooks"`
	Prompt            string            `json:"prompt"`
	ModelScript       [][]step          `json:"model_script"`
	Requests          int               `json:"requests"`
	LastRequestItems  []item            `json:"last_request_items"`
	ProjectFilesAfter map[string]string `json:"project_files_after"`
	UserVisibleErrors []string          `json:"user_visible_errors"`

	projectFiles map[string]string // what stood in the project before
}

// step is one thing that the fake model answered.
type step struct {
	Type      string                  `json:"type"`
	Name      string                  `json:"name"`
	Arguments string                  `json:"arguments"`
	CallID    string                  `json:"call_id"`
	Content   []struct{ Text string } `json:"content"`
	Delay     int                     `json:"_delay"`
}

// item is one thing in a model request.
type item struct {
	Role   string   `json:"role,omitempty"`
	Text   []string `json:"text,omitempty"`
	Call   string   `json:"call,omitempty"`
	ID     string   `json:"id,omitempty"`
	Args   string   `json:"arguments,omitempty"`
	Output string   `json:"output,omitempty"`
}

func (i item) String() string {
	switch {
	case i.Call != "":
		return "call " + i.Call + " " + i.Args
	case i.Role != "":
		return fmt.Sprintf("%s %q", i.Role, i.Text)
	}
	return fmt.Sprintf("output %q", i.Output)
}

// setup is what a row needs beside its hooks.json, which the recording does not
// hold.
type setup struct {
	userTOML, projectJSON string
	approve               bool // trust the project's hooks
	interrupt             bool // during the first request, or the first tool hook
	turns                 int  // 1 when 0
	shell                 string
}

// replay is a session in which this test plays the loop: it fires the calls
// where Codex fires its own and does with the outcomes what the design says.
type replay struct {
	t     *testing.T
	row   *row
	setup setup
	root  string
	set   *hooks.Set
	later chan hooks.Text // what async handlers say

	items    []item
	last     []item
	requests int
	problems []hooks.Problem
	seen     []seenCall
	model    string
	quiet    bool // what is said of the config is not compared
}

type seenCall struct {
	event   hooks.Event
	outcome *hooks.Outcome
}

const (
	sessionID = "01a22b60-0000-7000-8000-000000000001"
	turnID    = "01a22b60-0000-7000-8000-000000000002"
)

func newReplay(t *testing.T, r *row, s setup) *replay {
	p := &replay{t: t, row: r, setup: s, model: "gpt-5", root: t.TempDir(), later: make(chan hooks.Text, 16)}
	home, proj := filepath.Join(p.root, "home", ".codex"), p.proj()
	var raw struct {
		Raw *string `json:"_raw"`
	}
	text := string(r.Hooks)
	if json.Unmarshal(r.Hooks, &raw) == nil && raw.Raw != nil {
		text = *raw.Raw
	}
	write(t, filepath.Join(home, "hooks.json"), text)
	if s.userTOML != "" {
		write(t, filepath.Join(home, "config.toml"), s.userTOML)
	}
	if err := os.MkdirAll(filepath.Join(proj, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if s.projectJSON != "" {
		write(t, filepath.Join(proj, ".codex", "hooks.json"), s.projectJSON)
	}
	files, problems := Discover(DiscoverOptions{Cwd: proj, CodexHome: home})
	shell := s.shell
	if shell == "" {
		shell = "/bin/bash"
	}
	d, more := New(Options{Files: files, Env: os.Environ(), Shell: shell, Home: p.root, GOOS: "linux"})
	p.problems = append(problems, more...)
	p.set = hooks.NewEngine(hooks.Options{
		Dialects: []hooks.Dialect{d}, ProjectDir: proj, SpillDir: filepath.Join(p.root, "spill"),
		Deliver: func(x hooks.Late) { p.later <- x.Text },
	})
	t.Cleanup(p.set.Close)
	if s.approve {
		var ids []string
		for _, h := range p.set.Held() {
			ids = append(ids, h.ID())
		}
		if err := p.set.Approve(ids, false); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *replay) proj() string { return filepath.Join(p.root, "proj") }

// mode is default in the runs that a client drove (they have no prompt text in
// the recording) and bypassPermissions in those of codex exec.
func (p *replay) mode() string {
	if p.row.Prompt == "" {
		return "default"
	}
	return "bypassPermissions"
}

func (p *replay) call(e hooks.Event) *hooks.Call {
	return &hooks.Call{
		Event: e, SessionID: sessionID, TurnID: turnID, Cwd: p.proj(), ProjectDir: p.proj(),
		Model: p.model, Mode: p.mode(), Source: "startup", Reason: "other",
		TranscriptPath: func(dialect string) string {
			return filepath.Join(p.root, "home", ".codex", "sessions", "2026", "11", "30", "rollout-2026-11-30T07-38-42-"+sessionID+".jsonl")
		},
	}
}

func (p *replay) fire(ctx context.Context, c *hooks.Call) *hooks.Outcome {
	b := p.set.Match(c)
	if b == nil {
		return &hooks.Outcome{}
	}
	o := b.Run(ctx)
	p.seen = append(p.seen, seenCall{c.Event, o})
	return o
}

func (p *replay) contexts(o *hooks.Outcome) {
	for _, c := range o.Contexts {
		p.items = append(p.items, item{Role: "developer", Text: []string{c.Text}})
	}
}

// run plays the whole row.
func (p *replay) run() {
	ctx := context.Background()
	prompt := p.row.Prompt
	if prompt == "" {
		prompt = "hello"
	}
	start := p.fire(ctx, p.call(hooks.SessionStart))
	p.contexts(start)
	script := p.row.ModelScript
	for turn := range max(p.setup.turns, 1) {
		if turn == 0 && start.Halted {
			continue // the first turn ends before anything is asked
		}
		c := p.call(hooks.UserPromptSubmit)
		c.Prompt = prompt
		o := p.fire(ctx, c)
		if o.Blocked || o.Halted {
			p.contexts(o) // they stay, the prompt does not
			continue
		}
		p.items = append(p.items, item{Role: "user", Text: []string{prompt}})
		p.contexts(o)
		script = p.turn(ctx, script)
	}
	p.fire(ctx, p.call(hooks.SessionEnd))
}

// turn asks the model until it stops by itself, and returns the script's rest.
func (p *replay) turn(ctx context.Context, script [][]step) [][]step {
	active := false
	for len(script) > 0 {
		p.fire(ctx, p.call(hooks.PreModelRequest))
		p.requests++
		p.last = append([]item(nil), p.items...)
		steps := script[0]
		script = script[1:]
		if p.setup.interrupt && steps[0].Delay > 0 {
			p.fire(ctx, p.call(hooks.Interrupt))
			return nil
		}
		post := p.call(hooks.PostModelRequest)
		post.Fields = map[string]any{"token_usage": map[string]int64{"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}, "response_id": "r0"}
		p.fire(ctx, post)
		more, late := false, false
		var said *string
		for _, s := range steps {
			switch {
			case s.Delay > 0:
				late = true
			case s.Type == "function_call", s.Type == "custom_tool_call":
				if p.tool(ctx, s); p.setup.interrupt {
					return nil
				}
				more = true
			case s.Type == "message":
				said = &s.Content[0].Text
				p.items = append(p.items, item{Role: "assistant", Text: []string{*said}})
			}
		}
		if late { // the model took its time: an async hook was faster
			select {
			case x := <-p.later:
				p.items = append(p.items, item{Role: "developer", Text: []string{x.Text}})
				more = true
			case <-time.After(time.Minute):
				p.t.Error("the async hook said nothing")
			}
		}
		if more {
			continue
		}
		c := p.call(hooks.Stop)
		c.StopHookActive, c.LastAssistantMessage = active, said
		o := p.fire(ctx, c)
		if o.Halted || !o.Blocked {
			return script
		}
		var texts []string
		for _, r := range o.Reasons {
			texts = append(texts, r.Text)
		}
		p.items = append(p.items, item{Role: "user", Text: texts})
		active = true
	}
	return script
}

// tool runs the observed call as the agent would run its own.
func (p *replay) tool(ctx context.Context, s step) {
	tool := p.ours(s)
	p.items = append(p.items, item{Call: s.Name, ID: s.CallID, Args: s.Arguments})
	c := p.call(hooks.PreToolUse)
	c.Tool = &tool
	if p.setup.interrupt {
		stop, cancel := context.WithCancel(ctx)
		cancel()
		p.fire(stop, c)
		p.fire(ctx, p.call(hooks.Interrupt))
		return
	}
	pre := p.fire(ctx, c)
	p.contexts(pre)
	if pre.Decision == hooks.Deny {
		p.output(s, pre.Reasons[0].Text)
		return
	}
	if pre.UpdatedInput != nil {
		tool.Input = pre.UpdatedInput
	}
	if p.mode() == "default" {
		ask := p.call(hooks.PermissionRequest)
		ask.Tool = &tool
		if o := p.fire(ctx, ask); o.Decision == hooks.Deny {
			p.output(s, o.Reasons[0].Text)
			return
		}
	}
	if tool.Name == "bash" {
		p.bash(&tool)
	} else {
		p.change(&tool)
	}
	after := p.call(hooks.PostToolUse)
	after.Tool = &tool
	o := p.fire(ctx, after)
	p.contexts(o)
	text := tool.Output
	if o.ReplaceOutput != nil {
		text = o.ReplaceOutput.Text
	}
	p.output(s, text)
}

func (p *replay) output(s step, text string) {
	p.items = append(p.items, item{Output: text, ID: s.CallID})
}

func (p *replay) bash(tool *hooks.Tool) {
	var in bashInput
	if err := json.Unmarshal(tool.Input, &in); err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command("/bin/bash", "-c", in.Command)
	cmd.Dir = p.proj()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	code := cmd.ProcessState.ExitCode()
	r, err := json.Marshal(hooks.BashResponse{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: code})
	if err != nil {
		p.t.Fatal(err)
	}
	tool.Response, tool.ExitCode, tool.Output = r, &code, stdout.String()+stderr.String()
}

// ours is the observed call as one of our tools: exec_command is bash, a patch
// is an edit or a write.
func (p *replay) ours(s step) hooks.Tool {
	name, in := "bash", map[string]string{}
	if s.Name == "apply_patch" {
		f, err := parsePatch(s.Arguments)
		if err != nil {
			p.t.Fatal(err)
		}
		name = "edit"
		in["file_path"] = filepath.Join(p.proj(), f.path)
		if f.add {
			name, in["content"] = "write", strings.Join(f.lines, "\n")+"\n"
		} else {
			in["old_string"], in["new_string"] = strings.Join(f.old, "\n"), strings.Join(f.new, "\n")
		}
	} else {
		var args struct{ Cmd string }
		if err := json.Unmarshal([]byte(s.Arguments), &args); err != nil {
			p.t.Fatal(err)
		}
		in["command"] = args.Cmd
	}
	raw, err := json.Marshal(in)
	if err != nil {
		p.t.Fatal(err)
	}
	return hooks.Tool{Name: name, Input: raw, CallID: s.CallID}
}

// change carries an edit or a write out.
func (p *replay) change(tool *hooks.Tool) {
	var in struct {
		writeInput
		Old string `json:"old_string"`
		New string `json:"new_string"`
	}
	if err := json.Unmarshal(tool.Input, &in); err != nil {
		p.t.Fatal(err)
	}
	text := in.Content
	if tool.Name == "edit" {
		text = strings.Replace(string(readFile(p.t, in.FilePath)), in.Old, in.New, 1)
	}
	_, err := os.Stat(in.FilePath)
	write(p.t, in.FilePath, text)
	raw, merr := json.Marshal(hooks.WriteResponse{Path: in.FilePath, Created: err != nil})
	if merr != nil {
		p.t.Fatal(merr)
	}
	tool.Output, tool.Response = "changed", raw
}
