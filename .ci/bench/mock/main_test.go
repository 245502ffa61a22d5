package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestLastIndex(t *testing.T) {
	for _, text := range []string{"", "[", "none", "[[n=", "[[n=1]] and [[n=2]]", "[[[n=", "[[n=[[n="} {
		for _, behind := range []int{0, 1, 4<<10 - 5, 4<<10 - 4, 4<<10 - 3, 4<<10 - 2, 4<<10 - 1, 4 << 10, 8 << 10, 20<<10 - 7} {
			b := append([]byte(text), bytes.Repeat([]byte{'-'}, behind)...)
			for _, b := range [][]byte{b, append(bytes.Repeat([]byte{'-'}, behind), text...)} {
				if got, want := lastIndex(b, directive), bytes.LastIndex(b, directive); got != want {
					t.Errorf("%q with %d bytes behind or before it: %d, want %d", text, behind, got, want)
				}
			}
		}
	}
}

func TestParse(t *testing.T) {
	body := func(results int) []byte {
		var b strings.Builder
		b.WriteString(`{"messages":[{"role":"user","content":"[[n=7]]"},{"role":"tool","tool_call_id":"call_9","content":"x"},{"role":"user","content":"[[n=2 steps=400 file=/a/b]]"}`)
		for i := range results {
			fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"call_%d"}]},{"role":"tool","tool_call_id":"call_%[1]d","content":%q}`, i, strings.Repeat("line\n", 40))
		}
		b.WriteString(`],"model":"mock-model"}`)
		return []byte(b.String())
	}
	for _, results := range []int{0, 1, 10, 400} {
		if s := parse(body(results)); s.done != results || s.steps != 400 || s.n != 2 || s.file != "/a/b" {
			t.Errorf("after %d tool results: %+v", results, s)
		}
	}
	if s := parse([]byte(`{"messages":[]}`)); s.n != 1 || s.steps != 0 {
		t.Errorf("without a directive: %+v", s)
	}
}
