package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// codexVersion is the release that this dialect follows.
const codexVersion = "0.171.0"

// interopModel is one for which Codex offers apply_patch as a tool.
const interopModel = "gpt-5.5"

// realCodex installs the vendor's own program, for whoever asks for it.
func realCodex(t *testing.T) string {
	t.Helper()
	if os.Getenv("ACP_AGENT_INTEROP") != "1" {
		t.Skip("fetches and runs the real @openai/codex from npm; set ACP_AGENT_INTEROP=1 (and ACP_AGENT_CODEX=/path/to/codex to use an installed one)")
	}
	if path := os.Getenv("ACP_AGENT_CODEX"); path != "" {
		return path
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal("npm is not in PATH, so @openai/codex cannot be fetched: install Node 20 or newer")
	}
	dir := t.TempDir()
	out, err := exec.Command(npm, "install", "--prefix", dir, "--no-audit", "--no-fund", "@openai/codex@"+codexVersion).CombinedOutput()
	if err != nil {
		t.Fatalf("@openai/codex cannot be fetched (is there a network?): %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules", ".bin", "codex")
}

// fakeModel is a Responses API that answers from a script and keeps what it is
// asked.
type fakeModel struct {
	mu     sync.Mutex
	script [][]step
	bodies [][]byte
}

func (m *fakeModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/responses") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	n := len(m.bodies)
	m.bodies = append(m.bodies, body)
	var steps []step
	if n < len(m.script) {
		steps = m.script[n]
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
	}
	id := fmt.Sprintf("r%d", n)
	send("response.created", map[string]any{"response": map[string]any{"id": id}})
	for i, s := range steps {
		send("response.output_item.done", map[string]any{"output_index": i, "item": s.wire(n, i)})
	}
	send("response.completed", map[string]any{"response": map[string]any{"id": id, "usage": map[string]any{
		"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
		"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
	}}})
}

// wire is a step as the API sends it.
func (s *step) wire(n, i int) map[string]any {
	switch s.Type {
	case "message":
		return map[string]any{
			"type": "message", "id": fmt.Sprintf("m%d_%d", n, i), "role": "assistant",
			"content": []any{map[string]any{"type": "output_text", "text": s.Content[0].Text}},
		}
	case "custom_tool_call":
		return map[string]any{"type": s.Type, "name": s.Name, "input": s.Arguments, "call_id": s.CallID}
	}
	return map[string]any{"type": "function_call", "name": s.Name, "arguments": s.Arguments, "call_id": s.CallID}
}

// lastItems reads the last request as the recordings hold it: from the first
// thing on that the person or a hook said.
func (m *fakeModel) lastItems(t *testing.T, prompt string) []item {
	t.Helper()
	if len(m.bodies) == 0 {
		return nil
	}
	var req struct {
		Input []struct {
			Type, Role, Name, Arguments, Input string
			CallID                             string `json:"call_id"`
			Content                            []struct{ Text string }
			Output                             json.RawMessage
		}
	}
	if err := json.Unmarshal(m.bodies[len(m.bodies)-1], &req); err != nil {
		t.Fatal(err)
	}
	var out []item
	for _, in := range req.Input {
		switch in.Type {
		case "message":
			it := item{Role: in.Role}
			for _, c := range in.Content {
				if !preamble(c.Text) {
					it.Text = append(it.Text, c.Text)
				}
			}
			if len(it.Text) > 0 {
				out = append(out, it)
			}
		case "function_call":
			out = append(out, item{Call: in.Name, ID: in.CallID, Args: in.Arguments})
		case "custom_tool_call":
			out = append(out, item{Call: in.Name, ID: in.CallID, Args: in.Input})
		case "function_call_output", "custom_tool_call_output":
			out = append(out, item{ID: in.CallID, Output: outputText(in.Output)})
		}
	}
	return out
}

// preamble tells what Codex itself puts before the first prompt.
func preamble(s string) bool {
	return strings.HasPrefix(s, "<") && !strings.HasPrefix(s, "<hook_prompt") ||
		strings.HasPrefix(s, "You are ")
}

func outputText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	if json.Unmarshal(raw, &blocks) == nil {
		for _, b := range blocks {
			s += b.Text
		}
		return s
	}
	return string(raw)
}

// runReal runs `codex exec` on the row's hooks and script, and writes what came
// of it into the row, as the recordings have it.
func runReal(t *testing.T, codex string, r *row) {
	t.Helper()
	root := t.TempDir()
	proj, home := filepath.Join(root, "proj"), filepath.Join(root, "home", ".codex")
	model := &fakeModel{script: r.ModelScript}
	srv := httptest.NewServer(model)
	defer srv.Close()
	write(t, filepath.Join(home, "hooks.json"), string(r.Hooks))
	write(t, filepath.Join(home, "config.toml"), fmt.Sprintf(`model = "%s"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "%s/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false
`, interopModel, srv.URL))
	for name, text := range r.projectFiles {
		write(t, filepath.Join(proj, name), text)
	}
	if err := os.MkdirAll(filepath.Join(proj, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"--dangerously-bypass-hook-trust", r.Prompt)
	cmd.Dir = proj
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(root, "home"), "CODEX_HOME="+home)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("codex exec did not end: %s", out)
	}
	_ = err // a blocked prompt or a failing hook may make exec exit with 1
	r.Requests = len(model.bodies)
	r.LastRequestItems = model.lastItems(t, r.Prompt)
	r.ProjectFilesAfter = map[string]string{}
	err = filepath.WalkDir(proj, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		r.ProjectFilesAfter[filepath.Base(path)] = strings.ReplaceAll(string(b), root, "{{root}}")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("codex exec said\n%s", out)
	}
}

// TestInterop runs the same hooks.json, prompt and model answers through the
// real Codex and through our dialect, and compares as TestObserved does.
func TestInterop(t *testing.T) {
	codex := realCodex(t)
	out, err := exec.Command(codex, "--version").Output()
	if err != nil {
		t.Fatalf("%s does not run here: %v", codex, err)
	}
	t.Logf("against %s", strings.TrimSpace(string(out)))
	for _, c := range interopCases {
		t.Run(c.name, func(t *testing.T) {
			r := &row{Name: c.name, Hooks: json.RawMessage(c.hooks), Prompt: "hello there", ModelScript: c.script, projectFiles: c.files}
			runReal(t, codex, r)
			plainDenials(r)
			plainStops(r)
			if c.adapt != nil {
				c.adapt(r)
			}
			p := newReplay(t, r, setup{})
			p.quiet, p.model = true, interopModel
			for name, text := range c.files {
				write(t, filepath.Join(p.proj(), name), text)
			}
			p.run()
			p.compare()
		})
	}
}
