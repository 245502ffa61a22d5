package acp

// Child sessions and messages between sessions (upstream schema 1.34).

import "encoding/json"

// IdleStateUpdate: the child is ready to process another prompt.
type IdleStateUpdate struct {
	// UNSTABLE Token usage for completed foreground work.
	Usage *Usage `json:"usage,omitzero"`
	// Why foreground work stopped. The value selects one of this type's variants, which may add fields of
	// their own.
	StopReason StopReason `json:"stopReason,omitzero"`
	// What failed, with stop reason "error".
	Error *Error `json:"error,omitzero"`
	Meta  Meta   `json:"_meta,omitzero"`
}

// RequiresActionStateUpdate: foreground work is blocked on user action.
type RequiresActionStateUpdate struct {
	Meta Meta `json:"_meta,omitzero"`
}

// RunningStateUpdate: foreground work is in progress.
type RunningStateUpdate struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionCancelCapabilities: capability to cancel work in a subagent session without ending that
// session.
type SessionCancelCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionMessage: an upsert for an inter-session message.
type SessionMessage struct {
	// Identifier of this message within the enclosing session's transcript.
	MessageID MessageId `json:"messageId"`
	// The sending session.
	SenderSessionID Patch[SessionId] `json:"senderSessionId,omitzero"`
	// The receiving session.
	RecipientSessionID Patch[SessionId] `json:"recipientSessionId,omitzero"`
	// On an incoming view, the messageId of the same message's outgoing view in the sender's transcript.
	SenderMessageID Patch[MessageId] `json:"senderMessageId,omitzero"`
	// On an outgoing view, the messageId of the same message's incoming view in the recipient's
	// transcript.
	RecipientMessageID Patch[MessageId] `json:"recipientMessageId,omitzero"`
	// Omitted leaves content unchanged. null or [] clears it. A non-empty array replaces all content.
	Content []ContentBlock `json:"content,omitzero" acp:"skip"`
	Meta    Meta           `json:"_meta,omitzero"`
}

// SessionMessageChunk: a streamed content block of an inter-session message.
type SessionMessageChunk struct {
	// Identifier of this message within the enclosing session's transcript.
	MessageID MessageId `json:"messageId"`
	// A single content block appended to the message.
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitzero"`
}

// StateUpdate: current foreground-work state of a reusable child session.
//
// It is a union: exactly one of its variant pointers is set, or Other for a kind this package does not know.
type StateUpdate struct {
	_ struct{} `acp:"union=state"`
	// Foreground work is in progress.
	Running *RunningStateUpdate `json:"-" acp:"variant=running"`
	// The child is ready to process another prompt.
	Idle *IdleStateUpdate `json:"-" acp:"variant=idle"`
	// Foreground work is blocked on user action.
	RequiresAction *RequiresActionStateUpdate `json:"-" acp:"variant=requires_action"`
	// The Agent cannot currently determine foreground activity.
	Unknown *UnknownStateUpdate `json:"-" acp:"variant=unknown"`
	// Other is the whole object, as received, of a kind that is not known here.
	Other json.RawMessage `json:"-" acp:"other"`
}

// SubagentSessionCapabilities: client-initiated session mutations permitted for a specific subagent
// session.
type SubagentSessionCapabilities struct {
	// Permits the client to cancel this child's current work without ending the session. Omitted or null
	// means unsupported. An object (including {}) means supported.
	Cancel *SessionCancelCapabilities `json:"cancel,omitzero"`
	Meta   Meta                       `json:"_meta,omitzero"`
}

// SubagentUpdate: notification that the enclosing parent session created and owns a child session.
type SubagentUpdate struct {
	// The opaque session ID identifying the child in all ACP messages.
	SessionID SessionId `json:"sessionId"`
	// The parent's human-readable display title for this child. It need not be unique.
	Title Patch[string] `json:"title,omitzero"`
	// The parent's human-readable description of the child's role or purpose.
	Description Patch[string] `json:"description,omitzero"`
	// Client-initiated session mutations permitted for this subagent session.
	Capabilities *SubagentSessionCapabilities `json:"capabilities,omitzero"`
	// Current state snapshot for the child session.
	State *StateUpdate `json:"state,omitzero"`
	// The child's working directory. Must be an absolute path.
	Cwd Patch[string] `json:"cwd,omitzero" acp:"strict"`
	// Additional workspace roots for the child. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"strict"`
	Meta                  Meta     `json:"_meta,omitzero"`
}

// UnknownStateUpdate: the Agent cannot currently determine foreground activity.
type UnknownStateUpdate struct {
	Meta Meta `json:"_meta,omitzero"`
}

// Usage: token usage information for a prompt turn.
type Usage struct {
	// Sum of all token types across session.
	TotalTokens uint64 `json:"totalTokens"`
	// Total input tokens across all turns.
	InputTokens uint64 `json:"inputTokens"`
	// Total output tokens across all turns.
	OutputTokens uint64 `json:"outputTokens"`
	// Total thought/reasoning tokens
	ThoughtTokens *uint64 `json:"thoughtTokens,omitzero"`
	// Total cache read tokens.
	CachedReadTokens *uint64 `json:"cachedReadTokens,omitzero"`
	// Total cache write tokens.
	CachedWriteTokens *uint64 `json:"cachedWriteTokens,omitzero"`
	Meta              Meta    `json:"_meta,omitzero"`
}
