package mcp

import (
	"context"
	"encoding/json"

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
	return tool.View{Title: tool.RemoteTitle(r.server.cfg.Name, r.def.Name, input)}
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
