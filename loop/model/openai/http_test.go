package openai

import (
	"io"
	"iter"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// chat is this wire for the tests that all wires have.
var chat = &wiretest.Wire{
	Provider: "deepseek", KeyName: "DEEPSEEK_API_KEY", Models: []string{"deepseek-v4-flash", "deepseek-v4-pro"},
	New: func(cfg model.Config) (model.Client, error) { return New(cfg) },
	Decode: func(r io.Reader) iter.Seq2[session.Chunk, error] {
		e := &wire.Endpoint{Name: "test", Host: "test"}
		return e.Decode(r, func(y *wire.Yield) wire.Answer { return newTranslator(y, e) })
	},
	Streams: quirks,
	Begun:   sse(deltaEvent(`{"content":"x"}`)), Ended: sse(finish("stop"), done),
	Answer: "text \"x\"\nfinish stop\n",
	Failure: func(message string) string {
		return `{"error":{"message":` + wiretest.Quote(message) + `,"code":"invalid_api_key"}}`
	},
}

// decode reads a body without HTTP.
func decode(body string) wiretest.Result { return chat.Read(strings.NewReader(body)) }

func TestOverHTTP(t *testing.T) {
	for k, v := range map[string]string{
		"OPENAI_API_KEY": "sk-foreign-key", "OPENAI_ORG_ID": "org-foreign", "OPENAI_PROJECT_ID": "proj-foreign",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/foreign", "OPENAI_CUSTOM_HEADERS": "X-Foreign: yes",
	} {
		t.Setenv(k, v)
	}
	chat.OverHTTP(t, model.Config{Provider: "deepseek", APIKey: "sk-own", Headers: map[string]string{"X-Own": "1"}, UserAgent: "acp-agent/0"},
		map[string]string{"": "/chat/completions", "/v1/": "/v1/chat/completions", "/beta/chat/completions?v=1": "/beta/chat/completions?v=1"},
		map[string]string{
			"Authorization": "Bearer sk-own", "Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json",
			"X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "", "Openai-Organization": "", "Openai-Project": "",
		},
		func(c model.Client) []byte { body, _ := c.(*Client).encode(chat.Hello()); return body })
}

func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-foreign-key")
	chat.Keys(t)
	c := client(t, model.Config{Provider: "mine", BaseURL: "https://h/v1/chat/completions/"})
	if c.cfg.KeyName != "" || c.dialect != dialectGeneric {
		t.Errorf("%+v", c.cfg)
	}
}

func TestStatuses(t *testing.T) {
	chat.Statuses(t, []wiretest.Status{
		{"bad key", 401, nil, `{"error":{"message":"Authentication Fails, Your api key: ****1234 is invalid","type":"authentication_error"}}`, model.KindAuth, 0, "DEEPSEEK_API_KEY"},
		{"forbidden", 403, nil, `{"error":"no"}`, model.KindAuth, 0, "acp-agent login"},
		{"no balance", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, model.KindQuota, 0, "Insufficient Balance"},
		{"no balance, by code", 400, nil, `{"error":{"message":"refused","code":"insufficient_balance"}}`, model.KindQuota, 0, "top up"},
		{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, model.KindQuota, 0, "quota"},
		{"no model", 404, nil, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, model.KindNotFound, 0, "does not exist"},
		{"no model, DeepSeek", 400, nil, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, model.KindNotFound, 0, "Model Not Exist"},
		{"overflow", 400, nil, `{"error":{"message":"This model's maximum context length is 1048576 tokens. However, you requested 1052000 tokens","type":"invalid_request_error"}}`, model.KindContextOverflow, 0, "compact"},
		{"overflow by code", 400, nil, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, model.KindContextOverflow, 0, "too long"},
		{"overflow 413", 413, nil, `{"error":{"message":"prompt is too long: 10 > 5"}}`, model.KindContextOverflow, 0, ""},
		{"bad request", 400, nil, `{"error":{"message":"Invalid 'messages[1].content'"}}`, model.KindInvalidRequest, 0, "messages[1]"},
		{"bad request, list", 422, nil, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, model.KindInvalidRequest, 0, "field required"},
		{"overloaded 529", 529, nil, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, model.KindOverloaded, 0, "529"},
		{"array", 400, nil, `[{"error":{"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`, model.KindAuth, 0, "DEEPSEEK_API_KEY"},
	})
}

func TestNoSecrets(t *testing.T)    { chat.NoSecrets(t) }
func TestTransport(t *testing.T)    { chat.Transport(t) }
func TestRedirects(t *testing.T)    { chat.Redirects(t) }
func TestCompressed(t *testing.T)   { chat.Compressed(t) }
func TestReuse(t *testing.T)        { chat.Reuse(t) }
func TestTrace(t *testing.T)        { chat.Trace(t) }
func TestLeave(t *testing.T)        { chat.Leave(t) }
func TestSilence(t *testing.T)      { chat.Silence(t, sse(finish("stop"))) }
func TestSlowConsumer(t *testing.T) { chat.SlowConsumer(t) }
