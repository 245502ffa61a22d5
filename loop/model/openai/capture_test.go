package openai

import (
	"strings"
	"testing"

	"acp-agent/loop/model/internal/wiretest"
)

// captures are the streams in testdata/sse, byte for byte as servers send them:
// DeepSeek's with thinking, keep-alive comments and the usage beside the finish
// (api-docs.deepseek.com/api/create-chat-completion), OpenAI's with padding and
// the usage in an event of its own (openai-go, ChatCompletionChunk), and that of
// a local server with CR LF, whole calls at one index and no end mark (ollama's
// openai package; ollama/ollama#15457, R14).
var captures = map[string]string{
	"deepseek": `reasoning "Two files 需要 — both.\n"
text "I read both 😀 & more."
call call_00_hWq8mT3x read {"path": "/w/a.go"}
call call_01_Zp2 read {"path": "/w/b \"x\".go"}
usage in=106 out=96 read=3456 write=0 reason=14
finish tool-calls
`,
	"openai": `text "I read both 😀 & more."
call call_Lk3vN0 read {"path":"/w/a.go"}
call call_Mq7 noop {}
usage in=86 out=300 read=1920 write=0 reason=128
finish tool-calls
`,
	"local": `reasoning "Both files."
text "I read both 😀"
call call_a1 read {"path":"/w/a.go"}
call call_b2 read {"path":"/w/b.go"}
finish tool-calls
`,
}

func captured(t testing.TB) (all []wiretest.Stream) {
	for name, want := range captures {
		all = append(all, wiretest.Captured(t, name, want))
	}
	return all
}

func TestStreams(t *testing.T) { chat.With(captured(t)...).Means(t) }

// TestCapturesCut ends each capture at each byte: before the finish reason is there
// the answer is not whole, after it it is.
func TestCapturesCut(t *testing.T) {
	for _, s := range captured(t) {
		at := strings.Index(s.Body, `"finish_reason":"tool_calls"`)
		chat.Cut(t, s.Body, at+strings.IndexAny(s.Body[at:], "\r\n"))
	}
}

func FuzzDecoder(f *testing.F) { chat.With(captured(f)...).FuzzDecoder(f) }
