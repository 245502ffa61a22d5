// Package openai is the model client for the Chat Completions wire, which
// OpenAI, DeepSeek and most other providers speak. Bodies are
// written and streams decoded here, because the first must be the same bytes for
// the same log on every version of an SDK, and the second runs once a delta.
// What is then left for the official SDK, one POST, does not pay for linking it
// (see wire.Poster); the tests hold bodies and streams to its types.
//
// What providers do otherwise than the documents say is collected in
// translate.go and event.go, each with its test.
package openai

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
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
	// DialectGeneric is what any compatible server takes: nothing but the
	// fields that all know.
	DialectGeneric Dialect = "generic"
)

// DefaultIdleTimeout is how long a stream may be silent. DeepSeek sends comments
// while a request waits for its turn, so silence means that nobody is there;
// 90 s proved too short in the field (deepseek-ai/DeepSeek-V3#1608).
const DefaultIdleTimeout = 120 * time.Second

// tailWait bounds the wait for what may follow the finish (usage, the end mark)
// from a server that keeps the connection open after it: the answer is there.
const tailWait = 5 * time.Second

// drainWait bounds the read after the end mark that lets a connection be used
// again.
const drainWait = 100 * time.Millisecond

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
	// KeyName is the environment variable that errors tell people to set.
	KeyName string
	// Model is asked for when a request names none.
	Model string
	// Headers go out with each request.
	Headers map[string]string
	// UserAgent names the program.
	UserAgent string
	// HTTPClient carries the requests.
	HTTPClient *http.Client
	// IdleTimeout is DefaultIdleTimeout; any bytes count as activity, comments
	// included. It also bounds the wait for the answer's head.
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
	poster  *wire.Poster
	host    string
	secrets []string
	history history
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
	if cfg.KeyName == "" {
		cfg.KeyName = wire.EnvName(cfg.Provider)
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = http.DefaultClient
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	c := &Client{cfg: cfg, host: addr.Host}
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
		c.secrets = append(c.secrets, cfg.APIKey)
	}
	if cfg.UserAgent != "" {
		header.Set("User-Agent", cfg.UserAgent)
	}
	for k, v := range cfg.Headers {
		header.Set(k, v)
		if len(v) >= 8 {
			c.secrets = append(c.secrets, v)
		}
	}
	if c.poster, err = wire.NewPoster(cfg.HTTPClient, addr, "chat/completions", header); err != nil {
		return nil, err
	}
	if fixed && cfg.APIKey == "" {
		c.host = "" // Stream says that the key is missing
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

func (c *Client) name() string { return c.cfg.Provider }

// info returns what is known of a model.
func (c *Client) info(name string) entry {
	e := lookup(c.cfg.Provider, name)
	if c.cfg.Info != nil {
		e.Info = *c.cfg.Info
	}
	return e
}

// plainBody undoes a compression that was not asked for.
func plainBody(res *http.Response, r io.Reader) (io.Reader, error) {
	switch enc := strings.ToLower(res.Header.Get("Content-Encoding")); enc {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return &lazyGzip{r: r}, nil
	default:
		return nil, fmt.Errorf("the answer is encoded as %q, which was not asked for", clip(enc, 30))
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

// watch cancels a request when one wait lasts too long. Only waiting for the
// provider counts, not the time that the consumer takes between two chunks.
type watch struct {
	timer *time.Timer
	limit time.Duration
}

func newWatch(limit time.Duration, expire func()) *watch {
	t := time.AfterFunc(limit, expire)
	t.Stop()
	return &watch{timer: t, limit: limit}
}

func (w *watch) arm()    { w.timer.Reset(w.limit) }
func (w *watch) disarm() { w.timer.Stop() }

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

// Stream sends the request and streams its answer.
func (c *Client) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		fail := func(err error) {
			if cerr := ctx.Err(); cerr != nil {
				err = cerr
			}
			yield(session.Chunk{}, err)
		}
		if c.host == "" {
			fail(model.Errorf(model.KindAuth, "no API key for %s: set %s, or run: acp-agent login", c.name(), c.cfg.KeyName))
			return
		}
		known := c.history.take(req.SessionID)
		head, messages, err := c.write(req, known)
		if err != nil {
			fail(model.Errorf(model.KindInvalidRequest, "writing the request for %s: %w", c.name(), err))
			return
		}
		c.history.keep(known)
		if ctx.Err() != nil {
			fail(nil)
			return
		}
		rctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		w := newWatch(c.cfg.IdleTimeout, func() { cancel(errIdle) })
		defer w.disarm()
		w.arm()
		res, err := c.post(rctx, head, messages, bodyEnd)
		w.disarm()
		if res != nil {
			defer res.Body.Close()
		}
		if err != nil {
			if errors.Is(context.Cause(rctx), errIdle) {
				err = c.idleError()
			}
			fail(err)
			return
		}
		r, err := plainBody(res, &watched{res.Body, w})
		if err != nil {
			fail(model.Errorf(model.KindMalformed, "%s answered unreadably: %w", c.name(), err))
			return
		}
		d := &decoder{c: c, t: newTranslator(yield), sse: newSSE(r), watch: w, fail: fail, idle: func() bool {
			return errors.Is(context.Cause(rctx), errIdle)
		}}
		if c.cfg.Dialect != DialectOpenAI {
			// DeepSeek's models are served by many; OpenAI serves its own.
			d.t.filter = newMarkupFilter(c.name(), req.Head.Tools)
		}
		d.run(res.Header)
	}
}

func (c *Client) idleError() *model.Error {
	return model.Errorf(model.KindTimeout, "%s sent nothing for %s", c.name(), c.cfg.IdleTimeout)
}

// post sends the parts of a body and returns the answer once its head is there. The error
// is a *model.Error unless ctx ended.
func (c *Client) post(ctx context.Context, body ...[]byte) (*http.Response, error) {
	res, err := c.poster.Post(ctx, body...)
	if res != nil && res.StatusCode >= 300 {
		text, _ := io.ReadAll(res.Body)
		return res, c.statusError(res.StatusCode, res.Header, text)
	}
	if err != nil {
		return res, c.transportError(err)
	}
	return res, nil
}
