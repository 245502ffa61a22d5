package openai

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// blocks are those that an answer's stream makes.
func blocks(t *testing.T, events ...string) []session.Block {
	t.Helper()
	var a session.Assembler
	for c, err := range chat.Decode(strings.NewReader(sse(events...))) {
		if err != nil {
			t.Fatal(err)
		}
		a.Add(&c)
	}
	return a.Blocks(true)
}

// TestSealedGoesBack holds that what a provider sealed goes back to the same model
// as it came, and to no other.
func TestSealedGoesBack(t *testing.T) {
	const end = done
	tests := []struct {
		name   string
		events []string
		want   []string
	}{
		{
			"Gemini's own endpoint",
			[]string{toolDelta(`"index":0,"id":"function-call-1","type":"function","extra_content":{"google":{"thought_signature":"CsEB<a>=="}},"function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), end},
			[]string{`"function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"CsEB<a>=="}}}`},
		},
		{
			"LiteLLM",
			[]string{toolDelta(`"index":0,"id":"call_1__thought__` + strings.Repeat("Q", 4000) + `","provider_specific_fields":{"thought_signature":"CsE"},"extra_content":null,"function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), end},
			[]string{`"provider_specific_fields":{"thought_signature":"CsE"}`, `"id":"call_1__thought__` + strings.Repeat("Q", 4000) + `"`, `"tool_call_id":"call_1__thought__` + strings.Repeat("Q", 4000) + `"`},
		},
		{
			"OpenRouter, Claude",
			[]string{
				deltaEvent(`{"role":"assistant","content":"","reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","format":"anthropic-claude-v1","index":0}]}`),
				deltaEvent(`{"content":"","reasoning":" me","reasoning_details":[{"type":"reasoning.text","text":" me <think>","signature":null,"format":"anthropic-claude-v1","index":0}]}`),
				deltaEvent(`{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"Et8B","format":"anthropic-claude-v1","index":0}]}`),
				toolDelta(`"index":0,"id":"c","function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), end,
			},
			[]string{`"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Et8B","text":"Let me <think>","type":"reasoning.text"}]`},
		},
		{
			"OpenRouter, Gemini",
			[]string{
				deltaEvent(`{"content":"","reasoning_details":[{"type":"reasoning.summary","summary":"Plan","format":"google-gemini-v1","index":0},{"type":"reasoning.encrypted","data":"AbC=","id":"tool_f_1","format":"google-gemini-v1","index":1}],"tool_calls":[{"index":0,"id":"tool_f_1","function":{"name":"f","arguments":"{}"}}]}`), finish("tool_calls"), end,
			},
			[]string{`"reasoning_details":[{"format":"google-gemini-v1","index":0,"summary":"Plan","type":"reasoning.summary"},{"data":"AbC=","format":"google-gemini-v1","id":"tool_f_1","index":1,"type":"reasoning.encrypted"}]`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said := blocks(t, tt.events...)
			last := said[len(said)-1]
			req := func(provider, name string) string {
				body, err := client(t, model.Config{Provider: "local", BaseURL: "http://h/v1"}).encode(&model.Request{
					Head: session.RequestHead{Config: session.Params{Model: name}},
					Messages: []session.Message{
						wiretest.User("q"), wiretest.Assistant(provider, "m", said...), wiretest.ToolResult(last.ID, session.Text("r")),
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				return string(body)
			}
			for _, want := range tt.want {
				if got := req("local", "m"); !strings.Contains(got, want) {
					t.Errorf("the request is\n%s\nwithout\n%s", got, want)
				}
			}
			for _, other := range []string{req("local", "other"), req("elsewhere", "m")} {
				for _, no := range []string{"extra_content", "provider_specific", "reasoning_details", "thought_signature", strings.Repeat("Q", 100)} {
					if strings.Contains(other, no) {
						t.Errorf("another model is sent %s:\n%.400s", no, other)
					}
				}
			}
		})
	}
}

// TestReasoningIsShownOnce: the details say what the reasoning field says.
func TestReasoningIsShownOnce(t *testing.T) {
	got := blocks(t, deltaEvent(`{"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.text","text":"b","index":0}]}`),
		deltaEvent(`{"reasoning_details":[{"type":"reasoning.text","text":"c","index":0},{"type":"reasoning.summary","summary":"d","index":1}]}`), deltaEvent(`{"content":"x"}`), finish("stop"), done)
	if len(got) != 2 || got[0].Text != "abcd" {
		t.Errorf("got %+v", got)
	}
}

// TestTerms holds that a refusal that the next request can heed is heeded, for the
// requests that follow as well, and that any other is not sent twice.
func TestTerms(t *testing.T) {
	history := []session.Message{
		wiretest.User("q1", "q2"), wiretest.User("q"), wiretest.Assistant("local", "kimi-x", wiretest.Reasoning("thought", "", ""), wiretest.Call("call_1", "f", "{}")),
		wiretest.ToolResult("call_1", session.Text("r")), wiretest.User("hook"), wiretest.User("hook 2"),
	}
	tests := []struct {
		name, model   string
		dialect       dialect
		status        int
		refusal       string
		before, after string // what is there before the refusal and not after it, and the other way round
	}{
		{"stream_options", "m", "", 422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, `"stream_options"`, ""},
		{"prompt_cache_key", "m", dialectOpenAI, 400, `{"error":{"message":"property 'prompt_cache_key' is unsupported"}}`, `"prompt_cache_key"`, ""},
		{"max_tokens' other name", "m", "", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`, `"max_tokens":9`, `"max_completion_tokens":9`},
		{"max_completion_tokens' other name", "m", dialectOpenAI, 422, `{"message":{"detail":[{"loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted, did you mean max_tokens?"}]}}`, `"max_completion_tokens":9`, `"max_tokens":9`},
		{"too many max_tokens", "m", "", 400, `{"error":{"message":"Range of max_tokens should be [1, 8]"}}`, `"max_tokens":9`, ""},
		{"no room for max_tokens", "m", "", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 9. This model's maximum context length is 8 tokens and your request has 1 input tokens"}}`, `"max_tokens":9`, ""},
		{"Gemini's results", "m", "", 400, `[{"error":{"code":400,"message":"* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n","status":"INVALID_ARGUMENT"}}]`, "", `"tool_call_id":"call_1","name":"f"`},
		{"Bedrock's content", "m", "", 400, `{"error":{"message":"messages: text content blocks must be non-empty"}}`, `"role":"assistant","content":""`, `"role":"assistant","content":null`},
		{
			"Mistral's order", "m", "", 400, `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}`, `{"role":"user","content":"hook"}`,
			`"tool_call_id":"call_1"},{"role":"assistant","content":"(no answer)"},{"role":"user","content":[{"type":"text","text":"hook"},{"type":"text","text":"hook 2"}]}]}`,
		},
		{"a template's order", "m", "", 500, `{"error":{"code":500,"message":"\n---\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."}}`, `{"role":"user","content":"q"},`, `[{"role":"user","content":[{"type":"text","text":"q1"},{"type":"text","text":"q2"},{"type":"text","text":"q"}]},{"role":"assistant"`},
		{"a refusal in a stream", "m", "", 200, "event: error\ndata: {\"error\":{\"message\":\"Error rendering prompt with jinja template: Conversation roles must alternate user/assistant/user/assistant/...\"}}\n\n", `{"role":"user","content":"hook"}`, `{"type":"text","text":"hook 2"}]}]}`},
		{"DeepSeek's thinking elsewhere", "deepseek-x", dialectDeepSeek, 422, `{"detail":[{"type":"extra_forbidden","loc":["body","thinking"],"msg":"Extra inputs are not permitted"}]}`, `"thinking":{"type":"enabled"}`, ""},
		{"DeepSeek's reasoning elsewhere", "deepseek-x", dialectDeepSeek, 400, `{"message":"messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported"}`, `"reasoning_content":"thought"`, ""},
		{"a server without parts", "m", "", 400, `{"error":{"message":"'messages.0.content' : value must be a string"}}`, `"content":[{"type":"text","text":"q1"},{"type":"text","text":"q2"}]`, `{"role":"user","content":"q1"},{"role":"user","content":"q2"},{"role":"user","content":"q"},`},
		{"an unnamed refusal", "kimi-x", "", 400, `{"error":{"message":"Bad request"}}`, `"reasoning_content":"thought"`, ""},
		{"an effort", "m", "", 400, `{"error":{"message":"property 'reasoning_effort' is unsupported, did you mean 'reasoning_format'?"}}`, `"reasoning_effort":"high"`, ""},
		{"Ollama's", "m", "", 400, `{"error":{"message":"\"m\" does not support thinking"}}`, `"reasoning_effort":"high"`, ""},
		{"the highest effort", "max", "", 400, "{\"error\":{\"message\":\"`reasoning_effort` must be one of `low`, `medium`, `high`\"}}", `"reasoning_effort":"max"`, `"reasoning_effort":"high"`},
		{"Mistral's ids", "m", "", 400, `{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}`, `"tool_call_id":"call_1"`, `"tool_call_id":"` + shortID("call_1") + `"`},
		{"Mistral's ids as a fault", "m", "", 500, `{"error":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9"}`, `"id":"call_1"`, `"id":"` + shortID("call_1") + `"`},
		{"Moonshot's reasoning", "m", "", 400, `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`, "", `"reasoning_content":" "`},
		{"DeepSeek's, at a gateway", "m", "", 400, "{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\"}}", "", `"reasoning_content":" "`},
		{"Groq's Kimi", "kimi-x", "", 400, `{"error":{"message":"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"}}`, `"reasoning_content":"thought"`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			has := func(body, what string) bool { return what != "" && strings.Contains(body, what) }
			url, got := wiretest.Bodies(t, func(w http.ResponseWriter, n int, body string) {
				if n == 1 {
					w.WriteHeader(tt.status)
					_, _ = io.WriteString(w, tt.refusal)
					return
				}
				_, _ = io.WriteString(w, chat.Begun+chat.Ended)
			})
			c := speaking(t, tt.dialect, model.Config{Provider: "local", BaseURL: url, MaxTokens: 9})
			effort := "high"
			if tt.model == "max" {
				effort = "max"
			}
			req := &model.Request{SessionID: "s", Head: session.RequestHead{Config: session.Params{Model: tt.model, ReasoningEffort: effort}}, Messages: history}
			for range 2 {
				if r := wiretest.Collect(c.Stream(t.Context(), req)); r.Err != nil || r.Text() != "x" {
					t.Fatal(r)
				}
			}
			if len(*got) != 3 {
				t.Fatalf("%d requests", len(*got))
			}
			if tt.before != "" && !has((*got)[0], tt.before) {
				t.Errorf("the first was without %s: %s", tt.before, (*got)[0])
			}
			for _, body := range (*got)[1:] {
				if tt.after != "" && !has(body, tt.after) || has(body, tt.before) {
					t.Errorf("then it was %s", body)
				}
			}
			again := speaking(t, tt.dialect, model.Config{Provider: "local", BaseURL: wiretest.Server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.refusal)
			}), MaxTokens: 9})
			if r := wiretest.Collect(again.Stream(t.Context(), req)); r.Err == nil {
				t.Error("a refusal that stays is no failure")
			}
		})
	}
}

// TestNothingIsJoined: a server that takes neither parts nor two messages of a user
// in a row is still given each text as it is.
func TestNothingIsJoined(t *testing.T) {
	c := client(t, model.Config{Provider: "local", BaseURL: "http://127.0.0.1:1"})
	req := &model.Request{
		Head:     session.RequestHead{Config: session.Params{Model: "m"}},
		Messages: []session.Message{wiretest.User("a", "b"), wiretest.User("c"), wiretest.Assistant("local", "m", session.Text("x")), wiretest.User(" d\n")},
	}
	body, err := c.write(req, flat|alternate, new(written))
	if err != nil {
		t.Fatal(err)
	}
	const none = `{"role":"assistant","content":"(no answer)"},`
	want := `[{"role":"user","content":"a"},` + none + `{"role":"user","content":"b"},` + none + `{"role":"user","content":"c"},{"role":"assistant","content":"x"},{"role":"user","content":" d\n"}]}`
	if got := string(bytes.Join(body, nil)); !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// TestSaysNothing: a message of reasoning alone is no message on this wire.
func TestSaysNothing(t *testing.T) {
	for _, provider := range []string{"deepseek", "openai"} {
		c := client(t, model.Config{Provider: provider, APIKey: "k"})
		body, err := c.encode(&model.Request{
			Head:     session.RequestHead{Config: session.Params{Model: "m"}},
			Messages: []session.Message{said(provider, thought("r")), wiretest.User("q"), said(provider, thought("r")), wiretest.User("q")},
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := `"messages":[{"role":"user","content":"q"},{"role":"user","content":"q"}]}`; !strings.HasSuffix(string(body), want) {
			t.Errorf("%s is sent %s", provider, body)
		}
	}
}

// TestPartsAreOpenAIsOwn: a server that says that it is compatible takes strings.
func TestPartsAreOpenAIsOwn(t *testing.T) {
	for base, want := range map[string]string{
		"": `{"role":"tool","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "http://h/v1": `{"role":"tool","content":"a\nb"`,
	} {
		c := client(t, model.Config{Provider: "openai", BaseURL: base, APIKey: "k"})
		body, err := c.encode(&model.Request{Head: session.RequestHead{Config: session.Params{Model: "m"}}, Messages: []session.Message{
			wiretest.User("q"), said("openai", wiretest.Call("c", "f", "{}")), wiretest.ToolResult("c", session.Text("a"), session.Text("b")),
		}})
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, %v", base, body, err)
		}
	}
}
