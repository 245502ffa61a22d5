// Package web is the tool that fetches a page of the web for the model to read:
// HTML as Markdown, other text as it is, an image as an image. It keeps nothing from
// one call to the next and sends no cookie and no key. It decides nothing about
// permission; so that the one that was given for a host stays with it, it follows no
// redirect to another.
package web

import (
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/net/idna"

	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

const (
	maxBody      = 5 << 20 // bytes that are read of a page
	maxResult    = 100_000 // bytes of text that the model gets
	maxFailure   = 4_000   // bytes of it where the server reports a failure
	maxRedirects = 10      // within the host
	timeout      = time.Minute
)

type fetchArgs struct {
	URL string `json:"url" jsonschema:"example=https://example.com/page" jsonschema_description:"The address of the page, with http:// or https://."`
}

// fetchResponse is hooks.FetchResponse.
type fetchResponse struct {
	URL        string `json:"url"`
	Status     int    `json:"status"`
	Bytes      int    `json:"bytes"`
	Content    string `json:"content"`
	DurationMs int64  `json:"durationMs"`
}

//go:embed schemas/web_fetch.json
var schemaFile string

var schema = tool.Schema(schemaFile)

// Fetch is web_fetch.
type Fetch struct {
	client    func() *http.Client // made by the first call
	userAgent string
	now       func() time.Time
}

// New returns the tool. userAgent is how it names itself to servers. Proxies are
// those of the process's environment (HTTPS_PROXY and so on).
func New(userAgent string) *Fetch {
	return &Fetch{client: sync.OnceValue(newClient), userAgent: userAgent, now: time.Now}
}

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = timeout / 2
	t.MaxResponseHeaderBytes = 64 << 10
	t.DisableKeepAlives = true // a session fetches now and then, and a process has many
	return &http.Client{Transport: t, CheckRedirect: stayOnHost}
}

// Spec describes the tool. Fetching changes nothing here, but what an address holds
// is told to its server: it needs permission.
func (*Fetch) Spec() tool.Spec {
	return tool.Spec{
		Name: "web_fetch",
		Description: "Fetches a page of the web by GET and returns it as text: HTML as Markdown, other text as it is, " +
			"images as images. A redirect to another host is not followed but reported: fetch that address if you want it. " +
			"For pages that need a login use a command line tool that has one.",
		Schema: schema(), Kind: tool.KindFetch, Hinted: true,
	}
}

// View names the address.
func (*Fetch) View(_ *tool.Env, input json.RawMessage) tool.View {
	return tool.View{Title: tool.Title("Fetch " + tool.Peek[fetchArgs](input).URL)}
}

// Check refuses what is no address of a page.
func (*Fetch) Check(input json.RawMessage) error {
	_, err := address(input)
	return err
}

func address(input json.RawMessage) (*url.URL, error) {
	a, err := tool.Decode[fetchArgs](input)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(a.URL)
	fault := ""
	switch {
	case err != nil:
		fault = "is not a URL: " + errors.Unwrap(err).Error()
	case u.Scheme != "http" && u.Scheme != "https":
		fault = "must begin with http:// or https://"
	case u.Hostname() == "":
		fault = "names no host"
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r > unicode.MaxASCII }):
		// It would go to another name than the one that the person reads and that
		// rules are about.
		fault = "must name its host in ASCII"
		if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil {
			fault += ": " + host
		}
	case u.User != nil:
		fault = "must not hold a user or a password"
	default:
		u.Fragment, u.RawFragment = "", ""
		return u, nil
	}
	return nil, &tool.ArgumentError{Faults: []string{`"url" ` + fault}}
}

// stayOnHost follows redirects on one host, from http to https as well.
func stayOnHost(req *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	same := strings.EqualFold(req.URL.Hostname(), last.Hostname()) && req.URL.User == nil &&
		(req.URL.Scheme == last.Scheme && req.URL.Port() == last.Port() || req.URL.Scheme == "https" && req.URL.Port() == "" && last.Port() == "")
	if !same || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Run fetches the page.
func (f *Fetch) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	u, err := address(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	began := f.now()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), nil)
	if err != nil {
		return tool.Fail(fmt.Sprintf("Fetching %s: %v.", u, err)), nil
	}
	req.Header.Set("User-Agent", f.userAgent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	res, err := f.client().Do(req)
	if err != nil {
		return tool.Fail(f.unreached(ctx, u, err)), nil
	}
	defer res.Body.Close()
	p := page{res: res, url: res.Request.URL}
	if p.body, err = io.ReadAll(io.LimitReader(res.Body, maxBody+1)); err != nil && len(p.body) == 0 {
		return tool.Fail(f.unreached(ctx, u, err)), nil
	}
	p.broken = err
	if len(p.body) > maxBody {
		p.body, p.cut = p.body[:maxBody], true
	}
	out, err := p.result(limited, env.Images)
	if err != nil {
		return tool.Fail(f.unreached(ctx, u, err)), nil
	}
	out.Meta.Response, err = json.Marshal(fetchResponse{
		URL: u.String(), Status: res.StatusCode, Bytes: len(p.body), Content: out.Content[0].Text, DurationMs: f.now().Sub(began).Milliseconds(),
	})
	return out, err
}

// unreached words why there is no answer.
func (*Fetch) unreached(ctx context.Context, u *url.URL, err error) string {
	var dns *net.DNSError
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case ctx.Err() != nil:
		return "The call was cancelled."
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("Fetching %s: there is no host %s.", u, u.Hostname())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("Fetching %s: there was no whole answer within %v.", u, timeout)
	}
	return fmt.Sprintf("Fetching %s: %v.", u, err)
}

// page is an answer.
type page struct {
	res    *http.Response
	url    *url.URL // after redirects
	body   []byte
	cut    bool  // there is more than body
	broken error // the connection ended within body
}

// result words the answer for the model; its first block is text. The error is ctx's.
func (p *page) result(ctx context.Context, takesImages bool) (tool.Result, error) {
	status := p.res.StatusCode
	if to := p.res.Header.Get("Location"); to != "" && status >= 300 && status < 400 {
		if loc, err := p.url.Parse(to); err == nil {
			to = short(loc)
		}
		return tool.Text(fmt.Sprintf("%s redirects to %s. That is another host, or one redirect too many: fetch that address by a call of its own if you want it.", short(p.url), to)), nil
	}
	declared := p.res.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(p.body))
	}
	if image := model.ImageFormat(p.body); status < 300 && image != "" && takesImages && !p.cut && p.broken == nil {
		res := tool.Text(fmt.Sprintf("[image, %s, %d bytes]", image, len(p.body)))
		res.Content = append(res.Content, session.Block{Type: session.BlockImage, MimeType: image, Data: base64.StdEncoding.EncodeToString(p.body)})
		return res, nil
	}
	answered := fmt.Sprintf("%s answered %d %s", short(p.url), status, http.StatusText(status))
	html := kind == "text/html" || kind == "application/xhtml+xml"
	if !html && !textual(kind) {
		res := tool.Text(fmt.Sprintf("%s with %d bytes of %s: this tool shows text alone. Download it by a command if you need it.", answered, len(p.body), kind))
		res.IsError = status >= 400
		return res, nil
	}
	text := utf8Text(p.body, declared)
	if html {
		if text, err = markdown(ctx, text, p.url); err != nil {
			return tool.Result{}, err
		}
	}
	if strings.TrimSpace(text) == "" {
		res := tool.Text(answered + " and no text.")
		res.IsError = status >= 400
		return res, nil
	}
	if status >= 400 {
		return tool.Fail(answered + ":\n\n" + shorten(text, maxFailure, false)), nil
	}
	text = shorten(text, maxResult, p.cut)
	if p.broken != nil {
		text += fmt.Sprintf("\n\n[the connection ended before the page did: %v]", p.broken)
	}
	return tool.Text(text), nil
}
