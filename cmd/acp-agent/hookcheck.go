package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
)

// hooksCheckCmd is acp-agent hooks check.
type hooksCheckCmd struct {
	Event   string        `arg:"" help:"Event, such as Stop or PreToolUse."`
	Dir     string        `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	Tool    string        `help:"Tool of a tool event by this agent's name or Claude Code's, such as bash; the server, for Elicitation and ElicitationResult." placeholder:"NAME"`
	Input   string        `help:"Arguments of the tool, as JSON." placeholder:"JSON" default:"{}"`
	Output  string        `help:"What the tool put out, for events after it ran." placeholder:"TEXT"`
	Prompt  string        `help:"Prompt of UserPromptSubmit." placeholder:"TEXT"`
	Message string        `help:"Last text of the model, for Stop; default Done." placeholder:"TEXT"`
	Active  bool          `help:"Set stop_hook_active, as on a continued turn."`
	Ask     bool          `help:"Let prompt and agent hooks ask their model; without it what they would ask is shown."`
	JSON    bool          `name:"json" help:"Print one JSON object."`
	Timeout time.Duration `help:"Time limit of the whole check." default:"10m" placeholder:"SPAN"`
}

// noSession stands for the MCP servers of a session where there is none.
type noSession struct{}

// CallTool implements hooks.MCPCaller.
func (noSession) CallTool(context.Context, string, string, json.RawMessage) (string, bool, error) {
	return "", false, errors.New("MCP servers are connected in sessions only: try this hook in one")
}

// Run runs the hooks of an event and shows what came of it.
func (c *hooksCheckCmd) Run(ctx context.Context, a *app) error {
	if err := c.valid(); err != nil {
		return err
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	dir, err := directory(c.Dir)
	if err != nil {
		return err
	}
	bench, err := newBench(cfg, dir)
	if err != nil {
		return err
	}
	defer func() { _ = bench.close() }() // it has run nothing in the background
	dry := &dryJudge{}
	if c.Ask {
		dry.next = bench
	}
	l := loadHooks(cfg, dir, hookOptions{mcp: noSession{}, judge: dry})
	set := l.set
	defer set.Close()
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	call := c.call(dir, cfg.Model.Name)
	tmp, err := os.MkdirTemp("", "acp-agent-check-")
	if err != nil {
		return &config.Error{What: "making a directory for the transcript: " + reason(err), Do: "set TMPDIR to one that can be written"}
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	call.TranscriptPath = (&madeUpTranscripts{dir: tmp, call: call, paths: map[string]string{}}).path
	for _, p := range l.problems {
		fmt.Fprintf(a.stderr, "problem: %s\n", oneLine(p.String()))
	}
	batch := set.Match(call)
	if batch == nil {
		return a.noHooks(set, c.Event)
	}
	payloads := payloadsOf(set, batch, call)
	outcome := batch.Run(ctx)
	if c.JSON {
		enc := json.NewEncoder(a.stdout)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			*hooks.Outcome
			Payloads map[string]string
			Asked    map[string]questionJSON `json:",omitempty"`
		}{outcome, payloads, askedJSON(bench, dry.asked)})
	}
	out := bufio.NewWriter(a.stdout)
	for _, dialect := range []string{"claude-code", "codex"} {
		if p, ok := payloads[dialect]; ok {
			fmt.Fprintf(out, "stdin (%s): %s\n", dialect, hooks.Visible(clip(p, 2000)))
		}
	}
	showOutcome(out, outcome, func(r *hooks.Run) { showInquiry(out, bench, dry.asked[r.Handler]) })
	return out.Flush()
}

// questionJSON is an inquiry for programs.
type questionJSON struct {
	Model  string   `json:"model,omitempty"`
	Error  string   `json:"error,omitempty"`
	System string   `json:"system"`
	Prompt string   `json:"prompt"`
	Tools  []string `json:"tools"`
	Rounds int      `json:"rounds"`
	Answer string   `json:"answer,omitempty"`
}

func askedJSON(b *bench, asked map[string]*inquiry) map[string]questionJSON {
	out := map[string]questionJSON{}
	for id, in := range asked {
		q := questionJSON{System: in.System, Prompt: in.Prompt, Tools: b.toolsOf(in.Question), Rounds: in.Rounds, Answer: in.answer}
		var err error
		if q.Model, err = b.ref(in.Model); err != nil {
			q.Error = err.Error()
		}
		out[id] = q
	}
	return out
}

// showInquiry says what a hook asks a model, or would, and what that answered.
func showInquiry(w io.Writer, b *bench, in *inquiry) {
	if in == nil {
		return
	}
	ref, err := b.ref(in.Model)
	switch {
	case err != nil:
		ref = "none: " + oneLine(err.Error())
	case in.Model != "" && ref != in.Model && !strings.HasSuffix(ref, "/"+in.Model):
		ref += " (for " + in.Model + ")"
	}
	fmt.Fprintf(w, "  model:  %s\n", ref)
	if tools := b.toolsOf(in.Question); len(tools) > 0 {
		fmt.Fprintf(w, "  tools:  %s; %d rounds at most\n", strings.Join(tools, ", "), in.Rounds)
	}
	fmt.Fprintf(w, "  system: %s\n  asks:   %s\n", clip(in.System, 1000), hooks.Visible(clip(in.Prompt, 2000)))
	if in.answer != "" {
		fmt.Fprintf(w, "  answer: %s\n", hooks.Visible(clip(in.answer, 1000)))
	}
}

// toolsOf are the names of the tools that a question comes with.
func (b *bench) toolsOf(q *hooks.Question) []string {
	if q.Tool.Name == "" {
		return []string{}
	}
	return append(b.tools.Names(), q.Tool.Name)
}

// valid says what of the command line cannot be checked.
func (c *hooksCheckCmd) valid() error {
	ev := hooks.Event(c.Event)
	if why := hooks.Absent(ev); why != "" {
		return &usageError{c.Event + " never comes here: " + why}
	}
	if !slices.Contains(hooks.Events(), ev) {
		for _, known := range hooks.Events() {
			if strings.EqualFold(string(known), c.Event) {
				return &usageError{fmt.Sprintf("there is no event %q: names are case-sensitive, say %s", c.Event, known)}
			}
		}
		var names []string
		for _, known := range hooks.Events() {
			names = append(names, string(known))
		}
		return &usageError{fmt.Sprintf("there is no event %q: the events are %s", c.Event, strings.Join(names, ", "))}
	}
	if ofTool(ev) && c.Tool == "" {
		return &usageError{c.Event + " is about a tool: name one, such as --tool bash --input '{\"command\":\"ls\"}'"}
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(c.Input), &args) != nil || args == nil {
		return &usageError{"--input is not JSON: give the tool's arguments as an object, such as '{\"command\":\"ls\"}'"}
	}
	return nil
}

func ofTool(ev hooks.Event) bool {
	switch ev {
	case hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch:
		return true
	}
	return false
}

// call is the occasion to try, with values of a made-up session.
func (c *hooksCheckCmd) call(dir, model string) *hooks.Call {
	const id = "00000000-0000-7000-8000-00000000000"
	call := &hooks.Call{
		Event: hooks.Event(c.Event), SessionID: id + "0", Model: model,
		Cwd: dir, ProjectDir: dir, Mode: "default", Prompt: c.Prompt, StopHookActive: c.Active,
		TurnID: id + "1", PromptID: id + "1", Trigger: "manual",
	}
	last := c.Message
	if last == "" && call.Event == hooks.Stop {
		last = "Done."
	}
	if last != "" {
		call.LastAssistantMessage = &last
	}
	switch call.Event {
	case hooks.SessionStart:
		call.Source = "startup"
	case hooks.SessionEnd:
		call.Reason = "other"
	case hooks.PermissionDenied:
		call.Reason = "A rule denies this call."
	case hooks.Notification:
		call.Fields = map[string]any{"message": "Permission needed: ls", "notification_type": "permission_prompt", "tool_name": "bash"}
	case hooks.StopFailure:
		call.Fields = map[string]any{"error": "server_error", "error_details": "HTTP 500"}
	case hooks.InstructionsLoaded:
		call.Fields = map[string]any{"file_path": dir + "/AGENTS.md", "memory_type": "Project", "load_reason": "session_start"}
	case hooks.CwdChanged:
		call.Fields = map[string]any{"old_cwd": dir, "new_cwd": dir}
	case hooks.FileChanged:
		call.Fields = map[string]any{"file_path": filepath.Join(dir, ".env"), "event": "change"}
	case hooks.ConfigChange:
		call.Fields = map[string]any{"source": "user_settings"}
	case hooks.PreModelSwitch, hooks.PostModelSwitch:
		call.Fields = map[string]any{"from_model": model, "to_model": model, "requested_model": model, "source": "picker"}
	case hooks.Elicitation:
		call.Fields = map[string]any{
			"mcp_server_name": c.server(), "message": "Go on?", "mode": "form",
			"requested_schema": json.RawMessage(`{"type":"object","properties":{"confirm":{"type":"boolean"}}}`),
		}
		return call
	case hooks.ElicitationResult:
		call.Fields = map[string]any{"mcp_server_name": c.server(), "mode": "form", "action": "accept", "content": json.RawMessage(`{"confirm":true}`)}
		return call
	case hooks.UserPromptExpand:
		call.Fields = map[string]any{"expansion_type": "slash_command", "command_name": "check", "command_args": ""}
	}
	if c.Tool == "" {
		return call
	}
	t := hooks.Tool{Name: claudecode.NativeName(c.Tool), Input: json.RawMessage(c.Input), CallID: "call_check"}
	switch call.Event {
	case hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch:
		t.Output = c.Output
		code := 0
		if call.Event == hooks.PostToolUseFailure {
			// One call stands for both: see hooks.Call.
			call.Event, t.Failed, code = hooks.PostToolUse, true, 1
		}
		if t.Name == "bash" {
			t.ExitCode = &code
		}
		t.Response = answerOf(t.Name, t.Input, c.Output, code, dir)
	}
	if call.Event == hooks.PostToolBatch {
		call.Tools = []hooks.Tool{t}
	} else {
		call.Tool = &t
	}
	return call
}

// server is the MCP server that a question is of.
func (c *hooksCheckCmd) server() string { return cmp.Or(c.Tool, "server") }

// payloadsOf is what the handlers that will be started get on stdin, by dialect.
func payloadsOf(set *hooks.Set, batch hooks.Batch, call *hooks.Call) map[string]string {
	out := map[string]string{}
	for _, r := range batch.Runs() {
		if _, ok := out[r.Dialect]; ok {
			continue
		}
		p, err := set.Payload(r.Dialect, call)
		if err != nil {
			p = []byte(err.Error())
		}
		out[r.Dialect] = string(p)
	}
	return out
}

// noHooks says that an event fires nothing, and which events would.
func (a *app) noHooks(set *hooks.Set, event string) error {
	var events []string
	for _, h := range set.Handlers() {
		if !slices.Contains(events, string(h.Event)) {
			events = append(events, string(h.Event))
		}
	}
	if len(events) == 0 {
		events = []string{"none"}
	}
	_, err := fmt.Fprintf(a.stdout, "No hook listens to %s with these values. Events with hooks: %s.\n", event, strings.Join(events, ", "))
	return err
}

// claudeVariable finds variables of Claude Code in a command.
var claudeVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{?(CLAUDE_[A-Z_]+)`) })

// unset names the variables in a command that people expect of Claude Code and
// that no hook has ever had (public configs).
func unset(command string) []string {
	var out []string
	for _, m := range claudeVariable().FindAllStringSubmatch(command, -1) {
		switch name := m[1]; {
		case strings.HasPrefix(name, "CLAUDE_CODE_"), strings.HasPrefix(name, "CLAUDE_PLUGIN_"), slices.Contains(out, name):
		case slices.Contains([]string{"CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_EFFORT", "CLAUDE_PID", "CLAUDE_CONFIG_DIR"}, name):
		default:
			out = append(out, name)
		}
	}
	return out
}

// showOutcome says what came of each run, with what more says of it, and of all.
func showOutcome(w io.Writer, o *hooks.Outcome, more func(*hooks.Run)) {
	for i := range o.Runs {
		r := &o.Runs[i]
		fmt.Fprintf(w, "%s: %s", r.Handler, r.Decision)
		if r.ExitCode != nil {
			fmt.Fprintf(w, ", exit %d", *r.ExitCode)
		}
		if r.Decision != hooks.Held {
			fmt.Fprintf(w, ", %d ms", r.Duration.Milliseconds())
		}
		fmt.Fprintf(w, "\n  ran:    %s\n", hooks.Visible(clip(r.Command, 160)))
		if r.Stderr != "" {
			fmt.Fprintf(w, "  stderr: %s\n", hooks.Visible(clip(r.Stderr, 160)))
		}
		if r.Reason != "" {
			fmt.Fprintf(w, "  why:    %s\n", oneLine(r.Reason))
		}
		more(r)
		for _, name := range unset(r.Command) {
			fmt.Fprintf(w, "  note:   $%s is never set for a hook: what it stands for is in the JSON on stdin\n", name)
		}
	}
	effects := effects(o)
	asked := !slices.ContainsFunc(o.Runs, func(r hooks.Run) bool { return r.Reason == errDry{}.Error() })
	switch {
	case len(effects) == 0 && asked:
		effects = []string{"nothing: the agent goes on as if there were no hook"}
	case len(effects) == 0:
		effects = []string{"it depends on what the model answers"}
	case !asked:
		effects = append(effects, "the rest depends on what the model answers")
	}
	for _, e := range effects {
		fmt.Fprintf(w, "effect: %s\n", e)
	}
}

// effects says what an outcome would do, one line each.
func effects(o *hooks.Outcome) []string {
	var out []string
	say := func(label string, texts ...hooks.Text) {
		for _, t := range texts {
			out = append(out, fmt.Sprintf("%s (%s): %q", label, t.Handler, t.Text))
		}
	}
	if o.Halted {
		say("the turn ends, the person is told", o.HaltReason)
	}
	if o.Blocked {
		out = append(out, "the event is blocked")
	}
	say("reason", o.Reasons...)
	say("the model is told", o.Contexts...)
	if o.Decision != "" {
		say("permission "+string(o.Decision), o.DecisionReason)
	}
	if o.UpdatedInput != nil {
		out = append(out, "the tool runs on "+string(o.UpdatedInput))
	}
	if o.ReplaceOutput != nil {
		say("the tool's result becomes", *o.ReplaceOutput)
	}
	if o.Action != "" {
		out = append(out, strings.TrimSpace("the MCP server is answered "+o.Action+" "+string(o.Content)))
	}
	say("the person is told", o.Messages...)
	say("the person is told by the agent", o.Notices...)
	if o.Title != "" {
		out = append(out, fmt.Sprintf("the session is called %q", o.Title))
	}
	return out
}
