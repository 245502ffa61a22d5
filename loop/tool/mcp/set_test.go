package mcp

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
	"acp-agent/session"
)

func TestStdio(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Cwd: dir, Environ: append(os.Environ(), "BASE=base", "OVER=no")},
		stdio(t, "a", "tools", "OVER=multi\nline \"x\""))
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	for _, c := range []struct{ tool, arg, want string }{
		{"echo", "hé\n<b>", "hé\n<b>"},
		{"where", "", dir},
		{"getenv", "BASE", "base"},
		{"getenv", "OVER", "multi\nline \"x\""},
		{"getenv", "PATH", os.Getenv("PATH")},
	} {
		if got, res := run(t, tools, "mcp__a__"+c.tool, "text", c.arg); got != c.want || res.IsError {
			t.Errorf("%s(%q) = %q, want %q", c.tool, c.arg, got, c.want)
		}
	}
	if got, isError, err := s.CallTool(soon(t), "a", "echo", json.RawMessage(`{"text":"hook"}`)); got != "hook" || isError || err != nil {
		t.Errorf("CallTool: %q %v %v", got, isError, err)
	}
	if _, isError, err := s.CallTool(soon(t), "a", "fail", nil); !isError || err != nil {
		t.Errorf("CallTool of a tool that fails: %v %v", isError, err)
	}
	if _, _, err := s.CallTool(soon(t), "b", "echo", nil); err == nil {
		t.Error("a call of an unknown server went through")
	} else {
		contains(t, err.Error(), `"b"`, "it has a")
	}
	if _, _, err := s.CallTool(soon(t), "a", "nothing", nil); err == nil {
		t.Error("a call of an unknown tool went through")
	}
}

// The trace context of a prompt goes on to the servers.
func TestTrace(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	for _, c := range []struct {
		trace model.Trace
		want  string
	}{
		{model.Trace{Parent: "00-a-b-01", State: "k=v", Baggage: "u=1"}, `{"baggage":"u=1","progressToken":"call-1","traceparent":"00-a-b-01","tracestate":"k=v"}`},
		{model.Trace{State: "k=v"}, `{"progressToken":"call-2"}`},
	} {
		res, err := tools["mcp__a__meta"].Run(model.WithTrace(soon(t), c.trace), tooltest.Env(t, t.TempDir()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := tooltest.Text(res); got != c.want {
			t.Errorf("%+v: _meta is %s, want %s", c.trace, got, c.want)
		}
	}
}

func TestSpec(t *testing.T) {
	s := start(t, Options{}, stdio(t, "my server", "tools"))
	tools, _ := settled(t, s)
	echo := tools["mcp__my_server__echo"].Spec()
	if echo.ReadOnly || echo.Hinted || echo.Kind != tool.KindOther || echo.Description != "does echo" {
		t.Errorf("echo: %+v", echo)
	}
	const schema = `{"properties":{"text":{"description":"a < b","type":"string"}},"type":"object"}`
	if string(echo.Schema) != schema {
		t.Errorf("schema %s", echo.Schema)
	}
	look := tools["mcp__my_server__look_up"].Spec()
	if look.ReadOnly || !look.Hinted || look.Kind != tool.KindOther || look.Description != "Look up" {
		t.Errorf("look.up: %+v", look)
	}
	if got, _ := run(t, tools, "mcp__my_server__look_up"); got != `{"found":true}` {
		t.Errorf("structured content alone: %q", got)
	}
	long := strings.Repeat("é", 1000)
	for _, c := range []struct{ in, want string }{
		{`{"text":"hi","n":3,"o":{"a":1},"l":[1],"z":null}`, `my server: echo (text: "hi", n: 3, o: {…}, l: […], z: null)`},
		{`{}`, "my server: echo"},
		{`[1`, "my server: echo"},
		{``, "my server: echo"},
		{`{"text":"a\nb"}`, `my server: echo (text: "a ⏎ b")`},
		{`{"text":"` + long + `"}`, `my server: echo (text: "` + strings.Repeat("é", 59) + `…")`},
	} {
		if got := tools["mcp__my_server__echo"].View(nil, json.RawMessage(c.in)).Title; got != c.want {
			t.Errorf("title of %.40s: %q, want %q", c.in, got, c.want)
		}
	}
	for in, ok := range map[string]bool{`{"x":1}`: true, ``: true, `[]`: false, `{"x"`: false} {
		if err := tool.Check(tools["mcp__my_server__echo"], json.RawMessage(in)); (err == nil) != ok {
			t.Errorf("Check(%q): %v", in, err)
		}
	}
}

func TestContent(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	_, res := run(t, tools, "mcp__a__everything")
	want := []session.Block{
		session.Text("<text>"),
		{Type: session.BlockImage, Data: "cG5n", MimeType: "image/png"},
		{Type: session.BlockResourceLink, URI: "file:///a", Name: "a", MimeType: "text/plain", Size: 7},
		{Type: session.BlockResource, URI: "file:///b", Text: "b"},
		{Type: session.BlockResource, URI: "file:///c", Data: "Yw=="},
		session.Text("[Audio (audio/wav, 4 bytes) is left out: models get no sound.]"),
	}
	if d := cmp.Diff(want, res.Content); d != "" {
		t.Error(d)
	}
	var answer struct {
		Content           []map[string]any `json:"content"`
		StructuredContent map[string]any   `json:"structuredContent"`
		IsError           *bool            `json:"isError"`
	}
	if err := json.Unmarshal(res.Meta.Response, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Content) != 6 || answer.Content[0]["text"] != "<text>" || answer.StructuredContent["n"] != 1.0 || answer.IsError == nil || *answer.IsError {
		t.Errorf("response %s", res.Meta.Response)
	}
	for _, name := range []string{"fail", "refuse"} {
		if got, res := run(t, tools, "mcp__a__"+name); !res.IsError || got == "" {
			t.Errorf("%s: %q %v", name, got, res.IsError)
		}
	}
}

func TestProgress(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	var shown tooltest.Output
	env := tooltest.Env(t, t.TempDir())
	env.Progress = shown.Progress
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	// block says that it has started; notifications come in order.
	env.Progress = func(p tool.Progress) {
		shown.Progress(p)
		cancel()
	}
	if _, err := tools["mcp__a__block"].Run(ctx, env, json.RawMessage("{}")); err != nil {
		t.Fatal(err)
	}
	if got := shown.Text(); got != "started (1)\n" {
		t.Errorf("shown: %q", got)
	}
	if got, _ := run(t, tools, "mcp__a__steps"); got != "done" {
		t.Errorf("steps: %q", got)
	}
}

// TestCancel: the server is told, and lives on.
func TestCancel(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	mark := filepath.Join(t.TempDir(), "cancelled")
	ctx, cancel := context.WithCancel(soon(t))
	env := tooltest.Env(t, t.TempDir())
	env.Progress = func(tool.Progress) { cancel() }
	res, err := tools["mcp__a__block"].Run(ctx, env, tooltest.Args("text", mark))
	if err != nil || !res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	contains(t, tooltest.Text(res), "cancelled")
	before, _ := run(t, tools, "mcp__a__pid")
	for deadline := soon(t); ; { // the file is another process's doing: there is nothing to wait on
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if deadline.Err() != nil {
			t.Fatal("the server was not told")
		}
		run(t, tools, "mcp__a__echo", "text", "x")
	}
	if after, _ := run(t, tools, "mcp__a__pid"); after != before {
		t.Error("the server was started again")
	}
}

func TestCallTimeout(t *testing.T) {
	s := start(t, Options{CallTimeout: 20 * time.Millisecond}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	got, res := run(t, tools, "mcp__a__block")
	if !res.IsError {
		t.Error("no error")
	}
	contains(t, got, "did not answer within 20ms")
}

// TestDeaf: a server that reads no more does not hold a call that is cancelled.
func TestDeaf(t *testing.T) {
	s := start(t, Options{CallTimeout: 50 * time.Millisecond}, stdio(t, "a", "deaf"))
	tools, _ := settled(t, s)
	if _, res := run(t, tools, "mcp__a__echo", "text", strings.Repeat("x", 1<<20)); !res.IsError {
		t.Error("a server that does not read has answered")
	}
}

func TestListChanged(t *testing.T) {
	s := start(t, Options{}, stdio(t, "a", "tools"))
	tools, _ := settled(t, s)
	if tools["mcp__a__added"] != nil {
		t.Fatal("the tool is there already")
	}
	run(t, tools, "mcp__a__more")
	until(t, s, func() bool {
		return slices.ContainsFunc(s.servers[0].tools, func(d *sdk.Tool) bool { return d.Name == "added" })
	})
	tools, _ = settled(t, s)
	if got, _ := run(t, tools, "mcp__a__added"); got != "new" {
		t.Errorf("%q", got)
	}
}

func TestFailures(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	s := start(t, Options{ConnectTimeout: time.Second},
		stdio(t, "never", "never"),
		Server{Name: "nocmd", Command: "/does/not/exist"},
		Server{Name: "nopath", Command: "no-such-program-here"},
		stdio(t, "garbage", "garbage"), stdio(t, "mute", "mute"), stdio(t, "flood", "flood"), stdio(t, "exit", "exit"), stdio(t, "listfail", "listfail"),
		Server{Name: "closed", URL: closed.URL + "/mcp?key=secret"},
		Server{Name: "missing", URL: missing.URL}, Server{Name: "sse", URL: missing.URL, SSE: true},
		Server{Name: "ftp", URL: "ftp://x"}, Server{Name: "nothing"},
		func() Server { s := stdio(t, "badcwd", "tools"); return s }(),
	)
	_, failures := settled(t, s)
	all := strings.Join(failures, "\n")
	for name, want := range map[string][]string{
		"never":    {"did not answer within 1s"},
		"nocmd":    {"/does/not/exist", "no such file"},
		"nopath":   {"no-such-program-here", "PATH"},
		"garbage":  {"Hello, I am no MCP server.", "not MCP"},
		"mute":     {"it closed its stdout before it was ready"},
		"flood":    {"noise"},
		"exit":     {"exited with code 7", "Error: no token given"},
		"listfail": {"the list is on fire"},
		"closed":   {"refused"},
		"missing":  {"Not Found"},
		"sse":      {"Not Found"},
		"ftp":      {"http"},
		"nothing":  {"neither a command nor a URL"},
	} {
		i := slices.IndexFunc(failures, func(f string) bool { return strings.Contains(f, `"`+name+`"`) })
		if i < 0 {
			t.Errorf("the failure of %s is not told in\n%s", name, all)
			continue
		}
		contains(t, failures[i], want...)
	}
	if strings.Contains(all, "secret") || strings.Contains(all, "badcwd") {
		t.Errorf("too much is told:\n%s", all)
	}
	tools, again := settled(t, s)
	if len(again) > 0 {
		t.Errorf("told twice: %q", again)
	}
	if got, _ := run(t, tools, "mcp__badcwd__echo", "text", "good"); got != "good" {
		t.Errorf("the good server answers %q", got)
	}
	if _, _, err := s.CallTool(soon(t), "exit", "echo", nil); err == nil {
		t.Error("a call of a server that never connected went through")
	}
}

// A list of tools without end is read to a point, and the person is told.
func TestEndlessLists(t *testing.T) {
	tools, failures := settled(t, start(t, Options{}, stdio(t, "circle", "circle")))
	if len(tools) != 1 || len(failures) > 0 {
		t.Errorf("a server that ignores the cursor: %d tools, %q", len(tools), failures)
	}
	tools, failures = settled(t, start(t, Options{}, stdio(t, "legion", "legion")))
	if len(tools) != maxTools || len(failures) != 1 || !strings.Contains(failures[0], "2000") {
		t.Errorf("a server with too many: %d tools, %q", len(tools), failures)
	}
}

func TestBannerAndDiscovery(t *testing.T) {
	s := start(t, Options{}, stdio(t, "banner", "banner"), stdio(t, "modern", "discover"))
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	if got, _ := run(t, tools, "mcp__banner__echo", "text", "x"); got != "x" {
		t.Errorf("%q", got)
	}
	if tools["mcp__modern__new"] == nil {
		t.Error("the tools of a server without a handshake are missing")
	}
}

// An answer that is no result is said in no words of Go, and did come back.
func TestShapelessResult(t *testing.T) {
	tools, _ := settled(t, start(t, Options{}, stdio(t, "a", "shapeless")))
	got, res := run(t, tools, "mcp__a__t")
	if want := `The MCP server "a" answered the call of t with something that is no tool's result by the protocol; whether the call has had an effect is not known.`; !res.IsError || got != want {
		t.Errorf("got %q", got)
	}
}

// TestSlow: one server that is not ready holds up nothing, and joins later.
func TestSlow(t *testing.T) {
	gate, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer gate.Close()
	s := start(t, Options{}, stdio(t, "slow", "tools", gateVar+"="+gate.Addr().String()), stdio(t, "fast", "tools"))
	until(t, s, func() bool { return s.servers[1].met })
	now, cancel := context.WithCancel(context.Background())
	cancel()
	list, failures, late := s.Tools(now)
	tools := byName(list)
	if !slices.Equal(late, []string{"slow"}) || len(failures) > 0 || tools["mcp__fast__echo"] == nil || tools["mcp__slow__echo"] != nil {
		t.Fatalf("%v %v %v", late, failures, tools)
	}
	c, err := gate.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	tools, _ = settled(t, s)
	if tools["mcp__slow__echo"] == nil {
		t.Error("the late server's tools are missing")
	}
	list, _, late = s.Tools(now)
	if late != nil || len(list) != len(tools) || !slices.IsSortedFunc(list, func(a, b tool.Tool) int { return strings.Compare(a.Spec().Name, b.Spec().Name) }) {
		t.Error("a settled set is not ready at once, or not in order")
	}
}

// TestCrash: the server is started again in the same place, at the next call.
func TestCrash(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{Cwd: dir}, stdio(t, "a", "tools", "MARK=here"))
	tools, _ := settled(t, s)
	for range maxLost + 2 { // an answer in between makes it good
		got, res := run(t, tools, "mcp__a__crash")
		if !res.IsError {
			t.Fatal("no error")
		}
		contains(t, got, "exited with code 3", "not known")
		if got, _ := run(t, tools, "mcp__a__where"); got != dir {
			t.Fatalf("after the restart it runs in %q", got)
		}
		if got, _ := run(t, tools, "mcp__a__getenv", "text", "MARK"); got != "here" {
			t.Fatalf("after the restart its environment has %q", got)
		}
	}
	for range maxLost {
		run(t, tools, "mcp__a__crash")
	}
	got, res := run(t, tools, "mcp__a__echo", "text", "x")
	if !res.IsError {
		t.Errorf("it is started without end: %q", got)
	}
	contains(t, got, "5 times in a row", "exited with code 3")
	if again, failures := settled(t, s); len(again) != len(tools) || len(failures) > 0 {
		t.Errorf("the tools changed: %d, %q", len(again), failures)
	}
}

// TestTwoSessions: the same servers twice, with nothing in common.
func TestTwoSessions(t *testing.T) {
	one, two := start(t, Options{}, stdio(t, "a", "tools")), start(t, Options{}, stdio(t, "a", "tools"))
	t1, _ := settled(t, one)
	t2, _ := settled(t, two)
	p1, _ := run(t, t1, "mcp__a__pid")
	p2, _ := run(t, t2, "mcp__a__pid")
	if p1 == p2 {
		t.Error("two sessions share a server")
	}
	one.Close()
	if got, _ := run(t, t2, "mcp__a__pid"); got != p2 {
		t.Error("the end of one session has touched the other")
	}
	if got, res := run(t, t1, "mcp__a__pid"); !res.IsError {
		t.Errorf("a call after Close: %q", got)
	}
}

func TestHTTP(t *testing.T) {
	server := newTestServer("web")
	get := func(*http.Request) *sdk.Server { return server }
	var mu sync.Mutex
	keys := map[string]int{}
	guard := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			keys[r.Header.Get("Authorization")]++
			mu.Unlock()
			h.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", sdk.NewSSEHandler(get, nil))
	web := httptest.NewServer(guard(mux))
	defer web.Close()
	h := map[string]string{"Authorization": "Bearer k"}
	s := start(t, Options{},
		Server{Name: "http", URL: web.URL + "/mcp", Headers: h}, Server{Name: "sse", URL: web.URL + "/sse", Headers: h, SSE: true})
	defer s.Close() // before the web server, which waits for its requests
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	for _, kind := range []string{"http", "sse"} {
		if got, _ := run(t, tools, "mcp__"+kind+"__echo", "text", kind); got != kind {
			t.Errorf("%s answers %q", kind, got)
		}
		ctx, cancel := context.WithCancel(soon(t))
		env := tooltest.Env(t, t.TempDir())
		env.Progress = func(tool.Progress) { cancel() }
		if res, err := tools["mcp__"+kind+"__block"].Run(ctx, env, json.RawMessage("{}")); err != nil || !res.IsError {
			t.Errorf("%s: cancel: %v %v", kind, res, err)
		}
	}
	run(t, tools, "mcp__http__more")
	for i := range 2 {
		until(t, s, func() bool {
			return slices.ContainsFunc(s.servers[i].tools, func(d *sdk.Tool) bool { return d.Name == "added" })
		})
	}
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 1 || keys["Bearer k"] == 0 {
		t.Errorf("requests by key: %v", keys)
	}
}

// TestHTTPRestart: a server that has forgotten the session gets a new one.
func TestHTTPRestart(t *testing.T) {
	var mu sync.Mutex
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newTestServer("web") }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handler
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	defer web.Close()
	s := start(t, Options{}, Server{Name: "a", URL: web.URL})
	defer s.Close()
	tools, _ := settled(t, s)
	mu.Lock()
	handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newTestServer("web") }, nil)
	mu.Unlock()
	if got, _ := run(t, tools, "mcp__a__echo", "text", "x"); got != "x" {
		if got, _ := run(t, tools, "mcp__a__echo", "text", "x"); got != "x" {
			t.Errorf("%q", got)
		}
	}
}

// TestHeaders: a key does not follow a redirect to another host.
func TestHeaders(t *testing.T) {
	seen := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("X-Key")
		http.Error(w, "no", http.StatusTeapot)
	}))
	defer other.Close()
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer web.Close()
	s := start(t, Options{}, Server{Name: "a", URL: web.URL, Headers: map[string]string{"X-Key": "k"}})
	if _, failures := settled(t, s); len(failures) != 1 {
		t.Errorf("failures %q", failures)
	}
	if got := <-seen; got != "" {
		t.Errorf("the other host was sent %q", got)
	}
}

func TestNoServers(t *testing.T) {
	s := start(t, Options{})
	if tools, failures, late := s.Tools(context.Background()); len(tools) > 0 || len(failures) > 0 || late != nil {
		t.Error(tools, failures, late)
	}
	s.Close()
	s.Close()
}
