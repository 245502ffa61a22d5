package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
)

// remote is a tool of a server.
type remote struct {
	server *server
	def    *sdk.Tool
	spec   tool.Spec
}

func (s *server) spec(name string, def *sdk.Tool) tool.Spec {
	spec := tool.Spec{
		Name: name, Description: def.Description, Schema: inputSchema(def.InputSchema), Kind: tool.KindOther,
	}
	if spec.Description == "" {
		spec.Description = def.Title
	}
	// The kind stays as it is: there are clients that approve whatever is of the
	// kind read (acpx --approve-reads).
	spec.Hinted = def.Annotations != nil && def.Annotations.ReadOnlyHint
	return spec
}

// Spec implements tool.Tool.
func (r *remote) Spec() tool.Spec { return r.spec }

// View implements tool.Tool.
func (r *remote) View(_ *tool.Env, input json.RawMessage) tool.View {
	title := r.server.cfg.Name + ": " + r.def.Name
	if args := summary(input); args != "" {
		title += " (" + args + ")"
	}
	return tool.View{Title: tool.Title(title)}
}

// Check implements tool.Checker. What an object may hold is the server's to say.
func (r *remote) Check(input json.RawMessage) error {
	_, err := tool.Decode[struct{}](input)
	return err
}

// Run implements tool.Tool.
func (r *remote) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	res, err := r.server.call(ctx, r.def.Name, input, caller{
		show: func(text string) { env.Progress(tool.Progress{Output: text}) }, elicit: env.Elicit, callID: env.CallID,
	})
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	return result(res), nil
}

// summaryValue is how many characters of a value a title shows.
const summaryValue = 60

// summary is a call's arguments in short: the plain values, in the order in which
// the model wrote them.
func summary(input json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	var parts []string
	for n := 0; dec.More() && n < tool.MaxTitle; {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		part := fmt.Sprintf("%v: %s", key, short(raw))
		parts = append(parts, part)
		n += len(part)
	}
	return strings.Join(parts, ", ")
}

func short(raw json.RawMessage) string {
	s := string(raw)
	switch raw[0] {
	case '{':
		return "{…}"
	case '[':
		return "[…]"
	case '"':
		_ = json.Unmarshal(raw, &s) // s stays what was written
	}
	if utf8.RuneCountInString(s) > summaryValue {
		s = string([]rune(s)[:summaryValue-1]) + "…"
	}
	if raw[0] == '"' {
		return `"` + s + `"`
	}
	return s
}
