package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/agent"
)

var wireLines = []line{
	{n: 1, name: "one-object-per-line", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(says("a\nb\r\nc", "\u2028"))
			r.say(id, "x\ny", acp.StopReasonEndTurn)
			for _, f := range r.Frames() { // acptest has split at \n and checked each
				if strings.ContainsAny(f.Raw, "\n\r") || !json.Valid([]byte(f.Raw)) {
					t.Errorf("frame %q", f.Raw)
				}
			}
			if got := r.Text(id); got != "a\nb\r\nc\u2028" {
				t.Errorf("text %q", got)
			}
		})
	}},
	{n: 2, name: "stdout-is-protocol-only", at: "cmd/acp-agent.TestBinaryStdout cmd/acp-agent.TestStdoutIsTheProtocol"},
	{n: 3, name: "utf-8", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.write("bad.bin", "a\xff\xfeb")
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			text := "é日本\u2028\u0000😀"
			r.model.add(calls("", toolCall{"c", "bash", args("command", "cat bad.bin")}), says(text, "\xc3"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if got := r.Text(id); got != text+"\ufffd" {
				t.Errorf("text %q", got)
			}
		})
	}},
	{n: 4, name: "stderr-is-not-needed", at: "cmd/acp-agent.TestBinaryStdout", why: "nobody reads stderr there"},
	{n: 5, name: "jsonrpc-2.0", at: "acp.TestParseMessage", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.say(r.open(), "hi", acp.StopReasonEndTurn)
			r.refused(acp.MethodSessionPrompt, textPrompt("none", "x"), -32002)
			for _, f := range r.Frames() {
				var m map[string]json.RawMessage
				if err := json.Unmarshal([]byte(f.Raw), &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
					t.Errorf("frame %s", f.Raw)
				}
				if f.Answers != "" && (m["result"] == nil) == (m["error"] == nil) {
					t.Errorf("a response needs one of result and error: %s", f.Raw)
				}
			}
		})
	}},
	{n: 6, name: "same-id", at: "acp.TestA6ParseErrorAndIDs", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			for _, id := range []string{`0`, `"0"`, `"a-1"`, `-5`, `9007199254740993`} {
				p := r.GoID(acp.RequestId(id), acp.MethodSessionList, &acp.ListSessionsRequest{})
				if err := p.Wait(r.t.Context(), nil); err != nil || string(p.Frame().Msg.ID) != id {
					t.Errorf("id %s: %v, %+v", id, err, p.Frame())
				}
			}
		})
	}},
	{n: 7, name: "one-answer-each", at: "acp.TestHangupAnswersOpenRequests", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("begun"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.seenText(id, "begun")
			r.close(id)
			r.stops(p, acp.StopReasonCancelled)
			r.Finish()
			n := map[string]int{}
			for _, f := range r.Frames() {
				if f.Msg.Method == "" {
					n[string(f.Msg.ID)]++
				}
			}
			for id, times := range n {
				if times != 1 {
					t.Errorf("request %s was answered %d times", id, times)
				}
			}
			if len(n) != 4 { // initialize, new, prompt, close
				t.Errorf("answers: %v", n)
			}
		})
	}},
	{n: 8, name: "notifications-are-not-answered", at: "acp.TestA7UnknownMethods", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			before := len(r.Frames())
			r.SendLine(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":7}}`)
			r.SendLine(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}`)
			r.SendLine(`{"jsonrpc":"2.0","method":"_x/y"}`)
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, nil)
			if got := len(r.Frames()) - before; got != 1 {
				t.Errorf("%d frames came, want the list's answer alone", got)
			}
		})
	}},
	{n: 9, name: "unknown-method", at: "acp.TestA7UnknownMethods", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) { r.refused("session/dance", map[string]any{}, -32601) })
	}},
	{n: 10, name: "parse-error", at: "acp.TestA6ParseErrorAndIDs acp/stdio.TestA6ParseErrorHasNullID"},
	{n: 11, name: "no-request", at: "acp.TestParseMessage"},
	{n: 12, name: "bad-params", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			for method, bad := range map[string][]any{
				acp.MethodSessionNew:             {nil, map[string]any{}, map[string]any{"cwd": 7}, map[string]any{"cwd": r.dir, "mcpServers": "x"}},
				acp.MethodSessionLoad:            {map[string]any{"cwd": r.dir}, map[string]any{"sessionId": id}},
				acp.MethodSessionResume:          {map[string]any{"cwd": r.dir}},
				acp.MethodSessionPrompt:          {map[string]any{"sessionId": id}, map[string]any{"prompt": []any{}}, map[string]any{"sessionId": id, "prompt": "hi"}, map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "text"}}}},
				acp.MethodSessionSetMode:         {map[string]any{"sessionId": id}},
				acp.MethodSessionSetConfigOption: {map[string]any{"sessionId": id, "configId": "mode"}, map[string]any{"sessionId": id, "configId": "mode", "value": 7}},
				acp.MethodSessionClose:           {map[string]any{}},
				acp.MethodSessionDelete:          {map[string]any{}},
				acp.MethodAuthenticate:           {map[string]any{}},
				agent.MethodSteer:                {map[string]any{"sessionId": id, "content": []any{map[string]any{"type": "dance"}}}, map[string]any{"sessionId": 7, "content": []any{}}, map[string]any{"content": []any{map[string]any{"type": "text", "text": "x"}}}, map[string]any{"sessionId": id, "content": 7}, []any{7}},
			} {
				for _, params := range bad {
					r.refused(method, params, -32602)
				}
			}
		})
	}},
	{n: 13, name: "requests-during-a-prompt", at: "acp.TestA13NothingWaitsForAPrompt", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id, other := r.open(), r.open()
			waiting := make(chan struct{})
			acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				close(waiting)
				<-ctx.Done()
				return nil, ctx.Err()
			})
			r.model.add(calls("", toolCall{"c", "bash", args("command", "true")}), says("other"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			<-waiting
			r.call(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil)
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, nil)
			r.open()
			r.say(other, "hi", acp.StopReasonEndTurn)
			select {
			case <-p.Done():
				t.Error("the prompt ended by itself")
			default:
			}
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
		})
	}},
	{n: 14, name: "ids-in-both-directions", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "bash", args("command", "true")}), says("done"))
			p := r.GoID(acp.RequestId("1"), acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.stops(p, acp.StopReasonEndTurn)
			asked := r.WaitFrame(r.t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodSessionRequestPermission })
			if string(asked.Msg.ID) != "1" {
				t.Fatalf("the agent's first id is %s: this test needs it to be the client's", asked.Msg.ID)
			}
		})
	}},
	{n: 15, name: "extra-fields", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			var res acp.NewSessionResponse
			r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": []any{}, "colour": "red", "_meta": map[string]any{"a": 1}}, &res)
			r.prompt2(t, map[string]any{"sessionId": res.SessionID, "prompt": []any{map[string]any{"type": "text", "text": "hi", "x": 1}}, "y": nil})
			r.call(acp.MethodSessionList, map[string]any{"page": 3}, nil)
		})
	}},
	{n: 16, name: "end-on-eof", at: "cmd/acp-agent.TestBinaryStdout cmd/acp-agent.TestScripts acp.TestA12GarbageThenHangup"},

	{n: 17, name: "version-1", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) { wantVersion(t, r, 1) })
	}},
	{n: 18, name: "other-versions", at: "acp.TestB1ProtocolVersion", test: func(t *testing.T) {
		for _, v := range []int{0, 2, 65535} {
			bubble(t, options{raw: true}, func(r *rig) { wantVersion(t, r, v) })
		}
	}},
	{n: 19, name: "capabilities-are-served", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) {
			c := initialize(t, r, acp.ClientCapabilities{}).AgentCapabilities
			s := c.SessionCapabilities
			for method, has := range map[string]bool{
				acp.MethodSessionLoad: c.LoadSession, acp.MethodSessionList: s.List != nil, acp.MethodSessionDelete: s.Delete != nil,
				acp.MethodSessionResume: s.Resume != nil, acp.MethodSessionClose: s.Close != nil, acp.MethodLogout: c.Auth.Logout != nil,
			} {
				var e *acp.Error
				if err := r.Call(r.t.Context(), method, map[string]any{}, nil); !has || errors.As(err, &e) && e.Code == -32601 {
					t.Errorf("%s: advertised %v, error %v", method, has, err)
				}
			}
			// The vendor's own one, by its name under _meta.
			m, _ := c.Meta[agent.MetaKey].(map[string]any)
			r.refused(m["steer"].(string), map[string]any{"sessionId": "none", "content": []any{}}, -32002)
		})
	}},
	{n: 20, name: "agent-info", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) {
			if i := initialize(t, r, acp.ClientCapabilities{}).AgentInfo; i == nil || i.Name != "test-agent" || i.Version != "1.2.3" {
				t.Errorf("agentInfo %+v", i)
			}
		})
	}},
	{n: 21, name: "absent-capabilities", test: func(t *testing.T) {
		for _, caps := range []string{`{}`, `null`, `[]`, `{"fs":null,"terminal":null,"elicitation":{},"session":{"notices":null}}`} {
			bubble(t, options{raw: true}, func(r *rig) {
				r.call(acp.MethodInitialize, map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(caps)}, nil)
				everyService(t, r)
				for _, f := range r.Frames() {
					switch m := f.Msg.Method; {
					case m == "" || m == acp.MethodSessionUpdate && f.Update.Update.Notice == nil || m == acp.MethodSessionRequestPermission:
					default:
						t.Errorf("with capabilities %s the agent sent %s", caps, f.Raw)
					}
				}
			})
		}
	}},
	{n: 22, name: "every-combination", test: everyCombination},
	{n: 23, name: "before-initialize", at: "acp.TestBeforeInitialize", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) {
			r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}, -32600)
		})
	}},
	{n: 24, name: "no-invented-keys", at: "acp.TestTypesMatchSchema", why: "acptest refuses any member that the protocol's types do not have, in each frame of each test"},
	{n: 25, name: "not-advertised", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			for _, m := range []string{acp.MethodSessionFork, "session/set_model", "providers/list", "mcp/message", "session/archive"} {
				r.refused(m, map[string]any{}, -32601)
			}
		})
	}},

	{n: 26, name: "terminal-auth-on-demand", test: func(t *testing.T) {
		for _, opted := range []bool{false, true} {
			bubble(t, options{raw: true}, func(r *rig) {
				var caps acp.ClientCapabilities
				caps.Auth.Terminal = opted
				n := 0
				for _, m := range initialize(t, r, caps).AuthMethods {
					if m.Terminal != nil {
						n++
					}
				}
				if (n > 0) != opted {
					t.Errorf("opted in %v: %d terminal methods", opted, n)
				}
			})
		}
	}},
	{n: 27, name: "auth-methods", test: func(t *testing.T) {
		bubble(t, options{raw: true}, func(r *rig) {
			initialize(t, r, acp.ClientCapabilities{})
			var raw struct {
				AuthMethods []map[string]any `json:"authMethods"`
			}
			if err := json.Unmarshal(r.Frames()[0].Msg.Result, &raw); err != nil || len(raw.AuthMethods) != 1 {
				t.Fatalf("%v, %+v", err, raw)
			}
			m := raw.AuthMethods[0]
			if m["id"] != "key" || m["name"] != "Key" || m["type"] != nil && m["type"] != "agent" {
				t.Errorf("method %v", m)
			}
		})
	}},
	{n: 28, name: "no-credentials", at: "cmd/acp-agent.TestBinaryWithoutKey", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.build.fail = acp.AuthRequired("set TEST_KEY")
			e := r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}, -32000)
			if !strings.Contains(e.Message, "TEST_KEY") {
				t.Errorf("the error does not say what to set: %v", e)
			}
			r.build.fail = nil
			r.open()
		})
	}},
	{n: 29, name: "authenticate", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.call(acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "key"}, nil)
			for _, id := range []string{"login", "none", ""} { // a terminal method is none of authenticate's
				r.refused(acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: id}, -32602)
			}
		})
	}},
	{n: 30, name: "authenticated-stays-so", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.call(acp.MethodLogout, &acp.LogoutRequest{}, nil)
			r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}, -32000)
			r.call(acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "key"}, nil)
			id := r.open()
			r.close(id)
			r.load(id)
		})
	}},
	{n: 31, name: "logout", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.close(id)
			r.call(acp.MethodLogout, &acp.LogoutRequest{}, nil)
			r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}, -32000)
			r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}, -32000)
			r.refused(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir}, -32000)
		})
	}},
	{n: 32, name: "login-flow", at: "cmd/acp-agent.TestScripts", why: "testdata/script/login.txtar: exit codes of the login command"},
}

func initialize(t *testing.T, r *rig, caps acp.ClientCapabilities) *acp.InitializeResponse {
	t.Helper()
	var res acp.InitializeResponse
	r.call(acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: caps}, &res)
	return &res
}

func wantVersion(t *testing.T, r *rig, asked int) {
	t.Helper()
	var res acp.InitializeResponse
	r.call(acp.MethodInitialize, map[string]any{"protocolVersion": asked}, &res)
	if res.ProtocolVersion != 1 {
		t.Errorf("asked for %d, got %d", asked, res.ProtocolVersion)
	}
}

// prompt2 is a prompt in raw form.
func (r *rig) prompt2(t *testing.T, params any) {
	t.Helper()
	r.call(acp.MethodSessionPrompt, params, nil)
}
