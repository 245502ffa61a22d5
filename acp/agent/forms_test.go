package agent_test

import (
	"context"
	"net/http"
	"testing"

	"acp-agent/acp"
	"acp-agent/loop/model"
	"acp-agent/session"
)

func formCaps() acp.ClientCapabilities {
	return acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}}
}

// asksForm lets the model ask three questions, answers with res (nil: cancel)
// and hands over what the client and the model got.
func asksForm(t *testing.T, res *acp.CreateElicitationResponse, check func(r *rig, s *services, result string)) {
	t.Helper()
	bubble(t, options{caps: formCaps()}, func(r *rig) {
		s := serve(r, formCaps())
		if res != nil {
			s.form = func(*acp.CreateElicitationRequest) *acp.CreateElicitationResponse { return res }
		}
		id := r.open()
		label := func(names ...string) (out []any) {
			for _, n := range names {
				out = append(out, map[string]any{"label": n, "description": "it is " + n})
			}
			return out
		}
		r.model.add(calls("", toolCall{"c", "ask_user", args("questions", []any{
			map[string]any{"question": "Which?", "header": "Colour", "options": label("red", "blue")},
			map[string]any{"question": "Whom?", "options": label("x", "y"), "multiSelect": true},
			map[string]any{"question": "Why?"},
		})}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		if len(s.forms) != 1 {
			t.Fatalf("%d forms were shown", len(s.forms))
		}
		endedCalls(t, r, id)
		check(r, s, results(r.model.request(t, -1))["c"])
	})
}

// A cancel frees a form that nobody answers.
func TestCancelOfAForm(t *testing.T) {
	bubble(t, options{caps: formCaps()}, func(r *rig) {
		s := serve(r, formCaps())
		shown, never := make(chan struct{}), make(chan struct{})
		s.form = func(*acp.CreateElicitationRequest) *acp.CreateElicitationResponse {
			close(shown)
			<-never
			return &acp.CreateElicitationResponse{Action: acp.ElicitationAccept, Content: map[string]any{"q1": "late"}}
		}
		id := r.open()
		r.model.add(calls("", toolCall{"c", "ask_user", args("questions", []any{map[string]any{"question": "Why?"}})}))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		<-shown
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		close(never)
		endedCalls(t, r, id)
		r.say(id, "on", acp.StopReasonEndTurn)
		paired(t, r.model.request(t, -1))
	})
}

// tracePassedOn: what comes with a prompt is what an adapter would send.
func tracePassedOn(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		got := http.Header{}
		r.model.add(func(ctx context.Context, q *model.Request, yield func(session.Chunk, error) bool) {
			model.SetTrace(ctx, got)
			says("ok")(ctx, q, yield)
		})
		p := textPrompt(id, "go")
		p.Meta = acp.Meta{"traceparent": "00-a-b-01", "tracestate": "k=v", "baggage": 7}
		r.prompt(p, acp.StopReasonEndTurn)
		if got.Get("Traceparent") != "00-a-b-01" || got.Get("Tracestate") != "k=v" || len(got) != 2 {
			t.Errorf("headers %v", got)
		}
	})
}
