package openai

import (
	"bytes"
	"testing"
	"testing/iotest"

	"acp-agent/session"
)

// FuzzDecoder holds that any body ends in exactly one finish or error, that
// blocks open before they are spoken of, and that the network's cuts do not
// matter.
func FuzzDecoder(f *testing.F) {
	for _, q := range quirks {
		f.Add([]byte(q.body))
	}
	for name := range captures {
		f.Add([]byte(capture(f, name)))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := decode(bytes.NewReader(body))
		open := map[int]session.BlockType{}
		finishes := 0
		for i, c := range r.chunks {
			switch c.Type {
			case session.ChunkBlockStart:
				if _, used := open[c.Index]; used {
					t.Fatalf("block %d opens twice", c.Index)
				}
				open[c.Index] = c.BlockType
			case session.ChunkText, session.ChunkReasoning, session.ChunkToolCall, session.ChunkBlockEnd:
				if _, ok := open[c.Index]; !ok {
					t.Fatalf("chunk %d speaks of block %d, which is not open", i, c.Index)
				}
			case session.ChunkFinish:
				finishes++
				if i != len(r.chunks)-1 {
					t.Fatal("the finish is not the last chunk")
				}
			}
		}
		if (finishes == 1) == (r.err != nil) || finishes > 1 {
			t.Fatalf("%d finishes and error %v", finishes, r.err)
		}
		if again := decode(iotest.OneByteReader(bytes.NewReader(body))); again.String() != r.String() {
			t.Fatalf("whole:\n%s\nbyte by byte:\n%s", r, again)
		}
	})
}
