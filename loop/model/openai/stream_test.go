package openai

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// result is what a consumer gets of one stream.
type result struct {
	chunks []session.Chunk
	err    error
}

func collect(seq func(func(session.Chunk, error) bool)) result {
	var r result
	for c, err := range seq {
		if err != nil {
			r.err = err
			continue
		}
		r.chunks = append(r.chunks, c)
	}
	return r
}

func (r result) blocks() []session.Block {
	var a session.Assembler
	for i := range r.chunks {
		a.Add(&r.chunks[i])
	}
	return a.Blocks(true)
}

// String writes a result in one line a block, for comparing.
func (r result) String() string {
	var a session.Assembler
	var out strings.Builder
	for i := range r.chunks {
		a.Add(&r.chunks[i])
	}
	for _, b := range a.Blocks(true) {
		switch b.Type {
		case session.BlockToolCall:
			fmt.Fprintf(&out, "call %s %s %s\n", b.ID, b.Name, b.Arguments)
		default:
			fmt.Fprintf(&out, "%s %q\n", b.Type, b.Text)
		}
	}
	if u := a.Usage(); u != nil {
		fmt.Fprintf(&out, "usage in=%d out=%d read=%d write=%d reason=%d\n", u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens)
	}
	var e *model.Error
	switch {
	case errors.As(r.err, &e):
		fmt.Fprintf(&out, "error %s %d retryable=%v\n", e.Kind, e.Status, e.Retryable)
	case r.err != nil:
		fmt.Fprintf(&out, "error %v\n", r.err)
	default:
		fmt.Fprintf(&out, "finish %s\n", a.Finish())
	}
	return out.String()
}

// decode runs the decoder over a body, without HTTP.
func decode(r io.Reader) result {
	e := &wire.Endpoint{Name: "test", Host: "test"}
	return collect(e.Decode(r, func(y *wire.Yield) wire.Answer { return newTranslator(y, e) }))
}

// sse makes a stream of events; a finish of "" leaves the last event out.
func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		out.WriteString("data: " + e + "\n\n")
	}
	return out.String()
}

func deltaEvent(delta string) string {
	return `{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

func toolDelta(fields string) string { return deltaEvent(`{"tool_calls":[{` + fields + `}]}`) }

const done = "[DONE]"

// quirks are streams as servers send them, and what they mean. The sources are
// the earendil-works/pi#3636 to R14 and the faults 9.1 #9 and #12 of the reference.
var quirks = []struct {
	name, body, want string
}{
	{
		"plain", sse(deltaEvent(`{"role":"assistant","content":""}`), deltaEvent(`{"content":"Hel"}`), deltaEvent(`{"content":"lo"}`), finish("stop"), done),
		"text \"Hello\"\nfinish stop\n",
	},
	{
		"deepseek thinking", sse(deltaEvent(`{"role":"assistant","content":null,"reasoning_content":""}`), deltaEvent(`{"content":null,"reasoning_content":"Hm"}`),
			deltaEvent(`{"content":"A","reasoning_content":null}`), `{"choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":5},"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}`, done),
		"reasoning \"Hm\"\ntext \"A\"\nusage in=36 out=9 read=64 write=0 reason=5\nfinish stop\n",
	},
	{
		"reasoning stays empty", sse(deltaEvent(`{"content":null,"reasoning_content":""}`), toolDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), done),
		"reasoning \"\"\ncall a f {}\nfinish tool-calls\n",
	},
	{
		"reasoning empty and nothing else", sse(deltaEvent(`{"reasoning_content":""}`), finish("stop"), done),
		"reasoning \"\"\nerror empty_response 0 retryable=true\n",
	},
	{
		"reasoning null is absent", sse(deltaEvent(`{"content":"x","reasoning_content":null}`), finish("stop"), done),
		"text \"x\"\nfinish stop\n",
	},
	{
		"field named reasoning", sse(deltaEvent(`{"reasoning":"r1"}`), deltaEvent(`{"reasoning":"r2","reasoning_content":"r2"}`), deltaEvent(`{"content":"x"}`), finish("stop"), done),
		"reasoning \"r1r2\"\ntext \"x\"\nfinish stop\n",
	},
	{"reasoning alone is an answer", sse(deltaEvent(`{"reasoning_content":"r"}`), finish("stop"), done), "reasoning \"r\"\nfinish stop\n"},
	{
		"arguments in pieces", sse(toolDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}`), toolDelta(`"index":0,"function":{"arguments":"{\"x\""}`), toolDelta(`"index":0,"function":{"arguments":":1}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\nfinish tool-calls\n",
	},
	{
		"null id and name later", sse(toolDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}`), toolDelta(`"index":0,"id":null,"type":null,"function":{"name":null,"arguments":"{}"}`), deltaEvent(`{"role":null,"content":null,"tool_calls":null}`), finish("tool_calls"), done),
		"call a f {}\nfinish tool-calls\n",
	},
	{
		"empty id and name later", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), toolDelta(`"index":0,"id":"","function":{"name":"","arguments":"{}"}`), finish("tool_calls"), done),
		"call a f {}\nfinish tool-calls\n",
	},
	{
		"id and name on each delta", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":":1}"}`), toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\nfinish tool-calls\n",
	},
	{
		"two calls", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), toolDelta(`"index":1,"id":"b","function":{"name":"g","arguments":"{"}`), toolDelta(`"index":0,"function":{"arguments":":1}"}`), toolDelta(`"index":1,"function":{"arguments":"}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\ncall b g {}\nfinish tool-calls\n",
	},
	{
		"two calls in one delta", sse(deltaEvent(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}]}`), finish("tool_calls"), done),
		"call a f {}\ncall b f {}\nfinish tool-calls\n",
	},
	{
		"one index for two calls", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), toolDelta(`"index":0,"id":"b","function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), done),
		"call a f {}\ncall b f {}\nfinish tool-calls\n",
	},
	{
		"one index, interleaved", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), toolDelta(`"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}`), toolDelta(`"index":0,"id":"a","function":{"arguments":":1}"}`), toolDelta(`"index":0,"id":"b","function":{"arguments":":2}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\ncall b g {\"y\":2}\nfinish tool-calls\n",
	},
	{
		"one index, no ids", sse(toolDelta(`"index":0,"function":{"name":"f","arguments":"{\"x\":"}`), toolDelta(`"index":0,"function":{"arguments":"1}"}`), toolDelta(`"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}`), finish("tool_calls"), done),
		"call  f {\"x\":1}\ncall  f {\"x\":2}\nfinish tool-calls\n",
	},
	{
		"no index", sse(toolDelta(`"id":"a","function":{"name":"f","arguments":"{\"x\":"}`), toolDelta(`"function":{"arguments":"1}"}`), toolDelta(`"id":"b","function":{"name":"g","arguments":"{}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\ncall b g {}\nfinish tool-calls\n",
	},
	{
		"no index, no id", sse(toolDelta(`"function":{"name":"f","arguments":"{}"}`), finish("tool_calls"), done),
		"call  f {}\nfinish tool-calls\n",
	},
	{
		"index starts at 1", sse(toolDelta(`"index":1,"id":"a","function":{"name":"f","arguments":"{}"}`), toolDelta(`"index":2,"id":"b","function":{"name":"g","arguments":"{}"}`), finish("tool_calls"), done),
		"call a f {}\ncall b g {}\nfinish tool-calls\n",
	},
	{
		"id comes late", sse(toolDelta(`"index":0,"function":{"name":"f","arguments":""}`), toolDelta(`"index":0,"id":"a","function":{"arguments":"{}"}`), finish("tool_calls"), done),
		"call a f {}\nfinish tool-calls\n",
	},
	{
		"name grows", sse(toolDelta(`"index":0,"id":"a","function":{"name":"re"}`), toolDelta(`"index":0,"function":{"name":"read"}`), toolDelta(`"index":0,"function":{"arguments":"{}"}`), finish("tool_calls"), done),
		"call a read {}\nfinish tool-calls\n",
	},
	{
		"a fresh id on each delta", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), toolDelta(`"index":0,"id":"b","function":{"arguments":":1}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\nfinish tool-calls\n",
	},
	{
		"no arguments", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":""}`), finish("tool_calls"), done),
		"call a f \nfinish tool-calls\n",
	},
	{
		"arguments null", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":null}`), finish("tool_calls"), done),
		"call a f \nfinish tool-calls\n",
	},
	{
		"arguments as an object", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":{"x":[1,"}"]}}`), finish("tool_calls"), done),
		"call a f {\"x\":[1,\"}\"]}\nfinish tool-calls\n",
	},
	{
		"finish stop beside calls", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{}"}`), finish("stop"), done),
		"call a f {}\nfinish tool-calls\n",
	},
	{"finish tool_calls without calls", sse(deltaEvent(`{"content":"x"}`), finish("tool_calls"), done), "text \"x\"\nfinish stop\n"},
	{
		"function_call of old", sse(deltaEvent(`{"function_call":{"name":"f","arguments":"{\"x\""}}`), deltaEvent(`{"function_call":{"arguments":":1}"}}`), finish("function_call"), done),
		"call  f {\"x\":1}\nfinish tool-calls\n",
	},
	{"cut by length in text", sse(deltaEvent(`{"content":"x"}`), finish("length"), done), "text \"x\"\nfinish max-tokens\n"},
	{"cut by length in reasoning", sse(deltaEvent(`{"reasoning_content":"x"}`), finish("length"), done), "reasoning \"x\"\nfinish max-tokens\n"},
	{"cut by length in arguments", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}`), finish("length"), done), "call a f {\"x\nfinish max-tokens\n"},
	{"cut by length, nothing", sse(finish("length"), done), "finish max-tokens\n"},
	{"content filter", sse(deltaEvent(`{"content":"x"}`), finish("content_filter"), done), "text \"x\"\nfinish refusal\n"},
	{"refusal field", sse(deltaEvent(`{"refusal":"No."}`), finish("stop"), done), "text \"No.\"\nfinish refusal\n"},
	{"no capacity", sse(deltaEvent(`{"content":"x"}`), finish("insufficient_system_resource"), done), "text \"x\"\nerror overloaded 0 retryable=true\n"},
	{"unknown finish", sse(deltaEvent(`{"content":"x"}`), finish("moonshine"), done), "text \"x\"\nerror server 0 retryable=true\n"},
	{"empty", sse(deltaEvent(`{"role":"assistant","content":""}`), finish("stop"), done), "error empty_response 0 retryable=true\n"},
	{"empty with usage", sse(finish("stop"), `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}`, done), "usage in=7 out=0 read=0 write=0 reason=0\nerror empty_response 0 retryable=true\n"},
	{
		"usage chunk without choices", sse(deltaEvent(`{"content":"x"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}`, done),
		"text \"x\"\nusage in=10 out=2 read=0 write=0 reason=0\nfinish stop\n",
	},
	{
		"usage in each chunk, last null", sse(`{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `{"choices":[],"usage":null}`, done),
		"text \"x\"\nusage in=10 out=2 read=0 write=0 reason=0\nfinish stop\n",
	},
	{
		"usage inside the choice", sse(deltaEvent(`{"content":"x"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":1,"cached_tokens":2}}]}`, done),
		"text \"x\"\nusage in=3 out=1 read=0 write=0 reason=0\nfinish stop\n",
	},
	{
		"usage with cache writes", sse(deltaEvent(`{"content":"x"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`, done),
		"text \"x\"\nusage in=10 out=2 read=60 write=30 reason=0\nfinish stop\n",
	},
	{
		"usage before the finish", sse(deltaEvent(`{"content":"x"}`), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, finish("stop"), done),
		"text \"x\"\nusage in=10 out=2 read=0 write=0 reason=0\nfinish stop\n",
	},
	{"CR LF", strings.ReplaceAll(sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "\n", "\r\n"), "text \"x\"\nfinish stop\n"},
	{"CR alone", strings.ReplaceAll(sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "\n", "\r"), "text \"x\"\nfinish stop\n"},
	{"comments", ": keep-alive\n\n: keep-alive\n\n" + sse(deltaEvent(`{"content":"x"}`)) + ": keep-alive\n\n" + sse(finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"blank lines first", "\n\n\r\n" + sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"no space after data", strings.ReplaceAll(sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "data: ", "data:"), "text \"x\"\nfinish stop\n"},
	{"no blank lines", strings.ReplaceAll(sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "\n\n", "\n"), "text \"x\"\nfinish stop\n"},
	{"fields and a mark", "\ufeffid: 1\nevent: message\nretry: 10\n" + sse(deltaEvent(`{"content":"x"}`), finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"one JSON over several data lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"x\"}}]}\n\n" + sse(finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"end of file after finish", sse(deltaEvent(`{"content":"x"}`), finish("stop")), "text \"x\"\nfinish stop\n"},
	{"end of file in the finish's blank line", strings.TrimSuffix(sse(deltaEvent(`{"content":"x"}`), finish("stop")), "\n\n"), "text \"x\"\nfinish stop\n"},
	{"end mark without finish", sse(deltaEvent(`{"content":"x"}`), done), "text \"x\"\nfinish stop\n"},
	{"end mark alone", sse(done), "error empty_response 0 retryable=true\n"},
	{"end of file early", sse(deltaEvent(`{"content":"x"}`)), "text \"x\"\nerror stream_closed 0 retryable=true\n"},
	{"end of file in a call", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{"}`)), "call a f {\nerror stream_closed 0 retryable=true\n"},
	{"only comments", ": a\n\n: b\n\n", "error stream_closed 0 retryable=true\n"},
	{"nothing", "", "error stream_closed 0 retryable=true\n"},
	{"text after the end mark", sse(deltaEvent(`{"content":"x"}`), finish("stop"), done, deltaEvent(`{"content":"y"}`)), "text \"x\"\nfinish stop\n"},
	{"not JSON", "data: <oops>\n\n", "error malformed_response 0 retryable=true\n"},
	{"cut JSON mid-stream", "data: {\"choices\":[{\"del\n\n" + sse(finish("stop"), done), "error malformed_response 0 retryable=true\n"},
	{"error event", sse(deltaEvent(`{"content":"x"}`), `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`), "text \"x\"\nerror rate_limit 0 retryable=true\n"},
	{"error event with a status", sse(`{"error":{"message":"boom","code":503}}`), "error overloaded 503 retryable=true\n"},
	{"error null", sse(`{"error":null,"choices":[{"delta":{"content":"x"}}]}`, finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"error string", sse(`{"error":"the server is on fire"}`), "error server 0 retryable=true\n"},
	{"error by event name", "event: error\ndata: {\"title\":\"x\"}\n\n", "error server 0 retryable=true\n"},
	{"error as vLLM has it", sse(`{"object":"error","message":"This model's maximum context length is 10 tokens","type":"BadRequestError","param":null,"code":400}`), "error context_overflow 400 retryable=false\n"},
	{"error in the choice", sse(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}`), "error server 502 retryable=true\n"},
	{"error after the finish", sse(deltaEvent(`{"content":"x"}`), finish("stop"), `{"error":{"message":"late"}}`), "text \"x\"\nfinish stop\n"},
	{"JSON body with an error", `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, "error quota 0 retryable=false\n"},
	{"JSON body with another error", `{"detail":"Unauthorized"}`, "error auth 0 retryable=false\n"},
	{
		"JSON body with the answer", "\n\n" + `{"choices":[{"index":0,"message":{"role":"assistant","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		"text \"x\"\ncall a f {}\nusage in=1 out=1 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{"JSON body, indented", "{\n  \"choices\": [\n {\"message\": {\"content\": \"x\"},\n \"finish_reason\": \"stop\"}]\n}\n", "text \"x\"\nfinish stop\n"},
	{"JSON body of something else", `{"hello":"world"}`, "error malformed_response 0 retryable=true\n"},
	{"page", "<!DOCTYPE html>\n<html><body>Sign in</body></html>", "error malformed_response 0 retryable=false\n"},
	{"second choice is not asked for", sse(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}`, finish("stop"), done), "text \"a\"\nfinish stop\n"},
	{"content in parts", sse(deltaEvent(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`), finish("stop"), done), "reasoning \"hm\"\ntext \"a\"\nfinish stop\n"},
	{"verbatim text", sse(deltaEvent(`{"content":" \u2028<a&b>\n\t\"\\ \ud83d\ude00 😀 \u0000"}`), finish("stop"), done), "text \" \\u2028<a&b>\\n\\t\\\"\\\\ 😀 😀 \\x00\"\nfinish stop\n"},
	{"unknown events", sse(`{"type":"ping"}`, `[]`, `1`, deltaEvent(`{"content":"x"}`), finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"finish in capitals", sse(deltaEvent(`{"content":"x"}`), finish("STOP"), done), "text \"x\"\nfinish stop\n"},
}

func TestQuirks(t *testing.T) {
	for _, q := range quirks {
		t.Run(q.name, func(t *testing.T) {
			if diff := cmp.Diff(q.want, decode(strings.NewReader(q.body)).String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(q.want, decode(iotest.OneByteReader(strings.NewReader(q.body))).String()); diff != "" {
				t.Errorf("one byte at a time: -want +got:\n%s", diff)
			}
		})
	}
}

// TestSplitAnywhere reads each quirk in two parts, split at each byte: what is
// heard must not depend on how the network cuts.
func TestSplitAnywhere(t *testing.T) {
	for _, q := range quirks {
		for i := range len(q.body) {
			r := io.MultiReader(strings.NewReader(q.body[:i]), strings.NewReader(q.body[i:]))
			if got := decode(r).String(); got != q.want {
				t.Fatalf("%s split at %d of %d:\n%s", q.name, i, len(q.body), cmp.Diff(q.want, got))
			}
		}
	}
}

// TestCutAnywhere ends a stream at each byte: before the finish reason is there
// the answer is not whole, after it it is; text that came is never taken back.
func TestCutAnywhere(t *testing.T) {
	body := sse(deltaEvent(`{"reasoning_content":"hm"}`), deltaEvent(`{"content":"Hel"}`), deltaEvent(`{"content":"lo 😀"}`), finish("stop"),
		`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, done)
	whole := strings.Index(body, finish("stop")) + len(finish("stop"))
	for i := range len(body) {
		for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
			r := decode(io.MultiReader(strings.NewReader(body[:i]), iotest.ErrReader(end)))
			var e *model.Error
			switch {
			case i < whole:
				if !errors.As(r.err, &e) || e.Kind != model.KindStreamClosed || !e.Retryable {
					t.Fatalf("cut at %d (%v): %s", i, end, r)
				}
			case r.err != nil:
				t.Fatalf("cut at %d (%v), after the finish: %s", i, end, r)
			}
			var text strings.Builder
			for _, c := range r.chunks {
				if c.Type == session.ChunkText {
					text.WriteString(c.Text)
				}
			}
			if !strings.HasPrefix("Hello 😀", text.String()) {
				t.Fatalf("cut at %d: text %q", i, text.String())
			}
		}
	}
}

func TestHundredsOfArgumentPieces(t *testing.T) {
	args := `{"content":"` + strings.Repeat("0123456789", 200) + `"}`
	events := []string{toolDelta(`"index":0,"id":"a","function":{"name":"write","arguments":""}`)}
	for i := 0; i < len(args); i += 5 {
		piece := session.AppendString(nil, args[i:min(i+5, len(args))])
		events = append(events, toolDelta(`"index":0,"id":null,"function":{"arguments":`+string(piece)+`}`))
	}
	events = append(events, finish("tool_calls"), done)
	if got, want := decode(strings.NewReader(sse(events...))).String(), "call a write "+args+"\nfinish tool-calls\n"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestBlockOrder holds what a consumer relies on: starts before deltas, ends,
// usage and finish last and once.
func TestBlockOrder(t *testing.T) {
	r := decode(strings.NewReader(sse(deltaEvent(`{"reasoning_content":"r"}`), deltaEvent(`{"content":"t"}`),
		toolDelta(`"index":3,"id":"a","function":{"name":"f","arguments":"{}"}`), deltaEvent(`{"reasoning_content":"r2"}`), finish("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":1}}`, done)))
	var got []string
	for _, c := range r.chunks {
		got = append(got, fmt.Sprintf("%s %d", c.Type, c.Index))
	}
	want := []string{
		"block-start 0", "reasoning-delta 0", "block-start 1", "text-delta 1", "block-start 2", "tool-call-delta 2", "reasoning-delta 0",
		"block-end 0", "block-end 1", "block-end 2", "usage 0", "finish 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// server answers every request with what handle writes.
func server(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}

func client(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func hello() *model.Request {
	return &model.Request{
		Head:     session.RequestHead{Config: session.Params{Provider: "deepseek", Model: "deepseek-v4-flash"}},
		Messages: []session.Message{{Role: session.RoleUser, Content: []session.Block{session.Text("hi")}}},
	}
}

func TestOverHTTP(t *testing.T) {
	// What a person has set for other programs must not leak into requests.
	t.Setenv("OPENAI_API_KEY", "sk-foreign-key")
	t.Setenv("OPENAI_ORG_ID", "org-foreign")
	t.Setenv("OPENAI_PROJECT_ID", "proj-foreign")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/foreign")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Foreign: yes")
	var got *http.Request
	var body []byte
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
	})
	c := client(t, Config{Provider: "deepseek", BaseURL: url + "/beta?v=1", APIKey: "sk-own", Headers: map[string]string{"X-Own": "1"}, UserAgent: "acp-agent/0"})
	if s := collect(c.Stream(t.Context(), hello())).String(); s != "text \"x\"\nfinish stop\n" {
		t.Fatal(s)
	}
	if got.URL.String() != "/beta/chat/completions?v=1" || got.Method != "POST" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	for k, want := range map[string]string{
		"Authorization": "Bearer sk-own", "Accept": "text/event-stream", "Accept-Encoding": "identity",
		"Content-Type": "application/json", "X-Own": "1", "User-Agent": "acp-agent/0", "X-Foreign": "", "Openai-Organization": "", "Openai-Project": "",
	} {
		if v := strings.Join(got.Header[k], ","); v != want {
			t.Errorf("%s is %q, want %q", k, v, want)
		}
	}
	if want, _ := c.encode(hello()); !bytes.Equal(want, body) {
		t.Errorf("the body sent is not the body written:\n%s\n%s", want, body)
	}
}

func TestNoKeySendsNoAuthorization(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-foreign-key")
	var auth []string
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header["Authorization"]
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
	})
	if s := collect(client(t, Config{Provider: "local", BaseURL: url}).Stream(t.Context(), hello())).String(); s != "text \"x\"\nfinish stop\n" {
		t.Fatal(s)
	}
	if auth != nil {
		t.Errorf("Authorization %q went out", auth)
	}
	r := collect(client(t, Config{Provider: "deepseek"}).Stream(t.Context(), hello()))
	var e *model.Error
	if !errors.As(r.err, &e) || e.Kind != model.KindAuth || !strings.Contains(e.Message, "DEEPSEEK_API_KEY") {
		t.Errorf("without a key: %v", r.err)
	}
}

// A trace context that came with a prompt goes on to the provider.
func TestTraceContext(t *testing.T) {
	var got http.Header
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
	})
	ctx := model.WithTrace(t.Context(), model.Trace{Parent: "00-4bf9-00f0-01", State: "a=b"})
	collect(client(t, Config{Provider: "p", BaseURL: url}).Stream(ctx, hello()))
	if got.Get("Traceparent") != "00-4bf9-00f0-01" || got.Get("Tracestate") != "a=b" || got.Get("Baggage") != "" {
		t.Errorf("the request's headers are %v", got)
	}
}

func TestGzipThatWasNotAskedFor(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		io.WriteString(zw, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
		zw.Close()
	})
	if s := collect(client(t, Config{Provider: "p", BaseURL: url}).Stream(t.Context(), hello())).String(); s != "text \"x\"\nfinish stop\n" {
		t.Fatal(s)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	seen := map[string]bool{}
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`), finish("stop"), done))
	})
	c := client(t, Config{Provider: "p", BaseURL: url})
	for range 3 {
		collect(c.Stream(t.Context(), hello()))
	}
	if len(seen) != 1 {
		t.Errorf("three requests took %d connections", len(seen))
	}
}

func TestLeavingTheLoopEndsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	c := client(t, Config{Provider: "p", BaseURL: url})
	for range c.Stream(t.Context(), hello()) {
		break
	}
	<-gone
}

func TestCancel(t *testing.T) {
	url := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, sse(deltaEvent(`{"content":"x"}`)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c := client(t, Config{Provider: "p", BaseURL: url})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	for chunk, e := range c.Stream(ctx, hello()) {
		if chunk.Type == session.ChunkText {
			cancel()
		}
		err = e
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("mid-stream: %v", err)
	}
	if r := collect(c.Stream(ctx, hello())); !errors.Is(r.err, context.Canceled) {
		t.Errorf("before the request: %v", r.err)
	}
}
