// Package anthropic is the model client for the Messages wire, which Anthropic
// and several gateways speak. Bodies are written and streams decoded here: the first
// must be the same bytes for the same log on every version of an SDK, and the second
// runs once a delta. What goes out is a wire.Poster's.
//
// Thinking is the part that needs care. Its signatures go back exactly as they
// came, and a provider refuses a request for good when one is missing, foreign
// or out of place; request.go says which blocks are sent, and Stream recovers
// when they are refused all the same.
package anthropic

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

const (
	// version is the one that every server of this wire knows and that the bodies
	// here are written for; the configuration's headers may say another.
	version = "2023-06-01"
	// betaInterleaved lets models that think by budget think between tool calls;
	// the adaptive ones do so by themselves (build-with-claude/extended-thinking).
	betaInterleaved = "interleaved-thinking-2025-05-14"
	// betaBinding lets a request say what happens to thinking blocks whose
	// conversation has changed (build-with-claude/preserved-thinking).
	betaBinding = "thinking-binding-controls-2026-08-01"
)

// Client streams answers from one endpoint. It is safe for concurrent use.
type Client struct {
	cfg    model.Config
	end    wire.Endpoint
	poster *wire.Poster
	// official: the endpoint is Anthropic's own, which takes all its betas.
	official bool
	noKey    bool
	history  wire.History[place]
	// betas are those of the configuration's headers.
	betas []string
	// terms are those of sessions, by their id, and of models, by their name behind
	// ofModel: see post.
	terms sync.Map
}

var _ model.Client = (*Client)(nil)

// New checks a configuration and returns its client. Nothing is sent, and the
// environment is not read. "anthropic" brings its address and key name. The key goes
// out as x-api-key, which all servers of the wire know; an Authorization header
// replaces it.
func New(cfg model.Config) (*Client, error) {
	cfg.Provider = cmp.Or(cfg.Provider, "anthropic")
	home := ""
	if cfg.Provider == "anthropic" {
		home = "https://api.anthropic.com"
	}
	addr, end, err := wire.Open(&cfg, home, "/messages", "/v1")
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, end: end, official: addr.Host == "api.anthropic.com"}
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if cfg.UserAgent != "" {
		header.Set("User-Agent", cfg.UserAgent)
	}
	authorized := false
	for k, v := range cfg.Headers {
		switch strings.ToLower(k) {
		case "anthropic-beta":
			for b := range strings.SplitSeq(v, ",") {
				c.betas = append(c.betas, strings.TrimSpace(b))
			}
			continue
		case "authorization", "x-api-key":
			authorized = true
		}
		header.Set(k, v)
	}
	if cfg.APIKey != "" && !authorized {
		if cfg.Bearer {
			header.Set("Authorization", "Bearer "+cfg.APIKey)
		} else {
			header.Set("X-Api-Key", cfg.APIKey)
		}
	}
	if c.poster, err = wire.NewPoster(cfg.HTTPClient, addr, "v1/messages", header); err != nil {
		return nil, err
	}
	c.noKey = cfg.APIKey == "" && !authorized && c.official
	return c, nil
}

// maxPauses bounds how often a paused turn is continued.
const maxPauses = 16

// Stream sends the request and streams its answer.
//
// A turn that the provider pauses (only tools that it runs itself make it) goes
// on when its output is sent back, so that is done here: to the session it is
// one answer.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		var said []byte
		var last *answer
		for pauses := 0; ; pauses++ {
			post := func(ctx context.Context) (*http.Response, error) { return c.post(ctx, req, said) }
			start := func(y *wire.Yield) wire.Answer {
				a := newAnswer(y, &c.end, req)
				if last != nil {
					a.next, a.before, a.said = last.next, last.before.Add(last.usage), last.said
				}
				last = a
				return a
			}
			again := false
			for chunk, err := range c.end.Stream(ctx, post, start) {
				again = err == nil && chunk.Type == session.ChunkFinish && last.paused() && pauses < maxPauses
				if !again && !yield(chunk, err) {
					return
				}
			}
			if !again {
				return
			}
			if more := last.content(); len(more) > 0 {
				if len(said) > 0 {
					said = append(said, ',')
				}
				said = append(said, more...)
			}
		}
	}
}

// post sends the request, on the terms that the endpoint has made known.
func (c *Client) post(ctx context.Context, req *model.Request, said []byte) (*http.Response, error) {
	if c.noKey {
		return nil, c.end.NoKey()
	}
	known := ofModel + req.Head.Config.Model
	v, _ := c.terms.Load(known)
	t, _ := v.(terms)
	_, t.bare = c.terms.Load(req.SessionID)
	for first := t; ; {
		res, err := c.send(ctx, req, said, t)
		if err == nil {
			if t.bare && !first.bare && req.SessionID != "" {
				c.terms.Store(req.SessionID, true)
			}
			if t.bare = first.bare; t != first {
				c.terms.Store(known, terms{unsigned: t.unsigned, plain: t.plain, most: t.most})
			}
			return res, nil
		}
		var e *model.Error
		if !errors.As(err, &e) {
			return res, err
		}
		next, other := c.after(t, e, &req.Head.Config)
		if !other {
			return res, err
		}
		if t = next; res != nil {
			res.Body.Close()
		}
	}
}

// send posts the request and returns the answer once its head is there. The
// error is a *model.Error unless ctx ended.
func (c *Client) send(ctx context.Context, req *model.Request, said []byte, t terms) (*http.Response, error) {
	known := c.history.Take(req.Conversation())
	body, betas, err := c.write(req, said, t, known)
	if err != nil {
		return nil, model.Errorf(model.KindInvalidRequest, "writing the request for %s: %w", c.end.Name, err)
	}
	c.history.Keep(known)
	var more http.Header
	if betas = slices.Concat(c.betas, betas); len(betas) > 0 {
		more = http.Header{"Anthropic-Beta": {strings.Join(betas, ",")}}
	}
	res, err := c.poster.PostWith(ctx, more, body...)
	if res != nil && res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		return res, c.end.StatusError(res.StatusCode, res.Header, text)
	}
	if err != nil {
		return res, c.end.TransportError(err)
	}
	return res, nil
}
