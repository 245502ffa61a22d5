package acp_test

// The cases of public bug reports about agents, by their number in the project's collection.

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/stdio"
)

// A4: a prompt line of 20 MB arrives whole, and the next line works.
func TestA4LongLine(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *echoAgent, c *acptest.Client) {
		image := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xab, 1}, 15<<19))
		p := &acp.PromptRequest{SessionID: "s", Prompt: []acp.ContentBlock{{Image: &acp.ImageContent{Data: image, MimeType: "image/png"}}}}
		if err := c.Call(t.Context(), acp.MethodSessionPrompt, p, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Call(t.Context(), acp.MethodSessionList, struct{}{}, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// A6: bad JSON is answered with id null, and ids come back as they were sent.
func TestA6ParseErrorAndIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.Start(t, newEchoAgent().serve)
		c.SendLine("{")
		f := c.WaitFrame(t.Context(), 0, func(acptest.Frame) bool { return true })
		if string(f.Msg.ID) != "null" || f.Msg.Error == nil || f.Msg.Error.Code != acp.CodeParseError {
			t.Errorf("got %s", f.Raw)
		}
		for _, id := range []string{`"a-1"`, `0`, `-5`, `9223372036854775807`, `-9223372036854775808`, `"\u00e9\""`, `"0"`, `""`} {
			p := c.GoID(acp.RequestId(id), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1})
			if err := p.Wait(t.Context(), nil); err != nil {
				t.Fatalf("id %s: %v", id, err)
			}
			if got := string(p.Frame().Msg.ID); got != id {
				t.Errorf("sent the id %s, got %s", id, got)
			}
		}
		from := len(c.Frames())
		for _, id := range []string{"1.5", "null", "{}", "1e3"} {
			c.SendLine(`{"jsonrpc":"2.0","id":` + id + `,"method":"initialize","params":{"protocolVersion":1}}`)
			f := c.WaitFrame(t.Context(), from, func(acptest.Frame) bool { return true })
			if string(f.Msg.ID) != "null" || f.Msg.Error == nil || f.Msg.Error.Code != acp.CodeInvalidRequest {
				t.Errorf("id %s: got %s", id, f.Raw)
			}
			from = f.N + 1
		}
	})
}

// A7: an unknown request is answered, an unknown notification is not, also while a prompt runs.
func TestA7UnknownMethods(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		p := c.Go(acp.MethodSessionPrompt, say("s", "wait"))
		if err := c.Call(t.Context(), "_acme/ping", struct{}{}, nil); code(err) != acp.CodeMethodNotFound {
			t.Errorf("got %v", err)
		}
		n := len(c.Frames())
		c.Notify("_acme/ping", struct{}{})
		c.Notify("session/update", struct{}{})
		c.Notify("session/cancel", map[string]int{"sessionId": 7}) // wrong params: dropped
		synctest.Wait()
		if got := c.Frames()[n:]; len(got) != 0 {
			t.Errorf("a notification was answered: %v", got)
		}
		close(a.release)
		if err := p.Wait(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
}

// A8: a cancel that follows its prompt at once is never handled before it, and chunks keep their order.
func TestA8Order(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		for i := range 200 {
			p := c.Go(acp.MethodSessionPrompt, say("s", "wait"))
			c.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: "s"})
			var r acp.PromptResponse
			if err := p.Wait(t.Context(), &r); err != nil || r.StopReason != acp.StopReasonCancelled {
				t.Fatalf("round %d: got %+v, %v", i, r, err)
			}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, what := range a.order {
			if want := [...]string{"prompt", "cancel"}[i%2]; what != want {
				t.Fatalf("message %d was handled as a %s, want a %s", i, what, want)
			}
		}
	})
}

func TestA8ChunksInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		const n = 500
		for i := range n {
			var err error
			if i%2 == 0 {
				err = a.conn.WriteFrame(t.Context(), acp.AppendTextChunk(nil, "s", "agent_message_chunk", "m", strconv.Itoa(i)+" "))
			} else {
				err = a.conn.Notify(t.Context(), acp.MethodSessionUpdate, acp.SessionNotification{
					SessionID: "s",
					Update:    acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(strconv.Itoa(i) + " ")}},
				})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		c.Await(t.Context(), func([]acptest.Frame) bool { return true })
		synctest.Wait()
		for i, s := range strings.Fields(c.Text("s")) {
			if s != strconv.Itoa(i) {
				t.Fatalf("chunk %d is %s", i, s)
			}
		}
		if got := len(c.Updates("s")); got != n {
			t.Errorf("got %d chunks, want %d", got, n)
		}
	})
}

// A11: the client answers a permission request and hangs up in the same instant.
func TestA11CloseRacesAnswer(t *testing.T) {
	for range 1000 {
		a := newEchoAgent()
		inR, inW := newPipe()
		outR, outW := newPipe()
		done := make(chan error, 1)
		go func() {
			s := stdio.NewStream(inR, outW, stdio.Options{})
			done <- a.serve(context.Background(), s)
		}()
		lines := make(chan string, 8)
		go scan(outR, lines)
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"ask"}]}}`)
		var id json.RawMessage
		for line := range lines {
			m, _ := acp.ParseMessage([]byte(line))
			if m.Method == acp.MethodSessionRequestPermission {
				id = m.ID
				break
			}
		}
		go inW.Close()
		fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`+"\n", id)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for range lines { // to the end: the scanner is done too
		}
	}
}

// A13: while one session waits for a person, everything else is served.
func TestA13NothingWaitsForAPrompt(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		asked := make(chan struct{})
		acptest.Handle(c, acp.MethodSessionRequestPermission, func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			close(asked)
			<-ctx.Done() // nobody answers until the agent takes the question back
			return nil, ctx.Err()
		})
		p := c.Go(acp.MethodSessionPrompt, say("s1", "ask"))
		<-asked
		for _, m := range []struct {
			method string
			params any
		}{
			{acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: "/"}},
			{acp.MethodSessionList, &acp.ListSessionsRequest{}},
			{acp.MethodSessionPrompt, say("s2", "hi")},
		} {
			if err := c.Call(t.Context(), m.method, m.params, nil); err != nil {
				t.Errorf("%s: %v", m.method, err)
			}
		}
		select {
		case <-p.Done():
			t.Fatal("the prompt ended by itself")
		default:
		}
		c.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: "s1"})
		var r acp.PromptResponse
		if err := p.Wait(t.Context(), &r); err != nil || r.StopReason != acp.StopReasonCancelled {
			t.Errorf("got %+v, %v", r, err)
		}
		c.WaitFrame(t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodCancelRequest })
	})
}

// A15: what Lua clients leave out or write as an empty list.
func TestA15MissingFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.Start(t, newEchoAgent().serve)
		if err := c.Call(t.Context(), acp.MethodInitialize, json.RawMessage(`{"protocolVersion":1,"clientCapabilities":[]}`), nil); err != nil {
			t.Error(err)
		}
		for _, params := range []string{`{"cwd":"/w"}`, `{"cwd":"/w","mcpServers":null}`, `{"cwd":"/w","mcpServers":[],"_meta":[]}`} {
			if err := c.Call(t.Context(), acp.MethodSessionNew, json.RawMessage(params), nil); err != nil {
				t.Errorf("%s: %v", params, err)
			}
		}
		for _, params := range []string{`[]`, `null`, `{}`} {
			if err := c.Call(t.Context(), acp.MethodSessionList, json.RawMessage(params), nil); err != nil {
				t.Errorf("session/list %s: %v", params, err)
			}
		}
		for params, field := range map[string]string{`{"cwd":1}`: "cwd", `{"cwd":"/w","mcpServers":[{"name":"x"}]}`: "mcpServers[0].command", `[]`: "cwd"} {
			err := c.Call(t.Context(), acp.MethodSessionNew, json.RawMessage(params), nil)
			if code(err) != acp.CodeInvalidParams || !strings.Contains(err.Error(), field) {
				t.Errorf("%s: got %v, want -32602 with %s", params, err, field)
			}
		}
	})
}

// B1: versions are integers; a wrong type is refused and names the field.
func TestB1ProtocolVersion(t *testing.T) {
	for _, tc := range []struct {
		version string
		ok      bool
	}{
		{"0", true},
		{"1", true},
		{"2", true},
		{"99", true},
		{"65535", true},
		{`"1"`, false},
		{"true", false},
		{"1.5", false},
		{"null", false},
		{"", false},
		{"65536", false},
		{"-1", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := acptest.Start(t, newEchoAgent().serve)
			params := `{"protocolVersion":` + tc.version + `}`
			if tc.version == "" {
				params = `{}`
			}
			var r acp.InitializeResponse
			err := c.Call(t.Context(), acp.MethodInitialize, json.RawMessage(params), &r)
			switch {
			case tc.ok && (err != nil || r.ProtocolVersion != 1):
				t.Errorf("%s: got %+v, %v", params, r, err)
			case !tc.ok && (code(err) != acp.CodeInvalidParams || !strings.Contains(err.Error(), "protocolVersion")):
				t.Errorf("%s: got %v, want -32602 that names protocolVersion", params, err)
			}
			if !tc.ok { // the failed handshake does not count as one
				if err := c.Call(t.Context(), acp.MethodSessionList, struct{}{}, nil); code(err) != acp.CodeInvalidRequest {
					t.Errorf("after a refused initialize: got %v", err)
				}
			}
		})
	}
}

// A12: garbage and then a hang-up end the agent, and it closes its output.
func TestA12GarbageThenHangup(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *echoAgent, c *acptest.Client) {
		c.SendLine("\xff\x00\xfe garbage")
		c.SendLine("\x1f\x8b\x08")
		c.Hangup()
		c.WaitEnd(t.Context())
		for _, f := range c.Frames()[1:] {
			if f.Msg.Error == nil || f.Msg.Error.Code != acp.CodeParseError {
				t.Errorf("got %s", f.Raw)
			}
		}
	})
}
