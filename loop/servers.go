package loop

import (
	"context"
	"fmt"
	"time"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

// serversWait bounds how long a prompt waits for tool servers that are still
// connecting. Later ones join the next turn.
const serversWait = 5 * time.Second

// Servers are tool servers that connect in the background.
type Servers interface {
	// Tools waits until all have connected or failed, or ctx is done. It returns
	// the tools that there are, each failure once, and whether that is all.
	Tools(ctx context.Context) (tools []tool.Tool, failures []string, settled bool)
}

// Tools returns the session's tools.
func (s *Session) Tools() *tool.Registry { return s.tools.Load() }

// joinServers adds the tools of servers that have connected since.
func (t *turn) joinServers() error {
	s := t.s
	if s.cfg.Servers == nil {
		return nil
	}
	type got struct {
		tools    []tool.Tool
		failures []string
	}
	ctx, cancel := context.WithTimeout(t.ctx, serversWait)
	defer cancel()
	g := await(s, func() got {
		tools, failures, _ := s.cfg.Servers.Tools(ctx)
		return got{tools, failures}
	})
	var data []session.Data
	agent := session.Source{Kind: session.SourceAgent, Name: "mcp"}
	for _, f := range g.failures {
		data = append(data,
			&session.Notice{Severity: "warning", Text: f, Source: agent},
			// The model would else take tools that it was promised for a mistake of
			// the user's (hermes-agent#89668).
			&session.ContextMessage{Content: []session.Block{session.Text(f + " Its tools are not available.")}, Source: agent})
	}
	base := s.cfg.Tools
	reg, err := tool.NewRegistry()
	if err == nil {
		for _, name := range base.Names() {
			one, _ := base.Get(name)
			if err = reg.Add(one); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("making the session's tools: %w", err)
	}
	for _, one := range g.tools {
		if err := reg.Add(one); err != nil {
			data = append(data, &session.Notice{Severity: "warning", Text: "A tool was left out: " + err.Error(), Source: agent})
		}
	}
	s.tools.Store(reg)
	return s.append(data...)
}
