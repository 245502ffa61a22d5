package claudecode

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func exitCode(n int) *int { return &n }

// payloadCall is a call with its name in the golden file.
type payloadCall struct {
	name string
	call hooks.Call
}

// payloadCalls are one call for each event and for each tool's shape.
func payloadCalls() []payloadCall {
	base := hooks.Call{
		SessionID: "S", Cwd: "/home/u/proj", ProjectDir: "/home/u/proj", Model: "some-model", Effort: "high", PromptID: "P",
		TranscriptPath: func(dialect string) string { return "/t/" + dialect + ".jsonl" },
	}
	var out []payloadCall
	add := func(name string, ev hooks.Event, change func(*hooks.Call)) {
		c := base
		c.Event = ev
		if change != nil {
			change(&c)
		}
		out = append(out, payloadCall{name, c})
	}
	add("SessionStart", hooks.SessionStart, func(c *hooks.Call) { c.Source, c.PromptID = "startup", "" })
	add("SessionEnd", hooks.SessionEnd, func(c *hooks.Call) { c.Reason = "other" })
	add("UserPromptSubmit", hooks.UserPromptSubmit, func(c *hooks.Call) { c.Prompt = "<b>é😀 \u2028\"\\ \x01" })
	toolPayloads(add)
	add("Stop", hooks.Stop, func(c *hooks.Call) { c.StopHookActive, c.LastAssistantMessage = true, ptr("done") })
	add("Stop without text", hooks.Stop, nil)
	add("Stop with jobs", hooks.Stop, func(c *hooks.Call) {
		c.Jobs = []hooks.BackgroundJob{{ID: "job-1", Command: "npm run dev", Description: "Serves it"}, {ID: "job-3", Command: strings.Repeat("é", 1003)}}
	})
	add("SubagentStop", hooks.SubagentStop, func(c *hooks.Call) {
		c.AgentID, c.AgentType = "A", "explorer"
		c.Fields = map[string]any{"agent_transcript_path": "/t/a.jsonl"}
	})
	add("SubagentStart", hooks.SubagentStart, func(c *hooks.Call) { c.AgentID, c.AgentType = "A", "explorer" })
	add("StopFailure", hooks.StopFailure, func(c *hooks.Call) {
		c.Fields = map[string]any{"error": "rate_limit", "error_details": "429"}
		c.LastAssistantMessage = ptr("rate limited")
	})
	add("PreCompact", hooks.PreCompact, func(c *hooks.Call) { c.Trigger = "auto" })
	add("PreCompact manual", hooks.PreCompact, func(c *hooks.Call) { c.Trigger, c.Instructions = "manual", "keep x" })
	add("PostCompact", hooks.PostCompact, func(c *hooks.Call) { c.Trigger, c.Summary = "auto", "sum" })
	add("Notification", hooks.Notification, func(c *hooks.Call) {
		c.Fields = map[string]any{"message": "m", "notification_type": "permission_prompt"}
	})
	add("Notification of a tool", hooks.Notification, func(c *hooks.Call) {
		c.Fields = map[string]any{"message": "Permission needed: ls", "notification_type": "permission_prompt", "tool_name": "bash"}
	})
	add("InstructionsLoaded", hooks.InstructionsLoaded, func(c *hooks.Call) {
		c.Fields = map[string]any{"file_path": "/f", "memory_type": "Project", "load_reason": "session_start"}
	})
	add("FileChanged", hooks.FileChanged, func(c *hooks.Call) { c.Fields = map[string]any{"file_path": "/w/.env", "event": "unlink"} })
	add("CwdChanged", hooks.CwdChanged, func(c *hooks.Call) { c.Fields = map[string]any{"old_cwd": "/a", "new_cwd": "/b"} })
	add("ConfigChange", hooks.ConfigChange, func(c *hooks.Call) { c.Fields = map[string]any{"source": "user_settings"} })
	add("PreModelSwitch", hooks.PreModelSwitch, func(c *hooks.Call) {
		c.Fields = map[string]any{"from_model": "a", "to_model": "b", "source": "command"}
	})
	add("UserPromptExpansion", hooks.UserPromptExpand, func(c *hooks.Call) {
		c.Prompt, c.Typed = "full", "/x y"
		c.Fields = map[string]any{"expansion_type": "slash_command", "command_name": "x", "command_args": "y"}
	})
	add("UserPromptSubmit of a command", hooks.UserPromptSubmit, func(c *hooks.Call) { c.Prompt, c.Typed = "full", "/x y" })
	add("Elicitation", hooks.Elicitation, func(c *hooks.Call) { c.Fields = map[string]any{"mcp_server_name": "s", "message": "m"} })
	return out
}

// toolPayloads adds the calls of the events about a tool.
func toolPayloads(add func(name string, ev hooks.Event, change func(*hooks.Call))) {
	tool := func(name, input string, change func(*hooks.Tool)) func(*hooks.Call) {
		return func(c *hooks.Call) {
			c.Tool = &hooks.Tool{Name: name, Input: json.RawMessage(input), CallID: "call_1", Duration: 12 * time.Millisecond}
			if change != nil {
				change(c.Tool)
			}
		}
	}
	response := func(v any) func(*hooks.Tool) {
		return func(t *hooks.Tool) { t.Response, _ = json.Marshal(v) }
	}
	add("PreToolUse", hooks.PreToolUse, tool("bash", `{ "command": "l\u00e9s", "timeoutMs" : 1000, "description":"d" }`, nil))
	add("PreToolUse acceptEdits", hooks.PreToolUse, func(c *hooks.Call) {
		c.Mode = "acceptEdits"
		tool("edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, nil)(c)
	})
	add("PreToolUse grep", hooks.PreToolUse, tool("grep", `{"pattern":"x","path":"sub","include":"*.go"}`, nil))
	add("PreToolUse todo", hooks.PreToolUse, tool("todo_write", `{"todos":[{"content":"do","status":"pending"}]}`, nil))
	add("PreToolUse agent", hooks.PreToolUse, func(c *hooks.Call) {
		c.AgentID, c.AgentType = "A", "explorer"
		tool("subagent", `{"prompt":"p","description":"d"}`, nil)(c)
	})
	add("PreToolUse mcp", hooks.PreToolUse, tool("mcp__fs__read", `{"path":"x"}`, nil))
	add("PreToolUse no arguments", hooks.PreToolUse, tool("mcp__fs__list", ``, nil))
	add("PermissionRequest", hooks.PermissionRequest, tool("bash", `{"command":"ls"}`, nil))
	add("PermissionDenied", hooks.PermissionDenied, func(c *hooks.Call) { tool("bash", `{"command":"ls"}`, nil)(c); c.Reason = "no" })
	add("PostToolUse bash", hooks.PostToolUse, tool("bash", `{"command":"ls"}`, func(t *hooks.Tool) {
		response(hooks.BashResponse{Stdout: "a.go\n"})(t)
		t.ExitCode = exitCode(0)
	}))
	add("PostToolUse bash in the background", hooks.PostToolUse, tool("bash", `{"command":"serve","run_in_background":true}`, response(hooks.BashResponse{Stdout: "Started job-1.", JobID: "job-1"})))
	add("PostToolUse bash failing", hooks.PostToolUse, tool("bash", `{"command":"false"}`, func(t *hooks.Tool) {
		response(hooks.BashResponse{Stdout: "out\n", Stderr: "err\n", ExitCode: 3})(t)
		t.ExitCode = exitCode(3)
	}))
	add("PostToolUse read failing", hooks.PostToolUse, tool("read", `{"file_path":"/x"}`, func(t *hooks.Tool) { t.Failed, t.Output = true, "no such file" }))
	add("PostToolUse read", hooks.PostToolUse, tool("read", `{"file_path":"a","offset":2,"limit":1}`, response(hooks.ReadResponse{Path: "/home/u/proj/a", Content: "b\n", StartLine: 2, NumLines: 1, TotalLines: 3})))
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	add("PostToolUse write new", hooks.PostToolUse, tool("write", `{"file_path":"a","content":"x"}`, response(hooks.WriteResponse{Path: "/home/u/proj/a", Content: "x", Created: true})))
	add("PostToolUse write", hooks.PostToolUse, tool("write", `{"file_path":"a","content":"x"}`, response(hooks.WriteResponse{Path: "/home/u/proj/a", Content: "x", Original: &old})))
	add("PostToolUse edit", hooks.PostToolUse, tool("edit", `{"file_path":"a","old_string":"5","new_string":"five\n5b"}`, response(hooks.EditResponse{Path: "/home/u/proj/a", OldString: "5", NewString: "five\n5b", Original: &old})))
	add("PostToolUse glob", hooks.PostToolUse, tool("glob", `{"pattern":"*"}`, response(hooks.GlobResponse{DurationMs: 4})))
	add("PostToolUse grep", hooks.PostToolUse, tool("grep", `{"pattern":"x"}`, response(hooks.GrepResponse{Files: []string{"/a"}, Content: "1: x\n", Matches: 1})))
	add("PostToolUse todo", hooks.PostToolUse, tool("todo_write", `{"todos":[]}`, response(hooks.TodoResponse{New: json.RawMessage(`[{"content":"do","status":"pending"}]`)})))
	add("PostToolUse mcp", hooks.PostToolUse, tool("mcp__fs__read", `{}`, func(t *hooks.Tool) { t.Response = json.RawMessage(`{"content":[{"type":"text","text":"x"}]}`) }))
	add("PostToolUse web_fetch", hooks.PostToolUse, tool("web_fetch", `{"url":"http://x"}`, response(hooks.FetchResponse{URL: "http://x", Status: 404, Bytes: 9, Content: "page", DurationMs: 7})))
	add("PostToolUse other", hooks.PostToolUse, tool("web_fetch", `{"url":"http://x"}`, func(t *hooks.Tool) { t.Output = "page" }))
	add("PostToolBatch", hooks.PostToolBatch, func(c *hooks.Call) {
		c.Tools = []hooks.Tool{{Name: "bash", Input: json.RawMessage(`{"command":"a"}`), CallID: "1", Output: "x"}, {Name: "read", Input: json.RawMessage(`{"file_path":"f"}`), CallID: "2", Output: "y"}}
	})
}

// TestPayloadGoldens pins the payload of every event byte by byte: key order,
// compact, raw UTF-8, final newline (Claude Code hooks reference, common fields and events).
func TestPayloadGoldens(t *testing.T) {
	d := New(Config{})
	var got bytes.Buffer
	for _, c := range payloadCalls() {
		b, err := d.Payload(&c.call)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b) || b[len(b)-1] != '\n' || bytes.Count(b, []byte("\n")) != 1 {
			t.Errorf("%s is not one line of JSON: %q", c.name, b)
		}
		got.WriteString("# " + c.name + "\n")
		got.Write(b)
	}
	path := filepath.Join("testdata", "payloads.golden")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gl, wl := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gl), len(wl)) {
		if i >= len(gl) || i >= len(wl) || gl[i] != wl[i] {
			t.Fatalf("line %d of %s (run with -update to accept):\n got %s", i+1, path, strings.Join(gl[i:min(i+1, len(gl))], ""))
		}
	}
}

// Every event that settings may name and that the agent has is in the goldens.
func TestPayloadGoldensAreComplete(t *testing.T) {
	seen := map[hooks.Event]bool{}
	for _, c := range payloadCalls() {
		seen[eventOf(&c.call)] = true
	}
	seen[hooks.PostModelSwitch], seen[hooks.ElicitationResult] = true, true // as their Pre forms
	for _, ev := range vendorEvents {
		if hooks.Absent(ev) == "" && !seen[ev] {
			t.Errorf("%s is missing", ev)
		}
	}
}

// Bug 100: locales in which a hook misreads UTF-8.
func TestPayloadASCII(t *testing.T) {
	d := New(Config{ASCII: true})
	b, err := d.Payload(&hooks.Call{Event: hooks.UserPromptSubmit, Prompt: "日本😀"})
	if err != nil || !bytes.Contains(b, []byte(`"\u65e5\u672c\ud83d\ude00"`)) {
		t.Errorf("%s %v", b, err)
	}
}

func TestFailureErrorIsCut(t *testing.T) {
	r, _ := json.Marshal(hooks.BashResponse{Stdout: strings.Repeat("é", 30_000)})
	s := failureError(&hooks.Tool{Name: "bash", Response: r, ExitCode: exitCode(1)})
	if n := len([]rune(s)); n < 10_000 || n > 10_100 || !strings.HasPrefix(s, "Exit code 1\né") || !strings.Contains(s, "characters cut") {
		t.Errorf("%d runes: %.60s", n, s)
	}
}

// What a hook is shown can be given back unchanged, tool by tool.
func TestInputRoundTrip(t *testing.T) {
	for _, tc := range []struct{ tool, native, shown string }{
		{"bash", `{"command":"ls","description":"d","timeoutMs":5,"workdir":"/x","run_in_background":true}`, `{"command":"ls","description":"d","timeout":5,"workdir":"/x","run_in_background":true}`},
		{"read", `{"file_path":"/a","offset":1,"limit":2}`, `{"file_path":"/a","offset":1,"limit":2}`},
		{"write", `{"file_path":"/a","content":"x"}`, `{"file_path":"/a","content":"x"}`},
		{"edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`, `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`},
		{"glob", `{"pattern":"*","path":"/a"}`, `{"pattern":"*","path":"/a"}`},
		{"grep", `{"pattern":"x","path":"/a","include":"*.go"}`, `{"pattern":"x","path":"/a","glob":"*.go"}`},
		{"todo_write", `{"todos":[{"content":"a","status":"pending"}]}`, `{"todos":[{"content":"a","status":"pending","activeForm":"a"}]}`},
		{"job_output", `{"job_id":"job-1","wait":true,"timeout_ms":5}`, `{"task_id":"job-1","block":true,"timeout":5}`},
		{"job_kill", `{"job_id":"job-1"}`, `{"task_id":"job-1"}`},
		{"web_fetch", `{"url":"http://x"}`, `{"url":"http://x"}`},
		{"subagent", `{"description":"d","prompt":"p"}`, `{"description":"d","prompt":"p"}`},
		{"mcp__a__b", `{"any":{"thing":1}}`, `{"any":{"thing":1}}`},
	} {
		shown := ToolInput(tc.tool, json.RawMessage(tc.native), "/w")
		if string(shown) != tc.shown {
			t.Errorf("%s is shown as %s", tc.tool, shown)
		}
		back, err := nativeInput(tc.tool, shown)
		if err != nil || string(back) != tc.native {
			t.Errorf("%s comes back as %s, %v", tc.tool, back, err)
		}
	}
	if _, err := nativeInput("grep", json.RawMessage(`{"pattern":"x","output_mode":"count"}`)); err == nil {
		t.Error("an argument that the tool has not was dropped")
	}
}
