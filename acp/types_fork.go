package acp

// session/fork is a draft: it is not in Methods, and an agent serves and
// advertises it only where its configuration says so.

// MethodSessionFork makes a new session out of an existing one. Unstable.
const MethodSessionFork = "session/fork"

// SessionForkCapabilities: capabilities for the session/fork method. Unstable.
type SessionForkCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// ForkSessionRequest: request parameters for forking an existing session. Unstable.
type ForkSessionRequest struct {
	// The ID of the session to fork.
	SessionID SessionId `json:"sessionId"`
	// The working directory for this session.
	Cwd string `json:"cwd"`
	// Additional workspace roots of the new session.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero" acp:"strict"`
	// MCP servers to connect to.
	McpServers []McpServer `json:"mcpServers,omitzero" acp:"strict"`
	// System-level instructions for the new session.
	SystemPrompt *SystemPrompt `json:"systemPrompt,omitzero" acp:"strict"`
	Meta         Meta          `json:"_meta,omitzero"`
}

// ForkSessionResponse: response from forking an existing session. Unstable.
type ForkSessionResponse struct {
	// The new session's ID.
	SessionID SessionId `json:"sessionId"`
	// Initial mode state.
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial configuration options.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero" acp:"skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}
