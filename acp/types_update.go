package acp

// What the agent reports while it works: session/update and its kinds.

import "encoding/json"

// AvailableCommand: information about a command.
type AvailableCommand struct {
	// Command name (e.g., create_plan, research_codebase).
	Name string `json:"name"`
	// Human-readable description of what the command does.
	Description string `json:"description"`
	// Input for the command if required
	Input *AvailableCommandInput `json:"input,omitzero"`
	Meta  Meta                   `json:"_meta,omitzero"`
}

// AvailableCommandsUpdate: available commands are ready or have changed
type AvailableCommandsUpdate struct {
	// Commands the agent can execute
	AvailableCommands []AvailableCommand `json:"availableCommands" acp:"lenient,skip"`
	Meta              Meta               `json:"_meta,omitzero"`
}

// CompactionId: unique identifier for a context compaction within a session.
type CompactionId = string

// CompactionStatus: lifecycle state of a context compaction.
type CompactionStatus string

// The values of CompactionStatus.
const (
	// Compaction has started and has not finished.
	CompactionStatusInProgress CompactionStatus = "in_progress"
	// Compaction finished successfully.
	CompactionStatusCompleted CompactionStatus = "completed"
	// Compaction finished unsuccessfully.
	CompactionStatusFailed CompactionStatus = "failed"
	// Compaction was cancelled before it finished.
	CompactionStatusCancelled CompactionStatus = "cancelled"
)

// CompactionSummaryChunk: a content block appended to a compaction's summary. A first-seen ID creates
// an in-progress compaction. Chunks append in receive order. Agents MUST only send this update when
// the Client advertised the session.compaction Client capability.
type CompactionSummaryChunk struct {
	// ID of the compaction whose summary receives this content.
	CompactionID CompactionId `json:"compactionId"`
	// One content block to append.
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitzero"`
}

// CompactionUpdate: a context compaction upsert. The first notification fixes the compaction's
// timeline position. Later updates with the same ID patch that entity in place. Agents MUST only send
// this update when the Client advertised the session.compaction Client capability.
type CompactionUpdate struct {
	// The Agent-owned ID of this compaction, unique within the session.
	CompactionID CompactionId `json:"compactionId"`
	// Current lifecycle status.
	Status CompactionStatus `json:"status"`
	// Complete replacement user-displayable summary content for the compaction.
	Summary []ContentBlock `json:"summary,omitzero" acp:"skip"`
	// Human-readable error details for the compaction.
	Error string `json:"error,omitzero"`
	Meta  Meta   `json:"_meta,omitzero"`
}

// ConfigOptionUpdate: session configuration options have been updated.
type ConfigOptionUpdate struct {
	// The full set of configuration options and their current values.
	ConfigOptions []SessionConfigOption `json:"configOptions" acp:"lenient,skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}

// ContentChunk: a streamed item of content
type ContentChunk struct {
	// A single item of content
	Content ContentBlock `json:"content"`
	// A unique identifier for the message this chunk belongs to.
	MessageID MessageId `json:"messageId,omitzero"`
	Meta      Meta      `json:"_meta,omitzero"`
}

// Cost information for a session.
type Cost struct {
	// Total cumulative cost for session.
	Amount float64 `json:"amount"`
	// Unit of amount: an ISO 4217 currency code (e.g., "USD", "EUR") for money, or another unit such as
	// "credits".
	Currency string `json:"currency"`
	Meta     Meta   `json:"_meta,omitzero"`
}

// CurrentModeUpdate: the current mode of the session has changed
type CurrentModeUpdate struct {
	// The ID of the current mode
	CurrentModeID SessionModeId `json:"currentModeId"`
	Meta          Meta          `json:"_meta,omitzero"`
}

// Notice: fire-and-forget information for the user.
type Notice struct {
	// Presentation severity hint.
	Severity NoticeSeverity `json:"severity"`
	// Required non-empty plain-text title that can stand alone.
	Title string `json:"title"`
	// Optional plain-text detail or guidance.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// NoticeSeverity: severity hint for a session notice.
type NoticeSeverity string

// The values of NoticeSeverity.
const (
	// Informational notice.
	NoticeSeverityInfo NoticeSeverity = "info"
	// Warning notice.
	NoticeSeverityWarning NoticeSeverity = "warning"
	// Error notice.
	NoticeSeverityError NoticeSeverity = "error"
)

// Plan: an execution plan for accomplishing complex tasks.
type Plan struct {
	// The list of tasks to be accomplished.
	Entries []PlanEntry `json:"entries" acp:"lenient,skip"`
	Meta    Meta        `json:"_meta,omitzero"`
}

// PlanEntry: a single entry in the execution plan.
type PlanEntry struct {
	// Human-readable description of what this task aims to accomplish.
	Content string `json:"content"`
	// The relative importance of this task. Used to indicate which tasks are most critical to the overall
	// goal.
	Priority PlanEntryPriority `json:"priority"`
	// Current execution status of this task.
	Status PlanEntryStatus `json:"status"`
	Meta   Meta            `json:"_meta,omitzero"`
}

// PlanEntryPriority: priority levels for plan entries.
type PlanEntryPriority string

// The values of PlanEntryPriority.
const (
	// High priority task - critical to the overall goal.
	PlanEntryPriorityHigh PlanEntryPriority = "high"
	// Medium priority task - important but not critical.
	PlanEntryPriorityMedium PlanEntryPriority = "medium"
	// Low priority task - nice to have but not essential.
	PlanEntryPriorityLow PlanEntryPriority = "low"
)

// PlanEntryStatus: status of a plan entry in the execution flow.
type PlanEntryStatus string

// The values of PlanEntryStatus.
const (
	// The task has not started yet.
	PlanEntryStatusPending PlanEntryStatus = "pending"
	// The task is currently being worked on.
	PlanEntryStatusInProgress PlanEntryStatus = "in_progress"
	// The task has been successfully completed.
	PlanEntryStatusCompleted PlanEntryStatus = "completed"
)

// PlanId: unique identifier for a plan within a session.
type PlanId = string

// PlanItems: a plan represented as structured entries.
type PlanItems struct {
	// The plan ID to update.
	PlanID PlanId `json:"planId"`
	// The list of tasks to be accomplished.
	Entries []PlanEntry `json:"entries" acp:"lenient,skip"`
	Meta    Meta        `json:"_meta,omitzero"`
}

// PlanMarkdown: a plan represented as raw markdown content.
type PlanMarkdown struct {
	// The plan ID to update.
	PlanID PlanId `json:"planId"`
	// Markdown content for the plan.
	Content string `json:"content"`
	// Absolute path of the file that holds the plan (upstream 1.34).
	Path string `json:"path,omitzero"`
	Meta Meta   `json:"_meta,omitzero"`
}

// PlanRemoved: removal notice for a plan identified by ID.
type PlanRemoved struct {
	// The plan ID to remove.
	PlanID PlanId `json:"planId"`
	Meta   Meta   `json:"_meta,omitzero"`
}

// PlanUpdate: a content update for a plan identified by ID.
type PlanUpdate struct {
	// The updated plan content.
	Plan PlanUpdateContent `json:"plan"`
	Meta Meta              `json:"_meta,omitzero"`
}

// PlanUpdateContent: updated content for a plan.
//
// It is a union: exactly one of its variant pointers is set.
type PlanUpdateContent struct {
	_ struct{} `acp:"union=type"`
	// Structured plan entries.
	Items *PlanItems `json:"-" acp:"variant=items"`
	// Raw markdown content for the plan.
	Markdown *PlanMarkdown `json:"-" acp:"variant=markdown"`
}

// SessionInfoUpdate: update to session metadata. All fields are optional to support partial updates.
type SessionInfoUpdate struct {
	// Human-readable title for the session. Set to null to clear.
	Title Patch[string] `json:"title,omitzero"`
	// ISO 8601 timestamp of last activity. Set to null to clear.
	UpdatedAt Patch[string] `json:"updatedAt,omitzero"`
	Meta      Meta          `json:"_meta,omitzero"`
}

// SessionNotification: notification containing a session update from the agent.
type SessionNotification struct {
	// The ID of the session this update pertains to.
	SessionID SessionId `json:"sessionId"`
	// The actual update content.
	Update SessionUpdate `json:"update"`
	Meta   Meta          `json:"_meta,omitzero"`
}

// SessionUpdate: different types of updates that can be sent during session processing.
//
// It is a union: exactly one of its variant pointers is set, or Other for a kind this package does not know.
type SessionUpdate struct {
	_ struct{} `acp:"union=sessionUpdate"`
	// A chunk of the user's message being streamed.
	UserMessageChunk *ContentChunk `json:"-" acp:"variant=user_message_chunk"`
	// A chunk of the agent's response being streamed.
	AgentMessageChunk *ContentChunk `json:"-" acp:"variant=agent_message_chunk"`
	// A chunk of the agent's internal reasoning being streamed.
	AgentThoughtChunk *ContentChunk `json:"-" acp:"variant=agent_thought_chunk"`
	// Notification that a new tool call has been initiated.
	ToolCall *ToolCall `json:"-" acp:"variant=tool_call"`
	// Update on the status or results of a tool call.
	ToolCallUpdate *ToolCallUpdate `json:"-" acp:"variant=tool_call_update"`
	// The agent's execution plan for complex tasks.
	Plan *Plan `json:"-" acp:"variant=plan"`
	// A content update for a plan identified by ID.
	PlanUpdate *PlanUpdate `json:"-" acp:"variant=plan_update"`
	// Removal notice for a plan identified by ID.
	PlanRemoved *PlanRemoved `json:"-" acp:"variant=plan_removed"`
	// Available commands are ready or have changed
	AvailableCommandsUpdate *AvailableCommandsUpdate `json:"-" acp:"variant=available_commands_update"`
	// The current mode of the session has changed
	CurrentModeUpdate *CurrentModeUpdate `json:"-" acp:"variant=current_mode_update"`
	// Session configuration options have been updated.
	ConfigOptionUpdate *ConfigOptionUpdate `json:"-" acp:"variant=config_option_update"`
	// Session metadata has been updated (title, timestamps, custom metadata)
	SessionInfoUpdate *SessionInfoUpdate `json:"-" acp:"variant=session_info_update"`
	// Context window and cost update for the session.
	UsageUpdate *UsageUpdate `json:"-" acp:"variant=usage_update"`
	// Information for the user that is not part of session history.
	Notice *Notice `json:"-" acp:"variant=notice"`
	// A context compaction has been created or updated.
	CompactionUpdate *CompactionUpdate `json:"-" acp:"variant=compaction_update"`
	// A content block appended to a context compaction's retained summary.
	CompactionSummaryChunk *CompactionSummaryChunk `json:"-" acp:"variant=compaction_summary_chunk"`
	// Announces a child session created and owned by this session, or updates that ownership association's
	// metadata.
	SubagentUpdate *SubagentUpdate `json:"-" acp:"variant=subagent_update"`
	// A message upsert observed in this session's transcript, sent to or received from another session.
	SessionMessage *SessionMessage `json:"-" acp:"variant=session_message"`
	// One content block appended to a sent or received session message.
	SessionMessageChunk *SessionMessageChunk `json:"-" acp:"variant=session_message_chunk"`
	// Other is the whole object, as received, of a kind that is not known here.
	Other json.RawMessage `json:"-" acp:"other"`
}

// UsageUpdate: context window and cost update for a session.
type UsageUpdate struct {
	// Tokens currently in context.
	Used uint64 `json:"used"`
	// Total context window size in tokens.
	Size uint64 `json:"size"`
	// Cumulative session cost (optional).
	Cost *Cost `json:"cost,omitzero"`
	Meta Meta  `json:"_meta,omitzero"`
}
