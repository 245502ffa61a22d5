package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
)

func poster(t *testing.T, base string) *Poster {
	t.Helper()
	addr, err := ParseAddress("test", base)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPoster(http.DefaultClient, addr, "things", http.Header{"Authorization": {"Bearer secret"}, "X-Own": {"1"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPostSendsBodyHeaderAndQuery(t *testing.T) {
	var got *http.Request
	var body []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer s.Close()
	p := poster(t, s.URL+"/v1/?key=a%20b")
	for range 2 { // the header is not used up
		res, err := p.Post(t.Context(), []byte(`{"a"`), []byte(`:1}`))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got.Method != "POST" || got.URL.String() != "/v1/things?key=a+b" || string(body) != `{"a":1}` || got.ContentLength != 7 {
			t.Errorf("%s %s %q", got.Method, got.URL, body)
		}
		for k, want := range map[string]string{
			"Authorization": "Bearer secret", "X-Own": "1", "Accept": "text/event-stream",
			"Accept-Encoding": "identity", "Content-Type": "application/json",
		} {
			if v := strings.Join(got.Header[k], ","); v != want {
				t.Errorf("%s is %q, want %q", k, v, want)
			}
		}
	}
}

// countedConn counts writes.
type countedConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countedConn) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

func (c countedConn) ReadFrom(r io.Reader) (int64, error) {
	c.writes.Add(1)
	if _, parts := partsOf(r); parts == nil {
		c.writes.Add(100) // it would be written in pieces of a buffer
	}
	return c.Conn.(io.ReaderFrom).ReadFrom(r)
}

// A small request is one write, its header included, a large one two.
func TestPostWritesOnce(t *testing.T) {
	var got atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(string(body))
	}))
	defer s.Close()
	var writes atomic.Int32
	tr := DefaultClient().Transport.(*http.Transport).Clone()
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return countedConn{c, &writes}, err
	}
	client := &http.Client{Transport: tr}
	defer client.CloseIdleConnections()
	addr, err := ParseAddress("test", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPoster(client, addr, "things", http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, sizes := range [][]int{{10}, {10, 20_000, 2}, {0, 5}, {100, oneWrite, 0, 300_000, 2}} {
		var parts [][]byte
		total := 0
		for i, n := range sizes {
			parts = append(parts, bytes.Repeat([]byte{byte('a' + i)}, n))
			total += n
		}
		writes.Store(0)
		res, err := p.Post(t.Context(), parts...)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got.Load() != string(bytes.Join(parts, nil)) {
			t.Errorf("%v: another body arrived", sizes)
		}
		want := int32(1)
		if total >= oneWrite {
			want = 2
		}
		if n := writes.Load(); n != want {
			t.Errorf("%v: %d writes, want %d", sizes, n, want)
		}
	}
}

func TestPostFollowsNoForeignRedirect(t *testing.T) {
	var reached []string
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached = append(reached, "foreign "+r.Header.Get("Authorization"))
	}))
	defer foreign.Close()
	to := foreign.URL + "/x"
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			body, _ := io.ReadAll(r.Body)
			reached = append(reached, "moved "+r.Header.Get("Authorization")+" "+string(body))
			return
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}))
	defer own.Close()
	p := poster(t, own.URL)
	var moved *redirected
	if _, err := p.Post(t.Context(), []byte(`{}`)); !errors.As(err, &moved) || moved.to != to {
		t.Errorf("got %v", err)
	}
	to = "/moved"
	res, err := p.Post(t.Context(), []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := strings.Join(reached, "; "); got != "moved Bearer secret {}" {
		t.Errorf("reached %s", got)
	}
}

func TestPostReadsFailuresInBounds(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, strings.Repeat("x", 2*maxErrorBody))
	}))
	defer s.Close()
	res, err := poster(t, s.URL).Post(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); len(body) != maxErrorBody || err != nil {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// The parts of a body are read alike in whatever pieces, and all at once.
func TestPartsReader(t *testing.T) {
	parts := [][]byte{nil, []byte("abc"), {}, []byte("defgh"), []byte("i")}
	for n := 1; n < 12; n++ {
		if err := iotest.TestReader(&partsReader{rest: parts}, []byte("abcdefghi")); err != nil {
			t.Fatal(err)
		}
		r := &partsReader{rest: parts}
		head := make([]byte, n)
		got, _ := io.ReadFull(r, head)
		if left := r.len(); left != int64(9-got) {
			t.Errorf("after %d: %d are left", got, left)
		}
		rest := r.take()
		var b bytes.Buffer
		b.Write(head[:got])
		if _, err := rest.WriteTo(&b); err != nil || b.String() != "abcdefghi" || r.len() != 0 {
			t.Errorf("after %d: %q, %v, %d are left", got, b.String(), err, r.len())
		}
	}
}
