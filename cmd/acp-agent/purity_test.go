package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noisyModel is a model that calls bash once and then says DONE.
const noisyModel = `{"type":"session","version":1,"id":"s","createdAt":"2026-01-02T03:04:05.000Z","cwd":"/w"}
{"type":"turn/start","data":{"turn":1}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"tool-call"}}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"tool-call-delta","index":0,"id":"call_1","name":"bash","argumentsDelta":"{\"command\":\"cat; echo '{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":77}'; echo noise >&2; env\"}"}}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"tool-calls"}}}}
{"type":"assistant/chunk","data":{"turn":1,"step":2,"chunk":{"type":"block-start","index":0,"blockType":"text"}}}
{"type":"assistant/chunk","data":{"turn":1,"step":2,"chunk":{"type":"text-delta","index":0,"text":"DONE"}}}
{"type":"assistant/chunk","data":{"turn":1,"step":2,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
{"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}
`

// noisyHooks writes to every descriptor that a hook has.
const noisyHooks = `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"printf '\\033]0;title\\007'; echo noise >&2; cat >/dev/null"}]}]}}`

const testKey = "sk-test-0123456789abcdef"

// TestStdoutIsTheProtocol: whatever hooks and tools write, and however much the
// agent logs, each line on stdout is a JSON-RPC message, a tool that reads its
// stdin gets none of the protocol, and a provider's key reaches no child and no
// file.
func TestStdoutIsTheProtocol(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the bash tool and the hooks of this test need bash, which is not here")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var received [][]byte
	state := filepath.Join(dir, "state")
	agent, err := startPeer(ctx, []string{
		"acp-agent", "--model", "replay:" + write("session.jsonl", noisyModel), "--state-dir", state,
		"--codex-hooks", write("hooks.json", noisyHooks), "--log-level", "debug", "--trace", filepath.Join(dir, "trace"),
	}, append(os.Environ(), "HOME="+dir, "ACP_AGENT_MODE=bypassPermissions", "DEEPSEEK_API_KEY="+testKey, "GH_TOKEN=stays"), dir, func(out bool, line []byte) {
		if !out {
			received = append(received, bytes.Clone(line))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var created struct {
		SessionID string `json:"sessionId"`
	}
	var answer struct {
		StopReason string `json:"stopReason"`
	}
	for _, step := range []struct {
		method string
		params func() any
		result any
	}{
		{"initialize", func() any { return map[string]any{"protocolVersion": 1} }, &struct{}{}},
		{"session/new", func() any { return map[string]any{"cwd": dir, "mcpServers": []any{}} }, &created},
		{"session/prompt", func() any {
			return map[string]any{"sessionId": created.SessionID, "prompt": []any{map[string]string{"type": "text", "text": "go"}}}
		}, &answer},
	} {
		if err := agent.call(step.method, step.params(), step.result); err != nil {
			t.Fatal(err)
		}
	}
	if err := agent.close(); err != nil {
		t.Fatal(err)
	}
	if answer.StopReason != "end_turn" {
		t.Errorf("stop reason %q", answer.StopReason)
	}
	for _, line := range received {
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			t.Errorf("not JSON-RPC: %q", line)
		}
	}
	log, err := os.ReadFile(filepath.Join(state, "sessions", created.SessionID+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"noise", "GH_TOKEN=stays"} {
		if !bytes.Contains(log, []byte(want)) {
			t.Errorf("the tool's output in the log has no %q", want)
		}
	}
	trace, err := os.ReadFile(filepath.Join(dir, "trace"))
	if err != nil || !bytes.Contains(trace, []byte("initialize")) {
		t.Errorf("trace: %v, %d bytes", err, len(trace))
	}
	for name, data := range map[string][]byte{"the log": log, "the trace": trace, "stderr": agent.stderr.Bytes(), "the wire": bytes.Join(received, nil)} {
		if strings.Contains(string(data), testKey) {
			t.Errorf("%s holds the provider's key", name)
		}
	}
}
