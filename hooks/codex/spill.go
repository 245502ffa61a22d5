package codex

import (
	"fmt"
	"strings"

	"acp-agent/hooks"
)

// defaultContextLimit is additionalContextLimit's default, in approximate
// tokens of four bytes.
const defaultContextLimit = 2500

const bytesPerToken = 4

// tokens is Codex's estimate.
func tokens(s string) uint64 { return uint64(len(s)+bytesPerToken-1) / bytesPerToken }

// Cap implements hooks.Capper. Contexts and the text that replaces a tool's
// output are limited (facts 2.5, spill); a reason is an instruction or a
// refusal and is never shortened.
func (d *Dialect) Cap(h *hooks.Handler, kind hooks.TextKind, text string, spill func(string) (string, error)) (string, bool) {
	if kind != hooks.ContextText && kind != hooks.ReplaceText {
		return text, false
	}
	limit := uint64(defaultContextLimit)
	if x, ok := h.Ext.(*ext); ok {
		limit = x.contextLimit
	}
	if limit == 0 || tokens(text) <= limit {
		return text, false
	}
	footer := "\n\nThe rest of the hook's output could not be kept."
	if path, err := spill(text); err == nil {
		footer = "\n\nFull hook output saved to: " + path
	}
	return preview(text, limit, footer), true
}

// preview is the head and the tail of a text within the limit, the footer
// counted in.
func preview(text string, limit uint64, footer string) string {
	room := int(min(limit, uint64(len(text)))) * bytesPerToken
	left := fmt.Sprintf("…%d tokens truncated…", tokens(text)-min(limit, tokens(text)))
	room = max(room-len(footer)-len(left), 0)
	var b strings.Builder
	b.WriteString(hooks.Head(text, room-room/2))
	b.WriteString(left)
	b.WriteString(hooks.Tail(text, room/2))
	b.WriteString(footer)
	return b.String()
}
