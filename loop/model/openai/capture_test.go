package openai

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"acp-agent/loop/model"
	"acp-agent/session"
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

func capture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "sse", name+".sse"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestCaptures reads each capture whole, byte by byte and in two parts split at
// each byte.
func TestCaptures(t *testing.T) {
	for name, want := range captures {
		body := capture(t, name)
		if got := decode(iotest.OneByteReader(strings.NewReader(body))).String(); got != want {
			t.Errorf("%s byte by byte:\n%swant:\n%s", name, got, want)
		}
		for i := range len(body) {
			if got := decode(io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:]))).String(); got != want {
				t.Fatalf("%s split at %d:\n%swant:\n%s", name, i, got, want)
			}
		}
	}
}

// TestCapturesCut ends each capture at each byte. Before the finish reason has
// come the answer is not whole and another attempt may be made; from then on it
// is. What came is the beginning of what would have come.
func TestCapturesCut(t *testing.T) {
	for name := range captures {
		body := capture(t, name)
		whole := decode(strings.NewReader(body)).blocks()
		at := strings.Index(body, `"finish_reason":"tool_calls"`)
		finish := at + strings.IndexAny(body[at:], "\r\n")
		for i := range len(body) {
			end := []error{io.EOF, io.ErrUnexpectedEOF}[i%2]
			r := decode(io.MultiReader(strings.NewReader(body[:i]), iotest.ErrReader(end)))
			var e *model.Error
			if i < finish && (!errors.As(r.err, &e) || e.Kind != model.KindStreamClosed || !e.Retryable) || i >= finish && r.err != nil {
				t.Fatalf("%s cut at %d (%v): %s", name, i, end, r)
			}
			got := r.blocks()
			if len(got) > len(whole) || i >= finish && !slices.EqualFunc(got, whole, func(a, b session.Block) bool { return a.Text == b.Text && a.Arguments == b.Arguments }) {
				t.Fatalf("%s cut at %d: %s", name, i, r)
			}
			for k, b := range got {
				if w := whole[k]; b.Type != w.Type || !strings.HasPrefix(w.Text, b.Text) || !strings.HasPrefix(w.Arguments, b.Arguments) || b.ID != "" && b.ID != w.ID {
					t.Fatalf("%s cut at %d: block %d is %+v", name, i, k, b)
				}
			}
		}
	}
}
