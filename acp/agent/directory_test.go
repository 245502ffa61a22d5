package agent_test

import (
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/acp"
)

// A directory with a slash at its end, as Emacs has them, is the one without: hooks
// compare paths as texts.
func TestSlashAtTheEndOfADirectory(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		slashed := r.dir + string(filepath.Separator)
		var res acp.NewSessionResponse
		r.call(acp.MethodSessionNew, map[string]any{"cwd": slashed, "mcpServers": []any{}, "additionalDirectories": []any{slashed}}, &res)
		id := res.SessionID
		r.say(id, "hi", acp.StopReasonEndTurn)
		r.close(id)
		for _, cwd := range []string{r.dir, slashed} {
			var list acp.ListSessionsResponse
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: cwd}, &list)
			if len(list.Sessions) != 1 || list.Sessions[0].Cwd != r.dir {
				t.Errorf("in %s: %+v", cwd, list.Sessions)
			}
			r.call(acp.MethodSessionLoad, map[string]any{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}, nil)
			r.close(id)
		}
		if said := r.Text(id); strings.Contains(said, "it works in") {
			t.Errorf("it has moved: %q", said)
		}
	})
}
