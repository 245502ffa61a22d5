package main

import (
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/hooks"
	"acp-agent/loop/tool/shell"
)

// hooks list judges matchers by the tools that a session has.
func TestOccasionsAreTheTools(t *testing.T) {
	reg, err := newTools(shell.New(shell.Options{}), true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range hooks.Occasions(hooks.PreToolUse) {
		got = append(got, c.Tool.Name)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(reg.Names())); !slices.Equal(got, want) {
		t.Errorf("occasions of tools %v, tools %v", got, want)
	}
}

// /hooks knows what was decided for the session that it is asked in, and the next
// session does not.
func TestHooksCommandKnowsTheSession(t *testing.T) {
	dir := t.TempDir()
	settingsIn(t, dir, stopHook(object{"type": "command", "command": "exit 0"}))
	m := newChatServer(t, func(*chatRequest) (string, [][2]string) { return "ok", nil })
	c, _ := agentProcess(t, []string{"DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + m.URL}, "serve", "--model", "deepseek/test", "--state-dir", t.TempDir())
	c.HandlePermission(acp.PermissionOptionKindAllowOnce)
	id, _ := converseOnce(t, c, dir, "go")
	var other acp.NewSessionResponse
	call(t, c, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: dir}, &other)
	for session, want := range map[string]string{id: "Stop runs", other.SessionID: "Stop held back: not trusted yet"} {
		call(t, c, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: session, Prompt: []acp.ContentBlock{acp.TextBlock("/hooks")}}, nil)
		if got := strings.Join(strings.Fields(c.Text(session)), " "); !strings.Contains(got, want) {
			t.Errorf("the list is %q, want %q", got, want)
		}
	}
}
