package openai

import (
	"bytes"
	"fmt"
	"testing"

	"acp-agent/loop/model/internal/wiretest"
)

// benchBody is a stream as DeepSeek sends it.
func benchBody() []byte {
	var out bytes.Buffer
	line := func(delta, finish string) {
		fmt.Fprintf(&out, "data: {\"id\":\"0b7c5f7e-3f6d-4b3e-9a53-2f3c1d1a9e55\",\"object\":\"chat.completion.chunk\",\"created\":1784522140,\"model\":\"deepseek-v4-flash\",\"system_fingerprint\":\"fp_3b8a2f0d1c_prod\",\"choices\":[{\"index\":0,\"delta\":%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	line(`{"role":"assistant","content":null,"reasoning_content":""}`, "null")
	for i := range wiretest.Deltas {
		if i < wiretest.Deltas/2 {
			line(`{"content":null,"reasoning_content":" wants"}`, "null")
		} else {
			line(`{"content":" the\n","reasoning_content":null}`, "null")
		}
	}
	line(`{"content":"","reasoning_content":null}`, `"stop"`)
	out.WriteString("data: [DONE]\n\n")
	return out.Bytes()
}

func TestAllocations(t *testing.T) { chat.Allocations(t, benchBody()) }

func BenchmarkDecode(b *testing.B) { chat.BenchmarkDecode(b, benchBody()) }

func BenchmarkEncode(b *testing.B) { chat.BenchmarkEncode(b, writing(b)) }

func BenchmarkEncodeNext(b *testing.B) {
	chat.BenchmarkEncodeNext(b, func() wiretest.Writing { return writing(b) })
}
