package responses

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
	line("response.output_item.added", added(message))
	for i := range wiretest.Deltas {
		line("response.output_text.delta", fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_0a1b2c3d4e5f60718293a4b5c6d7e8f9","output_index":0,"content_index":0,"delta":" the\n","logprobs":[]}`, i))
	}
	line("response.output_item.done", itemDone(message))
	line("response.completed", ended("completed", ""))
	return out.Bytes()
}

func TestAllocations(t *testing.T) { openai.Allocations(t, benchBody()) }

func BenchmarkDecode(b *testing.B) { openai.BenchmarkDecode(b, benchBody()) }

func never() without { return without{} }

func BenchmarkEncode(b *testing.B) {
	openai.BenchmarkEncode(b, writing(b, model.Config{APIKey: "k"}, never))
}

func BenchmarkEncodeNext(b *testing.B) {
	openai.BenchmarkEncodeNext(b, func() wiretest.Writing { return writing(b, model.Config{APIKey: "k"}, never) })
}
