// Package compact says when a session's context is too full, which part of it a
// summary replaces, and what the model is asked for. It is pure: the loop makes
// the call and logs it.
package compact

import (
	"acp-agent/session"
)

// Thresholds of Due, as parts of the context window.
const (
	// fullAt is the part of the window at which an automatic compaction is due.
	fullAt = 0.8
	// margin is kept free beside the output budget: token counts of the next
	// request are an estimate.
	margin = 0.05
	// keepAtMost bounds what stays as it is after a compaction.
	keepAtMost = 0.25
)

// Due reports whether the next request should be compacted first. used is what
// the last call left in the window, added an estimate of what came since,
// output the budget of an answer, which providers count against the window:
// without it a request overflows below the trigger.
func Due(used, added, window, output int64) bool {
	if window <= 0 {
		return false
	}
	limit := int64(float64(window) * fullAt)
	if room := window - output - int64(float64(window)*margin); output > 0 && output < window && room < limit {
		limit = room
	}
	return used+added >= limit
}

// Estimate guesses the tokens of messages: a token for every four bytes of text
// and a flat price for an image.
func Estimate(msgs []session.Message) int64 {
	var n int64
	for i := range msgs {
		n += 4
		for j := range msgs[i].Content {
			n += block(&msgs[i].Content[j])
		}
	}
	return n
}

const imageTokens = 1500

func block(b *session.Block) int64 {
	if b.Type == session.BlockImage {
		return imageTokens
	}
	n := int64(len(b.Text)+len(b.Arguments)+len(b.Name)+len(b.Data)+len(b.Signature)+len(b.Redacted)) / 4
	for i := range b.Content {
		n += block(&b.Content[i])
	}
	return n
}

// Cut returns how many of the messages a summary should replace, 0 when there
// is nothing to gain. It keeps the newest prompt and what follows where that is
// small enough, else the newest whole steps; a tool's result is never parted
// from its call. A prompt that has no answer yet stays word for word, however
// long: no summary stands for what the model has still to do.
func Cut(msgs []session.Message, window int64) int {
	budget := int64(float64(window) * keepAtMost)
	if window <= 0 {
		budget = 32_000
	}
	best := 0
	for i := len(msgs) - 1; i > 0; i-- {
		if Estimate(msgs[i:]) > budget {
			break
		}
		if !boundary(msgs, i) {
			continue
		}
		best = i
		if msgs[i].Role == session.RoleUser && msgs[i-1].Role != session.RoleUser {
			break // a prompt: the newest exchange stays whole
		}
	}
	if best == 0 {
		// The newest step alone is over the budget: all of it goes.
		best = len(msgs)
	}
	unanswered := len(msgs)
	for unanswered > 0 && msgs[unanswered-1].Role == session.RoleUser {
		unanswered--
	}
	best = min(best, unanswered)
	if best < 2 {
		return 0
	}
	return best
}

// boundary reports whether messages may be parted before i.
func boundary(msgs []session.Message, i int) bool { return msgs[i].Role != session.RoleTool }

// instruction asks for the summary. It stands in the log with the compaction.
const instruction = `The conversation is about to be shortened: everything above will be replaced by your next message. Write what is needed to go on with the work without it. Plain text, no tool calls. Cover:
- what the user asked for, in their words where wording matters, and every later correction;
- what has been done: files read and changed (with paths), commands run and what they showed, decisions and why;
- the state now: what works, what fails and how, what is half done;
- what comes next, step by step;
- facts that would be costly to find again: names, signatures, locations, values.
Leave out what no longer matters.`

// Prompt is the message that asks for a summary. extra is what the person gave
// with it; it follows word for word as a block of its own.
func Prompt(extra string) []session.Block {
	out := []session.Block{session.Text(instruction)}
	if extra != "" {
		out = append(out, session.Text(extra))
	}
	return out
}

// Content is the message that stands for what was replaced.
func Content(summary string) []session.Block {
	return []session.Block{
		session.Text("The earlier part of this conversation was replaced by this summary of it:"),
		session.Text(summary),
	}
}
