package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// memLog is a log in memory that remembers what was durable when. failAfter
// makes the append of that number (from 1) and all later ones fail.
type memLog struct {
	mu        sync.Mutex
	events    []session.Event
	durable   int
	failAfter int
	closed    bool
	now       func() time.Time
	// onSync, where it is set, comes before what Sync does; its error is Sync's.
	onSync func() error
	// written is how many were handed to the operating system.
	written int
}

func (l *memLog) Append(data ...session.Data) ([]session.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []session.Event
	for _, d := range data {
		if l.failAfter > 0 && len(l.events)+1 >= l.failAfter {
			return out, errors.New("no space left on device")
		}
		ev := session.Event{Seq: uint64(len(l.events) + 1), Time: l.now(), Data: d}
		l.events = append(l.events, ev)
		out = append(out, ev)
	}
	return out, nil
}

func (l *memLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written = len(l.events)
	return nil
}

func (l *memLog) Sync() error {
	if l.onSync != nil {
		if err := l.onSync(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written, l.durable = len(l.events), len(l.events)
	return nil
}

// have is how many events there are, how many of them were written, and how many
// are durable.
func (l *memLog) have() (all, written, durable int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events), l.written, l.durable
}

func (l *memLog) Close() error { l.closed = true; return l.Sync() }

func (l *memLog) types() []session.Type {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []session.Type
	for _, ev := range l.events {
		out = append(out, ev.Data.EventType())
	}
	return out
}

// script is a model that answers request n with streams[n].
type script struct {
	mu       sync.Mutex
	streams  []stream
	requests []*model.Request
}

type stream func(ctx context.Context, req *model.Request, yield func(session.Chunk, error) bool)

func (m *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	m.mu.Lock()
	n := len(m.requests)
	cp := *req
	cp.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, &cp)
	var st stream
	if n < len(m.streams) {
		st = m.streams[n]
	}
	m.mu.Unlock()
	return func(yield func(session.Chunk, error) bool) {
		if st == nil {
			yield(session.Chunk{}, model.Errorf(model.KindReplay, "request %d was not scripted", n+1))
			return
		}
		st(ctx, req, yield)
	}
}

func (m *script) Client(string) (model.Client, model.Info, error) {
	return m, model.Info{Ref: "test/model", Window: 1000}, nil
}

func (m *script) calls() int { m.mu.Lock(); defer m.mu.Unlock(); return len(m.requests) }

func says(chunks ...session.Chunk) stream {
	return func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func text(words ...string) stream {
	chunks := []session.Chunk{{Type: session.ChunkBlockStart, BlockType: session.BlockText}}
	for _, w := range words {
		chunks = append(chunks, session.Chunk{Type: session.ChunkText, Text: w})
	}
	return says(append(chunks, session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop})...)
}

func calls(cs ...session.Block) stream {
	var chunks []session.Chunk
	for i, c := range cs {
		chunks = append(chunks,
			session.Chunk{Type: session.ChunkBlockStart, Index: i, BlockType: session.BlockToolCall},
			session.Chunk{Type: session.ChunkToolCall, Index: i, ID: c.ID, Name: c.Name, Text: c.Arguments})
	}
	return says(append(chunks, session.Chunk{Type: session.ChunkFinish, Finish: session.FinishToolCalls})...)
}

func call(id, name, args string) session.Block {
	return session.Block{Type: session.BlockToolCall, ID: id, Name: name, Arguments: args}
}

func fails(err error, before ...session.Chunk) stream {
	return func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range before {
			if !yield(c, nil) {
				return
			}
		}
		yield(session.Chunk{}, err)
	}
}

// hangs streams what it is given, calls ready and waits for the context.
func hangs(ready func(), before ...session.Chunk) stream {
	return func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range before {
			if !yield(c, nil) {
				return
			}
		}
		ready()
		<-ctx.Done()
		yield(session.Chunk{}, ctx.Err())
	}
}

// fakeTool runs a function.
type fakeTool struct {
	name     string
	readOnly bool
	disk     bool
	refused  string
	run      func(ctx context.Context, env *tool.Env, input string) tool.Result
}

func (f *fakeTool) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: f.readOnly || f.disk, Disk: f.disk, Kind: tool.KindOther}
}

func (f *fakeTool) View(*tool.Env, json.RawMessage) tool.View {
	return tool.View{Title: f.name, Refused: f.refused}
}

func (f *fakeTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	return f.run(ctx, env, string(input)), nil
}

// fakeHooks answers each event with a function.
type fakeHooks struct {
	mu   sync.Mutex
	on   map[hooks.Event]func(ctx context.Context, c *hooks.Call) *hooks.Outcome
	seen []*hooks.Call
	// watched are the files of FileChanged.
	watched []string
}

func (f *fakeHooks) Has(e hooks.Event) bool { return f.on[e] != nil }
func (f *fakeHooks) Watched() []string      { return f.watched }
func (f *fakeHooks) Match(c *hooks.Call) hooks.Batch {
	f.mu.Lock()
	f.seen = append(f.seen, c)
	f.mu.Unlock()
	return &fakeBatch{f, c}
}

type fakeBatch struct {
	f *fakeHooks
	c *hooks.Call
}

func (b *fakeBatch) run() hooks.Run {
	return hooks.Run{Dialect: "claude-code", Handler: "claude-code:" + string(b.c.Event) + ":1"}
}
func (b *fakeBatch) Runs() []hooks.Run { return []hooks.Run{b.run()} }
func (b *fakeBatch) Run(ctx context.Context) *hooks.Outcome {
	out := b.f.on[b.c.Event](ctx, b.c)
	out.Runs = []hooks.Run{b.run()}
	return out
}

func hookText(s string) hooks.Text {
	return hooks.Text{Text: s, Dialect: "claude-code", Handler: "claude-code:Stop:1"}
}

// watcher is an Observer that checks the one rule every event must keep: it is
// durable before it is heard of.
type watcher struct {
	t      *testing.T
	log    *memLog
	mu     sync.Mutex
	events []session.Event // numbered ones
	told   []string        // of each call of Events what it told
	calls  int             // of Events
	deltas strings.Builder
	onEv   func(session.Event)
	ask    func(ctx context.Context, q *Question) (string, error)
}

func (w *watcher) Events(_ context.Context, evs []session.Event) {
	w.mu.Lock()
	w.calls++
	var told []string
	for _, ev := range evs {
		if s, ok := ev.Data.(*Started); ok {
			told = append(told, "started "+s.CallID)
		} else {
			told = append(told, string(ev.Data.EventType()))
		}
	}
	w.told = append(w.told, strings.Join(told, ", "))
	w.mu.Unlock()
	for _, ev := range evs {
		if ev.Seq > 0 {
			w.event(ev)
		}
	}
}

func (w *watcher) event(ev session.Event) {
	w.log.mu.Lock()
	durable := w.log.durable
	w.log.mu.Unlock()
	if int(ev.Seq) > durable {
		w.t.Errorf("event %d (%s) was published before it was durable", ev.Seq, ev.Data.EventType())
	}
	w.mu.Lock()
	w.events = append(w.events, ev)
	w.mu.Unlock()
	if w.onEv != nil {
		w.onEv(ev)
	}
}

func (w *watcher) Delta(_ context.Context, _ string, c *session.Chunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deltas.WriteString(c.Text)
}
func (w *watcher) Progress(context.Context, string, tool.Progress) {}
func (w *watcher) Ask(ctx context.Context, q *Question) (string, error) {
	if w.ask == nil {
		return "allow_once", nil
	}
	return w.ask(ctx, q)
}

// rig is a session with all its fakes.
type rig struct {
	*Session
	t     *testing.T
	log   *memLog
	model *script
	hooks *fakeHooks
	watch *watcher
}

func newRig(t *testing.T, tools []tool.Tool, streams ...stream) *rig {
	t.Helper()
	r := &rig{t: t, model: &script{streams: streams}, hooks: &fakeHooks{on: map[hooks.Event]func(context.Context, *hooks.Call) *hooks.Outcome{}}}
	r.log = &memLog{now: time.Now}
	r.watch = &watcher{t: t, log: r.log}
	reg, err := tool.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := permission.NewRules("", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	cfg := Config{
		Models: r.model, ModelRef: "test/model", Tools: reg, Hooks: r.hooks, Rules: rules, Asker: r.watch, Observer: r.watch,
		System: "system", Limits: Limits{Steps: 50, Continuations: 8},
		Retry: RetryPolicy{Max: 3, Base: time.Second, Cap: 10 * time.Second, MaxAfter: time.Minute},
		NewID: func() string { n++; return fmt.Sprintf("id-%d", n) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	h := session.Header{Version: 1, ID: "s1", Cwd: "/w", CreatedAt: time.Now()}
	r.Session, err = New(cfg, r.log, session.NewState(h), "startup")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// prompt runs one turn and checks that the log can be folded and that every
// provider would accept its transcript.
func (r *rig) prompt(s string) (session.EndReason, error) {
	r.t.Helper()
	slot, err := r.Admit(context.Background())
	if err != nil {
		r.t.Fatalf("admit: %v", err)
	}
	reason, err := slot.Prompt([]session.Block{session.Text(s)}, session.Source{Kind: session.SourceUser})
	r.check()
	return reason, err
}

func (r *rig) check() {
	r.t.Helper()
	r.log.mu.Lock()
	events := slices.Clone(r.log.events)
	r.log.mu.Unlock()
	st, err := session.Fold(session.Header{ID: "s1"}, events)
	if err != nil {
		r.t.Fatalf("the log does not fold: %v", err)
	}
	if st.Turn != nil {
		r.t.Error("the log's last turn is open")
	}
	v := session.NewVerifier(session.Header{ID: "s1"})
	for _, ev := range events {
		v.Add(ev)
	}
	if p := v.Done(); len(p) > 0 || v.Requests() < len(r.model.requests) {
		r.t.Errorf("%d requests were sent and %d are on the log: %v", len(r.model.requests), v.Requests(), p)
	}
	checkPaired(r.t, st.Messages)
}

// checkPaired demands what providers demand: results follow their calls at once,
// one each.
func checkPaired(t *testing.T, msgs []session.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range msgs {
		switch m.Role {
		case session.RoleTool:
			id := m.Content[0].CallID
			if !open[id] {
				t.Errorf("message %d: a result for %q, which is not open", i, id)
			}
			delete(open, id)
		default:
			if len(open) > 0 {
				t.Errorf("message %d (%s) while calls %v have no result", i, m.Role, open)
			}
			for _, b := range m.Content {
				if b.Type == session.BlockToolCall {
					open[b.ID] = true
				}
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v have no result", open)
	}
}

func (r *rig) last() session.Message {
	reqs := r.model.requests
	msgs := reqs[len(reqs)-1].Messages
	return msgs[len(msgs)-1]
}
