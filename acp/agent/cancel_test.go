package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/loop/model"
	"acp-agent/session"
)

// cancelAnywhere cancels at each point of a turn (E1): the answer is
// "cancelled", no tool runs after it, every announced call ends before it, and
// the session takes the next prompt with a history that a model accepts (E5, E7).
func cancelAnywhere(t *testing.T) {
	todo := toolCall{"t", "todo_write", args("todos", []any{})}
	write := toolCall{"w", "write", args("file_path", "x.txt", "content", "x")}
	for name, tc := range map[string]struct {
		answers []answer
		// ready says that the turn is where the cancel is to hit.
		ready func(acptest.Frame) bool
		deny  bool
		noAsk bool
	}{
		"before the first token": {answers: []answer{hangs()}},
		"mid-text":               {answers: []answer{hangs("some text")}, ready: isText("some text")},
		"an error of the SDK's": {answers: []answer{func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			<-ctx.Done()
			yield(session.Chunk{}, model.Errorf(model.KindTransport, "doing the request: %w", ctx.Err()))
		}}},
		"mid-shell": {
			answers: []answer{calls("", todo, toolCall{"b", "bash", args("command", "echo up; sleep 1000")}, write)},
			ready: func(f acptest.Frame) bool {
				return f.Update != nil && f.Update.Update.ToolCallUpdate != nil && strings.Contains(f.Raw, "up")
			},
		},
		"while a permission is open": {
			answers: []answer{calls("", todo, write)}, noAsk: true,
			ready: func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodSessionRequestPermission },
		},
		"between retries": {
			answers: []answer{fails(&model.Error{Kind: model.KindRateLimit, Message: "busy", Retryable: true, RetryAfter: 50e9})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options{}, func(r *rig) {
				id := r.open()
				if tc.noAsk {
					acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
						<-ctx.Done() // the agent's $/cancel_request
						return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: "allow_once"}}, nil
					})
				} else {
					r.permissions(acp.PermissionOptionKindAllowOnce)
				}
				r.model.add(tc.answers...)
				p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
				if tc.ready != nil {
					r.WaitFrame(r.t.Context(), 0, tc.ready)
				} else {
					settle(r)
				}
				r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
				r.stops(p, acp.StopReasonCancelled)
				endedCalls(t, r, id)
				r.holds(r.dir+"/x.txt", "")
				asked := r.model.asked()
				r.model.add(says("fine"))
				r.say(id, "go on", acp.StopReasonEndTurn)
				if r.model.asked() != asked+1 {
					t.Errorf("the model was asked %d times more", r.model.asked()-asked)
				}
				paired(t, r.model.request(t, -1))
				r.holds(r.dir+"/x.txt", "")
			})
		})
	}
}

func isText(s string) func(acptest.Frame) bool {
	return func(f acptest.Frame) bool {
		return f.Update != nil && f.Update.Update.AgentMessageChunk != nil && strings.Contains(f.Raw, s)
	}
}

// endedCalls checks that each announced call has one end.
func endedCalls(t *testing.T, r *rig, id string) {
	t.Helper()
	state := map[string]acp.ToolCallStatus{}
	for _, u := range r.Updates(id) {
		switch {
		case u.ToolCall != nil:
			if _, twice := state[u.ToolCall.ToolCallID]; twice {
				t.Errorf("call %s was announced twice", u.ToolCall.ToolCallID)
			}
			state[u.ToolCall.ToolCallID] = u.ToolCall.Status
		case u.ToolCallUpdate != nil:
			c := u.ToolCallUpdate
			was, known := state[c.ToolCallID]
			switch {
			case !known:
				t.Errorf("an update for call %s, which was not announced", c.ToolCallID)
			case was == acp.ToolCallStatusCompleted || was == acp.ToolCallStatusFailed:
				t.Errorf("an update for call %s after its end", c.ToolCallID)
			case c.Status == acp.ToolCallStatusPending && was == acp.ToolCallStatusInProgress:
				t.Errorf("call %s went back", c.ToolCallID)
			}
			if c.Status != "" {
				state[c.ToolCallID] = c.Status
			}
		}
	}
	for id, s := range state {
		if s != acp.ToolCallStatusCompleted && s != acp.ToolCallStatusFailed {
			t.Errorf("call %s stays %s", id, s)
		}
	}
}

// paired checks that each call of a request has one result, right after it.
func paired(t *testing.T, req *model.Request) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range req.Messages {
		if m.Role != session.RoleTool && len(open) > 0 {
			t.Errorf("message %d while calls %v have no result", i, open)
		}
		for _, b := range m.Content {
			switch {
			case b.Type == session.BlockToolCall:
				open[b.ID] = true
			case m.Role == session.RoleTool:
				if !open[b.CallID] {
					t.Errorf("message %d: a result for %s, which is not open", i, b.CallID)
				}
				delete(open, b.CallID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

// E4: a load of a session with a running prompt is refused, and the prompt can
// still be cancelled.
func TestE4LoadOfABusySession(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(hangs("begun"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		r.seenText(id, "begun")
		r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}, -32600)
		r.refused(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir}, -32600)
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		r.load(id)
		r.say(id, "once more", acp.StopReasonEndTurn)
	})
}

// What a stream still has when its turn is cancelled is shown as it is kept.
func TestCancelledTextIsShown(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			for i, c := range textChunks("begun", ", more") {
				if c.Text == ", more" {
					<-ctx.Done()
				}
				if !yield(c, nil) {
					t.Errorf("chunk %d is not taken", i)
					return
				}
			}
			yield(session.Chunk{}, ctx.Err())
		}, says("fine"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		r.seenText(id, "begun")
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		shown := r.Text(id)
		r.say(id, "go on", acp.StopReasonEndTurn)
		if kept := allText(r.model.request(t, -1)); shown != "begun, more" || !strings.Contains(kept, shown) {
			t.Errorf("shown %q, kept %q", shown, kept)
		}
	})
}

// E4: loads of one live session at the same time leave one session.
func TestLoadedAtOnce(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.say(id, "hi", acp.StopReasonEndTurn)
		var all []*acptest.Pending
		for range 8 {
			all = append(all, r.Go(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}))
		}
		for _, p := range all {
			if err := p.Wait(r.t.Context(), nil); err != nil {
				t.Error(err)
			}
		}
		if len(r.build.params)-r.build.closed != 1 {
			t.Errorf("%d sessions were built, %d closed", len(r.build.params), r.build.closed)
		}
		r.say(id, "still one", acp.StopReasonEndTurn)
	})
}

// A load that follows a close on the wire waits for it.
func TestCloseThenLoad(t *testing.T) {
	for range 20 {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("begun"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.seenText(id, "begun")
			c := r.Go(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
			l := r.Go(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir})
			r.stops(p, acp.StopReasonCancelled)
			for _, q := range []*acptest.Pending{c, l} {
				if err := q.Wait(r.t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			r.say(id, "again", acp.StopReasonEndTurn)
		})
	}
}

// What follows a load on the wire finds the session being loaded, whoever of the
// two is faster: a prompt is told to wait, a close closes it.
func TestSentWithALoad(t *testing.T) {
	for range 20 {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hi", acp.StopReasonEndTurn)
			r.close(id)
			l := r.Go(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir})
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			c := r.Go(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
			for _, q := range []*acptest.Pending{l, c} {
				if err := q.Wait(r.t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			// Where the load was faster the prompt is one like any other.
			var refusal *acp.Error
			if err := p.Wait(r.t.Context(), nil); err != nil && (!errors.As(err, &refusal) || refusal.Code != acp.CodeInvalidRequest) {
				t.Errorf("the prompt: %v", err)
			}
			r.refused(acp.MethodSessionPrompt, textPrompt(id, "after"), acp.CodeResourceNotFound)
			if n := len(r.build.params) - r.build.closed; n != 0 {
				t.Errorf("%d sessions stay open", n)
			}
		})
	}
}

// Loads and closes that are sent without waiting take effect in the order of the
// wire, also of a session that is active already.
func TestLoadsAndClosesInOrder(t *testing.T) {
	for range 20 {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hi", acp.StopReasonEndTurn)
			load := &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}
			var sent []*acptest.Pending
			for range 3 {
				sent = append(
					sent, r.Go(acp.MethodSessionLoad, load),
					r.Go(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id}),
				)
			}
			sent = append(sent, r.Go(acp.MethodSessionLoad, load))
			for _, q := range sent {
				if err := q.Wait(r.t.Context(), nil); err != nil {
					t.Error(err)
				}
			}
			if n := len(r.build.params) - r.build.closed; n != 1 {
				t.Errorf("%d sessions are open", n)
			}
			r.say(id, "again", acp.StopReasonEndTurn)
		})
	}
}
