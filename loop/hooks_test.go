package loop

import (
	"testing"

	"acp-agent/hooks"
	"acp-agent/session"
)

// The log says where a hook's text went, as the turn puts it.
func TestInjectedType(t *testing.T) {
	for _, tc := range []struct {
		event         hooks.Event
		dialect, kind string
		want          session.Type
	}{
		{hooks.PreToolUse, "codex", "reason", session.TypeToolResult},
		{hooks.PreToolUse, "codex", "context", session.TypeContextMessage},
		{hooks.PermissionRequest, "claude-code", "reason", session.TypeToolResult},
		{hooks.PostToolUse, "claude-code", "feedback", session.TypeContextMessage},
		{hooks.PostToolUse, "codex", "feedback", session.TypeToolResult},
		{hooks.UserPromptSubmit, "codex", "reason", session.TypeTurnEnd},
		{hooks.UserPromptExpand, "claude-code", "reason", session.TypeTurnEnd},
		{hooks.PostToolBatch, "claude-code", "reason", session.TypeTurnEnd},
		{hooks.Stop, "codex", "reason", session.TypeSteeringMessage},
		{hooks.PreModelSwitch, "claude-code", "reason", session.TypeNotice},
	} {
		if got := injectedType(tc.event, tc.dialect, tc.kind); got != tc.want {
			t.Errorf("%s, %s, %s: %s, want %s", tc.event, tc.dialect, tc.kind, got, tc.want)
		}
	}
}
