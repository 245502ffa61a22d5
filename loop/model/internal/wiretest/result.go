package wiretest

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Result is what a consumer gets of one stream.
type Result struct {
	Chunks []session.Chunk
	Err    error
}

// Collect reads a stream to its end.
func Collect(seq iter.Seq2[session.Chunk, error]) Result {
	var r Result
	for c, err := range seq {
		if err != nil {
			r.Err = err
			continue
		}
		r.Chunks = append(r.Chunks, c)
	}
	return r
}

func (r Result) assembled() *session.Assembler {
	var a session.Assembler
	for i := range r.Chunks {
		a.Add(&r.Chunks[i])
	}
	return &a
}

// Blocks are what the chunks make.
func (r Result) Blocks() []session.Block { return r.assembled().Blocks(true) }

// Text is the text of an answer so far.
func (r Result) Text() string {
	var text strings.Builder
	for i := range r.Chunks {
		if r.Chunks[i].Type == session.ChunkText {
			text.WriteString(r.Chunks[i].Text)
		}
	}
	return text.String()
}

// String writes a result in one line a block, then usage and finish or error.
func (r Result) String() string {
	a := r.assembled()
	var out strings.Builder
	for _, b := range a.Blocks(true) {
		switch b.Type {
		case session.BlockToolCall:
			fmt.Fprintf(&out, "call %s %s %s\n", b.ID, b.Name, b.Arguments)
			continue
		case session.BlockReasoning:
			fmt.Fprintf(&out, "reasoning %q", b.Text)
		default:
			fmt.Fprintf(&out, "%s %q", b.Type, b.Text)
		}
		if b.Signature != "" {
			fmt.Fprintf(&out, " sig=%q", b.Signature)
		}
		if b.Redacted != "" {
			fmt.Fprintf(&out, " red=%q", b.Redacted)
		}
		out.WriteByte('\n')
	}
	if u := a.Usage(); u != nil {
		fmt.Fprintf(&out, "usage in=%d out=%d read=%d write=%d reason=%d\n", u.InputTokens, u.OutputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.ReasoningTokens)
	}
	var e *model.Error
	switch {
	case errors.As(r.Err, &e):
		fmt.Fprintf(&out, "error %s %d retryable=%v\n", e.Kind, e.Status, e.Retryable)
	case r.Err != nil:
		fmt.Fprintf(&out, "error %v\n", r.Err)
	default:
		fmt.Fprintf(&out, "finish %s\n", a.Finish())
	}
	return out.String()
}
