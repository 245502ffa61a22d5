package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/session/jsonl"
)

// agentProcess starts the command with an environment of its own and returns a
// client for it. Every frame is checked against the published schema.
func agentProcess(t *testing.T, env []string, args ...string) (*acptest.Client, *exec.Cmd) {
	t.Helper()
	// TestMain has put the test binary on PATH under the command's name.
	cmd := exec.Command("acp-agent", args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Stderr = t.Output()
	return talkTo(t, cmd), cmd
}

// talkTo starts an agent and returns a client for it. The agent ends with the test
// at the latest.
func talkTo(t *testing.T, cmd *exec.Cmd) *acptest.Client {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Not cmd.StdoutPipe: Wait closes that under the client, which may still read.
	out, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = out.Close()
	})
	return acptest.NewClient(t, out, in)
}

// converseOnce initializes, makes a session and sends one prompt.
func converseOnce(t *testing.T, c *acptest.Client, cwd, prompt string) (id string, stop acp.StopReason) {
	t.Helper()
	ctx := t.Context()
	if err := c.Call(ctx, acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	var made acp.NewSessionResponse
	if err := c.Call(ctx, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: cwd}, &made); err != nil {
		t.Fatal(err)
	}
	var res acp.PromptResponse
	err := c.Call(ctx, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: made.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}}, &res)
	if err != nil {
		t.Fatal(err)
	}
	return made.SessionID, res.StopReason
}

// modelServer is a scripted OpenAI-compatible model: it answers the n-th request
// with the n-th text and keeps the bodies.
type modelServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies [][]byte
	keys   []string // as they came in the requests' Authorization
}

func newModelServer(t *testing.T, answers ...string) *modelServer {
	m := &modelServer{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		m.mu.Lock()
		n := len(m.bodies)
		m.bodies = append(m.bodies, body)
		m.keys = append(m.keys, r.Header.Get("Authorization"))
		m.mu.Unlock()
		if n >= len(answers) {
			http.Error(w, "not scripted", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%q}}]}\n\n", answers[n])
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(m.Close)
	return m
}

// lastUser is the content of the last message of request n, which must be a
// user's.
func (m *modelServer) lastUser(t *testing.T, n int) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n >= len(m.bodies) {
		t.Fatalf("the model got %d requests", len(m.bodies))
	}
	var req struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(m.bodies[n], &req); err != nil {
		t.Fatal(err)
	}
	last := req.Messages[len(req.Messages)-1]
	var text string
	if err := json.Unmarshal(last.Content, &text); err != nil || last.Role != "user" {
		t.Fatalf("the last message is %s %.200s", last.Role, last.Content)
	}
	return text
}

// The promise: what a stop hook says reaches the model as a plain user message,
// byte for byte, through hook process, log and provider wire; for both dialects
// and both ways in which a hook can say it.
func TestStopReasonReachesTheModelByteForByte(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are shell scripts")
	}
	reasons := map[string]string{
		"plain":  "Also reply with SECOND.",
		"xml":    `<steering source="x">&amp; "quoted" </steering>`,
		"blanks": "  \t leading and trailing \n\n",
		"u2028":  "a\u2028b\u2029c",
		"emoji":  "🧪 👩‍👩‍👧‍👦 é e\u0301",
		"crlf":   "one\r\ntwo\rthree",
		"1MB":    strings.Repeat("0123456789abcdef", 1<<16),
	}
	for _, dialect := range []string{"claude", "codex"} {
		for name, reason := range reasons {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				// From JSON the reason is taken as it is. From stderr it loses the one
				// line end that echo puts there.
				answer, err := json.Marshal(map[string]string{"decision": "block", "reason": reason})
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "answer.json"), string(answer))
				write(t, filepath.Join(dir, "stderr.txt"), reason+"\n")
				hook := `input=$(cat); case "$input" in *'"stop_hook_active":true'*) [ -f second ] && exit 0; touch second; cat stderr.txt >&2; exit 2;; esac; cat answer.json`
				cfg, err := json.Marshal(map[string]any{"hooks": map[string]any{"Stop": []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": hook}}}}}})
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "hooks.json"), string(cfg))
				m := newModelServer(t, "FIRST", "SECOND", "THIRD")
				state := t.TempDir()
				c, _ := agentProcess(t, []string{"DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + m.URL},
					"serve", "--model", "deepseek/test", "--state-dir", state, "--"+dialect+"-hooks", filepath.Join(dir, "hooks.json"))
				id, stop := converseOnce(t, c, dir, "go")
				if stop != acp.StopReasonEndTurn || c.Text(id) != "FIRSTSECONDTHIRD" {
					t.Errorf("stop reason %s, text %q", stop, c.Text(id))
				}
				for n, how := range map[int]string{1: "from JSON", 2: "from stderr"} {
					if got := m.lastUser(t, n); got != reason {
						t.Errorf("%s: the model was sent %.80q, want %.80q", how, got, reason)
					}
				}
			})
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// kill -9 in the instant after the prompt's answer loses nothing: everything
// that the client was told is in the log, and the log verifies.
func TestKillAfterTheAnswerLosesNothing(t *testing.T) {
	rounds := 100
	if testing.Short() || raceEnabled {
		rounds = 10
	}
	recording := filepath.Join(t.TempDir(), "session.jsonl")
	write(t, recording, `{"type":"session","version":0,"id":"r","createdAt":0}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"text"}}}
{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[0,0,0],"texts":["all ","of ","it"]}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
`)
	for n := range rounds {
		state := t.TempDir()
		c, cmd := agentProcess(t, nil, "serve", "--model", "replay:"+recording, "--state-dir", state)
		id, _ := converseOnce(t, c, t.TempDir(), fmt.Sprintf("prompt %d", n))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.WaitEnd(t.Context())
		_ = c.Problems()
		store, err := jsonl.Open(filepath.Join(state, "sessions"), jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.Read(context.Background(), id, nil)
		if err != nil || got.Torn != 0 {
			t.Fatalf("round %d: %v, %d torn bytes", n, err, got.Torn)
		}
		st := got.State
		if st.Turn != nil || len(st.Messages) != 2 || st.Messages[1].Content[0].Text != "all of it" {
			t.Fatalf("round %d: the log has %+v, open turn %v", n, st.Messages, st.Turn)
		}
		verify := exec.Command("acp-agent", "sessions", "verify", "--state-dir", state, id)
		if out, err := verify.CombinedOutput(); err != nil {
			t.Fatalf("round %d: sessions verify: %v: %s", n, err, out)
		}
	}
}
