package loop

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// waited is how long giveWay waits.
func waited(ctx context.Context, p *Precedence) time.Duration {
	at := time.Now()
	p.giveWay(ctx)
	return time.Since(at)
}

func TestPrecedence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Precedence
		ctx := t.Context()
		if d := waited(ctx, &p); d != 0 {
			t.Errorf("with no turn cancelled: waited %v", d)
		}

		first, second := p.claim(), p.claim()
		time.AfterFunc(time.Millisecond, first)
		time.AfterFunc(3*time.Millisecond, second)
		if d := waited(ctx, &p); d != 3*time.Millisecond {
			t.Errorf("two turns end after 1 and 3 ms: waited %v", d)
		}

		hung := p.claim()
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if d := waited(gone, &p); d != 0 {
			t.Errorf("a turn that is cancelled itself: waited %v", d)
		}
		if d := waited(ctx, &p); d != patience {
			t.Errorf("a turn that does not end: waited %v", d)
		}
		if d := waited(ctx, &p); d != 0 {
			t.Errorf("behind its patience: waited %v", d)
		}

		next := p.claim()
		hung() // of those before: it frees nobody now
		time.AfterFunc(2*time.Millisecond, next)
		if d := waited(ctx, &p); d != 2*time.Millisecond {
			t.Errorf("a turn ends after 2 ms, and one of before at once: waited %v", d)
		}
	})
}

// A turn that streams gives way to the end of one that is cancelled, and only then:
// by session/cancel, or by the end of the prompt's own context.
func TestStreamGivesWay(t *testing.T) {
	t.Run("cancel", func(t *testing.T) {
		testGivesWay(t, func(s *rig, _ context.CancelFunc) { s.Cancel() })
	})
	t.Run("context", func(t *testing.T) {
		testGivesWay(t, func(_ *rig, end context.CancelFunc) { end() })
	})
}

func testGivesWay(t *testing.T, cancel func(*rig, context.CancelFunc)) {
	synctest.Test(t, func(t *testing.T) {
		var deltas atomic.Int64
		busy := newRig(t, nil, func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			yield(session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockText}, nil)
			for deltas.Load() < 100 {
				if !yield(session.Chunk{Type: session.ChunkText, Text: "x"}, nil) {
					return
				}
				deltas.Add(1)
				<-time.After(time.Millisecond)
			}
			yield(session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}, nil)
		})
		release := make(chan struct{})
		stuck := newRig(t, []tool.Tool{&fakeTool{name: "stuck", run: func(context.Context, *tool.Env, string) tool.Result {
			<-release
			return tool.Text("dead")
		}}}, calls(call("c1", "stuck", "{}")))
		stuck.cfg.Precedence = busy.cfg.Precedence
		ctx, end := context.WithCancel(t.Context())
		defer end()
		stuckEnd := stuck.startIn(ctx)
		synctest.Wait()
		busyEnd := busy.start()
		<-time.After(10*time.Millisecond + 1)
		at := deltas.Load()
		if at < 5 {
			t.Fatalf("%d deltas in 10 ms", at)
		}

		cancel(stuck, end)
		<-time.After(10 * time.Millisecond)
		if deltas.Load() > at+1 {
			t.Errorf("%d deltas while a cancelled turn is ending", deltas.Load()-at)
		}
		stuck.Cancel() // again, which gains it nothing
		<-time.After(patience)
		if deltas.Load() < at+5 {
			t.Errorf("%d deltas behind the patience", deltas.Load()-at)
		}
		close(release)
		if end := <-stuckEnd; end.Kind != session.EndCancelled {
			t.Errorf("cancelled: got %v", end)
		}
		if end := <-busyEnd; end.Kind != session.EndCompleted {
			t.Errorf("the other turn: got %v", end)
		}
		if got := busy.watch.deltas.Len(); got != 100 {
			t.Errorf("%d of 100 deltas shown", got)
		}
	})
}
