package acp

// Files and terminals that the client serves.

// CreateTerminalRequest: request to create a new terminal and execute a command.
type CreateTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// The command to execute.
	Command string `json:"command"`
	// Array of command arguments.
	Args []string `json:"args,omitzero" acp:"strict"`
	// Environment variables for the command.
	Env []EnvVariable `json:"env,omitzero" acp:"strict"`
	// Working directory for the command. Must be an absolute path.
	Cwd string `json:"cwd,omitzero" acp:"strict"`
	// Maximum number of output bytes to retain.
	OutputByteLimit *uint64 `json:"outputByteLimit,omitzero" acp:"strict"`
	Meta            Meta    `json:"_meta,omitzero"`
}

// CreateTerminalResponse: response containing the ID of the created terminal.
type CreateTerminalResponse struct {
	// The unique identifier for the created terminal.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// KillTerminalRequest: request to kill a terminal without releasing it.
type KillTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// The ID of the terminal to kill.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// KillTerminalResponse: response to terminal/kill method
type KillTerminalResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// ReadTextFileRequest: request to read content from a text file.
type ReadTextFileRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// Absolute path to the file to read.
	Path string `json:"path"`
	// Line number to start reading from (1-based).
	Line *uint32 `json:"line,omitzero" acp:"strict"`
	// Maximum number of lines to read.
	Limit *uint32 `json:"limit,omitzero" acp:"strict"`
	Meta  Meta    `json:"_meta,omitzero"`
}

// ReadTextFileResponse: response containing the contents of a text file.
type ReadTextFileResponse struct {
	// Content payload returned by this response.
	Content string `json:"content"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// ReleaseTerminalRequest: request to release a terminal and free its resources.
type ReleaseTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// The ID of the terminal to release.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// ReleaseTerminalResponse: response to terminal/release method
type ReleaseTerminalResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}

// TerminalExitStatus: exit status of a terminal command.
type TerminalExitStatus struct {
	// The process exit code (may be null if terminated by signal).
	ExitCode *uint32 `json:"exitCode,omitzero"`
	// The signal that terminated the process (may be null if exited normally).
	Signal string `json:"signal,omitzero"`
	Meta   Meta   `json:"_meta,omitzero"`
}

// TerminalId: typed identifier used for terminal values on the wire.
type TerminalId = string

// TerminalOutputRequest: request to get the current output and status of a terminal.
type TerminalOutputRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// The ID of the terminal to get output from.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// TerminalOutputResponse: response containing the terminal output and exit status.
type TerminalOutputResponse struct {
	// The terminal output captured so far.
	Output string `json:"output"`
	// Whether the output was truncated due to byte limits.
	Truncated bool `json:"truncated" acp:"absent"`
	// Exit status if the command has completed.
	ExitStatus *TerminalExitStatus `json:"exitStatus,omitzero"`
	Meta       Meta                `json:"_meta,omitzero"`
}

// WaitForTerminalExitRequest: request to wait for a terminal command to exit.
type WaitForTerminalExitRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// The ID of the terminal to wait for.
	TerminalID TerminalId `json:"terminalId"`
	Meta       Meta       `json:"_meta,omitzero"`
}

// WaitForTerminalExitResponse: response containing the exit status of a terminal command.
type WaitForTerminalExitResponse struct {
	// The process exit code (may be null if terminated by signal).
	ExitCode *uint32 `json:"exitCode,omitzero"`
	// The signal that terminated the process (may be null if exited normally).
	Signal string `json:"signal,omitzero"`
	Meta   Meta   `json:"_meta,omitzero"`
}

// WriteTextFileRequest: request to write content to a text file.
type WriteTextFileRequest struct {
	// The session ID for this request.
	SessionID SessionId `json:"sessionId"`
	// Absolute path to the file to write.
	Path string `json:"path"`
	// The text content to write to the file.
	Content string `json:"content"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// WriteTextFileResponse: response to fs/write_text_file
type WriteTextFileResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}
