package acp

// Setting up, prompting and ending sessions.

// CancelNotification: notification to cancel ongoing operations for a session.
type CancelNotification struct {
	// The ID of the session to cancel operations for.
	SessionID SessionId `json:"sessionId"`
	Meta      Meta      `json:"_meta,omitzero"`
}

// CancelRequestNotification: notification to cancel an ongoing request.
type CancelRequestNotification struct {
	// The ID of the request to cancel.
	RequestID RequestId `json:"requestId"`
	Meta      Meta      `json:"_meta,omitzero"`
}

// CloseSessionRequest: request parameters for closing an active session.
type CloseSessionRequest struct {
	// The ID of the session to close.
	SessionID SessionId `json:"sessionId"`
	Meta      Meta      `json:"_meta,omitzero"`
}

// CloseSessionResponse: response from closing a session.
type CloseSessionResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// DeleteSessionRequest: request parameters for deleting an existing session from session/list.
type DeleteSessionRequest struct {
	// The ID of the session to delete.
	SessionID SessionId `json:"sessionId"`
	Meta      Meta      `json:"_meta,omitzero"`
}

// DeleteSessionResponse: response from deleting a session.
type DeleteSessionResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// EnvVariable: an environment variable to set when launching an MCP server.
type EnvVariable struct {
	// The name of the environment variable.
	Name string `json:"name"`
	// The value to set for the environment variable.
	Value string `json:"value"`
	Meta  Meta   `json:"_meta,omitzero"`
}

// HttpHeader: an HTTP header to set when making requests to the MCP server.
type HttpHeader struct {
	// The name of the HTTP header.
	Name string `json:"name"`
	// The value to set for the HTTP header.
	Value string `json:"value"`
	Meta  Meta   `json:"_meta,omitzero"`
}

// ListSessionsRequest: request parameters for listing existing sessions.
type ListSessionsRequest struct {
	// Filter sessions by working directory. Must be an absolute path.
	Cwd string `json:"cwd,omitzero" acp:"strict"`
	// Opaque cursor token from a previous response's nextCursor field for cursor-based pagination
	Cursor string `json:"cursor,omitzero" acp:"strict"`
	Meta   Meta   `json:"_meta,omitzero"`
}

// ListSessionsResponse: response from listing sessions.
type ListSessionsResponse struct {
	// Array of session information objects
	Sessions []SessionInfo `json:"sessions" acp:"lenient,skip"`
	// Opaque cursor token. If present, pass this in the next request's cursor parameter to fetch the next
	// page. If absent, there are no more results.
	NextCursor string `json:"nextCursor,omitzero"`
	Meta       Meta   `json:"_meta,omitzero"`
}

// LoadSessionRequest: request parameters for loading an existing session.
type LoadSessionRequest struct {
	// List of MCP servers to connect to for this session.
	McpServers []McpServer `json:"mcpServers" acp:"null,absent"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots to activate for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"strict"`
	// The ID of the session to load.
	SessionID SessionId `json:"sessionId"`
	// System-level instructions for the loaded session.
	SystemPrompt *SystemPrompt `json:"systemPrompt,omitzero" acp:"strict"`
	Meta         Meta          `json:"_meta,omitzero"`
}

// LoadSessionResponse: response from loading an existing session.
type LoadSessionResponse struct {
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero" acp:"skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}

// McpServer: configuration for connecting to an MCP (Model Context Protocol) server.
//
// It is a union: exactly one of its variant pointers is set.
type McpServer struct {
	_ struct{} `acp:"union=type"`
	// HTTP transport configuration
	HTTP *McpServerHttp `json:"-" acp:"variant=http"`
	// SSE transport configuration
	SSE   *McpServerSse   `json:"-" acp:"variant=sse"`
	Stdio *McpServerStdio `json:"-" acp:"variant=stdio,default"`
}

// McpServerHttp: HTTP transport configuration for MCP.
type McpServerHttp struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// URL to the MCP server.
	URL string `json:"url"`
	// HTTP headers to set when making requests to the MCP server.
	Headers []HttpHeader `json:"headers" acp:"null,absent"`
	Meta    Meta         `json:"_meta,omitzero"`
}

// McpServerSse: SSE transport configuration for MCP.
type McpServerSse struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// URL to the MCP server.
	URL string `json:"url"`
	// HTTP headers to set when making requests to the MCP server.
	Headers []HttpHeader `json:"headers" acp:"null,absent"`
	Meta    Meta         `json:"_meta,omitzero"`
}

// McpServerStdio: stdio transport configuration for MCP.
type McpServerStdio struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// Absolute path to the MCP server executable.
	Command string `json:"command"`
	// Command-line arguments to pass to the MCP server.
	Args []string `json:"args" acp:"null,absent"`
	// Environment variables to set when launching the MCP server.
	Env  []EnvVariable `json:"env" acp:"null,absent"`
	Meta Meta          `json:"_meta,omitzero"`
}

// MessageId: unique identifier for a message within a session.
type MessageId = string

// NewSessionRequest: request parameters for creating a new session.
type NewSessionRequest struct {
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"strict"`
	// List of MCP (Model Context Protocol) servers the agent should connect to.
	McpServers []McpServer `json:"mcpServers" acp:"null,absent"`
	// System-level instructions for the new session.
	SystemPrompt *SystemPrompt `json:"systemPrompt,omitzero" acp:"strict"`
	Meta         Meta          `json:"_meta,omitzero"`
}

// NewSessionResponse: response from creating a new session.
type NewSessionResponse struct {
	// Unique identifier for the created session.
	SessionID SessionId `json:"sessionId"`
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero" acp:"skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}

// PromptRequest: request parameters for sending a user prompt to the agent.
type PromptRequest struct {
	// The ID of the session to send this user message to
	SessionID SessionId `json:"sessionId"`
	// The blocks of content that compose the user's message.
	Prompt []ContentBlock `json:"prompt"`
	Meta   Meta           `json:"_meta,omitzero"`
}

// PromptResponse: response from processing a user prompt.
type PromptResponse struct {
	// Indicates why the agent stopped processing the turn.
	StopReason StopReason `json:"stopReason"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// ResumeSessionRequest: request parameters for resuming an existing session.
type ResumeSessionRequest struct {
	// The ID of the session to resume.
	SessionID SessionId `json:"sessionId"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots to activate for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"strict"`
	// List of MCP servers to connect to for this session.
	McpServers []McpServer `json:"mcpServers,omitzero" acp:"strict"`
	// System-level instructions for the resumed session.
	SystemPrompt *SystemPrompt `json:"systemPrompt,omitzero" acp:"strict"`
	Meta         Meta          `json:"_meta,omitzero"`
}

// ResumeSessionResponse: response from resuming an existing session.
type ResumeSessionResponse struct {
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero" acp:"skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}

// SessionId: a unique identifier for a conversation session between a client and agent.
type SessionId = string

// SessionInfo: information about a session returned by session/list
type SessionInfo struct {
	// Unique identifier for the session
	SessionID SessionId `json:"sessionId"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots reported for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"skip"`
	// Human-readable title for the session
	Title string `json:"title,omitzero"`
	// ISO 8601 timestamp of last activity
	UpdatedAt string `json:"updatedAt,omitzero"`
	Meta      Meta   `json:"_meta,omitzero"`
}

// StopReason: reasons why an agent stops processing a prompt turn.
type StopReason string

// The values of StopReason.
const (
	// The turn ended successfully.
	StopReasonEndTurn StopReason = "end_turn"
	// The turn ended because the agent reached the maximum number of tokens.
	StopReasonMaxTokens StopReason = "max_tokens"
	// The turn ended because the agent reached the maximum number of allowed agent requests between user
	// turns.
	StopReasonMaxTurnRequests StopReason = "max_turn_requests"
	// The turn ended because the agent refused to continue. The user prompt and everything that comes
	// after it won't be included in the next prompt, so this should be reflected in the UI.
	StopReasonRefusal StopReason = "refusal"
	// The turn was cancelled by the client via session/cancel.
	StopReasonCancelled StopReason = "cancelled"
)

// SystemPrompt: client-provided system-level instructions for a session.
type SystemPrompt struct {
	// How the Agent combines content with its own instructions.
	Mode SystemPromptMode `json:"mode"`
	// The system prompt content.
	Content []ContentBlock `json:"content"`
	Meta    Meta           `json:"_meta,omitzero"`
}

// SystemPromptMode: how the Agent combines a client-provided system prompt with its own instructions.
type SystemPromptMode string

// The values of SystemPromptMode.
const (
	// Add the content to the Agent's own instructions rather than replacing them.
	SystemPromptModeAppend SystemPromptMode = "append"
	// Replace the Agent's built-in default instructions with the content.
	SystemPromptModeOverride SystemPromptMode = "override"
)
