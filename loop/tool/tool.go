// Package tool says what a tool is and keeps the set of tools of a session:
// names, schemas, argument checks. The tools themselves live in the packages
// below it. It decides nothing about permission and runs no hook; the loop does.
package tool

import (
	"context"
	"encoding/json"

	"acp-agent/session"
)

// Kind is the ACP tool kind, which clients choose an icon by.
type Kind string

// The ACP tool kinds (acp schema ToolKind).
const (
	KindRead    Kind = "read"
	KindEdit    Kind = "edit"
	KindDelete  Kind = "delete"
	KindMove    Kind = "move"
	KindSearch  Kind = "search"
	KindExecute Kind = "execute"
	KindThink   Kind = "think"
	KindFetch   Kind = "fetch"
	KindOther   Kind = "other"
)

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object schema.
	Schema json.RawMessage
	Kind   Kind
	// ReadOnly tools change nothing: they need no permission and run side by side.
	ReadOnly bool
	// Disk: all that the tool does is to read the disk, through Env.Files or by
	// itself: it asks nobody and reports no progress.
	Disk bool
	// Hinted: whoever offers the tool says that it is read-only, and nobody here
	// knows. Such tools run side by side and may be asked about in plan mode; they
	// need permission like any other (MCP specification, tools, annotations:
	// clients must not decide on those of a server that is not trusted).
	Hinted bool
}

// View is how a call is shown before it runs.
type View struct {
	// Title is one plain line of at most 200 characters.
	Title     string
	Locations []session.Location
	// Diffs preview what an edit would do, for the permission question.
	Diffs []session.Diff
	// Refused is what Run would tell the model of a call that cannot be done at all,
	// such as an edit of text that is not in the file: nobody need be asked whether
	// it may.
	Refused string
}

// Tool is one tool.
//
// Run returns an error only where the call itself cannot be carried out by this
// process (a broken log, a bug): it ends the turn. Whatever the model should
// read, a failed command, a missing file, is a Result with IsError. Run returns
// promptly when ctx is done, with its children gone.
type Tool interface {
	Spec() Spec
	// View describes a call with these arguments. It must accept any input, also
	// what Check refuses, and not change anything.
	View(env *Env, input json.RawMessage) View
	Run(ctx context.Context, env *Env, input json.RawMessage) (Result, error)
}

// Checker is a Tool that checks arguments beyond its schema. The error is read
// by the model.
type Checker interface {
	Check(input json.RawMessage) error
}

// Follower is a Tool that changes a file which hooks may change after it, as a
// formatter does. Follow takes what they have made of it as known, so that the
// next change need not read it first, and reports whether there was anything.
type Follower interface {
	Follow(ctx context.Context, env *Env, input json.RawMessage) bool
}

// Result is what a tool answers.
type Result struct {
	// Content is what the model sees: text, image or resource blocks.
	Content []session.Block
	IsError bool
	Meta    session.ToolMeta
	// Events are logged after the result (todo/write).
	Events []session.Data
}

// Text returns a result with that text.
func Text(s string) Result { return Result{Content: []session.Block{session.Text(s)}} }

// Fail returns an error result with that text.
func Fail(s string) Result {
	return Result{Content: []session.Block{session.Text(s)}, IsError: true}
}

// Files is how file tools reach files: the disk, or an editor's buffers.
type Files interface {
	ReadFile(ctx context.Context, path string) ([]byte, error)
	WriteFile(ctx context.Context, path string, data []byte) error
}

// Direct is Files that may be the disk itself. Where they are, who has a file open
// need not ask them for its content.
type Direct interface {
	Direct() bool
}

// Terminal runs a command in the client's terminal. Nil in Env when the client
// offers none.
type Terminal interface {
	// Run starts the command, calls shown with the terminal's id, waits, and
	// always releases the terminal.
	Run(ctx context.Context, cmd TerminalCommand, shown func(id string)) (TerminalExit, error)
}

// TerminalCommand is a command line for a client terminal.
type TerminalCommand struct {
	Command string
	Args    []string
	Env     []string
	Cwd     string
	// OutputLimit is in bytes.
	OutputLimit int
}

// TerminalExit is how it ended.
type TerminalExit struct {
	Output    string
	Truncated bool
	ExitCode  *int
	Signal    string
}

// Env is what a call has around it. It is made per call.
type Env struct {
	CallID string
	// Cwd is the session's working directory; Roots are it and the additional
	// ones, absolute and with symlinks resolved. File tools stay inside them.
	Cwd   string
	Roots []string
	// Environ is the environment of child processes, provider keys left out.
	Environ []string
	// Files is never nil. Terminal may be nil.
	Files    Files
	Terminal Terminal
	// Forms and Elicit may be nil.
	Forms  Forms
	Elicit Elicitor
	// Progress shows output while the tool runs; it may be called from any
	// goroutine until Run returns, and it may drop or join what comes too fast.
	// It is never nil.
	Progress func(Progress)
	// Seen is the session's memory of file versions (read before write).
	Seen *Seen
	// Images: the model in use takes image blocks in tool results.
	Images bool

	// placed are the places that rules have judged (Touched), by the path that the
	// model wrote: they are what the tool then opens.
	placed map[string]Place
}

// Progress is a sign of life of a running tool.
type Progress struct {
	// Output is new output text.
	Output string
	// TerminalID shows a client terminal in the call.
	TerminalID string
}
