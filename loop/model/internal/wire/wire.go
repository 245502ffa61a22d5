// Package wire holds what the adapters of the event-stream wires have in
// common: keeping what was written of a conversation for the next request,
// reading server-sent events and JSON fast, watching for silence, telling failures
// apart and putting them into words. It knows no provider and no SDK.
package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"acp-agent/loop/model"
)

// DefaultIdleTimeout is how long a stream may be silent; 90 s proved too short
// in the field (deepseek-ai/DeepSeek-V3#1608).
const DefaultIdleTimeout = 120 * time.Second

// Endpoint is what errors and streams need to know of the place that answers.
type Endpoint struct {
	// Name is the provider's, Host the address without path and user.
	Name, Host string
	// KeyName is the environment variable that errors tell people to set; empty where
	// none is configured.
	KeyName string
	// Idle is the longest silence; quietTime says how long keep-alives are heard.
	Idle time.Duration
	// Now tells the time, for Retry-After.
	Now func() time.Time

	// secrets must not appear in any message.
	secrets []string
}

// minSecret is the length from which on a secret is taken for one: replacing
// every "k" of a message because a test uses the key "k" would destroy it.
const minSecret = 8

// AddSecret has each of them taken out of all messages.
func (e *Endpoint) AddSecret(secrets ...string) {
	for _, s := range secrets {
		if len(s) >= minSecret {
			e.secrets = append(e.secrets, s)
		}
	}
}

// Address is a base URL taken apart: the query goes out with each request, and
// the path has neither the wire's own suffix nor a lost slash.
type Address struct {
	Base, Host string
	Query      url.Values
	// Secrets are what the address may hold of them: a password, and the values of
	// the query but for Azure's version.
	Secrets []string
}

// ParseAddress checks a base URL. Each suffix is cut off the path once, since
// people paste the address of the endpoint itself. The URL may hold a password,
// so the error does not repeat it.
func ParseAddress(provider, base string, suffixes ...string) (Address, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Address{}, fmt.Errorf("model provider %q: the base URL must be http:// or https:// with a host", provider)
	}
	a := Address{Host: u.Host, Query: u.Query()}
	if password, ok := u.User.Password(); ok {
		a.Secrets = append(a.Secrets, password)
	}
	for name, values := range a.Query {
		if name != "api-version" {
			a.Secrets = append(a.Secrets, values...)
		}
	}
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	for _, s := range suffixes {
		u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, s), "/")
	}
	u.Path += "/"
	a.Base = u.String()
	return a, nil
}

// EnvName makes the name of a provider's key variable.
func EnvName(provider string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, provider)) + "_API_KEY"
}

// maxErrorBody bounds what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// boundErrors sends a request with the trace of its context, and reads the body of
// a failure in bounds.
func boundErrors(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	model.SetTrace(req.Context(), req.Header)
	res, err := next(req)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	body, err := readAll(res, maxErrorBody)
	res.Body.Close()
	if err != nil && len(body) == 0 {
		return nil, err
	}
	res.Header.Del("Content-Encoding")
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

func readAll(res *http.Response, limit int64) ([]byte, error) {
	r, err := plainBody(res, res.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, limit))
}

// plainBody undoes a compression that was not asked for.
func plainBody(res *http.Response, r io.Reader) (io.Reader, error) {
	switch enc := strings.ToLower(res.Header.Get("Content-Encoding")); enc {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return &lazyGzip{r: r}, nil
	default:
		return nil, fmt.Errorf("the answer is encoded as %q, which was not asked for", Clip(enc, 30))
	}
}

// lazyGzip reads the header when the first bytes are wanted, not before.
type lazyGzip struct {
	r  io.Reader
	zr *gzip.Reader
}

func (z *lazyGzip) Read(p []byte) (int, error) {
	if z.zr == nil {
		zr, err := gzip.NewReader(z.r)
		if err != nil {
			return 0, err
		}
		z.zr = zr
	}
	return z.zr.Read(p)
}

// errIdle is the cause with which a silent stream is cancelled.
var errIdle = errors.New("the stream was silent for too long")

// watch cancels a request when one wait lasts too long, or when nothing but
// keep-alives has come for too long. Only waiting for the provider counts, not the
// time that the consumer takes between two chunks.
type watch struct {
	timer *time.Timer
	limit time.Duration
	// quiet is how long there may be nothing but keep-alives, waited how long there
	// has been since the last news, since when the wait that goes on has lasted.
	quiet, waited time.Duration
	since         time.Time
}

func newWatch(limit time.Duration, expire func()) *watch {
	t := time.AfterFunc(limit, expire)
	t.Stop()
	return &watch{timer: t, limit: limit, quiet: quietTime(limit)}
}

// quietTime is how long a provider that says that it is alive may say nothing
// else, where it may be silent for idle. DeepSeek lets a request wait for ten
// minutes in that way and then ends it (api-docs.deepseek.com, rate limit).
func quietTime(idle time.Duration) time.Duration { return max(3*idle, 15*time.Minute) }

func (w *watch) arm() {
	w.since = time.Now()
	w.timer.Reset(min(w.limit, max(w.quiet-w.waited, 0)))
}

func (w *watch) disarm() {
	w.timer.Stop()
	w.waited += time.Since(w.since)
}

// news: what came was more than a keep-alive.
func (w *watch) news() { w.waited = 0 }

// pinged reports whether it was keep-alives alone that came for too long.
func (w *watch) pinged() bool { return w.waited >= w.quiet }

// watched arms the watch around each read.
type watched struct {
	r io.Reader
	w *watch
}

func (r *watched) Read(p []byte) (int, error) {
	r.w.arm()
	n, err := r.r.Read(p)
	r.w.disarm()
	return n, err
}

func idled(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errIdle) }
