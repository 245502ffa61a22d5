package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Dialect is one vendor's hooks, loaded. NewEngine takes any number; their
// order is the order of reasons, contexts and runs (claude-code before codex).
// All methods are safe for concurrent use and none keeps what it is given.
//
// A dialect is made from config files by its own package, where its discovery,
// environment, MCP caller and so on are injected.
type Dialect interface {
	Catalog
	Speaker
}

// Catalog is what a dialect has loaded.
type Catalog interface {
	// Name is claude-code or codex.
	Name() string
	// Handlers returns all handlers in config order, also those that cannot run
	// (Why) and those not trusted yet. The pointers stay the same.
	Handlers() []*Handler
	// Match returns the handlers that the call fires, in config order, duplicates
	// already removed where the vendor does so. It looks at neither trust nor
	// Once: the engine does. Handlers with Why may be among them.
	Match(*Call) []*Handler
}

// Speaker talks to a handler.
type Speaker interface {
	// Payload is what handlers get on stdin for the call, final newline included
	// where the vendor sends one. It is made once a batch and only when a handler
	// is started. An error fails the dialect's handlers of the batch.
	Payload(*Call) ([]byte, error)
	// Exec runs the handler to its end, with its own time limit, and never
	// returns later than ctx ends (by the time of a kill). For command handlers
	// it fills a Process and calls RunProcess.
	Exec(ctx context.Context, job *Job) Exit
	// Decode turns how it ended into an answer. It is a pure function: no files,
	// no clock, no state. Text caps and spilling come after it (Capper).
	Decode(c *Call, h *Handler, exit Exit) Answer
}

// TextKind says what a text in an Answer is for.
type TextKind int

// The kinds of text that a Capper sees.
const (
	ContextText TextKind = iota // additionalContext, or stdout that counts as such
	MessageText                 // systemMessage
	ReasonText                  // a block's or denial's reason
	ReplaceText                 // what replaces a tool's output
)

// Capper is a Dialect that limits how long texts may be.
type Capper interface {
	// Cap returns text as it is and false where it is within the limit. Where it
	// is not, it calls spill, which writes the full text to a private file and
	// returns its path, and returns what the model gets instead and true. When
	// spill fails it returns a cut text that says so.
	Cap(h *Handler, kind TextKind, text string, spill func(string) (string, error)) (string, bool)
}

// AsyncLimiter is a Dialect that runs at most that many async handlers at once.
type AsyncLimiter interface{ AsyncLimit() int }

// Job is one run of one handler.
type Job struct {
	Call    *Call
	Handler *Handler
	// ID is the id of the run (Run.Handler).
	ID string
	// Payload is Speaker.Payload's, shared: read only.
	Payload []byte
	// Background bounds what goes on after Exec has returned (Exit.Rest): it is
	// the engine's life, not the turn's.
	Background context.Context
}

// Exit is how a handler ended, before anybody looks at what it means. Handlers
// that are no process (http, mcp_tool, prompt) are put in the same terms by
// their dialect: StartErr where they gave no answer, else Code 0 and Stdout.
type Exit struct {
	// Code is the exit code; -1 when it was killed by a signal or not started.
	Code int
	// Signal is the signal's name when one ended it, such as SIGKILL.
	Signal string
	// TimedOut: killed at the time limit. Cancelled: ctx ended first.
	TimedOut, Cancelled bool
	// StartErr is why it could not be started.
	StartErr error
	// Stdout and Stderr are the bytes as they came, cut at MaxOutput. Truncated:
	// something was.
	Stdout, Stderr []byte
	Truncated      bool
	// Dir is where it ran, when that is not where it was told to.
	Dir string

	// Rest is not nil when the handler has detached itself (Process.Detach): it
	// yields the final Exit once and is closed. The engine then treats the
	// handler as async from here on.
	Rest <-chan Exit
}

// OK reports an ordinary exit: started, not killed.
func (e *Exit) OK() bool {
	return e.StartErr == nil && !e.TimedOut && !e.Cancelled && e.Signal == ""
}

// Answer is what one handler said, decoded: what it asks for, not yet merged.
// The zero value is a handler that ran and had nothing to say.
type Answer struct {
	// Decision is what is logged of the run: Pass (also ""), Block, Deny, Allow,
	// Ask, Defer, Halt, Failed, TimedOut. Why explains Failed and TimedOut in one
	// sentence, for the person (who is told once a session).
	Decision Decision
	Why      string

	// Blocked refuses the event; Reason is the text for it, verbatim. A PreToolUse
	// or PermissionRequest denial sets Permission to Deny instead.
	Blocked bool
	Reason  string
	// ReasonToUser: the reason is the person's only (a prompt that was blocked,
	// a compaction); the model does not get it. It comes out in Outcome.Reasons
	// like any other: the loop knows the event.
	ReasonToUser bool

	// Permission is Allow, Deny, Ask or Defer; PermissionReason goes with it.
	Permission       Decision
	PermissionReason string
	Interrupt        bool
	// UpdatedInput is in the agent's own shape: Decode has mapped it back. Where
	// it cannot be mapped the answer is Failed.
	UpdatedInput       json.RawMessage
	UpdatedPermissions []json.RawMessage

	// Context is model context, nil when there is none. ContextDropped: it goes
	// with its event, and is dropped when any handler refuses or stops that (Claude
	// Code's UserPromptSubmit; Codex keeps it).
	Context        *string
	ContextDropped bool
	// Replace replaces the text of the tool's result. JoinReplace: with others of
	// its dialect it is joined by a blank line (Codex); otherwise the last
	// handler to finish wins.
	Replace     *string
	JoinReplace bool

	// Halt is continue:false, HaltReason its stopReason.
	Halt       bool
	HaltReason string

	// Message is a systemMessage: the person's only.
	Message string
	// Notices are remarks of the bridge about the answer: a field that has no
	// effect, an output in the wrong shape. Said once a session.
	Notices []string

	Title   string
	Retry   bool
	Action  string
	Content json.RawMessage
	// WatchPaths is as in Outcome.
	WatchPaths []string
}

// MCPCaller calls a tool of a connected MCP server, for mcp_tool handlers.
type MCPCaller interface {
	// CallTool returns the text content, and whether the tool reported an error.
	// err is for a server that is not connected, or a failed call.
	CallTool(ctx context.Context, server, tool string, input json.RawMessage) (text string, isError bool, err error)
}

// Judge has a model answer the question of a prompt or agent handler.
type Judge interface {
	// Judge returns the first answer that Question.Check takes, as the model wrote
	// it. The error says why there is none; it is ErrNotAsked where nobody was
	// asked. It returns when ctx ends.
	Judge(ctx context.Context, q *Question) (string, error)
}

// Question is what a prompt or agent handler asks a model.
type Question struct {
	// Handler is the id of the run (Run.Handler), Event the handler's.
	Handler string
	Event   Event
	// Model is as the handler names it, "" where it names none: for the judge to
	// understand.
	Model string
	// System says how to judge and how to answer; Prompt is the handler's own,
	// with the input filled in.
	System, Prompt string
	// Check says what is wrong with an answer.
	Check func(answer string) error

	// Tool is the tool by whose arguments the model may give its answer; its name
	// is "" where there is none.
	Tool AnswerTool
	// Rounds is how many requests the model has to look around with the session's
	// reading tools. 1 is a single request without tools.
	Rounds int
	// Transcript is a file that it may read beside the session's directories, ""
	// for none.
	Transcript string
}

// AnswerTool is the tool that an answer is given by.
type AnswerTool struct {
	Name, Description string
	// Schema is the JSON schema of its arguments.
	Schema json.RawMessage
}

// ErrNotAsked: there is a question, and nobody was asked it, on purpose. The
// handler then counts as not run.
var ErrNotAsked = errors.New("nobody was asked")

// Process is a command to run, in terms of the operating system. Its fields are
// the whole difference between the dialects.
type Process struct {
	// Argv is the program and its arguments. A program without a slash is looked
	// up in Env's PATH.
	Argv []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory; Fallbacks are tried in order when it is gone.
	// With none left the process is not started (StartErr).
	Dir       string
	Fallbacks []string
	// Stdin is written and then closed at once.
	Stdin []byte
	// Timeout is its time limit; 0 means none.
	Timeout time.Duration
	// TermGrace is how long SIGTERM has to work before SIGKILL at the time limit;
	// 0 sends SIGKILL at once (Codex). Both go to the whole process group (procgroup).
	TermGrace time.Duration
	// Detach looks at the first line of stdout, as soon as it is there. When it
	// returns true the process goes on in the background, with that time limit
	// from then on (0: none), and RunProcess returns with Exit.Rest.
	Detach func(line []byte) (limit time.Duration, ok bool)
}
