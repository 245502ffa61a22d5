package loop

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

// mute is a client that never answers what it is asked for.
type mute struct{ asked chan struct{} }

func (m mute) ReadFile(ctx context.Context, _ string) ([]byte, error) {
	m.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}
func (m mute) WriteFile(ctx context.Context, _ string, _ []byte) error { return nil }

// previewer reads a file for its preview, as edit does.
type previewer struct{ fakeTool }

func (p *previewer) View(env *tool.Env, _ json.RawMessage) tool.View {
	_, _ = env.Files.ReadFile(context.Background(), "/w/f")
	return tool.View{Title: p.name}
}

// A cancel, and whatever else is short, does not wait for the preview of a
// permission question that reads through a client that does not answer.
func TestCancelWhileAPreviewReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &previewer{fakeTool{name: "edit", run: func(context.Context, *tool.Env, string) tool.Result {
			t.Error("the tool ran")
			return tool.Text("")
		}}}
		r := newRig(t, []tool.Tool{p}, calls(call("c1", "edit", "{}"), call("c2", "edit", "{}")), text("next"))
		m := mute{make(chan struct{})}
		r.cfg.Files = m
		r.watch.ask = func(context.Context, *Question) (string, error) {
			t.Error("a question was put after the cancel")
			return "", nil
		}
		ended := make(chan session.EndReason)
		go func() {
			end, err := r.prompt("go")
			if err != nil {
				t.Error(err)
			}
			ended <- end
		}()
		<-m.asked
		if err := r.Do(t.Context(), func(*session.State) error { return nil }); err != nil {
			t.Error(err)
		}
		r.Cancel()
		if end := <-ended; end.Kind != session.EndCancelled {
			t.Errorf("the turn ended with %+v", end)
		}
		if end, err := r.prompt("again"); err != nil || end.Kind != session.EndCompleted {
			t.Errorf("the next prompt: %+v, %v", end, err)
		}
	})
}
