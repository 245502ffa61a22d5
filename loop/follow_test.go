package loop

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
)

// fileTool is a tool with a file that hooks change when changed is set.
type fileTool struct {
	fakeTool
	changed bool
	asked   []string
}

func (f *fileTool) Follow(_ context.Context, _ *tool.Env, input json.RawMessage) bool {
	f.asked = append(f.asked, string(input))
	return f.changed
}

// After the hooks of a change, and after those of the step, the tool is asked to
// take in the file; the model is told when hooks have changed it, once.
func TestToolFollowsWhatHooksMadeOfItsFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edit := &fileTool{fakeTool: fakeTool{name: "edit"}}
		edit.run = func(_ context.Context, _ *tool.Env, in string) tool.Result {
			if in == `{"fail":1}` {
				return tool.Fail("no")
			}
			return tool.Text("Updated.")
		}
		r := newRig(t, []tool.Tool{edit}, calls(call("a", "edit", `{"n":1}`)), calls(call("b", "edit", `{"n":2}`)), calls(call("c", "edit", `{"fail":1}`)), text("ok"))
		r.hooks.on[hooks.PostToolUse] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
			edit.changed = c.Tool.CallID == "b"
			return &hooks.Outcome{}
		}
		r.hooks.on[hooks.PostToolBatch] = func(context.Context, *hooks.Call) *hooks.Outcome { return &hooks.Outcome{} }
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if want := []string{`{"n":1}`, `{"n":1}`, `{"n":2}`, `{"n":2}`}; !slices.Equal(edit.asked, want) {
			t.Errorf("asked after %q", edit.asked)
		}
		var got []string
		for _, m := range r.model.requests[3].Messages {
			if b := m.Content[0]; b.CallID != "" && len(b.Content) > 0 {
				got = append(got, b.Content[0].Text)
			}
		}
		if want := []string{"Updated.", "Updated.\n" + textHookChanged, "no"}; !slices.Equal(got, want) {
			t.Errorf("results %q", got)
		}
	})
}
