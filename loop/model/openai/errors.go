package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"acp-agent/loop/model"
)

// failureText is what a provider said of a failure, from any of the shapes in
// use: {"error":{message,type,code}}, {"error":"…"}, {"detail":"…"},
// {"message":"…","code":…}.
type failureText struct {
	message, typ, code string
	// status is a numeric code.
	status int
}

func readFailure(body []byte) failureText {
	var f failureText
	var v any
	if json.Unmarshal(body, &v) != nil {
		return f
	}
	if list, ok := v.([]any); ok && len(list) > 0 { // Gemini's compatible endpoint
		v = list[0]
	}
	f.read(v, 0)
	return f
}

func (f *failureText) read(v any, depth int) {
	switch v := v.(type) {
	case string:
		if f.message == "" {
			f.message = v
		}
	case map[string]any:
		if depth > 2 {
			return
		}
		for _, k := range []string{"error", "message", "detail", "msg", "error_msg"} {
			if inner, ok := v[k]; ok {
				f.read(inner, depth+1)
			}
		}
		if s, ok := v["type"].(string); ok && f.typ == "" {
			f.typ = s
		}
		switch c := v["code"].(type) {
		case string:
			if f.code == "" {
				f.code = c
			}
			if n, err := strconv.Atoi(c); err == nil && f.status == 0 {
				f.status = n
			}
		case float64:
			if f.status == 0 {
				f.status = int(c)
			}
		}
	case []any:
		for _, e := range v {
			f.read(e, depth+1)
		}
	}
}

func containsAny(s string, subs ...string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// kind classifies a failure by its status, then by what the provider says,
// because 400 and 429 mean several things (reference deepseek-harness 0.1.1-rc.2, model client, "Errors").
func (f *failureText) kind(status int) model.Kind {
	said := strings.ToLower(f.message + " " + f.typ + " " + f.code)
	quota := containsAny(said, "insufficient_quota", "insufficient balance", "insufficient_balance", "exceeded your current quota",
		"billing", "out of credits", "insufficient credits", "payment required")
	overflow := containsAny(said, "context_length", "context length", "context window", "maximum context", "prompt is too long",
		"input is too long", "too many input tokens", "reduce the length", "exceeds the maximum number of tokens", "context size")
	missing := containsAny(said, "model_not_found", "model not exist", "model does not exist", "no such model", "unknown model") ||
		strings.Contains(said, "model") && containsAny(said, "does not exist", "not found")
	if status == 0 {
		status = f.status
	}
	switch {
	case status == 401, status == 403 && !quota:
		return model.KindAuth
	case status == 402, quota && (status == 0 || status >= 400 && status < 500):
		return model.KindQuota
	case status == 429:
		return model.KindRateLimit
	case overflow && (status == 0 || status == 400 || status == 413 || status == 422 || status == 500):
		return model.KindContextOverflow
	case status == 404, missing && (status == 0 || status == 400 || status == 422):
		return model.KindNotFound
	case status == 408:
		return model.KindTimeout
	case status == 409, status == 425:
		// A conflict of locks inside the provider; its own clients try again.
		return model.KindServer
	case status == 503, status == 529, status >= 500 && strings.Contains(said, "overloaded"):
		return model.KindOverloaded
	case status >= 500:
		return model.KindServer
	case status >= 300:
		return model.KindInvalidRequest
	}
	switch {
	case containsAny(said, "invalid_api_key", "authentication", "unauthorized", "invalid api key"):
		return model.KindAuth
	case containsAny(said, "rate_limit", "rate limit", "too many requests"):
		return model.KindRateLimit
	case containsAny(said, "overloaded", "capacity", "unavailable"):
		return model.KindOverloaded
	case containsAny(said, "timeout", "timed out"):
		return model.KindTimeout
	case strings.Contains(said, "invalid_request"):
		return model.KindInvalidRequest
	}
	return model.KindServer
}

// statusError makes the error of an answer with an HTTP status that is no
// success.
func (c *Client) statusError(status int, h http.Header, body []byte) *model.Error {
	f := readFailure(body)
	if f.message == "" && !isPage(h, body) {
		f.message = string(body)
	}
	err := c.failure(&f, status)
	err.RetryAfter = retryAfter(h, c.cfg.now())
	return err
}

// failure puts a provider's failure into words: what failed, what the provider
// said, what to do.
func (c *Client) failure(f *failureText, status int) *model.Error {
	kind := f.kind(status)
	if status == 0 && f.status >= 400 && f.status < 600 {
		status = f.status
	}
	var head, tail string
	switch kind {
	case model.KindAuth:
		head, tail = c.name()+" refused the API key", "set "+c.cfg.KeyName+" to a valid key, or run: acp-agent login"
	case model.KindQuota:
		head, tail = c.name()+" refused the request: no quota or balance is left", "top up the account or use another model"
	case model.KindRateLimit:
		head = c.name() + " limits the rate of requests"
	case model.KindContextOverflow:
		head, tail = "the request is longer than the model's context window", "compact the session or start a new one"
	case model.KindNotFound:
		head, tail = c.name()+" has no such model or address", "check the model's name and the base URL"
	case model.KindOverloaded:
		head = c.name() + " is overloaded"
	case model.KindTimeout:
		head = c.name() + " gave up waiting"
	case model.KindInvalidRequest:
		head = c.name() + " refused the request"
	default:
		head = c.name() + " failed"
	}
	if status != 0 {
		head += " (HTTP " + strconv.Itoa(status) + ")"
	}
	if said := c.clean(f.message); said != "" {
		head += ": " + said
	}
	if tail != "" {
		head += ": " + tail
	}
	return &model.Error{Kind: kind, Status: status, Message: head, Retryable: kind.Retryable()}
}

// isPage reports whether a body is a page for a browser: from a proxy, or from
// an address that is no API.
func isPage(h http.Header, body []byte) bool {
	return strings.Contains(h.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

// retryAfter reads how long the provider wants to be left alone: ms, seconds or
// a date (RFC 9110 10.2.3; retry-after-ms is OpenAI's).
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e7 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// transportError words a failure below HTTP. It names the host and never the
// address with its query or the key.
func (c *Client) transportError(err error) *model.Error {
	var ue *url.Error
	for errors.As(err, &ue) {
		err = ue.Err
	}
	e := &model.Error{
		Kind: model.KindTransport, Retryable: true, Err: err,
		Message: "cannot reach " + c.host + ": " + c.clean(err.Error()) + ": check the network, the proxy and the base URL",
	}
	var ca x509.UnknownAuthorityError
	var hn x509.HostnameError
	var ci x509.CertificateInvalidError
	var cv *tls.CertificateVerificationError
	if errors.As(err, &ca) || errors.As(err, &hn) || errors.As(err, &ci) || errors.As(err, &cv) {
		e.Retryable = false
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() && !errors.Is(err, context.DeadlineExceeded) {
		e.Kind = model.KindTimeout
	}
	return e
}

// secretShapes matches what looks like a key or a bearer token. It is compiled
// on first use: most runs never fail.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:bearer\s+[a-z0-9._~+/*=-]{6,}|(?:sk|pk|rk|key|api[-_]?key)[-_][a-z0-9_*-]{6,})`)
})

// clean makes a provider's words fit for people and logs: one line, short, with
// nothing in it that is or looks like a key.
func (c *Client) clean(s string) string {
	for _, secret := range c.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	s = secretShapes().ReplaceAllString(s, "[redacted]")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	return clip(strings.TrimRight(s, ". "), 300)
}

// clip cuts s to n runes.
func clip(s string, n int) string {
	i := 0
	for at := range s {
		if i++; i > n {
			return s[:at] + "…"
		}
	}
	return s
}
