package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-agent/hooks"
)

// show spells an answer as the tables below do, without the wording of Why.
func show(a hooks.Answer) string {
	var out []string
	add := func(name, value string) { out = append(out, name+"="+value) }
	if a.Decision != "" {
		add("d", string(a.Decision))
	}
	if a.Permission != "" {
		add("perm", string(a.Permission)+":"+a.PermissionReason)
	}
	if a.Blocked {
		add("block", a.Reason)
	}
	if a.ReasonToUser {
		out = append(out, "to-user")
	}
	if a.Halt {
		add("halt", a.HaltReason)
	}
	if a.Replace != nil {
		add("replace", *a.Replace)
		if !a.JoinReplace {
			out = append(out, "NOT JOINED")
		}
	}
	if a.UpdatedInput != nil {
		add("input", string(a.UpdatedInput))
	}
	if a.Context != nil {
		add("ctx", *a.Context)
	}
	if a.Message != "" {
		add("msg", a.Message)
	}
	if (a.Why != "") != (a.Decision == hooks.Failed || a.Decision == hooks.TimedOut || a.Decision == hooks.Cancelled) {
		add("WHY", a.Why)
	}
	return strings.Join(out, " ")
}

const (
	failure = "d=error"
	nothing = ""
)

// hso is an answer with a hookSpecificOutput.
func hso(event, rest string) string {
	return `{"hookSpecificOutput":{"hookEventName":"` + event + `"` + rest + `}}`
}

func pre(rest string) string { return hso("PreToolUse", rest) }

func perm(rest string) string { return hso("PermissionRequest", `,"decision":{`+rest+`}`) }

// decodeTable is Codex 0.171.0, output: event by event, exit code by stdout and stderr.
var decodeTable = []struct {
	event  hooks.Event
	code   int
	stdout string
	stderr string
	want   string
}{
	// Exit codes.
	{hooks.Stop, 0, "", "noise", nothing},
	{hooks.Stop, 0, " \n\t", "", nothing},
	{hooks.Stop, 1, `{"decision":"block","reason":"r"}`, "", failure},
	{hooks.Stop, 1, "", "why", failure},
	{hooks.Stop, 127, "", "not found", failure},
	{hooks.Stop, 2, `{"continue":false}`, "go on\n", "d=block block=go on"},
	{hooks.Stop, 2, "", "two\n\n", "d=block block=two\n"},
	{hooks.Stop, 2, "", "  kept  \r\n", "d=block block=  kept  "},
	{hooks.Stop, 2, "", "", failure},
	{hooks.Stop, 2, "", " \n", failure},
	{hooks.SubagentStop, 2, "", "again", "d=block block=again"},
	{hooks.PreToolUse, 2, pre(`,"permissionDecision":"allow"`), "nope\n", "d=block perm=deny:nope"},
	{hooks.PreToolUse, 2, "", "", failure},
	{hooks.PermissionRequest, 2, "", "nope", "d=block perm=deny:nope"},
	{hooks.PermissionRequest, 2, "", "", failure},
	{hooks.PostToolUse, 2, "", "fb\n", "d=block replace=fb"},
	{hooks.PostToolUse, 2, "", "", failure},
	{hooks.UserPromptSubmit, 2, "context", "nono\n", "d=block block=nono to-user"},
	{hooks.SessionStart, 2, "out", "err", failure},
	{hooks.SubagentStart, 2, "out", "err", failure},
	{hooks.PreCompact, 2, "", "err", failure},
	{hooks.PostCompact, 2, "", "err", failure},
	{hooks.Interrupt, 2, "", "err", failure},
	{hooks.SessionEnd, 2, "", "err", failure},
	{hooks.PreModelRequest, 2, "", "err", failure},

	// Plain stdout.
	{hooks.SessionStart, 0, "hello\n", "", "ctx=hello"},
	{hooks.SubagentStart, 0, "a\nb\n\n", "", "ctx=a\nb\n"},
	{hooks.UserPromptSubmit, 0, "123", "", "ctx=123"},
	{hooks.UserPromptSubmit, 0, "caf\xe9 ok", "", "ctx=caf\ufffd ok"},
	{hooks.UserPromptSubmit, 0, "true", "", "ctx=true"},
	{hooks.UserPromptSubmit, 0, "hi {\"decision\":\"block\"}", "", `ctx=hi {"decision":"block"}`},
	{hooks.UserPromptSubmit, 0, "\ufeff{}", "", "ctx=\ufeff{}"},
	{hooks.PreToolUse, 0, "text", "", nothing},
	{hooks.PostToolUse, 0, "text", "", nothing},
	{hooks.PermissionRequest, 0, "text", "", nothing},
	{hooks.PreCompact, 0, "text", "", nothing},
	{hooks.PostCompact, 0, "text", "", nothing},
	{hooks.Stop, 0, "text", "", failure},
	{hooks.SubagentStop, 0, "text", "", failure},
	{hooks.Interrupt, 0, "text", "", failure},
	{hooks.SessionEnd, 0, "text", "", nothing},
	{hooks.SessionEnd, 0, `{"nope":1}`, "", nothing},
	{hooks.PreModelRequest, 0, `{"continue":false}`, "", nothing},
	{hooks.PostModelRequest, 0, "text", "", nothing},

	// JSON that is none, or not the event's.
	{hooks.UserPromptSubmit, 0, "{not json", "", failure},
	{hooks.UserPromptSubmit, 0, "[1]", "", failure},
	{hooks.UserPromptSubmit, 0, `{"systemMessage":"a"} trailing`, "", failure},
	{hooks.UserPromptSubmit, 0, "{}\n{}", "", failure},
	{hooks.UserPromptSubmit, 0, " \n{} \n", "", nothing},
	{hooks.UserPromptSubmit, 0, `{"additionalContext":"x"}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"Decision":"block","reason":"r"}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"decision":"Block","reason":"r"}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"decision":1}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"systemMessage":["x"]}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"continue":"false"}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"continue":null}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"hookSpecificOutput":{"additionalContext":"x"}}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"hookSpecificOutput":null}`, "", nothing},
	{hooks.UserPromptSubmit, 0, hso("UserPromptSubmit", `,"x":1`), "", failure},
	{hooks.UserPromptSubmit, 0, hso("PreToolUse", `,"additionalContext":"x"`), "", "ctx=x"},
	{hooks.UserPromptSubmit, 0, hso("Nope", `,"additionalContext":"x"`), "", failure},
	{hooks.UserPromptSubmit, 0, hso("UserPromptSubmit", `,"additionalContext":"a","additionalContext":"b"`), "", "ctx=b"},

	// All events: the person's message; suppressOutput is parsed.
	{hooks.SessionStart, 0, `{"systemMessage":"m","suppressOutput":true}`, "", "msg=m"},
	{hooks.Stop, 0, `{"systemMessage":"m","suppressOutput":true,"continue":true}`, "", "msg=m"},
	{hooks.PreToolUse, 0, `{"systemMessage":"m"}`, "", "msg=m"},
	{hooks.Interrupt, 0, `{"systemMessage":"m"}`, "", "msg=m"},
	{hooks.Interrupt, 0, `{"continue":true}`, "", failure},
	{hooks.PreToolUse, 0, `{"systemMessage":"m","suppressOutput":true}`, "", failure + " msg=m"},

	// PreToolUse.
	{hooks.PreToolUse, 0, `{"decision":"block","reason":" r\n"}`, "", "d=deny perm=deny: r\n"},
	{hooks.PreToolUse, 0, `{"decision":"block"}`, "", failure},
	{hooks.PreToolUse, 0, `{"decision":"block","reason":" "}`, "", failure},
	{hooks.PreToolUse, 0, `{"decision":"approve"}`, "", failure},
	{hooks.PreToolUse, 0, `{"reason":"r"}`, "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"deny","permissionDecisionReason":"no way"`), "", "d=deny perm=deny:no way"},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"deny","permissionDecisionReason":"n","additionalContext":"c"`), "", "d=deny perm=deny:n ctx=c"},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"deny"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"allow"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"allow","additionalContext":"c"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"ask"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"defer"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecisionReason":"r"`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"additionalContext":"c"`), "", "ctx=c"},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"allow","updatedInput":{"command":"b"}`), "", `d=allow input={"command":"b","timeoutMs":5}`},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"allow","updatedInput":{"command":"b"},"additionalContext":"c"`), "", `d=allow input={"command":"b","timeoutMs":5} ctx=c`},
	{hooks.PreToolUse, 0, pre(`,"updatedInput":{"command":"b"}`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"deny","permissionDecisionReason":"r","updatedInput":{"command":"b"}`), "", failure},
	{hooks.PreToolUse, 0, pre(`,"permissionDecision":"allow","updatedInput":null`), "", failure},
	{hooks.PreToolUse, 0, `{"continue":false,"stopReason":"x"}`, "", failure},
	{hooks.PreToolUse, 0, `{"stopReason":"x"}`, "", failure},
	{hooks.PreToolUse, 0, `{"continue":false,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"d"}}`, "", failure},

	// PermissionRequest.
	{hooks.PermissionRequest, 0, perm(`"behavior":"allow"`), "", "d=allow perm=allow:"},
	{hooks.PermissionRequest, 0, perm(`"behavior":"deny","message":"no"`), "", "d=deny perm=deny:no"},
	{hooks.PermissionRequest, 0, perm(`"behavior":"deny"`), "", "d=deny perm=deny:PermissionRequest hook denied approval"},
	{hooks.PermissionRequest, 0, perm(`"behavior":"deny","message":" "`), "", "d=deny perm=deny:PermissionRequest hook denied approval"},
	{hooks.PermissionRequest, 0, perm(`"behavior":"allow","interrupt":false,"updatedInput":null`), "", "d=allow perm=allow:"},
	{hooks.PermissionRequest, 0, perm(`"behavior":"deny","interrupt":true`), "", failure},
	{hooks.PermissionRequest, 0, perm(`"behavior":"allow","updatedInput":{}`), "", failure},
	{hooks.PermissionRequest, 0, perm(`"behavior":"allow","updatedPermissions":[]`), "", failure},
	{hooks.PermissionRequest, 0, perm(`"behavior":"ask"`), "", failure},
	{hooks.PermissionRequest, 0, perm(`"message":"x"`), "", failure},
	{hooks.PermissionRequest, 0, perm(`"behavior":"allow","x":1`), "", failure},
	{hooks.PermissionRequest, 0, hso("PermissionRequest", ""), "", nothing},
	{hooks.PermissionRequest, 0, `{"continue":false}`, "", failure},
	{hooks.PermissionRequest, 0, `{"decision":"block","reason":"r"}`, "", failure},

	// PostToolUse.
	{hooks.PostToolUse, 0, `{"decision":"block","reason":"bad out\n"}`, "", "d=block replace=bad out\n"},
	{hooks.PostToolUse, 0, `{"decision":"block"}`, "", failure},
	{hooks.PostToolUse, 0, `{"reason":"r"}`, "", failure},
	{hooks.PostToolUse, 0, `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c"}}`, "", "d=block replace=r ctx=c"},
	{hooks.PostToolUse, 0, `{"continue":false,"stopReason":"halt!"}`, "", "d=block replace=halt!"},
	{hooks.PostToolUse, 0, `{"continue":false,"stopReason":"halt!","reason":"because"}`, "", "d=block replace=because"},
	{hooks.PostToolUse, 0, `{"continue":false}`, "", "d=block replace=PostToolUse hook stopped execution"},
	{hooks.PostToolUse, 0, hso("PostToolUse", `,"additionalContext":"c"`), "", "ctx=c"},
	{hooks.PostToolUse, 0, hso("PostToolUse", `,"updatedToolOutput":"X","additionalContext":"c"`), "", failure},
	{hooks.PostToolUse, 0, hso("PostToolUse", `,"updatedMCPToolOutput":{},"additionalContext":"c"`), "", failure},
	{hooks.PostToolUse, 0, `{"suppressOutput":true}`, "", failure},
	{hooks.PostToolUse, 0, `{"decision":"approve"}`, "", failure},

	// UserPromptSubmit.
	{hooks.UserPromptSubmit, 0, `{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"u"}}`, "", "d=block block=r to-user ctx=u"},
	{hooks.UserPromptSubmit, 0, `{"decision":"block","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"u"}}`, "", failure},
	{hooks.UserPromptSubmit, 0, `{"continue":false,"stopReason":"p","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"u"}}`, "", "d=stop halt=p ctx=u"},
	{hooks.UserPromptSubmit, 0, `{"continue":false}`, "", "d=stop halt="},
	{hooks.UserPromptSubmit, 0, `{"reason":"alone"}`, "", nothing},

	// SessionStart and SubagentStart.
	{hooks.SessionStart, 0, `{"continue":false,"stopReason":"s","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"k"}}`, "", "d=stop halt=s ctx=k"},
	{hooks.SubagentStart, 0, hso("SubagentStart", `,"additionalContext":"k"`), "", "ctx=k"},
	{hooks.SessionStart, 0, `{"decision":"block","reason":"r"}`, "", failure},
	{hooks.SessionStart, 0, hso("SessionStart", `,"additionalContext":""`), "", nothing},

	// Stop and SubagentStop.
	{hooks.Stop, 0, `{"decision":"block","reason":"  go on \n"}`, "", "d=block block=  go on \n"},
	{hooks.Stop, 0, `{"decision":"block","reason":"R2 <b>&\"q\""}`, "", `d=block block=R2 <b>&"q"`},
	{hooks.Stop, 0, `{"decision":"block","reason":""}`, "", failure},
	{hooks.Stop, 0, `{"decision":"block"}`, "", failure},
	{hooks.Stop, 0, `{"decision":"approve"}`, "", failure},
	{hooks.Stop, 0, hso("Stop", `,"additionalContext":"x"`), "", failure},
	{hooks.Stop, 0, `{"continue":false,"stopReason":"enough"}`, "", "d=stop halt=enough"},
	{hooks.Stop, 0, `{"continue":false,"decision":"block","reason":"r"}`, "", "d=stop halt="},
	{hooks.SubagentStop, 0, `{"decision":"block","reason":"r"}`, "", "d=block block=r"},

	// Compaction.
	{hooks.PreCompact, 0, `{"continue":false,"stopReason":"s"}`, "", "d=stop halt=s"},
	{hooks.PostCompact, 0, `{"continue":false}`, "", "d=stop halt="},
	{hooks.PreCompact, 0, `{"decision":"block","reason":"r"}`, "", failure},
}

// TestDecode: every row, and that a reason is there exactly where something
// failed.
func TestDecode(t *testing.T) {
	for _, c := range decodeTable {
		call := &hooks.Call{Event: c.event, Cwd: dir}
		if c.event == hooks.PreToolUse {
			call.Tool = native("bash", m{"command": "a", "timeoutMs": 5})
		}
		exit := hooks.Exit{Code: c.code, Stdout: []byte(c.stdout), Stderr: []byte(c.stderr)}
		a := decode(call, &hooks.Handler{Event: c.event, Timeout: time.Second}, exit)
		if got := show(a); got != c.want {
			t.Errorf("%s exit %d stdout %q stderr %q\n got %s (%s)\nwant %s", c.event, c.code, c.stdout, c.stderr, got, a.Why, c.want)
		}
	}
}

// TestDecodeEnds: ends that are no exit code, and async handlers.
func TestDecodeEnds(t *testing.T) {
	call := &hooks.Call{Event: hooks.PostToolUse}
	h := &hooks.Handler{Event: hooks.PostToolUse, Timeout: 2 * time.Second}
	for _, c := range []struct {
		exit hooks.Exit
		want hooks.Decision
		why  string
	}{
		{hooks.Exit{Code: -1, StartErr: errors.New("no shell")}, hooks.Failed, "could not be started: no shell"},
		{hooks.Exit{Code: -1, TimedOut: true, Signal: "SIGKILL", Stdout: []byte(`{"decision":"block","reason":"r"}`)}, hooks.TimedOut, "timed out after 2s"},
		{hooks.Exit{Code: -1, Signal: "SIGSEGV"}, hooks.Failed, "ended by SIGSEGV"},
		{hooks.Exit{Code: -1, Cancelled: true, Signal: "SIGKILL"}, hooks.Cancelled, "interrupted"},
		{hooks.Exit{Code: 7}, hooks.Failed, "exited with code 7"},
		{hooks.Exit{Code: 1, Stderr: []byte("broken\nmore")}, hooks.Failed, "exited with code 1: broken"},
	} {
		a := decode(call, h, c.exit)
		if a.Decision != c.want || !strings.Contains(a.Why, c.why) || a.Replace != nil {
			t.Errorf("%+v: %+v, want %s with %q", c.exit, a, c.want, c.why)
		}
	}
	// A guard whose answer does not count is said, with what to do.
	for stdout, want := range map[string]bool{
		"hello\n" + pre(`,"permissionDecision":"deny","permissionDecisionReason":"r"`): true,
		"hello\n{\"level\":1}": false, "hello": false,
	} {
		a := decode(&hooks.Call{Event: hooks.PreToolUse, Tool: native("bash", m{"command": "a"})}, h, hooks.Exit{Stdout: []byte(stdout)})
		if got := len(a.Notices) == 1; got != want || a.Decision != "" {
			t.Errorf("%q: %+v", stdout, a)
		}
	}
	h.Async = true
	for stdout, want := range map[string]string{
		`{"systemMessage":"async-sys","decision":"block","reason":"rb","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"async-ctx"}}`: "ctx=async-ctx",
		`{"continue":false}`: nothing,
		"plain\n":            "ctx=plain",
		"{":                  failure,
	} {
		if got := show(decode(call, h, hooks.Exit{Stdout: []byte(stdout)})); got != want {
			t.Errorf("async %q: %s, want %s", stdout, got, want)
		}
	}
	if a := decode(call, h, hooks.Exit{Code: 2, Stderr: []byte("x")}); show(a) != failure {
		t.Errorf("an async exit 2: %s", show(a))
	}
	// A rewrite that cannot be carried out fails and keeps the call from running.
	call = &hooks.Call{Event: hooks.PreToolUse, Tool: native("bash", m{"command": "rm -rf x"})}
	a := decode(call, &hooks.Handler{}, hooks.Exit{Stdout: []byte(
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"cmd":"ls"}}}`)})
	if a.Decision != hooks.Failed || a.Permission != hooks.Deny || a.UpdatedInput != nil || a.PermissionReason != a.Why {
		t.Errorf("a rewrite without a command: %+v", a)
	}
}

// TestOutputSchemas compares the first, strict parse with the schemas that the
// binary carries: what a schema takes, we parse; what we parse beyond it is
// known.
func TestOutputSchemas(t *testing.T) {
	values := []string{
		`null`, `true`, `false`, `1`, `"x"`, `"block"`, `"approve"`, `"allow"`, `"deny"`, `"ask"`, `[]`, `{}`,
		`{"behavior":"allow"}`, `{"behavior":"deny","message":"m","interrupt":true,"updatedInput":1,"updatedPermissions":2}`, `{"behavior":"x"}`, `{"behavior":"allow","y":1}`,
	}
	top := []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput", "nope"}
	inner := []string{"additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput", "updatedMCPToolOutput", "updatedToolOutput", "decision", "nope"}
	for e := range shapes {
		file := filepath.Join("testdata", "schemas", strings.ReplaceAll(events[e], "_", "-")+".command.output.schema.json")
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s: no schema: %v", e, err)
			continue
		}
		schema, err := jsonschema.NewCompiler().Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		try := func(text string) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			want := schema.Validate(v) == nil
			_, perr := parseOutput(e, []byte(text))
			switch {
			case perr == nil == want:
			case perr == nil && strings.Contains(text, "null"):
				// serde takes null for a member that may be missing (TestInterop, "null
				// members"); the schema's type does not say so.
			default:
				t.Errorf("%s %s: schema says %t, we say %v", e, text, want, perr)
			}
		}
		for _, v := range values {
			for _, k := range top {
				try(fmt.Sprintf(`{%q:%s}`, k, v))
			}
			for _, k := range inner {
				try(fmt.Sprintf(`{"hookSpecificOutput":{"hookEventName":%q,%q:%s}}`, e, k, v))
			}
		}
		try(`{}`)
	}
}

// FuzzDecode: no output makes decode fall over, it decides the same twice, and a
// failure carries nothing but its reason.
func FuzzDecode(f *testing.F) {
	f.Add("PreToolUse", 0, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"b"}}}`, "")
	f.Add("Stop", 2, "", "x\n")
	f.Add("PostToolUse", 0, `{"continue":false}`, "")
	f.Add("UserPromptSubmit", 0, "{\"a\":[1e5,\"\\ud800\"]}", "\xff")
	f.Fuzz(func(t *testing.T, event string, code int, stdout, stderr string) {
		call := &hooks.Call{Event: hooks.Event(event), Cwd: dir, Tool: native("bash", m{"command": "a"})}
		exit := hooks.Exit{Code: code, Stdout: []byte(stdout), Stderr: []byte(stderr)}
		a := decode(call, &hooks.Handler{}, exit)
		if b := decode(call, &hooks.Handler{}, exit); !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v, then %+v", a, b)
		}
		if a.Decision == hooks.Failed && (a.Why == "" || a.Blocked || a.Halt || a.Context != nil || a.Replace != nil || a.UpdatedInput != nil) {
			t.Fatalf("a failure with an effect: %+v", a)
		}
		if a.UpdatedInput != nil && !json.Valid(a.UpdatedInput) {
			t.Fatalf("updated input is not JSON: %s", a.UpdatedInput)
		}
	})
}
