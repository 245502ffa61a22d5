package openai

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/loop/model"
)

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
		{"bad key", 401, nil, `{"error":{"message":"Authentication Fails, Your api key: ****1234 is invalid","type":"authentication_error"}}`, model.KindAuth, 0, "DEEPSEEK_API_KEY"},
		{"forbidden", 403, nil, `{"error":"no"}`, model.KindAuth, 0, "acp-agent login"},
		{"no balance", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, model.KindQuota, 0, "Insufficient Balance"},
		{"no balance, by code", 400, nil, `{"error":{"message":"refused","code":"insufficient_balance"}}`, model.KindQuota, 0, "top up"},
		{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, model.KindQuota, 0, "quota"},
		{"rate, seconds", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"slow down"}}`, model.KindRateLimit, 7 * time.Second, "slow down"},
		{"rate, fraction", 429, http.Header{"Retry-After": {"0.5"}}, ``, model.KindRateLimit, 500 * time.Millisecond, "429"},
		{"rate, ms first", 429, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}}, ``, model.KindRateLimit, 1500 * time.Millisecond, ""},
		{"rate, date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 12:00:20 GMT"}}, ``, model.KindRateLimit, 20 * time.Second, ""},
		{"rate, past date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 11:00:00 GMT"}}, ``, model.KindRateLimit, 0, ""},
		{"rate, nonsense", 429, http.Header{"Retry-After": {"soon"}}, ``, model.KindRateLimit, 0, ""},
		{"rate, negative", 429, http.Header{"Retry-After": {"-3"}}, ``, model.KindRateLimit, 0, ""},
		{"no model", 404, nil, `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, model.KindNotFound, 0, "does not exist"},
		{"no model, DeepSeek", 400, nil, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, model.KindNotFound, 0, "Model Not Exist"},
		{"overflow", 400, nil, `{"error":{"message":"This model's maximum context length is 1048576 tokens. However, you requested 1052000 tokens","type":"invalid_request_error"}}`, model.KindContextOverflow, 0, "compact"},
		{"overflow by code", 400, nil, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, model.KindContextOverflow, 0, "too long"},
		{"overflow 413", 413, nil, `{"error":{"message":"prompt is too long: 10 > 5"}}`, model.KindContextOverflow, 0, ""},
		{"too large", 413, nil, `<html>Request Entity Too Large</html>`, model.KindInvalidRequest, 0, "413"},
		{"bad request", 400, nil, `{"error":{"message":"Invalid 'messages[1].content'"}}`, model.KindInvalidRequest, 0, "messages[1]"},
		{"bad request, list", 422, nil, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, model.KindInvalidRequest, 0, "field required"},
		{"timeout", 408, nil, ``, model.KindTimeout, 0, "408"},
		{"conflict", 409, nil, `{}`, model.KindServer, 0, "409"},
		{"server", 500, nil, `{"error":{"message":"Internal Server Error"}}`, model.KindServer, 0, "500"},
		{"gateway page", 502, http.Header{"Content-Type": {"text/html"}}, `<html><body><h1>502 Bad Gateway</h1></body></html>`, model.KindServer, 0, "502"},
		{"overloaded 503", 503, http.Header{"Retry-After": {"2"}}, ``, model.KindOverloaded, 2 * time.Second, "503"},
		{"overloaded 529", 529, nil, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, model.KindOverloaded, 0, "529"},
		{"plain text", 500, nil, "upstream\n\tconnect error", model.KindServer, 0, "upstream connect error"},
		{"redirect left over", 304, nil, ``, model.KindInvalidRequest, 0, "304"},
		{"array", 400, nil, `[{"error":{"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`, model.KindInvalidRequest, 0, "API key not valid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := server(t, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range tt.header {
					w.Header()[k] = v
				}
				w.WriteHeader(tt.status)
				if tt.status != 304 {
					io.WriteString(w, tt.body)
				}
			})
			calls := 0
			c := client(t, Config{Provider: "deepseek", BaseURL: url, APIKey: "sk-secret-0123456789", now: func() time.Time { calls++; return now }})
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
				t.Errorf("%d attempts", calls)
			}
		})
	}
}

func TestMessagesHoldNoSecret(t *testing.T) {
	const key, gateway = "dsk.0123456789abcdef", "gateway-token-value"
	echo := `Incorrect API key provided: ` + key + ` (Authorization: Bearer ` + key + `, X-Gateway: ` + gateway + `, also sk-proj-AbCdEf123456 and sk-abc***wxyz)`
	for _, status := range []int{200, 401, 500} {
		url := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, `{"error":{"message":`+quote(echo)+`,"code":"invalid_api_key"}}`)
		})
		c := client(t, Config{Provider: "p", BaseURL: url + "?token=" + gateway, APIKey: key, Headers: map[string]string{"X-Gateway": gateway}})
		r := collect(c.Stream(t.Context(), hello()))
		for _, secret := range []string{key, gateway, "sk-proj", "AbCdEf", "wxyz"} {
			if strings.Contains(r.err.Error(), secret) {
				t.Errorf("status %d: the message holds %q: %s", status, secret, r.err)
			}
		}
		if !strings.Contains(r.err.Error(), "Incorrect API key provided") {
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
	if !errors.As(r.err, &e) || e.Kind != model.KindTransport || !e.Retryable {
		t.Fatal(r)
	}
	if !strings.Contains(e.Message, addr) {
		t.Errorf("the host is not named: %s", e.Message)
	}
	for _, secret := range []string{"hunter22", "tell-nobody", "sk-secret", "/v1"} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("the message holds %q: %s", secret, e.Message)
		}
	}
	// A connection that is reset mid-stream.
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`)))
		w.(http.Flusher).Flush()
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	})
	if s := collect(client(t, Config{Provider: "p", BaseURL: url}).Stream(t.Context(), hello())).String(); s != "text \"x\"\nerror stream_closed 0 retryable=true\n" {
		t.Error(s)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{{Provider: "mine"}, {BaseURL: "ftp://x"}, {BaseURL: "://"}, {BaseURL: "api.example.com/v1"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
	c := client(t, Config{Provider: "mine", BaseURL: "https://h/v1/chat/completions/"})
	if c.cfg.KeyName != "MINE_API_KEY" || c.cfg.Dialect != DialectGeneric {
		t.Errorf("%+v", c.cfg)
	}
}

// pipeTransport answers with a body that the test writes, all in memory, so
// that a bubble's clock governs.
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
		took  time.Duration
	}{
		{"no head", true, func(io.Writer) {}, "error timeout 0 retryable=true\n", 120 * time.Second},
		{"nothing", false, func(io.Writer) {}, "error timeout 0 retryable=true\n", 120 * time.Second},
		{"stall after text", false, func(w io.Writer) { io.WriteString(w, sse(deltaEvent(`{"content":"x"}`))) }, "text \"x\"\nerror timeout 0 retryable=true\n", 120 * time.Second},
		{"slow but alive", false, func(w io.Writer) {
			for range 10 {
				time.Sleep(100 * time.Second)
				io.WriteString(w, sse(deltaEvent(`{"content":"x"}`)))
			}
			io.WriteString(w, sse(finish("stop"), done))
		}, "text \"xxxxxxxxxx\"\nfinish stop\n", 1000*time.Second + 100*time.Millisecond},
		{"comments are life", false, func(w io.Writer) {
			for range 20 {
				time.Sleep(100 * time.Second)
				io.WriteString(w, ": keep-alive\n\n")
			}
			io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
		}, "text \"x\"\nfinish stop\n", 2000*time.Second + 100*time.Millisecond},
		{"open after the finish", false, func(w io.Writer) { io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"))) }, "text \"x\"\nfinish stop\n", 5 * time.Second},
		{"open after the end mark", false, func(w io.Writer) { io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done)) }, "text \"x\"\nfinish stop\n", 100 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pr, pw := io.Pipe()
				go tt.write(pw) // ends with the pipe, which the request's end closes
				c := client(t, Config{Provider: "p", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: &pipeTransport{r: pr, hold: tt.hold}}})
				start := time.Now()
				if s := collect(c.Stream(t.Context(), hello())).String(); s != tt.want {
					t.Errorf("got %s", s)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				synctest.Wait()
			})
		})
	}
}

// TestConsumerMayTakeItsTime: the time between two chunks is not the provider's.
func TestConsumerMayTakeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		go func() { // ends with the pipe
			for range 3 {
				io.WriteString(pw, sse(deltaEvent(`{"content":"x"}`)))
			}
			io.WriteString(pw, sse(finish("stop"), done))
		}()
		c := client(t, Config{Provider: "p", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: &pipeTransport{r: pr}}})
		for _, err := range c.Stream(t.Context(), hello()) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}
