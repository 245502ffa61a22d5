package codex

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

var update = flag.Bool("update", false, "rewrite golden files")

// session is a short session of every kind of entry.
func session() []hooks.Entry {
	bash := &hooks.Tool{Name: "bash", Input: json.RawMessage(`{"command":"echo <hi>"}`), CallID: "c1"}
	done := *bash
	done.Output, done.Response = "<hi>\n", json.RawMessage(`{"stdout":"<hi>\n","stderr":"","exitCode":0}`)
	put := &hooks.Tool{Name: "write", Input: json.RawMessage(`{"file_path":"/w/a","content":"x\n"}`), CallID: "c2", Output: "written"}
	mcp := &hooks.Tool{Name: "mcp__a__b", Input: json.RawMessage(`{"q": 1}`), CallID: "c3", Output: "r"}
	return []hooks.Entry{
		{Kind: hooks.EntryContext, Text: "from start"},
		{Kind: hooks.EntryTurnStart, Mode: "bypassPermissions", Model: "m"},
		{Kind: hooks.EntryUser, Text: "é hello"},
		{Kind: hooks.EntryReasoning, Text: "hm"},
		{Kind: hooks.EntryToolUse, Tool: bash},
		{Kind: hooks.EntryToolUse, Tool: put},
		{Kind: hooks.EntryToolUse, Tool: mcp, Last: true, Usage: hooks.Usage{Input: 10, CacheRead: 5, Output: 7, Reasoning: 2}},
		{Kind: hooks.EntryToolResult, Tool: &done},
		{Kind: hooks.EntryToolResult, Tool: put},
		{Kind: hooks.EntryToolResult, Tool: mcp},
		{Kind: hooks.EntryText, Text: "one", Last: true, Usage: hooks.Usage{Input: 1, Output: 2}},
		{Kind: hooks.EntrySteering, Text: "go on"},
		{Kind: hooks.EntryText, Text: "two", Last: true},
		{Kind: hooks.EntryTurnEnd},
		{Kind: hooks.EntrySummary, Text: "short"},
		{Kind: hooks.EntryTitle, Text: "t"},
		{Kind: hooks.EntryTurnStart},
		{Kind: hooks.EntryTurnEnd},
	}
}

func transcribe(t *testing.T) (*Transcriber, string) {
	t.Helper()
	tr := NewTranscriber(hooks.TranscriptMeta{
		SessionID: "S", Cwd: "/w", Version: "1.2", GitBranch: "main", Model: "m0", System: "be good",
		CreatedAt: time.Date(2026, 11, 30, 7, 38, 42, 5e6, time.UTC),
	})
	var out []byte
	for i, e := range session() {
		e.Seq, e.TurnID, e.Time = uint64(i+1), "T", time.Date(2026, 11, 30, 7, 39, i, 0, time.UTC)
		var err error
		if out, err = tr.Append(out, &e); err != nil {
			t.Fatal(err)
		}
	}
	return tr, string(out)
}

// TestTranscript compares the rollout with the golden one, byte for byte.
// -update rewrites it.
func TestTranscript(t *testing.T) {
	tr, got := transcribe(t)
	if want := "sessions/2026/11/30/rollout-2026-11-30T07-38-42-S.jsonl"; tr.Path() != want {
		t.Errorf("path %s, want %s", tr.Path(), want)
	}
	golden := filepath.Join("testdata", "rollout.jsonl")
	if *update {
		write(t, golden, got)
	}
	if want := string(readFile(t, golden)); got != want {
		t.Errorf("rollout\n%s\nwant\n%s", got, want)
	}
	if _, again := transcribe(t); again != got {
		t.Error("a second transcript of the session differs")
	}
	bad := hooks.Entry{Kind: hooks.EntryToolUse, Seq: 9}
	if _, err := tr.Append(nil, &bad); err == nil || !strings.Contains(err.Error(), "log event 9") {
		t.Errorf("a call without a tool: %v", err)
	}
}

// TestTranscriptReaders: what hooks look for in a rollout.
func TestTranscriptReaders(t *testing.T) {
	_, text := transcribe(t)
	var calls, roles []string
	var lastAgent any
	var total float64
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var l struct {
			Timestamp, Type string
			Ordinal         int
			Payload         map[string]any
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Ordinal != i || l.Timestamp == "" || strings.Contains(line, `": `) {
			t.Errorf("line %d: %s", i, line)
		}
		switch l.Payload["type"] {
		case "message":
			roles = append(roles, l.Payload["role"].(string))
		case "function_call", "custom_tool_call":
			calls = append(calls, l.Payload["name"].(string))
		case "task_complete":
			if lastAgent == nil {
				lastAgent = l.Payload["last_agent_message"]
			} else if l.Payload["last_agent_message"] != nil {
				t.Error("a turn without text has a last message")
			}
		case "token_count":
			total = l.Payload["info"].(map[string]any)["total_token_usage"].(map[string]any)["total_tokens"].(float64)
		}
	}
	if got := strings.Join(roles, " "); got != "developer user assistant user assistant" {
		t.Errorf("messages of %s", got)
	}
	if got := strings.Join(calls, " "); got != "exec_command apply_patch mcp__a__b" {
		t.Errorf("calls of %s", got)
	}
	if lastAgent != "two" || total != 25 {
		t.Errorf("last message %v, %v tokens", lastAgent, total)
	}
}
