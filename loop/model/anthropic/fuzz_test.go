package anthropic

import (
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// FuzzRequest holds that any text makes a request that the API's rules accept,
// with the text unchanged in it.
func FuzzRequest(f *testing.F) {
	f.Add("hi", "reasoning", "{}", "id:1")
	f.Add(" \u2028", "", `{"a":`, "")
	c, err := New(model.Config{APIKey: "k"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, thinking, args, id string) {
		req := &model.Request{
			Head: session.RequestHead{Config: session.Params{Model: "claude-opus-5-5"}},
			Messages: []session.Message{
				wiretest.User(text), wiretest.Assistant("anthropic", "claude-opus-5-5", thought(thinking, "s"), session.Text(text), wiretest.Call(id, id, args)),
				wiretest.ToolResult(id, session.Text(text)), wiretest.User(text, "x"),
			},
		}
		body, s := encode(t, c, req)
		checkRules(t, s)
		if !blank(text) && strings.Count(body, wiretest.Quote(text)) < 4 {
			t.Fatalf("%q is not in %s", text, body)
		}
	})
}
