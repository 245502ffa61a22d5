package wiretest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Server answers every request with what handle writes, and returns its address.
func Server(t testing.TB, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

// Bodies is a server that keeps the bodies of requests and answers the n-th of them
// by answer.
func Bodies(t testing.TB, answer func(w http.ResponseWriter, n int, body string)) (url string, got *[]string) {
	t.Helper()
	got = new([]string)
	return Server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*got = append(*got, string(body))
		answer(w, len(*got), string(body))
	}), got
}

// answering is a server that answers each request, and first shows it to see.
func (w *Wire) answering(t testing.TB, see func(http.ResponseWriter, *http.Request)) string {
	t.Helper()
	return Server(t, func(rw http.ResponseWriter, r *http.Request) {
		if see != nil {
			see(rw, r)
		}
		_, _ = io.WriteString(rw, w.Begun+w.Ended)
	})
}

// answered sends a request and holds the result to be the answer.
func (w *Wire) answered(t testing.TB, c model.Client) {
	t.Helper()
	if got := Collect(c.Stream(t.Context(), w.Hello())).String(); got != w.Answer {
		t.Fatalf("got\n%swant\n%s", got, w.Answer)
	}
}

// OverHTTP holds where a request goes, by the end of its base URL, with which
// headers, and that its body is what is written. The caller has set what a person
// may have set for other programs: it must not leak.
func (w *Wire) OverHTTP(t *testing.T, s model.Config, paths, headers map[string]string, written func(model.Client) []byte) {
	t.Helper()
	var got *http.Request
	var body []byte
	url := w.answering(t, func(rw http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		rw.Header().Set("Content-Type", "text/event-stream")
	})
	for base, path := range paths {
		s.BaseURL = url + base
		c := w.client(t, s)
		w.answered(t, c)
		if got.URL.String() != path || got.Method != "POST" || got.ContentLength != int64(len(body)) {
			t.Errorf("%s: %s %s, %d bytes", base, got.Method, got.URL, got.ContentLength)
		}
		for k, want := range headers {
			if v := strings.Join(got.Header[k], ","); v != want {
				t.Errorf("%s is %q, want %q", k, v, want)
			}
		}
		if want := written(c); !bytes.Equal(want, body) {
			t.Errorf("the body sent is not the body written:\n%s\n%s", want, body)
		}
	}
}

// Keys holds that a server of the person's own is sent no key that is not
// configured, that the provider's own address is not asked without one, and that
// what is no address is refused.
func (w *Wire) Keys(t *testing.T) {
	var header http.Header
	url := w.answering(t, func(_ http.ResponseWriter, r *http.Request) { header = r.Header })
	w.answered(t, w.client(t, model.Config{Provider: "local", BaseURL: url}))
	if header["X-Api-Key"] != nil || header["Authorization"] != nil {
		t.Errorf("%v went out", header)
	}
	r := Collect(w.client(t, model.Config{Provider: w.Provider}).Stream(t.Context(), w.Hello()))
	var e *model.Error
	if !errors.As(r.Err, &e) || e.Kind != model.KindAuth || !strings.Contains(e.Message, w.KeyName) {
		t.Errorf("without a key: %v", r.Err)
	}
	for _, s := range []model.Config{{Provider: "mine"}, {BaseURL: "ftp://x"}, {BaseURL: "://"}, {BaseURL: "api.example.com/v1"}} {
		if _, err := w.New(s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

// Status is an answer that is no success, and what is made of it. Says is part of
// the message.
type Status = struct {
	Name   string
	Status int
	Header http.Header
	Body   string
	Kind   model.Kind
	After  time.Duration
	Says   string
}

// Now is the time of Statuses; statuses are those that do not depend on a wire.
var (
	Now      = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	statuses = []Status{
		{"rate, seconds", 429, http.Header{"Retry-After": {"7"}}, `{"error":{"message":"slow down"}}`, model.KindRateLimit, 7 * time.Second, "slow down"},
		{"rate, fraction", 429, http.Header{"Retry-After": {"0.5"}}, ``, model.KindRateLimit, 500 * time.Millisecond, "429"},
		{"rate, ms first", 429, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}}, ``, model.KindRateLimit, 1500 * time.Millisecond, ""},
		{"rate, date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 12:00:20 GMT"}}, ``, model.KindRateLimit, 20 * time.Second, ""},
		{"rate, past date", 429, http.Header{"Retry-After": {"Mon, 30 Nov 2026 11:00:00 GMT"}}, ``, model.KindRateLimit, 0, ""},
		{"rate, nonsense", 429, http.Header{"Retry-After": {"soon"}}, ``, model.KindRateLimit, 0, ""},
		{"rate, negative", 429, http.Header{"Retry-After": {"-3"}}, ``, model.KindRateLimit, 0, ""},
		{"timeout", 408, nil, ``, model.KindTimeout, 0, "408"},
		{"conflict", 409, nil, `{}`, model.KindServer, 0, "409"},
		{"server", 500, nil, `{"error":{"message":"Internal Server Error"}}`, model.KindServer, 0, "500"},
		{"gateway page", 502, http.Header{"Content-Type": {"text/html"}}, `<html><body><h1>502 Bad Gateway</h1></body></html>`, model.KindServer, 0, "502"},
		{"overloaded", 503, http.Header{"Retry-After": {"2"}}, ``, model.KindOverloaded, 2 * time.Second, "503"},
		{"too large, from a proxy", 413, nil, `<html>Request Entity Too Large</html>`, model.KindInvalidRequest, 0, "413"},
		{"plain text", 500, nil, "upstream\n\tconnect error", model.KindServer, 0, "upstream connect error"},
		{"redirect left over", 304, nil, ``, model.KindInvalidRequest, 0, "304"},
	}
)

// Statuses holds what is made of answers that are no success: the wire's own, and
// those that any server gives.
func (w *Wire) Statuses(t *testing.T, own []Status) {
	for _, tt := range append(own, statuses...) {
		t.Run(tt.Name, func(t *testing.T) {
			calls := 0
			url := Server(t, func(rw http.ResponseWriter, _ *http.Request) {
				calls++
				for k, v := range tt.Header {
					rw.Header()[k] = v
				}
				rw.WriteHeader(tt.Status)
				if tt.Status != 304 {
					_, _ = io.WriteString(rw, tt.Body)
				}
			})
			c := w.client(t, model.Config{Provider: w.Provider, BaseURL: url, APIKey: "sk-secret-0123456789", Now: func() time.Time { return Now }})
			r := Collect(c.Stream(t.Context(), w.Hello()))
			var e *model.Error
			if !errors.As(r.Err, &e) {
				t.Fatal(r)
			}
			if e.Kind != tt.Kind || e.Status != tt.Status || e.RetryAfter != tt.After || e.Retryable != tt.Kind.Retryable() {
				t.Errorf("got %s %d %s retryable=%v: %s", e.Kind, e.Status, e.RetryAfter, e.Retryable, e.Message)
			}
			if !strings.Contains(e.Message, tt.Says) || strings.Contains(e.Message, "<") {
				t.Errorf("message %q does not say %q", e.Message, tt.Says)
			}
			if calls != 1 {
				t.Errorf("%d requests", calls)
			}
		})
	}
}

// NoSecrets holds that no message has a key in it, whatever a server repeats.
func (w *Wire) NoSecrets(t *testing.T) {
	const key, gateway, query, password = "own.0123456789abcdef", "gateway-token-value", "query-token-value", "password-value"
	body := w.Failure("Incorrect API key: " + key + " (Authorization: Bearer " + key + ", X-Gateway: " + gateway + ", ?token=" + query + ", user:" + password + ", also sk-proj-AbCdEf123456, sk-ant-api03-AbCdEf123456 and sk-abc***wxyz)")
	for _, status := range []int{200, 401, 500} {
		url := Server(t, func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(status)
			_, _ = io.WriteString(rw, body)
		})
		c := w.client(t, model.Config{Provider: "p", BaseURL: strings.Replace(url, "://", "://user:"+password+"@", 1) + "?token=" + query, APIKey: key, Headers: map[string]string{"X-Gateway": gateway}})
		r := Collect(c.Stream(t.Context(), w.Hello()))
		if r.Err == nil {
			t.Fatalf("status %d: no failure", status)
		}
		for _, secret := range []string{key, gateway, query, password, "AbCdEf", "wxyz"} {
			if strings.Contains(r.Err.Error(), secret) {
				t.Errorf("status %d: the message holds %q: %s", status, secret, r.Err)
			}
		}
		if !strings.Contains(r.Err.Error(), "Incorrect API key") {
			t.Errorf("status %d: the message lost what was said: %s", status, r.Err)
		}
	}
}

// Transport holds what is said of a server that is not there, and of one that
// hangs up.
func (w *Wire) Transport(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	c := w.client(t, model.Config{Provider: "p", BaseURL: "http://user:hunter22@" + addr + "/v1?token=tell-nobody", APIKey: "sk-secret"})
	r := Collect(c.Stream(t.Context(), w.Hello()))
	var e *model.Error
	if !errors.As(r.Err, &e) || e.Kind != model.KindTransport || !e.Retryable || !strings.Contains(e.Message, addr) {
		t.Fatal(r)
	}
	for _, secret := range []string{"hunter22", "tell-nobody", "sk-secret", "/v1"} {
		if strings.Contains(e.Message, secret) {
			t.Errorf("the message holds %q: %s", secret, e.Message)
		}
	}
	url := Server(t, func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, w.Begun)
		rw.(http.Flusher).Flush()
		if conn, _, err := rw.(http.Hijacker).Hijack(); err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0) // a reset
			conn.Close()
		}
	})
	if r = Collect(w.client(t, model.Config{Provider: "p", BaseURL: url}).Stream(t.Context(), w.Hello())); !errors.As(r.Err, &e) || e.Kind != model.KindStreamClosed || r.Text() != "x" {
		t.Error(r)
	}
}

// Redirects holds that no redirect takes a request, its key or its conversation to
// another server, or makes a GET of it, and what is said of one.
func (w *Wire) Redirects(t *testing.T) {
	var reached []string
	see := func(_ http.ResponseWriter, r *http.Request) { reached = append(reached, r.Method+" "+r.URL.Path) }
	foreign := w.answering(t, see)
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{foreign + "/moved", "/moved"} {
			reached = nil
			url := Server(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/moved" {
					http.Redirect(rw, r, to, code)
					return
				}
				see(rw, r)
				_, _ = io.WriteString(rw, w.Begun+w.Ended)
			})
			r := Collect(w.client(t, model.Config{Provider: "p", BaseURL: url, APIKey: "sk-secret-0123456789"}).Stream(t.Context(), w.Hello()))
			if to == "/moved" && code >= 307 {
				if r.String() != w.Answer || !slices.Equal(reached, []string{"POST /moved"}) {
					t.Errorf("%d to %s: %v, %s", code, to, reached, r)
				}
				continue
			}
			var e *model.Error
			if !errors.As(r.Err, &e) || e.Retryable || !strings.Contains(e.Message, "/moved") || !strings.Contains(e.Message, "base URL") || len(reached) > 0 {
				t.Errorf("%d to %s: %v, %s", code, to, reached, r)
			}
		}
	}
}

// Compressed reads an answer that is compressed without having been asked for.
func (w *Wire) Compressed(t *testing.T) {
	url := Server(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(rw)
		_, _ = io.WriteString(zw, w.Begun+w.Ended)
		zw.Close()
	})
	w.answered(t, w.client(t, model.Config{Provider: "p", BaseURL: url}))
}

// Reuse holds that a connection is used again.
func (w *Wire) Reuse(t *testing.T) {
	seen := map[string]bool{}
	url := w.answering(t, func(_ http.ResponseWriter, r *http.Request) { seen[r.RemoteAddr] = true })
	c := w.client(t, model.Config{Provider: "p", BaseURL: url})
	for range 3 {
		w.answered(t, c)
	}
	if len(seen) != 1 {
		t.Errorf("three requests took %d connections", len(seen))
	}
}

// Trace holds that the trace context that came with a prompt goes on to the
// provider.
func (w *Wire) Trace(t *testing.T) {
	var got http.Header
	url := w.answering(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	ctx := model.WithTrace(t.Context(), model.Trace{Parent: "00-4bf9-00f0-01", State: "a=b"})
	Collect(w.client(t, model.Config{Provider: "p", BaseURL: url}).Stream(ctx, w.Hello()))
	if got.Get("Traceparent") != "00-4bf9-00f0-01" || got.Get("Tracestate") != "a=b" || got.Get("Baggage") != "" {
		t.Errorf("the request's headers are %v", got)
	}
}

// Leave holds that a request ends when the consumer leaves the loop and when the
// context ends.
func (w *Wire) Leave(t *testing.T) {
	gone := make(chan struct{}, 2)
	url := Server(t, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, w.Begun)
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	c := w.client(t, model.Config{Provider: "p", BaseURL: url})
	for range c.Stream(t.Context(), w.Hello()) {
		break
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for chunk, e := range c.Stream(ctx, w.Hello()) {
		if chunk.Type == session.ChunkText {
			cancel()
		}
		err = e
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("mid-stream: %v", err)
	}
	<-gone
	if r := Collect(c.Stream(ctx, w.Hello())); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("before the request: %v", r.Err)
	}
}

// pipeTransport answers with a body that the test writes, all in memory, so that a
// bubble's clock governs.
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

// piped runs a test in a bubble with a client whose answer write writes.
func (w *Wire) piped(t *testing.T, hold bool, write func(io.Writer), test func(*testing.T, model.Client)) {
	synctest.Test(t, func(t *testing.T) {
		pr, pw := io.Pipe()
		go write(pw) // ends with the pipe, which the request's end closes
		test(t, w.client(t, model.Config{Provider: "p", BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: &pipeTransport{r: pr, hold: hold}}}))
		synctest.Wait()
	})
}

// pause is a server that writes its parts with a time between two
// and then keeps the connection open.
type pause struct {
	name  string
	hold  bool
	parts []string
	every time.Duration
	want  string
	took  time.Duration
}

// Silence holds how long a stream may be silent, and that a server that keeps the
// connection open behind a whole answer is not waited for. whole is the part of
// Ended that makes the answer whole where the wire has an end mark of its own, too.
func (w *Wire) Silence(t *testing.T, whole string) {
	begun := Collect(w.Decode(strings.NewReader(w.Begun))).Text()
	// alive is a keep-alive each minute, as DeepSeek sends them for up to ten.
	alive := func(minutes int) []string {
		return append([]string{w.Begun}, slices.Repeat([]string{": keep-alive\n\n"}, minutes)...)
	}
	pings := append([]string{w.Begun}, slices.Repeat([]string{"event: ping\ndata: {\"type\":\"ping\"}\n\n"}, 30)...)
	tests := []pause{
		{"no head", true, nil, 0, "", 120 * time.Second},
		{"nothing", false, nil, 0, "", 120 * time.Second},
		{"stall after text", false, []string{w.Begun}, 0, begun, 120 * time.Second},
		{"ten minutes, but alive", false, append(alive(10), w.Ended), time.Minute, w.Answer, 11*time.Minute + 100*time.Millisecond},
		{"alive and no more", false, alive(600), time.Minute, begun, 15 * time.Minute},
		{"alive before the first word", false, alive(600)[1:], time.Minute, "", 15 * time.Minute},
		{"pings and no more", false, pings, time.Minute, begun, 15 * time.Minute},
		{"open after the end", false, []string{w.Begun + w.Ended}, 0, w.Answer, 100 * time.Millisecond},
	}
	if whole != "" {
		tests = append(tests, pause{"open after the reason", false, []string{w.Begun + whole}, 0, w.Answer, 5 * time.Second})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write := func(pw io.Writer) {
				for i, s := range tt.parts {
					if i > 0 {
						<-time.After(tt.every)
					}
					if _, err := io.WriteString(pw, s); err != nil {
						return
					}
				}
			}
			w.piped(t, tt.hold, write, func(t *testing.T, c model.Client) {
				start := time.Now()
				r := Collect(c.Stream(t.Context(), w.Hello()))
				var e *model.Error
				switch {
				case tt.want == w.Answer:
					if got := r.String(); got != tt.want {
						t.Errorf("got %s", got)
					}
				case !errors.As(r.Err, &e) || e.Kind != model.KindTimeout || !e.Retryable || r.Text() != tt.want:
					t.Errorf("got %s", r)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				<-time.After(tt.every) // the server notices that nobody reads
			})
		})
	}
}

// SlowConsumer holds that the time between two chunks is not the provider's.
func (w *Wire) SlowConsumer(t *testing.T) {
	w.piped(t, false, func(pw io.Writer) { _, _ = io.WriteString(pw, w.Begun+w.Ended) }, func(t *testing.T, c model.Client) {
		for _, err := range c.Stream(t.Context(), w.Hello()) {
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour)
		}
	})
}
