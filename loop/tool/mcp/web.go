package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// webClient is the HTTP client of one connection. close ends all that it has under
// way, as does the end of the set: the SDK detaches its requests from contexts.
type webClient struct {
	client *http.Client
	base   *http.Transport
	open   context.Context
	close  context.CancelFunc
	url    *url.URL
	header map[string]string
}

func newWebClient(hard context.Context, cfg Server) (*webClient, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its URL is not an http or https one")
	}
	w := &webClient{url: u, header: cfg.Headers, base: http.DefaultTransport.(*http.Transport).Clone()}
	// A stream of a server may be silent for hours; one that died without a word, as
	// while the machine slept, would be waited for as long.
	w.base.HTTP2 = &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}
	w.client = &http.Client{Transport: w}
	w.open, w.close = context.WithCancel(hard)
	context.AfterFunc(w.open, w.base.CloseIdleConnections)
	return w, nil
}

// RoundTrip implements http.RoundTripper. The headers often hold a key, so they
// go to the server's own host alone, wherever a redirect leads, and never from
// https back to http.
func (w *webClient) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(w.open, cancel)
	r = r.Clone(ctx)
	if r.URL.Host == w.url.Host && (r.URL.Scheme == w.url.Scheme || r.URL.Scheme == "https") {
		for k, v := range w.header {
			if strings.EqualFold(k, "Host") {
				r.Host = v
				continue
			}
			r.Header.Set(k, v)
		}
	}
	res, err := w.base.RoundTrip(r)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	res.Body = &body{res.Body, func() { stop(); cancel() }}
	return res, nil
}

// body lets go of a request's context with its answer.
type body struct {
	io.ReadCloser
	done func()
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.done()
	return err
}

// redact takes the server's URL out of a text, apart from the host: it may hold
// a key.
func (s *server) redact(text string) string {
	u, err := url.Parse(s.cfg.URL)
	if err != nil || s.cfg.URL == "" {
		return text
	}
	short := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	for _, full := range []string{s.cfg.URL, u.String()} {
		text = strings.ReplaceAll(text, full, short)
	}
	if u.User != nil {
		if p, ok := u.User.Password(); ok && p != "" {
			text = strings.ReplaceAll(text, p, "xxxxx")
		}
	}
	if u.RawQuery != "" {
		text = strings.ReplaceAll(text, u.RawQuery, "…")
	}
	return text
}

// clean makes an error fit to be shown.
func (s *server) clean(err error) error {
	if text := s.redact(err.Error()); text != err.Error() {
		return &callError{text, err}
	}
	return err
}
