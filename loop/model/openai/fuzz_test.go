package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"acp-agent/session"
)

// FuzzScanner holds that the scanner reads what encoding/json reads.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"content":"x","b":[1,{"c":"}"}],"d":null}`, `{"content":"\ud83d\ude00\ud83d \u12"}`, ` { "content" : "a\"b" , "n" : -1.5e3 } `, `{"content":`, `[1]`, `"x"`, "{\"content\":\"\xff\"}", `{"con\u0074ent":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := scanner{b: data}
		got := map[string]string{}
		if s.enter('{') {
			for ok := s.first('}'); ok; ok = s.next('}') {
				key := string(s.key())
				if v, ok := s.str(); ok {
					got[key] = v
				} else {
					delete(got, key)
				}
			}
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // what json refuses may be read leniently, but must not hang
		}
		if s.bad {
			t.Fatalf("encoding/json reads %q, the scanner does not", data)
		}
		for k, raw := range want {
			var v string
			if raw[0] != '"' || json.Unmarshal(raw, &v) != nil {
				continue
			}
			if g, ok := got[k]; ok && g != v && !strings.ContainsRune(k, '\ufffd') {
				t.Fatalf("%q: key %q is %q, want %q", data, k, g, v)
			}
		}
	})
}

// FuzzDecoder holds that any body ends in exactly one finish or error, that
// blocks open before they are spoken of, and that the network's cuts do not
// matter.
func FuzzDecoder(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.body))
	}
	for name := range captures {
		f.Add([]byte(capture(f, name)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := decode(bytes.NewReader(body))
		open := map[int]session.BlockType{}
		finishes := 0
		for i, c := range r.chunks {
			switch c.Type {
			case session.ChunkBlockStart:
				if _, used := open[c.Index]; used {
					t.Fatalf("block %d opens twice", c.Index)
				}
				open[c.Index] = c.BlockType
			case session.ChunkText, session.ChunkReasoning, session.ChunkToolCall, session.ChunkBlockEnd:
				if _, ok := open[c.Index]; !ok {
					t.Fatalf("chunk %d speaks of block %d, which is not open", i, c.Index)
				}
			case session.ChunkFinish:
				finishes++
				if i != len(r.chunks)-1 {
					t.Fatal("the finish is not the last chunk")
				}
			}
		}
		if (finishes == 1) == (r.err != nil) || finishes > 1 {
			t.Fatalf("%d finishes and error %v", finishes, r.err)
		}
		if again := decode(iotest.OneByteReader(bytes.NewReader(body))); again.String() != r.String() {
			t.Fatalf("whole:\n%s\nbyte by byte:\n%s", r, again)
		}
	})
}

// FuzzSSE holds that events do not depend on where reads end.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata:b\rdata: c\n\n"), 3)
	f.Add([]byte(": x\nevent: e\ndata\n\ndata: y"), 1)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		if len(body) == 0 {
			return
		}
		cut = int(uint(cut) % uint(len(body)))
		whole := events(bytes.NewReader(body))
		parts := events(io.MultiReader(bytes.NewReader(body[:cut]), bytes.NewReader(body[cut:])))
		if strings.Join(whole, "\x00") != strings.Join(parts, "\x00") {
			t.Fatalf("%q cut at %d:\n%q\n%q", body, cut, whole, parts)
		}
	})
}

func events(r io.Reader) []string {
	var out []string
	s := newSSE(r)
	for {
		data, name, _, err := s.next()
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, name+"|"+string(data))
	}
}
