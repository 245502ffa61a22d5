package anthropic

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func client(t testing.TB, cfg model.Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func thought(text, signature string) session.Block {
	return wiretest.Reasoning(text, signature, "")
}

// conversation has one of everything.
func conversation(provider, name string) *model.Request {
	failed := wiretest.ToolResult("c3", session.Text("invalid arguments"), wiretest.PNG)
	failed.Content[0].IsError = true
	return wiretest.Conversation(provider, name,
		wiretest.User("first"), wiretest.User("second, a message of its own"), wiretest.User("one block", "another block"),
		wiretest.Assistant(provider, name, thought("I think.", "sig+/1="), session.Block{Type: session.BlockReasoning, Redacted: "sealed+/="}, session.Text("Reading."),
			wiretest.Call("toolu_1", "read", `{"a": "x", "n":9007199254740993}`), wiretest.Call("toolu_2", "noop", ``)),
		wiretest.ToolResult("toolu_1", session.Text("line 1\n"), session.Text("line 2")),
		wiretest.User("context of the first result"),
		wiretest.ToolResult("toolu_2"),
		wiretest.User(wiretest.Steering),
		wiretest.User(" \n\t"),
		wiretest.Assistant("deepseek", "deepseek-v4-pro", thought("Unsigned elsewhere.", ""), wiretest.Call("functions.read:0", "a.b", `{"a": "x`)),
		wiretest.ToolResult("functions.read:0", session.Text("")),
		wiretest.Assistant("openai", "gpt-5.5", session.Block{Type: session.BlockReasoning, Text: "Sealed elsewhere.", Signature: "rs_1", Redacted: "gAAA"}, wiretest.Call("c3", "read", `[]`)),
		failed,
		wiretest.Assistant(provider, name, thought("", "sig2"), wiretest.Call("toolu_3", "read", `{"a":"😀"}`)),
		wiretest.ToolResult("toolu_3", session.Text("ok"), wiretest.PNG),
		wiretest.Assistant(provider, name, thought("cut before it was signed", "")),
		wiretest.User("again, 😀 👩‍👩‍👧"),
		wiretest.Assistant(provider, name, thought("Done thinking.", "sig3"), session.Text("Done."), session.Text("")),
		wiretest.Everything)
}

func TestRequestGolden(t *testing.T) {
	tests := []struct {
		name string
		cfg  model.Config
		req  *model.Request
	}{
		{"sonnet", model.Config{APIKey: "k"}, conversation("anthropic", "claude-sonnet-5-5")},
		{"haiku-budget", model.Config{APIKey: "k"}, conversation("anthropic", "claude-haiku-4-5-20251001")},
		{"gateway", model.Config{Provider: "gate", BaseURL: "http://localhost:8000/anthropic", MaxTokens: 1000}, conversation("gate", "some/model")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.cfg)
			wiretest.Golden(t, tt.name, *update, func() ([]byte, error) {
				body, _, err := c.encode(tt.req, nil, terms{})
				return body, err
			})
		})
	}
}

// sent is a body as the rules of the wire see it.
type sent struct {
	Messages []struct {
		Role    string
		Content []map[string]any
	}
}

func encode(t testing.TB, c *Client, req *model.Request) (string, sent) {
	t.Helper()
	body, _, err := c.encode(req, nil, terms{})
	if err != nil {
		t.Fatal(err)
	}
	var s sent
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return string(body), s
}

// checkRules holds what the API refuses a request for.
func checkRules(t *testing.T, s sent) {
	t.Helper()
	open := map[string]bool{}
	marks := 0
	for i, m := range s.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			t.Errorf("message %d is the %s's", i, m.Role)
		}
		if len(m.Content) == 0 {
			t.Errorf("message %d is empty", i)
		}
		results := true
		for k, b := range m.Content {
			if b["cache_control"] != nil {
				marks++
			}
			switch b["type"] {
			case "text":
				if strings.TrimSpace(b["text"].(string)) == "" {
					t.Errorf("message %d block %d is blank", i, k)
				}
			case "tool_use":
				open[b["id"].(string)] = true
			case "thinking":
				if b["signature"] == "" || k == len(m.Content)-1 {
					t.Errorf("message %d block %d: thinking %v", i, k, b)
				}
			}
			if b["type"] == "tool_result" {
				if !results || !open[b["tool_use_id"].(string)] {
					t.Errorf("message %d block %d: a result out of place", i, k)
				}
				delete(open, b["tool_use_id"].(string))
			} else {
				results = false
			}
		}
		if m.Role == "user" && len(open) > 0 {
			t.Errorf("message %d leaves calls without a result: %v", i, open)
		}
	}
	if marks > 2 {
		t.Errorf("%d cache marks in messages", marks)
	}
}

func TestRules(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	full := conversation("anthropic", "claude-opus-5-5")
	for n := 1; n <= len(full.Messages); n++ {
		rest := full.Messages[n:]
		if k := slices.IndexFunc(rest, func(m session.Message) bool { return m.Role != session.RoleUser }); k >= 0 && rest[k].Role == session.RoleTool {
			continue // calls without their result are never sent
		}
		part := *full
		part.Messages = full.Messages[:n]
		_, s := encode(t, c, &part)
		checkRules(t, s)
	}
}

// TestPrefixIsStable: but for the cache marks, what was sent stays the same bytes
// when more follows.
func TestPrefixIsStable(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	wiretest.PrefixIsStable(t, conversation("anthropic", "claude-opus-5-5"), func(next *session.Message) bool { return next.Role == session.RoleAssistant },
		func(req *model.Request) string {
			body, _ := encode(t, c, req)
			return strings.TrimSuffix(strings.ReplaceAll(body, cacheMark, ""), `]}]}`)
		})
}

func TestVerbatim(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	for _, s := range wiretest.Texts() {
		req := &model.Request{
			Head: session.RequestHead{Config: session.Params{Model: "claude-opus-5-5"}, System: s},
			Messages: []session.Message{
				wiretest.User(s), wiretest.User(s, s), wiretest.Assistant("anthropic", "claude-opus-5-5", thought(s, s), session.Text(s), wiretest.Call("c", "f", "{}")),
				wiretest.ToolResult("c", session.Text(s)), wiretest.User(s),
			},
		}
		body, got := encode(t, c, req)
		var all []string
		for _, m := range got.Messages {
			for _, b := range m.Content {
				for _, k := range []string{"text", "thinking", "signature"} {
					if v, ok := b[k].(string); ok {
						all = append(all, v)
					}
				}
				if list, ok := b["content"].([]any); ok {
					all = append(all, list[0].(map[string]any)["text"].(string))
				}
			}
		}
		if len(all) != 8 || slices.ContainsFunc(all, func(v string) bool { return v != s }) {
			t.Errorf("%.60q came out as %.300q", s, all)
		}
		if !strings.Contains(body, wiretest.Quote(s)) {
			t.Errorf("the system prompt %.60q changed", s)
		}
	}
}

// TestBlankText: the API refuses blank text for good, so it is left out, but a
// message never goes without a word.
func TestBlankText(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	for _, s := range []string{"", " ", "\n\t\r\n", "\u2028\u00a0\u3000", "\x1c"} {
		_, got := encode(t, c, &model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: "claude-opus-5-5"}, System: s},
			Messages: []session.Message{wiretest.User(s), wiretest.User(s, "x", s), wiretest.Assistant("anthropic", "claude-opus-5-5", session.Text(s)), wiretest.User("y")},
		})
		var all []any
		for _, m := range got.Messages {
			for _, b := range m.Content {
				all = append(all, b["text"])
			}
		}
		if diff := cmp.Diff([]any{emptyMessage, "x", "y"}, all); diff != "" {
			t.Errorf("%q: -want +got:\n%s", s, diff)
		}
		checkRules(t, got)
	}
}

// TestThinkingIsSentBack holds the rules of case R15.
func TestThinkingIsSentBack(t *testing.T) {
	after := []session.Block{wiretest.Call("c", "f", "{}")}
	tests := []struct {
		name, client, model string
		message             session.Message
		want                bool
	}{
		{"own", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-opus-5-5", append([]session.Block{thought("t", "SIG")}, after...)...), true},
		{"own, text left out", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-opus-5-5", append([]session.Block{thought("", "SIG")}, after...)...), true},
		{"own, redacted", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-opus-5-5", append([]session.Block{{Type: session.BlockReasoning, Redacted: "SIG"}}, after...)...), true},
		{"another Claude's", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-haiku-4-5", append([]session.Block{thought("t", "SIG")}, after...)...), true},
		{"unsigned", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-opus-5-5", append([]session.Block{thought("SIG", "")}, after...)...), false},
		{"another provider's", "anthropic", "claude-opus-5-5", wiretest.Assistant("openai", "gpt-5.5", append([]session.Block{thought("t", "SIG")}, after...)...), false},
		{"nobody's", "anthropic", "claude-opus-5-5", wiretest.Assistant("", "", append([]session.Block{thought("t", "SIG")}, after...)...), false},
		{"a gateway's same model", "gate", "glm-5.3", wiretest.Assistant("gate", "glm-5.3", append([]session.Block{thought("t", "SIG")}, after...)...), true},
		{"a gateway's other model", "gate", "anthropic/claude-opus-5-5", wiretest.Assistant("gate", "glm-5.3", append([]session.Block{thought("t", "SIG")}, after...)...), false},
		{"last in its message", "anthropic", "claude-opus-5-5", wiretest.Assistant("anthropic", "claude-opus-5-5", session.Text("x"), thought("t", "SIG")), false},
	}
	for _, tt := range tests {
		c := client(t, model.Config{Provider: tt.client, BaseURL: "https://h", APIKey: "k"})
		body, _ := encode(t, c, &model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: tt.model}},
			Messages: []session.Message{wiretest.User("u"), tt.message, wiretest.ToolResult("c", session.Text("r"))},
		})
		if strings.Contains(body, "SIG") != tt.want || strings.Contains(body, `"signature":""`) {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}

func TestThinkingConfiguration(t *testing.T) {
	const bind = `,"block_binding":{"prefix_mismatch_behavior":"drop_block"}`
	tests := []struct{ model, effort, want, beta string }{
		{"claude-opus-5-5", "", `"max_tokens":64000,"thinking":{"type":"adaptive","display":"summarized"` + bind + `}`, betaBinding},
		{"claude-opus-5-5", "off", `"max_tokens":64000,"thinking":{"type":"adaptive","display":"summarized"` + bind + `},"output_config":{"effort":"low"}`, betaBinding},
		{"claude-opus-5-5", "max", `"max_tokens":128000,"thinking":{"type":"adaptive","display":"summarized"` + bind + `},"output_config":{"effort":"max"}`, betaBinding},
		{"claude-sonnet-5-5", "off", `"max_tokens":64000,"thinking":{"type":"between_tools"}`, ""},
		{"claude-sonnet-5", "off", `"max_tokens":64000,"thinking":{"type":"disabled"}`, ""},
		{"claude-sonnet-5", "medium", `"max_tokens":64000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}`, ""},
		{"claude-sonnet-4-6", "xhigh", `"max_tokens":128000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`, ""},
		{"claude-haiku-4-5-20251001", "", `"max_tokens":64000`, ""},
		{"claude-haiku-4-5", "off", `"max_tokens":64000`, ""},
		{"claude-haiku-4-5", "low", `"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":4000}`, betaInterleaved},
		{"claude-haiku-4-5", "max", `"max_tokens":64000,"thinking":{"type":"enabled","budget_tokens":32000}`, betaInterleaved},
		{"claude-opus-9", "off", `"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}`, ""},
		{"glm-5.3", "", `"max_tokens":32000`, ""},
		{"glm-5.3", "off", `"max_tokens":32000,"thinking":{"type":"disabled"}`, ""},
		{"glm-5.3", "high", `"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":16000}`, ""},
	}
	for _, tt := range tests {
		c := client(t, model.Config{APIKey: "k"})
		body, betas, err := c.encode(&model.Request{Head: session.RequestHead{Config: session.Params{Model: tt.model, ReasoningEffort: tt.effort}}}, nil, terms{})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"model":"` + tt.model + `","stream":true,` + tt.want + `,"messages":[]}`
		if string(body) != want || strings.Join(betas, ",") != tt.beta {
			t.Errorf("%s %q: betas %v\n got %s\nwant %s", tt.model, tt.effort, betas, body, want)
		}
	}
	// Behind another address no beta is asked for.
	c := client(t, model.Config{APIKey: "k", BaseURL: "https://proxy.example"})
	if body, betas, _ := c.encode(&model.Request{Head: session.RequestHead{Config: session.Params{Model: "claude-opus-5-5"}}}, nil, terms{}); len(betas) > 0 || strings.Contains(string(body), "binding") {
		t.Errorf("%v %s", betas, body)
	}
	// A bound that leaves no room to think.
	body, _, _ := c.encode(&model.Request{Head: session.RequestHead{Config: session.Params{Model: "claude-haiku-4-5", ReasoningEffort: "high", MaxTokens: 1024}}}, nil, terms{})
	if strings.Contains(string(body), "thinking") {
		t.Error(string(body))
	}
}

func TestSafeName(t *testing.T) {
	seen := map[string]string{}
	for _, s := range []string{"toolu_01AbC-9", "functions.bash:0", "functions.bash:1", "functions_bash_0", "", "ü", strings.Repeat("x", 500), strings.Repeat("x", 501)} {
		got := safeName(s)
		if strings.Trim(got, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || got == "" || len(got) > 128 {
			t.Errorf("%q became %q", s, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both became %q", s, other, got)
		}
		seen[got] = s
	}
	if safeName("toolu_01AbC-9") != "toolu_01AbC-9" {
		t.Error("a good id changed")
	}
}

func TestRefuses(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	wiretest.Refuses(t, func(req *model.Request) ([]byte, error) {
		body, _, err := c.encode(req, nil, terms{})
		return body, err
	})
}

func TestCatalog(t *testing.T) {
	if i := Lookup("anthropic", "claude-haiku-4-5-20251001"); i.Window != 200_000 || i.MaxOutput != 64_000 || i.Ref != "anthropic/claude-haiku-4-5-20251001" || i.Price == nil || !i.Images {
		t.Errorf("%+v", i)
	}
	if i := Lookup("gate", "anthropic/claude-opus-5-5"); i.Window != 1_000_000 || i.Ref != "gate/anthropic/claude-opus-5-5" || slices.Contains(i.Efforts, "off") {
		t.Errorf("%+v", i)
	}
	if i := Lookup("gate", "x"); i.Window != DefaultWindow || i.Images || i.MaxOutput != 0 {
		t.Errorf("%+v", i)
	}
	if len(order) != len(table()) || len(Known("anthropic")) != len(order) || Known("gate") != nil {
		t.Errorf("%d models are listed, %d are in the table", len(order), len(table()))
	}
	for _, i := range Known("anthropic") {
		if i.MaxOutput == 0 || i.Window < i.MaxOutput || len(i.Efforts) == 0 {
			t.Errorf("%+v", i)
		}
	}
}
