package acp

// The handshake, capabilities and authentication.

// AgentAuthCapabilities: authentication-related capabilities supported by the agent.
type AgentAuthCapabilities struct {
	// Whether the agent supports the logout method.
	Logout *LogoutCapabilities `json:"logout,omitzero"`
	Meta   Meta                `json:"_meta,omitzero"`
}

// AgentCapabilities: capabilities supported by the agent.
type AgentCapabilities struct {
	// Whether the agent supports session/load.
	LoadSession bool `json:"loadSession,omitzero"`
	// Prompt capabilities supported by the agent.
	PromptCapabilities PromptCapabilities `json:"promptCapabilities,omitzero"`
	// MCP capabilities supported by the agent.
	McpCapabilities McpCapabilities `json:"mcpCapabilities,omitzero"`
	// Session lifecycle and prompt capabilities advertised by the agent.
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities,omitzero"`
	// Authentication-related capabilities supported by the agent.
	Auth AgentAuthCapabilities `json:"auth,omitzero"`
	Meta Meta                  `json:"_meta,omitzero"`
}

// AuthCapabilities: authentication capabilities supported by the client.
type AuthCapabilities struct {
	// Whether the client supports terminal authentication methods.
	Terminal bool `json:"terminal,omitzero"`
	Meta     Meta `json:"_meta,omitzero"`
}

// AuthMethod: describes an available authentication method.
//
// It is a union: exactly one of its variant pointers is set.
type AuthMethod struct {
	_ struct{} `acp:"union=type"`
	// Client runs the configured agent program as a separate interactive process, without passing this
	// method to authenticate.
	Terminal *AuthMethodTerminal `json:"-" acp:"variant=terminal"`
	Agent    *AuthMethodAgent    `json:"-" acp:"variant=agent,default"`
}

// AuthMethodAgent: agent handles authentication itself through authenticate.
type AuthMethodAgent struct {
	// Unique identifier for this authentication method.
	ID AuthMethodId `json:"id"`
	// Human-readable name of the authentication method.
	Name string `json:"name"`
	// Optional human-readable description of this authentication method.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// AuthMethodId: typed identifier used for auth method values on the wire.
type AuthMethodId = string

// AuthMethodTerminal: terminal-based authentication method.
type AuthMethodTerminal struct {
	// Unique identifier for this authentication method.
	ID AuthMethodId `json:"id"`
	// Human-readable name of the authentication method.
	Name string `json:"name"`
	// Optional human-readable description of this authentication method.
	Description string `json:"description,omitzero"`
	// Additional arguments to append to the configured agent invocation for terminal auth.
	Args []string `json:"args,omitzero" acp:"strict"`
	// Additional environment variables to set on the configured agent invocation for terminal auth. These
	// values override same-named variables in the base launch configuration.
	Env  map[string]string `json:"env,omitzero" acp:"strict"`
	Meta Meta              `json:"_meta,omitzero"`
}

// AuthenticateRequest: request parameters for the authenticate method.
type AuthenticateRequest struct {
	// The ID of the authentication method to use. Must be one of the methods advertised in the initialize
	// response.
	MethodID AuthMethodId `json:"methodId"`
	Meta     Meta         `json:"_meta,omitzero"`
}

// AuthenticateResponse: response to the authenticate method.
type AuthenticateResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// BooleanConfigOptionCapabilities: capabilities for boolean session configuration options.
type BooleanConfigOptionCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// ClientCapabilities: capabilities supported by the client.
type ClientCapabilities struct {
	// File system capabilities supported by the client. Determines which file operations the agent can
	// request.
	FS FileSystemCapabilities `json:"fs,omitzero"`
	// Whether the Client support all terminal/* methods.
	Terminal bool `json:"terminal,omitzero"`
	// Session-related capabilities supported by the client.
	Session *ClientSessionCapabilities `json:"session,omitzero"`
	// Authentication capabilities supported by the client. Determines which authentication method types
	// the agent may include in its InitializeResponse.
	Auth AuthCapabilities `json:"auth,omitzero"`
	// Elicitation capabilities supported by the client. Determines which elicitation modes the agent may
	// use.
	Elicitation *ElicitationCapabilities `json:"elicitation,omitzero"`
	// Whether the client supports plan_update and plan_removed session updates.
	Plan *PlanCapabilities `json:"plan,omitzero"`
	// Whether the client understands exposed subagent sessions.
	Subagents *SubagentCapabilities `json:"subagents,omitzero"`
	Meta      Meta                  `json:"_meta,omitzero"`
}

// ClientSessionCapabilities: session-related capabilities supported by the client.
type ClientSessionCapabilities struct {
	// Support for ID-addressed context compaction updates. Omitted or null means unsupported. {}
	// advertises the complete compaction contract.
	Compaction *CompactionCapabilities `json:"compaction,omitzero"`
	// Config option capabilities supported by the client.
	ConfigOptions *SessionConfigOptionsCapabilities `json:"configOptions,omitzero"`
	// Support for live user-facing notice session updates.
	Notices *NoticeCapabilities `json:"notices,omitzero"`
	Meta    Meta                `json:"_meta,omitzero"`
}

// CompactionCapabilities: client support for ID-addressed context compaction updates.
type CompactionCapabilities struct{}

// ElicitationCapabilities: elicitation capabilities supported by the client.
type ElicitationCapabilities struct {
	// Whether the client supports form-based elicitation.
	Form *ElicitationFormCapabilities `json:"form,omitzero"`
	// Whether the client supports URL-based elicitation.
	URL  *ElicitationUrlCapabilities `json:"url,omitzero"`
	Meta Meta                        `json:"_meta,omitzero"`
}

// ElicitationFormCapabilities: form-based elicitation capabilities.
type ElicitationFormCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// ElicitationUrlCapabilities: URL-based elicitation capabilities.
type ElicitationUrlCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// FileSystemCapabilities: file system capabilities that a client may support.
type FileSystemCapabilities struct {
	// Whether the Client supports fs/read_text_file requests.
	ReadTextFile bool `json:"readTextFile,omitzero"`
	// Whether the Client supports fs/write_text_file requests.
	WriteTextFile bool `json:"writeTextFile,omitzero"`
	Meta          Meta `json:"_meta,omitzero"`
}

// Implementation: metadata about the implementation of the client or agent. Describes the name and
// version of an ACP implementation, with an optional title for UI representation.
type Implementation struct {
	// Intended for programmatic or logical use, but can be used as a display name fallback if title isn't
	// present.
	Name string `json:"name"`
	// Intended for UI and end-user contexts and optimized to be human-readable and easily understood.
	Title string `json:"title,omitzero"`
	// Version of the implementation. Can be displayed to the user or used for debugging or metrics
	// purposes. (e.g. "1.0.0").
	Version string `json:"version"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// InitializeRequest: request parameters for the initialize method.
type InitializeRequest struct {
	// The latest protocol version supported by the client.
	ProtocolVersion ProtocolVersion `json:"protocolVersion"`
	// Capabilities supported by the client.
	ClientCapabilities ClientCapabilities `json:"clientCapabilities,omitzero"`
	// Information about the Client name and version sent to the Agent.
	ClientInfo *Implementation `json:"clientInfo,omitzero"`
	Meta       Meta            `json:"_meta,omitzero"`
}

// InitializeResponse: response to the initialize method.
type InitializeResponse struct {
	// The protocol version the client specified if supported by the agent, or the latest protocol version
	// supported by the agent.
	ProtocolVersion ProtocolVersion `json:"protocolVersion"`
	// Capabilities supported by the agent.
	AgentCapabilities AgentCapabilities `json:"agentCapabilities,omitzero"`
	// Authentication methods supported by the agent.
	AuthMethods []AuthMethod `json:"authMethods,omitzero" acp:"skip"`
	// Information about the Agent name and version sent to the Client.
	AgentInfo *Implementation `json:"agentInfo,omitzero"`
	Meta      Meta            `json:"_meta,omitzero"`
}

// LogoutCapabilities: logout capabilities supported by the agent.
type LogoutCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// LogoutRequest: request parameters for the logout method.
type LogoutRequest struct {
	Meta Meta `json:"_meta,omitzero"`
}

// LogoutResponse: response to the logout method.
type LogoutResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// McpCapabilities: MCP capabilities supported by the agent
type McpCapabilities struct {
	// Agent supports http MCP servers.
	Http bool `json:"http,omitzero"`
	// Agent supports sse MCP servers.
	Sse  bool `json:"sse,omitzero"`
	Meta Meta `json:"_meta,omitzero"`
}

// NoticeCapabilities: client support for presenting live notices to the user.
type NoticeCapabilities struct{}

// PlanCapabilities: capabilities for receiving plan_update and plan_removed session updates.
type PlanCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// PromptCapabilities: prompt capabilities supported by the agent in session/prompt requests.
type PromptCapabilities struct {
	// Agent supports image content blocks.
	Image bool `json:"image,omitzero"`
	// Agent supports audio content blocks.
	Audio bool `json:"audio,omitzero"`
	// Agent supports embedded context in session/prompt requests.
	EmbeddedContext bool `json:"embeddedContext,omitzero"`
	Meta            Meta `json:"_meta,omitzero"`
}

// ProtocolVersion: protocol version identifier.
type ProtocolVersion = uint16

// SessionAdditionalDirectoriesCapabilities: capabilities for additional session directories support.
type SessionAdditionalDirectoriesCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionCapabilities: session capabilities supported by the agent.
type SessionCapabilities struct {
	// Whether the agent supports session/list.
	List *SessionListCapabilities `json:"list,omitzero"`
	// Whether the agent supports session/delete.
	Delete *SessionDeleteCapabilities `json:"delete,omitzero"`
	// Whether the agent supports additionalDirectories on supported session lifecycle requests.
	AdditionalDirectories *SessionAdditionalDirectoriesCapabilities `json:"additionalDirectories,omitzero"`
	// Whether the agent supports session/resume.
	Resume *SessionResumeCapabilities `json:"resume,omitzero"`
	// Whether the agent supports session/close.
	Close *SessionCloseCapabilities `json:"close,omitzero"`
	// Whether the agent supports systemPrompt on session lifecycle requests.
	SystemPrompt *SessionSystemPromptCapabilities `json:"systemPrompt,omitzero"`
	// Whether the agent supports session/fork. Unstable: only set where that is switched on.
	Fork *SessionForkCapabilities `json:"fork,omitzero"`
	Meta Meta                     `json:"_meta,omitzero"`
}

// SessionCloseCapabilities: capabilities for the session/close method.
type SessionCloseCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionConfigOptionsCapabilities: session configuration option capabilities supported by the client.
type SessionConfigOptionsCapabilities struct {
	// Whether the client supports boolean session configuration options.
	Boolean *BooleanConfigOptionCapabilities `json:"boolean,omitzero"`
	Meta    Meta                             `json:"_meta,omitzero"`
}

// SessionDeleteCapabilities: capabilities for the session/delete method.
type SessionDeleteCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionListCapabilities: capabilities for the session/list method.
type SessionListCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionResumeCapabilities: capabilities for the session/resume method.
type SessionResumeCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SessionSystemPromptCapabilities: capabilities for client-provided system prompts.
type SessionSystemPromptCapabilities struct {
	// Delivery modes the agent supports in addition to append.
	Mode *SessionSystemPromptModeCapabilities `json:"mode,omitzero"`
	Meta Meta                                 `json:"_meta,omitzero"`
}

// SessionSystemPromptModeCapabilities: system prompt delivery modes the agent supports in addition to
// append.
type SessionSystemPromptModeCapabilities struct {
	// Whether the agent supports override mode.
	Override *SessionSystemPromptOverrideCapabilities `json:"override,omitzero"`
	Meta     Meta                                     `json:"_meta,omitzero"`
}

// SessionSystemPromptOverrideCapabilities: capabilities for the override system prompt mode.
type SessionSystemPromptOverrideCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}

// SubagentCapabilities: capability marker for exposing reusable child sessions as restricted ACP
// sessions.
type SubagentCapabilities struct {
	Meta Meta `json:"_meta,omitzero"`
}
