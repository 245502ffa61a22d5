package responses

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/openai/openai-go/v3/responses"

	"acp-agent/loop/model"
	"acp-agent/session"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func user(texts ...string) session.Message {
	m := session.Message{Role: session.RoleUser}
	for _, s := range texts {
		m.Content = append(m.Content, session.Text(s))
	}
	return m
}

func assistant(provider, name string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleAssistant, Provider: provider, Model: name, Content: blocks}
}

func call(id, name, args string) session.Block {
	return session.Block{Type: session.BlockToolCall, ID: id, Name: name, Arguments: args}
}

// sealed is reasoning as this wire gives it.
func sealed(text, id, data string) session.Block {
	return session.Block{Type: session.BlockReasoning, Text: text, Signature: id, Redacted: data}
}

func toolResult(id string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: id, Content: blocks}}}
}

var png = session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}

const steering = "<steering source=\"hook\">\n  Don't stop.\u2028 Run & check </steering>\n\n"

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
			user("first"), user("second, a message of its own"), user("one block", "another block"),
			assistant(provider, name, sealed("I think.", "rs_1", "gAAA+/="), session.Text("Reading."),
				call("call_1", "read", `{"a": "x", "n":9007199254740993}`), call("call_2", "noop", ``)),
			toolResult("call_1", session.Text("line 1\n"), session.Text("line 2")),
			user("context of the first result"),
			toolResult("call_2"),
			user(steering), user(" \n\t"),
			assistant("anthropic", "claude-opus-5-5", session.Block{Type: session.BlockReasoning, Text: "Sealed elsewhere.", Signature: "sig"}, call(strings.Repeat("functions.read:0", 9), "a.b", `{"a": "x`)),
			toolResult(strings.Repeat("functions.read:0", 9), session.Text("")),
			assistant(provider, name, sealed("", "rs_2", "gBBB"), call("call_3", "read", `{"a":"😀"}`)),
			toolResult("call_3", session.Text("ok"), png),
			assistant(provider, name, sealed("cut before it said anything", "rs_3", "gCCC")),
			user("again, 😀 👩‍👩‍👧"),
			assistant(provider, name, sealed("Done thinking.", "rs_4", "gDDD"), session.Text("Done.")),
			{Role: session.RoleUser, Content: []session.Block{
				session.Text("See"), png,
				{Type: session.BlockResourceLink, URI: "file:///w/a%20b.txt#L3-5", Name: "a b.txt", Description: "notes"},
				{Type: session.BlockResource, URI: "file:///w/c.txt", MimeType: "text/plain", Text: "  verbatim\n"},
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
		{"openai", Config{APIKey: "k"}, conversation("openai", "gpt-5.5")},
		{"gpt-4.1", Config{APIKey: "k", MaxTokens: 1000}, conversation("openai", "gpt-4.1")},
		{"gateway", Config{Provider: "gate", BaseURL: "http://localhost:8000/v1", Info: &model.Info{Images: true}}, conversation("gate", "some/model")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, tt.cfg)
			body, err := c.encode(tt.req, without{})
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := c.encode(tt.req, without{}); !bytes.Equal(body, again) {
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
			var params sdk.ResponseNewParams
			if err := json.Unmarshal(body, &params); err != nil {
				t.Errorf("the SDK cannot read the request: %v", err)
			}
			if len(params.Input.OfInputItemList) < 15 || len(params.Tools) != 2 || params.Store.Value {
				t.Errorf("the SDK reads %d items and %d tools", len(params.Input.OfInputItemList), len(params.Tools))
			}
		})
	}
}

// TestPrefixIsStable: what was sent stays the same bytes when more follows, as
// providers cache by prefix.
func TestPrefixIsStable(t *testing.T) {
	for _, cfg := range []Config{{APIKey: "k"}, {Provider: "gate", BaseURL: "http://h/v1", Info: &model.Info{Images: true}}} {
		c := client(t, cfg)
		full := conversation(c.cfg.Provider, "gpt-5.5")
		whole, _ := c.encode(full, without{})
		for n := range full.Messages {
			if full.Messages[n].Role != session.RoleAssistant {
				continue // a request ends before an answer
			}
			part := *full
			part.Messages = full.Messages[:n]
			body, err := c.encode(&part, without{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(whole, bytes.TrimSuffix(body, []byte(`]}`))) {
				t.Errorf("%s: the request of %d messages is no prefix", c.cfg.Provider, n)
			}
		}
	}
}

func TestVerbatim(t *testing.T) {
	texts := []string{
		" ", "\n\n lead and trail \t\r\n", steering, "a & b < c > d", "\u2028\u2029\ufeff", "😀 👩‍👩‍👧 e\u0301", "\x00\x01\x1f",
		`"quoted" \back\slash {"json":1}`, "{{fromRequest:x}}", strings.Repeat("0123456789abcde\n", 1<<16),
	}
	c := client(t, Config{APIKey: "k"})
	for _, s := range texts {
		body, err := c.encode(&model.Request{
			Head: session.RequestHead{Config: session.Params{Model: "gpt-5.5"}, System: s},
			Messages: []session.Message{
				user(s), user(s, s), assistant("openai", "gpt-5.5", sealed(s, s, s), session.Text(s), call("c", "f", "{}")),
				toolResult("c", session.Text(s)), user(s),
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
		{"own", "openai", "gpt-5.5", assistant("openai", "gpt-5.5", sealed("t", "rs", "SEALED"), answer), true},
		{"own, other model", "openai", "gpt-5.5", assistant("openai", "gpt-5.2", sealed("t", "rs", "SEALED"), answer), true},
		{"own, without an id", "openai", "gpt-5.5", assistant("openai", "gpt-5.5", sealed("", "", "SEALED"), answer), true},
		{"not sealed", "openai", "gpt-5.5", assistant("openai", "gpt-5.5", sealed("SEALED", "rs", ""), answer), false},
		{"Anthropic's", "openai", "gpt-5.5", assistant("anthropic", "claude-opus-5-5", session.Block{Type: session.BlockReasoning, Redacted: "SEALED"}, answer), false},
		{"DeepSeek's", "openai", "gpt-5.5", assistant("deepseek", "deepseek-v4-pro", session.Block{Type: session.BlockReasoning, Text: "SEALED"}, answer), false},
		{"last of its message", "openai", "gpt-5.5", assistant("openai", "gpt-5.5", answer, sealed("t", "rs", "SEALED")), false},
		{"a gateway's same model", "gate", "m", assistant("gate", "m", sealed("t", "rs", "SEALED"), answer), true},
		{"a gateway's other model", "gate", "m", assistant("gate", "n", sealed("t", "rs", "SEALED"), answer), false},
	}
	for _, tt := range tests {
		cfg := Config{Provider: tt.client, APIKey: "k"}
		if tt.client != "openai" {
			cfg.BaseURL = "https://h/v1"
		}
		body, err := client(t, cfg).encode(&model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: tt.model}},
			Messages: []session.Message{user("u"), tt.message, user("v")},
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
		cfg := Config{Provider: tt.provider, APIKey: "k"}
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

func TestEncodeRefuses(t *testing.T) {
	c := client(t, Config{APIKey: "k"})
	for name, req := range map[string]*model.Request{
		"no model":   {},
		"bad schema": {Head: session.RequestHead{Config: session.Params{Model: "m"}, Tools: []session.ToolSchema{{Name: "f", Parameters: json.RawMessage(`{`)}}}},
		"bad role":   {Head: session.RequestHead{Config: session.Params{Model: "m"}}, Messages: []session.Message{{Role: "system"}}},
	} {
		if _, err := c.encode(req, without{}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
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
