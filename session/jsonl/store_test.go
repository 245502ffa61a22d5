package jsonl_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

// clock counts milliseconds from t0, one a call.
func clock() func() time.Time {
	n := 0
	return func() time.Time { n++; return t0.Add(time.Duration(n) * time.Millisecond) }
}

func newStore(t testing.TB) *jsonl.Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "sessions"), nil)
}

func openStore(t testing.TB, dir string, fs jsonl.FS) *jsonl.Store {
	t.Helper()
	s, err := jsonl.Open(dir, jsonl.Options{Now: clock(), FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func header(id string) session.Header {
	return session.Header{ID: id, Cwd: "/w", CreatedAt: t0, Agent: "acp-agent test"}
}

func text(s string) []session.Block { return []session.Block{session.Text(s)} }

// turn is a whole turn of seven events.
func turn(n int, said string) []session.Data {
	return []session.Data{
		&session.TurnStart{Turn: n},
		&session.UserMessage{Content: text(said), Source: session.Source{Kind: session.SourceUser}},
		&session.StepStart{Turn: n, Step: 1},
		&session.AssistantMessage{
			Turn: n, Step: 1, Stop: session.FinishStop,
			Message: session.LoggedMessage{Role: session.RoleAssistant, Content: text("answer to " + said), Source: session.Source{Kind: session.SourceModel}},
		},
		&session.SessionTitle{Title: "title " + said, Source: session.Source{Kind: session.SourceAgent}},
		&session.StepEnd{Turn: n, Step: 1},
		&session.TurnEnd{Turn: n, Reason: session.EndReason{Kind: session.EndCompleted}},
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, s *jsonl.Store, id string) session.Log {
	t.Helper()
	return must[session.Log](t)(s.Create(t.Context(), header(id)))
}

func appendAll(t testing.TB, l session.Log, data ...session.Data) []session.Event {
	t.Helper()
	return must[[]session.Event](t)(l.Append(data...))
}

// write makes a closed log of whole turns and returns its events.
func write(t testing.TB, s *jsonl.Store, id string, turns int) []session.Event {
	t.Helper()
	l := create(t, s, id)
	var all []session.Event
	for n := 1; n <= turns; n++ {
		all = append(all, appendAll(t, l, turn(n, "prompt")...)...)
	}
	check(t, l.Close())
	return all
}

// load opens a log and returns the events it visited.
func load(t testing.TB, s *jsonl.Store, id string) (session.Log, *session.State, []session.Event) {
	t.Helper()
	var all []session.Event
	l, st, err := s.Open(t.Context(), id, func(ev session.Event) error {
		ev.Fresh = false // so that two openings compare
		all = append(all, ev)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, st, all
}

func path(s *jsonl.Store, id string) string { return filepath.Join(s.Dir(), id+".jsonl") }

func TestCreateAppendOpen(t *testing.T) {
	s := newStore(t)
	l := create(t, s, "a1")
	want := appendAll(t, l, turn(1, "one")...)
	check(t, l.Sync())
	check(t, l.Close())
	check(t, l.Close())
	if _, err := l.Append(&session.TurnStart{Turn: 2}); err == nil {
		t.Error("Append after Close: no error")
	}

	l, st, got := load(t, s, "a1")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events read back (-appended +read):\n%s", d)
	}
	if st.Seq != 7 || st.Title != "title one" || st.Header.Cwd != "/w" || st.Turn != nil {
		t.Errorf("state: seq %d, title %q, cwd %q, turn %v", st.Seq, st.Title, st.Header.Cwd, st.Turn)
	}
	next := appendAll(t, l, turn(2, "two")...)
	if next[0].Seq != 8 {
		t.Errorf("first seq after reopening is %d, want 8", next[0].Seq)
	}
	check(t, l.Close())
	got2, err := s.Read(t.Context(), "a1", nil)
	check(t, err)
	if got2.State.Seq != 14 || got2.Torn != 0 || got2.State.Turns != 2 {
		t.Errorf("read: %+v", got2)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no file modes on Windows")
	}
	s := newStore(t)
	write(t, s, "a", 1)
	for name, want := range map[string]os.FileMode{s.Dir(): 0o700, path(s, "a"): 0o600} {
		if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", name, fi.Mode().Perm(), err, want)
		}
	}
}

func TestIDs(t *testing.T) {
	s := newStore(t)
	outside := filepath.Join(filepath.Dir(s.Dir()), "x.jsonl")
	check(t, os.WriteFile(outside, []byte("{}\n"), 0o600))
	for _, id := range []string{
		"", ".", "..", "../x", "a/b", `a\b`, "a\x00b", "a b", "ä", "a:b", ".hidden", "-rf", "a.", "a.torn-1",
		"nul", "COM1.x", strings.Repeat("a", 201), "%2e%2e", "missing",
	} {
		if _, _, err := s.Open(t.Context(), id, nil); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Open(%q) = %v, want ErrNotFound", id, err)
		}
		if _, err := s.Read(t.Context(), id, nil); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Read(%q) = %v, want ErrNotFound", id, err)
		}
		if err := s.Delete(t.Context(), id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Delete(%q) = %v, want ErrNotFound", id, err)
		}
		if id == "missing" {
			continue
		}
		if l, err := s.Create(t.Context(), header(id)); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("Create(%q) = %v, %v, want ErrNotFound", id, l, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"0198c0de-1111-7abc-8def-000000000001", "A_b.c-d", "console"} {
		check(t, create(t, s, id).Close())
	}
}

func TestCreateTwice(t *testing.T) {
	s := newStore(t)
	write(t, s, "a", 1)
	if _, err := s.Create(t.Context(), header("a")); !errors.Is(err, os.ErrExist) {
		t.Errorf("second Create = %v, want ErrExist", err)
	}
	if got := must[*jsonl.Reading](t)(s.Read(t.Context(), "a", nil)); got.State.Seq != 7 {
		t.Errorf("the first log has %d events, want 7", got.State.Seq)
	}
}

func TestLockedInOneProcess(t *testing.T) {
	s := newStore(t)
	l := create(t, s, "a")
	other := openStore(t, s.Dir(), nil)
	if _, _, err := other.Open(t.Context(), "a", nil); !errors.Is(err, session.ErrLocked) {
		t.Errorf("Open of an open log = %v, want ErrLocked", err)
	}
	if err := s.Delete(t.Context(), "a"); !errors.Is(err, session.ErrLocked) {
		t.Errorf("Delete of an open log = %v, want ErrLocked", err)
	}
	appendAll(t, l, turn(1, "x")...)
	check(t, l.Flush())
	if got := must[*jsonl.Reading](t)(other.Read(t.Context(), "a", nil)); got.State.Seq != 7 {
		t.Errorf("Read beside a writer: seq %d, want 7", got.State.Seq)
	}
	check(t, l.Close())
	l, _, _ = load(t, other, "a")
	check(t, l.Close())
}

func TestCancelled(t *testing.T) {
	s := newStore(t)
	write(t, s, "a", 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v", err)
	}
	if _, _, err := s.Open(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v", err)
	}
	if _, err := s.Create(ctx, header("b")); !errors.Is(err, context.Canceled) {
		t.Errorf("Create = %v", err)
	}
	l, _, _ := load(t, s, "a") // the refused Open kept no lock
	check(t, l.Close())
}

// A store goes on when its directory is removed under it: there are no sessions
// then, and a new one can be made.
func TestDirectoryRemoved(t *testing.T) {
	s := newStore(t)
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.List(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("listed %v, %v", got, err)
	}
	log, err := s.Create(t.Context(), header("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if got, err := s.List(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("listed %v, %v", got, err)
	}
}

// Who visits a log that is opened is told what the opening itself has appended.
func TestVisitKnowsWhatIsFresh(t *testing.T) {
	s := newStore(t)
	n := len(write(t, s, "a", 1))
	f := must[*os.File](t)(os.OpenFile(path(s, "a"), os.O_APPEND|os.O_WRONLY, 0))
	must[int](t)(f.WriteString(`{"seq":99,"ts"`))
	check(t, f.Close())
	for _, want := range []int{1, 0} {
		seen, fresh := 0, 0
		l, _, err := s.Open(t.Context(), "a", func(ev session.Event) error {
			seen++
			if ev.Fresh {
				fresh++
			}
			return nil
		})
		check(t, err)
		check(t, l.Close())
		if seen != n+1 || fresh != want {
			t.Errorf("%d events, %d fresh", seen, fresh)
		}
	}
}
