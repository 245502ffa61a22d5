package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// FuzzDecoder holds that any body ends in exactly one finish or error, that
// blocks open before they are spoken of, and that the network's cuts do not
// matter.
func FuzzDecoder(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.body))
	}
	f.Add([]byte(fixture(f)))
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

// FuzzRequest holds that any text makes a request that the API's rules accept,
// with the text unchanged in it.
func FuzzRequest(f *testing.F) {
	f.Add("hi", "reasoning", "{}", "id:1")
	f.Add(" \u2028", "", `{"a":`, "")
	c, err := New(Config{APIKey: "k"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, thinking, args, id string) {
		req := &model.Request{
			Head: session.RequestHead{Config: session.Params{Model: "claude-opus-5-5"}},
			Messages: []session.Message{
				user(text), assistant("anthropic", "claude-opus-5-5", thought(thinking, "s"), session.Text(text), call(id, id, args)),
				toolResult(id, session.Text(text)), user(text, "x"),
			},
		}
		body, s := encode(t, c, req)
		checkRules(t, s)
		if !blank(text) && strings.Count(body, string(session.AppendString(nil, text))) < 4 {
			t.Fatalf("%q is not in %s", text, body)
		}
	})
}

const benchDeltas = 2000

// benchBody is a long answer as the API sends it.
func benchBody() []byte {
	var out bytes.Buffer
	line := func(name, data string) { fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", name, data) }
	line("message_start", msgStart)
	line("content_block_start", textStart)
	for range benchDeltas {
		line("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the\n"}      }`)
	}
	line("content_block_stop", blockStop)
	line("message_delta", stop("end_turn"))
	line("message_stop", msgStop)
	return out.Bytes()
}

// BenchmarkDecode is this package's decoding, SSE and JSON, up to the chunks.
func BenchmarkDecode(b *testing.B) {
	body := benchBody()
	e := &wire.Endpoint{Name: "bench"}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, err := range e.Decode(bytes.NewReader(body), func(y *wire.Yield) wire.Answer { return newAnswer(y, e, &model.Request{}) }) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchDeltas), "ns/delta")
	if n < b.N*benchDeltas {
		b.Fatal("chunks are missing")
	}
}

// BenchmarkDecodeSDK is the SDK's decoding of the same bytes, for comparison.
func BenchmarkDecodeSDK(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		res := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body))}
		s := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(res), nil)
		for s.Next() {
			n += len(s.Current().Type)
		}
		if err := s.Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchDeltas), "ns/delta")
}

// BenchmarkEncode writes the request of a long session: 2 MB in 400 messages.
func BenchmarkEncode(b *testing.B) {
	c := client(b, Config{APIKey: "k"})
	req := &model.Request{Head: session.RequestHead{Config: session.Params{Model: "claude-sonnet-5-5"}, System: strings.Repeat("rule\n", 1000)}}
	args, _ := json.Marshal(map[string]string{"file_path": "/w/a.go"})
	for i := range 200 {
		id := fmt.Sprint("call", i)
		req.Messages = append(req.Messages,
			assistant("anthropic", "claude-sonnet-5-5", thought(strings.Repeat("I think. ", 50), "sig"), call(id, "read", string(args))),
			toolResult(id, session.Text(strings.Repeat("12: func main() {\t// \"x\"\n", 400))))
	}
	b.ReportAllocs()
	for b.Loop() {
		body, _, err := c.encode(req, nil, false)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
