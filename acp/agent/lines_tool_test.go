package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
)

func fsCaps() (c acp.ClientCapabilities) {
	c.FS.ReadTextFile, c.FS.WriteTextFile = true, true
	return c
}

func terminalCaps() (c acp.ClientCapabilities) {
	c.Terminal = true
	return c
}

// lyingAnswers are answers to a permission question that allow nothing.
var lyingAnswers = map[string]func() (*acp.RequestPermissionResponse, error){
	"cancelled": func() (*acp.RequestPermissionResponse, error) {
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
	},
	"reject once":   selects("reject_once"),
	"reject always": selects("reject_always"),
	"not offered":   selects("allow_everything"),
	"no option":     selects(""),
	"unknown outcome": func() (*acp.RequestPermissionResponse, error) {
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: "allowed", OptionID: "allow_once"}}, nil
	},
	"error": func() (*acp.RequestPermissionResponse, error) { return nil, errors.New("no window") },
	"empty": func() (*acp.RequestPermissionResponse, error) { return nil, nil },
}

func selects(id string) func() (*acp.RequestPermissionResponse, error) {
	return func() (*acp.RequestPermissionResponse, error) {
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: id}}, nil
	}
}

var toolLines = []line{
	{n: 79, name: "announced-before-it-runs", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			path := filepath.Join(r.dir, "x.txt")
			acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				// The call has been announced, and nothing has happened.
				if c := last(r, id, func(u acp.SessionUpdate) *acp.ToolCall { return u.ToolCall }); c == nil || c.ToolCallID != "c" || c.Status != acp.ToolCallStatusPending {
					t.Errorf("announced: %+v", c)
				}
				r.holds(path, "")
				return selects("allow_once")()
			})
			r.model.add(calls("", toolCall{"c", "write", args("file_path", "x.txt", "content", "x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			r.holds(path, "x")
		})
	}},
	{n: 80, name: "unique-call-ids", at: "loop.TestCallIDsAreUnique", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			todo := toolCall{"same", "todo_write", args("todos", []any{})}
			none := toolCall{"", "todo_write", args("todos", []any{})}
			r.model.add(calls("", todo, todo), calls("", none, todo), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			endedCalls(t, r, id) // fails on a second announcement of an id
			paired(t, r.model.request(t, -1))
		})
	}},
	{n: 81, name: "call-before-update", test: func(t *testing.T) {
		bubble(t, options{rules: [3][]string{nil, nil, {"bash(rm:*)"}}}, func(r *rig) {
			id := r.open()
			r.permissions(acp.PermissionOptionKindRejectOnce)
			r.model.add(calls("", toolCall{"a", "no_such_tool", "{}"}, toolCall{"b", "read", `{"file`}, toolCall{"c", "bash", args("command", "rm x")}, toolCall{"d", "bash", args("command", "touch x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			endedCalls(t, r, id)
			for id, text := range results(r.model.request(t, -1)) {
				if text == "" {
					t.Errorf("call %s has an empty result", id)
				}
			}
		})
	}},
	{n: 82, name: "kinds-and-statuses", at: "acp/acptest.TestProblems", why: "acptest validates each update against the schema's enums"},
	{n: 83, name: "status-moves-forward", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			everyService(t, r)
			endedCalls(t, r, "id-"+strings.TrimPrefix(r.sessions()[0], "id-"))
		})
	}},
	{n: 84, name: "absolute-paths", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.write("a.txt", "1\n2\n3\n")
			id := r.open()
			asks := r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(
				calls("", toolCall{"r", "read", args("file_path", "a.txt", "offset", 2)}),
				calls("", toolCall{"e", "edit", args("file_path", "./a.txt", "old_string", "2", "new_string", "two")}, toolCall{"w", "write", args("file_path", "new.txt", "content", "n\n")}),
				says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			var diffs []*acp.Diff
			check := func(content []acp.ToolCallContent, locations []acp.ToolCallLocation) {
				for _, c := range content {
					if c.Diff != nil {
						diffs = append(diffs, c.Diff)
						if !filepath.IsAbs(c.Diff.Path) {
							t.Errorf("diff of %s", c.Diff.Path)
						}
					}
				}
				for _, l := range locations {
					if !filepath.IsAbs(l.Path) || l.Line != nil && *l.Line == 0 {
						t.Errorf("location %+v", l)
					}
				}
			}
			for _, u := range r.Updates(id) {
				if u.ToolCall != nil {
					check(u.ToolCall.Content, u.ToolCall.Locations)
					if u.ToolCall.ToolCallID == "r" && len(u.ToolCall.Locations) == 0 {
						t.Error("a read has no location")
					}
				}
				if u.ToolCallUpdate != nil {
					check(u.ToolCallUpdate.Content, u.ToolCallUpdate.Locations)
				}
			}
			for _, q := range asks.reqs {
				check(q.ToolCall.Content, q.ToolCall.Locations)
			}
			created := false
			for _, d := range diffs {
				isNew := filepath.Base(d.Path) == "new.txt"
				created = created || isNew
				if (d.OldText == nil) != isNew {
					t.Errorf("diff %s: oldText %v", d.Path, d.OldText)
				}
			}
			if len(diffs) != 4 || !created {
				t.Errorf("%d diffs: two questions and two results were expected", len(diffs))
			}
		})
	}},
	{n: 85, name: "wrapped-content", at: "acp/acptest.TestCheckUpdates", why: "the codec has no other form, and acptest validates each frame"},
	{n: 86, name: "asks", at: "loop/permission.TestF5DefaultAsks", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			asks := r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"a", "bash", args("command", "curl example.com")}, toolCall{"b", "write", args("file_path", "x", "content", "x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if asks.count() != 2 {
				t.Fatalf("%d questions", asks.count())
			}
			for _, q := range asks.reqs {
				kinds := map[acp.PermissionOptionKind]int{}
				for _, o := range q.Options {
					kinds[o.Kind]++
				}
				for k, n := range kinds {
					if n != 1 {
						t.Errorf("%d options of kind %s", n, k)
					}
				}
				if kinds[acp.PermissionOptionKindAllowOnce] == 0 || kinds[acp.PermissionOptionKindRejectOnce] == 0 || q.SessionID != id {
					t.Errorf("question %+v", q)
				}
			}
		})
	}},
	{n: 87, name: "no-is-no", test: func(t *testing.T) {
		for name, answer := range lyingAnswers {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				bubble(t, options{}, func(r *rig) {
					id := r.open()
					acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
						return answer()
					})
					r.model.add(calls("", toolCall{"c", "write", args("file_path", "x.txt", "content", "x")}), says("ok"))
					r.say(id, "go", acp.StopReasonEndTurn)
					r.holds(filepath.Join(r.dir, "x.txt"), "")
					endedCalls(t, r, id)
					if got := results(r.model.request(t, -1))["c"]; got == "" {
						t.Error("the model is not told")
					}
				})
			})
		}
	}},
	{n: 88, name: "always-is-remembered", at: "loop.TestAlwaysAnswersAreRemembered", test: func(t *testing.T) {
		for _, kind := range []acp.PermissionOptionKind{acp.PermissionOptionKindAllowAlways, acp.PermissionOptionKindRejectAlways} {
			bubble(t, options{}, func(r *rig) {
				id := r.open()
				asks := r.permissions(kind)
				write := func(n string) answer {
					return calls("", toolCall{"c" + n, "write", args("file_path", n+".txt", "content", n)})
				}
				r.model.add(write("1"), write("2"), says("ok"))
				r.say(id, "go", acp.StopReasonEndTurn)
				want := map[bool]string{true: "2", false: ""}[kind == acp.PermissionOptionKindAllowAlways]
				r.holds(filepath.Join(r.dir, "2.txt"), want)
				r.close(id)
				r.load(id) // the session goes on: so does the answer
				r.model.add(write("3"), says("ok"))
				r.say(id, "go", acp.StopReasonEndTurn)
				if asks.count() != 1 {
					t.Errorf("%s: asked %d times in the session", kind, asks.count())
				}
				r.model.add(write("4"), says("ok"))
				r.say(r.open(), "go", acp.StopReasonEndTurn)
				if asks.count() != 2 {
					t.Errorf("%s: a new session asked %d times", kind, asks.count()-1)
				}
			})
		}
	}},
	{n: 89, name: "cancel-frees-the-question", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			never, asked := make(chan struct{}), make(chan struct{})
			acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				close(asked)
				<-never // a client that forgets, and answers when nobody waits
				return selects("allow_once")()
			})
			r.model.add(calls("", toolCall{"c", "write", args("file_path", "x.txt", "content", "x")}))
			p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
			<-asked
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
			close(never)
			r.say(id, "on", acp.StopReasonEndTurn)
			r.holds(filepath.Join(r.dir, "x.txt"), "")
		})
	}},
	{n: 90, name: "terminal-shown-while-open", test: func(t *testing.T) {
		bubble(t, options{caps: terminalCaps()}, func(r *rig) {
			s := serve(r, terminalCaps())
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "bash", args("command", "make")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			shown, released := -1, -1
			for _, f := range r.Frames() {
				if f.Update != nil && f.Update.Update.ToolCallUpdate != nil && shown < 0 && strings.Contains(f.Raw, `"terminalId":"term-1"`) {
					shown = f.N
				}
				if f.Msg.Method == acp.MethodTerminalRelease {
					released = f.N
				}
			}
			if shown < 0 || released < shown || s.released != 1 {
				t.Errorf("shown at %d, released at %d", shown, released)
			}
			if got := results(r.model.request(t, -1))["c"]; !strings.Contains(got, "from the terminal") {
				t.Errorf("the model reads %q", got)
			}
		})
	}},
	{n: 91, name: "no-call-without-capability", at: "loop/tool/file.TestH6OneCapability acp/agent.TestChecklist", why: "line 22 counts the calls of each service in each combination"},
	{n: 92, name: "own-session-and-absolute-paths", why: "services_test.go checks both at each call of everyCombination", test: func(t *testing.T) {
		caps := fsCaps()
		caps.Terminal = true
		bubble(t, options{caps: caps}, func(r *rig) {
			s := serve(r, caps)
			everyService(t, r)
			id := r.sessions()[0]
			if s.count(acp.MethodFSReadTextFile) == 0 || s.count(acp.MethodFSWriteTextFile) == 0 || s.count(acp.MethodTerminalCreate) == 0 {
				t.Errorf("calls %v", s.calls)
			}
			for _, f := range r.Frames() {
				if strings.HasPrefix(f.Msg.Method, "fs/") || strings.HasPrefix(f.Msg.Method, "terminal/") {
					if !strings.Contains(f.Raw, `"sessionId":"`+id+`"`) {
						t.Errorf("frame %s", f.Raw)
					}
				}
			}
		})
	}},
	{n: 93, name: "terminals-are-released", test: terminalsReleased},
	{n: 94, name: "own-timeouts", at: "loop/tool/shell.TestTimeout", test: func(t *testing.T) {
		bubble(t, options{caps: terminalCaps()}, func(r *rig) {
			s := serve(r, terminalCaps())
			s.exit = make(chan struct{}) // never
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			r.model.add(calls("", toolCall{"c", "bash", args("command", "sleep 9999", "timeoutMs", 5000)}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn) // the bubble's clock runs
			if s.count(acp.MethodTerminalKill) != 1 || s.count(acp.MethodTerminalOutput) != 1 || s.released != 1 {
				t.Errorf("calls %v", s.calls)
			}
			if got := results(r.model.request(t, -1))["c"]; !strings.Contains(got, "from the terminal") {
				t.Errorf("the model reads %q", got)
			}
		})
	}},
	{n: 95, name: "client-errors-are-survived", at: "loop/tool/file.TestH8ClientsThatLie", test: func(t *testing.T) {
		caps := fsCaps()
		caps.Terminal = true
		caps.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}
		bubble(t, options{caps: caps}, func(r *rig) {
			// It advertises all and answers -32601 to everything but permissions.
			everyServiceOn(t, r, func(id, text string) { t.Logf("%s: %.200s", id, text) })
			r.holds(filepath.Join(r.dir, "a.txt"), "two\n")
			r.holds(filepath.Join(r.dir, "b.txt"), "new\n")
			r.say(r.sessions()[0], "still there", acp.StopReasonEndTurn)
		})
	}},
}

// terminalsReleased counts terminals in each way that a command can end.
func terminalsReleased(t *testing.T) {
	for name, end := range map[string]func(r *rig, s *services, id string, p *acptest.Pending){
		"exit": func(r *rig, s *services, _ string, p *acptest.Pending) {
			close(s.exit)
			r.stops(p, acp.StopReasonEndTurn)
		},
		"cancel": func(r *rig, _ *services, id string, p *acptest.Pending) {
			r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
			r.stops(p, acp.StopReasonCancelled)
		},
		"close": func(r *rig, _ *services, id string, p *acptest.Pending) {
			r.close(id)
			r.stops(p, acp.StopReasonCancelled)
		},
		"wait fails": func(r *rig, s *services, _ string, p *acptest.Pending) {
			acptest.Handle(r.Client, acp.MethodTerminalOutput, func(context.Context, *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
				return nil, errors.New("gone")
			})
			close(s.exit)
			r.stops(p, acp.StopReasonEndTurn)
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			bubble(t, options{caps: terminalCaps()}, func(r *rig) {
				s := serve(r, terminalCaps())
				s.exit = make(chan struct{})
				id := r.open()
				r.permissions(acp.PermissionOptionKindAllowOnce)
				r.model.add(calls("", toolCall{"c", "bash", args("command", "make")}), says("ok"))
				p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
				r.WaitFrame(r.t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodTerminalWaitForExit })
				end(r, s, id, p)
				if s.created != 1 || s.released != 1 {
					t.Errorf("%d created, %d released: %v", s.created, s.released, s.calls)
				}
			})
		})
	}
}
