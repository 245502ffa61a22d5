package loop

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// onDisk are files that are the disk itself.
type onDisk struct{ tool.Files }

func (onDisk) Direct() bool { return true }

// Calls that only read the disk run before they are told: what began and what came
// of it is told at once, in order, with one commit.
func TestQuickCallsAreToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		var durable int
		look := &fakeTool{name: "look", disk: true, run: func(context.Context, *tool.Env, string) tool.Result {
			_, _, durable = r.log.have()
			return tool.Text("seen")
		}}
		r = newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}")), text("ok"))
		r.cfg.Files = onDisk{}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
		if i := slices.Index(r.log.types(), session.TypeToolCall); durable > i {
			t.Errorf("%d events were durable when the tool ran, the call among them", durable)
		}
		want := []string{
			"turn/start, user/message, session/title, step/start, request/header, request/sent",
			"assistant/message, tool/call, started a, tool/result, step/end, step/start, request/sent",
			"assistant/message, step/end, turn/end",
		}
		if !slices.Equal(r.watch.told, want) {
			t.Errorf("told\n%q\nwant\n%q", r.watch.told, want)
		}
	})
}

// One that takes longer is told while it runs, and so is one that might do more
// than read the disk before it runs.
func TestCallsAreToldWhileTheyRun(t *testing.T) {
	for name, tc := range map[string]struct {
		disk  bool
		files tool.Files
		after time.Duration
	}{
		"slow":                          {true, onDisk{}, tellAfter},
		"files that ask the client":     {true, nil, 0},
		"a tool that is not the disk's": {false, onDisk{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				goOn := make(chan struct{})
				work := &fakeTool{name: "look", readOnly: true, disk: tc.disk, run: func(context.Context, *tool.Env, string) tool.Result {
					<-goOn
					return tool.Text("seen")
				}}
				r := newRig(t, []tool.Tool{work}, calls(call("a", "look", "{}"), call("b", "look", "{}")), text("ok"))
				r.cfg.Files = tc.files
				done := r.start()
				<-time.After(tc.after)
				synctest.Wait()
				types := r.log.types()
				if _, _, durable := r.log.have(); types[len(types)-1] != session.TypeToolCall || durable != len(types) {
					t.Errorf("%d of %v are durable", durable, types)
				}
				if got := r.watch.events[len(r.watch.events)-1].Data.EventType(); got != session.TypeToolCall {
					t.Errorf("the last that was told is %s", got)
				}
				if last := r.watch.told[len(r.watch.told)-1]; tc.after > 0 && !strings.HasSuffix(last, "tool/call, tool/call, started a, started b") {
					t.Errorf("told %q", last)
				}
				close(goOn)
				if end := <-done; end.Kind != session.EndCompleted {
					t.Fatalf("got %+v", end)
				}
				r.check()
			})
		})
	}
}

// A hook on a call finds it durable, whatever the call can do.
func TestHooksFindQuickCallsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", disk: true, run: func(context.Context, *tool.Env, string) tool.Result { return tool.Text("seen") }}
		r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}")), text("ok"))
		r.cfg.Files = onDisk{}
		r.hooks.on[hooks.PreToolUse] = func(context.Context, *hooks.Call) *hooks.Outcome {
			all, _, durable := r.log.have()
			if at := slices.Index(r.log.types(), session.TypeToolCall); durable <= at || durable != all {
				t.Errorf("%d of %d events are durable, the call is the %dth", durable, all, at+1)
			}
			return &hooks.Outcome{}
		}
		if _, err := r.prompt("go"); err != nil {
			t.Fatal(err)
		}
	})
}

// Of calls side by side, those behind one at which a hook ends the turn have not been
// decided on: no hook, no rule and no person has let them run. They do not.
func TestNothingRunsBehindTheCallThatEndsTheTurn(t *testing.T) {
	for name, disk := range map[string]bool{"told before they run": false, "told when they have run": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var ran []string
				look := &fakeTool{name: "look", readOnly: true, disk: disk, run: func(_ context.Context, env *tool.Env, _ string) tool.Result {
					mu.Lock()
					defer mu.Unlock()
					ran = append(ran, env.CallID)
					return tool.Text("seen by " + env.CallID)
				}}
				r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}"), call("b", "look", "{}"), call("c", "look", "{}")))
				r.cfg.Files = onDisk{}
				r.hooks.on[hooks.PreToolUse] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
					if c.Tool.CallID == "b" {
						return &hooks.Outcome{Halted: true, HaltReason: hookText("enough")}
					}
					return &hooks.Outcome{}
				}
				end, err := r.prompt("go")
				if err != nil || end.Message != "enough" {
					t.Errorf("the turn ended with %+v, %v", end, err)
				}
				if !slices.Equal(ran, []string{"a"}) {
					t.Errorf("ran %q, want a alone", ran)
				}
				want := []string{"seen by a", "A hook stopped the turn before the tool ran.", session.TextNotStarted}
				if got := r.results(); !slices.Equal(got, want) {
					t.Errorf("the results are %q, want %q", got, want)
				}
			})
		})
	}
}

// What has run beside a call after which a hook ends the turn is answered with what
// came of it.
func TestWhatHasRunIsAnsweredThoughTheTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := &fakeTool{name: "look", readOnly: true, run: func(_ context.Context, env *tool.Env, _ string) tool.Result {
			return tool.Text("seen by " + env.CallID)
		}}
		r := newRig(t, []tool.Tool{look}, calls(call("a", "look", "{}"), call("b", "look", "{}")))
		r.hooks.on[hooks.PostToolUse] = func(_ context.Context, c *hooks.Call) *hooks.Outcome {
			return &hooks.Outcome{Halted: true, HaltReason: hookText("enough after " + c.Tool.CallID)}
		}
		end, err := r.prompt("go")
		if err != nil || end.Message != "enough after a" {
			t.Errorf("the turn ended with %+v, %v", end, err)
		}
		if got, want := r.results(), []string{"seen by a", "seen by b"}; !slices.Equal(got, want) {
			t.Errorf("the results are %q, want %q", got, want)
		}
	})
}

// results are the texts of the tool results, in their order.
func (r *rig) results() []string {
	var out []string
	for _, m := range r.state.Messages {
		if m.Role == session.RoleTool {
			out = append(out, m.Content[0].Content[0].Text)
		}
	}
	return out
}
