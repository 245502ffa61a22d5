package anthropic

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
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

const (
	msgStart  = `{"type":"message_start","message":{"content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	blockStop = `{"type":"content_block_stop","index":0}`
	msgStop   = `{"type":"message_stop"}`
)

func text(s string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + wiretest.Quote(s) + `}}`
}

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

var begun = sse(msgStart, textStart, text("x"))

// rest ends what has begun, answered is both.
func rest(reason string) string     { return sse(blockStop, stop(reason), msgStop) }
func answered(reason string) string { return begun + rest(reason) }

const xUsage = "text \"x\"\nusage in=9 out=5 read=0 write=0 reason=0\n"

var wholeStop = xUsage + "finish stop\n"

// fixture is testdata/sse/tools.sse and what it says.
const fixtureWant = `reasoning "Two files; I need both.\n" sig="EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+/="
reasoning "" red="EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP"
text "I read both 😀 & more"
call toolu_01T1x1fJ34qAmk2tNTrN7Up6 read {"file_path": "/w/a.go"}
call toolu_02 noop {}
usage in=12 out=89 read=20480 write=348 reason=31
finish tool-calls
`

func fixture(t testing.TB) wiretest.Stream { return wiretest.Captured(t, "tools", fixtureWant) }

// half is a delta whose text is JSON already.
func half(json string) string { return strings.Replace(text("x"), `"x"`, `"`+json+`"`, 1) }

// quirks are streams as servers send them, and what they mean.
var quirks = []wiretest.Stream{
	{"plain", answered("end_turn"), wholeStop},
	{"stop sequence", answered("stop_sequence"), wholeStop},
	{"max tokens", answered("max_tokens"), xUsage + "finish max-tokens\n"},
	{"window full after text", answered("model_context_window_exceeded"), xUsage + "finish max-tokens\n"},
	{"window full at once", sse(msgStart, stop("model_context_window_exceeded"), msgStop), "usage in=9 out=5 read=0 write=0 reason=0\nerror context_overflow 0 retryable=false\n"},
	{
		"refusal", sse(msgStart, `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"no"}},"usage":{"output_tokens":0}}`, msgStop),
		"usage in=9 out=1 read=0 write=0 reason=0\nfinish refusal\n",
	},
	{"unknown reason", answered("surprise"), xUsage + "error server 0 retryable=true\n"},
	{"tool_use without a call", answered("tool_use"), wholeStop},
	{"a character in two deltas", sse(msgStart, textStart, half(`x\ud83d`), half(`\ude00`)) + rest("end_turn"), strings.Replace(wholeStop, `"x"`, `"x😀"`, 1)},
	{"nothing", sse(msgStart, stop("end_turn"), msgStop), "usage in=9 out=5 read=0 write=0 reason=0\nerror empty_response 0 retryable=true\n"},
	{
		"call under end_turn", sse(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"k":1}}}`, blockStop, stop("end_turn"), msgStop),
		"call a f {\"k\":1}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{
		"call with null input", sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":null}}`, blockStop, stop("tool_use"), msgStop),
		"call a f {}\nusage in=0 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{
		"cut call stays as it came", sse(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"k\":"}}`, stop("max_tokens"), msgStop),
		"call a f {\"k\":\nusage in=0 out=5 read=0 write=0 reason=0\nfinish max-tokens\n",
	},
	{
		"thinking left out, signed", sse(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ab"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"cd"}}`,
			blockStop, strings.ReplaceAll(textStart, ":0", ":1"), strings.ReplaceAll(text("x"), ":0", ":1"), stop("end_turn"), msgStop),
		"reasoning \"\" sig=\"abcd\"\n" + wholeStop,
	},
	{
		"no stops", sse(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"h","signature":"s"}}`, textStart, text("x"), stop("end_turn")),
		"reasoning \"h\" sig=\"s\"\n" + wholeStop,
	},
	{"no start", sse(msgStart, text("x"), stop("end_turn"), msgStop), wholeStop},
	{"text in the start", sse(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, blockStop, stop("end_turn"), msgStop), wholeStop},
	{
		"interleaved blocks", sse(msgStart, textStart, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`, text("x"),
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, stop("tool_use"), msgStop),
		"text \"x\"\ncall a f {}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{"unknown block, delta and event", sse(msgStart, `{"type":"content_block_start","index":7,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop","index":7}`,
		`{"type":"news","x":[1]}`, textStart, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`, text("x"), stop("end_turn"), msgStop), wholeStop},
	{"ping", sse(msgStart, `{"type":"ping"}`, textStart, text("x"), `{"type":"ping"}`, stop("end_turn"), msgStop), wholeStop},
	{"types in the names alone", strings.ReplaceAll(strings.ReplaceAll(answered("end_turn"), `"type":"content_block_delta",`, ``), `"type":"message_delta",`, ``), wholeStop},
	{"types in the data alone", strings.NewReplacer("event: message_start\n", "", "event: content_block_delta\n", "", "event: message_stop\n", "").Replace(answered("end_turn")), wholeStop},
	{"CR LF", strings.ReplaceAll(answered("end_turn"), "\n", "\r\n"), wholeStop},
	{"comments and a mark", "\ufeff\n: hi\n\n" + answered("end_turn"), wholeStop},
	{"no blank lines", strings.ReplaceAll(answered("end_turn"), "\n\n", "\n"), wholeStop},
	{"end of file after the reason", sse(msgStart, textStart, text("x"), stop("end_turn")), wholeStop},
	{"OpenAI's end mark", strings.ReplaceAll(answered("end_turn"), "event: message_stop\ndata: "+msgStop, "data: [DONE]"), wholeStop},
	{"no reason", sse(msgStart, textStart, text("x"), msgStop), "text \"x\"\nusage in=9 out=1 read=0 write=0 reason=0\nfinish stop\n"},
	{"end of file early", sse(msgStart, textStart, text("x")), "text \"x\"\nerror stream_closed 0 retryable=true\n"},
	{"empty body", "", "error stream_closed 0 retryable=true\n"},
	{"overloaded in the stream", sse(msgStart, textStart, text("x"), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "text \"x\"\nerror overloaded 0 retryable=true\n"},
	{"api error", sse(`{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_1"}`), "error server 0 retryable=true\n"},
	{"rate limit", sse(`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), "error rate_limit 0 retryable=true\n"},
	{"time-out", sse(`{"type":"error","error":{"type":"timeout_error","message":"x"}}`), "error timeout 0 retryable=true\n"},
	{"error after the end", sse(msgStart, textStart, text("x"), stop("end_turn"), `{"type":"error","error":{"type":"api_error","message":"late"}}`), wholeStop},
	{"error without a type", "data: {\"error\":{\"message\":\"Invalid API key\",\"code\":401}}\n\n", "error auth 401 retryable=false\n"},
	{"error as JSON", `{"type":"error","error":{"type":"not_found_error","message":"model: nope"}}`, "error model_not_found 0 retryable=false\n"},
	{
		"answer as JSON", `{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"h","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"f","input":{"k": 1}}],"stop_reason":"tool_use","usage":{"input_tokens":9,"output_tokens":5}}`,
		"reasoning \"h\" sig=\"s\"\ntext \"x\"\ncall a f {\"k\": 1}\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n",
	},
	{"JSON of something else", `{"hello":"world"}`, "error malformed_response 0 retryable=true\n"},
	{"page", "<!DOCTYPE html><p>Sign in", "error malformed_response 0 retryable=false\n"},
	{"not JSON", "data: <oops>\n\n", "error malformed_response 0 retryable=true\n"},
	{"cut JSON mid-stream", "data: {\"type\":\"content_bl\n\n" + answered("end_turn"), "error malformed_response 0 retryable=true\n"},
	{"null fields", sse(`{"type":"message_start","message":null}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":null}}`, text("x"), `{"type":"content_block_delta","index":0,"delta":null}`,
		`{"type":"message_delta","delta":{"stop_reason":null},"usage":null}`, stop("end_turn"), msgStop), "text \"x\"\nusage in=0 out=5 read=0 write=0 reason=0\nfinish stop\n"},
	{
		"verbatim", sse(textStart, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" \u2028<a&b>\n\t\"\\ \ud83d\ude00 😀 \u0000"}}`, stop("end_turn"), msgStop),
		"text \" \\u2028<a&b>\\n\\t\\\"\\\\ 😀 😀 \\x00\"\nusage in=0 out=5 read=0 write=0 reason=0\nfinish stop\n",
	},
}

func TestStreams(t *testing.T) { messages.With(fixture(t)).Means(t) }

// TestCutAnywhere ends a stream at each byte: before the stop reason is there the
// answer is not whole, after it it is.
func TestCutAnywhere(t *testing.T) {
	body := fixture(t).Body
	line := body[strings.Index(body, `{"type":"message_delta"`):]
	line = line[:strings.Index(line, "\n")]
	messages.Cut(t, body, strings.Index(body, line)+len(strings.TrimRight(line, " ")))
}

func FuzzDecoder(f *testing.F) { messages.With(fixture(f)).FuzzDecoder(f) }

func TestHundredsOfArgumentPieces(t *testing.T) {
	pieces, args := wiretest.Pieces()
	events := []string{msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"write","input":{}}}`}
	for _, p := range pieces {
		events = append(events, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+p+`}}`)
	}
	events = append(events, blockStop, stop("tool_use"), msgStop)
	if got, want := messages.Read(strings.NewReader(sse(events...))).String(), "call a write "+args+"\nusage in=9 out=5 read=0 write=0 reason=0\nfinish tool-calls\n"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// TestSilenceAfterTools: a model that has nothing to add to tool results says
// nothing, truly; elsewhere that is a fault.
func TestSilenceAfterTools(t *testing.T) {
	e := &wire.Endpoint{Name: "test"}
	req := &model.Request{Messages: []session.Message{wiretest.ToolResult("a", session.Text("done"))}}
	r := wiretest.Collect(e.Decode(strings.NewReader(sse(msgStart, stop("end_turn"), msgStop)), func(y *wire.Yield) wire.Answer { return newAnswer(y, e, req) }))
	if r.Err != nil || !strings.HasSuffix(r.String(), "finish stop\n") {
		t.Error(r)
	}
}
