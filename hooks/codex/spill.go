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
// output are limited (Codex 0.171.0, output, spill); a reason is an instruction or a
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
	footer := "\n\nThe full hook output could not be saved."
	if path, err := spill(text); err == nil {
		footer = "\n\nFull hook output saved to: " + path
	}
	return preview(text, limit, footer), true
}

// preview is what the model gets of a text over the limit, in Codex's words and
// of Codex's size (TestInterop compares it): a warning, the head and the tail,
// and the footer, whose length comes off theirs.
func preview(text string, limit uint64, footer string) string {
	keep := limit - min(limit, tokens(footer))
	room := int(keep * bytesPerToken)
	var b strings.Builder
	fmt.Fprintf(&b, "Warning: truncated output (original token count: %d)\nTotal output lines: %d\n\n", tokens(text), lineCount(text))
	b.WriteString(hooks.Head(text, room/2))
	fmt.Fprintf(&b, "…%d tokens truncated…", tokens(text[room:]))
	b.WriteString(hooks.Tail(text, room-room/2))
	b.WriteString(footer)
	return b.String()
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
