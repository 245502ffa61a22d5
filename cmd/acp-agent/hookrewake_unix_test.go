//go:build unix

package main

import (
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
