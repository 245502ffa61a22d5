package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"acp-agent/loop/model"
)

// Failure is what a provider said of a failure, from any of the shapes in use:
// {"error":{message,type,code}}, {"error":"…"}, {"detail":"…"},
// {"detail":[{loc,msg}]}, {"message":"…","code":…}, {"status_code":…,"status_msg":"…"}.
type Failure struct {
	Message, Type, Code string
	// Status is a code that is an HTTP status.
	Status int
}

// ReadFailure reads a body or an event; what is not JSON gives nothing.
func ReadFailure(body []byte) Failure {
	var f Failure
	var v any
	if json.Unmarshal(body, &v) != nil {
		return f
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	f.read(v, 0)
	return f
}

func (f *Failure) read(v any, depth int) {
	switch v := v.(type) {
	case string:
		if f.Message == "" {
			f.Message = v
		}
	case map[string]any:
		if depth > 3 {
			return
		}
		// response wraps the error of a failed response; details hold a code.
		for _, k := range []string{"error", "errors", "response", "message", "Message", "detail", "msg", "error_msg", "status_msg", "details"} {
			if inner, ok := v[k]; ok {
				f.read(inner, depth+1)
			}
		}
		f.place(v)
		f.behind(v)
		if s, ok := v["type"].(string); ok && f.Type == "" {
			f.Type = s
		}
		for _, k := range []string{"code", "error_code", "status_code", "http_code"} {
			switch c := v[k].(type) {
			case string:
				if f.Code == "" {
					f.Code = c
				}
				if n, err := strconv.Atoi(c); err == nil {
					f.status(n)
				}
			case float64:
				f.status(int(c))
			}
		}
	case []any:
		for _, e := range v {
			f.read(e, depth+1)
		}
	}
}

// status takes a code where it is an HTTP status; providers have numbers of their
// own, too (Z.ai's 1302 is a limit of the rate).
func (f *Failure) status(code int) {
	if f.Status == 0 && code >= 400 && code < 600 {
		f.Status = code
	}
}

// place puts before a message what in the request it is about (Pydantic's errors,
// of all servers that are written with FastAPI).
func (f *Failure) place(v map[string]any) {
	loc, ok := v["loc"].([]any)
	if msg, said := v["msg"].(string); !ok || !said || f.Message != msg {
		return
	}
	var path []string
	for _, e := range loc {
		path = append(path, fmt.Sprint(e))
	}
	f.Message = strings.Join(path, ".") + ": " + f.Message
}

// behind adds what the provider behind a gateway said, which OpenRouter keeps
// apart: its own message is "Provider returned error".
func (f *Failure) behind(v map[string]any) {
	meta, _ := v["metadata"].(map[string]any)
	raw, _ := meta["raw"].(string)
	if raw == "" {
		return
	}
	if inner := ReadFailure([]byte(raw)); inner.Message != "" {
		raw = inner.Message
	}
	f.Message = strings.TrimPrefix(f.Message+": "+raw, ": ")
}

func containsAny(s string, subs ...string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

// overflows are the words for a request that is longer than the model's window:
// OpenAI's, Anthropic's, Google's and those that speak as they do, then
// xAI's, Moonshot's, Alibaba's, Z.ai's, ByteDance's, GitHub's and Cohere's, then
// those of vLLM, TGI and Poolside (earendil-works/pi#129 and #4943,
// anomalyco/opencode#27629 and #45834, 0xBakeer/inference-atlas#186).
var overflows = []string{
	"context_length", "context length", "context window", "maximum context", "context limit", "prompt is too long", "prompt too long",
	"prompt_too_long", "input is too long", "too many input tokens", "reduce the length", "exceeds the maximum number of tokens",
	"context size", "request_too_large", "request exceeds the maximum size", "input tokens exceed", "context_exceeded",
	"maximum prompt length", "exceeded model token limit", "range of input length", "prompt exceeds max length",
	"more than max tokens allowed", "max message tokens", "prompt token count", "too many tokens",
	"maximum model length", "max_model_len", "`inputs` tokens + `max_new_tokens`", "maximum allowed input length", "tokens_limit_reached",
}

// kind classifies a failure by its status, then by what the provider says,
// because 400, 413 and 429 mean several things.
func (f *Failure) kind(status int) model.Kind {
	said := strings.ToLower(f.Message + " " + f.Type + " " + f.Code)
	quota := containsAny(said, "insufficient_quota", "insufficient balance", "insufficient_balance", "exceeded your current quota", "billing", "credit balance",
		"out of credits", "insufficient credits", "payment required", "spend_limit", "spend limit", "usage limits")
	if status == 429 && waitSaid(f.Message) > 0 {
		// Groq and Gemini name their billing in each limit of the rate.
		quota = false
	}
	overflow := containsAny(said, overflows...)
	missing := containsAny(said, "model_not_found", "model not exist", "no such model", "unknown model", "not_found_error") ||
		strings.Contains(said, "model") && containsAny(said, "does not exist", "not found")
	if status == 0 {
		status = f.Status
	}
	switch {
	case status == 401, status == 403 && !quota:
		return model.KindAuth
	case status == 400 && containsAny(said, "api key not valid", "api_key_invalid", "invalid api key", "incorrect api key"):
		return model.KindAuth // Google's status for a wrong key
	case status == 402, quota: // MiniMax's with status 500 (MiniMax-AI/MiniMax-M2#62)
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
	case status == 504:
		return model.KindTimeout
	case status >= 500:
		return model.KindServer
	case status >= 300:
		return model.KindInvalidRequest
	}
	switch {
	case containsAny(said, "invalid_api_key", "authentication", "unauthorized", "invalid api key", "permission_error", "login fail"):
		return model.KindAuth
	case containsAny(said, "rate_limit", "rate limit", "too many requests"):
		return model.KindRateLimit
	case containsAny(said, "overloaded", "capacity", "unavailable"):
		return model.KindOverloaded
	case containsAny(said, "timeout", "timed out"):
		return model.KindTimeout
	case containsAny(said, "invalid_request", "invalid_prompt", "invalid_image", "_policy"):
		return model.KindInvalidRequest
	}
	return model.KindServer
}

// StatusError makes the error of an answer with an HTTP status that is no
// success.
func (e *Endpoint) StatusError(status int, h http.Header, body []byte) *model.Error {
	f := ReadFailure(body)
	if f.Message == "" && !isPage(h, body) {
		f.Message = string(body)
	}
	err := e.Failure(&f, status)
	if after := retryAfter(h, e.Now()); after > 0 {
		err.RetryAfter = after
		if err.Retryable && after > time.Minute && waitSaid(f.Message) == 0 { // longer than anybody waits here
			err.Message += ": try again in " + after.Round(time.Second).String()
		}
	}
	return err
}

// Said words a failure that came as an event or as the body of a success.
func (e *Endpoint) Said(raw []byte) *model.Error {
	f := ReadFailure(raw)
	if f.Message == "" && f.Code == "" && (f.Type == "" || f.Type == "error") {
		f.Message = string(raw)
	}
	return e.Failure(&f, 0)
}

// Failure puts a provider's failure into words: what failed, what the provider
// said, what to do.
func (e *Endpoint) Failure(f *Failure, status int) *model.Error {
	kind := f.kind(status)
	if status == 0 && f.Status >= 400 && f.Status < 600 {
		status = f.Status
	}
	var head, tail string
	switch kind {
	case model.KindAuth:
		head, tail = e.Name+" refused the API key", "set "+e.KeyName+" to a valid key, or run: acp-agent login"
		switch {
		case e.KeyName == "":
			head, tail = e.Name+" refused access", "it has no key: name the variable of one in the config file (api_key_env of [providers."+e.Name+"]), or set headers there"
		case status == 403:
			head, tail = e.Name+" refused access", "use a key that has it ("+e.KeyName+", or run: acp-agent login) or another model"
		}
	case model.KindQuota:
		head, tail = e.Name+" refused the request: no quota or balance is left", "top up the account or use another model"
	case model.KindRateLimit:
		head = e.Name + " limits the rate of requests"
	case model.KindContextOverflow:
		head, tail = "the request is longer than the model's context window", "compact the session or start a new one"
	case model.KindNotFound:
		head, tail = e.Name+" has no such model or address", "check the model's name and the base URL"
		if m := strings.ToLower(f.Message); strings.Contains(m, "tool") && strings.Contains(m, "support") {
			head, tail = e.Name+" refused the request", toolsNeeded // OpenRouter: "No endpoints found that support tool use"
		}
	case model.KindOverloaded:
		head = e.Name + " is overloaded"
	case model.KindTimeout:
		head = e.Name + " gave up waiting"
	case model.KindInvalidRequest:
		head, tail = e.Name+" refused the request", remedy(f, status)
	default:
		head = e.Name + " failed"
	}
	if status != 0 {
		head += " (HTTP " + strconv.Itoa(status) + ")"
	}
	said := f.Message
	if said == "" {
		said = f.Code
	}
	if said == "" {
		said = f.Type
	}
	if said = e.Clean(said); said != "" {
		head += ": " + said
	}
	if tail != "" {
		head += ": " + tail
	}
	err := &model.Error{Kind: kind, Status: status, Message: head, Retryable: kind.Retryable()}
	if err.Retryable {
		err.RetryAfter = waitSaid(f.Message)
	}
	return err
}

// wait matches how long a message asks to be left alone: "Please try again in
// 7.66s", "in 1m3.5s", "retry after 59 seconds".
var wait = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:try again|retry|wait)(?: in| after| for)? ((?:\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|sec|seconds?|m|min|minutes?|h|hours?)\b ?)+|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+)`)
})

// waitSaid reads how long a message asks to be left alone, 0 when it does not.
// Servers of all kinds say it there alone.
func waitSaid(message string) time.Duration {
	m := wait().FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	var sum time.Duration
	for rest := m[1]; rest != ""; {
		rest = strings.TrimLeft(rest, " ")
		i := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if i <= 0 {
			break
		}
		n, err := strconv.ParseFloat(rest[:i], 64)
		rest = strings.TrimLeft(rest[i:], " ")
		j := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
		if j < 0 {
			j = len(rest)
		}
		unit := time.Second
		switch word := strings.ToLower(rest[:j]); {
		case strings.HasPrefix(word, "ms"), strings.HasPrefix(word, "milli"):
			unit = time.Millisecond
		case strings.HasPrefix(word, "m"):
			unit = time.Minute
		case strings.HasPrefix(word, "h"):
			unit = time.Hour
		}
		if err != nil || n > 1e6 {
			return 0
		}
		sum += time.Duration(n * float64(unit))
		rest = rest[j:]
	}
	return sum
}

const toolsNeeded = "use a model that can call tools"

// remedy is what to do about a request that was refused, where that is not plain
// from what the provider says.
func remedy(f *Failure, status int) string {
	m := strings.ToLower(f.Message)
	switch {
	case status == 413:
		return "the request is too large for it: start a new session, or attach less"
	case containsAny(m, "reasoning_effort", "reasoning effort", "reasoningeffort", "reasoning.effort", "output_config", "thinking.type", "support thinking", "thinking is not supported"):
		return "set the effort to one that the model has, or leave it out (effort in the config file, ACP_AGENT_EFFORT)"
	case containsAny(m, "support tools", "support tool", "support function"):
		return toolsNeeded
	}
	return ""
}

// NoKey is the error of a request without a key to the provider's own address.
func (e *Endpoint) NoKey() *model.Error {
	return model.Errorf(model.KindAuth, "no API key for %s: set %s, or run: acp-agent login", e.Name, e.KeyName)
}

func (e *Endpoint) idleError(w *watch) *model.Error {
	if w.pinged() {
		return model.Errorf(model.KindTimeout, "%s sent nothing but keep-alives for %s", e.Name, w.quiet)
	}
	return model.Errorf(model.KindTimeout, "%s sent nothing for %s; if it is that slow, raise limits.idle_timeout in the config file", e.Name, e.Idle)
}

// isPage reports whether a body is a page for a browser: from a proxy, or from
// an address that is no API.
func isPage(h http.Header, body []byte) bool {
	return strings.Contains(h.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n\ufeff"), []byte("<"))
}

// retryAfter reads how long the provider wants to be left alone: ms, seconds or
// a date (RFC 9110 10.2.3).
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

// certFile is said where Go reads it: elsewhere the system's own store is all.
func certFile() string {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return " on this machine"
	}
	return " or name it in SSL_CERT_FILE"
}

// TransportError words a failure below HTTP. It names the host and never the
// address with its query or the key.
func (e *Endpoint) TransportError(err error) *model.Error {
	var ue *url.Error
	for errors.As(err, &ue) {
		err = ue.Err
	}
	out := &model.Error{
		Kind: model.KindTransport, Retryable: true, Err: err,
		Message: "cannot reach " + e.Host + ": " + e.Clean(err.Error()) + ": check the network, the proxy and the base URL",
	}
	var moved *redirected
	if errors.As(err, &moved) {
		out.Retryable = false
		out.Message = e.Host + " is no model's address: " + e.Clean(err.Error()) + ": make that the base URL if you trust it"
	}
	var ca x509.UnknownAuthorityError
	var hn x509.HostnameError
	var ci x509.CertificateInvalidError
	var cv *tls.CertificateVerificationError
	if errors.As(err, &ca) || errors.As(err, &hn) || errors.As(err, &ci) || errors.As(err, &cv) {
		out.Retryable = false
	}
	if errors.As(err, &ca) {
		out.Message = "cannot reach " + e.Host + ": " + e.Clean(err.Error()) + ": if a proxy of yours answers there, install its authority's certificate" + certFile()
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() && !errors.Is(err, context.DeadlineExceeded) {
		out.Kind = model.KindTimeout
	}
	return out
}

// secretShapes matches what looks like a key or a bearer token. It is compiled
// on first use: most runs never fail.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:bearer\s+[a-z0-9._~+/*=-]{6,}|(?:sk|pk|rk|key|api[-_]?key)[-_][a-z0-9_*-]{6,})`)
})

// Clean makes a provider's words fit for people and logs: one line, short, with
// nothing in it that is or looks like a key.
func (e *Endpoint) Clean(s string) string {
	for _, secret := range e.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	s = secretShapes().ReplaceAllString(s, "[redacted]")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	return Clip(strings.TrimRight(s, ". "), 300)
}

// Clip cuts s to n runes.
func Clip(s string, n int) string {
	i := 0
	for at := range s {
		if i++; i > n {
			return s[:at] + "…"
		}
	}
	return s
}
