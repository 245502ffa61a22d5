package agent_test

import (
	"sync/atomic"
	"testing"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/agent"
)

// The memory of closed sessions is given back, once for all that are closed in a row.
func TestMemoryIsGivenBackAfterAClose(t *testing.T) {
	var trims atomic.Int64
	bubble(t, options{config: func(c *agent.Config) { c.Trim = func() { trims.Add(1) } }}, func(r *rig) {
		after := func(what string, want int64) {
			t.Helper()
			<-time.After(time.Minute)
			if n := trims.Swap(0); n != want {
				t.Errorf("after %s memory was given back %d times, want %d", what, n, want)
			}
		}
		ids := []string{r.open(), r.open(), r.open(), r.open()}
		r.say(ids[3], "hi", acp.StopReasonEndTurn)
		after("a turn", 0)
		r.close(ids[0])
		after("a close", 1)
		for _, id := range ids[1:3] {
			r.close(id)
			<-time.After(time.Second / 2)
		}
		r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: ids[3]}, nil)
		after("three in a row", 1)
		r.close(ids[3])
		after("the close of none", 0)
	})
}
