package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/loop/tool"
)

// asksTool stands for a tool of an MCP server that asks the person: its arguments
// are the question.
type asksTool struct {
	// asked keeps what was put, through which Elicitor.
	asked []*tool.Elicitation
	via   []tool.Elicitor
}

func (*asksTool) Spec() tool.Spec {
	return tool.Spec{Name: "asks", Schema: json.RawMessage(`{"type":"object"}`), Kind: tool.KindOther, ReadOnly: true}
}
func (*asksTool) View(*tool.Env, json.RawMessage) tool.View { return tool.View{Title: "asks"} }
func (a *asksTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	if env.Elicit == nil {
		return tool.Text("nobody to ask"), nil
	}
	var in struct {
		Message, URL string
		Schema       json.RawMessage
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	q := &tool.Elicitation{ID: newID(), CallID: env.CallID, Server: "srv", Message: in.Message, URL: in.URL, Schema: in.Schema}
	if q.URL != "" {
		q.ServerID = "e1"
	}
	a.asked, a.via = append(a.asked, q), append(a.via, env.Elicit)
	got, err := env.Elicit.Elicit(ctx, q)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	return tool.Text(string(got.Action) + string(got.Content)), nil
}

func elicitCaps(form, url bool) acp.ClientCapabilities {
	e := &acp.ElicitationCapabilities{}
	if form {
		e.Form = &acp.ElicitationFormCapabilities{}
	}
	if url {
		e.URL = &acp.ElicitationUrlCapabilities{}
	}
	return acp.ClientCapabilities{Elicitation: e}
}

// A form of a server is shown as the server made it, in the protocol's words, and
// says who asks.
func TestElicitationForm(t *testing.T) {
	const form = `{"type":"object","title":"T","description":"D","required":["name"],"properties":{
		"name":{"type":"string","title":"Name","minLength":2,"maxLength":9,"default":"Ann","pattern":"^[A-Z]"},
		"mail":{"type":"string","format":"email"},
		"age":{"type":"integer","minimum":1,"maximum":99},"size":{"type":"number","default":1.5},"ok":{"type":"boolean","default":true},
		"colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
		"plain":{"type":"string","enum":["a","b"]},
		"titled":{"type":"string","oneOf":[{"const":"x","title":"X"}]},
		"many":{"type":"array","minItems":1,"items":{"type":"string","enum":["p","q"]}}}}`
	asks := &asksTool{}
	caps := elicitCaps(true, false)
	bubble(t, options{caps: caps, tools: []tool.Tool{asks}}, func(r *rig) {
		s := serve(r, caps)
		s.form = func(*acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
			return &acp.CreateElicitationResponse{Action: acp.ElicitationAccept, Content: map[string]any{"name": "Bo", "age": 3.0, "many": []any{"p"}}}
		}
		id := r.open()
		r.model.add(calls("", toolCall{"c", "asks", args("message", "Who?", "schema", json.RawMessage(form))}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		if got := results(r.model.request(t, -1))["c"]; got != `accept{"age":3,"many":["p"],"name":"Bo"}` {
			t.Errorf("the server got %s", got)
		}
		if len(s.forms) != 1 || s.forms[0].Form == nil {
			t.Fatalf("asked %s", mustJSON(s.forms))
		}
		f := s.forms[0]
		if f.Message != "The MCP server \"srv\" asks:\n\nWho?" || f.Form.Session.SessionID != id || f.Form.Session.ToolCallID != "c" {
			t.Errorf("asked %s", mustJSON(f))
		}
		want := strings.Replace(form, `"enum":["r","g"],"enumNames":["Red","Green"]`, `"oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]`, 1)
		if d := cmp.Diff(decoded(t, []byte(want)), decoded(t, mustJSON(f.Form.RequestedSchema))); d != "" {
			t.Error(d)
		}
		endedCalls(t, r, id)
	})
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What the client cannot show is not asked, and the server hears so.
func TestElicitationNotShown(t *testing.T) {
	for _, c := range []struct {
		name string
		caps acp.ClientCapabilities
		args string
		want string
	}{
		{"no elicitation", acp.ClientCapabilities{}, args("message", "m"), "nobody to ask"},
		{"no mode", elicitCaps(false, false), args("message", "m"), "nobody to ask"},
		{"form where only pages are shown", elicitCaps(false, true), args("message", "m"), "does not show questions of this kind"},
		{"page where only forms are shown", elicitCaps(true, false), args("message", "m", "url", "https://x.example"), "does not show questions of this kind"},
		{"unknown field", elicitCaps(true, false), args("message", "m", "schema", json.RawMessage(`{"type":"object","properties":{"a":{"type":"file"}}}`)), `the field "a"`},
		{"unknown choices", elicitCaps(true, false), args("message", "m", "schema", json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"number"}}}}`)), `the field "a"`},
		{"broken form", elicitCaps(true, false), args("message", "m", "schema", json.RawMessage(`{"type":"object","properties":[1]}`)), "its form cannot be shown"},
		{"empty form", elicitCaps(true, false), args("message", "m"), "cancel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, options{caps: c.caps, tools: []tool.Tool{&asksTool{}}}, func(r *rig) {
				s := serve(r, c.caps)
				id := r.open()
				r.model.add(calls("", toolCall{"c", "asks", c.args}), says("ok"))
				r.say(id, "go", acp.StopReasonEndTurn)
				if got := results(r.model.request(t, -1))["c"]; !strings.Contains(got, c.want) {
					t.Errorf("the server got %q, want %q", got, c.want)
				}
				if (len(s.forms) > 0) != (c.want == "cancel") {
					t.Errorf("asked %s", mustJSON(s.forms))
				}
			})
		})
	}
}

// pagesAreDone: each page that the person is sent to has an id of its own, and
// the client that was asked is told which of them is done with.
func pagesAreDone(t *testing.T) {
	asks := &asksTool{}
	caps := elicitCaps(false, true)
	bubble(t, options{caps: caps, tools: []tool.Tool{asks}}, func(r *rig) {
		s := serve(r, caps)
		s.form = func(p *acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
			if p.URL == nil || p.URL.URL != "https://x.example/in" || p.URL.Session == nil {
				t.Errorf("asked %s", mustJSON(p))
			}
			return &acp.CreateElicitationResponse{Action: acp.ElicitationAccept, Content: map[string]any{"no": "content"}}
		}
		id := r.open()
		page := args("message", "Sign in", "url", "https://x.example/in")
		r.model.add(calls("", toolCall{"c1", "asks", page}), calls("", toolCall{"c2", "asks", page}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		for i, call := range []string{"c1", "c2"} {
			if got := results(r.model.request(t, -1))[call]; got != "accept" {
				t.Errorf("%s: the server got %s", call, got)
			}
			if got := s.forms[i].URL.ElicitationID; got != asks.asked[i].ID || got == "e1" {
				t.Errorf("%s has the id %q", call, got)
			}
		}
		if asks.asked[0].ID == asks.asked[1].ID {
			t.Error("two questions have one id")
		}
		n := len(r.Frames())
		if err := asks.via[1].Elicited(r.t.Context(), asks.asked[1]); err != nil {
			t.Fatal(err)
		}
		f := r.WaitFrame(r.t.Context(), n, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodElicitationComplete })
		if want := fmt.Sprintf(`{"elicitationId":%q}`, asks.asked[1].ID); string(f.Msg.Params) != want {
			t.Errorf("%s, want %s", f.Msg.Params, want)
		}
	})
}
