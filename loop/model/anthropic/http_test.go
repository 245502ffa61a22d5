package anthropic

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// server answers every request with what handle writes.
func server(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func hello() *model.Request {
	return &model.Request{
		SessionID: "s1",
		Head:      session.RequestHead{Config: session.Params{Provider: "anthropic", Model: "claude-haiku-4-5", ReasoningEffort: "low"}},
		Messages:  []session.Message{user("hi")},
	}
}

func TestOverHTTP(t *testing.T) {
	// What a person has set for other programs must not leak into requests.
	for k, v := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-foreign-key", "ANTHROPIC_AUTH_TOKEN": "foreign-token", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/foreign",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Foreign: yes", "ANTHROPIC_PROFILE": "foreign",
	} {
		t.Setenv(k, v)
	}
	var got *http.Request
	var body []byte
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, answered("end_turn"))
	})
	for base, path := range map[string]string{"": "/v1/messages", "/v1": "/v1/messages", "/v1/messages/": "/v1/messages", "/anthropic?v=1": "/anthropic/v1/messages?v=1"} {
		c := client(t, Config{BaseURL: url + base, APIKey: "sk-ant-own", Headers: map[string]string{"X-Own": "1", "Anthropic-Beta": "mine-1, mine-2"}, UserAgent: "acp-agent/0"})
		if s := collect(c.Stream(t.Context(), hello())).String(); s != wholeStop {
			t.Fatal(s)
		}
		if got.URL.String() != path || got.Method != "POST" || got.ContentLength != int64(len(body)) {
			t.Errorf("%s %s", got.Method, got.URL)
		}
		for k, want := range map[string]string{
			"X-Api-Key": "sk-ant-own", "Authorization": "", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "mine-1,mine-2," + betaInterleaved,
			"Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json", "X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "",
		} {
			if v := strings.Join(got.Header[k], ","); v != want {
				t.Errorf("%s is %q, want %q", k, v, want)
			}
		}
		if want, _, _ := c.encode(hello(), nil, false); !bytes.Equal(want, body) {
			t.Errorf("the body sent is not the body written:\n%s\n%s", want, body)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-ant-foreign-key")
	var header http.Header
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		io.WriteString(w, answered("end_turn"))
	})
	if s := collect(client(t, Config{Provider: "local", BaseURL: url}).Stream(t.Context(), hello())).String(); s != wholeStop {
		t.Fatal(s)
	}
	if header["X-Api-Key"] != nil || header["Authorization"] != nil {
		t.Errorf("%v went out", header)
	}
	collect(client(t, Config{Provider: "local", BaseURL: url, APIKey: "k", Headers: map[string]string{"authorization": "Bearer own"}}).Stream(t.Context(), hello()))
	if header["X-Api-Key"] != nil || header.Get("Authorization") != "Bearer own" {
		t.Errorf("%v went out", header)
	}
	r := collect(client(t, Config{}).Stream(t.Context(), hello()))
	var e *model.Error
	if !errors.As(r.err, &e) || e.Kind != model.KindAuth || !strings.Contains(e.Message, "ANTHROPIC_API_KEY") {
		t.Errorf("without a key: %v", r.err)
	}
	for _, cfg := range []Config{{Provider: "mine"}, {BaseURL: "ftp://x"}, {BaseURL: "://"}, {BaseURL: "api.example.com"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func TestStatusErrors(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	fault := func(typ, message string) string {
		return `{"type":"error","error":{"type":"` + typ + `","message":` + string(session.AppendString(nil, message)) + `},"request_id":"req_1"}`
	}
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		kind   model.Kind
		after  time.Duration
		says   string
	}{
		{"bad key", 401, nil, fault("authentication_error", "invalid x-api-key"), model.KindAuth, 0, "ANTHROPIC_API_KEY"},
		{"forbidden", 403, nil, fault("permission_error", "Your API key does not have permission"), model.KindAuth, 0, "permission"},
		{"billing", 402, nil, fault("billing_error", "payment"), model.KindQuota, 0, "top up"},
		{"no credit", 400, nil, fault("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.KindQuota, 0, "credit balance"},
		{"spend limit", 429, nil, `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`, model.KindQuota, 0, "limit"},
		{"rate", 429, http.Header{"Retry-After": {"7"}}, fault("rate_limit_error", "This request would exceed your rate limit"), model.KindRateLimit, 7 * time.Second, "exceed"},
		{"rate, date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 12:00:20 GMT"}}, ``, model.KindRateLimit, 20 * time.Second, ""},
		{"no model", 404, nil, fault("not_found_error", "model: claude-nope"), model.KindNotFound, 0, "claude-nope"},
		{"too long", 400, nil, fault("invalid_request_error", "prompt is too long: 214005 tokens > 200000 maximum"), model.KindContextOverflow, 0, "compact"},
		{"too long with output", 400, nil, fault("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"), model.KindContextOverflow, 0, "190000"},
		{"too large", 413, nil, fault("request_too_large", "Request exceeds the maximum size"), model.KindContextOverflow, 0, "compact"},
		{"bad request", 400, nil, fault("invalid_request_error", "messages.3: `tool_use` ids were found without `tool_result` blocks"), model.KindInvalidRequest, 0, "messages.3"},
		{"server", 500, nil, fault("api_error", "Internal server error"), model.KindServer, 0, "500"},
		{"time-out", 504, nil, fault("timeout_error", "x"), model.KindTimeout, 0, "504"},
		{"overloaded", 529, http.Header{"Retry-After": {"2"}}, fault("overloaded_error", "Overloaded"), model.KindOverloaded, 2 * time.Second, "529"},
		{"gateway page", 502, http.Header{"Content-Type": {"text/html"}}, `<html><h1>502 Bad Gateway</h1></html>`, model.KindServer, 0, "502"},
		{"redirect left over", 304, nil, ``, model.KindInvalidRequest, 0, "304"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			url := server(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				for k, v := range tt.header {
					w.Header()[k] = v
				}
				w.WriteHeader(tt.status)
				if tt.status != 304 {
					io.WriteString(w, tt.body)
				}
			})
			c := client(t, Config{BaseURL: url, APIKey: "sk-ant-secret-0123456789", now: func() time.Time { return now }})
			r := collect(c.Stream(t.Context(), hello()))
			var e *model.Error
			if !errors.As(r.err, &e) {
				t.Fatal(r)
			}
			if e.Kind != tt.kind || e.Status != tt.status || e.RetryAfter != tt.after || e.Retryable != tt.kind.Retryable() {
				t.Errorf("got %s %d %s retryable=%v: %s", e.Kind, e.Status, e.RetryAfter, e.Retryable, e.Message)
			}
			if !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, "<") {
				t.Errorf("message %q does not say %q", e.Message, tt.says)
			}
			if calls != 1 {
				t.Errorf("%d requests", calls)
			}
		})
	}
}

func TestMessagesHoldNoSecret(t *testing.T) {
	const key, gateway = "ant.0123456789abcdef", "gateway-token-value"
	echo := `invalid x-api-key: ` + key + ` (X-Gateway: ` + gateway + `, also sk-ant-api03-AbCdEf123456)`
	for _, status := range []int{200, 401, 500} {
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":`+string(session.AppendString(nil, echo))+`}}`)
		})
		c := client(t, Config{Provider: "p", BaseURL: url, APIKey: key, Headers: map[string]string{"X-Gateway": gateway}})
		r := collect(c.Stream(t.Context(), hello()))
		for _, secret := range []string{key, gateway, "AbCdEf"} {
			if strings.Contains(r.err.Error(), secret) {
				t.Errorf("status %d: the message holds %q: %s", status, secret, r.err)
			}
		}
		if !strings.Contains(r.err.Error(), "invalid x-api-key") {
			t.Errorf("status %d: the message lost what was said: %s", status, r.err)
		}
	}
}

func TestTransportErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := client(t, Config{Provider: "p", BaseURL: "http://user:hunter22@" + addr + "/v1?token=tell-nobody", APIKey: "sk-secret"})
	r := collect(c.Stream(t.Context(), hello()))
	var e *model.Error
	if !errors.As(r.err, &e) || e.Kind != model.KindTransport || !e.Retryable || !strings.Contains(e.Message, addr) {
		t.Fatal(r)
	}
	for _, secret := range []string{"hunter22", "tell-nobody", "sk-secret", "/v1"} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("the message holds %q: %s", secret, e.Message)
		}
	}
	// A connection that is reset mid-stream.
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sse(msgStart, textStart, text("x")))
		w.(http.Flusher).Flush()
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	})
	if s := collect(client(t, Config{Provider: "p", BaseURL: url}).Stream(t.Context(), hello())).String(); s != "text \"x\"\nerror stream_closed 0 retryable=true\n" {
		t.Error(s)
	}
}

// TestRefusedThinking: what a provider refuses for a thinking block it would
// refuse for ever, so the session goes on without them. Other refusals stand.
func TestRefusedThinking(t *testing.T) {
	var bodies []string
	refuse := "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), "SIG") {
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":`+string(session.AppendString(nil, refuse))+`}}`)
			return
		}
		io.WriteString(w, answered("end_turn"))
	})
	c := client(t, Config{BaseURL: url, APIKey: "k"})
	req := hello()
	req.Messages = append(req.Messages, assistant("anthropic", "claude-haiku-4-5", thought("t", "SIG"), session.Text("x")), user("go on"))
	for range 2 {
		if s := collect(c.Stream(t.Context(), req)).String(); s != wholeStop {
			t.Fatal(s)
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[0], "SIG") || strings.Contains(bodies[1], "SIG") || strings.Contains(bodies[2], "SIG") || !strings.Contains(bodies[1], "go on") {
		t.Errorf("%d requests: %s", len(bodies), bodies)
	}
	other := *req
	other.SessionID, bodies = "s2", nil
	collect(c.Stream(t.Context(), &other))
	if len(bodies) != 2 {
		t.Error("another session was not asked with its thinking")
	}
	bodies, refuse = nil, "max_tokens: too large"
	other.SessionID = "s3"
	if r := collect(c.Stream(t.Context(), &other)); r.err == nil || len(bodies) != 1 {
		t.Errorf("%d requests: %v", len(bodies), r.err)
	}
}

// TestPausedTurn: a turn that the provider pauses goes on with its own output,
// blocks that the log does not know included, and is one answer.
func TestPausedTurn(t *testing.T) {
	var bodies []string
	parts := []string{
		sse(msgStart, textStart, text("I look"), blockStop,
			`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}}`, `{"type":"content_block_stop","index":2}`,
			stop("pause_turn"), msgStop),
		answered("end_turn"),
	}
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		io.WriteString(w, parts[min(len(bodies), len(parts))-1])
	})
	r := collect(client(t, Config{BaseURL: url, APIKey: "k"}).Stream(t.Context(), hello()))
	if s := r.String(); s != "text \"I look\"\ntext \"x\"\nusage in=18 out=10 read=0 write=0 reason=0\nfinish stop\n" {
		t.Error(s)
	}
	want := `{"role":"assistant","content":[{"type":"text","text":"I look"},{"id":"srv_1","input":{"query":"x"},"name":"web_search","type":"server_tool_use"},{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}]}]}`
	if len(bodies) != 2 || !strings.HasSuffix(bodies[1], want) {
		t.Errorf("%d requests: %s", len(bodies), bodies)
	}
	bodies, parts = nil, parts[:1]
	if r := collect(client(t, Config{BaseURL: url, APIKey: "k"}).Stream(t.Context(), hello())); r.err != nil || len(bodies) != maxPauses+1 {
		t.Errorf("%d requests: %v", len(bodies), r.err)
	}
}

func TestGzipThatWasNotAskedFor(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		io.WriteString(zw, answered("end_turn"))
		zw.Close()
	})
	if s := collect(client(t, Config{Provider: "p", BaseURL: url}).Stream(t.Context(), hello())).String(); s != wholeStop {
		t.Fatal(s)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	seen := map[string]bool{}
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		io.WriteString(w, answered("end_turn"))
	})
	c := client(t, Config{Provider: "p", BaseURL: url})
	for range 3 {
		collect(c.Stream(t.Context(), hello()))
	}
	if len(seen) != 1 {
		t.Errorf("three requests took %d connections", len(seen))
	}
}

func TestCancelAndLeave(t *testing.T) {
	gone := make(chan struct{}, 2)
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sse(msgStart, textStart, text("x")))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c := client(t, Config{Provider: "p", BaseURL: url})
	for range c.Stream(t.Context(), hello()) {
		break
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for chunk, e := range c.Stream(ctx, hello()) {
		if chunk.Type == session.ChunkText {
			cancel()
		}
		err = e
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("mid-stream: %v", err)
	}
	<-gone
	if r := collect(c.Stream(ctx, hello())); !errors.Is(r.err, context.Canceled) {
		t.Errorf("before the request: %v", r.err)
	}
}

// pipeTransport answers with a body that the test writes, all in memory, so that
// a bubble's clock governs.
type pipeTransport struct {
	r *io.PipeReader
	// hold keeps the head of the answer back until the request ends.
	hold bool
}

func (p *pipeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.hold {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	context.AfterFunc(req.Context(), func() { p.r.CloseWithError(req.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: p.r, Request: req}, nil
}

func TestIdle(t *testing.T) {
	tests := []struct {
		name  string
		hold  bool
		write func(w io.Writer)
		want  string
	}{
		{"no head", true, func(io.Writer) {}, "error timeout 0 retryable=true\n"},
		{"stall after text", false, func(w io.Writer) { io.WriteString(w, sse(msgStart, textStart, text("x"))) }, "text \"x\"\nerror timeout 0 retryable=true\n"},
		{"an hour, but alive", false, func(w io.Writer) {
			io.WriteString(w, sse(msgStart, textStart, text("x")))
			for range 60 {
				time.Sleep(time.Minute)
				io.WriteString(w, sse(`{"type":"ping"}`))
			}
			io.WriteString(w, sse(blockStop, stop("end_turn"), msgStop))
		}, wholeStop},
		{"open after the reason", false, func(w io.Writer) { io.WriteString(w, sse(msgStart, textStart, text("x"), stop("end_turn"))) }, wholeStop},
		{"open after the end", false, func(w io.Writer) { io.WriteString(w, answered("end_turn")) }, wholeStop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pr, pw := io.Pipe()
				go tt.write(pw) // ends with the pipe, which the request's end closes
				c := client(t, Config{Provider: "p", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: &pipeTransport{r: pr, hold: tt.hold}}})
				if s := collect(c.Stream(t.Context(), hello())).String(); s != tt.want {
					t.Errorf("got %s", s)
				}
				synctest.Wait()
			})
		})
	}
}
