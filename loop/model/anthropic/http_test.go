package anthropic

import (
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

// messages is this wire for the tests that all wires have.
var messages = &wiretest.Wire{
	Provider: "anthropic", KeyName: "ANTHROPIC_API_KEY", Models: []string{"claude-haiku-4-5", "claude-opus-5-5"},
	New: func(cfg model.Config) (model.Client, error) { return New(cfg) },
	Decode: func(r io.Reader) iter.Seq2[session.Chunk, error] {
		e := &wire.Endpoint{Name: "test", Host: "test"}
		return e.Decode(r, func(y *wire.Yield) wire.Answer { return newAnswer(y, e, &model.Request{}) })
	},
	Streams: quirks,
	Begun:   begun, Ended: rest("end_turn"), Answer: wholeStop,
	Failure: func(message string) string { return fault("authentication_error", message) },
}

func fault(typ, message string) string {
	return `{"type":"error","error":{"type":"` + typ + `","message":` + wiretest.Quote(message) + `},"request_id":"req_1"}`
}

func TestOverHTTP(t *testing.T) {
	for k, v := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-foreign-key", "ANTHROPIC_AUTH_TOKEN": "foreign-token", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/foreign",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Foreign: yes", "ANTHROPIC_PROFILE": "foreign",
	} {
		t.Setenv(k, v)
	}
	messages.OverHTTP(t, model.Config{APIKey: "sk-ant-own", Headers: map[string]string{"X-Own": "1", "Anthropic-Beta": "mine-1, mine-2"}, UserAgent: "acp-agent/0"},
		map[string]string{"": "/v1/messages", "/v1": "/v1/messages", "/v1/messages/": "/v1/messages", "/anthropic?v=1": "/anthropic/v1/messages?v=1"},
		map[string]string{
			"X-Api-Key": "sk-ant-own", "Authorization": "", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "mine-1,mine-2," + betaInterleaved,
			"Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json", "X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "",
		},
		func(c model.Client) []byte {
			body, _, _ := c.(*Client).encode(messages.Hello(), nil, terms{})
			return body
		})
}

func TestKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-foreign-key")
	messages.Keys(t)
	var header http.Header
	url := wiretest.Server(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		io.WriteString(w, answered("end_turn"))
	})
	wiretest.Collect(client(t, model.Config{Provider: "local", BaseURL: url, APIKey: "k", Headers: map[string]string{"authorization": "Bearer own"}}).Stream(t.Context(), messages.Hello()))
	if header["X-Api-Key"] != nil || header.Get("Authorization") != "Bearer own" {
		t.Errorf("%v went out", header)
	}
	wiretest.Collect(client(t, model.Config{Provider: "local", BaseURL: url, APIKey: "token", Bearer: true}).Stream(t.Context(), messages.Hello()))
	if header["X-Api-Key"] != nil || header.Get("Authorization") != "Bearer token" {
		t.Errorf("%v went out", header)
	}
}

func TestStatuses(t *testing.T) {
	messages.Statuses(t, []wiretest.Status{
		{"bad key", 401, nil, fault("authentication_error", "invalid x-api-key"), model.KindAuth, 0, "ANTHROPIC_API_KEY"},
		{"forbidden", 403, nil, fault("permission_error", "Your API key does not have permission"), model.KindAuth, 0, "permission"},
		{"billing", 402, nil, fault("billing_error", "payment"), model.KindQuota, 0, "top up"},
		{"no credit", 400, nil, fault("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.KindQuota, 0, "credit balance"},
		{"spend limit", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`, model.KindQuota, 0, "limit"},
		{"rate", 429, http.Header{"Retry-After": {"7"}}, fault("rate_limit_error", "This request would exceed your rate limit"), model.KindRateLimit, 7 * time.Second, "exceed"},
		{"no model", 404, nil, fault("not_found_error", "model: claude-nope"), model.KindNotFound, 0, "claude-nope"},
		{"too long", 400, nil, fault("invalid_request_error", "prompt is too long: 214005 tokens > 200000 maximum"), model.KindContextOverflow, 0, "compact"},
		{"too long with output", 400, nil, fault("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), model.KindContextOverflow, 0, "190000"},
		{"too large", 413, nil, fault("request_too_large", "Request exceeds the maximum size"), model.KindContextOverflow, 0, "compact"},
		{"bad request", 400, nil, fault("invalid_request_error", "messages.3: `tool_use` ids were found without `tool_result` blocks"), model.KindInvalidRequest, 0, "messages.3"},
		{"time-out", 504, nil, fault("timeout_error", "x"), model.KindTimeout, 0, "504"},
		{"overloaded", 529, http.Header{"Retry-After": {"2"}}, fault("overloaded_error", "Overloaded"), model.KindOverloaded, 2 * time.Second, "529"},
	})
}

// TestRefusedThinking: what a provider refuses for a thinking block it would
// refuse for ever, so the session goes on without them. Other refusals stand.
func TestRefusedThinking(t *testing.T) {
	refuse := "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
	url, got := wiretest.Bodies(t, func(w http.ResponseWriter, _ int, body string) {
		if strings.Contains(body, "SIG") {
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":`+wiretest.Quote(refuse)+`}}`)
			return
		}
		io.WriteString(w, answered("end_turn"))
	})
	c := client(t, model.Config{BaseURL: url, APIKey: "k"})
	req := messages.Hello()
	req.Messages = append(req.Messages, wiretest.Assistant("anthropic", "claude-haiku-4-5", thought("t", "SIG"), session.Text("x")), wiretest.User("go on"))
	for range 2 {
		if s := wiretest.Collect(c.Stream(t.Context(), req)).String(); s != wholeStop {
			t.Fatal(s)
		}
	}
	bodies := *got
	if len(bodies) != 3 || !strings.Contains(bodies[0], "SIG") || strings.Contains(bodies[1], "SIG") || strings.Contains(bodies[2], "SIG") || !strings.Contains(bodies[1], "go on") {
		t.Errorf("%d requests: %s", len(bodies), bodies)
	}
	other := *req
	other.SessionID, *got = "s2", nil
	wiretest.Collect(c.Stream(t.Context(), &other))
	if len(*got) != 2 {
		t.Error("another session was not asked with its thinking")
	}
	*got, refuse = nil, "max_tokens: too large"
	other.SessionID = "s3"
	if r := wiretest.Collect(c.Stream(t.Context(), &other)); r.Err == nil || len(*got) != 1 {
		t.Errorf("%d requests: %v", len(*got), r.Err)
	}
}

// TestPausedTurn: a turn that the provider pauses goes on with its own output,
// blocks that the log does not know included, and is one answer.
func TestPausedTurn(t *testing.T) {
	parts := []string{
		sse(msgStart, textStart, text("I look"), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}}`, `{"type":"content_block_stop","index":2}`,
			stop("pause_turn"), msgStop),
		answered("end_turn"),
	}
	url, got := wiretest.Bodies(t, func(w http.ResponseWriter, n int, _ string) {
		io.WriteString(w, parts[min(n, len(parts))-1])
	})
	r := wiretest.Collect(client(t, model.Config{BaseURL: url, APIKey: "k"}).Stream(t.Context(), messages.Hello()))
	if s := r.String(); s != "text \"I look\"\ntext \"x\"\nusage in=18 out=10 read=0 write=0 reason=0\nfinish stop\n" {
		t.Error(s)
	}
	want := `{"role":"assistant","content":[{"type":"text","text":"I look"},{"id":"srv_1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"},{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}]}]}`
	if len(*got) != 2 || !strings.HasSuffix((*got)[1], want) {
		t.Errorf("%d requests: %s", len(*got), *got)
	}
	*got, parts = nil, parts[:1]
	if r := wiretest.Collect(client(t, model.Config{BaseURL: url, APIKey: "k"}).Stream(t.Context(), messages.Hello())); r.Err != nil || len(*got) != maxPauses+1 {
		t.Errorf("%d requests: %v", len(*got), r.Err)
	}
}

func TestNoSecrets(t *testing.T)    { messages.NoSecrets(t) }
func TestTransport(t *testing.T)    { messages.Transport(t) }
func TestRedirects(t *testing.T)    { messages.Redirects(t) }
func TestCompressed(t *testing.T)   { messages.Compressed(t) }
func TestReuse(t *testing.T)        { messages.Reuse(t) }
func TestTrace(t *testing.T)        { messages.Trace(t) }
func TestLeave(t *testing.T)        { messages.Leave(t) }
func TestSilence(t *testing.T)      { messages.Silence(t, sse(stop("end_turn"))) }
func TestSlowConsumer(t *testing.T) { messages.SlowConsumer(t) }
