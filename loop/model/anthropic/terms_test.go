package anthropic

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// TestTerms holds that a refusal that the next request can heed is heeded, for the
// requests that follow as well, and that one that stays is a failure.
func TestTerms(t *testing.T) {
	const absent = "reasoning_content is missing in assistant tool call message at index 1"
	tests := []struct {
		name, model, effort string
		refused             func(body string) bool
		refusal             string
		want                string // in the body that is taken
		requests            int    // of two
	}{
		{"Moonshot's unsigned thinking", "kimi-x", "", func(b string) bool { return !strings.Contains(b, `"thinking":"thought"`) }, "thinking is enabled but " + absent, `{"type":"thinking","thinking":"thought","signature":""},{"type":"tool_use"`, 3},
		{"DeepSeek's, of a history without", "other", "", func(b string) bool { return !strings.Contains(b, `"type":"thinking"`) }, "The `content[].thinking` in the thinking mode must be passed back to the API.", `{"type":"thinking","thinking":" ","signature":""},{"type":"tool_use"`, 3},
		{"a Claude that is too old", "claude-3-9-opus", "", func(b string) bool { return strings.Contains(b, "adaptive") }, "adaptive thinking is not supported on this model", `"max_tokens":32000`, 3},
		{"with an effort", "claude-3-9-opus", "high", func(b string) bool { return strings.Contains(b, "output_config") }, "output_config.effort: not supported for this model", `"max_tokens":32000`, 3},
		{"a strict server", "claude-3-9-opus", "", func(b string) bool { return strings.Contains(b, `"thinking":{`) }, "thinking: Extra inputs are not permitted", `"max_tokens":32000`, 3},
		{"less output", "m", "", func(b string) bool { return !strings.Contains(b, `"max_tokens":4096`) }, "max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens", `"max_tokens":4096`, 4},
		{"less room", "m", "", func(b string) bool { return strings.Contains(b, `"max_tokens":32000`) }, "'max_tokens' is too large: 32000. This model's maximum context length is 16384 tokens", `"max_tokens":8192`, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stays := false
			url, got := wiretest.Bodies(t, func(w http.ResponseWriter, _ int, body string) {
				if stays || tt.refused(body) {
					w.WriteHeader(400)
					_, _ = io.WriteString(w, fault("invalid_request_error", tt.refusal))
					return
				}
				_, _ = io.WriteString(w, answered("end_turn"))
			})
			c := client(t, model.Config{Provider: "local", BaseURL: url})
			req := &model.Request{
				SessionID: "s", Head: session.RequestHead{Config: session.Params{Model: tt.model, ReasoningEffort: tt.effort}},
				Messages: []session.Message{
					wiretest.User("q"), wiretest.Assistant("local", "kimi-x", thought("thought", ""), wiretest.Call("c", "f", "{}")), wiretest.ToolResult("c", session.Text("r")),
				},
			}
			for range 2 {
				if r := wiretest.Collect(c.Stream(t.Context(), req)); r.String() != wholeStop {
					t.Fatal(r)
				}
			}
			if last := (*got)[len(*got)-1]; len(*got) != tt.requests || !strings.Contains(last, tt.want) {
				t.Errorf("%d requests, the last without %s: %s", len(*got), tt.want, last)
			}
			stays = true
			if r := wiretest.Collect(client(t, model.Config{Provider: "local", BaseURL: url}).Stream(t.Context(), req)); r.Err == nil {
				t.Error("a refusal that stays is no failure")
			}
		})
	}
	// A bound that a person has set stands.
	url, got := wiretest.Bodies(t, func(w http.ResponseWriter, _ int, _ string) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, fault("invalid_request_error", "max_tokens: 99000 > 4096"))
	})
	c := client(t, model.Config{Provider: "local", BaseURL: url, MaxTokens: 99_000})
	req := messages.Hello()
	req.Head.Config.Model = "m"
	if r := wiretest.Collect(c.Stream(t.Context(), req)); r.Err == nil || len(*got) != 1 {
		t.Errorf("%d requests, %v", len(*got), r.Err)
	}
}

// TestOwnIDs: a gateway's own id goes back to its model as it came, whatever is in
// it, and to another as the wire has ids.
func TestOwnIDs(t *testing.T) {
	id := "call_1__thought__" + strings.Repeat("Q+/=", 1000)
	c := client(t, model.Config{Provider: "local", BaseURL: "http://h/v1"})
	for name, own := range map[string]bool{"gemini-x": true, "other": false} {
		req := &model.Request{Head: session.RequestHead{Config: session.Params{Model: name}}, Messages: []session.Message{
			wiretest.User("q"), wiretest.Assistant("local", "gemini-x", wiretest.Call(id, "f", "{}")), wiretest.ToolResult(id, session.Text("r")),
		}}
		body, _, err := c.encode(req, nil, terms{})
		if n := strings.Count(string(body), id); err != nil || own != (n == 2) || !own && strings.Contains(string(body), "Q+") {
			t.Errorf("%s: %d times, %v: %.600s", name, n, err, body)
		}
	}
}
