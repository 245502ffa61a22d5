package openai

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

// said is a message of a provider's model, thought its reasoning.
func said(provider string, blocks ...session.Block) session.Message {
	return wiretest.Assistant(provider, "", blocks...)
}

func thought(s string) session.Block { return wiretest.Reasoning(s, "sig", "") }

// conversation has one of everything.
func conversation(provider, name string) *model.Request {
	return wiretest.Conversation(provider, name,
		wiretest.User("first"), wiretest.User("second, a message of its own"),
		wiretest.User("one block", "another block"),
		said(provider, thought("I think."), session.Text("Reading."), wiretest.Call("c1", "read", `{"a": "x"}`), wiretest.Call("c2", "noop", ``)),
		wiretest.ToolResult("c1", session.Text("line 1\n"), session.Text("line 2")),
		wiretest.ToolResult("c2"),
		wiretest.User("<steering>do</steering> it"),
		said("anthropic", thought("Sealed elsewhere."), wiretest.Call("c3", "read", `{"a": "x`)),
		wiretest.ToolResult("c3", session.Text("invalid arguments"), wiretest.PNG),
		said(provider, thought(""), wiretest.Call("c4", "noop", `[]`)),
		wiretest.ToolResult("c4", session.Text("")),
		said(provider, thought("Done thinking."), session.Text("Done.")),
		wiretest.User("look"),
		wiretest.Everything)
}

func TestRequestGolden(t *testing.T) {
	tests := []struct {
		name string
		cfg  model.Config
		req  *model.Request
	}{
		{"deepseek", model.Config{Provider: "deepseek", APIKey: "k"}, conversation("deepseek", "deepseek-v4-pro")},
		{"deepseek-images", model.Config{Provider: "deepseek", APIKey: "k"}, conversation("deepseek", "deepseek-flash")},
		{"openai", model.Config{Provider: "openai", APIKey: "k"}, conversation("openai", "gpt-5.1-2025-11-13")},
		{"generic", model.Config{Provider: "local", BaseURL: "http://localhost:8000/v1", MaxTokens: 1000}, conversation("local", "some/model")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.cfg)
			wiretest.Golden(t, tt.name, *update, func() ([]byte, error) { return c.encode(tt.req) })
		})
	}
}

// The images of results go after the batch, so that a cut before its end is no
// request that was ever sent.
func TestPrefixIsStable(t *testing.T) {
	for _, provider := range []string{"deepseek", "openai"} {
		c := client(t, model.Config{Provider: provider, APIKey: "k"})
		wiretest.PrefixIsStable(t, conversation(provider, "m"), func(next *session.Message) bool { return next.Role != session.RoleTool },
			func(req *model.Request) string {
				body, err := c.encode(req)
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSuffix(string(body), `]}`)
			})
	}
}

func TestVerbatim(t *testing.T) {
	texts := append(wiretest.Texts(), "", " ")
	for _, provider := range []string{"deepseek", "openai"} {
		c := client(t, model.Config{Provider: provider, APIKey: "k"})
		for _, text := range texts {
			req := &model.Request{
				Head:     session.RequestHead{Config: session.Params{Model: "m"}, System: text},
				Messages: []session.Message{wiretest.User(text), wiretest.User(text, text), said(provider, session.Text(text)), wiretest.ToolResult("c", session.Text(text))},
			}
			body, err := c.encode(req)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Messages []struct{ Content json.RawMessage }
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				// No system message, and the fixed words for no output.
				got.Messages = got.Messages[:len(got.Messages)-1]
			}
			for i, m := range got.Messages {
				var s string
				var parts []struct{ Type, Text string }
				switch {
				case json.Unmarshal(m.Content, &s) == nil:
					parts = append(parts, struct{ Type, Text string }{"text", s})
				case json.Unmarshal(m.Content, &parts) == nil:
				default:
					t.Fatalf("content %s", m.Content)
				}
				for _, p := range parts {
					if p.Text != text || p.Type != "text" {
						t.Errorf("%s message %d: %.80q came out as %.80q", provider, i, text, p.Text)
					}
				}
			}
		}
	}
}

// TestReasoningIsSentBack holds the rules of earendil-works/pi#3636 and R2.
func TestReasoningIsSentBack(t *testing.T) {
	tests := []struct {
		name, provider, effort string
		message                session.Message
		want                   string
	}{
		{"call with reasoning", "deepseek", "", said("deepseek", thought("r"), wiretest.Call("c", "f", "{}")), `"reasoning_content":"r"`},
		{"call with empty reasoning", "deepseek", "", said("deepseek", thought(""), wiretest.Call("c", "f", "{}")), `"reasoning_content":""`},
		{"answer with reasoning", "deepseek", "", said("deepseek", thought("r"), session.Text("t")), `"reasoning_content":"r"`},
		{"reference's provider name", "deepseek", "", said("deepseek-official", thought("r"), wiretest.Call("c", "f", "{}")), `"reasoning_content":"r"`},
		{"call without reasoning", "deepseek", "", said("deepseek", wiretest.Call("c", "f", "{}")), `"reasoning_content":""`},
		{"foreign call", "deepseek", "high", said("anthropic", thought("secret"), wiretest.Call("c", "f", "{}")), `"reasoning_content":""`},
		{"foreign call, thinking off", "deepseek", "off", said("anthropic", thought("secret"), wiretest.Call("c", "f", "{}")), ""},
		{"foreign answer", "deepseek", "", said("anthropic", thought("secret"), session.Text("t")), `"reasoning_content":""`},
		{"OpenAI refuses it", "openai", "", said("openai", thought("secret"), wiretest.Call("c", "f", "{}")), ""},
	}
	for _, tt := range tests {
		c := client(t, model.Config{Provider: tt.provider, APIKey: "k"})
		body, err := c.encode(&model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: "m", ReasoningEffort: tt.effort}},
			Messages: []session.Message{tt.message},
		})
		if err != nil {
			t.Fatal(err)
		}
		s := string(body)
		if tt.want == "" && strings.Contains(s, "reasoning_content") || !strings.Contains(s, tt.want) || strings.Contains(s, "secret") || strings.Contains(s, "sig") {
			t.Errorf("%s: %s", tt.name, s)
		}
		if strings.Contains(s, `"content":null`) {
			t.Errorf("%s: null content", tt.name)
		}
	}
}

func TestEffort(t *testing.T) {
	tests := []struct{ provider, model, effort, want string }{
		{"deepseek", "deepseek-v4-pro", "", ``},
		{"deepseek", "deepseek-v4-pro", "off", `"thinking":{"type":"disabled"}`},
		{"deepseek", "deepseek-v4-pro", "low", `"thinking":{"type":"enabled"},"reasoning_effort":"low"`},
		{"deepseek", "deepseek-v4-pro", "medium", `"thinking":{"type":"enabled"},"reasoning_effort":"high"`},
		{"deepseek", "deepseek-v4-pro", "max", `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"openai", "gpt-5.1", "off", `"reasoning_effort":"none"`},
		{"openai", "gpt-5", "off", `"reasoning_effort":"minimal"`},
		{"openai", "gpt-5", "max", `"reasoning_effort":"high"`},
		{"openai", "gpt-5.2", "max", `"reasoning_effort":"xhigh"`},
		{"openai", "gpt-5.1", "medium", `"reasoning_effort":"medium"`},
		{"openai", "gpt-4.1", "high", ``},
		{"openai", "gpt-9-unknown", "high", `"reasoning_effort":"high"`},
		{"openai", "gpt-5.6-sol", "high", `"reasoning_effort":"none"`},
		{"openai", "gpt-5.6-sol", "", `"reasoning_effort":"none"`},
		{"local", "m", "", ``},
		{"local", "m", "high", `"reasoning_effort":"high"`},
	}
	for _, tt := range tests {
		base := ""
		if tt.provider == "local" {
			base = "http://localhost/v1"
		}
		c := client(t, model.Config{Provider: tt.provider, APIKey: "k", BaseURL: base})
		body, err := c.encode(&model.Request{Head: session.RequestHead{
			Config: session.Params{Model: tt.model, ReasoningEffort: tt.effort}, Tools: []session.ToolSchema{{Name: "f"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s := string(body)
		if !strings.Contains(s, tt.want) || tt.want == "" && (strings.Contains(s, "thinking") || strings.Contains(s, "reasoning")) {
			t.Errorf("%s %s %q: %s", tt.provider, tt.model, tt.effort, s)
		}
	}
}

func TestRefuses(t *testing.T) {
	wiretest.Refuses(t, client(t, model.Config{Provider: "openai", APIKey: "k"}).encode)
}

func TestCatalog(t *testing.T) {
	if i := Lookup("deepseek", "deepseek-v4-flash"); i.Window != 1_000_000 || i.Ref != "deepseek/deepseek-v4-flash" || len(i.Efforts) != 4 {
		t.Errorf("%+v", i)
	}
	if i := Lookup("openai", "gpt-5.1-2025-11-13"); i.Window != 400_000 || i.Ref != "openai/gpt-5.1-2025-11-13" || i.Price == nil {
		t.Errorf("%+v", i)
	}
	if i := Lookup("local", "x"); i.Window != DefaultWindow || i.MaxOutput != 0 || i.Ref != "local/x" {
		t.Errorf("%+v", i)
	}
	n := len(Known("deepseek")) + len(Known("openai"))
	if n != len(table()) {
		t.Errorf("%d models are listed, %d are in the table", n, len(table()))
	}
}
