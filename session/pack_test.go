package session_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

// chunks makes a stream of deltas from bytes, as a provider may send it.
func chunks(in []byte) []session.Chunk {
	var out []session.Chunk
	for i, b := range in {
		c := session.Chunk{Index: int(b>>3) & 1}
		switch b & 7 {
		case 0, 1, 2:
			c.Type, c.Text = session.ChunkText, texts[int(b>>4)%len(texts)]
		case 3:
			c.Type, c.Text = session.ChunkReasoning, texts[int(b>>4)%len(texts)]
		case 4, 5:
			c.Type, c.Text = session.ChunkToolCall, `{"`
			if b>>7 == 1 || i == 0 {
				c.ID, c.Name = string('a'+rune(b>>4&3)), "bash"
			}
		case 6:
			c.Type, c.BlockType = session.ChunkBlockStart, session.BlockText
		default:
			c.Type, c.Finish = session.ChunkFinish, session.FinishStop
		}
		out = append(out, c)
	}
	return out
}

// FuzzPack: packing and unpacking keeps every delta and its border, and what the
// deltas assemble to.
func FuzzPack(f *testing.F) {
	f.Add([]byte("hello world, this is a stream"))
	f.Add([]byte{4, 4, 4, 0x84, 0x94, 4, 5, 6, 0, 0, 0, 3, 3, 7})
	f.Add(make([]byte, 2000))
	f.Fuzz(func(t *testing.T, in []byte) {
		in = in[:min(len(in), 2000)]
		want := chunks(in)
		var p session.Packer
		var packed, got []session.Chunk
		now := t0
		for _, c := range want {
			now = now.Add(3 * time.Millisecond)
			packed = append(packed, p.Add(c, now)...)
		}
		packed = append(packed, p.Flush()...)
		if len(p.Flush()) > 0 {
			t.Fatal("something waits after Flush")
		}
		var direct, joined session.Assembler
		for i := range packed {
			if c := &packed[i]; c.Packed() && (len(c.Texts) != len(c.Dt) || len(c.Texts) < 2 || len(c.Texts) > 512) {
				t.Fatalf("pack %d: %d texts, %d times", i, len(c.Texts), len(c.Dt))
			}
			joined.Add(&packed[i])
			got = append(got, packed[i].Unpack()...)
		}
		var id, name string
		for i := range want {
			direct.Add(&want[i])
			// A delta may repeat id and name of its pack; unpacking says them once.
			if w, g := &want[i], &got[min(i, len(got)-1)]; w.Type == session.ChunkToolCall {
				if g.ID != "" {
					id, name = g.ID, g.Name
				}
				if w.ID == id && w.Name == name {
					w.ID, w.Name, g.ID, g.Name = "", "", "", ""
				}
			}
		}
		if len(want) > 0 && !reflect.DeepEqual(want, got) {
			t.Fatalf("deltas (-in +out):\n%s", cmp.Diff(want, got))
		}
		if a, b := direct.Blocks(true), joined.Blocks(true); !reflect.DeepEqual(a, b) {
			t.Fatalf("assembled from deltas and from packs:\n%s", cmp.Diff(a, b))
		}
	})
}

func TestPackBounds(t *testing.T) {
	var p session.Packer
	big := make([]byte, 10<<10)
	n := 0
	for range 10 {
		for _, c := range p.Add(session.Chunk{Type: session.ChunkText, Text: string(big)}, t0) {
			n += max(1, len(c.Texts))
			if len(c.Texts) > 4 {
				t.Errorf("a pack of %d KiB", 10*len(c.Texts))
			}
		}
	}
	for _, c := range p.Flush() {
		n += max(1, len(c.Texts))
	}
	if n != 10 {
		t.Errorf("%d deltas came out of 10", n)
	}
}

func TestAssemble(t *testing.T) {
	end := &session.Block{Type: session.BlockReasoning, Text: "think", Signature: "sig"}
	for name, tc := range map[string]struct {
		in   []session.Chunk
		want []session.Block
	}{
		"nothing":         {nil, []session.Block{}},
		"empty text":      {[]session.Chunk{{Type: session.ChunkBlockStart, BlockType: session.BlockText}}, []session.Block{}},
		"empty reasoning": {[]session.Chunk{{Type: session.ChunkBlockStart, BlockType: session.BlockReasoning}}, []session.Block{{Type: session.BlockReasoning}}},
		"block-end settles": {
			[]session.Chunk{{Type: session.ChunkReasoning, Text: "thi"}, {Type: session.ChunkBlockEnd, Block: end}},
			[]session.Block{*end},
		},
		"index used twice": {
			[]session.Chunk{
				{Type: session.ChunkBlockStart, BlockType: session.BlockToolCall},
				{Type: session.ChunkToolCall, ID: "a", Name: "x", Text: "{"},
				{Type: session.ChunkToolCall, Text: "}"},
				{Type: session.ChunkBlockStart, BlockType: session.BlockToolCall},
				{Type: session.ChunkToolCall, ID: "b", Name: "y", Text: "{}"},
			},
			[]session.Block{{Type: session.BlockToolCall, ID: "a", Name: "x", Arguments: "{}"}, {Type: session.BlockToolCall, ID: "b", Name: "y", Arguments: "{}"}},
		},
	} {
		var a session.Assembler
		for i := range tc.in {
			a.Add(&tc.in[i])
		}
		if d := cmp.Diff(tc.want, a.Blocks(true)); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
}
