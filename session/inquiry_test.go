package session_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

// inquiry is a log in which two handlers ask side by side, one with a tool and a
// second attempt.
func inquiry(t *testing.T) []session.Data {
	t.Helper()
	head := &session.RequestHead{Config: session.Params{Provider: "p", Model: "m"}, System: "judge"}
	user := func(s string) session.Message {
		return session.Message{Role: session.RoleUser, Content: []session.Block{session.Text(s)}}
	}
	call := session.Block{Type: session.BlockToolCall, ID: "c", Name: "read", Arguments: `{}`}
	says := &session.LoggedMessage{Role: session.RoleAssistant, Content: []session.Block{call}, Source: session.Source{Kind: session.SourceModel, Provider: "p", Model: "m"}}
	result := session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: "c", Content: []session.Block{session.Text("seen")}}}}
	digest := func(messages ...session.Message) string {
		d, err := session.RequestDigest(head, messages)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a, b := "claude-code:Stop:1", "claude-code:Stop:2"
	answer := session.Message{Role: session.RoleAssistant, Content: says.Content, Provider: "p", Model: "m"}
	return []session.Data{
		&session.TurnStart{Turn: 1},
		&session.HookInvoked{Turn: 1, Point: "Stop", Dialect: "claude-code", HandlerID: a},
		&session.HookRequest{Turn: 1, Point: "Stop", HandlerID: a, Round: 1, Attempt: 1, Header: head, Messages: []session.Message{user("A")}, Digest: digest(user("A"))},
		&session.HookRequest{Turn: 1, Point: "Stop", HandlerID: b, Round: 1, Attempt: 1, Header: head, Messages: []session.Message{user("B")}, Digest: digest(user("B"))},
		&session.HookAnswer{Turn: 1, Point: "Stop", HandlerID: a, Round: 1, Attempt: 1, Error: &session.TurnError{Kind: "server"}},
		&session.HookRequest{Turn: 1, Point: "Stop", HandlerID: a, Round: 1, Attempt: 2, Digest: digest(user("A"))},
		&session.HookAnswer{Turn: 1, Point: "Stop", HandlerID: a, Round: 1, Attempt: 2, Message: says, Usage: &session.Usage{InputTokens: 7, OutputTokens: 3}, Cost: 0.25, Currency: "USD"},
		&session.HookRequest{Turn: 1, Point: "Stop", HandlerID: a, Round: 2, Attempt: 1, Messages: []session.Message{result}, Digest: digest(user("A"), answer, result)},
		&session.HookResult{Turn: 1, Point: "Stop", HandlerID: a, Decision: "pass"},
		&session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.EndCompleted}},
	}
}

// TestInquiries: what a hook's model was sent follows from the log, is none of
// the session's own transcript, and is counted.
func TestInquiries(t *testing.T) {
	events := number(inquiry(t)...)
	for i := range events {
		events[i] = decode(t, encode(t, events[i]))
	}
	if p := session.Verify(header(), events); len(p) > 0 {
		t.Errorf("%v", p)
	}
	v := session.NewVerifier(header())
	var q session.Inquiries
	var last []session.Message
	for _, ev := range events {
		v.Add(ev)
		if in := q.Apply(ev.Data); in != nil {
			last = in.Messages
		}
	}
	if v.Requests() != 4 || len(last) != 3 || last[0].Content[0].Text != "A" || last[1].Provider != "p" || last[2].Content[0].CallID != "c" {
		t.Errorf("%d requests, the last of %+v", v.Requests(), last)
	}
	st := v.State()
	if len(st.Messages) != 0 || st.Used != nil || st.Cost != 0.25 || st.Total.InputTokens != 7 || st.Total.OutputTokens != 3 {
		t.Errorf("messages %v, used %v, cost %v, total %+v", st.Messages, st.Used, st.Cost, st.Total)
	}
	st = fold(t, number(append(inquiry(t), &session.UsageReport{Cost: 0.75, Currency: "USD"}, &session.UsageReport{})...))
	if st.Cost != 0.75 {
		t.Errorf("cost %v", st.Cost)
	}
}

func TestVerifyInquiries(t *testing.T) {
	for name, spoil := range map[string]func(d []session.Data){
		"the question": func(d []session.Data) { d[2].(*session.HookRequest).Messages[0].Content[0].Text = "forged" },
		"the answer":   func(d []session.Data) { d[6].(*session.HookAnswer).Message.Content[0].Arguments = "forged" },
		"the result":   func(d []session.Data) { d[7].(*session.HookRequest).Messages[0].Content[0].Content[0].Text = "forged" },
		"whose it is":  func(d []session.Data) { d[7].(*session.HookRequest).HandlerID = "claude-code:Stop:2" },
	} {
		data := inquiry(t)
		spoil(data)
		p := session.Verify(header(), number(data...))
		if len(p) == 0 || !strings.Contains(p[0].Text, "does not follow from the events before it") {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestVerifySummaryRequest: what a model is asked for a summary follows from the
// log as any other request does.
func TestVerifySummaryRequest(t *testing.T) {
	user := func(text string) session.Data {
		return &session.UserMessage{Content: []session.Block{session.Text(text)}}
	}
	ask := &session.Compaction{ID: "c", Trigger: "manual", Status: "in_progress", Through: 2, Content: []session.Block{session.Text("sum up")}, MaxTokens: 9}
	data := []session.Data{&session.TurnStart{Turn: 1}, user("a"), user("b"), ask, &session.Compaction{ID: "c", Status: "failed"}, &session.TurnEnd{Turn: 1}}
	var err error
	if ask.Digest, err = session.RequestDigest(&session.RequestHead{Config: session.Params{MaxTokens: 9}}, []session.Message{
		{Role: session.RoleUser, Content: []session.Block{session.Text("a")}}, {Role: session.RoleUser, Content: ask.Content},
	}); err != nil {
		t.Fatal(err)
	}
	v := session.NewVerifier(header())
	for _, ev := range number(data...) {
		v.Add(ev)
	}
	if p := v.Done(); len(p) > 0 || v.Requests() != 1 {
		t.Errorf("%d requests, %v", v.Requests(), p)
	}
	data[1] = user("forged")
	if p := session.Verify(header(), number(data...)); len(p) != 1 || !strings.Contains(p[0].Text, "does not follow from the events before it") {
		t.Errorf("forged: %v", p)
	}
}

// RequestDigest and State.Digest are the same function.
func TestRequestDigestIsTheStatesDigest(t *testing.T) {
	st := fold(t, number(generate(5, 3)...))
	want, err := st.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.RequestDigest(st.Head, st.Messages)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
