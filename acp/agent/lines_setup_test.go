package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/loop/model"
	"acp-agent/session"
)

var setupLines = []line{
	{n: 33, name: "unique-ids", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			seen := map[string]bool{}
			for range 20 {
				id := r.open()
				if id == "" || seen[id] {
					t.Errorf("id %q", id)
				}
				seen[id] = true
			}
		})
	}},
	{n: 34, name: "given-cwd", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "bash", args("command", "pwd")}, toolCall{"d", "write", args("file_path", "sub/x.txt", "content", "x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if got := results(r.model.request(t, -1)); !strings.Contains(got["c"], r.dir) {
				t.Errorf("pwd says %q, want %s", got["c"], r.dir)
			}
			r.holds(filepath.Join(r.dir, "sub", "x.txt"), "x")
		})
	}},
	{n: 35, name: "relative-cwd", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.close(id)
			for _, cwd := range []string{"", ".", "sub", filepath.Join(r.dir, "none"), r.write("file", "")} {
				r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: cwd}, -32602)
				r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: cwd}, -32602)
				r.refused(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: cwd}, -32602)
			}
		})
	}},
	{n: 36, name: "stdio-servers", at: "loop/tool/mcp.TestStdio", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": []any{map[string]any{
				"name": "s", "command": "/bin/server", "args": []string{"-x", "a b"}, "env": []any{map[string]any{"name": "K", "value": "v=1\n2"}},
			}}}, nil)
			s := r.build.params[0].Servers
			if len(s) != 1 || s[0].Name != "s" || s[0].Command != "/bin/server" || !slices.Equal(s[0].Args, []string{"-x", "a b"}) || !slices.Equal(s[0].Env, []string{"K=v=1\n2"}) {
				t.Errorf("servers %+v", s)
			}
		})
	}},
	{n: 37, name: "http-servers", at: "loop/tool/mcp.TestHTTP", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) { // both are advertised
			h := []any{map[string]any{"name": "X", "value": "1"}}
			r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": []any{
				map[string]any{"type": "http", "name": "h", "url": "http://x/", "headers": h},
				map[string]any{"type": "sse", "name": "s", "url": "http://y/", "headers": h},
			}}, nil)
			s := r.build.params[0].Servers
			if len(s) != 2 || s[0].URL != "http://x/" || s[0].SSE || !s[1].SSE || s[1].Headers["X"] != "1" {
				t.Errorf("servers %+v", s)
			}
			r.refused(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": []any{map[string]any{"type": "acp", "name": "a", "serverId": "x"}}}, -32602)
		})
	}},
	{n: 38, name: "malformed-servers", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			for _, bad := range []any{
				"x",
				[]any{7},
				[]any{map[string]any{}},
				[]any{map[string]any{"name": "s"}},
				[]any{map[string]any{"name": "s", "command": "", "args": []any{}, "env": []any{}}},
				[]any{map[string]any{"name": "", "command": "/x", "args": []any{}, "env": []any{}}},
				[]any{map[string]any{"name": "s", "command": "/x", "args": "a", "env": []any{}}},
				[]any{map[string]any{"name": "s", "command": "/x", "args": []any{}, "env": []any{map[string]any{"name": "K"}}}},
				[]any{map[string]any{"type": "http", "name": "h", "url": "", "headers": []any{}}},
				[]any{map[string]any{"name": "s", "command": "/x", "args": []any{}, "env": []any{}}, map[string]any{"name": "s", "command": "/y", "args": []any{}, "env": []any{}}},
			} {
				e := r.refused(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": bad}, -32602)
				if !strings.Contains(e.Error()+" "+string(mustJSON(e.Data)), "mcpServers") {
					t.Errorf("%v: the error %v does not name the field", bad, e)
				}
			}
			r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": nil}, nil)
			r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir}, nil)
			if len(r.sessions()) != 2 {
				t.Errorf("sessions %v: a refused one was made", r.sessions())
			}
		})
	}},
	{n: 39, name: "additional-directories", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			b, a := realDir(t), realDir(t)
			var res acp.NewSessionResponse
			r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, AdditionalDirectories: []string{b, a}}, &res)
			if got := r.build.params[0].Roots; !slices.Equal(got, []string{r.dir, b, a}) {
				t.Errorf("roots %v", got)
			}
			for _, bad := range [][]string{{""}, {"rel"}, {b, "../x"}, {filepath.Join(a, "none")}} {
				r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, AdditionalDirectories: bad}, -32602)
			}
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "write", args("file_path", filepath.Join(a, "x.txt"), "content", "x")}), says("ok"))
			r.say(res.SessionID, "go", acp.StopReasonEndTurn)
			r.holds(filepath.Join(a, "x.txt"), "x")
			var list acp.ListSessionsResponse
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, &list)
			if !slices.Equal(list.Sessions[0].AdditionalDirectories, []string{b, a}) {
				t.Errorf("the list has %v", list.Sessions[0].AdditionalDirectories)
			}
		})
	}},
	{n: 40, name: "roots-are-not-remembered", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			extra := realDir(t)
			var res acp.NewSessionResponse
			r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, AdditionalDirectories: []string{extra}}, &res)
			r.close(res.SessionID)
			r.load(res.SessionID)
			if got := r.build.params[1].Roots; !slices.Equal(got, []string{r.dir}) {
				t.Errorf("roots after a load without them: %v", got)
			}
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "write", args("file_path", filepath.Join(extra, "x.txt"), "content", "x")}), says("ok"))
			r.say(res.SessionID, "go", acp.StopReasonEndTurn)
			r.holds(filepath.Join(extra, "x.txt"), "")
		})
	}},
	{n: 41, name: "confined-files", at: "loop/tool/file.TestRefusedPlaces", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			out := realDir(t)
			if err := os.Symlink(out, filepath.Join(r.dir, "link")); err != nil {
				t.Fatal(err)
			}
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "write", args("file_path", "link/x.txt", "content", "x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			r.holds(filepath.Join(out, "x.txt"), "")
		})
	}},
	{n: 42, name: "independent-sessions", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			a, b := r.open(), r.open()
			r.say(a, "only in a", acp.StopReasonEndTurn)
			r.call(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: a, ModeID: "plan"}, nil)
			r.set(a, "model", "test/small")
			r.say(b, "in b", acp.StopReasonEndTurn)
			req := r.model.request(t, -1)
			if strings.Contains(allText(req), "only in a") || req.Head.Config.Model != "big" {
				t.Errorf("b's request: %s %s", req.Head.Config.Model, allText(req))
			}
			if o := option(r.set(b, "effort", "low"), "mode"); o != "default" {
				t.Errorf("b's mode is %s", o)
			}
		})
	}},
	{n: 43, name: "replay-before-the-answer", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hello there", acp.StopReasonEndTurn)
			r.close(id)
			from := len(r.Frames())
			p := r.Go(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir})
			if err := p.Wait(r.t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			var user, agent bool
			for _, f := range r.Frames()[from:p.Frame().N] {
				user = user || f.Update.Update.UserMessageChunk != nil
				agent = agent || f.Update.Update.AgentMessageChunk != nil
			}
			if !user || !agent {
				t.Errorf("before the answer: user %v, agent %v", user, agent)
			}
			r.say(id, "again", acp.StopReasonEndTurn)
			for _, f := range r.Frames()[p.Frame().N:] {
				if f.Update != nil && f.Update.Update.UserMessageChunk != nil {
					t.Errorf("history after the answer: %s", f.Raw)
				}
			}
		})
	}},
	{n: 44, name: "whole-replay", test: replayEqualsLive},
	{n: 45, name: "resume-replays-nothing", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hello there", acp.StopReasonEndTurn)
			r.close(id)
			from := len(r.Frames())
			p := r.Go(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir})
			if err := p.Wait(r.t.Context(), nil); err != nil || p.Frame().N != from {
				t.Errorf("error %v, %d frames before the answer", err, p.Frame().N-from)
			}
			r.say(id, "again", acp.StopReasonEndTurn)
			if got := allText(r.model.request(t, -1)); !strings.Contains(got, "hello there") {
				t.Errorf("the request after a resume: %s", got)
			}
		})
	}},
	{n: 46, name: "settings-come-back", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			first := r.opened()
			if first.Modes == nil || len(first.ConfigOptions) != 3 {
				t.Fatalf("new returned %+v", first)
			}
			id := first.SessionID
			r.set(id, "mode", "plan")
			r.set(id, "effort", "high")
			r.close(id)
			loaded := r.load(id)
			r.close(id)
			var resumed acp.ResumeSessionResponse
			r.call(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir}, &resumed)
			for _, got := range []struct {
				m *acp.SessionModeState
				o []acp.SessionConfigOption
			}{{loaded.Modes, loaded.ConfigOptions}, {resumed.Modes, resumed.ConfigOptions}} {
				if got.m.CurrentModeID != "plan" || option(got.o, "mode") != "plan" || option(got.o, "effort") != "high" || option(got.o, "model") != "test/big" {
					t.Errorf("came back: %+v %+v", got.m, got.o)
				}
			}
		})
	}},
	{n: 47, name: "close", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.model.add(hangs("begun"))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			r.seenText(id, "begun")
			c := r.Go(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
			if err := c.Wait(r.t.Context(), nil); err != nil || c.Frame().N < p.Frame().N {
				t.Errorf("close: %v; it was answered at %d, the prompt at %d", err, c.Frame().N, p.Frame().N)
			}
			if r.build.closed != 1 {
				t.Error("the session's resources were not freed")
			}
			r.refused(acp.MethodSessionPrompt, textPrompt(id, "x"), -32002)
			r.close(id) // closing what is closed has nothing left to do
		})
	}},
	{n: 48, name: "unknown-session", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			deleted := r.open()
			r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: deleted}, nil)
			for _, id := range []string{"none", deleted, "../../etc/passwd"} {
				for method, params := range map[string]any{
					acp.MethodSessionPrompt: textPrompt(id, "x"), acp.MethodSessionSetMode: &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"},
					acp.MethodSessionSetConfigOption: &acp.SetSessionConfigOptionRequest{SessionID: id, ConfigID: "mode", Value: acp.SessionConfigOptionValue{ID: "plan"}},
					acp.MethodSessionLoad:            &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}, acp.MethodSessionResume: &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir},
				} {
					e := r.refused(method, params, -32002)
					if !strings.Contains(string(mustJSON(e.Data)), `"sessionId":"`+id+`"`) {
						t.Errorf("%s of %s: data %s", method, id, mustJSON(e.Data))
					}
				}
			}
		})
	}},
	{n: 49, name: "bad-system-prompt", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			img := acp.ContentBlock{Image: &acp.ImageContent{Data: "AA==", MimeType: "image/png"}}
			for _, p := range []acp.SystemPrompt{
				{Mode: "prepend", Content: []acp.ContentBlock{acp.TextBlock("x")}},
				{Mode: "append"},
				{Mode: "append", Content: []acp.ContentBlock{acp.TextBlock("x"), img}},
			} {
				r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, SystemPrompt: &p}, -32602)
			}
			if got := r.sessions(); len(got) != 0 {
				t.Errorf("sessions were made: %v", got)
			}
		})
	}},
	{n: 50, name: "system-prompt", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			sys := func(mode acp.SystemPromptMode, text string) *acp.SystemPrompt {
				return &acp.SystemPrompt{Mode: mode, Content: []acp.ContentBlock{acp.TextBlock(text)}}
			}
			var res acp.NewSessionResponse
			r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, SystemPrompt: sys("append", "one")}, &res)
			r.say(res.SessionID, "hi", acp.StopReasonEndTurn)
			if got := r.model.request(t, -1).Head.System; got != "systemone" {
				t.Errorf("system prompt %q", got)
			}
			r.close(res.SessionID)
			r.call(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: res.SessionID, Cwd: r.dir, SystemPrompt: sys("append", "two")}, nil)
			r.say(res.SessionID, "hi", acp.StopReasonEndTurn)
			if got := r.model.request(t, -1).Head.System; got != "systemtwo" {
				t.Errorf("after a load: %q", got)
			}
			r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, SystemPrompt: sys("override", "mine")}, nil)
			if p := r.build.params[2]; !p.OverrideSystem || p.System != "mine" {
				t.Errorf("override: %+v", p)
			}
		})
	}},
}

// results are the tool results of a request by call id.
func results(req *model.Request) map[string]string {
	out := map[string]string{}
	for _, m := range req.Messages {
		for _, b := range m.Content {
			if m.Role == session.RoleTool {
				for _, c := range b.Content {
					out[b.CallID] += c.Text
				}
			}
		}
	}
	return out
}

// allText is the text of a request's messages.
func allText(req *model.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		for _, c := range m.Content {
			b.WriteString(c.Text + c.URI + "\n")
		}
	}
	return b.String()
}

// sessions are the ids in the store.
func (r *rig) sessions() []string {
	r.t.Helper()
	infos, err := r.store.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, in := range infos {
		out = append(out, in.ID)
	}
	return out
}

// set sets a config option and returns the full list.
func (r *rig) set(id, option, value string) []acp.SessionConfigOption {
	r.t.Helper()
	var res acp.SetSessionConfigOptionResponse
	r.call(acp.MethodSessionSetConfigOption, &acp.SetSessionConfigOptionRequest{SessionID: id, ConfigID: option, Value: acp.SessionConfigOptionValue{ID: value}}, &res)
	return res.ConfigOptions
}

// option is the current value of an option, "none" when it is not in the list.
func option(list []acp.SessionConfigOption, id string) string {
	for _, o := range list {
		if o.ID == id {
			return o.Select.CurrentValue
		}
	}
	return "none"
}
