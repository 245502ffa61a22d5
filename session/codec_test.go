package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

func encode(t testing.TB, ev session.Event) []byte {
	t.Helper()
	line, err := session.AppendEvent(nil, &ev)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Fatalf("not one line: %q", line)
	}
	return line
}

func decode(t testing.TB, line []byte) session.Event {
	t.Helper()
	ev, err := session.DecodeEvent(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	return ev
}

// generic re-encodes a line so that the fast decoder does not know its form.
func generic(t testing.TB, line []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, line, "", " "); err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	return buf.Bytes()
}

func TestEveryTypeComesBack(t *testing.T) {
	seen := map[session.Type]bool{}
	for i, d := range allData() {
		seen[d.EventType()] = true
		ev := session.Event{Seq: uint64(i + 1), Time: t0, Data: d}
		line := encode(t, ev)
		if diff := cmp.Diff(ev, decode(t, line)); diff != "" {
			t.Errorf("%s (-written +read):\n%s\n%s", d.EventType(), diff, line)
		}
		if u, ok := d.(*session.Unknown); ok {
			// Kept as it was, blanks and all; only its value can be compared.
			got := decode(t, generic(t, line)).Data.(*session.Unknown)
			if !bytes.Equal(encode(t, session.Event{Seq: ev.Seq, Time: t0, Data: got}), line) {
				t.Errorf("unknown event: %s and %s", u.Raw, got.Raw)
			}
			continue
		}
		again := encode(t, decode(t, generic(t, line)))
		if !bytes.Equal(again, line) {
			t.Errorf("%s, read from another form and written again:\n%s\n%s", d.EventType(), line, again)
		}
	}
	for _, typ := range session.Types {
		if session.New(typ) == nil || session.New(typ).EventType() != typ {
			t.Errorf("New(%s) = %v", typ, session.New(typ))
		}
		if !seen[typ] {
			t.Errorf("no sample of %s", typ)
		}
	}
}

func TestHeader(t *testing.T) {
	h := header()
	h.AdditionalDirectories, h.Parent, h.Agent = []string{"/a <b>"}, "p", "acp-agent 1"
	line, err := session.AppendHeader(nil, &h)
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.DecodeHeader(line)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&h, got); d != "" {
		t.Error(d)
	}
	for in, want := range map[string]error{
		``: session.ErrCorrupt, `{`: session.ErrCorrupt, `{}`: session.ErrCorrupt, `[]`: session.ErrCorrupt, `{"type":"turn/start"}`: session.ErrCorrupt,
		`{"type":"session"}`: session.ErrVersion, `{"type":"session","version":0}`: session.ErrVersion, `{"type":"session","version":2}`: session.ErrVersion,
		`{"type":"session","version":"x"}`: session.ErrVersion, `{"type":"session","version":null}`: session.ErrVersion,
		`{"type":"session","version":1,"createdAt":7}`: session.ErrCorrupt, `{"type":"session","version":99,"createdAt":7}`: session.ErrVersion,
	} {
		if _, err := session.DecodeHeader([]byte(in)); !errors.Is(err, want) {
			t.Errorf("DecodeHeader(%s) = %v, want %v", in, err, want)
		}
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	for _, in := range []string{
		``, `null`, `[]`, `{}`, `{"seq":1}`, `{"seq":0,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"turn/start"}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":01}}`,
		`{"seq":1,"ts":"yesterday","type":"turn/start","data":{"turn":1}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"user/message","data":{"content":[{"type":"hologram"}],"source":{"kind":"user"}}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05Z","type":"future","data":{]}`,
		`{"seq":-1,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}`,
		`{"seq":99999999999999999999,"ts":"2026-01-02T03:04:05Z","type":"turn/start","data":{"turn":1}}`,
	} {
		if ev, err := session.DecodeEvent([]byte(in)); !errors.Is(err, session.ErrCorrupt) {
			t.Errorf("DecodeEvent(%s) = %+v, %v, want ErrCorrupt", in, ev, err)
		}
	}
	ev := decode(t, []byte(`{"type":"turn/start","data":{"turn":1,"new":2},"ts":"2026-01-02T03:04:05+01:00","seq":1,"extra":{}}`))
	if ev.Data.(*session.TurnStart).Turn != 1 || !ev.Time.Equal(time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC)) {
		t.Errorf("unknown members: %+v", ev)
	}
}

// TestRawMembers: JSON that somebody else wrote can neither break the framing
// nor get into the log when it is none.
func TestRawMembers(t *testing.T) {
	pretty := json.RawMessage("{\n  \"a\": \"x\\ny\"\n}\n")
	for _, d := range []session.Data{
		&session.ContextMessage{Content: []session.Block{}, Meta: pretty},
		&session.ToolCall{Input: pretty},
		&session.Unknown{Kind: "future", Raw: pretty},
		session.NewToolResult(1, 1, "c", nil, false, &session.ToolMeta{Response: pretty}),
		&session.RequestHeader{Header: session.RequestHead{Tools: []session.ToolSchema{{Parameters: pretty}}}},
	} {
		if line := encode(t, session.Event{Seq: 1, Time: t0, Data: d}); !strings.Contains(string(line), `{"a":"x\ny"}`) {
			t.Errorf("%s: %s", d.EventType(), line)
		}
	}
	for _, d := range []session.Data{
		&session.ContextMessage{Meta: json.RawMessage(`{"a"`)},
		&session.Unknown{Kind: "future", Raw: json.RawMessage(`}`)},
		&session.ToolCall{Input: json.RawMessage(`x`)},
		&session.UserMessage{Content: []session.Block{{Type: "hologram"}}},
		&session.AssistantChunk{Chunk: session.Chunk{Type: "hologram"}},
	} {
		dst := []byte("before")
		got, err := session.AppendEvent(dst, &session.Event{Seq: 1, Time: t0, Data: d})
		if err == nil || string(got) != "before" {
			t.Errorf("%s: %q, %v", d.EventType(), got, err)
		}
	}
	if line := encode(t, session.Event{Seq: 1, Time: t0, Data: &session.Unknown{Kind: "future"}}); !json.Valid(line) {
		t.Errorf("unknown event without data: %s", line)
	}
}

func addLines(f *testing.F) {
	for i, d := range allData() {
		line := encode(f, session.Event{Seq: uint64(i + 1), Time: t0, Data: d})
		f.Add(line[:len(line)-1])
		f.Add(generic(f, line[:len(line)-1]))
	}
}

// FuzzDecodeEvent: no input panics; what decodes decodes to the same in the form
// that only encoding/json reads; what was written is read again as it was.
func FuzzDecodeEvent(f *testing.F) {
	addLines(f)
	f.Add([]byte(`{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"\ud83d\udc4d\ud83d \u00e9"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		ev, err := session.DecodeEvent(line)
		if err != nil {
			if !errors.Is(err, session.ErrCorrupt) {
				t.Fatalf("%v is not ErrCorrupt", err)
			}
			if json.Valid(line) {
				if ev, err := session.DecodeEvent(generic(t, line)); err == nil {
					t.Fatalf("fails in one form, in another: %+v", ev)
				}
			}
			return
		}
		other, err := session.DecodeEvent(generic(t, line))
		if err != nil {
			t.Fatalf("decodes in one form, in another: %v", err)
		}
		if u, ok := ev.Data.(*session.Unknown); ok && other.Data.(*session.Unknown).Kind == u.Kind {
			other = ev
		}
		a, aerr := session.AppendEvent(nil, &ev)
		b, berr := session.AppendEvent(nil, &other)
		if !bytes.Equal(a, b) || (aerr == nil) != (berr == nil) {
			t.Fatalf("two forms of one line:\n%s %v\n%s %v", a, aerr, b, berr)
		}
		if aerr != nil {
			return // an unknown chunk type is read and not written
		}
		again := decode(t, a)
		if c := encode(t, again); !bytes.Equal(a, c) {
			t.Fatalf("written:\n%s\nread and written:\n%s", a, c)
		}
	})
}

func FuzzDecodeHeader(f *testing.F) {
	f.Add([]byte(`{"type":"session","version":1,"id":"a","createdAt":"2026-01-02T03:04:05Z","cwd":"/w"}`))
	f.Add([]byte(`{"type":"session","version":3}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, err := session.DecodeHeader(line)
		if err != nil {
			if !errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		out, err := session.AppendHeader(nil, h)
		if err != nil {
			return // a year that RFC 3339 cannot write
		}
		if _, err := session.DecodeHeader(out); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

func FuzzBlock(f *testing.F) {
	for _, b := range allBlocks() {
		out, err := b.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var b, back session.Block
		if json.Unmarshal(in, &b) != nil {
			return
		}
		out, err := b.AppendJSON(nil)
		if err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatal(err)
		}
		if again, err := back.AppendJSON(nil); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s, then %s, %v", out, again, err)
		}
	})
}

func FuzzChunk(f *testing.F) {
	for _, c := range allChunks() {
		out, err := c.AppendJSON(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(out)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var c, back session.Chunk
		if json.Unmarshal(in, &c) != nil {
			return
		}
		var a session.Assembler
		a.Add(&c)
		for _, one := range c.Unpack() {
			a.Add(&one)
		}
		out, err := c.AppendJSON(nil)
		if err != nil {
			return
		}
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if again, err := back.AppendJSON(nil); err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s, then %s, %v", out, again, err)
		}
	})
}

// PeekType says of each line that this package writes what it is, from its front.
func TestPeekType(t *testing.T) {
	for i, d := range allData() {
		line, err := session.AppendEvent(nil, &session.Event{Seq: uint64(i + 1), Time: time.Unix(1, 0), Data: d})
		if err != nil {
			t.Fatal(err)
		}
		if got := session.PeekType(line[:min(len(line), session.PeekFront)]); string(got) != string(d.EventType()) {
			t.Errorf("%q of %.120s", got, line)
		}
	}
	for _, line := range []string{
		"", "{", `{"seq":`, `{"seq":1`, `{"seq":1,"ts":"`, `{"seq":,"ts":"x","type":"notice"`, `{"seq":1,"ts":"x","type":"notice`,
		`{"seq":1, "ts":"x","type":"notice"}`, `{"type":"session","version":1}`, `{"seq":1,"ts":"x","data":{"type":"notice"}}`,
	} {
		if got := session.PeekType([]byte(line)); got != nil {
			t.Errorf("%q of %s", got, line)
		}
	}
}
