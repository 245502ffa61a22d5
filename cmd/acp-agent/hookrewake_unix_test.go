//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
)

// A hook in the background ends with exit code 2 while the session is idle: the
// person hears of it at once, and the model with the next prompt.
func TestRewakeEndToEnd(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	settingsIn(t, home, stopHook(object{
		"type": "command", "command": "cat go >&2; exit 2", "asyncRewake": true, "rewakeMessage": "Background check:", "rewakeSummary": "The check found something",
	}))
	// The hook waits at a pipe until the test lets it go on.
	gate := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	m := newChatServer(t, func(*chatRequest) (string, [][2]string) { return "ok", nil })
	c, _ := agentProcess(t, []string{"HOME=" + home, "DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + m.URL}, "serve", "--model", "deepseek/test", "--state-dir", t.TempDir())
	id, _ := converseOnce(t, c, dir, "go")
	n := len(c.Frames())
	write(t, gate, " two tests fail\n")
	f := c.WaitFrame(t.Context(), n, func(f acptest.Frame) bool { return f.Update != nil && f.Update.Update.AgentMessageChunk != nil })
	if got := f.Update.Update.AgentMessageChunk.Content.Text.Text; got != "[info] The check found something (The model gets it with your next prompt.)\n" {
		t.Errorf("the person was told %q", got)
	}
	settingsIn(t, home, object{}) // the next turn needs no hook
	var res acp.PromptResponse
	if err := c.Call(t.Context(), acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("on")}}, &res); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.bodies[len(m.bodies)-1]
	if !strings.Contains(last, "Background check:") || !strings.Contains(last, `" two tests fail"`) {
		t.Errorf("the next request: %s", last)
	}
}

// A hook in the background that fails while its session is being closed: the log
// takes nothing more, and the person hears what failed all the same.
func TestFailureAtTheEndIsSaid(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	// The hook waits at a pipe for the hook of the session's end.
	if err := syscall.Mkfifo(filepath.Join(dir, "go"), 0o600); err != nil {
		t.Fatal(err)
	}
	settingsIn(t, home, object{"hooks": object{
		"Stop": []any{object{"hooks": []any{object{
			"type": "command", "command": "cat go >&2; exit 1", "async": true,
		}}}},
		"SessionEnd": []any{object{"hooks": []any{object{"type": "command", "command": "echo the disk is full >go"}}}},
	}})
	m := newModelServer(t, "done")
	cmd := exec.Command("acp-agent", "exec", "-C", dir, "--state-dir", t.TempDir(), "--model", "openai/any", "go")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + m.URL + "/v1"}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil || !strings.Contains(errs.String(), "Stop hook `cat go >&2; exit 1` failed: exit code 1: the disk is full") {
		t.Errorf("%v, stderr\n%s", err, errs.String())
	}
}
