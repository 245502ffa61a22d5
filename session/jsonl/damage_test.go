package jsonl_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// damage rewrites a log's file.
func damage(t *testing.T, s *jsonl.Store, id string, f func([]byte) []byte) []byte {
	t.Helper()
	b, err := os.ReadFile(path(s, id))
	check(t, err)
	b = f(b)
	check(t, os.WriteFile(path(s, id), b, 0o600))
	return b
}

func replace(old, by string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(by), 1) }
}

// TestDamage: every kind of damage has its error, which says where, and leaves
// the file alone. What is listed is listed with it.
func TestDamage(t *testing.T) {
	lines := func(b []byte) [][]byte { return bytes.SplitAfter(b, []byte("\n")) }
	for name, tc := range map[string]struct {
		do     func([]byte) []byte
		want   error
		says   string
		listed error
	}{
		"empty":           {func([]byte) []byte { return nil }, session.ErrCorrupt, "the file is empty", session.ErrCorrupt},
		"half a header":   {func(b []byte) []byte { return b[:20] }, session.ErrCorrupt, "ends inside its header", session.ErrCorrupt},
		"no header":       {func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }, session.ErrCorrupt, "line 1", session.ErrCorrupt},
		"garbage":         {func(b []byte) []byte { return []byte("\x00\x01garbage\n") }, session.ErrCorrupt, "line 1", session.ErrCorrupt},
		"another session": {replace(`"id":"a"`, `"id":"b"`), session.ErrCorrupt, `session "b"`, session.ErrCorrupt},
		"future version":  {replace(`"version":1`, `"version":2`), session.ErrVersion, "newer acp-agent", session.ErrVersion},
		"future version, future header": {
			func(b []byte) []byte {
				return append([]byte(`{"type":"session","version":7,"id":{"x":1},"createdAt":5}`+"\n\x00"), b...)
			},
			session.ErrVersion, "version 7", session.ErrVersion,
		},
		"a bad line amid good ones": {replace(`{"seq":3,`, `{"seq":3`), session.ErrCorrupt, "line 4 at byte ", nil},
		"a bad last but one":        {replace(`{"seq":6,`, `{{seq":6,`), session.ErrCorrupt, "line 7 at byte ", nil},
		"two bad lines at the end":  {func(b []byte) []byte { return append(b, "{\n{\n"...) }, session.ErrCorrupt, "line 9 at byte ", session.ErrCorrupt},
		"a gap":                     {func(b []byte) []byte { return bytes.Replace(b, lines(b)[3], nil, 1) }, session.ErrCorrupt, "event 4 follows event 2", nil},
		"two writers":               {func(b []byte) []byte { return append(b, lines(b)[7]...) }, session.ErrCorrupt, "line 9 at byte", nil},
		"a turn that is not open":   {replace(`"type":"turn/start","data":{"turn":1}`, `"type":"mode/set","data":{"mode":"x"}`), session.ErrCorrupt, "outside a turn", nil},
		"a block nobody knows":      {replace(`"content":[{"type":"text"`, `"content":[{"type":"hologram"`), session.ErrCorrupt, "hologram", nil},
		"a last line nobody knows": {
			func(b []byte) []byte {
				return append(b, `{"seq":8,"ts":"2026-01-02T03:04:05Z","type":"user/message","data":{"content":[{"type":"hologram"}],"source":{"kind":"user"}}}`+"\n"...)
			},
			session.ErrCorrupt, "hologram", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, t.TempDir(), newFaultFS())
			write(t, s, "a", 1)
			left := damage(t, s, "a", tc.do)
			for what, open := range map[string]func() error{
				"Open":     func() error { _, _, err := s.Open(t.Context(), "a", nil); return err },
				"Read":     func() error { _, err := s.Read(t.Context(), "a", nil); return err },
				"ReadFile": func() error { _, err := jsonl.ReadFile(t.Context(), path(s, "a"), nil); return err },
			} {
				err := open()
				if what != "Open" && name == "another session" {
					continue // under another name it is a good log
				}
				if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path(s, "a")) {
					t.Errorf("%s = %v, want %v with %q and the file", what, err, tc.want, tc.says)
				}
			}
			infos := must[[]session.Info](t)(s.List(t.Context()))
			if len(infos) != 1 || !errors.Is(infos[0].Err, tc.listed) || infos[0].ID != "a" {
				t.Errorf("List: %+v, want %v", infos, tc.listed)
			}
			if now, err := os.ReadFile(path(s, "a")); err != nil || !bytes.Equal(now, left) {
				t.Errorf("the file was changed (%v)", err)
			}
			if found, _ := filepath.Glob(filepath.Join(s.Dir(), "*")); len(found) != 1 {
				t.Errorf("files were made: %v", found)
			}
			check(t, s.Delete(t.Context(), "a")) // and so no lock was kept
		})
	}
}

// TestTwoWritersAreNamed: the historical fault (N3) is told apart from others.
func TestTwoWritersAreNamed(t *testing.T) {
	s := openStore(t, t.TempDir(), newFaultFS())
	write(t, s, "a", 1)
	damage(t, s, "a", func(b []byte) []byte {
		return append(b, `{"seq":7,"ts":"2026-01-02T03:04:05Z","type":"mode/set","data":{"mode":"x","source":{"kind":"agent"}}}`+"\n"...)
	})
	_, _, err := s.Open(t.Context(), "a", nil)
	if !errors.Is(err, session.ErrCorrupt) || !strings.Contains(err.Error(), "two processes wrote this log") {
		t.Error(err)
	}
}

// TestTornPage: a last line with its LF that is no JSON is torn as well.
func TestTornPage(t *testing.T) {
	for _, tail := range []string{"{\"seq\":8,\"ts\x00\x00\x00\x00\n", "\n", "\x00\x00\x00"} {
		s := openStore(t, t.TempDir(), newFaultFS())
		want := write(t, s, "a", 1)
		damage(t, s, "a", func(b []byte) []byte { return append(b, tail...) })
		l, st, got := load(t, s, "a")
		check(t, l.Close())
		note, ok := got[len(got)-1].Data.(*session.Notice)
		if !ok || note.Severity != "warning" || !strings.Contains(note.Text, fmt.Sprintf("%d bytes", len(tail))) || !strings.Contains(note.Text, "a.torn-1") {
			t.Errorf("%q: no notice of it: %+v", tail, got[len(got)-1].Data)
		}
		if d := cmp.Diff(want, got[:7]); d != "" || st.Seq != 8 {
			t.Errorf("%q: seq %d\n%s", tail, st.Seq, d)
		}
		if kept, err := os.ReadFile(filepath.Join(s.Dir(), "a.torn-1")); err != nil || string(kept) != tail {
			t.Errorf("%q: kept %q, %v", tail, kept, err)
		}
		// The next one does not take its place.
		damage(t, s, "a", func(b []byte) []byte { return append(b, "second"...) })
		l, _, _ = load(t, s, "a")
		check(t, l.Close())
		if kept, err := os.ReadFile(filepath.Join(s.Dir(), "a.torn-2")); err != nil || string(kept) != "second" {
			t.Errorf("%q: kept %q, %v", tail, kept, err)
		}
		if fi, err := os.Stat(filepath.Join(s.Dir(), "a.torn-2")); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", fi.Mode(), err)
		}
	}
}

// TestList: three damaged logs of ten are listed with their errors, the others
// as they are, last active first (O4).
func TestList(t *testing.T) {
	s := openStore(t, t.TempDir(), newFaultFS())
	for i := range 10 {
		write(t, s, fmt.Sprintf("s%d", i), 1+i%3)
	}
	check(t, os.WriteFile(path(s, "s1"), nil, 0o600))
	damage(t, s, "s4", replace(`"version":1`, `"version":9`))
	damage(t, s, "s7", func(b []byte) []byte { return b[:10] })
	for _, name := range []string{"notes.txt", "s0.torn-1", ".hidden.jsonl", "a b.jsonl"} {
		check(t, os.WriteFile(filepath.Join(s.Dir(), name), []byte("x"), 0o600))
	}
	check(t, os.Mkdir(path(s, "dir"), 0o700))

	infos := must[[]session.Info](t)(s.List(t.Context()))
	if len(infos) != 10 {
		t.Fatalf("%d sessions", len(infos))
	}
	var good []string
	for _, in := range infos {
		bad := in.ID == "s1" || in.ID == "s4" || in.ID == "s7"
		if bad != (in.Err != nil) {
			t.Errorf("%s: %v", in.ID, in.Err)
		}
		if bad {
			continue
		}
		good = append(good, in.ID)
		got := must[*jsonl.Reading](t)(s.Read(t.Context(), in.ID, nil))
		if in.Title != got.State.Title || !in.UpdatedAt.Equal(got.State.Updated) || !cmp.Equal(in.Header, got.State.Header) {
			t.Errorf("%s: listed %+v, read %+v", in.ID, in, got.State)
		}
	}
	if want := []string{"s9", "s8", "s6", "s5", "s3", "s2", "s0"}; !cmp.Equal(want, good) {
		t.Errorf("order %v, want %v", good, want)
	}

	// A change shows, also where the first list is remembered.
	l, _, _ := load(t, s, "s0")
	appendAll(t, l, &session.SessionTitle{Title: "renamed"})
	check(t, l.Close())
	check(t, s.Delete(t.Context(), "s9"))
	check(t, s.Delete(t.Context(), "s7"))
	infos = must[[]session.Info](t)(s.List(t.Context()))
	if len(infos) != 8 {
		t.Errorf("%d sessions after two deletes", len(infos))
	}
	for _, in := range infos {
		if in.ID == "s0" && in.Title != "renamed" {
			t.Errorf("s0 is listed as %q", in.Title)
		}
		if in.ID == "s9" || in.ID == "s7" {
			t.Errorf("%s was deleted", in.ID)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), "s0.torn-1")); err != nil {
		t.Error(err)
	}
	check(t, s.Delete(t.Context(), "s0"))
	if _, err := os.Stat(filepath.Join(s.Dir(), "s0.torn-1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the side file of s0: %v", err)
	}
}

// TestListFindsTitles: the last title wins, wherever it stands, and nothing that
// only looks like one counts.
func TestListFindsTitles(t *testing.T) {
	title := func(s string) session.Data { return &session.SessionTitle{Title: s} }
	fake := &session.ContextMessage{Content: text(`,"type":"session/title","data":{"title":"said"}}`), Meta: []byte(`{"seq":9,"ts":"x","type":"session/title","data":{"title":"fake"}}`)}
	fill := func(n int) session.Data { return &session.Notice{Text: strings.Repeat("x", n)} }
	for i, tc := range []struct {
		data []session.Data
		want string
	}{
		{nil, ""},
		{[]session.Data{fake}, ""},
		{[]session.Data{title("one")}, "one"},
		{[]session.Data{title("one"), fake, title("two <&> \u2028"), fake}, "two <&> \u2028"},
		{[]session.Data{title("one"), fill(300 << 10), fake, fill(10)}, "one"},
		{[]session.Data{fill(1 << 20), title("one"), fill(1 << 20), title(strings.Repeat("long", 5000)), fill(1 << 20)}, strings.Repeat("long", 5000)},
		{[]session.Data{title("one"), title("")}, ""},
	} {
		s := openStore(t, t.TempDir(), newFaultFS())
		l := create(t, s, "a")
		appendAll(t, l, tc.data...)
		check(t, l.Close())
		infos := must[[]session.Info](t)(s.List(t.Context()))
		if infos[0].Err != nil || infos[0].Title != tc.want {
			t.Errorf("case %d: %.50q, %v; want %.50q", i, infos[0].Title, infos[0].Err, tc.want)
		}
	}
	// At every place relative to the window's border.
	for pad := 128<<10 - 200; pad < 128<<10; pad++ {
		s := openStore(t, t.TempDir(), newFaultFS())
		l := create(t, s, "a")
		appendAll(t, l, title("found"), fill(pad))
		check(t, l.Close())
		if infos := must[[]session.Info](t)(s.List(t.Context())); infos[0].Title != "found" {
			t.Fatalf("title lost before %d bytes", pad)
		}
	}
}

// TestListFindsDirectories: a session is listed where it works now, whatever
// follows, and nothing that only looks like it counts.
func TestListFindsDirectories(t *testing.T) {
	set := func(id, v string) session.Data { return &session.ConfigSet{ID: id, Value: v} }
	start := func(n int, cwd string) session.Data { return &session.TurnStart{Turn: n, Cwd: cwd} }
	end := func(n int) session.Data { return &session.TurnEnd{Turn: n} }
	fill := func(n int) session.Data { return &session.Notice{Text: strings.Repeat("x", n)} }
	fake := &session.ContextMessage{Content: text(`,"type":"config/set","data":{"id":"cwd","value":"/said"}}`), Meta: []byte(`{"seq":9,"ts":"x","type":"turn/start","data":{"turn":3,"cwd":"/fake"}}`)}
	for i, tc := range []struct {
		data []session.Data
		want string
	}{
		{nil, "/w"},
		{[]session.Data{fake}, "/w"},
		{[]session.Data{start(1, ""), end(1), set("model", "m")}, "/w"},
		{[]session.Data{start(1, ""), end(1), set("cwd", "/b"), set("model", "m"), fake}, "/b"},
		{[]session.Data{set("cwd", "/b"), start(1, "/b"), fill(1 << 20), end(1)}, "/b"},
		{[]session.Data{set("cwd", "/b"), start(1, "/b"), end(1), set("cwd", "/w"), start(2, ""), fill(300 << 10), end(2)}, "/w"},
		{[]session.Data{set("cwd", "/b"), start(1, "/b"), end(1), set("cwd", "/w")}, "/w"},
		// Written before a turn said where it works.
		{[]session.Data{set("cwd", "/b")}, "/b"},
	} {
		s := openStore(t, t.TempDir(), newFaultFS())
		l := create(t, s, "a")
		appendAll(t, l, tc.data...)
		check(t, l.Close())
		infos := must[[]session.Info](t)(s.List(t.Context()))
		if infos[0].Err != nil || infos[0].Dir != tc.want || infos[0].Cwd != "/w" {
			t.Errorf("case %d: %q, %v; want %q", i, infos[0].Dir, infos[0].Err, tc.want)
		}
	}
	for pad := 128<<10 - 250; pad < 128<<10; pad++ {
		s := openStore(t, t.TempDir(), newFaultFS())
		l := create(t, s, "a")
		appendAll(t, l, start(1, "/found"), fill(pad))
		check(t, l.Close())
		if infos := must[[]session.Info](t)(s.List(t.Context())); infos[0].Dir != "/found" {
			t.Fatalf("directory lost before %d bytes", pad)
		}
	}
}

// TestIdleLogsAreSmall: a log that nothing waits in holds no buffer.
func TestIdleLogsAreSmall(t *testing.T) {
	disk := newFaultFS()
	s := openStore(t, t.TempDir(), disk)
	const n = 200
	logs := make([]session.Log, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range logs {
		logs[i] = create(t, s, fmt.Sprintf("s%d", i))
		appendAll(t, logs[i], turn(1, strings.Repeat("x", 20<<10))...)
		check(t, logs[i].Sync())
		clear(disk.durable)
	}
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n; each > 4<<10 {
		t.Errorf("an idle log holds %d bytes", each)
	}
	for _, l := range logs {
		check(t, l.Close())
	}
}
