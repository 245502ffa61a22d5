package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

const benchDeltas = 2000

// benchBody is a stream as DeepSeek sends it.
func benchBody() []byte {
	var out bytes.Buffer
	line := func(delta, finish string) {
		fmt.Fprintf(&out, "data: {\"id\":\"0b7c5f7e-3f6d-4b3e-9a53-2f3c1d1a9e55\",\"object\":\"chat.completion.chunk\",\"created\":1784522140,\"model\":\"deepseek-v4-flash\",\"system_fingerprint\":\"fp_3b8a2f0d1c_prod\",\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	line(`{"role":"assistant","content":null,"reasoning_content":""}`, "null")
	for i := range benchDeltas {
		if i < benchDeltas/2 {
			line(`{"content":null,"reasoning_content":" wants"}`, "null")
		} else {
			line(`{"content":" the\n","reasoning_content":null}`, "null")
		}
	}
	line(`{"content":"","reasoning_content":null}`, `"stop"`)
	out.WriteString("data: [DONE]\n\n")
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
		for _, err := range e.Decode(bytes.NewReader(body), func(y *wire.Yield) wire.Answer { return newTranslator(y, e) }) {
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
		s := ssestream.NewStream[sdk.ChatCompletionChunk](ssestream.NewDecoder(res), nil)
		for s.Next() {
			n += len(s.Current().Choices)
		}
		if err := s.Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchDeltas), "ns/delta")
	if n == 0 {
		b.Fatal("no chunks")
	}
}

// BenchmarkEncode writes the request of a long session: 2 MB in 400 messages.
func BenchmarkEncode(b *testing.B) {
	c, err := New(Config{Provider: "deepseek", APIKey: "k"})
	if err != nil {
		b.Fatal(err)
	}
	req := &model.Request{Head: session.RequestHead{Config: session.Params{Model: "deepseek-v4-flash"}, System: strings.Repeat("rule\n", 1000)}}
	args, _ := json.Marshal(map[string]string{"file_path": "/w/a.go"})
	for i := range 200 {
		id := fmt.Sprint("call", i)
		req.Messages = append(req.Messages,
			assistant("deepseek", reasoning(strings.Repeat("I think. ", 50)), call(id, "read", string(args))),
			toolResult(id, session.Text(strings.Repeat("12: func main() {\t// \"x\"\n", 400))))
	}
	b.ReportAllocs()
	for b.Loop() {
		body, err := c.encode(req)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}
