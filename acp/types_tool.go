package acp

// Tool calls and the permission to run them.

import "encoding/json"

// Content: standard content block (text, images, resources).
type Content struct {
	// The actual content block.
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitzero"`
}

// Diff: a diff representing file modifications.
type Diff struct {
	// The absolute file path being modified.
	Path string `json:"path"`
	// The original content (omitted or null for new files).
	OldText *string `json:"oldText" acp:"optional"`
	// The new content after modification.
	NewText string `json:"newText"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// PermissionOption: an option presented to the user when requesting permission.
type PermissionOption struct {
	// Unique identifier for this permission option.
	OptionID PermissionOptionId `json:"optionId"`
	// Human-readable label to display to the user.
	Name string `json:"name"`
	// Hint about the nature of this permission option.
	Kind PermissionOptionKind `json:"kind"`
	Meta Meta                 `json:"_meta,omitzero"`
}

// PermissionOptionId: unique identifier for a permission option.
type PermissionOptionId = string

// PermissionOptionKind: the type of permission option being presented to the user.
type PermissionOptionKind string

// The values of PermissionOptionKind.
const (
	// Allow this operation only this time.
	PermissionOptionKindAllowOnce PermissionOptionKind = "allow_once"
	// Allow this operation and remember the choice.
	PermissionOptionKindAllowAlways PermissionOptionKind = "allow_always"
	// Reject this operation only this time.
	PermissionOptionKindRejectOnce PermissionOptionKind = "reject_once"
	// Reject this operation and remember the choice.
	PermissionOptionKindRejectAlways PermissionOptionKind = "reject_always"
)

// RequestPermissionRequest: request for user permission to execute a tool call.
type RequestPermissionRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// Details about the tool call requiring permission.
	ToolCall ToolCallUpdate `json:"toolCall"`
	// Available permission options for the user to choose from.
	Options []PermissionOption `json:"options"`
	Meta    Meta               `json:"_meta,omitzero"`
}

// RequestPermissionResponse: response to a permission request.
type RequestPermissionResponse struct {
	// The user's decision on the permission request.
	Outcome RequestPermissionOutcome `json:"outcome"`
	Meta    Meta                     `json:"_meta,omitzero"`
}

// Terminal: embed a terminal created with terminal/create by its id.
type Terminal struct {
	// Identifier of the terminal instance to embed in the content stream.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// ToolCall: represents a tool call that the language model has requested.
type ToolCall struct {
	// Unique identifier for this tool call within the session.
	ToolCallID ToolCallId `json:"toolCallId"`
	// Human-readable title describing what the tool is doing.
	Title string `json:"title"`
	// Programmatic name of the tool being invoked.
	Name string `json:"name,omitzero"`
	// The category of tool being invoked. Helps clients choose appropriate icons and UI treatment.
	Kind ToolKind `json:"kind,omitzero"`
	// Current execution status of the tool call.
	Status ToolCallStatus `json:"status,omitzero"`
	// Content produced by the tool call.
	Content []ToolCallContent `json:"content,omitzero" acp:"skip"`
	// File locations affected by this tool call. Enables "follow-along" features in clients.
	Locations []ToolCallLocation `json:"locations,omitzero" acp:"skip"`
	// Raw input parameters sent to the tool.
	RawInput json.RawMessage `json:"rawInput,omitzero"`
	// Raw output returned by the tool.
	RawOutput json.RawMessage `json:"rawOutput,omitzero"`
	Meta      Meta            `json:"_meta,omitzero"`
}

// ToolCallContent: content produced by a tool call.
//
// It is a union: exactly one of its variant pointers is set.
type ToolCallContent struct {
	_ struct{} `acp:"union=type"`
	// Standard content block (text, images, resources).
	Content *Content `json:"-" acp:"variant=content"`
	// File modification shown as a diff.
	Diff *Diff `json:"-" acp:"variant=diff"`
	// Embed a terminal created with terminal/create by its id.
	Terminal *Terminal `json:"-" acp:"variant=terminal"`
}

// ToolCallId: unique identifier for a tool call within a session.
type ToolCallId = string

// ToolCallLocation: a file location being accessed or modified by a tool.
type ToolCallLocation struct {
	// The absolute file path being accessed or modified.
	Path string `json:"path"`
	// Optional 1-based line number within the file.
	Line *uint32 `json:"line,omitzero"`
	Meta Meta    `json:"_meta,omitzero"`
}

// ToolCallStatus: execution status of a tool call.
type ToolCallStatus string

// The values of ToolCallStatus.
const (
	// The tool call hasn't started running yet because the input is either streaming or we're awaiting
	// approval.
	ToolCallStatusPending ToolCallStatus = "pending"
	// The tool call is currently running.
	ToolCallStatusInProgress ToolCallStatus = "in_progress"
	// The tool call completed successfully.
	ToolCallStatusCompleted ToolCallStatus = "completed"
	// The tool call failed with an error.
	ToolCallStatusFailed ToolCallStatus = "failed"
)

// ToolCallUpdate: an update to an existing tool call.
type ToolCallUpdate struct {
	// The ID of the tool call being updated.
	ToolCallID ToolCallId `json:"toolCallId"`
	// Update the tool kind.
	Kind ToolKind `json:"kind,omitzero"`
	// Update the execution status.
	Status ToolCallStatus `json:"status,omitzero"`
	// Update the human-readable title.
	Title string `json:"title,omitzero"`
	// Update the programmatic name of the tool being invoked.
	Name string `json:"name,omitzero"`
	// Replace the content collection.
	Content []ToolCallContent `json:"content,omitzero" acp:"skip"`
	// Replace the locations collection.
	Locations []ToolCallLocation `json:"locations,omitzero" acp:"skip"`
	// Update the raw input.
	RawInput json.RawMessage `json:"rawInput,omitzero"`
	// Update the raw output.
	RawOutput json.RawMessage `json:"rawOutput,omitzero"`
	Meta      Meta            `json:"_meta,omitzero"`
}

// ToolKind: categories of tools that can be invoked.
type ToolKind string

// The values of ToolKind.
const (
	// Reading files or data.
	ToolKindRead ToolKind = "read"
	// Modifying files or content.
	ToolKindEdit ToolKind = "edit"
	// Removing files or data.
	ToolKindDelete ToolKind = "delete"
	// Moving or renaming files.
	ToolKindMove ToolKind = "move"
	// Searching for information.
	ToolKindSearch ToolKind = "search"
	// Running commands or code.
	ToolKindExecute ToolKind = "execute"
	// Internal reasoning or planning.
	ToolKindThink ToolKind = "think"
	// Retrieving external data.
	ToolKindFetch ToolKind = "fetch"
	// Switching the current session mode.
	ToolKindSwitchMode ToolKind = "switch_mode"
	// Other tool types (default).
	ToolKindOther ToolKind = "other"
)
