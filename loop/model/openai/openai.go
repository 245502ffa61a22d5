// Package openai is the model client for the Chat Completions wire, which
// OpenAI, DeepSeek and most other providers speak. Bodies are
// written and streams decoded here, because the first must be the same bytes for
// the same log on every version of an SDK, and the second runs once a delta.
// What is then left for the official SDK, one POST, does not pay for linking it
// (see wire.Poster); the tests hold bodies and streams to its types.
//
// What providers do otherwise than the documents say is collected in translate.go
// and event.go, what they refuse in terms.go, and what they want back in sealed.go,
// each with its test.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// Dialect is how a provider departs from OpenAI's wire.
type Dialect string

// The dialects.
const (
	// DialectOpenAI: max_completion_tokens, reasoning_effort, prompt_cache_key,
	// tool results in parts, reasoning is never sent back.
	DialectOpenAI Dialect = "openai"
	// DialectDeepSeek: max_tokens, thinking, reasoning_content sent back.
	DialectDeepSeek Dialect = "deepseek"
	// DialectGeneric is what any compatible server takes: nothing but the fields
	// that nearly all know; what one refuses is left out from then on.
	DialectGeneric Dialect = "generic"
)

// Config says which endpoint a Client talks to. The zero value of a field is
// its default.
type Config struct {
	// Provider is the name in model references and logs; "deepseek" and "openai"
	// bring their address, key name and dialect, any other needs BaseURL.
	Provider string
	// Dialect overrides what Provider and BaseURL suggest.
	Dialect Dialect
	// BaseURL is the address below which chat/completions lies.
	BaseURL string
	// APIKey goes out as a bearer token; empty sends none, which only an own
	// BaseURL accepts.
	APIKey string
	// KeyName is the environment variable that errors tell people to set. Without one
	// it is named after the provider, where there is a key or the address is its own.
	KeyName string
	// Model is asked for when a request names none.
	Model string
	// Headers go out with each request.
	Headers map[string]string
	// UserAgent names the program.
	UserAgent string
	// HTTPClient carries the requests.
	HTTPClient *http.Client
	// IdleTimeout is the longest silence of a stream, two minutes by default; any
	// bytes count as activity, comments included: DeepSeek sends them while a
	// request waits for its turn. It also bounds the wait for the answer's head. Of
	// keep-alives alone there may be three times as much, and 15 minutes at least.
	IdleTimeout time.Duration
	// MaxTokens bounds the output of requests that set no bound.
	MaxTokens int64
	// Info overrides the table of known models.
	Info *model.Info

	now func() time.Time
}

// Client streams answers from one endpoint. It is safe for concurrent use.
type Client struct {
	cfg     Config
	end     wire.Endpoint
	poster  *wire.Poster
	noKey   bool
	history wire.History[int]
	// terms are those of each model, by its name.
	terms sync.Map
}

var _ model.Client = (*Client)(nil)

// New checks a configuration and returns its client. Nothing is sent, and the
// environment is not read (the SDK's own client would take keys, organisation
// and headers from it).
func New(cfg Config) (*Client, error) {
	if cfg.Provider == "" {
		cfg.Provider = "openai"
	}
	fixed := cfg.BaseURL == ""
	if fixed {
		switch cfg.Provider {
		case "deepseek":
			cfg.BaseURL = "https://api.deepseek.com"
		case "openai":
			cfg.BaseURL = "https://api.openai.com/v1"
		default:
			return nil, fmt.Errorf("model provider %q: no base URL is configured", cfg.Provider)
		}
	}
	addr, err := wire.ParseAddress(cfg.Provider, cfg.BaseURL, "/chat/completions")
	if err != nil {
		return nil, err
	}
	if cfg.Dialect == "" {
		host, _, _ := strings.Cut(addr.Host, ":")
		cfg.Dialect = dialectOf(cfg.Provider, host)
	}
	if cfg.KeyName == "" && (fixed || cfg.APIKey != "") {
		cfg.KeyName = wire.EnvName(cfg.Provider)
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = wire.DefaultIdleTimeout
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = wire.DefaultClient()
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	c := &Client{cfg: cfg, noKey: fixed && cfg.APIKey == ""}
	c.end = wire.Endpoint{Name: cfg.Provider, Host: addr.Host, KeyName: cfg.KeyName, Idle: cfg.IdleTimeout, Now: cfg.now}
	c.end.AddSecret(addr.Secrets...)
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
		c.end.AddSecret(cfg.APIKey)
	}
	if cfg.UserAgent != "" {
		header.Set("User-Agent", cfg.UserAgent)
	}
	for k, v := range cfg.Headers {
		header.Set(k, v)
		c.end.AddSecret(v)
	}
	if c.poster, err = wire.NewPoster(cfg.HTTPClient, addr, "chat/completions", header); err != nil {
		return nil, err
	}
	return c, nil
}

func dialectOf(provider, host string) Dialect {
	switch {
	case provider == "deepseek", host == "api.deepseek.com":
		return DialectDeepSeek
	case provider == "openai":
		return DialectOpenAI
	}
	return DialectGeneric
}

// info returns what is known of a model.
func (c *Client) info(name string) entry {
	e := lookup(c.cfg.Provider, name)
	if c.cfg.Info != nil {
		e.Info = *c.cfg.Info
	}
	return e
}

// Stream sends the request and streams its answer. A refusal that comes with the
// status of a success (LM Studio's do) is heeded as any other while there is
// nothing of an answer.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	post := func(ctx context.Context) (*http.Response, error) { return c.post(ctx, req) }
	start := func(y *wire.Yield) wire.Answer {
		t := newTranslator(y, &c.end)
		if c.cfg.Dialect != DialectOpenAI {
			// DeepSeek's models are served by many; OpenAI serves its own.
			t.filter = newMarkupFilter(c.end.Name, req.Head.Tools)
		}
		return t
	}
	return func(yield func(session.Chunk, error) bool) {
		for tried := []terms{c.termsOf(req)}; ; {
			again, begun := false, false
			for chunk, err := range c.end.Stream(ctx, post, start) {
				if again = !begun && c.heeds(req, err, &tried); again {
					break
				}
				if err != nil && !begun && len(tried) > 1 {
					c.terms.Store(req.Head.Config.Model, tried[0]) // that was not it
				}
				begun = true
				if !yield(chunk, err) {
					return
				}
			}
			if !again {
				return
			}
		}
	}
}

// termsOf returns the terms of a request's model.
func (c *Client) termsOf(req *model.Request) terms {
	known, _ := c.terms.Load(req.Head.Config.Model)
	t, _ := known.(terms)
	return t
}

// guesses reports whether a model's name decides that its reasoning is sent back.
func (c *Client) guesses(req *model.Request) bool {
	return c.cfg.Dialect == DialectGeneric && wantsReasoning(req.Head.Config.Model)
}

// heeds takes a refusal inside an answer, and reports whether the request is to be
// sent on other terms than those that were tried.
func (c *Client) heeds(req *model.Request, err error, tried *[]terms) bool {
	var refusal *model.Error
	if !errors.As(err, &refusal) || refusal.Status != 0 {
		return false
	}
	t := c.termsOf(req)
	body, werr := c.write(req, t, new(written))
	if werr != nil {
		return false
	}
	next, other := t.after(refusal, []byte(refusal.Message), body[0], c.guesses(req))
	if !other || slices.Contains(*tried, next) {
		return false
	}
	*tried = append(*tried, next)
	c.terms.Store(req.Head.Config.Model, next)
	return true
}

// post sends the request, on the terms that the endpoint has made known, and
// returns the answer once its head is there. The error is a *model.Error unless ctx
// ended.
func (c *Client) post(ctx context.Context, req *model.Request) (*http.Response, error) {
	if c.noKey {
		return nil, c.end.NoKey()
	}
	t := c.termsOf(req)
	for tried := []terms{t}; ; tried = append(tried, t) {
		res, said, head, err := c.send(ctx, req, t)
		var refusal *model.Error
		if err == nil && t != tried[0] {
			c.terms.Store(req.Head.Config.Model, t)
		}
		if err == nil || !errors.As(err, &refusal) {
			return res, err
		}
		next, other := t.after(refusal, said, head, c.guesses(req))
		if !other || slices.Contains(tried, next) {
			return res, err
		}
		if t = next; res != nil {
			res.Body.Close()
		}
	}
}

// send posts the request on some terms. said is the body of a refusal, head the
// part of the request that was sent before its messages.
func (c *Client) send(ctx context.Context, req *model.Request, t terms) (res *http.Response, said, head []byte, err error) {
	known := new(written)
	if !t.has(alternate) { // else the last message may go on
		known = c.history.Take(req.Conversation())
	}
	body, err := c.write(req, t, known)
	if err != nil {
		return nil, nil, nil, model.Errorf(model.KindInvalidRequest, "writing the request for %s: %w", c.end.Name, err)
	}
	c.history.Keep(known)
	res, err = c.poster.Post(ctx, body...)
	if res != nil && res.StatusCode >= 300 {
		said, _ = io.ReadAll(res.Body)
		return res, said, body[0], c.end.StatusError(res.StatusCode, res.Header, said)
	}
	if err != nil {
		return res, nil, nil, c.end.TransportError(err)
	}
	return res, nil, nil, nil
}
