package responses

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

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

// conversation has one of everything.
func conversation(provider, name string) *model.Request {
	return wiretest.Conversation(provider, name,
		wiretest.User("first"), wiretest.User("second, a message of its own"), wiretest.User("one block", "another block"),
		wiretest.Assistant(provider, name, wiretest.Reasoning("I think.", "rs_1", "gAAA+/="), session.Text("Reading."),
			wiretest.Call("call_1", "read", `{"a": "x", "n":9007199254740993}`), wiretest.Call("call_2", "noop", ``)),
		wiretest.ToolResult("call_1", session.Text("line 1\n"), session.Text("line 2")),
		wiretest.User("context of the first result"),
		wiretest.ToolResult("call_2"),
		wiretest.User(wiretest.Steering), wiretest.User(" \n\t"),
		wiretest.Assistant("anthropic", "claude-opus-5-5", session.Block{Type: session.BlockReasoning, Text: "Sealed elsewhere.", Signature: "sig"}, wiretest.Call(strings.Repeat("functions.read:0", 9), "a.b", `{"a": "x`)),
		wiretest.ToolResult(strings.Repeat("functions.read:0", 9), session.Text("")),
		wiretest.Assistant(provider, name, wiretest.Reasoning("", "rs_2", "gBBB"), wiretest.Call("call_3", "read", `{"a":"😀"}`)),
		wiretest.ToolResult("call_3", session.Text("ok"), wiretest.PNG),
		wiretest.Assistant(provider, name, wiretest.Reasoning("cut before it said anything", "rs_3", "gCCC")),
		wiretest.User("again, 😀 👩‍👩‍👧"),
		wiretest.Assistant(provider, name, wiretest.Reasoning("Done thinking.", "rs_4", "gDDD"), session.Text("Done.")),
		wiretest.Everything)
}

func TestRequestGolden(t *testing.T) {
	tests := []struct {
		name string
		cfg  model.Config
		req  *model.Request
	}{
		{"openai", model.Config{APIKey: "k"}, conversation("openai", "gpt-5.5")},
		{"gpt-4.1", model.Config{APIKey: "k", MaxTokens: 1000}, conversation("openai", "gpt-4.1")},
		{"gateway", model.Config{Provider: "gate", BaseURL: "http://localhost:8000/v1", Info: &model.Info{Images: true}}, conversation("gate", "some/model")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.cfg)
			wiretest.Golden(t, tt.name, *update, func() ([]byte, error) { return c.encode(tt.req, without{}) })
		})
	}
}

func TestPrefixIsStable(t *testing.T) {
	for _, cfg := range []model.Config{{APIKey: "k"}, {Provider: "gate", BaseURL: "http://h/v1", Info: &model.Info{Images: true}}} {
		c := client(t, cfg)
		wiretest.PrefixIsStable(t, conversation(c.cfg.Provider, "gpt-5.5"), func(next *session.Message) bool { return next.Role == session.RoleAssistant },
			func(req *model.Request) string {
				body, err := c.encode(req, without{})
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSuffix(string(body), `]}`)
			})
	}
}

func TestVerbatim(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	for _, s := range append(wiretest.Texts(), " ") {
		body, err := c.encode(&model.Request{
			Head: session.RequestHead{Config: session.Params{Model: "gpt-5.5"}, System: s},
			Messages: []session.Message{
				wiretest.User(s), wiretest.User(s, s), wiretest.Assistant("openai", "gpt-5.5", wiretest.Reasoning(s, s, s), session.Text(s), wiretest.Call("c", "f", "{}")),
				wiretest.ToolResult("c", session.Text(s)), wiretest.User(s),
			},
		}, without{})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Instructions string
			Input        []struct {
				Type, Role string
				Content    []struct{ Text string }
				Output     string
				Summary    []struct{ Text string }
				ID         string
				Encrypted  string `json:"encrypted_content"`
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		all := []string{got.Instructions}
		for _, i := range got.Input {
			for _, p := range append(i.Content, i.Summary...) {
				all = append(all, p.Text)
			}
			if i.Type == "function_call_output" {
				all = append(all, i.Output)
			}
			if i.Type == "reasoning" {
				all = append(all, i.ID, i.Encrypted)
			}
		}
		if len(all) != 10 || len(got.Input) != 7 {
			t.Errorf("%d texts in %d items", len(all), len(got.Input))
		}
		for _, v := range all {
			if v != s {
				t.Errorf("%.60q came out as %.60q", s, v)
			}
		}
	}
}

// TestReasoningIsSentBack: to the provider that sealed it and no other.
func TestReasoningIsSentBack(t *testing.T) {
	answer := session.Text("x")
	tests := []struct {
		name, client, model string
		message             session.Message
		want                bool
	}{
		{"own", "openai", "gpt-5.5", wiretest.Assistant("openai", "gpt-5.5", wiretest.Reasoning("t", "rs", "SEALED"), answer), true},
		{"own, other model", "openai", "gpt-5.5", wiretest.Assistant("openai", "gpt-5.2", wiretest.Reasoning("t", "rs", "SEALED"), answer), true},
		{"own, without an id", "openai", "gpt-5.5", wiretest.Assistant("openai", "gpt-5.5", wiretest.Reasoning("", "", "SEALED"), answer), true},
		{"not sealed", "openai", "gpt-5.5", wiretest.Assistant("openai", "gpt-5.5", wiretest.Reasoning("SEALED", "rs", ""), answer), false},
		{"Anthropic's", "openai", "gpt-5.5", wiretest.Assistant("anthropic", "claude-opus-5-5", session.Block{Type: session.BlockReasoning, Redacted: "SEALED"}, answer), false},
		{"DeepSeek's", "openai", "gpt-5.5", wiretest.Assistant("deepseek", "deepseek-v4-pro", session.Block{Type: session.BlockReasoning, Text: "SEALED"}, answer), false},
		{"last of its message", "openai", "gpt-5.5", wiretest.Assistant("openai", "gpt-5.5", answer, wiretest.Reasoning("t", "rs", "SEALED")), false},
		{"a gateway's same model", "gate", "m", wiretest.Assistant("gate", "m", wiretest.Reasoning("t", "rs", "SEALED"), answer), true},
		{"a gateway's other model", "gate", "m", wiretest.Assistant("gate", "n", wiretest.Reasoning("t", "rs", "SEALED"), answer), false},
	}
	for _, tt := range tests {
		cfg := model.Config{Provider: tt.client, APIKey: "k"}
		if tt.client != "openai" {
			cfg.BaseURL = "https://h/v1"
		}
		body, err := client(t, cfg).encode(&model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: tt.model}},
			Messages: []session.Message{wiretest.User("u"), tt.message, wiretest.User("v")},
		}, without{})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), "SEALED") != tt.want {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}

func TestEffort(t *testing.T) {
	const include = `"include":["reasoning.encrypted_content"]`
	tests := []struct{ provider, model, effort, want string }{
		{"openai", "gpt-5.5", "", `"reasoning":{"summary":"auto"},` + include},
		{"openai", "gpt-5.5", "off", `"reasoning":{"effort":"none"},` + include},
		{"openai", "gpt-5.5", "max", `"reasoning":{"effort":"xhigh","summary":"auto"},` + include},
		{"openai", "gpt-5.6-sol", "max", `"reasoning":{"effort":"max","summary":"auto"},` + include},
		{"openai", "gpt-5", "off", `"reasoning":{"effort":"minimal"},` + include},
		{"openai", "gpt-5.1-2025-11-13", "medium", `"reasoning":{"effort":"medium","summary":"auto"},` + include},
		{"openai", "gpt-9", "high", `"reasoning":{"effort":"high","summary":"auto"},` + include},
		{"openai", "gpt-4.1", "high", ``},
		{"local", "m", "", include},
		{"local", "m", "high", `"reasoning":{"effort":"high"},` + include},
	}
	for _, tt := range tests {
		cfg := model.Config{Provider: tt.provider, APIKey: "k"}
		if tt.provider != "openai" {
			cfg.BaseURL = "https://h/v1"
		}
		body, err := client(t, cfg).encode(&model.Request{Head: session.RequestHead{Config: session.Params{Model: tt.model, ReasoningEffort: tt.effort}}}, without{})
		if err != nil {
			t.Fatal(err)
		}
		s := string(body)
		if !strings.Contains(s, tt.want) || tt.want == "" && strings.Contains(s, "reasoning") {
			t.Errorf("%s %s %q: %s", tt.provider, tt.model, tt.effort, s)
		}
	}
}

func TestRefuses(t *testing.T) {
	c := client(t, model.Config{APIKey: "k"})
	wiretest.Refuses(t, func(req *model.Request) ([]byte, error) { return c.encode(req, without{}) })
}

func TestCatalog(t *testing.T) {
	if i := Lookup("openai", "gpt-5.1-2025-11-13"); i.Window != 400_000 || i.Ref != "openai/gpt-5.1-2025-11-13" || i.Price == nil {
		t.Errorf("%+v", i)
	}
	if i := Lookup("gate", "gpt-5.1"); i.Window != DefaultWindow || i.Images || i.Ref != "gate/gpt-5.1" {
		t.Errorf("%+v", i)
	}
	if len(order) != len(table()) || len(Known("openai")) != len(order) || Known("gate") != nil {
		t.Errorf("%d models are listed, %d are in the table", len(order), len(table()))
	}
	for _, i := range Known("openai") {
		if i.MaxOutput == 0 {
			t.Errorf("%+v", i)
		}
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
		body, err := c.encode(req, without{})
		if n := strings.Count(string(body), id); err != nil || own != (n == 2) || !own && strings.Contains(string(body), "Q+") {
			t.Errorf("%s: %d times, %v: %.600s", name, n, err, body)
		}
	}
}
