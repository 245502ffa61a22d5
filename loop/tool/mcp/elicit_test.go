package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

type handler = func(ctx context.Context, r *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error)

// addAsking adds the tools that ask the person something. Each answers with what
// it got, as JSON.
func addAsking(s *sdk.Server, add func(string, handler)) {
	answer := func(res *sdk.ElicitResult, err error) (*sdk.CallToolResult, error) {
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(map[string]any{"action": res.Action, "content": res.Content})
		return text(string(raw)), err
	}
	add("form", func(ctx context.Context, r *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		return answer(r.Session.Elicit(ctx, &sdk.ElicitParams{Message: fmt.Sprint(a["text"]), RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":7}},"required":["name"]}`)}))
	})
	add("url", func(ctx context.Context, r *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		return answer(r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "go", URL: fmt.Sprint(a["text"]), ElicitationID: "e1"}))
	})
	// left asks for as long as a file is not there, and answers the call then
	// without waiting for the person. What the question came to goes into the file.
	add("left", func(_ context.Context, r *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		go func() { // ends with the answer, which the end of the call gives
			res, err := r.Session.Elicit(context.Background(), &sdk.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			got := "error"
			if err == nil {
				got = res.Action
			}
			_ = os.WriteFile(fmt.Sprint(a["text"]), []byte(got), 0o600)
		}()
		_ = r.Session.NotifyProgress(context.Background(), &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		return text("left"), nil
	})
	done := false
	add("needs", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		if !done {
			done = true
			return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "sign in", URL: "https://x.example/in", ElicitationID: "e2"}})
		}
		return text("signed in"), nil
	})
	add("insists", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return nil, sdk.URLElicitationRequiredError([]*sdk.ElicitParams{{Mode: "url", Message: "sign in", URL: "https://x.example/in", ElicitationID: "e3"}})
	})
	add("complete", func(_ context.Context, r *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		// The SDK's server has no word for it: its own client is what knows it.
		fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":%q}}`+"\n", a["text"])
		return text("ok"), nil
	})
	add("capabilities", func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		raw, err := json.Marshal(r.Session.InitializeParams().Capabilities.Elicitation)
		return text(string(raw)), err
	})
}

// person is an Elicitor that does what a test says.
type person struct {
	mu     sync.Mutex
	asked  []tool.Elicitation
	done   chan string // gets the ids of Elicited
	answer func(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error)
}

func (p *person) Elicit(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, *q)
	p.mu.Unlock()
	return p.answer(ctx, q)
}

func (p *person) Elicited(_ context.Context, q *tool.Elicitation) error {
	p.done <- q.ID
	return nil
}

func says(action tool.FormAction, content string) func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
	return func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		return tool.ElicitAnswer{Action: action, Content: json.RawMessage(content)}, nil
	}
}

// asking starts a server whose questions go to a person.
func asking(t *testing.T, o Options) (*Set, map[string]tool.Tool, *person) {
	t.Helper()
	n := 0
	o.NewID = func() string { n++; return fmt.Sprintf("q%d", n) }
	s := start(t, o, stdio(t, "a", "tools"))
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	return s, tools, &person{done: make(chan string, 8)}
}

// ask calls a tool for the person.
func (p *person) ask(ctx context.Context, t *testing.T, tools map[string]tool.Tool, name string, args ...any) (string, tool.Result) {
	t.Helper()
	env := tooltest.Env(t, t.TempDir())
	env.CallID = "call-of-" + name
	env.Elicit = p
	res, err := tools["mcp__a__"+name].Run(ctx, env, tooltest.Args(args...))
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Text(res), res
}

func TestElicitForm(t *testing.T) {
	_, tools, p := asking(t, Options{AskForm: true})
	for _, c := range []struct {
		action  tool.FormAction
		content string
		want    string
	}{
		{tool.FormAccept, `{"name":"Ann"}`, `{"action":"accept","content":{"age":7,"name":"Ann"}}`},
		{tool.FormDecline, ``, `{"action":"decline","content":null}`},
		{tool.FormCancel, ``, `{"action":"cancel","content":null}`},
	} {
		p.answer = says(c.action, c.content)
		if got, res := p.ask(soon(t), t, tools, "form", "text", "Who?"); got != c.want || res.IsError {
			t.Errorf("%s: %s, want %s", c.action, got, c.want)
		}
	}
	q := p.asked[0]
	if q.ID != "q1" || q.CallID != "call-of-form" || q.Server != "a" || q.Message != "Who?" || q.URL != "" || !strings.Contains(string(q.Schema), `"required":["name"]`) {
		t.Errorf("asked %+v", q)
	}
	// What does not fit the form is no answer.
	p.answer = says(tool.FormAccept, `{"name":5}`)
	if got, res := p.ask(soon(t), t, tools, "form", "text", "Who?"); !res.IsError {
		t.Errorf("an answer that does not fit came through: %s", got)
	}
	p.answer = func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		return tool.ElicitAnswer{}, errors.New("no screen")
	}
	if got, res := p.ask(soon(t), t, tools, "form", "text", "Who?"); !res.IsError || !strings.Contains(got, "no screen") {
		t.Errorf("a question that could not be shown: %s", got)
	}
	before := len(p.asked)
	if got, res := p.ask(soon(t), t, tools, "url", "text", "https://x.example"); !res.IsError || len(p.asked) != before {
		t.Errorf("a mode that is not offered: %s", got)
	}
}

func TestElicitCapabilities(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, `null`},
		{Options{AskForm: true}, `{"form":{}}`},
		{Options{AskURL: true}, `{"url":{}}`},
		{Options{AskForm: true, AskURL: true}, `{"form":{},"url":{}}`},
	} {
		_, tools, p := asking(t, c.o)
		if got, _ := p.ask(soon(t), t, tools, "capabilities"); got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
	// Nothing is asked of who did not offer it.
	_, tools, p := asking(t, Options{})
	if got, res := p.ask(soon(t), t, tools, "form", "text", "Who?"); !res.IsError || len(p.asked) > 0 {
		t.Errorf("without the capability: %s", got)
	}
}

func TestElicitURL(t *testing.T) {
	_, tools, p := asking(t, Options{AskURL: true})
	p.answer = says(tool.FormAccept, "")
	if got, _ := p.ask(soon(t), t, tools, "url", "text", "https://x.example/?a=1"); got != `{"action":"accept","content":null}` {
		t.Error(got)
	}
	if q := p.asked[0]; q.URL != "https://x.example/?a=1" || q.ServerID != "e1" || q.Schema != nil || q.Message != "go" {
		t.Errorf("asked %+v", q)
	}
	p.ask(soon(t), t, tools, "complete", "text", "nobody's")
	p.ask(soon(t), t, tools, "complete", "text", "e1")
	select {
	case id := <-p.done:
		if id != p.asked[0].ID {
			t.Errorf("%s is done, and %s was asked", id, p.asked[0].ID)
		}
	case <-soon(t).Done():
		t.Fatal("the server's word that it is done did not come through")
	}
	// What was declined is not reported as done.
	p.answer = says(tool.FormDecline, "")
	p.ask(soon(t), t, tools, "url", "text", "https://x.example")
	p.ask(soon(t), t, tools, "complete", "text", "e1")
	p.ask(soon(t), t, tools, "echo", "text", "x")
	if len(p.done) > 0 {
		t.Error("a question that was declined was reported as done")
	}
}

// A call that the server refuses until the person has been to a page is made again
// once they have.
func TestElicitURLRequired(t *testing.T) {
	s, tools, p := asking(t, Options{AskURL: true})
	p.answer = func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		s.wg.Go(func() { // ends with the call, which the server answers at once
			_, _, _ = s.CallTool(context.Background(), "a", "complete", json.RawMessage(`{"text":"e2"}`))
		})
		return tool.ElicitAnswer{Action: tool.FormAccept}, nil
	}
	if got, res := p.ask(soon(t), t, tools, "needs"); got != "signed in" || res.IsError {
		t.Errorf("accepted and done: %s", got)
	}
	_, tools, p = asking(t, Options{AskURL: true})
	p.answer = says(tool.FormDecline, "")
	got, res := p.ask(soon(t), t, tools, "needs")
	if !res.IsError {
		t.Errorf("declined: %s", got)
	}
	contains(t, got, "did not agree", "decline")
	// The server is asked once more, and refuses again.
	s, tools, p = asking(t, Options{AskURL: true})
	p.answer = func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		s.wg.Go(func() { // ends with the call, which the server answers at once
			_, _, _ = s.CallTool(context.Background(), "a", "complete", json.RawMessage(`{"text":"e3"}`))
		})
		return tool.ElicitAnswer{Action: tool.FormAccept}, nil
	}
	got, res = p.ask(soon(t), t, tools, "insists")
	if !res.IsError || len(p.asked) != 1 {
		t.Errorf("refused twice: asked %d times, %s", len(p.asked), got)
	}
	contains(t, got, "x.example", "not done")
	_, tools, p = asking(t, Options{})
	if got, res := p.ask(soon(t), t, tools, "needs"); !res.IsError {
		t.Errorf("without the capability: %s", got)
	}
}

// A cancel of the call takes the question back, and the server is told so.
func TestElicitCancel(t *testing.T) {
	_, tools, p := asking(t, Options{AskForm: true})
	ctx, cancel := context.WithCancel(soon(t))
	returned := false
	p.answer = func(ctx context.Context, _ *tool.Elicitation) (tool.ElicitAnswer, error) {
		cancel()
		<-ctx.Done()
		returned = true
		return tool.ElicitAnswer{Action: tool.FormCancel}, nil
	}
	got, res := p.ask(ctx, t, tools, "form", "text", "Who?")
	if !res.IsError || !returned {
		t.Errorf("%q; the question ended first: %v", got, returned)
	}
}

// A question that outlives its call is taken back when the call ends.
func TestElicitOutlived(t *testing.T) {
	_, tools, p := asking(t, Options{AskForm: true})
	file := t.TempDir() + "/answer"
	p.answer = func(ctx context.Context, _ *tool.Elicitation) (tool.ElicitAnswer, error) {
		<-ctx.Done()
		return tool.ElicitAnswer{Action: tool.FormCancel}, nil
	}
	if got, _ := p.ask(soon(t), t, tools, "left", "text", file); got != "left" {
		t.Error(got)
	}
	for ctx := soon(t); ; {
		if data, err := os.ReadFile(file); err == nil && len(data) > 0 {
			if string(data) != "cancel" {
				t.Errorf("the server was told %q", data)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the question was never answered")
		}
		p.ask(soon(t), t, tools, "echo", "text", "x")
	}
}

// While several calls go on it is not known for which of them a server asks: the
// question names none of them, and ends with the last of them.
func TestElicitAmongCalls(t *testing.T) {
	_, tools, p := asking(t, Options{AskForm: true})
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	blocked := make(chan string, 1)
	started := make(chan struct{})
	go func() { // ends with the cancel below
		env := tooltest.Env(t, t.TempDir())
		env.Elicit, env.CallID = p, "the other"
		env.Progress = func(tool.Progress) { close(started) }
		res, err := tools["mcp__a__block"].Run(ctx, env, nil)
		blocked <- fmt.Sprint(res.IsError, err)
	}()
	<-started
	p.answer = func(ctx context.Context, _ *tool.Elicitation) (tool.ElicitAnswer, error) {
		cancel()
		if got := <-blocked; got != "true <nil>" {
			t.Errorf("the other call: %s", got)
		}
		// That the other call has ended does not end the question.
		return tool.ElicitAnswer{Action: tool.FormDecline}, ctx.Err()
	}
	if got, res := p.ask(soon(t), t, tools, "form", "text", "Who?"); res.IsError || got != `{"action":"decline","content":null}` {
		t.Error(got)
	}
	if p.asked[0].CallID != "" {
		t.Errorf("it was taken to be for %s", p.asked[0].CallID)
	}
	p.answer = says(tool.FormDecline, "")
	p.ask(soon(t), t, tools, "form", "text", "Who?")
	if p.asked[1].CallID != "call-of-form" {
		t.Errorf("alone, it was taken to be for %q", p.asked[1].CallID)
	}
}

// The clock of a call stands still while the person is asked.
func TestElicitStopsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		cl := &calling{limit: time.Minute, timer: time.AfterFunc(time.Minute, func() { silent.Store(true) })}
		pass := func(d time.Duration, want bool, when string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := silent.Load(); got != want {
				t.Errorf("%s: the limit struck: %v", when, got)
			}
		}
		pass(50*time.Second, false, "before the question")
		cl.asks()
		cl.asks()
		pass(time.Hour, false, "with two questions")
		cl.answered()
		cl.said("still here") // starts no clock
		pass(time.Hour, false, "with one question")
		cl.answered()
		pass(50*time.Second, false, "after the answer")
		pass(20*time.Second, true, "a minute after the answer")
	})
}

// A hook's call has no person behind it.
func TestElicitWithoutCall(t *testing.T) {
	s, _, _ := asking(t, Options{AskForm: true})
	got, isError, err := s.CallTool(soon(t), "a", "form", json.RawMessage(`{"text":"Who?"}`))
	if err != nil || isError || got != `{"action":"cancel","content":null}` {
		t.Errorf("%q %v %v", got, isError, err)
	}
}

// hostile is a server that asks in ways that the protocol does not have, before
// it answers a call.
func hostile() int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Error  json.RawMessage `json:"error"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`+"\n", m.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}`+"\n", m.ID)
		case "tools/call":
			refused := 0
			for i, params := range []string{
				``, `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":{"mode":"form"}`,
				`,"params":{"mode":"form","message":"m","requestedSchema":null}`,
				`,"params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":null}}}`,
				`,"params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[null]}}}}`,
				`,"params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[null]}}}}}`,
				`,"params":{"mode":"url"}`, `,"params":{"mode":"url","url":""}`, `,"params":{"mode":"carrier-pigeon"}`,
			} {
				fmt.Printf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create"%s}`+"\n", i, params)
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"%s}`+"\n", params)
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress"%s}`+"\n", params)
				if in.Scan() && strings.Contains(in.Text(), `"error"`) {
					refused++
				}
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"refused %v"}]}}`+"\n", m.ID, refused > 0)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
	return 0
}

// No message of a server ends this process.
func TestElicitHostile(t *testing.T) {
	p := &person{done: make(chan string, 64), answer: says(tool.FormAccept, `{}`)}
	s := start(t, Options{AskForm: true, AskURL: true, NewID: func() string { return "q" }}, stdio(t, "a", "hostile"))
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	if got, res := p.ask(soon(t), t, tools, "t"); res.IsError || got != "refused true" {
		t.Errorf("%q", got)
	}
}

// Over HTTP a server asks as it does on a pipe, and so does one of the protocol
// without a handshake, which asks by its answer to the call.
func TestElicitOverHTTP(t *testing.T) {
	server := newTestServer("web")
	server.AddTool(&sdk.Tool{Name: "rounds", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if got, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult); ok {
			return text(fmt.Sprint(got.Action, got.Content["name"])), nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"who": &sdk.ElicitParams{
			Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		}}}, nil
	})
	get := func(*http.Request) *sdk.Server { return server }
	mux := http.NewServeMux()
	mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", sdk.NewSSEHandler(get, nil))
	web := httptest.NewServer(mux)
	defer web.Close()
	n := 0
	s := start(t, Options{AskForm: true, NewID: func() string { n++; return fmt.Sprint(n) }},
		Server{Name: "http", URL: web.URL + "/mcp"}, Server{Name: "sse", URL: web.URL + "/sse", SSE: true})
	defer s.Close() // before the web server, which waits for its requests
	tools, failures := settled(t, s)
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	for _, kind := range []string{"http", "sse"} {
		p := &person{answer: says(tool.FormAccept, `{"name":"Ann"}`)}
		env := tooltest.Env(t, t.TempDir())
		env.Elicit, env.CallID = p, "c"
		for name, want := range map[string]string{"form": `{"action":"accept","content":{"age":7,"name":"Ann"}}`, "rounds": "acceptAnn"} {
			res, err := tools["mcp__"+kind+"__"+name].Run(soon(t), env, json.RawMessage(`{"text":"Who?"}`))
			if err != nil || tooltest.Text(res) != want {
				t.Errorf("%s, %s: %q, %v", kind, name, tooltest.Text(res), err)
			}
		}
		for _, q := range p.asked {
			if q.CallID != "c" || q.Server != kind || q.Message != "Who?" {
				t.Errorf("%s: asked %+v", kind, q)
			}
		}
	}
}
