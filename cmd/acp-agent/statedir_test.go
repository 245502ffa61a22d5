package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/acp"
)

// A state directory that cannot be used is said with what to do, and once it is
// set right the next session/new works without a restart.
func TestStateDirectorySetRightWhileRunning(t *testing.T) {
	for _, name := range []string{".", "sessions"} {
		state := filepath.Join(t.TempDir(), "state")
		blocked := filepath.Join(state, name)
		if err := os.MkdirAll(filepath.Dir(blocked), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, blocked, "a file where a directory belongs")
		c, _ := agentProcess(t, []string{"DEEPSEEK_API_KEY=k"}, "--model", "deepseek/x", "--no-hooks", "--state-dir", state)
		ctx := t.Context()
		if err := c.Call(ctx, acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
			t.Fatal(err)
		}
		req := &acp.NewSessionRequest{Cwd: t.TempDir()}
		err := c.Call(ctx, acp.MethodSessionNew, req, nil)
		if err == nil || !strings.Contains(err.Error(), blocked) || !strings.HasSuffix(err.Error(), "--state-dir or ACP_AGENT_STATE_DIR (code -32603)") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := os.Remove(blocked); err != nil {
			t.Fatal(err)
		}
		if err := c.Call(ctx, acp.MethodSessionNew, req, nil); err != nil {
			t.Errorf("%s, set right: %v", name, err)
		}
	}
}
