package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// Hands run what the evaluator's model calls.
type Hands struct {
	// Tools are those that Offer left.
	Tools *tool.Registry
	// Env makes the surroundings of a call.
	Env func(callID string) *tool.Env
	// Permit says, in words for the model, why a call may not run; "" lets it.
	Permit func(permission.Call) string
	// Redact takes out of a result what no model may see; optional.
	Redact func(*tool.Result)
	// Transcript is a file that may be read beside the roots; "" for none.
	Transcript string
}

// Offer returns those of a session's tools that an evaluator gets: what reads and
// searches, and bash and the tools of MCP servers that are said to be read-only
// where an allow rule is about them (see Permit). What writes,
// asks the person, keeps the plan or touches background jobs is not among them.
func Offer(all *tool.Registry, rules *permission.Rules) (*tool.Registry, error) {
	var out []tool.Tool
	for _, name := range all.Names() {
		t, _ := all.Get(name)
		s := t.Spec()
		reads := s.ReadOnly && (s.Kind == tool.KindRead || s.Kind == tool.KindSearch || s.Kind == tool.KindFetch)
		if reads || (s.Hinted || name == "bash") && rules.Allows(name) {
			out = append(out, t)
		}
	}
	return tool.NewRegistry(out...)
}

// Permit applies a session's rules where nobody can be asked: what they would ask
// about does not run, and a mode allows nothing by itself (Claude Code runs the
// evaluator of an agent hook in its mode dontAsk).
func Permit(rules *permission.Rules, mode string, c permission.Call) string {
	if mode != permission.ModePlan {
		mode = permission.ModeDefault
	}
	switch v := rules.Decide(mode, c); v.Decision {
	case permission.Allow:
		return ""
	case permission.Deny:
		return v.Reason
	}
	return "This call did not run: no rule allows it, and nobody can be asked here."
}

func (h *Hands) schemas() []session.ToolSchema {
	if h == nil {
		return nil
	}
	return h.Tools.Schemas()
}

func failed(id, text string) session.Block {
	return session.Block{Type: session.BlockToolResult, CallID: id, Content: []session.Block{session.Text(text)}, IsError: true}
}

// run answers one call. Whatever goes wrong is for the model to read.
func (h *Hands) run(ctx context.Context, b session.Block) session.Block {
	var t tool.Tool
	if h != nil {
		t, _ = h.Tools.Get(b.Name)
	}
	if t == nil {
		return failed(b.ID, fmt.Sprintf("There is no tool named %.100q here.", b.Name))
	}
	input := json.RawMessage(b.Arguments)
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := tool.Check(t, input); err != nil {
		return failed(b.ID, err.Error())
	}
	if detaches(b.Name, input) {
		return failed(b.ID, "Nothing can run in the background here. The command did not run.")
	}
	env := h.env(b.ID, input)
	s := t.Spec()
	c := permission.Call{Name: b.Name, Input: input, ReadOnly: s.ReadOnly, Hinted: s.Hinted, Cwd: env.Cwd, Paths: tool.Touched(env, input)}
	if why := h.Permit(c); why != "" {
		return failed(b.ID, why)
	}
	r := h.call(ctx, t, env, input)
	if h.Redact != nil {
		h.Redact(&r)
	}
	return session.Block{Type: session.BlockToolResult, CallID: b.ID, Content: r.Content, IsError: r.IsError}
}

func (h *Hands) call(ctx context.Context, t tool.Tool, env *tool.Env, input json.RawMessage) (r tool.Result) {
	defer func() {
		if p := recover(); p != nil {
			r = tool.Fail(fmt.Sprintf("The tool failed inside: %v.", p))
		}
	}()
	r, err := t.Run(ctx, env, input)
	if err != nil {
		return tool.Fail("The tool failed: " + err.Error() + ".")
	}
	return r
}

// detaches: the command would outlive the evaluator.
func detaches(name string, input json.RawMessage) bool {
	var a struct {
		Background bool `json:"run_in_background"`
	}
	return name == "bash" && json.Unmarshal(input, &a) == nil && a.Background
}

// env is the call's surroundings. A call about exactly the transcript has that
// file's directory for its roots, and nothing else in it.
func (h *Hands) env(id string, input json.RawMessage) *tool.Env {
	env := h.Env(id)
	if h.Transcript == "" || filepath.Clean(tool.PathOf(input)) != filepath.Clean(h.Transcript) {
		return env
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(h.Transcript))
	if err != nil {
		return env // the tool says that there is no such file
	}
	env.Roots, env.Files = []string{dir}, transcript(h.Transcript)
	return env
}

// transcript is tool.Files of one file.
type transcript string

var errOnlyTranscript = errors.New("only the transcript can be read there")

// ReadFile implements tool.Files.
func (t transcript) ReadFile(_ context.Context, path string) ([]byte, error) {
	if filepath.Clean(path) != filepath.Clean(string(t)) {
		return nil, errOnlyTranscript
	}
	return os.ReadFile(path)
}

// WriteFile implements tool.Files.
func (t transcript) WriteFile(context.Context, string, []byte) error { return errOnlyTranscript }
