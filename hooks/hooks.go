// Package hooks runs the hooks that a person has written for another agent:
// events, outcomes, the process runner, the merge of answers, trust. It is free
// of any dialect: what a config file, a matcher, a stdin payload and an answer
// look like is said by the packages below it, one a vendor.
//
// It knows nothing of the log, the loop or ACP. The loop builds a Call, asks an
// Engine which handlers it matches (Match), logs them, runs them (Batch.Run) and
// logs and applies the Outcome. Text that a hook gives for the model is handed
// on as it is: a JSON field byte for byte, a stream less the one line end that
// echo puts there.
package hooks

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// Event is an occasion for hooks, by the name that the vendors share.
type Event string

// The events of this agent. A dialect knows a subset.
const (
	SessionStart       Event = "SessionStart"
	SessionEnd         Event = "SessionEnd"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PreToolUse         Event = "PreToolUse"
	PermissionRequest  Event = "PermissionRequest"
	PermissionDenied   Event = "PermissionDenied"
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	PostToolBatch      Event = "PostToolBatch"
	Stop               Event = "Stop"
	StopFailure        Event = "StopFailure"
	Interrupt          Event = "Interrupt"
	Notification       Event = "Notification"
	PreCompact         Event = "PreCompact"
	PostCompact        Event = "PostCompact"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
	InstructionsLoaded Event = "InstructionsLoaded"
	CwdChanged         Event = "CwdChanged"
	FileChanged        Event = "FileChanged"
	ConfigChange       Event = "ConfigChange"
	PreModelSwitch     Event = "PreModelSwitch"
	PostModelSwitch    Event = "PostModelSwitch"
	UserPromptExpand   Event = "UserPromptExpansion"
	Elicitation        Event = "Elicitation"
	ElicitationResult  Event = "ElicitationResult"
	PreModelRequest    Event = "PreModelRequest"
	PostModelRequest   Event = "PostModelRequest"
)

// absent are the vendors' events that this agent never has, and why.
var absent = map[Event]string{
	SubagentStart: "this agent has no subagents", SubagentStop: "this agent has no subagents",

	"Setup":                "this agent has no set-up runs",
	"MessageDisplay":       "the client shows messages, not this agent",
	"PreSkillShellCommand": "this agent runs no shell commands inside skill and command files",
	"TaskCreated":          "this agent has no task list of that kind", "TaskCompleted": "this agent has no task list of that kind",
	"TeammateIdle":   "this agent has no teammates",
	"DirectoryAdded": "a session's directories are fixed when it starts",
	"WorktreeCreate": "this agent makes no worktrees", "WorktreeRemove": "this agent makes no worktrees",
}

// Events are the events that this agent has, in the order of a session.
func Events() []Event {
	return []Event{
		SessionStart, InstructionsLoaded, UserPromptExpand, UserPromptSubmit, PreModelRequest, PostModelRequest,
		PreToolUse, PermissionRequest, PermissionDenied, Elicitation, ElicitationResult,
		PostToolUse, PostToolUseFailure, PostToolBatch, Notification, Stop, StopFailure, Interrupt, PreCompact, PostCompact, PreModelSwitch, PostModelSwitch,
		CwdChanged, FileChanged, ConfigChange, SessionEnd,
	}
}

// Never are the vendors' events that this agent never has, in order; Absent says
// why of each.
func Never() []Event { return slices.Sorted(maps.Keys(absent)) }

// Absent says why an event of the vendors never comes in this agent; "" when it
// does, and for names that are no event at all. A dialect reports the hooks of
// such an event and runs none of them.
func Absent(e Event) string { return absent[e] }

// Call is one occasion, in the agent's own terms. Fields that the event does
// not have are zero. A dialect turns it into its stdin payload.
//
// For a tool's result one call is made, PostToolUse, whether it failed or not
// (Tool.Failed, Tool.ExitCode): for Claude Code a failure is the event
// PostToolUseFailure, for Codex it is PostToolUse all the same.
type Call struct {
	Event     Event
	SessionID string
	// Cwd is the session's working directory now, ProjectDir where it started.
	Cwd, ProjectDir string
	// Model is the model's name without the provider, Effort its reasoning
	// effort (empty when it takes none).
	Model, Effort string
	// Mode is the permission mode: default, acceptEdits, plan, bypassPermissions.
	Mode string
	// TurnID and PromptID are UUIDs; empty outside a turn.
	TurnID, PromptID string
	// Source is SessionStart's (startup, resume, clear, compact); Reason
	// SessionEnd's (other, clear, logout, prompt_input_exit) and
	// PermissionDenied's text.
	Source, Reason string
	// Prompt is what the model is to see. Typed is what the person typed in its
	// place: a slash command that is a file; empty when they are the same.
	Prompt, Typed string
	// Tool is the call that a tool event is about; Tools are PostToolBatch's.
	Tool  *Tool
	Tools []Tool
	// StopHookActive: the turn goes on because a stop hook said so.
	StopHookActive bool
	// LastAssistantMessage is nil when the turn produced no text.
	LastAssistantMessage *string
	// Jobs are the commands that run in the background at a Stop.
	Jobs []BackgroundJob
	// Trigger is manual or auto (compaction); Instructions what the person gave
	// with it; Summary PostCompact's.
	Trigger, Instructions, Summary string
	// Fields holds the members of the rarer events by their vendor name
	// (Notification message, title, notification_type, and tool_name, the agent's own,
	// where a tool asks for permission; Elicitation
	// mcp_server_name, message, mode, url, elicitation_id, requested_schema, its
	// result action and content; StopFailure error,
	// error_details; InstructionsLoaded file_path, memory_type, load_reason;
	// CwdChanged old_cwd, new_cwd; FileChanged file_path, event; ConfigChange
	// source, file_path; ModelSwitch from_model, to_model, requested_model, source;
	// …). A dialect picks the ones that its event has.
	Fields map[string]any
	// AgentID and AgentType are set inside a subagent.
	AgentID, AgentType string
	// TranscriptPath returns the path of a transcript in the named dialect's
	// format that is complete up to now, or "" when there is none. Nil counts as
	// none.
	TranscriptPath func(dialect string) string
}

// BackgroundJob is a command in the background: its id, its command line, and what
// it does in the model's words, which may be empty.
type BackgroundJob struct{ ID, Command, Description string }

// Tool is a tool call in the agent's own names and arguments.
type Tool struct {
	// Name is bash, read, write, edit, glob, grep, todo_write, … or
	// mcp__server__tool.
	Name   string
	Input  json.RawMessage
	CallID string

	// The rest is known after the run.

	// Output is the text that the model would see.
	Output string
	// Response is the structured answer: see the Response structs below.
	Response json.RawMessage
	// Failed: the tool reported an error (a command's non-zero exit does not
	// make it one, ExitCode says so). NotRun: it did not run at all.
	Failed, NotRun bool
	ExitCode       *int
	Interrupted    bool
	Duration       time.Duration
}

// The structured answers of the agent's own tools (session.ToolMeta.Response),
// which the dialects turn into their tool_response.
type (
	// BashResponse is bash's. JobID is set when the command was put in the
	// background; Stdout then is what the model is told of it.
	BashResponse struct {
		Stdout      string `json:"stdout"`
		Stderr      string `json:"stderr"`
		ExitCode    int    `json:"exitCode"`
		Interrupted bool   `json:"interrupted"`
		TimedOutMs  int64  `json:"timedOutMs,omitempty"`
		JobID       string `json:"jobId,omitempty"`
	}
	// ReadResponse is read's.
	ReadResponse struct {
		Path       string `json:"path"`
		Content    string `json:"content"`
		StartLine  int    `json:"startLine"`
		NumLines   int    `json:"numLines"`
		TotalLines int    `json:"totalLines"`
	}
	// WriteResponse is write's. Original is nil for a new file, and for one that
	// is too large to keep.
	WriteResponse struct {
		Path     string  `json:"path"`
		Content  string  `json:"content"`
		Created  bool    `json:"created"`
		Original *string `json:"original"`
	}
	// EditResponse is edit's.
	EditResponse struct {
		Path       string  `json:"path"`
		OldString  string  `json:"oldString"`
		NewString  string  `json:"newString"`
		ReplaceAll bool    `json:"replaceAll"`
		Original   *string `json:"original"`
	}
	// GlobResponse is glob's.
	GlobResponse struct {
		Files      []string `json:"files"`
		Truncated  bool     `json:"truncated"`
		DurationMs int64    `json:"durationMs"`
	}
	// GrepResponse is grep's.
	GrepResponse struct {
		Files   []string `json:"files"`
		Content string   `json:"content"`
		Matches int      `json:"matches"`
	}
	// FetchResponse is web_fetch's. Bytes are those of the page, Content what the model
	// gets of it.
	FetchResponse struct {
		URL        string `json:"url"`
		Status     int    `json:"status"`
		Bytes      int    `json:"bytes"`
		Content    string `json:"content"`
		DurationMs int64  `json:"durationMs"`
	}
	// TodoResponse is todo_write's.
	TodoResponse struct {
		Old json.RawMessage `json:"oldTodos"`
		New json.RawMessage `json:"newTodos"`
	}
)

// Decision is what a hook decided.
type Decision string

// The decisions, as they are logged.
const (
	Pass      Decision = "pass"
	Block     Decision = "block"
	Deny      Decision = "deny"
	Allow     Decision = "allow"
	Ask       Decision = "ask"
	Defer     Decision = "defer"
	Halt      Decision = "stop"      // continue:false
	Failed    Decision = "error"     // could not start, bad answer, non-blocking exit code
	TimedOut  Decision = "timeout"   // killed at its time limit
	Cancelled Decision = "cancelled" // the turn was cancelled meanwhile
	Held      Decision = "held"      // not run: not trusted, unsupported, invalid
)

// Text is something a hook said, and which.
type Text struct {
	Text string
	// Dialect is claude-code or codex, Handler the handler id.
	Dialect, Handler string
}

// Late is what an async handler says for the model, after its event.
type Late struct {
	Text
	// Event is the handler's own.
	Event Event
	// Rewake: it is to be acted on now and not with the next prompt (asyncRewake and
	// exit code 2).
	Rewake bool
	// Lead goes before the text, as a piece of its own; Summary is one line for the
	// person. Either may be "" (Claude Code rewakeMessage, rewakeSummary).
	Lead, Summary string
}

// Run is what happened to one matched handler.
type Run struct {
	Dialect string
	// Event is the handler's own: PostToolUseFailure, say, where the call was
	// made as PostToolUse.
	Event Event
	// Handler is "<dialect>:<event>:<n>": n counts from 1 over the handlers of
	// the event in config order, then on over the session's runs.
	Handler string
	Matcher string
	// Command is what was run, for people; StatusMessage what the handler wants
	// shown meanwhile.
	Command       string
	StatusMessage string
	Decision      Decision
	ExitCode      *int
	// Stderr is what it wrote there, at most 500 characters.
	Stderr   string
	Duration time.Duration
	// Reason explains Failed, TimedOut and Held in a sentence.
	Reason string
	// Injected says which kinds of text came out: reason, context, feedback.
	Injected []string
}

// Outcome is the merged answer of all handlers of a call, both dialects.
type Outcome struct {
	Runs []Run

	// Blocked: the event is refused (a prompt, a stop, a compaction, a tool).
	// Reasons holds one text for each blocking handler, in config order. For
	// PostToolUse it is what the dialect adds beside the result.
	Blocked bool
	Reasons []Text

	// Contexts are the additionalContext values, one a handler.
	Contexts []Text

	// Decision is PreToolUse's and PermissionRequest's: "" (none), allow, ask,
	// defer or deny; deny beats all, across dialects. DecisionReason is the
	// reason of the handler that decided, also about Action.
	Decision       Decision
	DecisionReason Text
	// Interrupt: a PermissionRequest denial that ends the turn.
	Interrupt bool
	// UpdatedInput replaces the tool's input, in the agent's own shape.
	UpdatedInput json.RawMessage
	// UpdatedPermissions are rules to remember, as the hook gave them.
	UpdatedPermissions []json.RawMessage

	// ReplaceOutput replaces the text of the tool's result (Codex PostToolUse
	// block; Claude Code updatedToolOutput). Nil leaves it.
	ReplaceOutput *Text

	// Halted: continue:false. HaltReason goes to the person. It beats Blocked.
	Halted     bool
	HaltReason Text

	// Messages are systemMessage values, for the person only. (A blocked prompt's
	// reason is the person's too; it is in Reasons.) Notices are what the bridge
	// itself has to say: a hook that failed, timed out or was held back. Each
	// notice is given once a session.
	Messages []Text
	Notices  []Text

	// Title is a sessionTitle.
	Title string
	// WatchPaths are the files whose changes are to fire FileChanged from now on,
	// beside those of matchers (Engine.Watched). Nil leaves them as they are.
	WatchPaths []string
	// Retry: PermissionDenied asks for another try.
	Retry bool
	// Action and Content are Elicitation's.
	Action  string
	Content json.RawMessage
}

// Engine is the loaded hooks of one session, both dialects. It is safe for
// concurrent use: tool calls fire side by side.
type Engine interface {
	// Has reports, without any work, whether any handler listens to the event.
	Has(Event) bool
	// Match returns the handlers that the call fires, nil when there are none.
	Match(*Call) Batch
	// Watched names the files whose changes the matchers of FileChanged ask for,
	// relative ones in the session's directory.
	Watched() []string
}

// Batch is a matched call, ready to run once.
type Batch interface {
	// Runs lists the handlers that will be started, for hook/invoked.
	Runs() []Run
	// Run starts them all at once, waits for all and merges their answers. When
	// ctx ends it kills them and returns; what they said is then dropped.
	Run(ctx context.Context) *Outcome
}
