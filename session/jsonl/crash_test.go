package jsonl_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// isPrefix fails unless got is the beginning of want, apart from what Open
// appended behind it.
func isPrefix(t *testing.T, want, got []session.Event) int {
	t.Helper()
	n := 0
	for n < len(want) && n < len(got) && reflect.DeepEqual(want[n], got[n]) {
		n++
	}
	for _, ev := range got[n:] {
		switch ev.Data.(type) {
		case *session.Notice, *session.AssistantMessage, *session.ToolCall, *session.ToolResult, *session.StepEnd, *session.TurnEnd:
		default:
			t.Fatalf("event %d is none that was written there, nor a repair: %T\n%s", ev.Seq, ev.Data, cmp.Diff(want, got))
		}
	}
	return n
}

// goesOn checks that a log opens, is whole, takes an append and has it after the
// next open. It returns how many of the written events are there.
func goesOn(t *testing.T, s *jsonl.Store, id string, want []session.Event) int {
	t.Helper()
	l, st, got := load(t, s, id)
	n := isPrefix(t, want, got)
	if st.Turn != nil {
		t.Fatalf("turn %d is open after Open", st.Turn.Number)
	}
	added := appendAll(t, l, &session.ModeSet{Mode: "after"})
	check(t, l.Close())
	l, _, again := load(t, s, id)
	check(t, l.Close())
	if before := append(got, added...); !reflect.DeepEqual(before, again) {
		t.Fatalf("after another open (-before +after):\n%s", cmp.Diff(before, again))
	}
	return n
}

// TestCutAtEveryByte: whatever byte a log ends at, what is whole comes back, the
// rest is kept aside, and the log goes on.
func TestCutAtEveryByte(t *testing.T) {
	s := openStore(t, t.TempDir(), newFaultFS())
	want := write(t, s, "a", 2)
	whole, err := os.ReadFile(path(s, "a"))
	check(t, err)
	head := bytes.IndexByte(whole, '\n') + 1
	for n := range len(whole) + 1 {
		cut := whole[:n]
		check(t, os.WriteFile(path(s, "b"), bytes.Replace(cut, []byte(`"id":"a"`), []byte(`"id":"b"`), 1), 0o600))
		if n < head {
			l, _, err := s.Open(t.Context(), "b", nil)
			if !errors.Is(err, session.ErrCorrupt) {
				t.Fatalf("cut at %d, in the header: %v, %v", n, l, err)
			}
			if left, err := os.ReadFile(path(s, "b")); err != nil || len(left) != n {
				t.Fatalf("cut at %d: the file was changed: %d bytes, %v", n, len(left), err)
			}
			check(t, s.Delete(t.Context(), "b"))
			continue
		}
		lines := bytes.Count(cut, []byte("\n")) - 1
		torn := cut[bytes.LastIndexByte(cut, '\n')+1:]
		if got := must[*jsonl.Reading](t)(s.Read(t.Context(), "b", nil)); got.Torn != int64(len(torn)) || got.State.Seq != uint64(lines) {
			t.Fatalf("cut at %d: Read found %d events and %d torn bytes, want %d and %d", n, got.State.Seq, got.Torn, lines, len(torn))
		}
		if got := goesOn(t, s, "b", want); got != lines {
			t.Fatalf("cut at %d: %d events, want %d", n, got, lines)
		}
		side, err := os.ReadFile(filepath.Join(s.Dir(), "b.torn-1"))
		if len(torn) > 0 && !bytes.Equal(side, torn) || len(torn) == 0 && !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("cut at %d: kept aside %q (%v), want %q", n, side, err, torn)
		}
		check(t, s.Delete(t.Context(), "b"))
		if left, _ := filepath.Glob(filepath.Join(s.Dir(), "b*")); len(left) > 0 {
			t.Fatalf("cut at %d: Delete left %v", n, left)
		}
	}
}

// workload drives a log as the loop does and returns what it appended and how
// many events a Sync or Close acknowledged. It goes on after errors, to see that
// they stick.
func workload(t *testing.T, s *jsonl.Store) (events []session.Event, acked int) {
	t.Helper()
	made, err := s.Create(t.Context(), header("a"))
	if err != nil {
		return nil, -1
	}
	l := made
	for n := 1; n <= 4; n++ {
		data := turn(n, strings.Repeat("prompt ", 1+n*n*n*200))
		var stuck error
		for i, d := range data {
			evs, err := l.Append(d)
			if stuck != nil && !errors.Is(err, stuck) {
				t.Fatalf("after %v Append says %v", stuck, err)
			}
			events = append(events, evs...)
			if err == nil && i == 3 {
				err = l.Flush()
			}
			if err == nil && i%3 == 1 {
				if err = l.Sync(); err == nil {
					acked = len(events)
				}
			}
			if err != nil {
				stuck = err
			}
		}
		if n%2 == 1 && stuck == nil {
			continue
		}
		err := l.Close()
		if stuck != nil {
			if !errors.Is(err, errFault) {
				t.Fatalf("Close of a failed log: %v", err)
			}
			return events, acked
		}
		if err != nil {
			return events, acked
		}
		acked = len(events)
		if l, _, err = s.Open(t.Context(), "a", nil); err != nil {
			return events, acked
		}
	}
	check(t, l.Close())
	return events, acked
}

// TestFaults fails every write, sync, create, truncate and directory sync in
// turn, writes whole or half: the error sticks, and nothing acknowledged is lost.
func TestFaults(t *testing.T) {
	count := newFaultFS()
	workload(t, openStore(t, t.TempDir(), count))
	if count.ops < 20 {
		t.Fatalf("only %d operations: %v", count.ops, count.trace)
	}
	for n := 1; n <= count.ops; n++ {
		for _, short := range []bool{false, true} {
			f := newFaultFS()
			f.failAt, f.short = n, short
			dir := t.TempDir()
			events, acked := workload(t, openStore(t, dir, f))
			s := openStore(t, dir, newFaultFS())
			if acked < 0 {
				if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
					t.Fatalf("fault at %q: a failed Create left %v", f.trace[n-1], left)
				}
				continue
			}
			if got := goesOn(t, s, "a", events); got < acked {
				t.Fatalf("fault at %q (short %v): %d events of %d acknowledged", f.trace[n-1], short, got, acked)
			}
		}
	}
}

// TestFaultsInRecovery fails every operation of an Open that cuts a tail and
// repairs a turn: the next Open does it again, and nothing is lost.
func TestFaultsInRecovery(t *testing.T) {
	for n := 1; ; n++ {
		s := newStore(t)
		l := create(t, s, "a")
		want := appendAll(t, l, turn(1, "x")[:4]...)
		check(t, l.Close())
		whole, err := os.ReadFile(path(s, "a"))
		check(t, err)
		check(t, os.WriteFile(path(s, "a"), append(whole, `{"seq":5,"ts"`...), 0o600))
		f := newFaultFS()
		f.failAt, f.short = n, n%2 == 0
		got, _, err := openStore(t, s.Dir(), f).Open(t.Context(), "a", nil)
		if err == nil {
			check(t, got.Close())
			want := "create a.torn-1, write a.torn-1, sync a.torn-1, syncdir sessions, truncate a.jsonl, sync a.jsonl, write a.jsonl, sync a.jsonl"
			if trace := strings.Join(f.trace, ", "); trace != want {
				t.Errorf("operations of a recovery:\n%s\nwant\n%s", trace, want)
			}
			return
		}
		if !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		if kept := goesOn(t, s, "a", want); kept != 4 {
			t.Fatalf("fault at %s: %d events", f.trace[n-1], kept)
		}
	}
}

// TestPowerCut stops the machine at every operation: what survives is what a
// directory and its files hold durably, and a random part of the rest.
func TestPowerCut(t *testing.T) {
	count := newFaultFS()
	workload(t, openStore(t, t.TempDir(), count))
	for n := 1; n <= count.ops; n++ {
		for seed := range uint64(8) {
			f := newFaultFS()
			f.failAt, f.dead, f.short = n, true, seed%2 == 0
			dir := t.TempDir()
			events, acked := workload(t, openStore(t, dir, f))
			left := openStore(t, f.crash(t, dir, rand.New(rand.NewPCG(seed, uint64(n)))), newFaultFS())
			if acked < 0 {
				// Create never returned: no log, or one that List shows as damaged, or
				// an empty good one.
				if _, err := left.List(t.Context()); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if got := goesOn(t, left, "a", events); got < acked {
				t.Fatalf("power cut at %s, seed %d: %d events of %d acknowledged", f.trace[n-1], seed, got, acked)
			}
		}
	}
}

// TestOrderOfEffects pins what reaches the file system, in which order: that is
// where durability is won or lost.
func TestOrderOfEffects(t *testing.T) {
	f := newFaultFS()
	s := openStore(t, filepath.Join(t.TempDir(), "sessions"), f)
	step := func(name, want string) {
		t.Helper()
		if got := strings.Join(f.trace, ", "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		f.trace = nil
	}
	l := create(t, s, "a")
	step("Create", "create a.jsonl, write a.jsonl, sync a.jsonl, syncdir sessions")
	appendAll(t, l, turn(1, "x")...)
	step("Append", "")
	check(t, l.Flush())
	step("Flush", "write a.jsonl")
	check(t, l.Sync())
	step("Sync after Flush", "sync a.jsonl")
	check(t, l.Sync())
	step("Sync of nothing", "")
	appendAll(t, l, turn(2, strings.Repeat("x", 100<<10))...)
	step("a large Append", "write a.jsonl")
	appendAll(t, l, turn(3, "x")...)
	check(t, l.Close())
	step("Close", "write a.jsonl, sync a.jsonl")
	l, _, _ = load(t, s, "a")
	check(t, l.Close())
	step("Open and Close of a whole log", "")
	check(t, s.Delete(t.Context(), "a"))
	step("Delete", "remove a.jsonl, syncdir sessions")
}

// FuzzOpen: no file makes Open panic; a file that opens goes on; a file that
// does not is left as it is.
func FuzzOpen(f *testing.F) {
	s := newStore(f)
	write(f, s, "a", 1)
	whole, err := os.ReadFile(path(s, "a"))
	check(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)-20])
	f.Add(append(append([]byte{}, whole...), "\x00\x00\x00\n"...))
	f.Add(bytes.Replace(whole, []byte(`"seq":3`), []byte(`"seq":4`), 1))
	f.Add(bytes.Replace(whole, []byte("\n{"), []byte("{"), 3))
	f.Add([]byte("\n\n\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, in []byte) {
		s := openStore(t, t.TempDir(), newFaultFS())
		check(t, os.WriteFile(path(s, "a"), in, 0o600))
		infos, err := s.List(t.Context())
		if err != nil || len(infos) != 1 {
			t.Fatalf("List: %v, %v", infos, err)
		}
		l, _, err := s.Open(t.Context(), "a", nil)
		if err != nil {
			if !errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrVersion) {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(path(s, "a")); err != nil || !bytes.Equal(now, in) {
				t.Fatalf("refused, and changed: %v", err)
			}
			return
		}
		check(t, l.Close())
		if infos[0].Err != nil {
			t.Fatalf("opens, and is listed with %v", infos[0].Err)
		}
		l, st, got := load(t, s, "a")
		check(t, l.Close())
		infos = must[[]session.Info](t)(s.List(t.Context()))
		if infos[0].Title != st.Title && !strings.Contains(string(in), "session/") {
			t.Fatalf("listed as %q, titled %q", infos[0].Title, st.Title)
		}
		goesOn(t, s, "a", got)
	})
}

// TestLineOf20MB: no line is too long to be read back (A4).
func TestLineOf20MB(t *testing.T) {
	s := newStore(t)
	l := create(t, s, "a")
	big := strings.Repeat("0123456789abcdef", 20<<20/16)
	want := appendAll(t, l, &session.SessionTitle{Title: "t"}, &session.UserMessage{Content: []session.Block{{Type: session.BlockImage, Data: big, MimeType: "image/png"}}, Source: session.Source{Kind: "user"}})
	check(t, l.Close())
	l, _, got := load(t, s, "a")
	check(t, l.Close())
	if !reflect.DeepEqual(want, got) {
		t.Error("the 20 MB prompt did not come back")
	}
	infos := must[[]session.Info](t)(s.List(t.Context()))
	if infos[0].Err != nil || infos[0].Title != "t" || !infos[0].UpdatedAt.Equal(want[1].Time) {
		t.Errorf("List: %+v", infos[0])
	}
	// Cut inside it: 20 MB of torn tail.
	check(t, os.Truncate(path(s, "a"), 19<<20))
	if n := goesOn(t, s, "a", want); n != 1 {
		t.Errorf("%d events after the cut, want 1", n)
	}
}
