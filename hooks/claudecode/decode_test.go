package claudecode

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

func ptr(s string) *string { return &s }

func commandHandler(ev hooks.Event) *hooks.Handler {
	return &hooks.Handler{Dialect: Name, Event: ev, Type: "command", Command: "c", Timeout: 600 * time.Second, Ext: &ext{}}
}

func bashCall(ev hooks.Event) *hooks.Call {
	c := &hooks.Call{Event: ev, Cwd: "/w"}
	if isToolEvent(ev) {
		c.Tool = &hooks.Tool{Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)}
	}
	return c
}

func specific(ev hooks.Event, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"hookSpecificOutput":{"hookEventName":"` + string(ev) + `"` + members + `}}`
}

// decodeTable is the exit code × stdout table of Claude Code hooks reference, output, and the fields of
// each event.
var decodeTable = []struct {
	name           string
	ev             hooks.Event
	code           int
	stdout, stderr string
	want           hooks.Answer
}{
	// Exit code 0.
	{"0, nothing", hooks.Stop, 0, "", "", pass},
	{"0, stderr only", hooks.Stop, 0, "", "warning", pass},
	{"0, plain text is debug output", hooks.Stop, 0, "hello\n", "", pass},
	{"0, plain text is context", hooks.SessionStart, 0, " hello \n", "", hooks.Answer{Decision: hooks.Pass, Context: ptr(" hello ")}},
	{"0, BOM kept in plain text", hooks.SessionStart, 0, "\ufeffx\r\n", "", hooks.Answer{Decision: hooks.Pass, Context: ptr("\ufeffx")}},
	{"0, blank text is no context", hooks.SessionStart, 0, " \n", "", pass},
	{"0, an array is plain text", hooks.SessionStart, 0, "[1]", "", hooks.Answer{Decision: hooks.Pass, Context: ptr("[1]")}},
	{"0, a string is plain text", hooks.SessionStart, 0, `"x"`, "", hooks.Answer{Decision: hooks.Pass, Context: ptr(`"x"`)}},
	{"0, banner before JSON (CC#21992)", hooks.Stop, 0, "hi\n{\"decision\":\"block\",\"reason\":\"r\"}", "", hooks.Answer{Decision: hooks.Pass, Notices: []string{hooks.BesideAnswer}}},
	{"0, banner before JSON of another's", hooks.Stop, 0, "hi\n{\"level\":\"info\"}", "", pass},
	{"0, an answer among text that is context", hooks.SessionStart, 0, "hi\n  {\"systemMessage\":\n\"m\"}\nbye\n", "", hooks.Answer{
		Decision: hooks.Pass, Context: ptr("hi\n  {\"systemMessage\":\n\"m\"}\nbye"), Notices: []string{hooks.BesideAnswer},
	}},
	{"0, two objects (claude-mem#4081)", hooks.Stop, 0, "{\"level\":\"info\"}\n{\"decision\":\"block\",\"reason\":\"r\"}", "", failed(notJSON)},
	{"0, broken JSON (codex#41979)", hooks.Stop, 0, "{", "", failed(notJSON)},
	{"0, empty object", hooks.Stop, 0, "{}", "", pass},
	{"0, BOM before JSON", hooks.Stop, 0, "\ufeff\n{\"decision\":\"block\",\"reason\":\"r\"}", "", blocked("r")},
	{"0, unknown field (oh-my-claudecode#205)", hooks.Stop, 0, `{"message":"x"}`, "", pass},
	{"0, wrong type", hooks.Stop, 0, `{"continue":"no","systemMessage":"m"}`, "", failed(shape + "continue must be true or false")},
	{"0, unknown decision", hooks.Stop, 0, `{"decision":"deny"}`, "", failed(shape + `decision is "deny"; it must be approve or block`)},
	{"0, member names are case-sensitive", hooks.Stop, 0, `{"Decision":"block","reason":"r"}`, "", pass},
	{"0, no hookEventName", hooks.PreToolUse, 0, `{"hookSpecificOutput":{"permissionDecision":"deny"}}`, "", failed(shape + `hookSpecificOutput.hookEventName is missing; it must be "PreToolUse"`)},
	{"0, another hookEventName (codex#23993)", hooks.PreToolUse, 0, specific(hooks.PostToolUse, ""), "", failed(shape + `hookSpecificOutput.hookEventName is "PostToolUse"; it must be "PreToolUse"`)},
	{"0, null counts as absent", hooks.Stop, 0, `{"decision":"block","reason":"r","systemMessage":null,"hookSpecificOutput":null}`, "", blocked("r")},

	// Exit code 2.
	{"2, stderr (CC#13756)", hooks.PreToolUse, 2, "", "no\n", denied(hooks.Block, "no")},
	{"2, stderr, stop", hooks.Stop, 2, "", "go on\n\n", blocked("go on\n")},
	{"2, no stderr blocks too", hooks.Stop, 2, "out", "", blocked("A Stop hook blocked this without giving a reason.")},
	{"2, JSON's own reason", hooks.Stop, 2, `{"decision":"block","reason":"json"}`, "err", blocked("json")},
	{"2, JSON without a block", hooks.Stop, 2, `{"systemMessage":"m"}`, "err", hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: "err", Message: "m"}},
	{"2, JSON blocks without a reason", hooks.Stop, 2, `{"decision":"block"}`, "err", blocked("err")},
	{"2, JSON denies", hooks.PreToolUse, 2, specific(hooks.PreToolUse, `"permissionDecision":"deny","permissionDecisionReason":"json"`), "err", denied(hooks.Deny, "json")},
	{"2, JSON allows", hooks.PreToolUse, 2, specific(hooks.PreToolUse, `"permissionDecision":"allow","updatedInput":{"command":"x"}`), "err", denied(hooks.Block, "err")},
	{"2, schema-invalid JSON", hooks.Stop, 2, `{"decision":3}`, "err", blocked("err")},
	{"2, broken JSON", hooks.Stop, 2, `{`, "err", blocked("err")},
	{"2 after the tool", hooks.PostToolUse, 2, "", "lint", blocked("lint")},
	{"2 after a failure", hooks.PostToolUseFailure, 2, "", "why", blocked("why")},
	{"2 on a prompt", hooks.UserPromptSubmit, 2, "", "no", hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: "no", ReasonToUser: true, ContextDropped: true}},
	{"2 on SessionStart", hooks.SessionStart, 2, "ctx", "no", hooks.Answer{Decision: hooks.Failed, Why: "no"}},
	{"2 on Notification is ignored", hooks.Notification, 2, "", "no", pass},
	{"2 on PermissionRequest is not honoured", hooks.PermissionRequest, 2, "", "no", pass},
	{"2 on PreCompact", hooks.PreCompact, 2, "", "no", hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: "no", ReasonToUser: true}},
	{"2 on Elicitation", hooks.Elicitation, 2, specific(hooks.Elicitation, `"action":"accept"`), "no", hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: "no", Action: "decline"}},

	// Other exit codes.
	{"1, nothing (CC#44707)", hooks.PreToolUse, 1, "", "", failed("exit code 1")},
	{"1, text", hooks.SessionStart, 1, "text", "first\nsecond", failed("exit code 1: first")},
	{"1, JSON alone decides", hooks.Stop, 1, `{"decision":"block","reason":"r"}`, "x", blocked("r")},
	{"1, broken JSON", hooks.Stop, 1, `{`, "x", failed(notJSON)},
	{"127", hooks.PreToolUse, 127, "", "sh: x: not found", failed("exit code 127 (command not found): sh: x: not found")},

	// Top-level fields.
	{"continue:false", hooks.PreToolUse, 0, `{"continue":false,"stopReason":"enough"}`, "", hooks.Answer{Decision: hooks.Halt, Halt: true, HaltReason: "enough"}},
	{"continue:false and block", hooks.Stop, 0, `{"continue":false,"decision":"block","reason":"r"}`, "", hooks.Answer{Decision: hooks.Halt, Halt: true, Blocked: true, Reason: "r"}},
	{"systemMessage (CC#19643)", hooks.UserPromptSubmit, 0, `{"systemMessage":"m"}`, "", hooks.Answer{Decision: hooks.Pass, Message: "m", ContextDropped: true}},
	{"systemMessage discarded", hooks.PreCompact, 0, `{"systemMessage":"m"}`, "", pass},
	{"suppressOutput", hooks.Stop, 0, `{"suppressOutput":true}`, "", pass},
	{"top-level additionalContext (CC#52876)", hooks.UserPromptSubmit, 0, `{"additionalContext":"x"}`, "", hooks.Answer{
		Decision: hooks.Pass, ContextDropped: true,
		Notices: []string{`"additionalContext" at the top level has no effect; put it inside hookSpecificOutput`},
	}},
	{"a stop's decision in the wrong place", hooks.Stop, 0, specific(hooks.Stop, `"reason":"r","decision":"block","continue":null`), "", hooks.Answer{
		Decision: hooks.Pass,
		Notices: []string{
			"hookSpecificOutput.decision has no effect; put it at the top level", "hookSpecificOutput.reason has no effect; put it at the top level",
		},
	}},
	{"members that nobody reads", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"modifiedInput":{},"reason":"r","suppressOutput":true`), "", hooks.Answer{
		Decision: hooks.Pass,
		Notices: []string{
			"hookSpecificOutput.modifiedInput is not a member that anybody reads", "hookSpecificOutput.reason has no effect; write permissionDecisionReason",
		},
	}},
	{"StopFailure ignores all", hooks.StopFailure, 0, `{"continue":false,"systemMessage":"m"}`, "", pass},

	// PreToolUse.
	{"allow", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"permissionDecision":"allow","permissionDecisionReason":"ok"`), "", hooks.Answer{Decision: hooks.Allow, Permission: hooks.Allow, PermissionReason: "ok"}},
	{"ask", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"permissionDecision":"ask"`), "", hooks.Answer{Decision: hooks.Ask, Permission: hooks.Ask}},
	{"defer", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"permissionDecision":"defer","updatedInput":{"command":"x"}`), "", hooks.Answer{Decision: hooks.Defer, Permission: hooks.Defer}},
	{"deny", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"permissionDecision":"deny","permissionDecisionReason":" <r>\n"`), "", denied(hooks.Deny, " <r>\n")},
	{"unknown permissionDecision", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"permissionDecision":"block"`), "", failed(shape + `hookSpecificOutput.permissionDecision is "block"; it must be allow or deny or ask or defer`)},
	{"legacy approve", hooks.PreToolUse, 0, `{"decision":"approve","reason":"ok"}`, "", hooks.Answer{Decision: hooks.Allow, Permission: hooks.Allow, PermissionReason: "ok"}},
	{"legacy block", hooks.PreToolUse, 0, `{"decision":"block","reason":"no"}`, "", denied(hooks.Deny, "no")},
	{"approve on Stop never blocks (srid/agency#105)", hooks.Stop, 0, `{"decision":"approve"}`, "", pass},
	{"rewrite without a decision", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"updatedInput":{"command":"x","timeout":5}`), "", hooks.Answer{Decision: hooks.Pass, UpdatedInput: json.RawMessage(`{"command":"x","timeoutMs":5}`)}},
	{"context before the tool", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"additionalContext":"c"`), "", hooks.Answer{Decision: hooks.Pass, Context: ptr("c")}},
	{"rewrite that cannot be mapped", hooks.PreToolUse, 0, specific(hooks.PreToolUse, `"updatedInput":{"command":"x","dangerouslyDisableSandbox":true}`), "", hooks.Answer{
		Decision: hooks.Failed, Why: `updatedInput has "dangerouslyDisableSandbox", which Bash does not take here (it takes command, description, timeout, workdir, run_in_background)`,
		Permission:       hooks.Deny,
		PermissionReason: `A hook rewrote the arguments in a way that cannot be applied, so the tool was not run: updatedInput has "dangerouslyDisableSandbox", which Bash does not take here (it takes command, description, timeout, workdir, run_in_background)`,
	}},

	// PermissionRequest.
	{"grant", hooks.PermissionRequest, 0, specific(hooks.PermissionRequest, `"decision":{"behavior":"allow","updatedPermissions":[{"type":"setMode"}]}`), "", hooks.Answer{Decision: hooks.Allow, Permission: hooks.Allow, UpdatedPermissions: []json.RawMessage{json.RawMessage(`{"type":"setMode"}`)}}},
	{"refuse", hooks.PermissionRequest, 0, specific(hooks.PermissionRequest, `"decision":{"behavior":"deny","message":"no","interrupt":true}`), "", hooks.Answer{Decision: hooks.Deny, Permission: hooks.Deny, PermissionReason: "no", Interrupt: true}},
	{"no behavior", hooks.PermissionRequest, 0, specific(hooks.PermissionRequest, `"decision":{}`), "", failed(shape + "hookSpecificOutput.decision.behavior is missing")},

	// After the tool.
	{"PostToolUse block", hooks.PostToolUse, 0, `{"decision":"block","reason":"r"}`, "", blocked("r")},
	{"updatedToolOutput", hooks.PostToolUse, 0, specific(hooks.PostToolUse, `"updatedToolOutput":{"stdout":"a","stderr":"b"}`), "", hooks.Answer{Decision: hooks.Pass, Replace: ptr("a\nb")}},
	{"updatedToolOutput of another shape", hooks.PostToolUse, 0, specific(hooks.PostToolUse, `"updatedToolOutput":"x"`), "", hooks.Answer{
		Decision: hooks.Pass,
		Notices:  []string{"updatedToolOutput is ignored: it is not of the shape of Bash's tool_response"},
	}},
	{"updatedMCPToolOutput of no MCP tool", hooks.PostToolUse, 0, specific(hooks.PostToolUse, `"updatedMCPToolOutput":"x"`), "", hooks.Answer{
		Decision: hooks.Pass,
		Notices:  []string{"updatedMCPToolOutput has no effect on Bash, which is no MCP tool"},
	}},

	// Other events.
	{
		"prompt blocked, with context", hooks.UserPromptSubmit, 0, `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c","sessionTitle":"t"}}`, "",
		hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: "r", ReasonToUser: true, Context: ptr("c"), ContextDropped: true, Title: "t"},
	},
	{
		"prompt with a permissionDecision (plugins-official#1788)", hooks.UserPromptSubmit, 0, specific(hooks.UserPromptSubmit, `"permissionDecision":"deny"`), "",
		hooks.Answer{Decision: hooks.Pass, ContextDropped: true, Notices: []string{"permissionDecision has no effect on UserPromptSubmit"}},
	},
	{"Stop goes on with context (impeccable#647)", hooks.Stop, 0, specific(hooks.Stop, `"additionalContext":"more"`), "", hooks.Answer{Decision: hooks.Pass, Context: ptr("more")}},
	{"block has no effect on SessionStart", hooks.SessionStart, 0, `{"decision":"block","reason":"r"}`, "", hooks.Answer{Decision: hooks.Pass, Notices: []string{`"decision":"block" has no effect on SessionStart`}}},
	{"retry", hooks.PermissionDenied, 0, specific(hooks.PermissionDenied, `"retry":true`), "", hooks.Answer{Decision: hooks.Pass, Retry: true}},
	{"elicitation", hooks.Elicitation, 0, specific(hooks.Elicitation, `"action":"accept","content":{"a":1}`), "", hooks.Answer{Decision: hooks.Pass, Action: "accept", Content: json.RawMessage(`{"a":1}`)}},
}

// The answers of the table that come often.
var pass = hooks.Answer{Decision: hooks.Pass}

func failed(why string) hooks.Answer { return hooks.Answer{Decision: hooks.Failed, Why: why} }

func blocked(reason string) hooks.Answer {
	return hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: reason}
}

func denied(d hooks.Decision, reason string) hooks.Answer {
	return hooks.Answer{Decision: d, Permission: hooks.Deny, PermissionReason: reason}
}

const shape = "its answer is not of the right shape: "

func TestDecodeTable(t *testing.T) {
	for _, r := range decodeTable {
		c := bashCall(r.ev)
		got := decode(c, commandHandler(r.ev), hooks.Exit{Code: r.code, Stdout: []byte(r.stdout), Stderr: []byte(r.stderr)})
		if !reflect.DeepEqual(got, r.want) {
			t.Errorf("%s:\n got %s\nwant %s", r.name, show(got), show(r.want))
		}
	}
}

func show(a hooks.Answer) string {
	b, _ := json.Marshal(a)
	return string(b)
}

// agentic-os-org/ANOLISA#2301: a hook that was killed is a visible failure.
func TestDecodeNoAnswer(t *testing.T) {
	out := []byte(`{"decision":"block","reason":"r"}`)
	for name, tc := range map[string]struct {
		exit hooks.Exit
		d    hooks.Decision
		why  string
	}{
		"timeout":     {hooks.Exit{Code: -1, TimedOut: true, Stdout: out}, hooks.TimedOut, "ran into its time limit of 10m0s"},
		"signal":      {hooks.Exit{Code: -1, Signal: "SIGKILL", Stdout: out}, hooks.Failed, "it was ended by SIGKILL"},
		"not started": {hooks.Exit{Code: -1, StartErr: errors.New("starting x: gone")}, hooks.Failed, "starting x: gone"},
		"cancelled":   {hooks.Exit{Code: -1, Cancelled: true, Stdout: out}, hooks.Cancelled, ""},
	} {
		got := decode(bashCall(hooks.Stop), commandHandler(hooks.Stop), tc.exit)
		if want := (hooks.Answer{Decision: tc.d, Why: tc.why}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s", name, show(got))
		}
	}
}

func TestOnFailureBlock(t *testing.T) {
	decodeWith := func(ev hooks.Event, e hooks.Exit) hooks.Answer {
		h := commandHandler(ev)
		h.Ext = &ext{blockOnFailure: true}
		return decode(bashCall(ev), h, e)
	}
	for name, e := range map[string]hooks.Exit{
		"not started": {Code: -1, StartErr: errors.New("gone")},
		"timeout":     {Code: -1, TimedOut: true},
		"exit code 1": {Code: 1, Stderr: []byte("bad")},
		"broken JSON": {Stdout: []byte("{")},
		"1 with JSON": {Code: 1, Stdout: []byte("{}")},
		"wrong shape": {Stdout: []byte(`{"decision":1}`)},
		"killed":      {Code: -1, Signal: "SIGSEGV"},
	} {
		if a := decodeWith(hooks.PreToolUse, e); a.Permission != hooks.Deny || a.PermissionReason == "" || a.Why == "" {
			t.Errorf("%s: %s", name, show(a))
		}
		if a := decodeWith(hooks.Stop, e); a.Blocked {
			t.Errorf("%s blocks a stop: %s", name, show(a))
		}
	}
	if a := decodeWith(hooks.PreToolUse, hooks.Exit{}); a.Permission != "" {
		t.Errorf("a success blocks: %s", show(a))
	}
}

// A reason from JSON is handed on byte for byte, one from a stream less the line
// end that echo puts there.
func TestVerbatimReasons(t *testing.T) {
	for _, reason := range []string{
		"plain", "  leading and trailing \t ", "\nlines\n\n", "<system-reminder>x</system-reminder> & <b>", "\u2028\u2029", "😀é\u0000x",
		`"quoted" \ back`, "\r\n", "x\r\n", strings.Repeat("long ", 200_000), "{\"json\":true}",
	} {
		if strings.TrimSpace(reason) == "" {
			continue
		}
		b, _ := json.Marshal(map[string]string{"decision": "block", "reason": reason})
		a := decode(bashCall(hooks.Stop), commandHandler(hooks.Stop), hooks.Exit{Stdout: b})
		if a.Reason != reason {
			t.Errorf("JSON: %.40q became %.40q", reason, a.Reason)
		}
		a = decode(bashCall(hooks.Stop), commandHandler(hooks.Stop), hooks.Exit{Code: 2, Stderr: []byte(reason + "\n")})
		if a.Reason != reason {
			t.Errorf("stderr: %.40q became %.40q", reason, a.Reason)
		}
	}
}

func TestDecodeAsync(t *testing.T) {
	h := commandHandler(hooks.PostToolUse)
	h.Async = true
	for name, tc := range map[string]struct {
		exit hooks.Exit
		want hooks.Answer
	}{
		"decisions are inert":        {hooks.Exit{Stdout: []byte(`{"decision":"block","reason":"r","continue":false,"systemMessage":"m"}`)}, hooks.Answer{Decision: hooks.Pass, Message: "m"}},
		"wrong types drop alone":     {hooks.Exit{Stdout: []byte(`{"systemMessage":3,"hookSpecificOutput":{"additionalContext":"c"}}`)}, hooks.Answer{Decision: hooks.Pass, Context: ptr("c")}},
		"after the detaching line":   {hooks.Exit{Stdout: []byte("{\"async\":true}\n{\"systemMessage\":\"m\"}\n")}, hooks.Answer{Decision: hooks.Pass, Message: "m"}},
		"exit code 2 without rewake": {hooks.Exit{Code: 2, Stderr: []byte("e")}, hooks.Answer{Decision: hooks.Failed, Why: "exit code 2: e"}},
	} {
		if got := decode(bashCall(h.Event), h, tc.exit); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %s", name, show(got))
		}
	}
	h.Rewake = true
	for _, e := range []hooks.Exit{{Code: 2, Stderr: []byte("wake\n"), Stdout: []byte("no")}, {Code: 2, Stdout: []byte("wake\n")}} {
		if got := decode(bashCall(h.Event), h, e); !got.Blocked || got.Reason != "wake" {
			t.Errorf("%s", show(got))
		}
	}
	silent := hooks.Exit{Code: 2, Stderr: []byte(" \n")}
	if got := decode(bashCall(h.Event), h, silent); got.Blocked || got.Reason != "" {
		t.Errorf("%s", show(got))
	}
	h.RewakeMessage = "lead"
	if got := decode(bashCall(h.Event), h, silent); !got.Blocked || got.Reason != "" {
		t.Errorf("%s", show(got))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("PreToolUse", 0, []byte(`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}`), []byte("x"))
	f.Add("Stop", 2, []byte("{"), []byte("\xff\n"))
	f.Add("UserPromptSubmit", 1, []byte("\ufeff text"), []byte(""))
	f.Fuzz(func(t *testing.T, ev string, code int, stdout, stderr []byte) {
		if !slices.Contains(vendorEvents, hooks.Event(ev)) {
			return
		}
		c, h := bashCall(hooks.Event(ev)), commandHandler(hooks.Event(ev))
		e := hooks.Exit{Code: code, Stdout: stdout, Stderr: stderr}
		a := decode(c, h, e)
		if b := decode(c, h, e); !reflect.DeepEqual(a, b) {
			t.Fatal("not pure")
		}
		if a.Decision == "" || (a.Decision == hooks.Failed) != (a.Why != "") {
			t.Fatalf("%s", show(a))
		}
		if code == 2 && canBlock(h.Event, c) && !a.Blocked && a.Permission != hooks.Deny {
			t.Fatalf("exit code 2 did not block: %s", show(a))
		}
		if a.Permission == hooks.Deny && len(a.UpdatedInput) > 0 {
			t.Fatalf("a denial rewrites: %s", show(a))
		}
	})
}
