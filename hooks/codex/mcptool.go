package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"acp-agent/hooks"
)

// mcpTool is a handler that calls a tool of a connected MCP server with the
// payload's values in its input (Codex 0.171.0, handlers).
type mcpTool struct {
	server, tool string
	input        *node
}

// execMCP calls the tool. Its text is taken as a command's stdout would be.
func (d *Dialect) execMCP(ctx context.Context, m *mcpTool, job *hooks.Job) hooks.Exit {
	if d.opts.MCP == nil {
		return hooks.Exit{Code: -1, StartErr: fmt.Errorf("no MCP servers are connected, so %s cannot be called on %s", m.tool, m.server)}
	}
	in, err := m.fill(job.Payload)
	if err != nil {
		return hooks.Exit{Code: -1, StartErr: err}
	}
	limited, cancel := context.WithTimeout(ctx, job.Handler.Timeout)
	defer cancel()
	text, isError, err := d.opts.MCP.CallTool(limited, m.server, m.tool, in)
	switch {
	case ctx.Err() != nil:
		return hooks.Exit{Code: -1, Cancelled: true}
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return hooks.Exit{Code: -1, TimedOut: true}
	case err != nil:
		return hooks.Exit{Code: -1, StartErr: fmt.Errorf("calling %s of the MCP server %s: %w", m.tool, m.server, err)}
	case isError:
		return hooks.Exit{Code: -1, StartErr: fmt.Errorf("%s of the MCP server %s reported an error: %s", m.tool, m.server, clip(text))}
	}
	return hooks.Exit{Stdout: []byte(text)}
}

// fill replaces the placeholders of the input by the payload's values.
func (m *mcpTool) fill(payload []byte) (json.RawMessage, error) {
	if m.input == nil {
		return json.RawMessage("{}"), nil
	}
	root, err := parseJSON(payload)
	if err != nil {
		return nil, fmt.Errorf("reading the hook's own payload: %w", err)
	}
	out, err := fillNode(m.input, root)
	if err != nil {
		return nil, err
	}
	return out.json(), nil
}

func fillNode(n, payload *node) (*node, error) {
	out := &node{kind: n.kind, text: n.text, truth: n.truth}
	switch n.kind {
	case stringNode:
		return fillText(n.text, payload)
	case arrayNode:
		for _, e := range n.elems {
			v, err := fillNode(e, payload)
			if err != nil {
				return nil, err
			}
			out.elems = append(out.elems, v)
		}
	case objectNode:
		for _, m := range n.members {
			v, err := fillNode(m.value, payload)
			if err != nil {
				return nil, err
			}
			out.members = append(out.members, member{key: m.key, value: v})
		}
	}
	return out, nil
}

// fillText replaces ${a.b} in a text. A text that is one placeholder and
// nothing else keeps the value's JSON type; a path that leads nowhere fails the
// hook rather than calling the tool with a hole in its arguments.
func fillText(text string, payload *node) (*node, error) {
	var b strings.Builder
	rest := text
	for {
		start := strings.Index(rest, "${")
		if start < 0 {
			break
		}
		length := strings.IndexByte(rest[start:], '}')
		if length < 0 {
			break
		}
		path := rest[start+2 : start+length]
		v := payload
		for _, key := range strings.Split(path, ".") {
			if v = v.get(key); v == nil {
				return nil, fmt.Errorf("the placeholder ${%s} names nothing in the hook's payload", path)
			}
		}
		if start == 0 && length+1 == len(text) {
			return v, nil
		}
		b.WriteString(rest[:start])
		if v.kind == stringNode {
			b.WriteString(v.text)
		} else {
			b.Write(v.json())
		}
		rest = rest[start+length+1:]
	}
	b.WriteString(rest)
	return &node{kind: stringNode, text: b.String()}, nil
}
