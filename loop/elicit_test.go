package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// fakeClient is the client's end of an Elicitor.
type fakeClient struct {
	asked  []tool.Elicitation
	done   []string
	answer func(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error)
}

func (c *fakeClient) Elicit(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error) {
	c.asked = append(c.asked, *q)
	return c.answer(ctx, q)
}

func (c *fakeClient) Elicited(_ context.Context, q *tool.Elicitation) error {
	c.done = append(c.done, q.ID)
	return nil
}

const nameForm = `{"type":"object","properties":{"name":{"type":"string"}}}`

// elicits runs a turn with a tool that asks q, and hands over what it got.
type elicits struct {
	*rig
	client *fakeClient
	env    *tool.Env
	got    tool.ElicitAnswer
	err    error
}

func newElicits(t *testing.T, q tool.Elicitation) *elicits {
	t.Helper()
	e := &elicits{client: &fakeClient{answer: func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		return tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{"name":"Ann"}`)}, nil
	}}}
	q.ID, q.Server, q.CallID = "q1", "srv", "c1"
	asks := &fakeTool{name: "asks", readOnly: true, run: func(ctx context.Context, env *tool.Env, _ string) tool.Result {
		e.env = env
		e.got, e.err = env.Elicit.Elicit(ctx, &q)
		if e.err != nil {
			return tool.Fail(e.err.Error())
		}
		return tool.Text(string(e.got.Action))
	}}
	e.rig = newRig(t, []tool.Tool{asks}, calls(call("c1", "asks", "{}")), text("done"))
	e.cfg.Elicit = e.client
	return e
}

// on makes hooks answer an event.
func (e *elicits) on(ev hooks.Event, out hooks.Outcome) {
	e.hooks.on[ev] = func(context.Context, *hooks.Call) *hooks.Outcome { o := out; return &o }
}

// story is the log's events of elicitations and hooks, short.
func (e *elicits) story() []string {
	var out []string
	for _, ev := range e.log.events {
		switch d := ev.Data.(type) {
		case *session.ElicitAsked:
			out = append(out, strings.TrimSpace("asked "+d.Mode+" "+d.Message+" "+d.URL))
		case *session.ElicitAnswered:
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s by %s %s", d.Action, d.Source.Kind, d.Content)))
		case *session.HookInvoked:
			out = append(out, "hook "+d.Point)
		case *session.ToolResult:
			out = append(out, "result "+d.Block().Content[0].Text)
		}
	}
	return out
}

func (e *elicits) tells(want ...string) {
	e.t.Helper()
	if d := cmp.Diff(want, e.story()); d != "" {
		e.t.Error(d)
	}
}

func (e *elicits) fields(ev hooks.Event, want map[string]any) {
	e.t.Helper()
	i := slices.IndexFunc(e.hooks.seen, func(c *hooks.Call) bool { return c.Event == ev })
	if i < 0 {
		e.t.Errorf("no hook of %s was run", ev)
		return
	}
	if d := cmp.Diff(want, e.hooks.seen[i].Fields); d != "" {
		e.t.Errorf("%s: %s", ev, d)
	}
}

// notified are the notification types that hooks were told.
func (e *elicits) notified() []string {
	var out []string
	for _, c := range e.hooks.seen {
		if c.Event == hooks.Notification {
			out = append(out, fmt.Sprint(c.Fields["notification_type"]))
		}
	}
	return out
}

func TestElicitAccepted(t *testing.T) {
	e := newElicits(t, tool.Elicitation{Message: "Who?", Schema: json.RawMessage(nameForm)})
	for _, ev := range []hooks.Event{hooks.Elicitation, hooks.ElicitationResult, hooks.Notification} {
		e.on(ev, hooks.Outcome{})
	}
	if _, err := e.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if e.err != nil || e.got.Action != tool.FormAccept || string(e.got.Content) != `{"name":"Ann"}` {
		t.Errorf("the server got %+v, %v", e.got, e.err)
	}
	e.tells("asked form Who?", "hook Elicitation", "hook Notification", `accept by user {"name":"Ann"}`,
		"hook ElicitationResult", "hook Notification", "result accept")
	e.fields(hooks.Elicitation, map[string]any{"mcp_server_name": "srv", "message": "Who?", "mode": "form", "requested_schema": json.RawMessage(nameForm)})
	e.fields(hooks.ElicitationResult, map[string]any{"mcp_server_name": "srv", "mode": "form", "action": "accept", "content": json.RawMessage(`{"name":"Ann"}`)})
	if got := e.notified(); !slices.Equal(got, []string{"elicitation_dialog", "elicitation_response"}) {
		t.Errorf("notifications %v", got)
	}
}

// What hooks decide, before the person is asked and after.
func TestElicitHooks(t *testing.T) {
	no := hooks.Text{Text: "not now", Dialect: "claude-code", Handler: "claude-code:Elicitation:1"}
	for _, c := range []struct {
		name  string
		on    hooks.Event
		out   hooks.Outcome
		asked int
		want  tool.ElicitAnswer
		tells []string
		end   string
	}{
		{
			"answers in the person's place", hooks.Elicitation,
			hooks.Outcome{Action: "accept", Content: json.RawMessage(`{"name":"Bot"}`)},
			0,
			tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{"name":"Bot"}`)},
			[]string{`accept by hook {"name":"Bot"}`},
			"",
		},
		{"accepts without content", hooks.Elicitation, hooks.Outcome{Action: "accept"}, 0, tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{}`)}, []string{`accept by hook {}`}, ""},
		{"cancels", hooks.Elicitation, hooks.Outcome{Action: "cancel", Content: json.RawMessage(`{"x":1}`)}, 0, tool.ElicitAnswer{Action: tool.FormCancel}, []string{"cancel by hook"}, ""},
		{"blocks", hooks.Elicitation, hooks.Outcome{Blocked: true, Reasons: []hooks.Text{no}, Action: "decline"}, 0, tool.ElicitAnswer{Action: tool.FormDecline}, []string{"decline by hook"}, ""},
		{"stops the turn", hooks.Elicitation, hooks.Outcome{Halted: true, HaltReason: no}, 0, tool.ElicitAnswer{Action: tool.FormCancel}, []string{"cancel by hook"}, "not now"},
		{
			"changes the answer", hooks.ElicitationResult,
			hooks.Outcome{Action: "accept", Content: json.RawMessage(`{"name":"Eve"}`)},
			1,
			tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{"name":"Eve"}`)},
			[]string{`accept by user {"name":"Ann"}`, `accept by hook {"name":"Eve"}`},
			"",
		},
		{"confirms the answer", hooks.ElicitationResult, hooks.Outcome{Action: "accept"}, 1, tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{"name":"Ann"}`)}, []string{`accept by user {"name":"Ann"}`}, ""},
		{"blocks the answer", hooks.ElicitationResult, hooks.Outcome{Blocked: true, Reasons: []hooks.Text{no}, Action: "decline"}, 1, tool.ElicitAnswer{Action: tool.FormDecline}, []string{`accept by user {"name":"Ann"}`, "decline by hook"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newElicits(t, tool.Elicitation{Message: "Who?", Schema: json.RawMessage(nameForm)})
			e.on(c.on, c.out)
			reason, err := e.prompt("go")
			if err != nil {
				t.Fatal(err)
			}
			if len(e.client.asked) != c.asked {
				t.Errorf("the person was asked %d times", len(e.client.asked))
			}
			if d := cmp.Diff(c.want, e.got); d != "" || e.err != nil {
				t.Error(d, e.err)
			}
			var got []string
			for _, s := range e.story() {
				if strings.Contains(s, " by ") {
					got = append(got, s)
				}
			}
			if d := cmp.Diff(c.tells, got); d != "" {
				t.Error(d)
			}
			if asked := e.model.calls(); (c.end != "") != (asked == 1) || reason.Message != c.end {
				t.Errorf("the model was asked %d times, the turn ended %+v", asked, reason)
			}
		})
	}
}

func TestElicitURL(t *testing.T) {
	e := newElicits(t, tool.Elicitation{Message: "Sign in", URL: "https://x.example/in", ServerID: "e1"})
	for _, ev := range []hooks.Event{hooks.Elicitation, hooks.ElicitationResult, hooks.Notification} {
		e.on(ev, hooks.Outcome{})
	}
	if _, err := e.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if e.err != nil || e.got.Action != tool.FormAccept || e.got.Content != nil {
		t.Errorf("the server got %+v, %v", e.got, e.err)
	}
	e.fields(hooks.Elicitation, map[string]any{"mcp_server_name": "srv", "message": "Sign in", "mode": "url", "url": "https://x.example/in", "elicitation_id": "e1"})
	e.fields(hooks.ElicitationResult, map[string]any{"mcp_server_name": "srv", "mode": "url", "action": "accept", "elicitation_id": "e1"})
	// The server's word comes when no turn is running any more.
	if err := e.env.Elicit.Elicited(context.Background(), &e.client.asked[0]); err != nil {
		t.Fatal(err)
	}
	if got := e.notified(); !slices.Equal(got, []string{"elicitation_url_dialog", "elicitation_response", "elicitation_complete"}) {
		t.Errorf("notifications %v", got)
	}
	if !slices.Equal(e.client.done, []string{"q1"}) {
		t.Errorf("the client was told of %v", e.client.done)
	}
}

// The person is never asked for a secret in a form, nor sent to where no web page
// is; the person is told, and the server that it was declined.
func TestElicitRefused(t *testing.T) {
	field := func(name, schema string) tool.Elicitation {
		return tool.Elicitation{Message: "Please", Schema: json.RawMessage(`{"type":"object","properties":{"` + name + `":` + schema + `}}`)}
	}
	url := func(u string) tool.Elicitation { return tool.Elicitation{Message: "Please", URL: u} }
	message := field("value", `{"type":"string"}`)
	message.Message = "Enter your password"
	choice := field("value", `{"type":"string","enum":["a"]}`)
	choice.Message = "Which password manager?"
	for i, c := range []struct {
		q       tool.Elicitation
		refused bool
	}{
		{field("apiKey", `{"type":"string"}`), true},
		{field("x", `{"type":"string","title":"Access token"}`), true},
		{field("x", `{"type":"string","description":"your password"}`), true},
		{message, true},
		{choice, false},
		{field("password_ok", `{"type":"boolean"}`), false},
		{field("name", `{"type":"string"}`), false},
		{url("https://x.example/a"), false},
		{url("http://localhost:80/a"), false},
		{url("http://127.0.0.1/a"), false},
		{url("http://x.example/a"), true},
		{url("https://me:pw@x.example/a"), true},
		{url("file:///etc/passwd"), true},
		{url("javascript:alert(1)"), true},
		{url("://"), true},
	} {
		e := newElicits(t, c.q)
		if _, err := e.prompt("go"); err != nil {
			t.Fatal(err)
		}
		notices := slices.ContainsFunc(e.log.events, func(ev session.Event) bool { _, ok := ev.Data.(*session.Notice); return ok })
		if (len(e.client.asked) == 0) != c.refused || notices != c.refused || (e.got.Action == tool.FormDecline) != c.refused {
			t.Errorf("%d: asked %d times, told the person: %v, the server got %s", i, len(e.client.asked), notices, e.got.Action)
		}
	}
}

// A cancel of the turn answers an open question with cancel, and the log says so
// in its place.
func TestElicitCancelled(t *testing.T) {
	e := newElicits(t, tool.Elicitation{Message: "Who?", Schema: json.RawMessage(nameForm)})
	e.on(hooks.ElicitationResult, hooks.Outcome{})
	e.client.answer = func(ctx context.Context, _ *tool.Elicitation) (tool.ElicitAnswer, error) {
		e.Cancel()
		<-ctx.Done()
		return tool.ElicitAnswer{}, ctx.Err()
	}
	reason, err := e.prompt("go")
	if err != nil || reason.Kind != session.EndCancelled {
		t.Fatal(reason, err)
	}
	if e.err != nil || e.got.Action != tool.FormCancel {
		t.Errorf("the server got %+v, %v", e.got, e.err)
	}
	e.tells("asked form Who?", "cancel by agent", "result cancel")
}

// A question that the client cannot show is an error for the server: nobody has
// declined it.
func TestElicitNotShown(t *testing.T) {
	e := newElicits(t, tool.Elicitation{Message: "Who?", Schema: json.RawMessage(nameForm)})
	e.client.answer = func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		return tool.ElicitAnswer{}, errors.New("no screen")
	}
	if _, err := e.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if e.err == nil || !strings.Contains(e.err.Error(), "no screen") {
		t.Errorf("the server got %+v, %v", e.got, e.err)
	}
	e.tells("asked form Who?", "error by agent", "result "+fmt.Sprint(e.err))
}

// Keys do not reach the log.
func TestElicitRedacted(t *testing.T) {
	e := newElicits(t, tool.Elicitation{Message: "Is it SECRET?", Schema: json.RawMessage(nameForm)})
	e.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "SECRET", "…") }
	e.client.answer = func(context.Context, *tool.Elicitation) (tool.ElicitAnswer, error) {
		return tool.ElicitAnswer{Action: tool.FormAccept, Content: json.RawMessage(`{"name":"SECRET"}`)}, nil
	}
	if _, err := e.prompt("go"); err != nil {
		t.Fatal(err)
	}
	if string(e.got.Content) != `{"name":"SECRET"}` {
		t.Errorf("the server got %s", e.got.Content)
	}
	for _, s := range e.story() {
		if strings.Contains(s, "SECRET") {
			t.Error(s)
		}
	}
}
