package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3"

	"acp-agent/loop/model"
	"acp-agent/session"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func quote(s string) string { return string(session.AppendString(nil, s)) }

func user(texts ...string) session.Message {
	m := session.Message{Role: session.RoleUser}
	for _, s := range texts {
		m.Content = append(m.Content, session.Text(s))
	}
	return m
}

func assistant(provider string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleAssistant, Provider: provider, Content: blocks}
}

func call(id, name, args string) session.Block {
	return session.Block{Type: session.BlockToolCall, ID: id, Name: name, Arguments: args}
}

func reasoning(s string) session.Block {
	return session.Block{Type: session.BlockReasoning, Text: s, Signature: "sig"}
}

func toolResult(id string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: id, Content: blocks}}}
}

var png = session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}

// conversation has one of everything.
func conversation(provider, name string) *model.Request {
	return &model.Request{
		SessionID: "0193-session",
		Head: session.RequestHead{
			Config: session.Params{Provider: provider, Model: name, ReasoningEffort: "high"},
			System: "You are an agent.\n<rules>&</rules>",
			Tools: []session.ToolSchema{
				{Name: "read", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number","maximum":9007199254740993},"a":{"type":"string"}}}`)},
				{Name: "noop", Description: "Does nothing."},
			},
		},
		Messages: []session.Message{
			user("first"), user("second, a message of its own"),
			user("one block", "another block"),
			assistant(provider, reasoning("I think."), session.Text("Reading."), call("c1", "read", `{"a": "x"}`), call("c2", "noop", ``)),
			toolResult("c1", session.Text("line 1\n"), session.Text("line 2")),
			toolResult("c2"),
			user("<steering>do</steering> it"),
			assistant("anthropic", reasoning("Sealed elsewhere."), call("c3", "read", `{"a": "x`)),
			toolResult("c3", session.Text("invalid arguments"), png),
			assistant(provider, reasoning(""), call("c4", "noop", `[]`)),
			toolResult("c4", session.Text("")),
			assistant(provider, reasoning("Done thinking."), session.Text("Done.")),
			user("look"),
			{Role: session.RoleUser, Content: []session.Block{
				session.Text("See"), png,
				{Type: session.BlockResourceLink, URI: "file:///w/a%20b.txt#L3-5", Name: "a b.txt", Description: "notes"},
				{Type: session.BlockResource, URI: "file:///w/c.txt", MimeType: "text/plain", Text: "  verbatim\n"},
				{Type: session.BlockResource, URI: "file:///w/d.bin", MimeType: "application/octet-stream", Data: "AAEC"},
				{Type: session.BlockAudio, MimeType: "audio/wav", Data: "AAEC"},
			}},
		},
	}
}

func TestRequestGolden(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		req  *model.Request
	}{
		{"deepseek", Config{Provider: "deepseek", APIKey: "k"}, conversation("deepseek", "deepseek-v4-pro")},
		{"deepseek-images", Config{Provider: "deepseek", APIKey: "k"}, conversation("deepseek", "deepseek-flash")},
		{"openai", Config{Provider: "openai", APIKey: "k"}, conversation("openai", "gpt-5.1-2025-11-13")},
		{"generic", Config{Provider: "local", BaseURL: "http://localhost:8000/v1", MaxTokens: 1000}, conversation("local", "some/model")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.cfg)
			body, err := c.encode(tt.req)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := c.encode(tt.req)
			if !bytes.Equal(body, again) {
				t.Error("two writings differ")
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, body, "", "  "); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			pretty.WriteByte('\n')
			file := filepath.Join("testdata", tt.name+".json")
			if *update {
				if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
				t.Errorf("-want +got (run with -update if it is meant):\n%s", diff)
			}
			// The SDK's own types must understand it.
			var params sdk.ChatCompletionNewParams
			if err := json.Unmarshal(body, &params); err != nil {
				t.Errorf("the SDK cannot read the request: %v", err)
			}
			if len(params.Messages) == 0 || len(params.Tools) != 2 {
				t.Errorf("the SDK reads %d messages and %d tools", len(params.Messages), len(params.Tools))
			}
		})
	}
}

// TestPrefixIsStable: what was sent stays the same bytes when more follows, as
// providers cache by prefix.
func TestPrefixIsStable(t *testing.T) {
	for _, cfg := range []Config{{Provider: "deepseek", APIKey: "k"}, {Provider: "openai", APIKey: "k"}} {
		c := client(t, cfg)
		full := conversation(cfg.Provider, "m")
		whole, _ := c.encode(full)
		for n := range full.Messages {
			// Images of results go after the batch, so a cut before its end is
			// not a request that was ever sent.
			if full.Messages[n].Role == session.RoleTool {
				continue
			}
			part := *full
			part.Messages = full.Messages[:n]
			body, err := c.encode(&part)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(whole, bytes.TrimSuffix(body, []byte(`]}`))) {
				t.Errorf("%s: the request of %d messages is no prefix", cfg.Provider, n)
			}
		}
	}
}

func TestVerbatim(t *testing.T) {
	texts := []string{
		"", " ", "\n\n lead and trail \t\r\n", "<steering source=\"x\">obey</steering>", "a & b < c > d", "\u2028\u2029\ufeff",
		"😀 👩‍👩‍👧 e\u0301", "\x00\x01\x1f", `"quoted" \back\slash {"json":1}`, "{{fromRequest:x}}", strings.Repeat("0123456789abcde\n", 1<<16),
	}
	for _, provider := range []string{"deepseek", "openai"} {
		c := client(t, Config{Provider: provider, APIKey: "k"})
		for _, text := range texts {
			req := &model.Request{
				Head:     session.RequestHead{Config: session.Params{Model: "m"}, System: text},
				Messages: []session.Message{user(text), user(text, text), assistant(provider, session.Text(text)), toolResult("c", session.Text(text))},
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
		{"call with reasoning", "deepseek", "", assistant("deepseek", reasoning("r"), call("c", "f", "{}")), `"reasoning_content":"r"`},
		{"call with empty reasoning", "deepseek", "", assistant("deepseek", reasoning(""), call("c", "f", "{}")), `"reasoning_content":""`},
		{"answer with reasoning", "deepseek", "", assistant("deepseek", reasoning("r"), session.Text("t")), `"reasoning_content":"r"`},
		{"reference's provider name", "deepseek", "", assistant("deepseek-official", reasoning("r"), call("c", "f", "{}")), `"reasoning_content":"r"`},
		{"call without reasoning", "deepseek", "", assistant("deepseek", call("c", "f", "{}")), `"reasoning_content":""`},
		{"foreign call", "deepseek", "high", assistant("anthropic", reasoning("secret"), call("c", "f", "{}")), `"reasoning_content":""`},
		{"foreign call, thinking off", "deepseek", "off", assistant("anthropic", reasoning("secret"), call("c", "f", "{}")), ""},
		{"foreign answer", "deepseek", "", assistant("anthropic", reasoning("secret"), session.Text("t")), ""},
		{"OpenAI refuses it", "openai", "", assistant("openai", reasoning("secret"), call("c", "f", "{}")), ""},
	}
	for _, tt := range tests {
		c := client(t, Config{Provider: tt.provider, APIKey: "k"})
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
		c := client(t, Config{Provider: tt.provider, APIKey: "k", BaseURL: base})
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

func TestEncodeRefuses(t *testing.T) {
	c := client(t, Config{Provider: "openai", APIKey: "k"})
	for name, req := range map[string]*model.Request{
		"no model":   {},
		"bad schema": {Head: session.RequestHead{Config: session.Params{Model: "m"}, Tools: []session.ToolSchema{{Name: "f", Parameters: json.RawMessage(`{`)}}}},
		"bad role":   {Head: session.RequestHead{Config: session.Params{Model: "m"}}, Messages: []session.Message{{Role: "system"}}},
	} {
		if _, err := c.encode(req); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
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
