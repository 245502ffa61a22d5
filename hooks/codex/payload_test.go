package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-agent/hooks"
)

func textPtr(s string) *string { return &s }

// full is a call with everything set, so that a test sees what an event leaves
// out.
func full(e hooks.Event) *hooks.Call {
	code := 3
	return &hooks.Call{
		Event: e, SessionID: "S", Cwd: "/home/u/proj", ProjectDir: "/home/u", Model: "gpt-5", Effort: "high",
		Mode: "bypassPermissions", TurnID: "T", PromptID: "P", Source: "startup", Reason: "clear", Prompt: "hello there",
		Tool: &hooks.Tool{
			Name: "bash", Input: json.RawMessage(`{"command":"echo out1; exit 3","description":"d"}`), CallID: "call_1",
			Output: "out1\n[exit code 3]", ExitCode: &code, Response: json.RawMessage(`{"stdout":"out1\n","stderr":"","exitCode":3}`),
		},
		StopHookActive: true, LastAssistantMessage: textPtr("hi, done"), Trigger: "auto", Instructions: "i", Summary: "s",
		TranscriptPath: func(d string) string { return "P." + d },
		Fields: map[string]any{
			"agent_transcript_path": "A", "request_id": "R", "attempt_number": 2, "status": "failed", "error": "e<>",
			"token_usage": map[string]int{"output_tokens": 5, "input_tokens": 10, "total_tokens": 15}, "response_id": "r0",
		},
	}
}

// TestPayload pins every byte of every event's payload: the order
// of the keys, no blanks, no line end.
func TestPayload(t *testing.T) {
	const common = `"transcript_path":"P.codex","cwd":"/home/u/proj","hook_event_name":`
	for e, want := range map[hooks.Event]string{
		hooks.SessionStart:     `{"session_id":"S",` + common + `"SessionStart","model":"gpt-5","permission_mode":"bypassPermissions","source":"startup"}`,
		hooks.UserPromptSubmit: `{"session_id":"S","turn_id":"T",` + common + `"UserPromptSubmit","model":"gpt-5","permission_mode":"bypassPermissions","prompt":"hello there"}`,
		hooks.PreToolUse: `{"session_id":"S","turn_id":"T",` + common + `"PreToolUse","model":"gpt-5","permission_mode":"bypassPermissions",` +
			`"tool_name":"Bash","tool_input":{"command":"echo out1; exit 3"},"tool_use_id":"call_1"}`,
		hooks.PermissionRequest: `{"session_id":"S","turn_id":"T",` + common + `"PermissionRequest","model":"gpt-5","permission_mode":"bypassPermissions",` +
			`"tool_name":"Bash","tool_input":{"command":"echo out1; exit 3","description":"d"}}`,
		hooks.PostToolUse: `{"session_id":"S","turn_id":"T",` + common + `"PostToolUse","model":"gpt-5","permission_mode":"bypassPermissions",` +
			`"tool_name":"Bash","tool_input":{"command":"echo out1; exit 3"},"tool_response":"out1\n","tool_use_id":"call_1"}`,
		hooks.Stop: `{"session_id":"S","turn_id":"T",` + common + `"Stop","model":"gpt-5","permission_mode":"bypassPermissions",` +
			`"stop_hook_active":true,"last_assistant_message":"hi, done"}`,
		hooks.Interrupt:   `{"session_id":"S","turn_id":"T",` + common + `"Interrupt","model":"gpt-5","permission_mode":"bypassPermissions"}`,
		hooks.SessionEnd:  `{"session_id":"S",` + common + `"SessionEnd","reason":"other"}`,
		hooks.PreCompact:  `{"session_id":"S","turn_id":"T",` + common + `"PreCompact","model":"gpt-5","trigger":"auto"}`,
		hooks.PostCompact: `{"session_id":"S","turn_id":"T",` + common + `"PostCompact","model":"gpt-5","trigger":"auto"}`,
		hooks.PreModelRequest: `{"kind":"sampling","request_id":"R","attempt_number":2,"session_id":"S","thread_id":"S","turn_id":"T","cwd":"/home/u/proj",` +
			`"transcript_path":"P.codex","model":"gpt-5","hook_event_name":"PreModelRequest"}`,
		hooks.PostModelRequest: `{"kind":"sampling","request_id":"R","attempt_number":2,"session_id":"S","thread_id":"S","turn_id":"T","cwd":"/home/u/proj",` +
			`"transcript_path":"P.codex","model":"gpt-5","hook_event_name":"PostModelRequest","status":"failed","error":"e<>",` +
			`"token_usage":{"input_tokens":10,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":0,"total_tokens":15},"response_id":"r0"}`,
	} {
		got, err := payload(full(e))
		if err != nil || string(got) != want {
			t.Errorf("%s\n%s, %v\nwant\n%s", e, got, err, want)
		}
	}
}

// TestPayloadSchemas validates the payloads of all events that have a schema,
// with and without a subagent, a transcript and a last message.
func TestPayloadSchemas(t *testing.T) {
	n := 0
	for e, name := range events {
		file := filepath.Join("testdata", "schemas", strings.ReplaceAll(name, "_", "-")+".command.input.schema.json")
		if _, err := os.Stat(file); err != nil {
			continue // the two undocumented events have none
		}
		n++
		schema, err := jsonschema.NewCompiler().Compile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range []func(*hooks.Call){
			func(*hooks.Call) {},
			func(c *hooks.Call) { c.AgentID, c.AgentType = "a1", "reviewer" },
			func(c *hooks.Call) { c.TranscriptPath, c.LastAssistantMessage, c.Fields = nil, nil, nil },
			func(c *hooks.Call) { c.Mode = "acceptEdits"; c.Source = "resume"; c.StopHookActive = false },
			func(c *hooks.Call) { c.Tool.Name, c.Tool.Input = "mcp__a__b", json.RawMessage(`{"x":[1]}`) },
		} {
			c := full(e)
			change(c)
			got, err := payload(c)
			if err != nil {
				t.Errorf("%s: %v", e, err)
				continue
			}
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got)))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %s\n%v", e, got, err)
			}
			if strings.Contains(string(got), "\n") || strings.Contains(string(got), `": `) {
				t.Errorf("%s: not one compact line: %s", e, got)
			}
		}
	}
	if n != 12 {
		t.Errorf("%d events have a schema, want 12", n)
	}
}

// TestPayloadDetails: what is null, what a mode becomes, what an agent adds, and
// that text goes out as raw UTF-8.
func TestPayloadDetails(t *testing.T) {
	c := full(hooks.Stop)
	c.TranscriptPath, c.LastAssistantMessage, c.Mode, c.StopHookActive = nil, nil, "plan", false
	c.AgentID = "a1" // Stop is the main agent's: it has none
	want := `{"session_id":"S","turn_id":"T","transcript_path":null,"cwd":"/home/u/proj","hook_event_name":"Stop","model":"gpt-5",` +
		`"permission_mode":"default","stop_hook_active":false,"last_assistant_message":null}`
	if got, err := payload(c); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	c = full(hooks.UserPromptSubmit)
	c.AgentID, c.AgentType, c.Prompt = "a1", "rev", "é <b> & \u2028 \"q\" \x01 \xff"
	want = `{"session_id":"S","turn_id":"T","agent_id":"a1","agent_type":"rev","transcript_path":"P.codex","cwd":"/home/u/proj",` +
		`"hook_event_name":"UserPromptSubmit","model":"gpt-5","permission_mode":"bypassPermissions","prompt":"é <b> & ` + "\u2028" + ` \"q\" \u0001 ` + "\ufffd" + `"}`
	if got, err := payload(c); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	c = full(hooks.SubagentStop)
	c.AgentID, c.AgentType = "a1", "rev"
	want = `{"session_id":"S","turn_id":"T","transcript_path":"P.codex","agent_transcript_path":"A","cwd":"/home/u/proj","hook_event_name":"SubagentStop",` +
		`"model":"gpt-5","permission_mode":"bypassPermissions","stop_hook_active":true,"agent_id":"a1","agent_type":"rev","last_assistant_message":"hi, done"}`
	if got, err := payload(c); err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []*hooks.Call{
		{Event: hooks.Notification},
		{Event: hooks.PreToolUse},
		{Event: hooks.PreToolUse, Tool: &hooks.Tool{Name: "bash", Input: json.RawMessage(`"x"`)}},
	} {
		if got, err := payload(bad); err == nil {
			t.Errorf("%s with %+v made %s", bad.Event, bad.Tool, got)
		}
	}
}
