package agent_test

import (
	"testing"

	"acp-agent/acp"
)

func TestSmoke(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.permissions(acp.PermissionOptionKindAllowOnce)
		r.model.add(calls("x", toolCall{"c", "bash", args("command", "echo hi")}), says("done"))
		r.say(id, "hello", acp.StopReasonEndTurn)
		for _, u := range r.Frames() {
			t.Log(u.Raw)
		}
	})
}
