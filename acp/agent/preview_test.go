package agent_test

import (
	"testing"

	"acp-agent/acp"
)

// Case C15: a load describes the calls of the past without asking the client
// for files: it does not know the session yet.
func TestDescribingACallAsksTheClientForNothing(t *testing.T) {
	caps := acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}
	bubble(t, options{caps: caps}, func(r *rig) {
		s := serve(r, caps)
		r.permissions(acp.PermissionOptionKindAllowOnce)
		r.write("f", "one\n")
		r.model.add(
			calls("", toolCall{"r", "read", args("file_path", "f")}),
			calls("", toolCall{"e", "edit", args("file_path", "f", "old_string", "one", "new_string", "two")}),
			calls("", toolCall{"w", "write", args("file_path", "f", "content", "three")}),
			says("done"))
		id := r.open()
		r.say(id, "go", acp.StopReasonEndTurn)
		r.close(id)
		before := s.count(acp.MethodFSReadTextFile)
		if before == 0 {
			t.Error("the client was never asked")
		}
		r.load(id)
		if n := s.count(acp.MethodFSReadTextFile) - before; n != 0 {
			t.Errorf("the load asked the client %d times", n)
		}
	})
}
