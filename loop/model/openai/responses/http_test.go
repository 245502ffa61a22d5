package responses

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
		Head:      session.RequestHead{Config: session.Params{Provider: "openai", Model: "gpt-5.5", ReasoningEffort: "low"}},
		Messages:  []session.Message{user("hi")},
	}
}

func TestOverHTTP(t *testing.T) {
	// What a person has set for other programs must not leak into requests.
	for k, v := range map[string]string{
		"OPENAI_API_KEY": "sk-foreign-key", "OPENAI_ORG_ID": "org-foreign", "OPENAI_PROJECT_ID": "proj-foreign",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/foreign", "OPENAI_CUSTOM_HEADERS": "X-Foreign: yes",
	} {
		t.Setenv(k, v)
	}
	var got *http.Request
	var body []byte
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, answered())
	})
	for base, path := range map[string]string{"": "/responses", "/v1/": "/v1/responses", "/v1/responses?v=1": "/v1/responses?v=1"} {
		c := client(t, Config{BaseURL: url + base, APIKey: "sk-own", Headers: map[string]string{"X-Own": "1"}, UserAgent: "acp-agent/0"})
		if s := collect(c.Stream(t.Context(), hello())).String(); s != wholeStop {
			t.Fatal(s)
		}
		if got.URL.String() != path || got.Method != "POST" || got.ContentLength != int64(len(body)) {
			t.Errorf("%s %s", got.Method, got.URL)
		}
		for k, want := range map[string]string{
			"Authorization": "Bearer sk-own", "Accept": "text/event-stream", "Accept-Encoding": "identity", "Content-Type": "application/json",
			"X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "", "Openai-Organization": "", "Openai-Project": "",
		} {
			if v := strings.Join(got.Header[k], ","); v != want {
				t.Errorf("%s is %q, want %q", k, v, want)
			}
		}
		if want, _ := c.encode(hello(), without{}); !bytes.Equal(want, body) {
			t.Errorf("the body sent is not the body written:\n%s\n%s", want, body)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-foreign-key")
	var auth []string
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header["Authorization"]
		io.WriteString(w, answered())
	})
	if s := collect(client(t, Config{Provider: "local", BaseURL: url}).Stream(t.Context(), hello())).String(); s != wholeStop {
		t.Fatal(s)
	}
	if auth != nil {
		t.Errorf("Authorization %q went out", auth)
	}
	r := collect(client(t, Config{}).Stream(t.Context(), hello()))
	var e *model.Error
	if !errors.As(r.err, &e) || e.Kind != model.KindAuth || !strings.Contains(e.Message, "OPENAI_API_KEY") {
		t.Errorf("without a key: %v", r.err)
	}
	for _, cfg := range []Config{{Provider: "mine"}, {BaseURL: "ftp://x"}, {BaseURL: "://"}, {BaseURL: "api.example.com/v1"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

func TestStatusErrors(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		kind   model.Kind
		after  time.Duration
		says   string
	}{
		{"bad key", 401, nil, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, model.KindAuth, 0, "OPENAI_API_KEY"},
		{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, model.KindQuota, 0, "quota"},
		{"rate", 429, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}}, `{"error":{"message":"slow down"}}`, model.KindRateLimit, 1500 * time.Millisecond, "slow down"},
		{"no model", 404, nil, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, model.KindNotFound, 0, "does not exist"},
		{"overflow", 400, nil, `{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`, model.KindContextOverflow, 0, "compact"},
		{"bad request", 400, nil, `{"error":{"message":"Invalid 'input[3].call_id'"}}`, model.KindInvalidRequest, 0, "input[3]"},
		{"server", 500, nil, `{"error":{"message":"The server had an error"}}`, model.KindServer, 0, "500"},
		{"overloaded", 503, http.Header{"Retry-After": {"2"}}, ``, model.KindOverloaded, 2 * time.Second, "503"},
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
			c := client(t, Config{BaseURL: url, APIKey: "sk-secret-0123456789", now: func() time.Time { return now }})
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
	const key, gateway = "own.0123456789abcdef", "gateway-token-value"
	echo := `Incorrect API key: ` + key + ` (X-Gateway: ` + gateway + `, also sk-proj-AbCdEf123456)`
	for _, status := range []int{200, 401, 500} {
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"error":{"code":"invalid_api_key","message":`+string(session.AppendString(nil, echo))+`}}`)
		})
		c := client(t, Config{Provider: "p", BaseURL: url, APIKey: key, Headers: map[string]string{"X-Gateway": gateway}})
		r := collect(c.Stream(t.Context(), hello()))
		for _, secret := range []string{key, gateway, "AbCdEf"} {
			if strings.Contains(r.err.Error(), secret) {
				t.Errorf("status %d: the message holds %q: %s", status, secret, r.err)
			}
		}
		if !strings.Contains(r.err.Error(), "Incorrect API key") {
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
		io.WriteString(w, sse(added(message), text("x")))
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

// TestRefusedParts: what a provider refuses for sealed reasoning or for summaries
// it would refuse for ever, so the session goes on without. Other refusals stand.
func TestRefusedParts(t *testing.T) {
	var bodies []string
	other := ""
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		refuse := other
		switch {
		case strings.Contains(string(body), `"summary":"auto"`):
			refuse = "Your organization must be verified to generate reasoning summaries."
		case strings.Contains(string(body), "SEALED"):
			refuse = "The encrypted content for item rs_1 could not be verified."
		}
		if refuse != "" {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"type":"invalid_request_error","message":`+string(session.AppendString(nil, refuse))+`}}`)
			return
		}
		io.WriteString(w, answered())
	})
	c := client(t, Config{BaseURL: url, APIKey: "k"})
	req := hello()
	req.Messages = append(req.Messages, assistant("openai", "gpt-5.5", sealed("t", "rs_1", "SEALED"), session.Text("x")), user("go on"))
	for range 2 {
		if s := collect(c.Stream(t.Context(), req)).String(); s != wholeStop {
			t.Fatal(s)
		}
	}
	if len(bodies) != 4 || strings.Contains(bodies[3], "SEALED") || !strings.Contains(bodies[3], "go on") || !strings.Contains(bodies[3], `"effort":"low"`) {
		t.Errorf("%d requests: %s", len(bodies), bodies)
	}
	bodies, other = nil, "temperature is not supported"
	if r := collect(c.Stream(t.Context(), req)); r.err == nil || len(bodies) != 1 {
		t.Errorf("%d requests: %v", len(bodies), r.err)
	}
}

func TestGzipThatWasNotAskedFor(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		io.WriteString(zw, answered())
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
		io.WriteString(w, answered())
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
		io.WriteString(w, sse(added(message), text("x")))
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
		{"stall after text", false, func(w io.Writer) { io.WriteString(w, sse(added(message), text("x"))) }, "text \"x\"\nerror timeout 0 retryable=true\n"},
		{"an hour, but alive", false, func(w io.Writer) {
			io.WriteString(w, sse(added(message), text("x")))
			for range 60 {
				time.Sleep(time.Minute)
				io.WriteString(w, ": keep-alive\n\n")
			}
			io.WriteString(w, sse(itemDone(message), ended("completed", "")))
		}, wholeStop},
		{"open after the end", false, func(w io.Writer) { io.WriteString(w, answered()) }, wholeStop},
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
