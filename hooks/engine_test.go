package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a dialect whose handlers are functions.
type fake struct {
	name  string
	hs    []*Handler
	limit int
	err   error
}

type behaviour func(ctx context.Context, job *Job) Answer

func (f *fake) add(ev Event, do behaviour) *Handler {
	h := &Handler{
		Dialect: f.name, Event: ev, Type: "command", Command: f.name + "-" + string(rune('a'+len(f.hs))), Ext: do,
		Place: Place{File: "/f", Layer: LayerUser, Index: len(f.hs)}, Hash: string(rune('a' + len(f.hs))),
	}
	f.hs = append(f.hs, h)
	return h
}

func says(a Answer) behaviour { return func(context.Context, *Job) Answer { return a } }

func (f *fake) Name() string         { return f.name }
func (f *fake) Handlers() []*Handler { return f.hs }
func (f *fake) AsyncLimit() int      { return f.limit }
func (f *fake) Match(c *Call) []*Handler {
	var out []*Handler
	for _, h := range f.hs {
		if h.Event == c.Event {
			out = append(out, h)
		}
	}
	return out
}
func (f *fake) Payload(*Call) ([]byte, error) { return []byte("{}"), f.err }

// Exec smuggles the answer through the exit's error, which Decode takes apart.
func (f *fake) Exec(ctx context.Context, job *Job) Exit {
	a := job.Handler.Ext.(behaviour)(ctx, job)
	b, _ := json.Marshal(a)
	return Exit{Stdout: b, Cancelled: ctx.Err() != nil}
}

func (f *fake) Decode(_ *Call, _ *Handler, e Exit) (a Answer) {
	if e.StartErr != nil {
		return Answer{Decision: Failed, Why: e.StartErr.Error()}
	}
	_ = json.Unmarshal(e.Stdout, &a)
	return a
}

func (f *fake) Cap(_ *Handler, kind TextKind, s string, spill func(string) (string, error)) (string, bool) {
	if kind != ContextText || len(s) <= 10 {
		return s, false
	}
	path, err := spill(s)
	if err != nil {
		return "cut", true
	}
	return "see " + path, true
}

func ptr(s string) *string { return &s }

func texts(ts []Text) string {
	var out []string
	for _, t := range ts {
		out = append(out, t.Handler+"="+t.Text)
	}
	return strings.Join(out, " | ")
}

func newFakes() (cc, cx *fake, set func(...func(*Options)) *Set) {
	cc, cx = &fake{name: "claude-code"}, &fake{name: "codex"}
	return cc, cx, func(change ...func(*Options)) *Set {
		o := Options{Dialects: []Dialect{cc, cx}}
		for _, fn := range change {
			fn(&o)
		}
		return NewEngine(o)
	}
}

func TestIDsCountOverTheSession(t *testing.T) {
	cc, cx, set := newFakes()
	cc.add(Stop, says(Answer{}))
	cc.add(Stop, says(Answer{}))
	cx.add(Stop, says(Answer{}))
	s := set()
	s.Seen("claude-code:PreToolUse:9")
	s.Seen("codex:Stop:4")
	var ids []string
	for range 2 {
		for _, r := range s.Match(&Call{Event: Stop}).Runs() {
			ids = append(ids, r.Handler)
		}
	}
	want := "claude-code:Stop:1 claude-code:Stop:2 codex:Stop:5 claude-code:Stop:3 claude-code:Stop:4 codex:Stop:6"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if s.Match(&Call{Event: PreToolUse}) != nil || s.Has(PreToolUse) || !s.Has(Stop) {
		t.Error("Match or Has of an event without hooks")
	}
}

// Bug 4 (openai/codex#14532): every reason is kept, in config order, whatever
// order they finish in.
func TestReasonsInConfigOrder(t *testing.T) {
	cc, cx, set := newFakes()
	last := make(chan struct{})
	cc.add(Stop, func(context.Context, *Job) Answer { <-last; return Answer{Blocked: true, Reason: "R1"} })
	cc.add(Stop, says(Answer{Blocked: true, Reason: "R2", Context: ptr("c2")}))
	cx.add(Stop, func(context.Context, *Job) Answer { close(last); return Answer{Blocked: true, Reason: "R3"} })
	out := set().Match(&Call{Event: Stop}).Run(t.Context())
	if got := texts(out.Reasons); got != "claude-code:Stop:1=R1 | claude-code:Stop:2=R2 | codex:Stop:1=R3" {
		t.Error(got)
	}
	if !out.Blocked || texts(out.Contexts) != "claude-code:Stop:2=c2" {
		t.Errorf("%+v", out)
	}
}

// All handlers of a batch run at once, both dialects: each waits for all others.
func TestParallel(t *testing.T) {
	cc, cx, set := newFakes()
	const n = 8
	arrived := make(chan struct{}, n)
	all := make(chan struct{})
	for i := range n {
		d := []*fake{cc, cx}[i%2]
		d.add(Stop, func(context.Context, *Job) Answer { arrived <- struct{}{}; <-all; return Answer{} })
	}
	go func() {
		for range n {
			<-arrived
		}
		close(all)
	}()
	if out := set().Match(&Call{Event: Stop}).Run(t.Context()); len(out.Runs) != n {
		t.Errorf("%d runs", len(out.Runs))
	}
}

func TestMerge(t *testing.T) {
	h := func(d, id string, order int, a Answer) Heard {
		return Heard{Answer: a, Dialect: d, Handler: id, Order: order}
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	text := func(s, d, id string) Text { return Text{Text: s, Dialect: d, Handler: id} }
	for _, tc := range []struct {
		name string
		ev   Event
		in   []Heard
		want Outcome
	}{
		{"deny > defer > ask > allow", PreToolUse, []Heard{
			h("a", "1", 1, Answer{Permission: Allow, PermissionReason: "al"}),
			h("a", "2", 2, Answer{Permission: Ask, PermissionReason: "as"}),
			h("a", "3", 3, Answer{Permission: Defer, PermissionReason: "df"}),
		}, Outcome{Decision: Defer, DecisionReason: text("df", "a", "3")}},
		{"a deny of one dialect beats an allow of the other", PreToolUse, []Heard{
			h("a", "1", 1, Answer{Permission: Allow, UpdatedInput: raw(`{}`)}),
			h("b", "2", 2, Answer{Permission: Deny, PermissionReason: "no"}),
		}, Outcome{Decision: Deny, DecisionReason: text("no", "b", "2"), Blocked: true, Reasons: []Text{text("no", "b", "2")}}},
		{"no decision is not allow (gram#3813)", PreToolUse, []Heard{h("a", "1", 1, Answer{})}, Outcome{}},
		{"the last to finish rewrites (CC#83353)", PreToolUse, []Heard{
			h("a", "1", 2, Answer{UpdatedInput: raw(`{"x":1}`)}),
			h("b", "2", 1, Answer{UpdatedInput: raw(`{"x":2}`)}),
		}, Outcome{UpdatedInput: raw(`{"x":1}`)}},
		{"continue:false beats a block of a stop", Stop, []Heard{
			h("a", "1", 1, Answer{Blocked: true, Reason: "go on"}),
			h("b", "2", 2, Answer{Halt: true, HaltReason: "enough"}),
		}, Outcome{Halted: true, HaltReason: text("enough", "b", "2")}},
		{"but a denied tool stays denied", PreToolUse, []Heard{
			h("a", "1", 1, Answer{Permission: Deny, PermissionReason: "no"}),
			h("b", "2", 2, Answer{Halt: true, HaltReason: "enough"}),
		}, Outcome{
			Halted: true, HaltReason: text("enough", "b", "2"), Decision: Deny, DecisionReason: text("no", "a", "1"),
			Blocked: true, Reasons: []Text{text("no", "a", "1")},
		}},
		{"replacements are joined where the dialect says so", PostToolUse, []Heard{
			h("b", "1", 1, Answer{Replace: ptr("A"), JoinReplace: true}),
			h("b", "2", 2, Answer{Replace: ptr("B"), JoinReplace: true}),
		}, Outcome{ReplaceOutput: &Text{Text: "A\n\nB", Dialect: "b", Handler: "2"}}},
		{"else the last to finish replaces", PostToolUse, []Heard{
			h("a", "1", 2, Answer{Replace: ptr("A")}),
			h("a", "2", 1, Answer{Replace: ptr("B")}),
		}, Outcome{ReplaceOutput: &Text{Text: "A", Dialect: "a", Handler: "1"}}},
		{"context of a refused prompt", UserPromptSubmit, []Heard{
			h("a", "1", 1, Answer{Context: ptr("x"), ContextDropped: true}),
			h("b", "2", 2, Answer{Blocked: true, Reason: "no", ReasonToUser: true, Context: ptr("y")}),
		}, Outcome{Blocked: true, Reasons: []Text{text("no", "b", "2")}, Contexts: []Text{text("y", "b", "2")}}},
		{"context of a stopped prompt", UserPromptSubmit, []Heard{
			h("a", "1", 1, Answer{Halt: true, HaltReason: "enough", Context: ptr("x"), ContextDropped: true}),
			h("b", "2", 2, Answer{Context: ptr("y")}),
		}, Outcome{Halted: true, HaltReason: text("enough", "a", "1"), Contexts: []Text{text("y", "b", "2")}}},
		{"elicitation: a refusal wins", Elicitation, []Heard{
			h("a", "1", 1, Answer{Action: "accept", Content: raw(`{}`)}),
			h("a", "2", 2, Answer{Action: "decline"}),
		}, Outcome{Action: "decline", DecisionReason: text("", "a", "2")}},
	} {
		var out Outcome
		Merge(&out, tc.ev, tc.in)
		if !reflect.DeepEqual(out, tc.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tc.name, out, tc.want)
		}
	}
}

// What hooks say after a cancel counts for nothing.
func TestCancelledOutcome(t *testing.T) {
	cc, _, set := newFakes()
	ctx, cancel := context.WithCancel(t.Context())
	cc.add(Stop, func(context.Context, *Job) Answer {
		cancel()
		return Answer{Blocked: true, Reason: "R", Message: "m", Context: ptr("c"), Halt: true}
	})
	cc.add(Stop, says(Answer{Decision: Failed, Why: "x"}))
	out := set().Match(&Call{Event: Stop}).Run(ctx)
	for _, r := range out.Runs {
		if r.Decision != Cancelled {
			t.Errorf("%+v", r)
		}
	}
	if len(out.Runs) != 2 || out.Blocked || out.Halted || len(out.Reasons)+len(out.Contexts)+len(out.Messages)+len(out.Notices) > 0 {
		t.Errorf("%+v", out)
	}
}

// A cancel is not what kept a handler back, and does not keep from the person what is
// said once; nor does it end what goes on in the background.
func TestCancelledBesideHeld(t *testing.T) {
	d := &fake{name: "claude-code"}
	d.add(Stop, says(Answer{})).Place.Layer = LayerProject
	on := make(chan struct{})
	d.add(Stop, func(context.Context, *Job) Answer { <-on; return Answer{} }).Async = true
	d.add(Stop, says(Answer{}))
	s := NewEngine(Options{Dialects: []Dialect{d}})
	defer s.Close()
	defer close(on)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := s.Match(&Call{Event: Stop}).Run(ctx)
	var got []Decision
	for _, r := range out.Runs {
		got = append(got, r.Decision)
	}
	if want := []Decision{Held, Pass, Cancelled}; !reflect.DeepEqual(got, want) {
		t.Errorf("decisions %q, want %q", got, want)
	}
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, "was not run") {
		t.Errorf("notices %v", out.Notices)
	}
}

func TestNoticesOnce(t *testing.T) {
	cc, _, set := newFakes()
	cc.add(Stop, says(Answer{Decision: Failed, Why: "exit code 1"}))
	s := set()
	out := s.Match(&Call{Event: Stop}).Run(t.Context())
	if got := texts(out.Notices); got != "claude-code:Stop:1=Stop hook `claude-code-a` failed: exit code 1" {
		t.Error(got)
	}
	if r := out.Runs[0]; r.Decision != Failed || r.Reason != "exit code 1" {
		t.Errorf("%+v", r)
	}
	if out := s.Match(&Call{Event: Stop}).Run(t.Context()); len(out.Notices) > 0 || out.Runs[0].Decision != Failed {
		t.Errorf("%+v", out)
	}
}

// openai/codex#46210 and its kin: what is held back is said, once.
func TestHeldIsSaidOnceAndApproved(t *testing.T) {
	cc, _, set := newFakes()
	h := cc.add(Stop, says(Answer{Blocked: true, Reason: "ran"}))
	h.Place.Layer = LayerProject
	bad := cc.add(Stop, says(Answer{Blocked: true, Reason: "never"}))
	bad.Why = "its matcher is not valid"
	store := OpenTrust(t.TempDir())
	project := t.TempDir()
	mk := func() *Set {
		h.Trust = ""
		return set(func(o *Options) { o.Trust, o.ProjectDir = store, project })
	}
	s := mk()
	b := s.Match(&Call{Event: Stop})
	if len(b.Runs()) != 0 {
		t.Errorf("would start %+v", b.Runs())
	}
	out := b.Run(t.Context())
	if out.Blocked || len(out.Runs) != 2 || out.Runs[0].Decision != Held || out.Runs[1].Decision != Held || len(out.Notices) != 2 {
		t.Errorf("%+v", out)
	}
	if !strings.Contains(out.Notices[0].Text, "acp-agent hooks trust") || strings.Contains(out.Notices[1].Text, "acp-agent hooks trust") {
		t.Errorf("%s", texts(out.Notices))
	}
	if s.Match(&Call{Event: Stop}) != nil || s.Has(Stop) {
		t.Error("held twice")
	}
	held := s.Held()
	if len(held) != 1 || held[0].Hash != h.Hash {
		t.Fatalf("%+v", held)
	}
	if err := s.Approve([]string{"nonsense"}, true); err == nil {
		t.Error("approved nonsense")
	}
	if err := s.Approve([]string{held[0].ID()}, false); err != nil {
		t.Fatal(err)
	}
	if out := s.Match(&Call{Event: Stop}).Run(t.Context()); texts(out.Reasons) != "claude-code:Stop:3=ran" {
		t.Errorf("%+v", out)
	}
	if s = mk(); len(s.Held()) != 1 {
		t.Error("a decision for the session outlived it")
	}
	h.Command, h.With = "check", "A=1"
	if got := h.Question(); got != "check\n    with A=1" {
		t.Errorf("the question is %q", got)
	}
	h.Trust = TrustModified
	if got := h.Question(); got != "check\n    with A=1\n    changed since you trusted it" {
		t.Errorf("the question is %q", got)
	}
	h.Trust, h.With = TrustUntrusted, ""
	// Whoever has the question before them is not told as well.
	s.Asked([]string{h.ID()})
	if out := s.Match(&Call{Event: Stop}).Run(t.Context()); len(out.Runs) != 2 || out.Runs[0].Decision != Held || len(out.Notices) != 1 || strings.Contains(out.Notices[0].Text, "trust") {
		t.Errorf("asked about: %+v", out)
	}
	if err := s.Approve([]string{h.ID()}, true); err != nil {
		t.Fatal(err)
	}
	if s = mk(); len(s.Held()) != 0 || !s.Has(Stop) {
		t.Error("trust was forgotten")
	}
	if err := s.Reject([]string{h.ID()}, true); err != nil {
		t.Fatal(err)
	}
	if s = mk(); len(s.Held()) != 0 || h.Trust != TrustRejected {
		t.Errorf("a rejected handler is asked about again: %s", h.Trust)
	}
	if out := s.Match(&Call{Event: Stop}).Run(t.Context()); len(out.Notices) != 1 || len(out.Runs) != 2 || out.Runs[0].Decision != Held {
		t.Errorf("who rejected a handler is told that it does not run: %+v", out)
	}
}

// A handler that is to run once is done with when a run has succeeded, not when
// one has failed (Claude Code hooks reference, handlers), until its command is
// typed again.
func TestOnce(t *testing.T) {
	cc, _, set := newFakes()
	answers := []Answer{{Decision: Failed, Why: "x"}, {Decision: TimedOut, Why: "x"}, {Blocked: true, Reason: "r"}}
	h := cc.add(Stop, func(context.Context, *Job) Answer {
		a := answers[0]
		answers = answers[1:]
		return a
	})
	h.Once, h.Type = true, "command"
	s := set()
	for range 3 {
		if !s.Has(Stop) {
			t.Fatal("gone before it succeeded")
		}
		s.Match(&Call{Event: Stop}).Run(t.Context())
	}
	if s.Match(&Call{Event: Stop}) != nil || s.Has(Stop) {
		t.Error("once is not once")
	}
	s.Again("elsewhere")
	if s.Has(Stop) {
		t.Error("another file's command was typed")
	}
	s.Again(h.Place.File)
	h.Type, answers = "prompt", []Answer{{Blocked: true, Reason: "r"}, {}}
	for range 2 {
		if !s.Has(Stop) {
			t.Fatal("gone before the model agreed")
		}
		s.Match(&Call{Event: Stop}).Run(t.Context())
	}
	if s.Has(Stop) {
		t.Error("once is not once, again")
	}
}

// pi-code#123, CC#89960: an async handler is not waited for; what it says comes
// later, and Close ends it.
func TestAsync(t *testing.T) {
	cc, _, set := newFakes()
	cc.limit = 1
	release := make(chan struct{})
	cc.add(Stop, func(context.Context, *Job) Answer { <-release; return Answer{Context: ptr("late")} }).Async = true
	h := cc.add(Stop, func(context.Context, *Job) Answer { return Answer{Blocked: true, Reason: "wake"} })
	h.Async, h.Rewake, h.RewakeMessage, h.RewakeSummary = true, true, "lead", "summary"
	got := make(chan Late, 2)
	s := set(func(o *Options) { o.Deliver = func(l Late) { got <- l } })
	out := s.Match(&Call{Event: Stop}).Run(t.Context())
	if out.Blocked || len(out.Runs) != 2 || out.Runs[0].Decision != Pass {
		t.Errorf("%+v", out)
	}
	close(release)
	both := map[Late]bool{<-got: true, <-got: true}
	late := Late{Text: Text{Text: "late", Dialect: "claude-code", Handler: "claude-code:Stop:1"}, Event: Stop}
	wake := Late{Text: Text{Text: "wake", Dialect: "claude-code", Handler: "claude-code:Stop:2"}, Event: Stop, Rewake: true, Lead: "lead", Summary: "summary"}
	if !both[late] || !both[wake] {
		t.Errorf("%+v", both)
	}
}

// What goes on in the background when a session is closed has a moment to end; what
// would only wake the model has none. Nobody is told what either says.
func TestAsyncAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc, _, set := newFakes()
		start := time.Now()
		ended := make(chan string, 3)
		takes := func(name string, d time.Duration) *Handler {
			h := cc.add(Stop, func(ctx context.Context, _ *Job) Answer {
				select {
				case <-time.After(d):
				case <-ctx.Done():
					name += " cut"
				}
				ended <- fmt.Sprintf("%s %v", name, time.Since(start))
				return Answer{Context: ptr("no")}
			})
			h.Async = true
			return h
		}
		takes("short", time.Second)
		takes("long", time.Hour)
		takes("waker", time.Hour).Rewake = true
		s := set(func(o *Options) { o.Deliver = func(Late) { t.Error("delivered after Close") } })
		s.Match(&Call{Event: Stop}).Run(t.Context())
		synctest.Wait()
		s.Close()
		if got := []string{<-ended, <-ended, <-ended}; !slices.Equal(got, []string{"waker cut 0s", "short 1s", "long cut 1.5s"}) {
			t.Error(got)
		}
	})
}

// A hook that keeps everybody waiting is named, once a session; one that a client
// shows meanwhile, one that is through and one in the background are not.
func TestSlowHooksAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cc, cx, set := newFakes()
		slow := func(context.Context, *Job) Answer { <-time.After(2 * patience); return Answer{} }
		cc.add(Stop, slow).Timeout = time.Minute
		cc.add(Stop, slow).StatusMessage = "shown"
		cc.add(Stop, slow).Async = true
		cc.add(Stop, says(Answer{}))
		cx.add(SessionStart, slow).StatusMessage = "nobody sees it"
		cx.add(SessionEnd, slow)
		told := make(chan Text, 9)
		s := set(func(o *Options) { o.Notify = func(x Text) { told <- x } })
		for _, ev := range []Event{Stop, Stop, SessionStart, SessionEnd} {
			s.Match(&Call{Event: ev}).Run(t.Context())
		}
		s.Close()
		synctest.Wait()
		close(told)
		var got []Text
		for x := range told {
			got = append(got, x)
		}
		want := "claude-code:Stop:1=Stop hook `claude-code-a` has been running for 10 s; it is waited for, 60 s at most" +
			" | codex:SessionStart:1=SessionStart hook `codex-a` has been running for 10 s; it is waited for, 0 s at most"
		if texts(got) != want {
			t.Error(texts(got))
		}
	})
}

func TestCapsAndPayloadErrors(t *testing.T) {
	cc, cx, set := newFakes()
	cc.add(Stop, says(Answer{Context: ptr(strings.Repeat("x", 50)), Blocked: true, Reason: strings.Repeat("r", 1<<20)}))
	cx.add(Stop, says(Answer{}))
	cx.err = errors.New("too odd")
	dir := filepath.Join(t.TempDir(), "spill")
	s := set(func(o *Options) { o.SpillDir = dir })
	out := s.Match(&Call{Event: Stop}).Run(t.Context())
	if !strings.HasPrefix(out.Contexts[0].Text, "see "+dir) || len(out.Reasons[0].Text) != 1<<20 {
		t.Errorf("%.100s %d", out.Contexts[0].Text, len(out.Reasons[0].Text))
	}
	if len(out.Notices) != 2 || !strings.Contains(out.Notices[0].Text, "limit") || !strings.Contains(out.Notices[1].Text, "too odd") {
		t.Errorf("%s", texts(out.Notices))
	}
}

// One call for a tool's end reaches handlers of either event.
func TestFailureListenersHearPostToolUse(t *testing.T) {
	cc, _, set := newFakes()
	cc.add(PostToolUseFailure, says(Answer{}))
	if s := set(); !s.Has(PostToolUse) {
		t.Error("not heard")
	}
}

// Guards asks without starting, counting or reporting anything.
func TestGuards(t *testing.T) {
	cc, _, set := newFakes()
	h := cc.add(PreToolUse, says(Answer{}))
	h.Place.Layer = LayerProject
	s := set()
	call := &Call{Event: PreToolUse}
	if s.Guards(call) || s.Guards(&Call{Event: Stop}) {
		t.Error("guarded by a hook that would not run")
	}
	if err := s.Approve([]string{h.ID()}, false); err != nil {
		t.Fatal(err)
	}
	if !s.Guards(call) {
		t.Error("not guarded")
	}
	if id := s.Match(call).Runs()[0].Handler; id != "claude-code:PreToolUse:1" {
		t.Errorf("asking counted: %s", id)
	}
}

// Files loaded anew in mid-session: the session's memory goes on.
func TestPrevious(t *testing.T) {
	cc, _, set := newFakes()
	h := cc.add(Stop, says(Answer{Decision: Failed, Why: "x"}))
	h.Place.Layer = LayerProject
	release := make(chan struct{})
	cc.add(Notification, func(context.Context, *Job) Answer { <-release; return Answer{Context: ptr("late")} }).Async = true
	got := make(chan string, 1)
	deliver := func(o *Options) { o.Deliver = func(l Late) { got <- l.Text.Text } }
	old := set(deliver)
	if err := old.Approve([]string{h.ID()}, false); err != nil {
		t.Fatal(err)
	}
	old.Match(&Call{Event: Stop}).Run(t.Context())
	old.Match(&Call{Event: Notification}).Run(t.Context())
	h.Trust = "" // as if read anew
	s := set(deliver, func(o *Options) { o.Previous = old })
	old.Close()
	out := s.Match(&Call{Event: Stop}).Run(t.Context())
	if r := out.Runs[0]; r.Handler != "claude-code:Stop:2" || r.Decision != Failed || len(out.Notices) > 0 {
		t.Errorf("%+v", out)
	}
	close(release)
	if text := <-got; text != "late" {
		t.Error(text)
	}
	s.Close()
	s.Close()
}

// What the person is told of a hook that could not answer says whether that refused
// what it guards, and names its file once.
func TestFailureNotices(t *testing.T) {
	for want, a := range map[string]Answer{
		"PreToolUse hook `claude-code-a` took too long and was ended; it decided nothing.":       {Decision: TimedOut, Why: "took too long"},
		"PreToolUse hook `claude-code-a` took too long and was ended; that counts as a refusal.": {Decision: TimedOut, Why: "took too long", Permission: Deny},
		"PreToolUse hook `claude-code-a` failed: exit code 3":                                    {Decision: Failed, Why: "exit code 3"},
		"PreToolUse hook `claude-code-a` failed, which counts as a refusal: exit code 3":         {Decision: Failed, Why: "exit code 3", Blocked: true},
	} {
		cc, _, set := newFakes()
		cc.add(PreToolUse, says(a))
		out := set().Match(&Call{Event: PreToolUse}).Run(t.Context())
		if len(out.Notices) != 1 || out.Notices[0].Text != want {
			t.Errorf("%s, want %s", texts(out.Notices), want)
		}
	}
	h := &Handler{Event: Stop, Place: Place{File: "/f"}}
	if got := heldNotice(h, "no"); got != "Stop hook of /f was not run: no." {
		t.Error(got)
	}
	h.Command = "x"
	if got := heldNotice(h, "no"); got != "Stop hook `x` of /f was not run: no." {
		t.Error(got)
	}
}
