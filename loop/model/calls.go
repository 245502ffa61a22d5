package model

import (
	"fmt"

	"acp-agent/session"
)

// NameCalls gives each tool call of a message an id that is unique in its
// conversation: results are paired by it, and providers repeat ids or leave them
// out. taken reports those of earlier messages; base is what ids that are missing
// are made of, with the block's place.
func NameCalls(blocks []session.Block, base string, taken func(id string) bool) {
	used := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		if b.Type != session.BlockToolCall {
			continue
		}
		first := b.ID
		if first == "" {
			first = fmt.Sprintf("%s_%d", base, i)
		}
		id := first
		for n := 2; used[id] || taken(id); n++ {
			id = fmt.Sprintf("%s_%d", first, n)
		}
		used[id] = true
		b.ID = id
	}
}
