package agent_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/session"
)

var promptLines = []line{
	{n: 59, name: "text-and-links", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			link := acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: "x", URI: "https://example.com/x"}}
			r.prompt(&acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("see"), link}}, acp.StopReasonEndTurn)
			if got := allText(r.model.request(t, -1)); !strings.Contains(got, "see") || !strings.Contains(got, "https://example.com/x") {
				t.Errorf("the request has %q", got)
			}
		})
	}},
	{n: 60, name: "what-is-advertised", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) {
			pc := initialize(t, r, acp.ClientCapabilities{}).AgentCapabilities.PromptCapabilities
			id := r.open()
			img := acp.ContentBlock{Image: &acp.ImageContent{Data: "AA==", MimeType: "image/png"}}
			aud := acp.ContentBlock{Audio: &acp.AudioContent{Data: "AA==", MimeType: "audio/wav"}}
			res := acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: acp.EmbeddedResourceResource{Text: &acp.TextResourceContents{URI: "file:///a", Text: "inside"}}}}
			for _, tc := range []struct {
				block acp.ContentBlock
				has   bool
			}{{img, pc.Image}, {aud, pc.Audio}, {res, pc.EmbeddedContext}} {
				p := &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("x"), tc.block}}
				if tc.has {
					r.prompt(p, acp.StopReasonEndTurn)
				} else {
					r.refused(acp.MethodSessionPrompt, p, -32602)
				}
			}
			r.refused(acp.MethodSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "hologram"}}}, -32602)
			r.refused(acp.MethodSessionPrompt, map[string]any{"sessionId": id, "prompt": []any{}}, -32602)
		})
	}},
	{n: 61, name: "streams", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(thinks("hm", "yes"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.stops(p, acp.StopReasonEndTurn)
			thought := r.seen(id, func(u acp.SessionUpdate) bool { return u.AgentThoughtChunk != nil })
			text := r.seen(id, func(u acp.SessionUpdate) bool { return u.AgentMessageChunk != nil })
			if thought.N > text.N || text.N > p.Frame().N {
				t.Errorf("thought %d, text %d, answer %d", thought.N, text.N, p.Frame().N)
			}
		})
	}},
	{n: 62, name: "stop-reasons", test: stopReasons},
	{n: 63, name: "nothing-after-the-answer", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			words := make([]string, 1000)
			for i := range words {
				words[i] = strconv.Itoa(i) + " "
			}
			r.model.add(says(words...), calls("", toolCall{"c", "bash", args("command", "seq 1 2000")}), usage(session.Usage{InputTokens: 5}, "end"))
			r.say(id, "first", acp.StopReasonEndTurn)
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.stops(p, acp.StopReasonEndTurn)
			<-time.After(time.Hour) // the bubble's: whatever was put off has had its time
			if n := len(r.Frames()); n != p.Frame().N+1 {
				t.Errorf("%d frames followed the answer: %s", n-p.Frame().N-1, r.Frames()[p.Frame().N+1].Raw)
			}
			if got := r.Text(id); got != strings.Join(words, "")+"end" {
				t.Errorf("the text is %d bytes and not in order", len(got))
			}
		})
	}},
	{n: 64, name: "cancelled", test: cancelAnywhere},
	{n: 65, name: "children-are-killed", at: "loop/tool/shell.TestCancel", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			p, gone := r.runs(id)
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
			gone()
		})
	}},
	{n: 66, name: "flushed-before-cancelled", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("one ", "two ", "three"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.seenText(id, "three")
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
			if got := r.Text(id); got != "one two three" || len(r.Frames()) != p.Frame().N+1 {
				t.Errorf("text %q, answer %d of %d frames", got, p.Frame().N, len(r.Frames()))
			}
		})
	}},
	{n: 67, name: "cancel-of-nothing", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hi", acp.StopReasonEndTurn)
			n := len(r.Frames())
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: "none"})
			r.list("")
			if got := len(r.Frames()); got != n+1 {
				t.Errorf("%d frames came, want the list alone", got-n)
			}
			r.say(id, "the cancel does not reach later prompts", acp.StopReasonEndTurn)
		})
	}},
	{n: 68, name: "prompt-after-cancel", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			for i := range 5 {
				r.model.add(hangs("x"+strconv.Itoa(i)), says("fine"))
				p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
				r.seenText(id, "x"+strconv.Itoa(i))
				r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
				r.stops(p, acp.StopReasonCancelled)
				r.say(id, "again", acp.StopReasonEndTurn)
			}
		})
	}},
	{n: 69, name: "cancel-of-another", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			a, b := r.open(), r.open()
			release := make(chan struct{})
			r.model.add(hangs("a"), func(ctx context.Context, q *model.Request, yield func(session.Chunk, error) bool) {
				select {
				case <-release:
					says("b")(ctx, q, yield)
				case <-ctx.Done():
					yield(session.Chunk{}, ctx.Err())
				}
			})
			pa := r.Go(acp.MethodSessionPrompt, textPrompt(a, "go"))
			r.seenText(a, "a")
			pb := r.Go(acp.MethodSessionPrompt, textPrompt(b, "go"))
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: a})
			r.stops(pa, acp.StopReasonCancelled)
			close(release)
			r.stops(pb, acp.StopReasonEndTurn)
		})
	}},
	{n: 70, name: "limits-are-stop-reasons", test: stopReasons},
	{n: 71, name: "message-ids", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(thinks("a", "b"), says("c", "d"))
			r.say(id, "one", acp.StopReasonEndTurn)
			r.say(id, "two", acp.StopReasonEndTurn)
			byID := map[string]string{}
			for _, u := range r.Updates(id) {
				for kind, c := range map[string]*acp.ContentChunk{"thought": u.AgentThoughtChunk, "text": u.AgentMessageChunk} {
					if c == nil {
						continue
					}
					if c.MessageID == "" {
						t.Errorf("%s chunk without a message id", kind)
					}
					byID[c.MessageID] += kind + ":" + c.Content.Text.Text + " "
				}
			}
			if len(byID) != 3 {
				t.Errorf("messages %v, want three", byID)
			}
			for id, s := range byID {
				if strings.Contains(s, "thought") && strings.Contains(s, "text") || strings.Contains(s, "b") && strings.Contains(s, "c") {
					t.Errorf("message %s is two: %s", id, s)
				}
			}
		})
	}},
	{n: 72, name: "usage", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			first := r.seen(id, func(u acp.SessionUpdate) bool { return u.UsageUpdate != nil }).Update.Update.UsageUpdate
			if first.Used != 0 || first.Size != 100_000 || first.Cost != nil {
				t.Errorf("after the setup: %+v", first)
			}
			r.model.add(usage(session.Usage{InputTokens: 1000, OutputTokens: 500}, "a"), usage(session.Usage{InputTokens: 300, OutputTokens: 50}, "b"))
			r.say(id, "one", acp.StopReasonEndTurn)
			one := last(r, id, func(u acp.SessionUpdate) *acp.UsageUpdate { return u.UsageUpdate })
			r.say(id, "two", acp.StopReasonEndTurn)
			two := last(r, id, func(u acp.SessionUpdate) *acp.UsageUpdate { return u.UsageUpdate })
			if one.Used != 1500 || two.Used != 350 || one.Cost.Amount != 0.002 || two.Cost.Amount != 0.0024 || two.Cost.Currency != "USD" {
				t.Errorf("usage %+v %+v, %+v %+v", one, one.Cost, two, two.Cost)
			}
			r.set(id, "model", "test/small")
			if u := last(r, id, func(u acp.SessionUpdate) *acp.UsageUpdate { return u.UsageUpdate }); u.Size != 8000 || u.Used != 350 {
				t.Errorf("after a switch of the model: %+v", u)
			}
			r.close(id)
			n := len(r.Frames())
			r.load(id)
			again := r.WaitFrame(r.t.Context(), n, func(f acptest.Frame) bool { return f.Update != nil && f.Update.Update.UsageUpdate != nil }).Update.Update.UsageUpdate
			if again.Used != 350 || again.Size != 8000 || again.Cost.Amount != 0.0024 {
				t.Errorf("after a load: %+v", again)
			}
		})
	}},
	{n: 73, name: "history", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(says("forty-two"))
			r.say(id, "what is it?", acp.StopReasonEndTurn)
			r.say(id, "and now?", acp.StopReasonEndTurn)
			if got := allText(r.model.request(t, -1)); got != "what is it?\nforty-two\nand now?\n" {
				t.Errorf("the second request: %q", got)
			}
		})
	}},
	{n: 74, name: "second-prompt", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("begun"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			for range 10 {
				e := r.refused(acp.MethodSessionPrompt, textPrompt(id, "too"), -32600)
				if !strings.Contains(e.Message, "session/cancel") {
					t.Errorf("the error does not say what to do: %v", e)
				}
			}
			r.seenText(id, "begun")
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
			if r.model.asked() != 1 {
				t.Errorf("the model was asked %d times", r.model.asked())
			}
		})
	}},
	{n: 75, name: "notices", test: func(t *testing.T) {
		for _, takes := range []bool{false, true} {
			var caps acp.ClientCapabilities
			if takes {
				caps.Session = &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}
			}
			o := options{caps: caps, notices: []session.Notice{{Severity: "warning", Text: "mind the gap", Detail: "it is wide"}}}
			bubble(t, o, func(r *rig) {
				id := r.open()
				r.say(id, "hi", acp.StopReasonEndTurn)
				n := last(r, id, func(u acp.SessionUpdate) *acp.Notice { return u.Notice })
				if (n != nil) != takes || takes && (n.Title != "mind the gap" || n.Description != "it is wide" || n.Severity != "warning") {
					t.Errorf("takes notices %v: got %+v", takes, n)
				}
				if said := strings.Contains(r.Text(id), "mind the gap"); said == takes {
					t.Errorf("takes notices %v: text %q", takes, r.Text(id))
				}
				r.close(id)
				from := len(r.Updates(id))
				r.load(id)
				for _, u := range r.Updates(id)[from:] {
					if strings.Contains(string(mustJSON(u)), "mind the gap") {
						t.Errorf("a notice was replayed: %s", mustJSON(u))
					}
				}
			})
		}
	}},
	{n: 76, name: "compaction", test: func(t *testing.T) {
		for _, takes := range []bool{false, true} {
			var caps acp.ClientCapabilities
			if takes {
				caps.Session = &acp.ClientSessionCapabilities{Compaction: &acp.CompactionCapabilities{}}
			}
			bubble(t, options{caps: caps, models: []model.Info{{Ref: "test/tiny", Window: 1000}}}, func(r *rig) { compacts(t, r, takes) })
		}
	}},
	{n: 77, name: "cancel-request", at: "acp.TestCancelRequest", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("begun"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.seenText(id, "begun")
			r.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: p.ID})
			r.stops(p, acp.StopReasonCancelled)
		})
	}},
	{n: 78, name: "cancel-request-of-nothing", at: "acp.TestCancelRequest", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			n := len(r.Frames())
			for _, id := range []string{`1`, `"none"`, `99999`, `null`} {
				r.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: acp.RequestId(id)})
			}
			r.list("")
			if len(r.Frames()) != n+1 {
				t.Error("a cancel of nothing was answered")
			}
		})
	}},
}

// stopReasons gives each cause its stop reason.
func stopReasons(t *testing.T) {
	bubble(t, options{hold: func(c loop.Config) loop.Config { c.Limits.Steps = 2; return c }}, func(r *rig) {
		id := r.open()
		todo := calls("", toolCall{"c", "todo_write", args("todos", []any{})})
		r.model.add(says("done"), ends(session.FinishMaxTokens, "cut"), ends(session.FinishRefusal, "no"), todo, todo, todo)
		for _, want := range []acp.StopReason{acp.StopReasonEndTurn, acp.StopReasonMaxTokens, acp.StopReasonRefusal, acp.StopReasonMaxTurnRequests} {
			r.say(id, "go", want)
		}
		r.model.add(says("fine"))
		r.say(id, "and after all that", acp.StopReasonEndTurn)
	})
}

// compacts fills the context, compacts by command and looks at what is told.
func compacts(t *testing.T, r *rig, takes bool) {
	id := r.open()
	long := strings.Repeat("word ", 300)
	r.model.add(usage(session.Usage{InputTokens: 400}, long), usage(session.Usage{InputTokens: 500}, long), says("the summary"), says("after"))
	r.say(id, long+"one", acp.StopReasonEndTurn)
	r.say(id, long+"two", acp.StopReasonEndTurn)
	r.say(id, "/compact", acp.StopReasonEndTurn)
	var chain []acp.CompactionStatus
	ids := map[string]bool{}
	for _, u := range r.Updates(id) {
		if c := u.CompactionUpdate; c != nil {
			chain = append(chain, c.Status)
			ids[c.CompactionID] = true
		}
	}
	if takes && (len(ids) != 1 || chain[len(chain)-1] != acp.CompactionStatusCompleted) || !takes && len(chain) > 0 {
		t.Errorf("takes compactions %v: chain %v, ids %v; said %q", takes, chain, ids, r.Text(id))
	}
	r.say(id, "three", acp.StopReasonEndTurn)
	if got := allText(r.model.request(t, -1)); !strings.Contains(got, "the summary") || strings.Contains(got, "one") {
		t.Errorf("the request after the compaction: %.300q", got)
	}
	r.close(id)
	n := len(r.Updates(id))
	r.load(id)
	var users, compactions int
	for _, u := range r.Updates(id)[n:] {
		if u.UserMessageChunk != nil {
			users++
		}
		if u.CompactionUpdate != nil {
			compactions++
		}
	}
	if users != 3 || (compactions == 1) != takes {
		t.Errorf("a load shows %d prompts and %d compactions", users, compactions)
	}
}
