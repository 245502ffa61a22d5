// Package responses is the model client for OpenAI's Responses wire, on which
// its newer models reason and call tools in one request; Chat Completions, one
// package up, refuses them that. Bodies are written and streams decoded
// here, because the first must be the same bytes for the same log on every
// version of an SDK, and the second runs once a delta. What is then left for the
// official SDK, one POST, does not pay for linking it (see wire.Poster); the
// tests hold bodies and streams to its types.
//
// Nothing is stored at the provider (store is false, no previous_response_id):
// the log alone says what the model sees. Reasoning comes back encrypted and is
// sent back as it came.
package responses

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// Client streams answers from one endpoint. It is safe for concurrent use.
type Client struct {
	cfg    model.Config
	end    wire.Endpoint
	poster *wire.Poster
	// official: the endpoint is OpenAI's own, which takes all its fields.
	official bool
	noKey    bool
	history  wire.History[int]
	// refused holds what the provider has refused of requests: see post.
	refused sync.Map
}

var _ model.Client = (*Client)(nil)

// New checks a configuration and returns its client. Nothing is sent, and the
// environment is not read (the SDK's own client would take keys, organisation
// and headers from it). "openai" brings its address and key name.
func New(cfg model.Config) (*Client, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "openai")
	home := ""
	if cfg.Provider == "openai" {
		home = "https://api.openai.com/v1"
	}
	addr, end, err := wire.Open(&cfg, home, "/responses")
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, end: end, official: addr.Host == "api.openai.com"}
	if c.poster, err = wire.NewPoster(cfg.HTTPClient, addr, "responses", wire.Bearer(&cfg)); err != nil {
		return nil, err
	}
	c.noKey = cfg.APIKey == "" && c.official
	return c, nil
}

// Stream sends the request and streams its answer.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	post := func(ctx context.Context) (*http.Response, error) { return c.post(ctx, req) }
	return c.end.Stream(ctx, post, func(y *wire.Yield) wire.Answer { return newAnswer(y, &c.end) })
}

// without says what a request leaves out that the provider has refused.
type without struct{ reasoning, summary, include, limit, effort bool }

// noSummary is the key in Client.refused of accounts without summaries; sessions
// without reasoning are there by their id, and models without more by their name
// behind ofModel.
const (
	noSummary = "\x00summary"
	ofModel   = "\x00model "
)

// after returns what is left out after a refusal of a request that left w out, and
// whether that is more. Where the refusal is of what is sealed, it may be of what
// is sent back or, from a model that does not reason, of the question for more.
func (w without) after(refusal string) (without, bool) {
	m, now := strings.ToLower(refusal), w
	sealed := strings.Contains(m, "encrypted")
	switch {
	case strings.Contains(m, "summar") && strings.Contains(m, "reasoning") && !w.summary:
		now.summary = true
	case sealed && (strings.Contains(m, "include") || strings.Contains(m, "not supported")) && !w.include:
		now.include = true
	case (sealed || strings.Contains(m, "of type 'reasoning'")) && !w.reasoning:
		now.reasoning = true
	case sealed || strings.Contains(m, "include"):
		now.include = true
	case strings.Contains(m, "max_output_tokens"):
		now.limit = true
	case strings.Contains(m, "effort"):
		now.effort = true
	}
	return now, now != w
}

// post sends the request. Some things a provider refuses for good, whatever the
// person does: reasoning whose encryption it cannot undo any more (of another
// organisation, or of a model that is gone), summaries of reasoning for an
// organisation that is not verified, and what a model or a server does not have: to
// have its reasoning sealed ("Encrypted content is not supported with this model",
// NousResearch/hermes-agent#24234), so much output, or the effort. The request is then sent once
// more without them; no output has come yet.
func (c *Client) post(ctx context.Context, req *model.Request) (*http.Response, error) {
	if c.noKey {
		return nil, c.end.NoKey()
	}
	known := ofModel + req.Head.Config.Model
	v, _ := c.refused.Load(known)
	w, _ := v.(without)
	_, w.reasoning = c.refused.Load(req.SessionID)
	_, w.summary = c.refused.Load(noSummary)
	for first := w; ; {
		res, err := c.send(ctx, req, w)
		if err == nil && w != first {
			c.remember(req.SessionID, known, w)
		}
		var e *model.Error
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity || e.Kind == model.KindContextOverflow {
			return res, err
		}
		next, more := w.after(e.Message)
		if !more {
			return res, err
		}
		if w = next; res != nil {
			res.Body.Close()
		}
	}
}

// remember keeps what an answered request left out. Where what is asked for was
// what was refused, it was not what was sent back.
func (c *Client) remember(session, known string, w without) {
	if w.include || w.limit || w.effort {
		c.refused.Store(known, without{include: w.include, limit: w.limit, effort: w.effort})
	}
	if w.summary {
		c.refused.Store(noSummary, true)
	}
	if w.reasoning && !w.include && session != "" {
		c.refused.Store(session, true)
	}
}

// send posts the request and returns the answer once its head is there. The
// error is a *model.Error unless ctx ended.
func (c *Client) send(ctx context.Context, req *model.Request, w without) (*http.Response, error) {
	known := c.history.Take(req.Conversation())
	body, err := c.write(req, w, known)
	if err != nil {
		return nil, model.Errorf(model.KindInvalidRequest, "writing the request for %s: %w", c.end.Name, err)
	}
	c.history.Keep(known)
	res, err := c.poster.Post(ctx, body...)
	if res != nil && res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		return res, c.end.StatusError(res.StatusCode, res.Header, text)
	}
	if err != nil {
		return res, c.end.TransportError(err)
	}
	return res, nil
}
