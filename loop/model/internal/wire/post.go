package wire

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Poster sends request bodies to one address: what is needed of an SDK whose
// requests are written and whose answers are read here. Linking openai-go for it
// took 21 MB of the binary, 10 MB of resident memory and 2 ms of every start,
// because its package registers every type of OpenAI's whole interface when the
// program starts; anthropic-sdk-go took 0.5 ms (docs/performance.md). The tests
// still hold requests and answers to the SDKs' types.
type Poster struct {
	client http.Client
	url    string
	header http.Header
}

// NewPoster returns the poster of a path below an address. The header goes out
// with each request; client carries them, to that origin alone.
func NewPoster(client *http.Client, addr Address, path string, header http.Header) (*Poster, error) {
	u, err := url.Parse(addr.Base + path)
	if err != nil {
		return nil, err
	}
	u.RawQuery = addr.Query.Encode()
	p := &Poster{client: *guard(client, u), url: u.String(), header: header.Clone()}
	p.header.Set("Content-Type", "application/json")
	p.header.Set("Accept", "text/event-stream")
	// A compressing proxy would hold deltas back to fill its blocks.
	p.header.Set("Accept-Encoding", "identity")
	return p, nil
}

// Post sends a body, given in parts, and returns the answer once its head is
// there. The body of an answer that is a failure has been read, in bounds.
func (p *Poster) Post(ctx context.Context, parts ...[]byte) (*http.Response, error) {
	return p.PostWith(ctx, nil, parts...)
}

// PostWith is Post with header fields for this request alone.
func (p *Poster) PostWith(ctx context.Context, more http.Header, parts ...[]byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, nil)
	if err != nil {
		return nil, err
	}
	setBody(req, parts)
	req.Header = p.header.Clone()
	maps.Copy(req.Header, more)
	return boundErrors(req, p.client.Do)
}

// oneWrite is the size of a body below which it goes out with its header: net/http
// writes the header by itself before any body but a reader of bytes.
const oneWrite = 32 << 10

// setBody gives a request its body, in parts, whose bytes must not change until
// the request has ended.
func setBody(req *http.Request, parts [][]byte) {
	req.ContentLength = 0
	for _, part := range parts {
		req.ContentLength += int64(len(part))
	}
	if len(parts) > 1 && req.ContentLength < oneWrite {
		parts = [][]byte{bytes.Join(parts, nil)}
	}
	// A redirect within the origin sends it again.
	req.GetBody = func() (io.ReadCloser, error) {
		if len(parts) == 1 {
			return io.NopCloser(bytes.NewReader(parts[0])), nil
		}
		return &partsReader{rest: parts}, nil
	}
	if req.ContentLength > 0 {
		req.Body, _ = req.GetBody()
	}
}

// partsReader reads parts in a row. Unlike io.MultiReader's it has no WriteTo, for
// which net/http would make a buffer of 32 KB to see that nothing is left.
type partsReader struct {
	rest [][]byte
	at   int // in the first of them
}

// Read implements io.Reader.
func (r *partsReader) Read(p []byte) (int, error) {
	for len(r.rest) > 0 && r.at == len(r.rest[0]) {
		r.rest, r.at = r.rest[1:], 0
	}
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest[0][r.at:])
	r.at += n
	return n, nil
}

// Close implements io.Closer. The reader is the request's body itself, in nothing
// else, for partsConn to find it.
func (r *partsReader) Close() error { return nil }

// len is how many bytes are left, take takes them all.
func (r *partsReader) len() int64 {
	n := int64(-r.at)
	for _, part := range r.rest {
		n += int64(len(part))
	}
	return n
}

func (r *partsReader) take() net.Buffers {
	bufs := make(net.Buffers, 0, len(r.rest))
	for i, part := range r.rest {
		if i == 0 {
			part = part[r.at:]
		}
		bufs = append(bufs, part)
	}
	r.rest, r.at = nil, 0
	return bufs
}

// Get asks for the address itself.
func (p *Poster) Get(ctx context.Context) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header = p.header.Clone()
	req.Header.Del("Content-Type")
	req.Header.Set("Accept", "application/json")
	return boundErrors(req, p.client.Do)
}

// guard returns a client that sends requests to one origin alone, and each in the
// way in which it was made: a redirect must not carry a key and a conversation away
// (Go drops only some headers on the way to another server, X-Api-Key not among
// them), and must not make a request for a page of a POST.
func guard(client *http.Client, origin *url.URL) *http.Client {
	guarded := *client
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	guarded.Transport = sameOrigin{scheme: origin.Scheme, host: origin.Hostname(), port: port(origin), next: next}
	return &guarded
}

// redirected is a redirect that is not followed.
type redirected struct{ to string }

func (e *redirected) Error() string { return "it redirects to " + e.to + ", which is not followed" }

// sameOrigin is a transport that refuses every other origin.
type sameOrigin struct {
	scheme, host, port string
	next               http.RoundTripper
}

func (s sameOrigin) RoundTrip(req *http.Request) (*http.Response, error) {
	u := req.URL
	foreign := !strings.EqualFold(u.Scheme, s.scheme) || !strings.EqualFold(u.Hostname(), s.host) || port(u) != s.port
	// 301 and 302 make a GET of a POST.
	changed := req.Response != nil && req.Response.Request != nil && req.Response.Request.Method != req.Method
	if foreign || changed {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, &redirected{(&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()}
	}
	return s.next.RoundTrip(req)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
