package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/stdio"
)

// echoAgent is the smallest agent that these tests need. A prompt's first text block is a command.
type echoAgent struct {
	mux  acp.Mux
	conn *acp.Conn
	log  *slog.Logger

	mu      sync.Mutex
	turns   map[string]context.CancelFunc
	order   []string
	release chan struct{} // lets "wait" prompts go
}

func newEchoAgent() *echoAgent {
	a := &echoAgent{turns: map[string]context.CancelFunc{}, release: make(chan struct{})}
	acp.HandleRequest(&a.mux, acp.MethodInitialize, func(_ context.Context, p *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
		return func() (*acp.InitializeResponse, error) {
			return &acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionCurrent}, nil
		}, nil
	})
	acp.HandleRequest(&a.mux, acp.MethodSessionNew, func(_ context.Context, p *acp.NewSessionRequest) (func() (*acp.NewSessionResponse, error), error) {
		return func() (*acp.NewSessionResponse, error) {
			return &acp.NewSessionResponse{SessionID: "s:" + p.Cwd}, nil
		}, nil
	})
	acp.HandleRequest(&a.mux, acp.MethodSessionList, func(context.Context, *acp.ListSessionsRequest) (func() (*acp.ListSessionsResponse, error), error) {
		return nil, nil
	})
	acp.HandleRequest(&a.mux, acp.MethodSessionPrompt, a.prompt)
	acp.HandleNotification(&a.mux, acp.MethodSessionCancel, func(_ context.Context, p *acp.CancelNotification) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.order = append(a.order, "cancel")
		if cancel := a.turns[p.SessionID]; cancel != nil {
			cancel()
		}
	})
	return a
}

func (a *echoAgent) serve(ctx context.Context, s *stdio.Stream) error {
	return acp.Serve(ctx, s, &a.mux, acp.ServeOptions{Logger: a.log, OnConn: func(c *acp.Conn) { a.conn = c }})
}

func (a *echoAgent) prompt(ctx context.Context, p *acp.PromptRequest) (func() (*acp.PromptResponse, error), error) {
	text := ""
	if len(p.Prompt) > 0 && p.Prompt[0].Text != nil {
		text = p.Prompt[0].Text.Text
	}
	if text == "panic in admit" {
		panic("admit")
	}
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	a.order = append(a.order, "prompt")
	a.turns[p.SessionID] = cancel
	a.mu.Unlock()
	return func() (*acp.PromptResponse, error) {
		defer cancel()
		end := &acp.PromptResponse{StopReason: acp.StopReasonEndTurn}
		switch text {
		case "wait":
			select {
			case <-ctx.Done():
				end.StopReason = acp.StopReasonCancelled
			case <-a.release:
			}
			return end, nil
		case "until cancelled":
			<-ctx.Done()
			return nil, ctx.Err()
		case "ask":
			var r acp.RequestPermissionResponse
			err := a.conn.Call(ctx, acp.MethodSessionRequestPermission, permission(p.SessionID), &r)
			if errors.Is(err, context.Canceled) {
				end.StopReason = acp.StopReasonCancelled
				return end, nil
			}
			return end, err
		case "panic":
			panic("run")
		case "goexit":
			runtime.Goexit()
		case "secret":
			return nil, errors.New("token sk-123 refused")
		case "auth":
			return nil, fmt.Errorf("start: %w", acp.AuthRequired("set KEY"))
		}
		for i := range 3 {
			frame := acp.AppendTextChunk(nil, p.SessionID, "agent_message_chunk", "m", strconv.Itoa(i))
			if err := a.conn.WriteFrame(ctx, frame); err != nil {
				return nil, err
			}
		}
		return end, a.conn.Notify(ctx, acp.MethodSessionUpdate, acp.SessionNotification{
			SessionID: p.SessionID,
			Update:    acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{Content: acp.TextBlock("!")}},
		})
	}, nil
}

func permission(session string) *acp.RequestPermissionRequest {
	return &acp.RequestPermissionRequest{
		SessionID: session, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"},
		Options: []acp.PermissionOption{{OptionID: "y", Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce}},
	}
}

func say(session, text string) *acp.PromptRequest {
	return &acp.PromptRequest{SessionID: session, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
}

// inBubble runs a test with a client of an echo agent, initialized, inside a synctest bubble.
func inBubble(t *testing.T, fn func(t *testing.T, a *echoAgent, c *acptest.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := newEchoAgent()
		c := acptest.Start(t, a.serve)
		if err := c.Call(t.Context(), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
			t.Fatal(err)
		}
		fn(t, a, c)
	})
}

func code(err error) int {
	var e *acp.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestServePrompt(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		var r acp.PromptResponse
		p := c.Go(acp.MethodSessionPrompt, say("s", "hi"))
		if err := p.Wait(t.Context(), &r); err != nil || r.StopReason != acp.StopReasonEndTurn {
			t.Fatalf("got %+v, %v", r, err)
		}
		if got := c.Text("s"); got != "012!" {
			t.Errorf("got the text %q", got)
		}
		for _, f := range c.Frames() {
			if f.Update != nil && f.N > p.Frame().N {
				t.Errorf("an update came after the answer: %s", f.Raw)
			}
		}
	})
}

func TestBeforeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.Start(t, newEchoAgent().serve)
		for _, m := range []string{acp.MethodSessionNew, "_acme/x", "nonsense"} {
			if err := c.Call(t.Context(), m, struct{}{}, nil); code(err) != acp.CodeInvalidRequest {
				t.Errorf("%s: got %v, want -32600", m, err)
			}
		}
	})
}

func TestDuplicateID(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		p := c.GoID(acp.RequestId(`"a"`), acp.MethodSessionPrompt, say("s", "wait"))
		synctest.Wait()
		n := len(c.Frames())
		c.SendLine(`{"jsonrpc":"2.0","id":"\u0061","method":"session/list"}`)
		f := c.WaitFrame(t.Context(), n, func(acptest.Frame) bool { return true })
		if f.Msg.Error == nil || f.Msg.Error.Code != acp.CodeInvalidRequest || string(f.Msg.ID) != `"\u0061"` {
			t.Errorf("got %s", f.Raw)
		}
		c.Problems()
		// The answer above went to the fake client's only request of that id; the agent's own is untouched.
		n = len(c.Frames())
		close(a.release)
		f = c.WaitFrame(t.Context(), n, func(acptest.Frame) bool { return true })
		if string(f.Msg.Result) != `{"stopReason":"end_turn"}` || string(f.Msg.ID) != `"a"` {
			t.Errorf("got %s", f.Raw)
		}
		<-p.Done()
		if err := c.GoID(acp.RequestId(`"a"`), acp.MethodSessionList, struct{}{}).Wait(t.Context(), nil); err != nil {
			t.Errorf("the id is not free after its answer: %v", err)
		}
	})
}

func TestCancelRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		for _, id := range []string{`"x"`, "-7", "12345678901234567"} {
			p := c.GoID(acp.RequestId(id), acp.MethodSessionPrompt, say("s", "until cancelled"))
			c.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: acp.RequestId("404")})
			c.Notify(acp.MethodCancelRequest, struct{}{})
			synctest.Wait()
			select {
			case <-p.Done():
				t.Fatal("another id ended the request")
			default:
			}
			c.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: acp.RequestId(id)})
			if err := p.Wait(t.Context(), nil); code(err) != acp.CodeRequestCancelled {
				t.Errorf("id %s: got %v, want -32800", id, err)
			}
		}
	})
}

func TestFailingHandlers(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		for text, want := range map[string]int{
			"panic": acp.CodeInternalError, "panic in admit": acp.CodeInternalError, "goexit": acp.CodeInternalError,
			"secret": acp.CodeInternalError, "auth": acp.CodeAuthRequired,
		} {
			err := c.Call(t.Context(), acp.MethodSessionPrompt, say("s", text), nil)
			if code(err) != want {
				t.Errorf("%s: got %v, want %d", text, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "sk-123") {
				t.Errorf("%s: the text of an internal error went out: %v", text, err)
			}
		}
		if err := c.Call(t.Context(), acp.MethodSessionList, struct{}{}, nil); err != nil {
			t.Errorf("after the failures: %v", err)
		}
	})
}

func TestInternalErrorIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		a := newEchoAgent()
		a.log = slog.New(slog.NewTextHandler(&buf, nil))
		c := acptest.Start(t, a.serve)
		_ = c.Call(t.Context(), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil)
		_ = c.Call(t.Context(), acp.MethodSessionPrompt, say("s", "secret"), nil)
		c.Finish()
		if !strings.Contains(buf.String(), "sk-123") || !strings.Contains(buf.String(), acp.MethodSessionPrompt) {
			t.Errorf("the log has %q", buf.String())
		}
	})
}

func TestCall(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		acptest.Handle(c, acp.MethodFSReadTextFile, func(_ context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
			if p.Path == "/none" {
				return nil, &acp.Error{Code: acp.CodeResourceNotFound, Message: "no such file", Data: "d"}
			}
			return &acp.ReadTextFileResponse{Content: "<" + p.Path + ">"}, nil
		})
		var r acp.ReadTextFileResponse
		err := a.conn.Call(t.Context(), acp.MethodFSReadTextFile, &acp.ReadTextFileRequest{SessionID: "s", Path: "/a"}, &r)
		if err != nil || r.Content != "</a>" {
			t.Errorf("got %+v, %v", r, err)
		}
		err = a.conn.Call(t.Context(), acp.MethodFSReadTextFile, &acp.ReadTextFileRequest{SessionID: "s", Path: "/none"}, &r)
		if code(err) != acp.CodeResourceNotFound {
			t.Errorf("got %v", err)
		}
		err = a.conn.Call(t.Context(), acp.MethodTerminalKill, &acp.KillTerminalRequest{SessionID: "s", TerminalID: "t"}, nil)
		if code(err) != acp.CodeMethodNotFound {
			t.Errorf("got %v", err)
		}
		for _, f := range c.Frames() {
			if f.Msg.Method == acp.MethodFSReadTextFile && string(f.Msg.ID) == "0" {
				t.Error("the agent used the id 0, which some clients take for none")
			}
		}
	})
}

// A call that is given up returns at once, tells the client, and its late answer goes nowhere.
func TestCallGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		release := make(chan struct{})
		acptest.Handle(c, acp.MethodSessionRequestPermission, func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-release
			return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: "y"}}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		go func() { got <- a.conn.Call(ctx, acp.MethodSessionRequestPermission, permission("s"), nil) }()
		f := c.WaitFrame(t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodSessionRequestPermission })
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		c.WaitFrame(t.Context(), f.N, func(g acptest.Frame) bool {
			return g.Msg.Method == acp.MethodCancelRequest && string(g.Msg.Params) == `{"requestId":`+string(f.Msg.ID)+`}`
		})
		close(release)
		synctest.Wait()
		if err := c.Call(t.Context(), acp.MethodSessionList, struct{}{}, nil); err != nil {
			t.Errorf("after the late answer: %v", err)
		}
		// Answers to nothing are dropped in silence.
		n := len(c.Frames())
		for _, id := range []string{"999", `"1"`, "-1", "1"} {
			c.SendLine(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)
		}
		synctest.Wait()
		if got := c.Frames()[n:]; len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
}

// A malformed answer ends the call that it was meant for.
func TestCallMalformedAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		got := make(chan error, 1)
		var r acp.RequestPermissionResponse
		acptest.Handle(c, acp.MethodSessionRequestPermission, func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		go func() { got <- a.conn.Call(t.Context(), acp.MethodSessionRequestPermission, permission("s"), &r) }()
		f := c.WaitFrame(t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodSessionRequestPermission })
		c.SendLine(`{"jsonrpc":"2.0","id":` + string(f.Msg.ID) + `,"result":{},"error":{"code":1,"message":"m"}}`)
		if err := <-got; code(err) != acp.CodeInternalError {
			t.Errorf("got %v", err)
		}
		g := c.WaitFrame(t.Context(), f.N+1, func(acptest.Frame) bool { return true })
		if string(g.Msg.ID) != "null" || g.Msg.Error == nil {
			t.Errorf("got %s", g.Raw)
		}
	})
}

// Clients whose encoder leaves out an undefined or nil result, or changes how an id looks, have answered
// all the same.
func TestCallAnsweredOddly(t *testing.T) {
	for name, answer := range map[string]string{
		"no result":     `{"jsonrpc":"2.0","id":%s}`,
		"null":          `{"jsonrpc":"2.0","id":%s,"result":null}`,
		"id as a float": `{"jsonrpc":"2.0","id":%s.0,"result":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
				acptest.Handle(c, acp.MethodFSWriteTextFile, func(ctx context.Context, _ *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
				got := make(chan error, 1)
				var r acp.WriteTextFileResponse
				go func() {
					got <- a.conn.Call(t.Context(), acp.MethodFSWriteTextFile, &acp.WriteTextFileRequest{SessionID: "s", Path: "/a"}, &r)
				}()
				f := c.WaitFrame(t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodFSWriteTextFile })
				c.SendLine(fmt.Sprintf(answer, f.Msg.ID))
				if err := <-got; err != nil {
					t.Errorf("got %v", err)
				}
				synctest.Wait()
				if more := c.Frames()[f.N+1:]; len(more) != 0 {
					t.Errorf("the answer was answered: %s", more[0].Raw)
				}
			})
		})
	}
}

// What has an id and nothing else, and answers no open call, is a request without a method.
func TestRequestWithoutMethod(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *echoAgent, c *acptest.Client) {
		for _, id := range []string{"1", `"x"`} {
			n := len(c.Frames())
			c.SendLine(`{"jsonrpc":"2.0","id":` + id + `}`)
			f := c.WaitFrame(t.Context(), n, func(acptest.Frame) bool { return true })
			if string(f.Msg.ID) != id || f.Msg.Error == nil || f.Msg.Error.Code != acp.CodeInvalidRequest {
				t.Errorf("got %s", f.Raw)
			}
		}
	})
}

// On a hang-up open requests are cancelled, and their answers still go out.
func TestHangupAnswersOpenRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, a *echoAgent, c *acptest.Client) {
		p := c.Go(acp.MethodSessionPrompt, say("s", "wait"))
		synctest.Wait()
		c.Hangup()
		var r acp.PromptResponse
		if err := p.Wait(t.Context(), &r); err != nil || r.StopReason != acp.StopReasonCancelled {
			t.Errorf("got %+v, %v", r, err)
		}
		c.WaitEnd(t.Context())
		if err := a.conn.Call(t.Context(), "x", nil, nil); !errors.Is(err, acp.ErrClosed) {
			t.Errorf("a call after the end: %v", err)
		}
		if err := a.conn.Notify(t.Context(), "x", nil); !errors.Is(err, acp.ErrClosed) {
			t.Errorf("a notification after the end: %v", err)
		}
	})
}

// Serve's context ends it while stdin stays open; a handler that hangs is left after the grace.
func TestServeContextAndGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mux acp.Mux
		stuck := make(chan struct{})
		acp.HandleRequest(&mux, acp.MethodInitialize, func(context.Context, *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
			return func() (*acp.InitializeResponse, error) {
				<-stuck
				return nil, nil
			}, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var took time.Duration
		served := make(chan error, 1)
		c := acptest.Start(t, func(_ context.Context, s *stdio.Stream) error {
			start := time.Now()
			err := acp.Serve(ctx, s, &mux, acp.ServeOptions{Grace: 3 * time.Second})
			took = time.Since(start)
			served <- err
			return nil
		})
		c.Go(acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1})
		synctest.Wait()
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took != 3*time.Second { // fake time, exact
			t.Errorf("Serve took %v", took)
		}
		close(stuck)
	})
}

// When Serve's context ends the client is still there: what a handler asks it on the way out is answered,
// until it hangs up. Requests are refused meanwhile.
func TestServeContextLeavesCalls(t *testing.T) {
	for _, hangUp := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var mux acp.Mux
			var conn *acp.Conn
			released := make(chan error, 1)
			acp.HandleRequest(&mux, acp.MethodInitialize, func(ctx context.Context, _ *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
				return func() (*acp.InitializeResponse, error) {
					<-ctx.Done()
					released <- conn.Call(context.WithoutCancel(ctx), acp.MethodTerminalRelease, &acp.ReleaseTerminalRequest{SessionID: "s", TerminalID: "t"}, nil)
					return &acp.InitializeResponse{ProtocolVersion: 1}, nil
				}, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			start := time.Now()
			c := acptest.Start(t, func(_ context.Context, s *stdio.Stream) error {
				_ = acp.Serve(ctx, s, &mux, acp.ServeOptions{OnConn: func(c *acp.Conn) { conn = c }, Grace: time.Minute})
				return nil
			})
			answer := make(chan struct{})
			acptest.Handle(c, acp.MethodTerminalRelease, func(context.Context, *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
				<-answer
				return &acp.ReleaseTerminalResponse{}, nil
			})
			p := c.Go(acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1})
			synctest.Wait()
			cancel()
			c.WaitFrame(t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodTerminalRelease })
			synctest.Wait()
			if err := c.Call(t.Context(), acp.MethodSessionList, struct{}{}, nil); code(err) != acp.CodeInternalError {
				t.Errorf("a request after the end of ctx: %v", err)
			}
			if hangUp {
				c.Hangup()
			} else {
				close(answer)
			}
			if err := <-released; errors.Is(err, acp.ErrClosed) != hangUp {
				t.Errorf("hung up %v: the release ends with %v", hangUp, err)
			}
			if err := p.Wait(t.Context(), nil); err != nil {
				t.Errorf("the open request: %v", err)
			}
			c.WaitEnd(t.Context())
			if hangUp {
				close(answer)
			}
			if took := time.Since(start); took > time.Second { // fake time
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A stream whose peer has stopped reading breaks Serve's loop with the write error.
func TestServeWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inR, inW := newPipe()
		outR, outW := newPipe()
		broken := errors.New("broken pipe")
		outR.CloseWithError(broken)
		served := make(chan error, 1)
		go func() {
			served <- newEchoAgent().serve(t.Context(), stdio.NewStream(inR, outW, stdio.Options{}))
		}()
		fmt.Fprintln(inW, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
		if err := <-served; !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}

func TestToError(t *testing.T) {
	raw := json.RawMessage(`{"a":1}`)
	for name, tc := range map[string]struct {
		in   error
		want string
	}{
		"wrapped wire error": {fmt.Errorf("x: %w", acp.SessionNotFound("s")), `{"code":-32002,"message":"session not found: s","data":{"sessionId":"s"}}`},
		"jsonrpc2 error":     {fmt.Errorf("x: %w", &jsonrpc2.Error{Code: 7, Message: "m", Data: &raw}), `{"code":7,"message":"m","data":{"a":1}}`},
		"cancelled":          {fmt.Errorf("x: %w", context.Canceled), `{"code":-32800,"message":"request cancelled"}`},
		"timeout":            {context.DeadlineExceeded, `{"code":-32603,"message":"internal error"}`},
		"anything":           {errors.New("/home/me/.key"), `{"code":-32603,"message":"internal error"}`},
	} {
		got, err := acp.Marshal(acp.ToError(tc.in))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, tc.want)
		}
	}
	if acp.ToError(nil) != nil {
		t.Error("no error became one")
	}
}
