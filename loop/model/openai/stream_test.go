package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

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
var quirks = []wiretest.Stream{
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
	{
		"a character in two deltas", sse(deltaEvent(`{"reasoning_content":"r\ud83d"}`), deltaEvent(`{"reasoning_content":"\uDE00"}`),
			deltaEvent(`{"content":"a\uD83D"}`), deltaEvent(`{"content":"\ude00\ud83d"}`), deltaEvent(`{"content":"\ude01b"}`),
			toolDelta(`"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"a\":\"\ud83d"}`), toolDelta(`"index":0,"function":{"arguments":"\ude02\"}"}`),
			finish("tool_calls"), done),
		"reasoning \"r😀\"\ntext \"a😀😁b\"\ncall a f {\"a\":\"😂\"}\nfinish tool-calls\n",
	},
	{
		"half a character", sse(deltaEvent(`{"content":"a\ud83d"}`), deltaEvent(`{"content":"b\\ud83d"}`), deltaEvent(`{"content":"\ude00\"\ude00"}`),
			deltaEvent(`{"content":"\ud83d"}`), finish("stop"), done),
		"text \"a\ufffdb\\\\ud83d\ufffd\\\"\ufffd\ufffd\"\nfinish stop\n",
	},
	{"half a character at the end", sse(deltaEvent(`{"content":"a\ud83d"}`)), "text \"a\ufffd\"\nerror stream_closed 0 retryable=true\n"},
	{"unknown events", sse(`{"type":"ping"}`, `[]`, `1`, deltaEvent(`{"content":"x"}`), finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{
		"the whole call once more", sse(toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}`), toolDelta(`"index":0,"function":{"arguments":":1}"}`), toolDelta(`"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}`), finish("tool_calls"), done),
		"call a f {\"x\":1}\nfinish tool-calls\n",
	},
	{"no error", sse(`{"error":"","choices":[{"delta":{"content":"x"},"error":{}}]}`, finish("stop"), done), "text \"x\"\nfinish stop\n"},
	{"MiniMax without an error", sse(deltaEvent(`{"content":"x"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"base_resp":{"status_code":0,"status_msg":""}}`, done), "text \"x\"\nfinish stop\n"},
	{"MiniMax with an error", `{"id":"","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`, "error quota 0 retryable=false\n"},
	{"finish of another vendor", sse(deltaEvent(`{"content":"x"}`), finish("end_turn"), done), "text \"x\"\nfinish stop\n"},
	{"finish of another vendor, by length", sse(deltaEvent(`{"content":"x"}`), finish("model_length"), done), "text \"x\"\nfinish max-tokens\n"},
	{"finish of another vendor, refused", sse(deltaEvent(`{"content":"x"}`), finish("sensitive"), done), "text \"x\"\nfinish refusal\n"},
	{"no window left", sse(finish("model_context_window_exceeded"), done), "error context_overflow 0 retryable=false\n"},
	{"finish in capitals", sse(deltaEvent(`{"content":"x"}`), finish("STOP"), done), "text \"x\"\nfinish stop\n"},
}

// TestCutAnywhere ends a stream at each byte: before the finish reason is there
// the answer is not whole, after it it is.
func TestCutAnywhere(t *testing.T) {
	body := sse(deltaEvent(`{"reasoning_content":"hm"}`), deltaEvent(`{"content":"Hel"}`), deltaEvent(`{"content":"lo 😀"}`), finish("stop"),
		`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, done)
	chat.Cut(t, body, strings.Index(body, finish("stop"))+len(finish("stop")))
}

func TestHundredsOfArgumentPieces(t *testing.T) {
	pieces, args := wiretest.Pieces()
	events := []string{toolDelta(`"index":0,"id":"a","type":"function","function":{"name":"write","arguments":""}`)}
	for _, p := range pieces {
		events = append(events, toolDelta(`"index":0,"id":null,"function":{"arguments":`+p+`}`))
	}
	events = append(events, finish("tool_calls"), done)
	if got, want := decode(sse(events...)).String(), "call a write "+args+"\nfinish tool-calls\n"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestBlockOrder holds what a consumer relies on: starts before deltas, ends,
// usage and finish last and once.
func TestBlockOrder(t *testing.T) {
	r := decode(sse(deltaEvent(`{"reasoning_content":"r"}`), deltaEvent(`{"content":"t"}`),
		toolDelta(`"index":3,"id":"a","function":{"name":"f","arguments":"{}"}`), deltaEvent(`{"reasoning_content":"r2"}`), finish("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":1}}`, done))
	var got []string
	for _, c := range r.Chunks {
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

func client(t testing.TB, cfg model.Config) *Client {
	t.Helper()
	return speaking(t, "", cfg)
}

// speaking is client for a provider of that dialect.
func speaking(t testing.TB, d dialect, cfg model.Config) *Client {
	t.Helper()
	c, err := newClient(cfg, d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
