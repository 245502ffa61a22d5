package responses

import (
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// openai is this wire for the tests that all wires have.
var openai = &wiretest.Wire{
	Provider: "openai", KeyName: "OPENAI_API_KEY", Models: []string{"gpt-5.5", "gpt-4.1"},
	New: func(cfg model.Config) (model.Client, error) { return New(cfg) },
	Decode: func(r io.Reader) iter.Seq2[session.Chunk, error] {
		e := &wire.Endpoint{Name: "test", Host: "test"}
		return e.Decode(r, func(y *wire.Yield) wire.Answer { return newAnswer(y, e) })
	},
	Streams: quirks,
	Begun:   begun, Ended: rest, Answer: wholeStop,
	Failure: func(message string) string {
		return `{"error":{"code":"invalid_api_key","message":` + wiretest.Quote(message) + `}}`
	},
}

func TestOverHTTP(t *testing.T) {
	for k, v := range map[string]string{
		"OPENAI_API_KEY": "sk-foreign-key", "OPENAI_ORG_ID": "org-foreign", "OPENAI_PROJECT_ID": "proj-foreign",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/foreign", "OPENAI_CUSTOM_HEADERS": "X-Foreign: yes",
	} {
		t.Setenv(k, v)
	}
	openai.OverHTTP(t, model.Config{APIKey: "sk-own", Headers: map[string]string{"X-Own": "1"}, UserAgent: "acp-agent/0"},
		map[string]string{"": "/responses", "/v1/": "/v1/responses", "/v1/responses?v=1": "/v1/responses?v=1"},
		map[string]string{
			"Authorization": "Bearer sk-own", "Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json",
			"X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "", "Openai-Organization": "", "Openai-Project": "",
		},
		func(c model.Client) []byte { body, _ := c.(*Client).encode(openai.Hello(), without{}); return body })
}

func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-foreign-key")
	openai.Keys(t)
}

func TestStatuses(t *testing.T) {
	openai.Statuses(t, []wiretest.Status{
		{"bad key", 401, nil, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, model.KindAuth, 0, "OPENAI_API_KEY"},
		{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, model.KindQuota, 0, "quota"},
		{"no model", 404, nil, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, model.KindNotFound, 0, "does not exist"},
		{"overflow", 400, nil, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`, model.KindContextOverflow, 0, "compact"},
		{"bad request", 400, nil, `{"error":{"message":"Invalid 'input[3].call_id'"}}`, model.KindInvalidRequest, 0, "input[3]"},
	})
}

// TestRefusedParts: what a provider refuses for sealed reasoning or for summaries
// it would refuse for ever, so the session goes on without. Other refusals stand.
func TestRefusedParts(t *testing.T) {
	other := ""
	url, got := wiretest.Bodies(t, func(w http.ResponseWriter, _ int, body string) {
		refuse := other
		switch {
		case strings.Contains(body, `"summary":"auto"`):
			refuse = "Your organization must be verified to generate reasoning summaries."
		case strings.Contains(body, "SEALED"):
			refuse = "The encrypted content for item rs_1 could not be verified."
		}
		if refuse != "" {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"type":"invalid_request_error","message":`+wiretest.Quote(refuse)+`}}`)
			return
		}
		io.WriteString(w, answered())
	})
	c := client(t, model.Config{BaseURL: url, APIKey: "k"})
	req := openai.Hello()
	req.Messages = append(req.Messages, wiretest.Assistant("openai", "gpt-5.5", wiretest.Reasoning("t", "rs_1", "SEALED"), session.Text("x")), wiretest.User("go on"))
	for range 2 {
		if s := wiretest.Collect(c.Stream(t.Context(), req)).String(); s != wholeStop {
			t.Fatal(s)
		}
	}
	bodies := *got
	if len(bodies) != 4 || strings.Contains(bodies[3], "SEALED") || !strings.Contains(bodies[3], "go on") || !strings.Contains(bodies[3], `"effort":"low"`) {
		t.Errorf("%d requests: %s", len(bodies), bodies)
	}
	*got, other = nil, "temperature is not supported"
	if r := wiretest.Collect(c.Stream(t.Context(), req)); r.Err == nil || len(*got) != 1 {
		t.Errorf("%d requests: %v", len(*got), r.Err)
	}
}

// TestRefusedMembers: what a model or a server does not have is left out, for that
// model alone.
func TestRefusedMembers(t *testing.T) {
	for _, tt := range []struct{ member, refusal string }{
		{`"include"`, `{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`},
		{`"include"`, `{"detail":[{"type":"extra_forbidden","loc":["body","include"],"msg":"Extra inputs are not permitted"}]}`},
		{`"effort"`, `{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.","param":"reasoning.effort"}}`},
		{`"max_output_tokens"`, `{"error":{"message":"Invalid value: max_output_tokens must be at most 4096"}}`},
	} {
		url, got := wiretest.Bodies(t, func(w http.ResponseWriter, _ int, body string) {
			if strings.Contains(body, tt.member) {
				w.WriteHeader(400)
				io.WriteString(w, tt.refusal)
				return
			}
			io.WriteString(w, answered())
		})
		c := client(t, model.Config{Provider: "local", BaseURL: url, MaxTokens: 9000})
		req := openai.Hello()
		for range 2 {
			if s := wiretest.Collect(c.Stream(t.Context(), req)).String(); s != wholeStop {
				t.Fatal(s)
			}
		}
		req.Head.Config.Model = "other"
		wiretest.Collect(c.Stream(t.Context(), req))
		var with []bool
		for _, body := range *got {
			with = append(with, strings.Contains(body, tt.member))
		}
		if want := []bool{true, false, false, true, false}; !slices.Equal(with, want) {
			t.Errorf("%s was sent in %v, want %v", tt.member, with, want)
		}
	}
}

func TestNoSecrets(t *testing.T)    { openai.NoSecrets(t) }
func TestTransport(t *testing.T)    { openai.Transport(t) }
func TestRedirects(t *testing.T)    { openai.Redirects(t) }
func TestCompressed(t *testing.T)   { openai.Compressed(t) }
func TestReuse(t *testing.T)        { openai.Reuse(t) }
func TestTrace(t *testing.T)        { openai.Trace(t) }
func TestLeave(t *testing.T)        { openai.Leave(t) }
func TestSilence(t *testing.T)      { openai.Silence(t, "") }
func TestSlowConsumer(t *testing.T) { openai.SlowConsumer(t) }
