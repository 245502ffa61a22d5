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
	"context"
	"errors"
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

const (
	// version is the one that every server of this wire knows and that the bodies
	// here are written for; Config.Headers may say another.
	version = "2023-06-01"
	// betaInterleaved lets models that think by budget think between tool calls;
	// the adaptive ones do so by themselves (build-with-claude/extended-thinking).
	betaInterleaved = "interleaved-thinking-2025-05-14"
	// betaBinding lets a request say what happens to thinking blocks whose
	// conversation has changed (build-with-claude/preserved-thinking).
	betaBinding = "thinking-binding-controls-2026-08-01"
)

// Config says which endpoint a Client talks to. The zero value of a field is
// its default.
type Config struct {
	// Provider is the name in model references and logs; "anthropic" brings its
	// address and key name, any other needs BaseURL.
	Provider string
	// BaseURL is the address below which v1/messages lies.
	BaseURL string
	// APIKey goes out as x-api-key, which all servers of the wire know; empty
	// sends none, which only an own BaseURL accepts.
	APIKey string
	// Bearer sends APIKey as Authorization: Bearer instead, as gateways want it.
	Bearer bool
	// KeyName is the environment variable that errors tell people to set. Without one
	// it is named after the provider, where there is a key or the address is its own.
	KeyName string
	// Model is asked for when a request names none.
	Model string
	// Headers go out with each request. An Authorization header replaces the key.
	Headers map[string]string
	// UserAgent names the program.
	UserAgent string
	// HTTPClient carries the requests.
	HTTPClient *http.Client
	// IdleTimeout is the longest silence of a stream, two minutes by default; any
	// bytes count as activity. It also bounds the wait for the answer's head. Of
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
	cfg    Config
	end    wire.Endpoint
	poster *wire.Poster
	// official: the endpoint is Anthropic's own, which takes all its betas.
	official bool
	noKey    bool
	history  wire.History[place]
	// betas are those of Config.Headers.
	betas []string
	// terms are those of sessions, by their id, and of models, by their name behind
	// ofModel: see post.
	terms sync.Map
}

var _ model.Client = (*Client)(nil)

// New checks a configuration and returns its client. Nothing is sent, and the
// environment is not read.
func New(cfg Config) (*Client, error) {
	if cfg.Provider == "" {
		cfg.Provider = "anthropic"
	}
	fixed := cfg.BaseURL == "" && cfg.Provider == "anthropic"
	if fixed {
		cfg.BaseURL = "https://api.anthropic.com"
	}
	if cfg.BaseURL == "" {
		return nil, errors.New("model provider " + cfg.Provider + ": no base URL is configured")
	}
	addr, err := wire.ParseAddress(cfg.Provider, cfg.BaseURL, "/messages", "/v1")
	if err != nil {
		return nil, err
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
	c := &Client{cfg: cfg, official: addr.Host == "api.anthropic.com"}
	c.end = wire.Endpoint{Name: cfg.Provider, Host: addr.Host, KeyName: cfg.KeyName, Idle: cfg.IdleTimeout, Now: cfg.now}
	c.end.AddSecret(addr.Secrets...)
	header := http.Header{}
	header.Set("Anthropic-Version", version)
	if cfg.UserAgent != "" {
		header.Set("User-Agent", cfg.UserAgent)
	}
	authorized := false
	for k, v := range cfg.Headers {
		c.end.AddSecret(v)
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
	if cfg.APIKey != "" {
		c.end.AddSecret(cfg.APIKey)
		switch {
		case authorized:
		case cfg.Bearer:
			header.Set("Authorization", "Bearer "+cfg.APIKey)
		default:
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
