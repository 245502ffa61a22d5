package session

import (
	"encoding/json"
	"time"
)

// Version is the version of the log format that this package writes. A log
// with a higher version is refused (ErrVersion) and left untouched.
const Version = 1

// Header is the first line of a log. It is not an event and has no seq.
type Header struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"createdAt"`
	Cwd       string    `json:"cwd"`
	// AdditionalDirectories are further roots, absolute, in the client's order.
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	// Parent is the session that this one was forked from or works for.
	Parent string `json:"parent,omitempty"`
	// Agent is the name and version of the program that wrote the log.
	Agent string `json:"agent,omitempty"`
}

// Type names an event in the log.
type Type string

// The event types. The table in the README says what each holds and whether
// the model sees it.
const (
	TypeTurnStart          Type = "turn/start"
	TypeTurnEnd            Type = "turn/end"
	TypeStepStart          Type = "step/start"
	TypeStepEnd            Type = "step/end"
	TypeUserMessage        Type = "user/message"
	TypeSteeringMessage    Type = "steering/message"
	TypeContextMessage     Type = "context/message"
	TypeRequestHeader      Type = "request/header"
	TypeRequestSent        Type = "request/sent"
	TypeAssistantChunk     Type = "assistant/chunk"
	TypeAssistantMessage   Type = "assistant/message"
	TypeToolCall           Type = "tool/call"
	TypeToolResult         Type = "tool/result"
	TypeHookInvoked        Type = "hook/invoked"
	TypeHookResult         Type = "hook/result"
	TypeHookRequest        Type = "hook/request"
	TypeHookAnswer         Type = "hook/answer"
	TypePermissionAsked    Type = "permission/asked"
	TypePermissionAnswered Type = "permission/answered"
	TypeElicitAsked        Type = "elicitation/asked"
	TypeElicitAnswered     Type = "elicitation/answered"
	TypeNotice             Type = "notice"
	TypeModelRetry         Type = "model/retry"
	TypeModeSet            Type = "mode/set"
	TypeConfigSet          Type = "config/set"
	TypeSessionTitle       Type = "session/title"
	TypeUsage              Type = "usage"
	TypeCompaction         Type = "compaction"
	TypeTodoWrite          Type = "todo/write"
)

// Types are all of them, in the order above.
var Types = []Type{
	TypeTurnStart, TypeTurnEnd, TypeStepStart, TypeStepEnd,
	TypeUserMessage, TypeSteeringMessage, TypeContextMessage,
	TypeRequestHeader, TypeRequestSent, TypeAssistantChunk, TypeAssistantMessage,
	TypeToolCall, TypeToolResult, TypeHookInvoked, TypeHookResult, TypeHookRequest, TypeHookAnswer,
	TypePermissionAsked, TypePermissionAnswered, TypeElicitAsked, TypeElicitAnswered, TypeNotice, TypeModelRetry,
	TypeModeSet, TypeConfigSet, TypeSessionTitle, TypeUsage, TypeCompaction, TypeTodoWrite,
}

// Data is the payload of an event: a pointer to one of the structs below, or
// *Unknown for a type that this version does not know.
type Data interface{ EventType() Type }

// Event is one line of the log.
type Event struct {
	// Seq counts from 1 without a gap.
	Seq uint64
	// Fresh says, to who visits a log that is opened, that the opening has appended
	// it. It is not written.
	Fresh bool
	// Time is when the event was appended.
	Time time.Time
	Data Data
}

// Unknown is an event of a type this version does not know, kept as it was.
type Unknown struct {
	Kind Type
	Raw  json.RawMessage
}

// TurnStart opens a turn. Turns count from 1 in a session.
type TurnStart struct {
	Turn int `json:"turn"`
	// ID is the turn's UUID, which hooks are told.
	ID string `json:"id,omitempty"`
	// Cwd is the directory that the session works in, where it is not the header's:
	// a list of sessions then finds it near the end of the log.
	Cwd string `json:"cwd,omitempty"`
}

// EndKind says how a turn ended.
type EndKind string

// The ways a turn ends.
const (
	EndCompleted       EndKind = "completed"
	EndCancelled       EndKind = "cancelled"
	EndBlocked         EndKind = "blocked"
	EndRefusal         EndKind = "refusal"
	EndMaxTokens       EndKind = "max_tokens"
	EndMaxTurnRequests EndKind = "max_turn_requests"
	EndError           EndKind = "error"
	EndInterrupted     EndKind = "interrupted"
)

// TurnError is what failed a turn.
type TurnError struct {
	// Kind is a model.Kind or "internal".
	Kind    string `json:"kind"`
	Message string `json:"message"`
	// Status is the provider's HTTP status, 0 when there was none.
	Status int `json:"status,omitempty"`
	// Retryable and RetryAfterMs tell a host whether and when to try again.
	Retryable    bool  `json:"retryable,omitempty"`
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
}

// EndReason is why a turn ended.
type EndReason struct {
	Kind  EndKind    `json:"kind"`
	Error *TurnError `json:"error,omitempty"`
	// Message is what the person was told: a block's reason, a stop's reason.
	Message string `json:"message,omitempty"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Turn   int       `json:"turn"`
	Reason EndReason `json:"reason"`
}

// StepStart opens a step: one model request with its retries, and its tools.
type StepStart struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// StepEnd closes a step.
type StepEnd struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// UserMessage is a prompt. The model sees Content, verbatim.
type UserMessage struct {
	ID string `json:"id,omitempty"`
	// Typed is what the person typed where Content is what that stands for: a slash
	// command that is a file. The model does not see it.
	Typed   string  `json:"typed,omitempty"`
	Content []Block `json:"content"`
	Source  Source  `json:"source"`
}

// SteeringMessage is an instruction put into a running turn, by a stop hook or
// by the client. The model sees Content, verbatim, as a user message.
type SteeringMessage struct {
	Turn    int     `json:"turn"`
	Content []Block `json:"content"`
	Source  Source  `json:"source"`
	// Sources says where each block came from when they differ; Source is then
	// the first.
	Sources []Source `json:"sources,omitempty"`
}

// ContextMessage is context that a hook or the agent adds. The model sees
// Content, verbatim, as a user message. Meta is the producer's own.
type ContextMessage struct {
	Content []Block         `json:"content"`
	Source  Source          `json:"source"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// ToolSchema is a tool as a model is told of it.
type ToolSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Params are the settings of a model request.
type Params struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// ReasoningEffort is off, low, medium, high or max; empty leaves it to the
	// provider.
	ReasoningEffort string `json:"reasoningEffort,omitempty"`
	// MaxTokens bounds the output; 0 leaves it to the provider.
	MaxTokens int64 `json:"maxTokens,omitempty"`
}

// RequestHead is the part of a request before its messages.
type RequestHead struct {
	Config Params       `json:"config"`
	System string       `json:"system,omitempty"`
	Tools  []ToolSchema `json:"tools,omitempty"`
}

// RequestHeader records the head of the requests that follow, when it changes.
type RequestHeader struct {
	Header RequestHead `json:"header"`
	// Reason is initial, resume or change.
	Reason string `json:"reason"`
}

// RequestSent records that a request went out. Digest is State.Digest at that
// moment, as "sha256:<hex>".
type RequestSent struct {
	Turn    int    `json:"turn"`
	Step    int    `json:"step"`
	Attempt int    `json:"attempt"`
	Digest  string `json:"digest"`
	// MessageID is the id that the answer will have, which its deltas are shown
	// under.
	MessageID string `json:"messageId,omitempty"`
}

// AssistantChunk is streamed output. A following AssistantMessage commits it.
type AssistantChunk struct {
	Turn  int   `json:"turn"`
	Step  int   `json:"step"`
	Chunk Chunk `json:"chunk"`
}

// LoggedMessage is a message inside an event, in the reference's shape.
type LoggedMessage struct {
	ID      string  `json:"id,omitempty"`
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
	Source  Source  `json:"source"`
}

// AssistantMessage commits what the model said in a step.
type AssistantMessage struct {
	Turn    int           `json:"turn"`
	Step    int           `json:"step"`
	Message LoggedMessage `json:"message"`
	Usage   *Usage        `json:"usage,omitempty"`
	// Stop is the finish kind: stop, tool-calls, max-tokens or refusal.
	Stop FinishKind `json:"stop,omitempty"`
	// Interrupted: the stream was cut; Content is what had arrived. Tool calls
	// of a cut stream are left out.
	Interrupted bool `json:"interrupted,omitempty"`
}

// ToolCall records that a tool call is being handled.
type ToolCall struct {
	Turn   int    `json:"turn"`
	Step   int    `json:"step"`
	CallID string `json:"callId"`
	Name   string `json:"name"`
	// Arguments is the JSON text as the model wrote it.
	Arguments string `json:"arguments"`
	// Input is the arguments as the tool is run on them, where a hook rewrote
	// them.
	Input json.RawMessage `json:"input,omitempty"`
}

// ToolResult is a tool's answer. The model sees Message's tool-result block.
type ToolResult struct {
	Turn    int           `json:"turn"`
	Step    int           `json:"step"`
	Message LoggedMessage `json:"message"`
	Meta    *ToolMeta     `json:"meta,omitempty"`
}

// Block returns the tool-result block of the event.
func (r *ToolResult) Block() *Block {
	for i := range r.Message.Content {
		if r.Message.Content[i].Type == BlockToolResult {
			return &r.Message.Content[i]
		}
	}
	return &Block{Type: BlockToolResult}
}

// Diff is a change of one file, as hunk-sized texts. OldText nil is a new file.
type Diff struct {
	Path    string  `json:"path"`
	OldText *string `json:"oldText"`
	NewText string  `json:"newText"`
	// Line is where the hunk starts in the new file, 1-based; 0 unknown.
	Line int `json:"line,omitempty"`
}

// Location is a place in a file. Line is 1-based; 0 means the whole file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// ToolMeta is what a tool reports beside its text. The model does not see it.
type ToolMeta struct {
	Diffs     []Diff     `json:"diffs,omitempty"`
	Locations []Location `json:"locations,omitempty"`
	ExitCode  *int       `json:"exitCode,omitempty"`
	// DurationMs is how long the tool ran.
	DurationMs int64 `json:"durationMs,omitempty"`
	// Response is the tool's structured answer (tool.Response kinds), which
	// hooks are shown in their dialect's shape.
	Response json.RawMessage `json:"response,omitempty"`
	// TerminalID is the client terminal that showed the command.
	TerminalID string `json:"terminalId,omitempty"`
	// NotRun says why the tool did not run: denied, rejected, cancelled,
	// invalid, unknown or interrupted. Empty when it ran.
	NotRun string `json:"notRun,omitempty"`
}

// HookInvoked records that a hook handler was started.
type HookInvoked struct {
	Turn      int    `json:"turn"`
	Point     string `json:"point"`
	Dialect   string `json:"dialect"`
	Matcher   string `json:"matcher,omitempty"`
	HandlerID string `json:"handlerId"`
	CallID    string `json:"callId,omitempty"`
	// StatusMessage is what the handler wants shown while it runs.
	StatusMessage string `json:"statusMessage,omitempty"`
}

// HookResult records how a hook handler ended.
type HookResult struct {
	Turn      int    `json:"turn"`
	Point     string `json:"point"`
	HandlerID string `json:"handlerId"`
	// Decision is pass, block, deny, allow, ask, defer, stop, error, timeout,
	// cancelled or held (not run).
	Decision string `json:"decision"`
	ExitCode *int   `json:"exitCode,omitempty"`
	// StderrSummary is at most 500 characters.
	StderrSummary string  `json:"stderrSummary,omitempty"`
	DurationMs    float64 `json:"durationMs"`
	// Reason explains an error, a timeout or a hook that was held back.
	Reason string `json:"reason,omitempty"`
	// Injected lists the types of the events it caused (steering/message, …).
	Injected []Type `json:"injected,omitempty"`
	CallID   string `json:"callId,omitempty"`
}

// PermissionOption is one answer that was offered.
type PermissionOption struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// PermissionAsked records a question to the client.
type PermissionAsked struct {
	Turn    int                `json:"turn"`
	CallID  string             `json:"callId"`
	Title   string             `json:"title,omitempty"`
	Options []PermissionOption `json:"options"`
}

// PermissionAnswered records its answer. Outcome is an option kind, cancelled
// or error. Rule is what was remembered, Scope for how long (session, project).
type PermissionAnswered struct {
	Turn    int    `json:"turn"`
	CallID  string `json:"callId"`
	Outcome string `json:"outcome"`
	Scope   string `json:"scope,omitempty"`
	Rule    string `json:"rule,omitempty"`
}

// Notice is for the person only. Severity is info, warning or error.
type Notice struct {
	Severity string `json:"severity"`
	Text     string `json:"text"`
	// Detail is a longer explanation.
	Detail string `json:"detail,omitempty"`
	Source Source `json:"source"`
}

// ModelRetry records that a failed request will be tried again after DelayMs.
type ModelRetry struct {
	Turn    int       `json:"turn"`
	Step    int       `json:"step"`
	Retry   int       `json:"retry"`
	Max     int       `json:"maxRetries"`
	DelayMs int64     `json:"delayMs"`
	Failure TurnError `json:"failure"`
}

// ModeSet records the session's permission mode.
type ModeSet struct {
	Mode   string `json:"mode"`
	Source Source `json:"source"`
}

// ConfigSet records a config option's value.
type ConfigSet struct {
	ID     string `json:"id"`
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// SessionTitle names the session.
type SessionTitle struct {
	Title  string `json:"title"`
	Source Source `json:"source"`
}

// UsageReport says what a model call used. Window is the model's context window
// in tokens (0 unknown), Output what of it is kept for an answer, Cost the
// cumulative cost where prices are known. The first two decide when a compaction is
// due.
type UsageReport struct {
	Turn     int     `json:"turn"`
	Step     int     `json:"step"`
	Usage    Usage   `json:"usage"`
	Window   int64   `json:"window,omitempty"`
	Output   int64   `json:"output,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
}

// Compaction replaces the transcript up to and including event Through by
// Content, when Status is completed. Display (load) keeps what was replaced.
// With status in_progress it is the request for the summary, see
// State.SummaryRequest; Content is then what the model is asked.
type Compaction struct {
	ID      string  `json:"compactionId"`
	Trigger string  `json:"trigger"`
	Status  string  `json:"status"`
	Through uint64  `json:"through,omitempty"`
	Content []Block `json:"content,omitempty"`
	// MaxTokens bounds the summary; Digest is RequestDigest of the request. Both
	// stand with in_progress alone.
	MaxTokens int64  `json:"maxTokens,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Error     string `json:"error,omitempty"`
	Usage     *Usage `json:"usage,omitempty"`
}

// Todo is one entry of the plan. Status is pending, in_progress or completed.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// TodoWrite replaces the plan.
type TodoWrite struct {
	Todos []Todo `json:"todos"`
}

func (*TurnStart) EventType() Type          { return TypeTurnStart }
func (*TurnEnd) EventType() Type            { return TypeTurnEnd }
func (*StepStart) EventType() Type          { return TypeStepStart }
func (*StepEnd) EventType() Type            { return TypeStepEnd }
func (*UserMessage) EventType() Type        { return TypeUserMessage }
func (*SteeringMessage) EventType() Type    { return TypeSteeringMessage }
func (*ContextMessage) EventType() Type     { return TypeContextMessage }
func (*RequestHeader) EventType() Type      { return TypeRequestHeader }
func (*RequestSent) EventType() Type        { return TypeRequestSent }
func (*AssistantChunk) EventType() Type     { return TypeAssistantChunk }
func (*AssistantMessage) EventType() Type   { return TypeAssistantMessage }
func (*ToolCall) EventType() Type           { return TypeToolCall }
func (*ToolResult) EventType() Type         { return TypeToolResult }
func (*HookInvoked) EventType() Type        { return TypeHookInvoked }
func (*HookResult) EventType() Type         { return TypeHookResult }
func (*PermissionAsked) EventType() Type    { return TypePermissionAsked }
func (*PermissionAnswered) EventType() Type { return TypePermissionAnswered }
func (*Notice) EventType() Type             { return TypeNotice }
func (*ModelRetry) EventType() Type         { return TypeModelRetry }
func (*ModeSet) EventType() Type            { return TypeModeSet }
func (*ConfigSet) EventType() Type          { return TypeConfigSet }
func (*SessionTitle) EventType() Type       { return TypeSessionTitle }
func (*UsageReport) EventType() Type        { return TypeUsage }
func (*Compaction) EventType() Type         { return TypeCompaction }
func (*TodoWrite) EventType() Type          { return TypeTodoWrite }

// EventType returns the type as it stands in the log.
func (u *Unknown) EventType() Type { return u.Kind }

// New returns an empty payload for a type, nil when the type is not known.
func New(t Type) Data {
	switch t {
	case TypeTurnStart:
		return new(TurnStart)
	case TypeTurnEnd:
		return new(TurnEnd)
	case TypeStepStart:
		return new(StepStart)
	case TypeStepEnd:
		return new(StepEnd)
	case TypeUserMessage:
		return new(UserMessage)
	case TypeSteeringMessage:
		return new(SteeringMessage)
	case TypeContextMessage:
		return new(ContextMessage)
	case TypeRequestHeader:
		return new(RequestHeader)
	case TypeRequestSent:
		return new(RequestSent)
	case TypeAssistantChunk:
		return new(AssistantChunk)
	case TypeAssistantMessage:
		return new(AssistantMessage)
	case TypeToolCall:
		return new(ToolCall)
	case TypeToolResult:
		return new(ToolResult)
	case TypeHookInvoked:
		return new(HookInvoked)
	case TypeHookResult:
		return new(HookResult)
	case TypeHookRequest:
		return new(HookRequest)
	case TypeHookAnswer:
		return new(HookAnswer)
	case TypePermissionAsked:
		return new(PermissionAsked)
	case TypePermissionAnswered:
		return new(PermissionAnswered)
	case TypeElicitAsked:
		return new(ElicitAsked)
	case TypeElicitAnswered:
		return new(ElicitAnswered)
	case TypeNotice:
		return new(Notice)
	case TypeModelRetry:
		return new(ModelRetry)
	case TypeModeSet:
		return new(ModeSet)
	case TypeConfigSet:
		return new(ConfigSet)
	case TypeSessionTitle:
		return new(SessionTitle)
	case TypeUsage:
		return new(UsageReport)
	case TypeCompaction:
		return new(Compaction)
	case TypeTodoWrite:
		return new(TodoWrite)
	}
	return nil
}
