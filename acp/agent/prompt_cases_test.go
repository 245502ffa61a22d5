package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/agent"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// panics is a tool with a bug.
type panics struct{}

func (panics) Spec() tool.Spec {
	return tool.Spec{Name: "panics", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Kind: tool.KindOther}
}
func (panics) View(*tool.Env, json.RawMessage) tool.View { return tool.View{Title: "panics"} }
func (panics) Run(context.Context, *tool.Env, json.RawMessage) (tool.Result, error) {
	panic("a bug")
}

// D2: whatever way a stream or a tool ends, the prompt is answered once and the
// session works on.
func TestD2EveryEndingAnswers(t *testing.T) {
	cut := model.Errorf(model.KindStreamClosed, "the stream ended early")
	begun := session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockToolCall}
	for name, a := range map[string]answer{
		"half a sentence": fails(cut, "half a sen"),
		"tool-call start": func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			if yield(begun, nil) && yield(session.Chunk{Type: session.ChunkToolCall, ID: "c", Name: "bash", Text: `{"comm`}, nil) {
				yield(session.Chunk{}, cut)
			}
		},
		"nothing at all":  func(context.Context, *model.Request, func(session.Chunk, error) bool) {},
		"no finish":       chunks(textChunks("so")...),
		"only a finish":   chunks(finish(session.FinishStop)),
		"an error":        fails(errors.New("not one of ours")),
		"panic in a tool": calls("", toolCall{"p", "panics", "{}"}),
	} {
		bubble(t, options{tools: []tool.Tool{panics{}}}, func(r *rig) {
			id := r.open()
			r.model.add(a, a, a, a)
			if name == "panic in a tool" {
				r.model.add(a, says("ok"))
			}
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			err := p.Wait(r.t.Context(), nil)
			var e *acp.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("%s: %v", name, err)
			}
			endedCalls(t, r, id)
			r.model.add(says("fine"))
			r.say(id, "on", acp.StopReasonEndTurn)
			paired(t, r.model.request(t, -1))
		})
	}
}

// D3, D4, D5: a provider's failure is an error that says what it was, after a
// bounded number of tries, and leaves a session that works.
func TestD3ProviderFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		err   model.Error
		code  int
		tries int
		after time.Duration
	}{
		"401":             {model.Error{Kind: model.KindAuth, Status: 401, Message: "bad key: set TEST_KEY"}, -32000, 1, 0},
		"402":             {model.Error{Kind: model.KindQuota, Status: 402, Message: "no money"}, -32603, 1, 0},
		"429":             {model.Error{Kind: model.KindRateLimit, Status: 429, Message: "slow down", Retryable: true}, -32603, 3, 0},
		"429, wait":       {model.Error{Kind: model.KindRateLimit, Status: 429, Message: "slow down", Retryable: true, RetryAfter: 20 * time.Second}, -32603, 3, 40 * time.Second},
		"429, wait a day": {model.Error{Kind: model.KindRateLimit, Status: 429, Message: "slow down", Retryable: true, RetryAfter: 24 * time.Hour}, -32603, 1, 0},
		"500":             {model.Error{Kind: model.KindServer, Status: 500, Message: "broken", Retryable: true}, -32603, 3, 0},
		"reset":           {model.Error{Kind: model.KindTransport, Message: "connection reset", Retryable: true}, -32603, 3, 0},
	} {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			for range 10 {
				r.model.answers = append(r.model.answers, fails(&tc.err))
			}
			began := time.Now()
			err := r.Call(r.t.Context(), acp.MethodSessionPrompt, textPrompt(id, "go"), nil)
			var e *acp.Error
			if !errors.As(err, &e) || int(e.Code) != tc.code || !strings.Contains(e.Message, tc.err.Message) {
				t.Fatalf("%s: %v", name, err)
			}
			var data agent.FailureData
			if err := json.Unmarshal(mustJSON(e.Data), &data); err != nil || data.Kind != string(tc.err.Kind) || data.Status != tc.err.Status ||
				data.Retryable != tc.err.Retryable || data.RetryAfterMs != tc.err.RetryAfter.Milliseconds() {
				t.Errorf("%s: data %s, %v", name, mustJSON(e.Data), err)
			}
			if took := time.Since(began); r.model.asked() != tc.tries || took < tc.after || took > tc.after+time.Minute {
				t.Errorf("%s: %d tries in %v, want %d after %v", name, r.model.asked(), took, tc.tries, tc.after)
			}
			r.model.add(says("fine"))
			r.say(id, "on", acp.StopReasonEndTurn)
		})
	}
}

// D6: of prompts that come at once one runs; one right after an answer does.
func TestD6PromptsAtOnce(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(hangs("begun"))
		var open []*acptest.Pending
		for range 10 {
			open = append(open, r.Go(acp.MethodSessionPrompt, textPrompt(id, "go")))
		}
		r.seenText(id, "begun")
		settle(r)
		refused := 0
		for _, p := range open[1:] {
			var e *acp.Error
			if err := p.Wait(r.t.Context(), nil); errors.As(err, &e) && e.Code == -32600 {
				refused++
			}
		}
		if refused != 9 {
			t.Errorf("%d of 9 were refused", refused)
		}
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(open[0], acp.StopReasonCancelled)
		for range 50 {
			r.say(id, "and at once", acp.StopReasonEndTurn)
		}
		if got := strings.Count(allText(r.model.request(t, -1)), "go\n"); got != 1 {
			t.Errorf("the history has the prompt %d times", got)
		}
	})
}

// D7: what the agent says to the person is marked and not part of the answer.
func TestD7NoticesAreNotTheAnswer(t *testing.T) {
	bubble(t, options{notices: []session.Notice{{Severity: "error", Text: "MCP server x failed"}}}, func(r *rig) {
		id := r.open()
		r.model.add(says("hi ", "there"))
		r.say(id, "say hi", acp.StopReasonEndTurn)
		byID, marked := map[string]string{}, ""
		for _, u := range r.Updates(id) {
			c := u.AgentMessageChunk
			switch {
			case c == nil:
			case c.Meta[agent.NoticeMeta] != nil:
				marked += c.Content.Text.Text
				if c.MessageID != "" {
					t.Error("a notice has the id of a message")
				}
			default:
				byID[c.MessageID] += c.Content.Text.Text
			}
		}
		if len(byID) != 1 || !strings.Contains(strings.Join(values(byID), ""), "hi there") || len(values(byID)[0]) != len("hi there") || !strings.Contains(marked, "MCP server x failed") {
			t.Errorf("answer %q, marked %q", byID, marked)
		}
	})
}

func values(m map[string]string) (out []string) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// What is no base64 would make the provider refuse this request and every later
// one of the session: it does not get in.
func TestDataOfAPrompt(t *testing.T) {
	image := func(data string) acp.ContentBlock {
		return acp.ContentBlock{Image: &acp.ImageContent{Data: data, MimeType: "image/png"}}
	}
	blob := func(data string) acp.ContentBlock {
		return acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: acp.EmbeddedResourceResource{
			Blob: &acp.BlobResourceContents{URI: "file:///e.png", MimeType: "image/png", Blob: data},
		}}}
	}
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		for _, b := range []acp.ContentBlock{image(""), image("!"), image("iVBO="), image("data:image/png,x"), image("iVBORw0K\x00"), blob("%"), blob("iVBORw0KGgo")} {
			r.refused(acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock("look"), b}}, -32602)
		}
		r.prompt(&acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{
			image("iVBORw0KGgo="), image("data:image/png;base64,iVBORw0KGgo="), blob("iVBORw0K\r\nGgo=\n"), blob(""),
		}}, acp.StopReasonEndTurn)
		var got []string
		for _, m := range r.model.request(t, -1).Messages {
			for _, b := range m.Content {
				if b.Type == session.BlockImage || b.Type == session.BlockResource {
					got = append(got, b.Data)
				}
			}
		}
		if want := []string{"iVBORw0KGgo=", "iVBORw0KGgo=", "iVBORw0KGgo=", ""}; !slices.Equal(got, want) {
			t.Errorf("the model gets %q, want %q", got, want)
		}
	})
}

// An image that no provider takes would have each later request of the session
// refused: the person is told, and the model gets a note.
func TestImagesOfOtherFormats(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.set(id, "model", "test/big")
		r.prompt(&acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{
			{Image: &acp.ImageContent{Data: "PHN2Zz4=", MimeType: "image/svg+xml"}}, {Image: &acp.ImageContent{Data: "iVBORw0KGgo=", MimeType: "image/jpeg"}},
		}}, acp.StopReasonEndTurn)
		if got := r.Text(id); !strings.Contains(got, "1 are of a format that models do not take") {
			t.Errorf("the person is told %q", got)
		}
		var got []string
		for _, b := range r.model.request(t, -1).Messages[0].Content {
			for _, shown := range model.Render(b, true) {
				got = append(got, string(shown.Type)+" "+shown.MimeType)
			}
		}
		if want := []string{"text ", "image image/png"}; !slices.Equal(got, want) {
			t.Errorf("the model gets %q, want %q", got, want)
		}
	})
}

// D8: each block of a prompt reaches the model, or somebody is told.
func TestD8NothingIsDropped(t *testing.T) {
	for _, ref := range []string{"test/big", "test/small"} {
		bubble(t, options{}, func(r *rig) {
			path := r.write("a b.txt", "l1\nl2\nl3\nl4\nl5\nl6\n")
			outside := filepath.Join(realDir(t), "secret.txt")
			if err := os.WriteFile(outside, []byte("s3cret"), 0o600); err != nil {
				t.Fatal(err)
			}
			file := func(p, fragment string) acp.ContentBlock {
				u := url.URL{Scheme: "file", Path: p, Fragment: fragment}
				return acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: filepath.Base(p), URI: u.String()}}
			}
			resource := func(res acp.EmbeddedResourceResource) acp.ContentBlock {
				return acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: res}}
			}
			id := r.open()
			r.set(id, "model", ref)
			prompt := []acp.ContentBlock{
				acp.TextBlock("look"),
				file(path, "L3-5"), file(outside, ""), file(filepath.Join(r.dir, "none.txt"), ""),
				resource(acp.EmbeddedResourceResource{Text: &acp.TextResourceContents{URI: "file:///e.txt", Text: "embedded"}}),
				resource(acp.EmbeddedResourceResource{Blob: &acp.BlobResourceContents{URI: "file:///e.png", MimeType: "image/png", Blob: "iVBORw0KGgo="}}),
				{Image: &acp.ImageContent{Data: "iVBORw0KGgo=", MimeType: "image/png"}},
			}
			r.prompt(&acp.PromptRequest{SessionID: id, Prompt: prompt}, acp.StopReasonEndTurn)
			req := r.model.request(t, -1)
			vision := ref == "test/big"
			var got []string
			images := 0
			for _, m := range req.Messages {
				for _, b := range m.Content {
					for _, shown := range model.Render(b, vision) {
						if shown.Type == session.BlockImage {
							images++
						}
						got = append(got, shown.Text)
					}
				}
			}
			all := strings.Join(got, "\n")
			for _, want := range []string{"look", "l3\nl4\nl5\n", "a%20b.txt", "secret.txt", "none.txt", "embedded", "e.png"} {
				if !strings.Contains(all, want) {
					t.Errorf("%s: %q is missing:\n%s", ref, want, all)
				}
			}
			if strings.Contains(all, "l2") || strings.Contains(all, "s3cret") {
				t.Errorf("%s: more than was linked:\n%s", ref, all)
			}
			told := strings.Contains(r.Text(id), "takes no images: it is not shown the 2")
			if vision && (images != 2 || told) || !vision && (images != 0 || !told || strings.Count(all, "not shown") != 2) {
				t.Errorf("%s: %d images, told %v:\n%s", ref, images, told, all)
			}
			// A load shows the prompt as it was sent.
			r.close(id)
			n := len(r.Updates(id))
			r.load(id)
			users := 0
			for _, u := range r.Updates(id)[n:] {
				if u.UserMessageChunk != nil {
					if string(mustJSON(u.UserMessageChunk.Content)) != string(mustJSON(prompt[users])) {
						t.Errorf("replayed %s, want %s", mustJSON(u.UserMessageChunk.Content), mustJSON(prompt[users]))
					}
					users++
				}
			}
			if users != len(prompt) {
				t.Errorf("%d of %d blocks were replayed", users, len(prompt))
			}
		})
	}
}

// H7: a file that a prompt links to is attached as the tools read it: with what the
// editor has not saved yet, and never from outside the session's directories.
func TestH7LinkedFilesAreTheEditors(t *testing.T) {
	caps := acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}
	bubble(t, options{caps: caps}, func(r *rig) {
		s := serve(r, caps)
		inside, outside, large := r.write("f", "saved\n"), filepath.Join(realDir(t), "o"), r.write("large", "small\n")
		if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.buffers[inside], s.buffers[outside], s.buffers[large] = "not saved\n", "of another project", strings.Repeat("grown\n", 64<<10)
		id := r.open()
		link := func(path string) acp.ContentBlock {
			return acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: "x", URI: (&url.URL{Scheme: "file", Path: path}).String()}}
		}
		r.prompt(&acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{link(inside), link(outside), link(large)}}, acp.StopReasonEndTurn)
		got := allText(r.model.request(t, -1))
		if !strings.Contains(got, "not saved\n") || strings.Contains(got, "another project") || strings.Contains(got, "grown") || strings.Contains(got, "small") {
			t.Errorf("the model gets %.300q", got)
		}
	})
}

// An editor that does not answer for a linked file does not hold up a cancel.
func TestCancelWhileALinkedFileIsRead(t *testing.T) {
	caps := acp.ClientCapabilities{FS: acp.FileSystemCapabilities{ReadTextFile: true}}
	bubble(t, options{caps: caps}, func(r *rig) {
		acptest.Handle(r.Client, acp.MethodFSReadTextFile, func(ctx context.Context, _ *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		path := r.write("f", "saved\n")
		id := r.open()
		p := r.Go(acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{
			{ResourceLink: &acp.ResourceLink{Name: "f", URI: (&url.URL{Scheme: "file", Path: path}).String()}},
		}})
		settle(r)
		begun := time.Now()
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		if d := time.Since(begun); d > time.Second {
			t.Errorf("the prompt ended %v after the cancel", d)
		}
		r.say(id, "go on", acp.StopReasonEndTurn)
	})
}

// E1(f): a cancel during a compaction leaves the conversation as it was.
func TestCancelDuringCompaction(t *testing.T) {
	bubble(t, options{models: []model.Info{{Ref: "test/tiny", Window: 1000}}}, func(r *rig) {
		id := r.open()
		long := strings.Repeat("word ", 300)
		r.model.add(usage(session.Usage{InputTokens: 400}, long), usage(session.Usage{InputTokens: 500}, long))
		r.say(id, long+"one", acp.StopReasonEndTurn)
		r.say(id, long+"two", acp.StopReasonEndTurn)
		r.model.add(hangs("a summ"), says("fine"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "/compact"))
		settle(r)
		if r.model.asked() != 3 {
			t.Fatalf("the model was asked %d times: no compaction has begun", r.model.asked())
		}
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		r.say(id, "three", acp.StopReasonEndTurn)
		if got := allText(r.model.request(t, -1)); !strings.Contains(got, "one") || strings.Contains(got, "a summ") {
			t.Errorf("the history after it: %.200q", got)
		}
	})
}

// E7: a cancel between parallel calls leaves a result for each.
func TestE7ParallelCalls(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		r.write("a.txt", "a")
		id := r.open()
		r.permissions(acp.PermissionOptionKindAllowOnce)
		r.model.add(calls("", toolCall{"a", "read", args("file_path", "a.txt")}, toolCall{"b", "bash", args("command", "echo up; sleep 1000")}, toolCall{"c", "read", args("file_path", "a.txt")}))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		r.seen(id, func(u acp.SessionUpdate) bool {
			return u.ToolCallUpdate != nil && u.ToolCallUpdate.ToolCallID == "b" && strings.Contains(string(mustJSON(u.ToolCallUpdate)), "up")
		})
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
		endedCalls(t, r, id)
		r.close(id)
		r.load(id)
		r.say(id, "on", acp.StopReasonEndTurn)
		req := r.model.request(t, -1)
		paired(t, req)
		if res := results(req); len(res) != 3 || !strings.Contains(res["a"], "a") || res["b"] == res["c"] {
			t.Errorf("results %q", res)
		}
	})
}

// Steering: what the client says into a running turn is in the next request,
// verbatim, and comes back with a load.
func TestSteer(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		steer := func() error {
			return r.Call(r.t.Context(), agent.MethodSteer, &agent.SteerRequest{SessionID: id, Content: []acp.ContentBlock{acp.TextBlock(" <to the> left\n")}}, nil)
		}
		var e *acp.Error
		if err := steer(); !errors.As(err, &e) || e.Code != -32600 || !strings.Contains(e.Message, "session/prompt") {
			t.Errorf("with no turn: %v", err)
		}
		release := make(chan struct{})
		r.model.add(func(ctx context.Context, q *model.Request, yield func(session.Chunk, error) bool) {
			<-release
			says("first")(ctx, q, yield)
		}, says("second"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		settle(r)
		for range 2 {
			if err := steer(); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		r.stops(p, acp.StopReasonEndTurn)
		msgs := r.model.request(t, -1).Messages
		if m := msgs[len(msgs)-1]; r.model.asked() != 2 || m.Role != session.RoleUser || m.Content[0].Text != " <to the> left\n" {
			t.Errorf("%d requests, the last message is %+v", r.model.asked(), m)
		}
		r.close(id)
		n := len(r.Updates(id))
		r.load(id)
		got := conversation(r.Updates(id)[n:])
		if len(got) != 4 || !strings.HasPrefix(got[2], "user") || !strings.Contains(got[2], "<to the> left") {
			t.Errorf("a load shows %q", got)
		}
		ids := map[string]bool{}
		for _, u := range r.Updates(id)[n:] {
			if u.UserMessageChunk != nil {
				ids[u.UserMessageChunk.MessageID] = true
			}
		}
		if len(ids) != 3 || ids[""] {
			t.Errorf("three messages with the ids %v: clients join what has none, or the same", ids)
		}
		r.refused(agent.MethodSteer, &agent.SteerRequest{SessionID: id}, -32602)
	})
}

// S5: a prompt that says nothing is refused, with what is wrong, and leaves no
// trace; blank text beside something else goes on as it is.
func TestS5EmptyPrompt(t *testing.T) {
	bubble(t, options{caps: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}}}, func(r *rig) {
		r.write(".commands/nothing.md", "---\ndescription: none\n---\n\n")
		id := r.open()
		blank := func(texts ...string) (out []acp.ContentBlock) {
			for _, s := range texts {
				out = append(out, acp.TextBlock(s))
			}
			return out
		}
		for _, p := range [][]acp.ContentBlock{{}, blank(""), blank(" "), blank("\n\t\r\n"), blank("\u2028\u00a0\u3000"), blank("", "  ")} {
			e := r.refused(acp.MethodSessionPrompt, map[string]any{"sessionId": id, "prompt": p}, -32602)
			if text := e.Message + string(mustJSON(e.Data)); !strings.Contains(text, "the prompt is empty") || !strings.Contains(text, "prompt") {
				t.Errorf("%s: %s", mustJSON(p), text)
			}
		}
		r.refused(agent.MethodSteer, map[string]any{"sessionId": id, "content": blank(" ")}, -32602)
		r.say(id, "/nothing", acp.StopReasonEndTurn)
		told := slices.ContainsFunc(r.Frames(), func(f acptest.Frame) bool { return strings.Contains(string(f.Msg.Params), "nothing.md is empty") })
		if r.model.asked() != 0 || !told {
			t.Errorf("the model was asked %d times for nothing; the person was told: %v", r.model.asked(), told)
		}
		link := acp.ContentBlock{ResourceLink: &acp.ResourceLink{URI: "https://x.example", Name: "x"}}
		r.prompt(&acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock(" "), link}}, acp.StopReasonEndTurn)
		r.say(id, " x ", acp.StopReasonEndTurn)
		var said []string
		for _, m := range r.model.request(t, -1).Messages {
			if m.Role == session.RoleUser {
				for _, b := range m.Content {
					said = append(said, b.Text+b.URI)
				}
			}
		}
		if got := strings.Join(said, "|"); got != " |https://x.example| x " {
			t.Errorf("the model read %q", got)
		}
	})
}

// A prompt that is sent as soon as its session has a name is run behind what else the
// client hears of a new session.
func TestPromptAtOnceComesBehindTheIntroduction(t *testing.T) {
	var look chan struct{}
	bubble(t, options{config: func(c *agent.Config) {
		dirs := c.CommandDirs
		c.CommandDirs = func(cwd string) []string {
			<-look
			return dirs(cwd)
		}
	}}, func(r *rig) {
		look = make(chan struct{})
		r.model.add(usage(session.Usage{InputTokens: 1000, OutputTokens: 500}, "hello"))
		id := r.open()
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		settle(r)
		close(look)
		r.stops(p, acp.StopReasonEndTurn)
		var got []string
		for _, u := range r.Updates(id) {
			switch {
			case u.AvailableCommandsUpdate != nil:
				got = append(got, "commands")
			case u.UsageUpdate != nil:
				got = append(got, fmt.Sprint("usage ", u.UsageUpdate.Used))
			case u.AgentMessageChunk != nil:
				got = append(got, "text")
			}
		}
		if want := []string{"commands", "usage 0", "text", "usage 1500"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
