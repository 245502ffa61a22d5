package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/loop/model"
)

var configLines = []line{
	{n: 96, name: "set-mode", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			res := r.opened()
			for _, m := range res.Modes.AvailableModes {
				for range 2 { // setting the one in force is fine
					r.call(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: res.SessionID, ModeID: m.ID}, nil)
				}
				if got := r.current(res.SessionID); got != m.ID {
					t.Errorf("mode %s, want %s", got, m.ID)
				}
			}
			for _, bad := range []string{"", "yolo", "Plan"} {
				e := r.refused(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: res.SessionID, ModeID: bad}, -32602)
				if !strings.Contains(e.Error()+string(mustJSON(e.Data)), "acceptEdits") {
					t.Errorf("the error does not name the modes: %v %s", e, mustJSON(e.Data))
				}
			}
			if got := r.current(res.SessionID); got != "bypassPermissions" {
				t.Errorf("a refused mode changed it to %s", got)
			}
		})
	}},
	{n: 97, name: "mode-updates", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "/mode plan", acp.StopReasonEndTurn)
			if u := last(r, id, func(u acp.SessionUpdate) *acp.CurrentModeUpdate { return u.CurrentModeUpdate }); u == nil || u.CurrentModeID != "plan" {
				t.Errorf("update %+v", u)
			}
			if r.model.asked() != 0 {
				t.Error("the command went to the model")
			}
		})
	}},
	{n: 98, name: "set-option-answers-all", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			got := r.set(id, "effort", "high")
			if len(got) != 3 || option(got, "effort") != "high" || option(got, "model") != "test/big" || option(got, "mode") != "default" {
				t.Errorf("the answer %+v", got)
			}
			r.say(id, "go", acp.StopReasonEndTurn)
			if e := r.model.request(t, -1).Head.Config.ReasoningEffort; e != "high" {
				t.Errorf("the request's effort is %q", e)
			}
			// J2: the list follows the model, and so does what is in force.
			if got := r.set(id, "model", "test/small"); option(got, "effort") != "none" || option(got, "model") != "test/small" {
				t.Errorf("a model without efforts: %+v", got)
			}
			r.say(id, "go", acp.StopReasonEndTurn)
			if c := r.model.request(t, -1).Head.Config; c.Model != "small" || c.ReasoningEffort != "" {
				t.Errorf("the request %+v", c)
			}
			if got := r.set(id, "model", "test/big"); option(got, "effort") != "default" {
				t.Errorf("back again: %+v", got)
			}
		})
	}},
	{n: 99, name: "bad-options", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			n := len(r.Updates(id))
			for _, tc := range []struct {
				params map[string]any
				says   string
			}{
				{map[string]any{"configId": "colour", "value": "red"}, "effort"},
				{map[string]any{"configId": "mode", "value": "yolo"}, "acceptEdits"},
				{map[string]any{"configId": "model", "value": "test/none"}, "test/small"},
				{map[string]any{"configId": "effort", "value": "max"}, "high"},
				{map[string]any{"optionId": "mode", "value": "plan"}, "configId"},
				{map[string]any{"configId": "", "value": "plan"}, "configId"},
				{map[string]any{"configId": "mode", "type": "boolean", "value": true}, "value"},
				{map[string]any{"configId": "mode", "value": true}, "value"},
				{map[string]any{"configId": "mode"}, "value"},
			} {
				tc.params["sessionId"] = id
				e := r.refused(acp.MethodSessionSetConfigOption, tc.params, -32602)
				if said := e.Message + string(mustJSON(e.Data)); !strings.Contains(said, tc.says) {
					t.Errorf("%v: the error says %s, not %q", tc.params, said, tc.says)
				}
			}
			settle(r)
			for _, u := range r.Updates(id)[n:] {
				if u.ConfigOptionUpdate != nil || u.CurrentModeUpdate != nil {
					t.Errorf("a refused change was announced: %s", mustJSON(u))
				}
			}
		})
	}},
	{n: 100, name: "no-boolean-options", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			for _, o := range r.opened().ConfigOptions {
				if o.Select == nil {
					t.Errorf("option %s is no select option", o.ID)
				}
			}
		})
	}},
	{n: 101, name: "valid-current-values", test: func(t *testing.T) {
		models := []model.Info{{Ref: "test/known", Efforts: []string{"low"}}}
		bubble(t, options{models: models, config: func(c *agent.Config) {
			c.Models = func() []model.Info { return nil } // the one in use is not in the table
		}}, func(r *rig) { currentIsOffered(t, r.opened().ConfigOptions) })
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			currentIsOffered(t, r.set(id, "effort", "low"))
			currentIsOffered(t, r.set(id, "model", "test/small"))
			currentIsOffered(t, r.set(id, "mode", "plan"))
		})
	}},
	{n: 102, name: "mode-and-option-in-step", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.call(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"}, nil)
			if got := option(r.set(id, "effort", "low"), "mode"); got != "plan" {
				t.Errorf("after set_mode the option is %s", got)
			}
			r.set(id, "mode", "acceptEdits")
			if got := r.current(id); got != "acceptEdits" {
				t.Errorf("after set_config_option the mode is %s", got)
			}
		})
	}},
	{n: 103, name: "whole-list-in-updates", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.set(id, "mode", "plan")
			r.set(id, "effort", "low")
			r.say(id, "/model test/small", acp.StopReasonEndTurn)
			n := 0
			for _, u := range r.Updates(id) {
				if c := u.ConfigOptionUpdate; c != nil {
					n++
					if option(c.ConfigOptions, "mode") != "plan" || option(c.ConfigOptions, "model") == "none" {
						t.Errorf("update %s", mustJSON(c))
					}
				}
			}
			if n < 3 {
				t.Errorf("%d updates", n)
			}
		})
	}},
	{n: 104, name: "commands", test: commandsWork},
	{n: 105, name: "unknown-commands", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			for _, text := range []string{"/unknown a", " /help", "/usr is big", "/", "//", "/helpless"} {
				n := r.model.asked()
				r.say(id, text, acp.StopReasonEndTurn)
				if got := r.model.request(t, -1).Messages; r.model.asked() != n+1 || got[len(got)-1].Content[0].Text != text {
					t.Errorf("%q did not reach the model as it is", text)
				}
			}
		})
	}},
	{n: 106, name: "whole-plan", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) { plans(t, r, false) })
	}},
	{n: 107, name: "plan-updates", test: func(t *testing.T) {
		bubble(t, options{caps: acp.ClientCapabilities{Plan: &acp.PlanCapabilities{}}}, func(r *rig) { plans(t, r, true) })
	}},

	{n: 108, name: "form-only-where-advertised", test: func(t *testing.T) {
		for name, e := range map[string]*acp.ElicitationCapabilities{"absent": nil, "empty": {}, "url": {URL: &acp.ElicitationUrlCapabilities{}}} {
			bubble(t, options{caps: acp.ClientCapabilities{Elicitation: e}}, func(r *rig) {
				everyServiceOn(t, r, func(string, string) {})
				for _, f := range r.Frames() {
					if f.Msg.Method == acp.MethodElicitationCreate {
						t.Errorf("%s: %s", name, f.Raw)
					}
				}
				for _, tool := range r.model.request(t, 0).Head.Tools {
					if tool.Name == "ask_user" {
						t.Errorf("%s: the model is offered ask_user", name)
					}
				}
			})
		}
	}},
	{n: 109, name: "mode-and-scope", test: func(t *testing.T) {
		asksForm(t, nil, func(r *rig, s *services, _ string) {
			f := s.forms[0]
			if f.Form == nil || f.Form.Session == nil || f.Form.Request != nil || f.Form.Session.SessionID != r.sessions()[0] || f.Form.Session.ToolCallID != "c" {
				t.Errorf("request %s", mustJSON(f))
			}
			p := f.Form.RequestedSchema.Properties
			if len(p["q1"].String.OneOf) != 2 || p["q1_other"].String == nil || p["q2"].Array == nil || p["q3"].String == nil || f.Form.RequestedSchema.Required != nil {
				t.Errorf("schema %s", mustJSON(f.Form.RequestedSchema))
			}
		})
	}},
	{n: 110, name: "no-secrets", at: "loop/tool/ask.TestCheck", test: func(t *testing.T) {
		bubble(t, options{caps: formCaps()}, func(r *rig) {
			s := serve(r, formCaps())
			id := r.open()
			r.model.add(calls("", toolCall{"c", "ask_user", args("questions", []any{map[string]any{"question": "What is your API key?"}})}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if got := results(r.model.request(t, -1))["c"]; len(s.forms) != 0 || !strings.Contains(got, "secret") {
				t.Errorf("%d forms were shown; the model reads %q", len(s.forms), got)
			}
		})
	}},
	{n: 111, name: "every-answer", at: "loop/tool/ask.TestRun", test: func(t *testing.T) {
		for name, tc := range map[string]struct {
			res  acp.CreateElicitationResponse
			want string
		}{
			"accept":  {acp.CreateElicitationResponse{Action: acp.ElicitationAccept, Content: map[string]any{"q1": "red", "q2": []any{"x", "y"}, "q3": "so"}}, "Which?\nred\n\nWhom?\nx; y\n\nWhy?\nso"},
			"lies":    {acp.CreateElicitationResponse{Action: acp.ElicitationAccept, Content: map[string]any{"q1": "purple", "q2": 7.0, "q3": true, "q9": "x"}}, "Which?\n(no answer)\n\nWhom?\n(no answer)\n\nWhy?\n(no answer)"},
			"nothing": {acp.CreateElicitationResponse{Action: acp.ElicitationAccept}, "(no answer)"},
			"decline": {acp.CreateElicitationResponse{Action: acp.ElicitationDecline}, "declined"},
			"cancel":  {acp.CreateElicitationResponse{Action: acp.ElicitationCancel}, "without an answer"},
			"unknown": {acp.CreateElicitationResponse{Action: "later"}, "without an answer"},
		} {
			asksForm(t, &tc.res, func(_ *rig, _ *services, result string) {
				if !strings.Contains(result, tc.want) {
					t.Errorf("%s: the model reads %q, want %q", name, result, tc.want)
				}
			})
		}
	}},
	{n: 112, name: "elicitation-ids", at: "loop/tool/mcp.TestElicitURL", test: pagesAreDone},
	{n: 113, name: "child-sessions", why: "this agent makes no child sessions: there is no subagent tool, so nothing to announce"},
	{n: 114, name: "no-root-fields", at: "acp/acptest.TestProblems", why: "acptest refuses unknown members in each frame of each test"},
	{n: 115, name: "unknown-extensions", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			n := len(r.Frames())
			r.refused("_acme/ping", map[string]any{}, -32601)
			r.SendLine(`{"jsonrpc":"2.0","method":"_acme/note","params":{"x":1}}`)
			r.list("")
			if len(r.Frames()) != n+2 {
				t.Error("an unknown notification was answered")
			}
		})
	}},
	{n: 116, name: "trace-context", at: "loop/model.TestTrace loop/model/openai.TestTrace loop/tool/mcp.TestTrace", test: tracePassedOn},
}

// current is the mode that a load reports.
func (r *rig) current(id string) string {
	r.t.Helper()
	return r.load(id).Modes.CurrentModeID
}

func currentIsOffered(t *testing.T, list []acp.SessionConfigOption) {
	t.Helper()
	for _, o := range list {
		offered := slices.ContainsFunc(o.Select.Options.Ungrouped, func(v acp.SessionConfigSelectOption) bool { return v.Value == o.Select.CurrentValue })
		if o.Select.CurrentValue == "" || !offered {
			t.Errorf("option %s has the value %q of %+v", o.ID, o.Select.CurrentValue, o.Select.Options.Ungrouped)
		}
	}
}

// commandsWork: they are advertised after the reply, run from prompt text, and
// refreshed when command files change (K1, K3).
func commandsWork(t *testing.T) {
	mine := realDir(t)
	if err := os.WriteFile(filepath.Join(mine, "hello.md"), []byte("---\ndescription: \"Says hello\"\nargument-hint: whom\n---\nSay hello to $1, $ARGUMENTS."), 0o600); err != nil {
		t.Fatal(err)
	}
	bubble(t, options{commands: mine}, func(r *rig) {
		id := r.open()
		offered := func() map[string]acp.AvailableCommand {
			out := map[string]acp.AvailableCommand{}
			for _, c := range last(r, id, func(u acp.SessionUpdate) *acp.AvailableCommandsUpdate { return u.AvailableCommandsUpdate }).AvailableCommands {
				out[c.Name] = c
			}
			return out
		}
		r.seen(id, func(u acp.SessionUpdate) bool { return u.AvailableCommandsUpdate != nil })
		cs := offered()
		for _, name := range []string{"compact", "model", "mode", "hooks", "status", "help", "hello"} {
			if cs[name].Description == "" {
				t.Errorf("/%s is not offered: %v", name, cs)
			}
		}
		if c := cs["hello"]; c.Description != "Says hello" || c.Input == nil || c.Input.Hint != "whom" {
			t.Errorf("the command file became %+v", c)
		}
		for text, want := range map[string]string{"/help": "/compact", "/status": "test/big", "/hooks": "no hooks", "/mode": "default", "/model": "test/big", "/mode yolo": "acceptEdits", "/compact": "nothing to compact"} {
			r.say(id, text, acp.StopReasonEndTurn)
			if !strings.Contains(r.Text(id), want) {
				t.Errorf("%s does not say %q: %s", text, want, r.Text(id))
			}
		}
		if strings.Contains(r.Text(id), "invalid params") || strings.Contains(r.Text(id), "-32602") {
			t.Errorf("a person is told in the words of the wire: %s", r.Text(id))
		}
		if r.model.asked() != 0 {
			t.Errorf("a command of the agent's own went to the model")
		}
		r.say(id, "/hello Ann and Bob", acp.StopReasonEndTurn)
		if got := allText(r.model.request(t, -1)); got != "Say hello to Ann, Ann and Bob.\n" {
			t.Errorf("the model reads %q", got)
		}
		// A project's file counts from the next prompt on, and beats the person's.
		n := 0
		for _, u := range r.Updates(id) {
			if u.AvailableCommandsUpdate != nil {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the commands were sent %d times without a change", n)
		}
		r.write(".commands/deep/fix.md", "Fix it.")
		r.write(".commands/hello.md", "Project hello.")
		r.write(".commands/crlf.md", "---\r\ndescription: From Windows\r\n---\r\nDo it.\r\n")
		r.say(id, "/deep:fix now", acp.StopReasonEndTurn)
		if got := allText(r.model.request(t, -1)); !strings.Contains(got, "Fix it.\n\nnow") {
			t.Errorf("the model reads %q", got)
		}
		// What has no end is not read, and the person is told.
		if err := os.Symlink("/dev/zero", filepath.Join(r.dir, ".commands", "zero.md")); err == nil {
			r.say(id, "/zero", acp.StopReasonEndTurn)
			if got := r.Text(id); !strings.Contains(got, "zero.md is not a regular file") {
				t.Errorf("of a link to a device: %s", got)
			}
		}
		if cs := offered(); cs["deep:fix"].Name == "" || cs["hello"].Description == "Says hello" || cs["crlf"].Description != "From Windows" {
			t.Errorf("after the change: %+v", cs)
		}
	})
}

func plans(t *testing.T, r *rig, byID bool) {
	id := r.open()
	todo := func(kv ...string) toolCall {
		list := []any{}
		for i := 0; i < len(kv); i += 2 {
			list = append(list, map[string]any{"content": kv[i], "status": kv[i+1]})
		}
		return toolCall{"c", "todo_write", args("todos", list)}
	}
	r.model.add(calls("", todo("a", "in_progress", "b", "pending", "c", "cancelled")), calls("", todo("a", "completed", "b", "in_progress")), calls("", todo()), says("ok"))
	r.say(id, "go", acp.StopReasonEndTurn)
	var got []string
	for _, u := range r.Updates(id) {
		var entries []acp.PlanEntry
		switch {
		case u.Plan != nil && !byID:
			entries = u.Plan.Entries
		case u.PlanUpdate != nil && byID:
			entries = u.PlanUpdate.Plan.Items.Entries
		case u.Plan != nil || u.PlanUpdate != nil:
			t.Errorf("by id %v: %s", byID, mustJSON(u))
			continue
		default:
			continue
		}
		s := ""
		for _, e := range entries {
			s += e.Content + ":" + string(e.Status) + ":" + string(e.Priority) + " "
		}
		got = append(got, s)
	}
	want := []string{"a:in_progress:medium b:pending:medium c (cancelled):completed:medium ", "a:completed:medium b:in_progress:medium ", ""}
	if !slices.Equal(got, want) {
		t.Errorf("plans %q, want %q", got, want)
	}
}
