package wire

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	if _, err := p.Post(t.Context(), []byte(`{}`)); !errors.Is(err, errOrigin) {
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
