package loop

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// start runs a prompt beside the test and returns the channel of its end.
func (r *rig) start() <-chan session.EndReason { return r.startIn(context.Background()) }

// startIn does so in ctx.
func (r *rig) startIn(ctx context.Context) <-chan session.EndReason {
	done := make(chan session.EndReason, 1)
	slot, err := r.Admit(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { // joined by whoever reads done
		end, err := slot.Prompt([]session.Block{session.Text("go")}, session.Source{Kind: session.SourceUser})
		if err != nil && end.Kind != session.EndError {
			end.Message = err.Error()
		}
		done <- end
	}()
	return done
}

// A turn that waits for a tool lets operations run. One that itself waits for a
// hook is through before the turn goes on, and so is what came in meanwhile.
func TestOperationsWhileTheTurnWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolEnds, hookEnds := make(chan struct{}), make(chan struct{})
		work := &fakeTool{name: "work", readOnly: true, run: func(context.Context, *tool.Env, string) tool.Result {
			<-toolEnds
			return tool.Text("done")
		}}
		r := newRig(t, []tool.Tool{work}, calls(call("a", "work", "{}")), text("ok"))
		r.hooks.on[hooks.PreModelSwitch] = func(context.Context, *hooks.Call) *hooks.Outcome {
			<-hookEnds
			return &hooks.Outcome{}
		}
		done := r.start()
		synctest.Wait() // the tool runs
		switched := make(chan error, 1)
		go func() {
			switched <- r.SetModel(t.Context(), "test/other", "", session.Source{Kind: session.SourceClient})
		}()
		synctest.Wait() // the hook of the switch runs
		if err := r.Record(t.Context(), &session.ModeSet{Mode: "plan"}); err != nil {
			t.Fatalf("an operation while another one waits: %v", err)
		}
		close(toolEnds)
		synctest.Wait()
		if got := r.log.types(); slices.Contains(got, session.TypeToolResult) {
			t.Errorf("the turn went on in the middle of an operation: %v", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if err := r.Do(ctx, func(*session.State) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("an operation that was given up: %v", err)
		}
		close(hookEnds)
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		if end := <-done; end.Kind != session.EndCompleted {
			t.Fatalf("got %+v", end)
		}
		r.check()
		got := r.log.types()
		order := []session.Type{session.TypeToolCall, session.TypeHookInvoked, session.TypeModeSet, session.TypeHookResult, session.TypeConfigSet, session.TypeToolResult, session.TypeTurnEnd}
		at := -1
		for _, typ := range order {
			i := slices.Index(got, typ)
			if i < at || i < 0 {
				t.Fatalf("%s is out of order in %v", typ, got)
			}
			at = i
		}
	})
}

// What streams is with the operating system after flushEvery and durable after
// syncEvery, also where nothing more comes.
func TestStreamsAreWrittenInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		r := newRig(t, nil, func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			_ = yield(session.Chunk{Type: session.ChunkText, Text: "one"}, nil)
			<-goOn
			_ = yield(session.Chunk{Type: session.ChunkText, Text: " two"}, nil) &&
				yield(session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}, nil)
		})
		done := r.start()
		synctest.Wait()
		before, _, _ := r.log.have()
		<-time.After(flushEvery)
		synctest.Wait()
		all, written, durable := r.log.have()
		if all != before+1 || written != all || durable != before {
			t.Errorf("after %v: %d events and %d of them written, %d durable; there were %d", flushEvery, all, written, durable, before)
		}
		<-time.After(syncEvery - flushEvery)
		synctest.Wait()
		if all, _, durable = r.log.have(); all != before+1 || durable != all {
			t.Errorf("after %v: %d events, %d durable", syncEvery, all, durable)
		}
		close(goOn)
		if end := <-done; end.Kind != session.EndCompleted {
			t.Fatalf("got %+v", end)
		}
		if st, err := session.Fold(session.Header{ID: "s1"}, r.log.events); err != nil || st.Messages[1].Content[0].Text != "one two" {
			t.Errorf("got %+v, %v", st, err)
		}
	})
}

// The model is asked while what led to the request becomes durable, which is with
// the operating system by then. Nothing of the answer is shown before it is, and
// nothing at all when it cannot be.
func TestNothingIsShownBeforeTheRequestIsDurable(t *testing.T) {
	for name, broken := range map[string]error{"in the end": nil, "never": errors.New("no space left on device")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, text("a", "b"))
				goOn := make(chan error)
				r.log.onSync = func() error { return <-goOn }
				done := r.start()
				synctest.Wait()
				if r.model.calls() != 1 {
					t.Fatal("the model was not asked")
				}
				if all, written, durable := r.log.have(); written != all || durable != 0 {
					t.Errorf("%d events, %d written, %d durable", all, written, durable)
				}
				if got := r.watch.deltas.String(); got != "" || r.watch.calls > 0 {
					t.Errorf("shown before it was durable: %q and %d times events", got, r.watch.calls)
				}
				goOn <- broken
				close(goOn)
				end, want := <-done, "ab"
				if broken != nil {
					want = ""
				}
				if got := r.watch.deltas.String(); got != want {
					t.Errorf("shown %q, want %q (%+v)", got, want, end)
				}
			})
		})
	}
}

// A log that fails while an answer streams ends the stream.
func TestLogFailureEndsTheStream(t *testing.T) {
	for name, more := range map[string]int{"a few deltas": 1, "very many": 2 * drainAt} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var before []session.Chunk
				for range more {
					before = append(before, session.Chunk{Type: session.ChunkText, Text: "x"})
				}
				r := newRig(t, nil, hangs(func() {}, before...))
				r.watch.onEv = func(ev session.Event) {
					if _, ok := ev.Data.(*session.RequestSent); ok {
						all, _, _ := r.log.have()
						r.log.mu.Lock()
						r.log.failAfter = all + 1
						r.log.mu.Unlock()
					}
				}
				slot, err := r.Admit(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_, err = slot.Prompt([]session.Block{session.Text("go")}, session.Source{Kind: session.SourceUser})
				if _, ok := errors.AsType[*LogError](err); !ok {
					t.Fatalf("got %v", err)
				}
			})
		})
	}
}
