package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"acp-agent/acp"
	"acp-agent/cmd/acp-agent/internal/config"
)

// Which model a hook asks, by the name that its settings give.
func TestHookModel(t *testing.T) {
	with := func(env ...string) *models {
		cfg, err := config.Load(config.Flags{StateDir: t.TempDir()}, config.NewEnv(append(env, "HOME="+t.TempDir())))
		if err != nil {
			t.Fatal(err)
		}
		m, err := newModels(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const current = "deepseek/deepseek-v4-flash"
	alone := with("DEEPSEEK_API_KEY=sk-0123456789")
	both := with("DEEPSEEK_API_KEY=sk-0123456789", "ANTHROPIC_API_KEY=sk-0123456789")
	for _, tc := range []struct {
		m          *models
		name, want string
	}{
		{alone, "", current},
		{alone, "haiku", current},
		{alone, "claude-haiku-4-5-20251001", current},
		{alone, "gpt-9", current},
		{alone, "deepseek-v4-pro", "deepseek/deepseek-v4-pro"},
		{alone, "deepseek/anything", "deepseek/anything"},
		{alone, "anthropic/claude-sonnet-5", current}, // no key
		{alone, "nobody/knows", current},
		{both, "haiku", "anthropic/claude-haiku-5-5"},
		{both, "opus", "anthropic/claude-opus-5-5"},
		{both, "claude-haiku-4-5", "anthropic/claude-haiku-4-5"},
		{both, "claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5-20251001"},
		{both, "anthropic/claude-sonnet-5", "anthropic/claude-sonnet-5"},
		{both, "", current},
	} {
		if got := tc.m.hookModel(tc.name, current); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// chatServer is a Chat Completions model that answers by a function of the
// request: a text, or the calls of tools.
type chatServer struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

// chatRequest is what such a model looks at.
type chatRequest struct {
	Messages []struct {
		Role    string
		Content any
	}
	Tools []struct{ Function struct{ Name string } }
}

func (r *chatRequest) has(tool string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == tool {
			return true
		}
	}
	return false
}

// said is what the request's messages of a role hold, joined.
func (r *chatRequest) said(role string) string {
	var out strings.Builder
	for _, m := range r.Messages {
		if m.Role == role {
			fmt.Fprintln(&out, m.Content)
		}
	}
	return out.String()
}

func newChatServer(t *testing.T, answer func(r *chatRequest) (text string, calls [][2]string)) *chatServer {
	s := &chatServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(hr.Body)
		var r chatRequest
		if err == nil {
			err = json.Unmarshal(body, &r)
		}
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.bodies = append(s.bodies, string(body))
		n := len(s.bodies)
		s.mu.Unlock()
		text, calls := answer(&r)
		delta, finish := map[string]any{"role": "assistant", "content": text}, "stop"
		for i, c := range calls {
			finish = "tool_calls"
			call := map[string]any{"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": map[string]string{"name": c[0], "arguments": c[1]}}
			list, _ := delta["tool_calls"].([]any)
			delta["tool_calls"] = append(list, call)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, choice := range []map[string]any{{"index": 0, "delta": delta}, {"index": 0, "delta": map[string]any{}, "finish_reason": finish}} {
			b, err := json.Marshal(map[string]any{"choices": []any{choice}})
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s
}

// settingsIn writes ~/.claude/settings.json of a home directory.
func settingsIn(t *testing.T, home string, settings any) {
	t.Helper()
	b, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".claude", "settings.json"), string(b))
}

type object = map[string]any

func stopHook(handler object) object {
	return object{"hooks": object{"Stop": []any{object{"hooks": []any{handler}}}}}
}

// An agent handler in the person's own settings, through the real program: its
// evaluator reads a file, says what is missing, and lets the turn stop once it is
// there. The log verifies, and replays without a model.
func TestAgentHookEndToEnd(t *testing.T) {
	home, state, dir := t.TempDir(), t.TempDir(), t.TempDir()
	settingsIn(t, home, stopHook(object{"type": "agent", "prompt": "Read todo.txt. Is all of it said? $ARGUMENTS"}))
	write(t, filepath.Join(dir, "todo.txt"), "say SECOND\n")
	const reason = " Say SECOND <b> too.\n"
	m := newChatServer(t, func(r *chatRequest) (string, [][2]string) {
		judge := r.has("StructuredOutput")
		switch {
		case judge && (r.has("write") || r.has("bash")):
			t.Error("the evaluator has tools that change something")
			return "", nil
		case !judge && strings.Contains(r.said("user"), "SECOND"):
			return "SECOND", nil
		case !judge:
			return "FIRST", nil
		case strings.Contains(r.said("user"), `"last_assistant_message":"SECOND"`):
			return `All is said: {"ok": true}`, nil
		case strings.Contains(r.said("tool"), "say SECOND"):
			verdict, _ := json.Marshal(object{"ok": false, "reason": reason})
			return "", [][2]string{{"StructuredOutput", string(verdict)}}
		}
		return "", [][2]string{{"read", `{"file_path":"todo.txt"}`}}
	})
	c, _ := agentProcess(t, []string{"HOME=" + home, "DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + m.URL}, "serve", "--model", "deepseek/test", "--state-dir", state)
	id, stop := converseOnce(t, c, dir, "go")
	if stop != acp.StopReasonEndTurn || c.Text(id) != "FIRSTSECOND" {
		t.Errorf("stop reason %s, text %q", stop, c.Text(id))
	}
	c.Hangup()
	c.WaitEnd(t.Context())
	if len(m.bodies) != 5 {
		t.Fatalf("%d requests:\n%s", len(m.bodies), strings.Join(m.bodies, "\n"))
	}
	var again chatRequest
	if err := json.Unmarshal([]byte(m.bodies[3]), &again); err != nil {
		t.Fatal(err)
	}
	if got := again.Messages[len(again.Messages)-1]; got.Role != "user" || got.Content != reason {
		t.Errorf("the turn went on with %q", got)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	run := func(args ...string) string {
		cmd := exec.Command("acp-agent", append(args, "--state-dir", state)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if out := run("sessions", "verify", id); !strings.Contains(out, "5 request") {
		t.Errorf("verify: %s", out)
	}
	if out := run("sessions", "show", id, "--transcript"); strings.Contains(out, "say SECOND") || !strings.Contains(out, reason) {
		t.Errorf("the session's transcript:\n%s", out)
	}
	if out := run("sessions", "show", id, "--full"); !strings.Contains(out, "say SECOND") {
		t.Errorf("the log:\n%s", out)
	}
	// The log is a recording of both conversations.
	replayed, _ := agentProcess(t, []string{"HOME=" + home}, "serve", "--model", "replay:"+filepath.Join(state, "sessions", id+".jsonl"), "--state-dir", t.TempDir())
	if id, stop := converseOnce(t, replayed, dir, "go"); stop != acp.StopReasonEndTurn || replayed.Text(id) != "FIRSTSECOND" {
		t.Errorf("the replay: %s, %q", stop, replayed.Text(id))
	}
}
