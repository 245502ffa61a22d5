package web

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
	"acp-agent/session"
)

func TestSchema(t *testing.T) { tooltest.Schema[fetchArgs](t, New("t")) }

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"page":        {`{"url":"https://example.com/a?b=c#d"}`, ""},
		"port":        {`{"url":"http://localhost:8080"}`, ""},
		"more":        {`{"url":"https://example.com","prompt":"what is it?"}`, ""},
		"none":        {`{}`, "url"},
		"empty":       {`{"url":""}`, "must begin with"},
		"no scheme":   {`{"url":"example.com"}`, "must begin with"},
		"file":        {`{"url":"file:///etc/passwd"}`, "must begin with"},
		"javascript":  {`{"url":"javascript:alert(1)"}`, "must begin with"},
		"no host":     {`{"url":"https:///x"}`, "names no host"},
		"port alone":  {`{"url":"https://:80/"}`, "names no host"},
		"password":    {`{"url":"https://me:secret@example.com/"}`, "user or a password"},
		"other name":  {`{"url":"https://ｅxample.com/ü"}`, "in ASCII: example.com"},
		"other path":  {`{"url":"https://example.com/ü"}`, ""},
		"no URL":      {`{"url":"http://a b"}`, "is not a URL"},
		"line break":  {`{"url":"http://a/\n"}`, "is not a URL"},
		"broken JSON": {`{"url":`, "not valid JSON"},
	} {
		err := New("t").Check([]byte(tc.args))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func fetch(t *testing.T, env func(*tool.Env), address string) tool.Result {
	t.Helper()
	e := tooltest.Env(t, t.TempDir())
	if env != nil {
		env(e)
	}
	res, err := New("acp-agent/0").Run(t.Context(), e, tooltest.Args("url", address))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// site is a server with pages by path.
func site(t *testing.T, pages map[string]http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := pages[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func serve(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		fmt.Fprint(w, body)
	}
}

func TestFetch(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n0000"
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	var other string
	pages := map[string]http.HandlerFunc{
		"/html":      serve("text/html; charset=utf-8", `<title>Guide</title><h1>Start</h1><p>A <b>bold</b> <a href="next">step</a></p><script>x</script>`),
		"/bare":      serve("", `<!doctype html><p>sniffed</p>`),
		"/text":      serve("text/plain", "  two\n\n lines \n"),
		"/json":      serve("application/json", `{"a": "<b>&amp;</b>"}`+"\n"),
		"/latin":     serve("text/plain; charset=iso-8859-1", "caf\xe9"),
		"/sjis":      serve("text/html", `<meta charset="shift_jis"><p>`+"\x93\xfa\x96\x7b</p>"),
		"/odd":       serve("text/plain; charset=utf-8", "a\xffb"),
		"/png":       serve("image/png", png),
		"/pdf":       serve("application/pdf", "%PDF-1.7"),
		"/empty":     serve("text/html", ""),
		"/nothing":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/gone":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "moved to the archive", http.StatusGone) },
		"/hop":       redirect("/text"),
		"/loop":      redirect("/loop"),
		"/elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusMovedPermanently) },
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "the beginning")
		},
		"/long": serve("text/plain", strings.Repeat("é", maxResult)),
		"/huge": serve("text/plain", strings.Repeat("0123456789", maxBody/10+1)),
	}
	base := site(t, pages)
	other = strings.Replace(base, "127.0.0.1", "localhost", 1) + "/text"
	for _, tc := range []struct {
		path, want string
		images     bool
		failed     bool
	}{
		{path: "/html", want: "# Guide\n\n# Start\n\nA **bold** [step](" + base + "/next)"},
		{path: "/bare", want: "sniffed"},
		{path: "/text", want: "  two\n\n lines \n"},
		{path: "/json", want: `{"a": "<b>&amp;</b>"}` + "\n"},
		{path: "/latin", want: "café"},
		{path: "/sjis", want: "日本"},
		{path: "/odd", want: "a\ufffdb"},
		{path: "/png", want: "[image, image/png, 12 bytes]", images: true},
		{path: "/png", want: base + "/png answered 200 OK with 12 bytes of image/png: this tool shows text alone. Download it by a command if you need it."},
		{path: "/pdf", want: base + "/pdf answered 200 OK with 8 bytes of application/pdf: this tool shows text alone. Download it by a command if you need it."},
		{path: "/empty", want: base + "/empty answered 200 OK and no text."},
		{path: "/nothing", want: base + "/nothing answered 204 No Content and no text."},
		{path: "/gone", want: base + "/gone answered 410 Gone:\n\nmoved to the archive\n", failed: true},
		{path: "/missing", want: base + "/missing answered 404 Not Found:\n\n404 page not found\n", failed: true},
		{path: "/hop", want: "  two\n\n lines \n"},
		{path: "/loop", want: base + "/loop redirects to " + base + "/loop. That is another host, or one redirect too many: fetch that address by a call of its own if you want it."},
		{path: "/elsewhere", want: base + "/elsewhere redirects to " + other + ". That is another host, or one redirect too many: fetch that address by a call of its own if you want it."},
		{path: "/cut", want: "the beginning\n\n[the connection ended before the page did: unexpected EOF]"},
	} {
		res := fetch(t, func(e *tool.Env) { e.Images = tc.images }, base+tc.path)
		if got := res.Content[0].Text; got != tc.want || res.IsError != tc.failed {
			t.Errorf("%s: %q, error %v; want %q, %v", tc.path, got, res.IsError, tc.want, tc.failed)
		}
		if images := len(res.Content) == 2; images != tc.images || images && (res.Content[1].Type != session.BlockImage || res.Content[1].MimeType != "image/png") {
			t.Errorf("%s: content %+v", tc.path, res.Content)
		}
	}
	long := fetch(t, nil, base+"/long").Content[0].Text
	if want := "\n\n[100000 of 200000 bytes left out here]\n\n"; !strings.Contains(long, want) || len(long) != maxResult+len(want) || !utf8.ValidString(long) {
		t.Errorf("a long page: %d bytes", len(long))
	}
	huge := fetch(t, nil, base+"/huge").Content[0].Text
	if !strings.HasSuffix(huge, "\n\n[the page goes on: only its first 5 MiB were read]") {
		t.Errorf("a huge page ends in %q", huge[len(huge)-100:])
	}
}

// The answer for hooks is hooks.FetchResponse.
func TestResponse(t *testing.T) {
	base := site(t, map[string]http.HandlerFunc{"/x": serve("text/plain", "hello")})
	var got map[string]any
	if err := json.Unmarshal(fetch(t, nil, base+"/x#part").Meta.Response, &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := got["durationMs"].(float64); !ok {
		t.Errorf("durationMs is %v", got["durationMs"])
	}
	delete(got, "durationMs")
	want := map[string]any{"bytes": 5.0, "status": 200.0, "content": "hello", "url": base + "/x"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A request names the program and carries nothing of an earlier one.
func TestRequest(t *testing.T) {
	var headers []http.Header
	base := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		headers = append(headers, r.Header.Clone())
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		fmt.Fprint(w, "x")
	}})
	for range 2 {
		fetch(t, nil, base+"/")
	}
	for _, h := range headers {
		if h.Get("User-Agent") != "acp-agent/0" || h.Get("Cookie") != "" || h.Get("Authorization") != "" || h.Get("Referer") != "" {
			t.Errorf("%v", h)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + ln.Addr().String() + "/"
	ln.Close()
	res := fetch(t, nil, closed)
	if !res.IsError || !strings.HasPrefix(res.Content[0].Text, "Fetching "+closed+": ") || !strings.Contains(res.Content[0].Text, "refused") {
		t.Errorf("a closed port: %+v", res.Content)
	}
	ctx, cancel := context.WithCancel(t.Context())
	base := site(t, map[string]http.HandlerFunc{"/": func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "begun")
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}})
	res, err = New("t").Run(ctx, tooltest.Env(t, t.TempDir()), tooltest.Args("url", base+"/"))
	if err != nil || !res.IsError && !strings.HasPrefix(res.Content[0].Text, "begun\n\n[the connection ended") {
		t.Errorf("cancelled: %+v, %v", res, err)
	}
}

var update = flag.Lookup("update") // tooltest's

func TestMarkdown(t *testing.T) {
	source, err := os.ReadFile("testdata/page.html")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse("https://example.com/docs/page.html?q=1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := markdown(t.Context(), string(source), at)
	if err != nil {
		t.Fatal(err)
	}
	if update.Value.String() == "true" {
		if err := os.WriteFile("testdata/page.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// Of a large page nothing is lost where it is taken apart, and its tables and lists
// stay such.
func TestMarkdownOfALargePage(t *testing.T) {
	var b strings.Builder
	b.WriteString("<main><table><thead><tr><th>n</th></tr></thead><tbody>")
	const rows = 3000
	for i := range rows {
		fmt.Fprintf(&b, "<tr><td>row %d</td></tr>", i)
	}
	b.WriteString("</tbody></table><div><ul>")
	for i := range rows {
		fmt.Fprintf(&b, "<li>item %d</li>", i)
	}
	b.WriteString("</ul>" + strings.Repeat("word ", rows) + "</div></main>")
	got, err := markdown(t.Context(), b.String(), &url.URL{Scheme: "https", Host: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if !strings.Contains(got, fmt.Sprintf("| row %d ", i)) || !strings.Contains(got, fmt.Sprintf("- item %d\n", i)) {
			t.Fatalf("row or item %d is not there", i)
		}
	}
	if n := strings.Count(got, "word"); n != rows {
		t.Errorf("%d of %d words", n, rows)
	}
}

// What takes long ends with the call.
func TestMarkdownEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := markdown(ctx, strings.Repeat("<p>x", 100_000), &url.URL{}); err == nil {
		t.Error("converted after the end of the call")
	}
}

func FuzzMarkdown(f *testing.F) {
	if page, err := os.ReadFile("testdata/page.html"); err == nil {
		f.Add(page)
	}
	f.Add([]byte("<table><tr><td><ul><li><pre>x<base href=':'><a href='%zz'>y"))
	f.Add(bytes.Repeat([]byte("<b>"), 600))
	at := &url.URL{Scheme: "https", Host: "example.com", Path: "/a"}
	f.Fuzz(func(t *testing.T, page []byte) {
		text := utf8Text(page, "text/html")
		got, err := markdown(t.Context(), text, at)
		if err != nil || !utf8.ValidString(got) {
			t.Errorf("%q, %v", got, err)
		}
	})
}
