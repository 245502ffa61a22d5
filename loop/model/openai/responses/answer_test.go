package responses

import (
	"strings"
	"testing"

	"acp-agent/loop/model/internal/wiretest"
)

// sse makes a stream of events, named as the API names them.
func sse(events ...string) string {
	var out strings.Builder
	for _, e := range events {
		name := e[strings.Index(e, `:"`)+2:]
		out.WriteString("event: " + name[:strings.IndexByte(name, '"')] + "\ndata: " + e + "\n\n")
	}
	return out.String()
}

func added(item string) string {
	return `{"type":"response.output_item.added","output_index":0,"item":` + item + `}`
}

func itemDone(item string) string {
	return `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
}

func text(s string) string {
	return `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":` + wiretest.Quote(s) + `}`
}

// ended is a last event; more are fields of its response.
func ended(status, more string) string {
	return `{"type":"response.` + status + `","response":{"status":"` + status + `"` + more + `,"usage":{"input_tokens":9,"output_tokens":5}}}`
}

const (
	message   = `{"type":"message","id":"msg_1","role":"assistant","content":[]}`
	function  = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":""}`
	xUsage    = "text \"x\"\nusage in=9 out=5 read=0 write=0 reason=0\n"
	wholeStop = xUsage + "finish stop\n"
)

var (
	begun = sse(added(message), text("x"))
	rest  = sse(itemDone(message), ended("completed", ""))
)

func answered() string { return begun + rest }

const fixtureWant = `reasoning "**Twofiles**\n\n\nBoth." sig="rs_0a1" red="gAAAAABwhole+/="
text "I read both 😀 & more"
call call_a read {"file_path": "/w/a.go"}
call call_b read {}
usage in=200 out=90 read=768 write=32 reason=64
finish tool-calls
`

func fixture(t testing.TB) wiretest.Stream { return wiretest.Captured(t, "tools", fixtureWant) }

// half is a delta whose text is JSON already.
func half(json string) string { return strings.Replace(text("x"), `"x"`, `"`+json+`"`, 1) }

// quirks are streams as servers send them, and what they mean.
var quirks = []wiretest.Stream{
	{"plain", answered(), wholeStop},
	{"no items, only deltas", sse(text("x"), ended("completed", "")), wholeStop},
	{"no deltas, only done", sse(itemDone(`{"type":"message","content":[{"type":"output_text","text":"x"}]}`), ended("completed", "")), wholeStop},
	{
		"only the response", sse(ended("completed", `,"output":[{"type":"reasoning","id":"rs","summary":[{"text":"h"}],"encrypted_content":"E"},{"type":"message","content":[{"type":"output_text","text":"x"}]}]`)),
		"reasoning \"h\" sig=\"rs\" red=\"E\"\n" + wholeStop,
	},
	{"incomplete", sse(text("x"), ended("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`)), xUsage + "finish max-tokens\n"},
	{"filtered", sse(text("x"), ended("incomplete", `,"incomplete_details":{"reason":"content_filter"}`)), xUsage + "finish refusal\n"},
	{"refusal", sse(added(message), strings.Replace(text("x"), "output_text", "refusal", 1), ended("completed", "")), xUsage + "finish refusal\n"},
	{
		"arguments as an object", sse(added(`{"type":"function_call","call_id":"a","name":"f","arguments":{}}`), itemDone(`{"type":"function_call","call_id":"a","name":"f","arguments":{"x":1}}`), ended("completed", "")),
		"call a f {\"x\":1}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{"an item with odd members", sse(itemDone(`{"type":"message","id":7,"summary":"none","content":[{"type":"output_text","text":"x","annotations":null}]}`), ended("completed", "")), wholeStop},
	{"refusal in the item", sse(itemDone(`{"type":"message","content":[{"type":"refusal","refusal":"x"}]}`), ended("completed", "")), xUsage + "finish refusal\n"},
	{"a character in two deltas", sse(added(message), half(`x\ud83d`), half(`\ude00`)) + rest, strings.Replace(wholeStop, `"x"`, `"x😀"`, 1)},
	{"nothing", sse(ended("completed", "")), "usage in=9 out=5 read=0 write=0 reason=0\nerror empty_response 0 retryable=true\n"},
	{
		"reasoning alone", sse(added(`{"type":"reasoning","id":"rs"}`), itemDone(`{"type":"reasoning","id":"rs","encrypted_content":"E"}`), ended("completed", "")),
		"reasoning \"\" sig=\"rs\" red=\"E\"\nusage in=9 out=5 read=0 write=0 reason=0\nerror empty_response 0 retryable=true\n",
	},
	{"unsealed reasoning", sse(`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"h"}`, itemDone(`{"type":"reasoning","id":"rs","content":[{"type":"reasoning_text","text":"h"}]}`),
		strings.ReplaceAll(text("x"), `output_index":0`, `output_index":1`), ended("completed", "")), "reasoning \"h\"\n" + wholeStop},
	{
		"arguments only at the end", sse(added(function), `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"k\":1}"}`, ended("completed", "")),
		"call a f {\"k\":1}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{
		"arguments only in the item", sse(itemDone(strings.Replace(function, `"arguments":""`, `"arguments":"{\"k\":1}"`, 1)), ended("completed", "")),
		"call a f {\"k\":1}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{"no arguments", sse(added(function), itemDone(function), ended("completed", "")), "call a f {}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n"},
	{
		"calls at one index", sse(added(function), itemDone(function), added(strings.Replace(function, `"a"`, `"b"`, 1)),
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"k\":2}"}`, itemDone(function),
			ended("completed", `,"output":[{"type":"function_call","call_id":"a","name":"f"},{"type":"function_call","call_id":"b","name":"f"}]`)),
		"call a f {}\ncall b f {\"k\":2}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{
		"parts of a message", sse(added(message), text("x"), strings.Replace(text("y"), `content_index":0`, `content_index":1`, 1), ended("completed", "")),
		"text \"x\"\ntext \"y\"\nusage in=9 out=5 read=0 write=0 reason=0\nfinish stop\n",
	},
	{"unknown items and events", sse(`{"type":"response.queued"}`, added(`{"type":"web_search_call","id":"ws"}`), `{"type":"response.web_search_call.searching","output_index":0}`,
		itemDone(`{"type":"web_search_call","id":"ws"}`), `{"type":"keepalive"}`, strings.ReplaceAll(text("x"), `output_index":0`, `output_index":1`), ended("completed", "")), wholeStop},
	{"CR LF and OpenAI's old end mark", strings.ReplaceAll(answered()+"data: [DONE]\n\n", "\n", "\r\n"), wholeStop},
	{"types in the data alone", strings.ReplaceAll(answered(), "event: response", "id: response"), wholeStop},
	{"comments", ": hi\n\n" + answered(), wholeStop},
	{"failed", sse(added(message), text("x"), `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"The model failed"}}}`), "text \"x\"\nerror server 0 retryable=true\n"},
	{"failed by the rate", sse(`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}}`), "error rate_limit 0 retryable=true\n"},
	{"failed by the window", sse(`{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`), "error context_overflow 0 retryable=false\n"},
	{"failed by the prompt", sse(`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"flagged"}}}`), "error invalid_request 0 retryable=false\n"},
	{"error event", sse(`{"type":"error","code":"insufficient_quota","message":"You exceeded your current quota","param":null}`), "error quota 0 retryable=false\n"},
	{"error event, nested", sse(`{"type":"error","error":{"type":"server_error","code":"server_is_overloaded","message":"Our servers are currently overloaded."}}`), "error overloaded 0 retryable=true\n"},
	{"error without a type", "data: {\"error\":{\"message\":\"Invalid API key\",\"code\":401}}\n\n", "error auth 401 retryable=false\n"},
	{"error as JSON", `{"error":{"message":"The model 'x' does not exist","code":"model_not_found"}}`, "error model_not_found 0 retryable=false\n"},
	{"answer as JSON", `{"object":"response","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":9,"output_tokens":5}}`, wholeStop},
	{"failure as JSON", `{"object":"response","status":"failed","error":{"code":"server_error","message":"x"}}`, "error server 0 retryable=true\n"},
	{"JSON of something else", `{"hello":"world"}`, "error malformed_response 0 retryable=true\n"},
	{"page", "<!DOCTYPE html><p>Sign in", "error malformed_response 0 retryable=false\n"},
	{"end of file early", sse(added(message), text("x"), itemDone(message)), "text \"x\"\nerror stream_closed 0 retryable=true\n"},
	{"empty body", "", "error stream_closed 0 retryable=true\n"},
	{"not JSON", "data: <oops>\n\n", "error malformed_response 0 retryable=true\n"},
	{"null fields", sse(added(`null`), `{"type":"response.output_text.delta","output_index":null,"delta":null}`, text("x"), `{"type":"response.completed","response":{"output":null,"usage":null,"error":null}}`), "text \"x\"\nfinish stop\n"},
	{
		"verbatim", sse(`{"type":"response.output_text.delta","delta":" \u2028<a&b>\n\t\"\\ \ud83d\ude00 😀 \u0000"}`, ended("completed", "")),
		"text \" \\u2028<a&b>\\n\\t\\\"\\\\ 😀 😀 \\x00\"\nusage in=9 out=5 read=0 write=0 reason=0\nfinish stop\n",
	},
}

func TestStreams(t *testing.T) { openai.With(fixture(t)).Means(t) }

// TestCutAnywhere ends a stream at each byte: before its last event the answer is
// not whole, after it it is.
func TestCutAnywhere(t *testing.T) {
	body := fixture(t).Body
	openai.Cut(t, body, len(strings.TrimRight(body, "\n")))
}

func FuzzDecoder(f *testing.F) { openai.With(fixture(f)).FuzzDecoder(f) }
