// Package snapshots runs scenarios against a real agent process and compares
// what it did with what is recorded: the wire, the session log, the requests
// that the model was sent and the files it left. Only the model is replayed;
// the connection, the loop, the tools and the hook processes are the real ones.
//
// # A scenario folder
//
//	input.json                 what the client does (see below)
//	session.jsonl              the log: the model's script, and the log expected
//	session.N.jsonl            the same of the further sessions, from 1, as they
//	                           first ask the model
//	stdout.expected.jsonl      the agent's frames, in order
//	requests.expected.jsonl    what the model was sent, request by request
//	files.expected.jsonl       what changed in the working directory; absent: nothing
//	workspace/                 copied into the working directory
//	replay.override.json       replaces or patches the model's script
//	system-prompt.expected.md  with "pin": the system prompt
//	tool-schemas.expected.json with "pin": the tools
//
// workspace/hooks.json is given to the agent as --claude-hooks,
// workspace/codex-hooks.json as --codex-hooks.
//
// # Steps
//
// Each step is an object with an op. Ops on a session take "session", the ref
// of a newSession; without it they mean the newest.
//
//	initialize {clientCapabilities?, protocolVersion?}
//	newSession {ref?, cwd?, additionalDirectories?, mcpServers?, expectErrorCode?}
//	newSessionExpectError {…, expectErrorCode?}
//	loadSession, closeSession {expectErrorCode?}
//	prompt {text, expectStopReason?}    promptContent {content, expectStopReason?}
//	promptExpectError {text, expectErrorCode?}
//	promptAsync {text}                  does not wait for the answer
//	promptAndWaitForAgentMessage {text, waitForText}
//	promptAndCancel {text, and one of waitForFile{path}, waitForText,
//	    waitForToolCall, waitForPermission, waitForElicitation, waitForLogEvent,
//	    waitForRequest,
//	    immediately}
//	cancel {the same, optional}
//	setMode {modeId}   setConfigOption {configId, value}
//	request {method, params, expectErrorCode?}   notify {method, params}
//	rawLine {line, expect?}             expect: members that some later frame has
//	writeFile {path, text?}             as somebody else would, past the agent
//	waitForFile {path}   waitForText {text}   waitForUpdate {kind}
//	waitForLogEvent {type, count?}   waitForRequest {count?}: the model was asked so often
//	waitForTurnStart {minimumTurn?}   waitForTurnEnd
//	closeInput
//
// Strings may hold {{cwd}}, {{home}}, {{state}}, {{scenario}}, {{sessionId}} and
// {{session:REF}}; those of the model's script hold {{cwd}} where it named a file
// by its absolute path. A step waits for frames, files or log lines, never for time;
// the bound on a wait only ends a run that hangs. What is cancelled immediately waits
// for nothing: how much of its turn is in the log by then is chance, so that it is for
// foreign agents, of which the log is not compared.
//
// # The model's script
//
// A script need not be recorded. By hand, session.jsonl is the header and a line
// for each answer; a refresh (Options.Update) makes the whole log of it:
//
//	{"type":"session","version":1,"id":"x","createdAt":"1970-01-01T00:00:00Z","cwd":"{{cwd}}"}
//	{"type":"assistant/message","data":{"turn":1,"step":1,"message":{"role":"assistant","content":[
//	    {"type":"tool-call","id":"c1","name":"read","arguments":"{\"file_path\":\"{{cwd}}/a.txt\"}"}]}}}
//	{"type":"assistant/message","data":{"turn":1,"step":2,"message":{"role":"assistant","content":[
//	    {"type":"text","text":"Done."}]}}}
//
// each on one line; "stop":"refusal" beside "message" ends it otherwise.
// replay.override.json is an array of answers, which replaces the script, or
// {"patches":[{"at":0,"entry":{…}}]}, which replaces single ones, from 0; at may
// be one past the last. An answer is one of
//
//	{"kind":"chunks","chunks":[…]}   as assistant/chunk has them; without a finish the connection breaks
//	{"kind":"throw","message":"…","code":"AUTH"}   a failure; also QUOTA, RATE_LIMIT, SERVER, TIMEOUT, TRANSPORT,
//	    CONTEXT_WINDOW_EXCEEDED, INVALID_REQUEST, EMPTY_RESPONSE, …
//	{"kind":"hang","readyFile":"…"}   nothing more until it is cancelled; the file in the working directory says that it hangs
//
// and {{fromRequest:REGEX}} in a string is the last match in what the model was
// sent.
//
// # What is compared, and how
//
// Paths, ids, times, durations, digests and the version are replaced by tokens,
// ids by first appearance and with one token in all files. What depends on
// timing alone is settled: streamed text is joined on the wire and re-packed in
// the log with its token borders kept, previews of a running tool's output are
// left out, tools that start side by side start in the model's order, a new
// session's command list, and how full it is, stand right behind the answer that
// made it. Each line is compared field by field, member order aside, and reports its
// first difference; lines too few or too many are one.
//
// Some rules hold whatever is recorded, so that a refresh cannot make a fault
// the truth: every line on stdout is JSON-RPC; a turn's updates precede its
// answer, and its tool calls have ended by then; the log folds; every tool call
// has a result; no call names a tool that does not exist; what the model was
// sent, by the session or by a hook of it, is the projection of the log at that
// point and has the logged digest; the
// agent exits as expected, which it does not when a recorded model call is left
// over or one too many was asked for.
//
// # Foreign agents and reference recordings
//
// A foreign agent (Options.Foreign) is held to what any ACP agent shares: clean
// frames, the answers' stop reasons or error codes, and the text of each turn.
// Scenarios that need more of it (hooks, this project's log) are skipped.
// A recording of the reference system (log version 0) is run as it is and
// compared by what it says and what the two systems share; see
// compareReference.
//
// It imports neither loop nor acp: it drives the program from outside.
package snapshots
