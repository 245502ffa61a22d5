package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

// serversWait bounds how long the first prompt waits for tool servers that are still
// connecting. Later ones join the turn that follows.
const serversWait = 5 * time.Second

// Servers are tool servers that connect in the background.
type Servers interface {
	// Tools waits until all have connected or failed, or ctx is done. It returns
	// the tools that there are, each failure once, and the names of the servers that
	// are still connecting.
	Tools(ctx context.Context) (tools []tool.Tool, failures, late []string)
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
		tools          []tool.Tool
		failures, late []string
	}
	wait := serversWait
	if len(s.lateServers) > 0 {
		wait = 0 // the person knows, and has gone on
	}
	ctx, cancel := context.WithTimeout(t.ctx, wait)
	defer cancel()
	g := await(s, func() got {
		tools, failures, late := s.cfg.Servers.Tools(ctx)
		return got{tools, failures, late}
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
	for _, name := range g.late {
		if t.ctx.Err() != nil || slices.Contains(s.lateServers, name) {
			continue
		}
		s.lateServers = append(s.lateServers, name)
		text := fmt.Sprintf("The MCP server %q is still starting. This prompt goes on without its tools; the first one after it is ready has them.", name)
		data = append(data,
			&session.Notice{Severity: "warning", Text: text, Source: agent},
			&session.ContextMessage{Content: []session.Block{session.Text(text)}, Source: agent})
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
