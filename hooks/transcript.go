package hooks

import (
	"time"
)

// EntryKind discriminates an Entry.
type EntryKind string

// The kinds of transcript entry.
const (
	EntryUser       EntryKind = "user"        // a prompt
	EntrySteering   EntryKind = "steering"    // an instruction put into the turn
	EntryContext    EntryKind = "context"     // injected context
	EntryText       EntryKind = "text"        // assistant text
	EntryReasoning  EntryKind = "reasoning"   // assistant thinking
	EntryToolUse    EntryKind = "tool-use"    // assistant tool call
	EntryToolResult EntryKind = "tool-result" // its answer
	EntryTurnStart  EntryKind = "turn-start"
	EntryTurnEnd    EntryKind = "turn-end"
	EntrySummary    EntryKind = "summary" // compaction
	EntryTitle      EntryKind = "title"
)

// Entry is one thing that happened in a session, in the agent's own terms,
// which a dialect writes into its transcript format.
type Entry struct {
	Kind EntryKind
	Time time.Time
	// Seq is the log event's, a stable source for ids.
	Seq uint64
	// TurnID is the turn's UUID.
	TurnID string
	// MessageID groups the entries of one assistant message, each of which has
	// the message's Usage and StopReason; Last marks the final one.
	MessageID  string
	Last       bool
	StopReason string // end_turn, tool_use, max_tokens
	Usage      Usage
	Model      string
	Text       string
	// Typed is what a person typed in the place of an EntryUser's Text: a slash
	// command that is a file; empty for most.
	Typed     string
	Signature string
	Tool      *Tool
	Mode      string
	// Event is the hook event that an EntrySteering or EntryContext came of, by
	// the agent's name of it; empty when no hook wrote it.
	Event Event
}

// Usage counts tokens.
type Usage struct{ Input, Output, CacheRead, CacheWrite, Reasoning int64 }

// TranscriptMeta is what a transcript says of its session.
type TranscriptMeta struct {
	SessionID string
	Cwd       string
	Version   string // the agent's version
	GitBranch string
	Model     string
	CreatedAt time.Time
	System    string
}

// Transcriber writes one session's entries in a dialect's transcript format.
// It keeps what the format chains from line to line (parents, ordinals).
type Transcriber interface {
	// Path is the file's place below the directory that the agent gives it.
	Path() string
	// Append appends the lines of an entry, each compact JSON with a line end.
	// The first call puts the format's opening lines before them.
	Append(dst []byte, e *Entry) ([]byte, error)
}
