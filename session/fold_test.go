package session_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

// TestSaid: user, steering and context messages reach the model by one branch,
// byte for byte, whatever they hold and wherever they come from.
func TestSaid(t *testing.T) {
	sources := []session.Source{
		{Kind: session.SourceUser},
		{Kind: session.SourceHook, Name: "claudecode", Event: "Stop", Handler: "h"},
		{Kind: session.SourceClient, Name: "zed"},
		{Kind: "plugin"},
	}
	for _, s := range append(texts, strings.Repeat("1 MB ", 200_000), strings.Repeat("\n", 1000)) {
		content := append([]session.Block{session.Text(s), session.Text(s)}, allBlocks()...)
		for _, src := range sources {
			for _, d := range []session.Data{
				&session.UserMessage{ID: "u", Content: content, Source: src},
				&session.SteeringMessage{Turn: 1, Content: content, Source: src, Sources: sources},
				&session.ContextMessage{Content: content, Source: src, Meta: []byte(`{"frame":"x"}`)},
			} {
				events := number(&session.TurnStart{Turn: 1}, d)
				for i := range events {
					events[i] = decode(t, encode(t, events[i]))
				}
				st, err := session.Fold(header(), events)
				if err != nil {
					t.Fatal(err)
				}
				got := st.Transcript()
				want := []session.Message{{Role: session.RoleUser, Content: content}}
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("%s of %.40q (-put in +sent):\n%.2000s", d.EventType(), s, cmp.Diff(want, got))
				}
			}
		}
	}
}

func TestApplyRefuses(t *testing.T) {
	start := &session.TurnStart{Turn: 1}
	for name, tc := range map[string]struct {
		before []session.Data
		bad    session.Data
		seq    uint64
	}{
		"a gap":                 {[]session.Data{start}, &session.StepStart{Turn: 1, Step: 1}, 3},
		"a repeat":              {[]session.Data{start}, &session.StepStart{Turn: 1, Step: 1}, 1},
		"a turn in a turn":      {[]session.Data{start}, &session.TurnStart{Turn: 2}, 2},
		"an end of no turn":     {nil, &session.TurnEnd{Turn: 1}, 1},
		"a step in no turn":     {nil, &session.StepStart{Turn: 1, Step: 1}, 1},
		"a chunk in no turn":    {nil, &session.AssistantChunk{}, 1},
		"an end after the turn": {[]session.Data{start, &session.TurnEnd{Turn: 1}}, &session.TurnEnd{Turn: 1}, 3},
	} {
		s := fold(t, number(tc.before...))
		seq := s.Seq
		if err := s.Apply(session.Event{Seq: tc.seq, Data: tc.bad}); !errors.Is(err, session.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		if s.Seq != seq {
			t.Errorf("%s: the state moved on to %d", name, s.Seq)
		}
	}
}

// equal is for transcripts; an empty one may be nil.
func equal(a, b []session.Message) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// pairs checks that each tool call of a transcript has exactly one result behind
// it and that there is no other result.
func pairs(t *testing.T, msgs []session.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range msgs {
		if m.Role == session.RoleAssistant && len(open) > 0 {
			t.Fatalf("message %d: the model speaks while calls %v have no result", i, open)
		}
		for _, b := range m.Content {
			switch {
			case b.Type == session.BlockToolCall && m.Role == session.RoleAssistant:
				open[b.ID] = true
			case b.Type == session.BlockToolResult && m.Role == session.RoleTool:
				if !open[b.CallID] {
					t.Fatalf("message %d: a result for %q, which no call waits for", i, b.CallID)
				}
				delete(open, b.CallID)
			case b.Type == session.BlockToolCall || b.Type == session.BlockToolResult:
				t.Fatalf("message %d of role %s has a %s", i, m.Role, b.Type)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without a result: %v", open)
	}
}

// TestCutAnywhere cuts generated logs behind each event: the transcript is whole,
// Repair brings the log to the same transcript, and repairs it once and for all.
func TestCutAnywhere(t *testing.T) {
	for seed := range uint64(60) {
		data := generate(seed, 2)
		events := number(data...)
		if p := session.Verify(header(), events); len(p) > 0 {
			t.Fatalf("seed %d: %v", seed, p)
		}
		s := session.NewState(header())
		for i, ev := range events {
			if err := s.Apply(ev); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			msgs := s.Transcript()
			pairs(t, msgs)
			cut := fold(t, events[:i+1])
			repaired := number(append(append([]session.Data{}, data[:i+1]...), cut.Repair()...)...)
			after := fold(t, repaired)
			if !equal(msgs, after.Messages) {
				t.Fatalf("seed %d, cut at event %d: transcript before and after repair:\n%s", seed, i+1, cmp.Diff(msgs, after.Messages))
			}
			if again := after.Repair(); len(again) > 0 || after.Turn != nil {
				t.Fatalf("seed %d, cut at event %d: a second repair wants %d events", seed, i+1, len(again))
			}
			if p := session.Verify(header(), repaired); len(p) > 0 {
				t.Fatalf("seed %d, cut at event %d, repaired: %v", seed, i+1, p)
			}
			// A repair that was itself cut is finished by the next one.
			for n := i + 2; n < len(repaired); n++ {
				half := fold(t, repaired[:n])
				pairs(t, half.Transcript())
			}
		}
	}
}

// TestRepairIsTruthful: what the model reads about a cut call says what is known.
func TestRepairIsTruthful(t *testing.T) {
	call := session.Block{Type: session.BlockToolCall, ID: "c", Name: "bash", Arguments: "{}"}
	before := []session.Data{
		&session.TurnStart{Turn: 1}, &session.StepStart{Turn: 1, Step: 1},
		&session.AssistantMessage{Turn: 1, Step: 1, Message: session.LoggedMessage{Role: session.RoleAssistant, Content: []session.Block{call}}},
	}
	started := &session.ToolCall{Turn: 1, Step: 1, CallID: "c", Name: "bash", Arguments: "{}"}
	asked := &session.PermissionAsked{Turn: 1, CallID: "c"}
	answer := func(s string) session.Data {
		return &session.PermissionAnswered{Turn: 1, CallID: "c", Outcome: s}
	}
	for name, tc := range map[string]struct {
		then []session.Data
		want string
		run  bool
	}{
		"not handled":     {nil, session.TextNotStarted, false},
		"started":         {[]session.Data{started}, session.TextUnknown, true},
		"question open":   {[]session.Data{started, asked}, session.TextNotStarted, false},
		"rejected":        {[]session.Data{started, asked, answer("reject_once")}, session.TextNotStarted, false},
		"question failed": {[]session.Data{started, asked, answer("error")}, session.TextNotStarted, false},
		"allowed":         {[]session.Data{started, asked, answer("allow_always")}, session.TextUnknown, true},
	} {
		s := fold(t, number(append(append([]session.Data{}, before...), tc.then...)...))
		msgs := s.Transcript()
		got := msgs[len(msgs)-1].Content[0]
		if !got.IsError || got.CallID != "c" || got.Content[0].Text != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
		for _, d := range s.Repair() {
			if r, ok := d.(*session.ToolResult); ok && (r.Meta.NotRun == "") != tc.run {
				t.Errorf("%s: notRun %q", name, r.Meta.NotRun)
			}
		}
	}
}

func TestRepairKeepsStreamedText(t *testing.T) {
	chunk := func(c session.Chunk) session.Data {
		return &session.AssistantChunk{Turn: 1, Step: 1, Chunk: c}
	}
	s := fold(t, number(
		&session.TurnStart{Turn: 1}, &session.StepStart{Turn: 1, Step: 1},
		&session.RequestHeader{Header: session.RequestHead{Config: session.Params{Provider: "p", Model: "m"}}},
		chunk(session.Chunk{Type: session.ChunkText, Text: "Hel"}), chunk(session.Chunk{Type: session.ChunkText, Text: "lo"}),
		chunk(session.Chunk{Type: session.ChunkToolCall, Index: 1, ID: "c", Name: "bash", Text: `{"comm`}),
	))
	want := []session.Message{{Role: session.RoleAssistant, Content: []session.Block{session.Text("Hello")}, Provider: "p", Model: "m"}}
	if d := cmp.Diff(want, s.Transcript()); d != "" {
		t.Error(d)
	}
}

// TestStrayResults: results that answer no call are not sent.
func TestStrayResults(t *testing.T) {
	call := session.Block{Type: session.BlockToolCall, ID: "c", Name: "bash", Arguments: "{}"}
	result := func(id, text string) session.Data {
		return session.NewToolResult(1, 1, id, []session.Block{session.Text(text)}, false, nil)
	}
	events := number(
		&session.TurnStart{Turn: 1},
		&session.AssistantMessage{Turn: 1, Step: 1, Message: session.LoggedMessage{Role: session.RoleAssistant, Content: []session.Block{call}}},
		result("stranger", "a"), result("c", "first"), result("c", "second"),
		&session.TurnEnd{Turn: 1}, result("c", "late"),
	)
	msgs := fold(t, events).Transcript()
	pairs(t, msgs)
	if len(msgs) != 2 || msgs[1].Content[0].Content[0].Text != "first" {
		t.Errorf("%+v", msgs)
	}
	var at []uint64
	for _, p := range session.Verify(header(), events) {
		at = append(at, p.Seq)
	}
	if d := cmp.Diff([]uint64{3, 5, 7}, at); d != "" {
		t.Errorf("problems at %v: %s", at, d)
	}
}

// TestCompactionKeepsPairs: a compaction that cuts between a call and its result
// takes the result along.
func TestCompactionKeepsPairs(t *testing.T) {
	calls := []session.Block{{Type: session.BlockToolCall, ID: "a"}, {Type: session.BlockToolCall, ID: "b"}}
	data := []session.Data{
		&session.TurnStart{Turn: 1},
		&session.UserMessage{Content: []session.Block{session.Text("u")}},
		&session.AssistantMessage{Turn: 1, Message: session.LoggedMessage{Role: session.RoleAssistant, Content: calls}},
		session.NewToolResult(1, 1, "a", nil, false, nil), session.NewToolResult(1, 1, "b", nil, false, nil),
		&session.UserMessage{Content: []session.Block{session.Text("v")}},
	}
	for through := range uint64(7) {
		events := number(append(data, &session.Compaction{Status: "completed", Through: through, Content: []session.Block{session.Text("sum")}})...)
		s := fold(t, events)
		pairs(t, s.Transcript())
		if first := s.Messages[0].Content[0].Text; first != "sum" || s.MessageSeq(0) != 7 || s.Compactions != 1 {
			t.Errorf("through %d: the transcript begins with %q of event %d", through, first, s.MessageSeq(0))
		}
	}
	s := fold(t, number(append(data, &session.Compaction{Status: "failed", Through: 6})...))
	if len(s.Messages) != 5 {
		t.Errorf("a failed compaction left %d messages, want 5", len(s.Messages))
	}
}

// TestDigest: the digest is that of the projection, does not depend on how the
// state came about, and changes with anything that the model sees.
func TestDigest(t *testing.T) {
	digest := func(s *session.State) string {
		t.Helper()
		d, err := s.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for seed := range uint64(40) {
		data := generate(seed, 3)
		live, replayed := session.NewState(header()), session.NewState(header())
		for i, ev := range number(data...) {
			if err := live.Apply(ev); err != nil {
				t.Fatal(err)
			}
			if err := replayed.Apply(decode(t, encode(t, ev))); err != nil {
				t.Fatal(err)
			}
			// live is asked at each event, replayed now and then: the same answer.
			if got := digest(live); i%7 == 0 && got != digest(replayed) {
				t.Fatalf("seed %d, event %d: two digests", seed, i+1)
			}
		}
		if digest(live) != digest(fold(t, number(data...))) {
			t.Fatalf("seed %d: asked once and asked often differ", seed)
		}
	}

	// Bytes that are no UTF-8 are in the log as U+FFFD, and so in the digest.
	bad := "caf\xe9 \xed\xa0\x80 <&> \u2028"
	data := []session.Data{
		&session.RequestHeader{Header: session.RequestHead{
			Config: session.Params{Provider: bad, Model: "m", ReasoningEffort: "low", MaxTokens: 5}, System: bad,
			Tools: []session.ToolSchema{{Name: bad, Description: bad, Parameters: []byte("{ \"a\":\n 1 }")}},
		}},
		&session.UserMessage{Content: []session.Block{session.Text(bad), {Type: session.BlockResource, URI: bad, Text: bad}}},
	}
	var events []session.Event
	for _, ev := range number(data...) {
		events = append(events, decode(t, encode(t, ev)))
	}
	if a, b := digest(fold(t, number(data...))), digest(fold(t, events)); a != b {
		t.Errorf("invalid UTF-8: live %s, read back %s", a, b)
	}

	base := func() []session.Data {
		return []session.Data{
			&session.UserMessage{ID: "1", Content: []session.Block{session.Text("a"), session.Text("b")}, Source: session.Source{Kind: "user"}},
		}
	}
	d0 := digest(fold(t, number(base()...)))
	// Pinned: logs that are on disks are verified by later versions.
	if want := "sha256:d0c0c6ae520e5ca5b0ac6492ed5cfc8f324198ddc6ef552e7d1d3f915266a595"; d0 != want {
		t.Errorf("digest of one message of two blocks is %s, want %s", d0, want)
	}
	for name, change := range map[string]func(u *session.UserMessage){
		"joined":  func(u *session.UserMessage) { u.Content = []session.Block{session.Text("ab")} },
		"swapped": func(u *session.UserMessage) { u.Content[0], u.Content[1] = u.Content[1], u.Content[0] },
		"trimmed": func(u *session.UserMessage) { u.Content[1].Text = "b\n" },
	} {
		data := base()
		change(data[0].(*session.UserMessage))
		if digest(fold(t, number(data...))) == d0 {
			t.Errorf("%s content has the same digest", name)
		}
	}
	other := base()
	other[0].(*session.UserMessage).Source = session.Source{Kind: "hook", Name: "x"}
	other[0].(*session.UserMessage).ID = "2"
	if digest(fold(t, number(other...))) != d0 {
		t.Error("where a message came from is in the digest")
	}
}

func TestVerify(t *testing.T) {
	good := func() []session.Data { return generate(3, 3) }
	find := func(data []session.Data, typ session.Type) int {
		for i, d := range data {
			if d.EventType() == typ {
				return i
			}
		}
		t.Fatalf("the sample has no %s", typ)
		return -1
	}
	for name, tc := range map[string]struct {
		spoil func(ev []session.Event, data []session.Data) []session.Event
		want  string
	}{
		"nothing": {func(ev []session.Event, _ []session.Data) []session.Event { return ev }, ""},
		"a changed prompt": {func(ev []session.Event, data []session.Data) []session.Event {
			data[find(data, session.TypeUserMessage)].(*session.UserMessage).Content[0].Text = "forged"
			return ev
		}, "does not follow from the events before it"},
		"a changed digest": {func(ev []session.Event, data []session.Data) []session.Event {
			data[find(data, session.TypeRequestSent)].(*session.RequestSent).Digest = "sha256:0"
			return ev
		}, "the log says sha256:0"},
		"a missing event": {func(ev []session.Event, _ []session.Data) []session.Event { return append(ev[:4:4], ev[5:]...) }, "event 6 follows event 4"},
		"an open end": {func(ev []session.Event, data []session.Data) []session.Event {
			return ev[:len(ev)-1]
		}, "is open at the end of the log"},
		"a result that is gone": {func(ev []session.Event, data []session.Data) []session.Event {
			ev[find(data, session.TypeToolResult)].Data = &session.ModeSet{}
			return ev
		}, "has no result"},
		"a call from nowhere": {func(ev []session.Event, data []session.Data) []session.Event {
			ev[find(data, session.TypeRequestHeader)].Data = &session.ToolCall{CallID: "zz"}
			return ev
		}, `tool/call "zz"`},
		"a turn twice": {func(ev []session.Event, data []session.Data) []session.Event {
			for _, d := range data[1:] {
				if s, ok := d.(*session.TurnStart); ok {
					s.Turn = 1
				}
			}
			return ev
		}, "turn 1 starts after turn 1"},
	} {
		data := good()
		problems := session.Verify(header(), tc.spoil(number(data...), data))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		got := strings.Join(all, "\n")
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func BenchmarkDigestIncremental(b *testing.B) {
	s := session.NewState(header())
	apply := func(d session.Data) {
		if err := s.Apply(session.Event{Seq: s.Seq + 1, Data: d}); err != nil {
			b.Fatal(err)
		}
	}
	apply(&session.RequestHeader{Header: session.RequestHead{System: strings.Repeat("system ", 2000)}})
	for range 4000 {
		apply(&session.UserMessage{Content: []session.Block{session.Text(strings.Repeat("x", 500))}})
	}
	b.ReportAllocs()
	for b.Loop() {
		apply(&session.UserMessage{Content: []session.Block{session.Text(strings.Repeat("x", 500))}})
		if _, err := s.Digest(); err != nil {
			b.Fatal(err)
		}
	}
}
