package acp

// Method names. Those of the agent are what a client calls, those of the client what the agent calls.
const (
	MethodInitialize             = "initialize"
	MethodAuthenticate           = "authenticate"
	MethodLogout                 = "logout"
	MethodSessionNew             = "session/new"
	MethodSessionLoad            = "session/load"
	MethodSessionResume          = "session/resume"
	MethodSessionList            = "session/list"
	MethodSessionDelete          = "session/delete"
	MethodSessionClose           = "session/close"
	MethodSessionSetMode         = "session/set_mode"
	MethodSessionSetConfigOption = "session/set_config_option"
	MethodSessionPrompt          = "session/prompt"
	MethodSessionCancel          = "session/cancel"

	MethodSessionUpdate            = "session/update"
	MethodSessionRequestPermission = "session/request_permission"
	MethodFSReadTextFile           = "fs/read_text_file"
	MethodFSWriteTextFile          = "fs/write_text_file"
	MethodTerminalCreate           = "terminal/create"
	MethodTerminalOutput           = "terminal/output"
	MethodTerminalWaitForExit      = "terminal/wait_for_exit"
	MethodTerminalKill             = "terminal/kill"
	MethodTerminalRelease          = "terminal/release"
	MethodElicitationCreate        = "elicitation/create"
	MethodElicitationComplete      = "elicitation/complete"

	MethodCancelRequest = "$/cancel_request"
)

// Side is who serves a method.
type Side string

// The sides. SideProtocol stands for both.
const (
	SideAgent    Side = "agent"
	SideClient   Side = "client"
	SideProtocol Side = "protocol"
)

// Kind tells requests from notifications.
type Kind string

// The kinds.
const (
	KindRequest      Kind = "request"
	KindNotification Kind = "notification"
)

// Method is one row of the method table.
type Method struct {
	Name string
	Side Side
	Kind Kind
	// Gate is the path of the capability of the serving side without which the method must not be
	// called, in the agent's or the client's capability object; empty for the baseline. A gate in
	// parentheses is no capability but something the agent has to have said before.
	Gate string
	// Params and Result name the types in the schema's $defs; a notification has no Result.
	Params, Result string
}

// Methods is the method table of the protocol.
var Methods = []Method{
	{MethodInitialize, SideAgent, KindRequest, "", "InitializeRequest", "InitializeResponse"},
	{MethodAuthenticate, SideAgent, KindRequest, "(authMethods)", "AuthenticateRequest", "AuthenticateResponse"},
	{MethodLogout, SideAgent, KindRequest, "auth.logout", "LogoutRequest", "LogoutResponse"},
	{MethodSessionNew, SideAgent, KindRequest, "", "NewSessionRequest", "NewSessionResponse"},
	{MethodSessionLoad, SideAgent, KindRequest, "loadSession", "LoadSessionRequest", "LoadSessionResponse"},
	{MethodSessionResume, SideAgent, KindRequest, "sessionCapabilities.resume", "ResumeSessionRequest", "ResumeSessionResponse"},
	{MethodSessionList, SideAgent, KindRequest, "sessionCapabilities.list", "ListSessionsRequest", "ListSessionsResponse"},
	{MethodSessionDelete, SideAgent, KindRequest, "sessionCapabilities.delete", "DeleteSessionRequest", "DeleteSessionResponse"},
	{MethodSessionClose, SideAgent, KindRequest, "sessionCapabilities.close", "CloseSessionRequest", "CloseSessionResponse"},
	{MethodSessionSetMode, SideAgent, KindRequest, "(modes)", "SetSessionModeRequest", "SetSessionModeResponse"},
	{MethodSessionSetConfigOption, SideAgent, KindRequest, "(configOptions)", "SetSessionConfigOptionRequest", "SetSessionConfigOptionResponse"},
	{MethodSessionPrompt, SideAgent, KindRequest, "", "PromptRequest", "PromptResponse"},
	{MethodSessionCancel, SideAgent, KindNotification, "", "CancelNotification", ""},

	{MethodSessionUpdate, SideClient, KindNotification, "", "SessionNotification", ""},
	{MethodSessionRequestPermission, SideClient, KindRequest, "", "RequestPermissionRequest", "RequestPermissionResponse"},
	{MethodFSReadTextFile, SideClient, KindRequest, "fs.readTextFile", "ReadTextFileRequest", "ReadTextFileResponse"},
	{MethodFSWriteTextFile, SideClient, KindRequest, "fs.writeTextFile", "WriteTextFileRequest", "WriteTextFileResponse"},
	{MethodTerminalCreate, SideClient, KindRequest, "terminal", "CreateTerminalRequest", "CreateTerminalResponse"},
	{MethodTerminalOutput, SideClient, KindRequest, "terminal", "TerminalOutputRequest", "TerminalOutputResponse"},
	{MethodTerminalWaitForExit, SideClient, KindRequest, "terminal", "WaitForTerminalExitRequest", "WaitForTerminalExitResponse"},
	{MethodTerminalKill, SideClient, KindRequest, "terminal", "KillTerminalRequest", "KillTerminalResponse"},
	{MethodTerminalRelease, SideClient, KindRequest, "terminal", "ReleaseTerminalRequest", "ReleaseTerminalResponse"},
	{MethodElicitationCreate, SideClient, KindRequest, "elicitation", "CreateElicitationRequest", "CreateElicitationResponse"},
	{MethodElicitationComplete, SideClient, KindNotification, "elicitation.url", "CompleteElicitationNotification", ""},

	{MethodCancelRequest, SideProtocol, KindNotification, "", "CancelRequestNotification", ""},
}
