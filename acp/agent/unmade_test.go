package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/session"
)

// A session whose log cannot be made holds nothing afterwards: the servers that
// were started for it end.
func TestUnmadeSessionHoldsNothing(t *testing.T) {
	bubble(t, options{config: func(c *agent.Config) { c.Store = unmade{c.Store} }}, func(r *rig) {
		e := r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, McpServers: []acp.McpServer{}}, -32603)
		if !strings.Contains(e.Message, "making the session's log: no room on the disk") {
			t.Errorf("the error says %q", e.Message)
		}
		if len(r.build.params) != 1 || r.build.closed != 1 {
			t.Errorf("%d sessions were built, %d closed", len(r.build.params), r.build.closed)
		}
	})
}

// A session whose configuration cannot be made leaves no log.
func TestUnmadeSessionLeavesNoLog(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		r.build.fail = acp.InvalidRequest("a rule is none")
		e := r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, McpServers: []acp.McpServer{}}, -32600)
		if !strings.Contains(e.Message, "a rule is none") {
			t.Errorf("the error says %q", e.Message)
		}
		if infos, err := r.store.List(t.Context()); err != nil || len(infos) != 0 {
			t.Errorf("%d logs are left, %v", len(infos), err)
		}
	})
}

// While nobody has signed in nothing is made at all.
func TestNoSessionBeforeSigningIn(t *testing.T) {
	bubble(t, options{config: func(c *agent.Config) {
		c.Store = unmade{c.Store}
		c.SignedIn = func() error { return acp.AuthRequired("set the key") }
	}}, func(r *rig) {
		e := r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, McpServers: []acp.McpServer{}}, -32000)
		if !strings.Contains(e.Message, "set the key") || len(r.build.params) != 0 {
			t.Errorf("the error says %q, %d sessions were built", e.Message, len(r.build.params))
		}
	})
}

// unmade is a store in which no log can be made.
type unmade struct{ session.Store }

// Create implements session.Store.
func (unmade) Create(context.Context, session.Header) (session.Log, error) {
	return nil, errors.New("no room on the disk")
}
