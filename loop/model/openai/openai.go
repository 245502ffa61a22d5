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
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// dialect is how a provider departs from OpenAI's wire.
type dialect string

// The dialects.
const (
	// dialectOpenAI: max_completion_tokens, reasoning_effort, prompt_cache_key,
	// tool results in parts, reasoning is never sent back.
	dialectOpenAI dialect = "openai"
	// dialectDeepSeek: max_tokens, thinking, reasoning_content sent back.
	dialectDeepSeek dialect = "deepseek"
	// dialectGeneric is what any compatible server takes: nothing but the fields
	// that nearly all know; what one refuses is left out from then on.
	dialectGeneric dialect = "generic"
)

// Client streams answers from one endpoint. It is safe for concurrent use.
type Client struct {
	cfg     model.Config
	dialect dialect
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
// and headers from it). "deepseek" and "openai" bring their address, key name and
// dialect.
func New(cfg model.Config) (*Client, error) { return newClient(cfg, "") }

// newClient is New with a dialect that overrides what provider and address suggest.
func newClient(cfg model.Config, speaks dialect) (*Client, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "openai")
	fixed, home := cfg.BaseURL == "", ""
	switch cfg.Provider {
	case "deepseek":
		home = "https://api.deepseek.com"
	case "openai":
		home = "https://api.openai.com/v1"
	}
	addr, end, err := wire.Open(&cfg, home, "/chat/completions")
	if err != nil {
		return nil, err
	}
	host, _, _ := strings.Cut(addr.Host, ":")
	c := &Client{cfg: cfg, dialect: cmp.Or(speaks, dialectOf(cfg.Provider, host)), end: end, noKey: fixed && cfg.APIKey == ""}
	if c.poster, err = wire.NewPoster(cfg.HTTPClient, addr, "chat/completions", wire.Bearer(&cfg)); err != nil {
		return nil, err
	}
	return c, nil
}

func dialectOf(provider, host string) dialect {
	switch {
	case provider == "deepseek", host == "api.deepseek.com":
		return dialectDeepSeek
	case provider == "openai":
		return dialectOpenAI
	}
	return dialectGeneric
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
		if c.dialect != dialectOpenAI {
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
	return c.dialect == dialectGeneric && wantsReasoning(req.Head.Config.Model)
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
