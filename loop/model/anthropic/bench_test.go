package anthropic

import (
	"bytes"
	"fmt"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

// benchBody is a long answer as the API sends it.
func benchBody() []byte {
	var out bytes.Buffer
	line := func(name, data string) { fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", name, data) }
	line("message_start", msgStart)
	line("content_block_start", textStart)
	for range wiretest.Deltas {
		line("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" the\n"}      }`)
	}
	line("content_block_stop", blockStop)
	line("message_delta", stop("end_turn"))
	line("message_stop", msgStop)
	return out.Bytes()
}

func TestAllocations(t *testing.T) { messages.Allocations(t, benchBody()) }

func BenchmarkDecode(b *testing.B) { messages.BenchmarkDecode(b, benchBody()) }

func never() bool { return false }

func BenchmarkEncode(b *testing.B) {
	messages.BenchmarkEncode(b, writing(b, model.Config{APIKey: "k"}, never))
}

func BenchmarkEncodeNext(b *testing.B) {
	messages.BenchmarkEncodeNext(b, func() wiretest.Writing { return writing(b, model.Config{APIKey: "k"}, never) })
}
