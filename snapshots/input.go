package snapshots

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inputVersion is the newest input.json format that this package reads.
const inputVersion = 1

// Input is input.json: what the client does.
type Input struct {
	// Version is the format's version; 0 means 1.
	Version int `json:"version,omitempty"`
	// Description says in a sentence what the scenario proves.
	Description string `json:"description,omitempty"`
	Steps       []Step `json:"steps"`
	// PermissionAnswers answer the agent's questions first in, first out, by
	// option kind. A question with no answer left fails the run.
	PermissionAnswers []PermissionAnswer `json:"permissionAnswers,omitempty"`
	// ElicitationAnswers answer elicitation/create in the same way.
	ElicitationAnswers []ElicitationAnswer `json:"elicitationAnswers,omitempty"`
	// Env is added to the agent's environment, Args to its command line. Both
	// may hold {{cwd}}, {{home}}, {{state}} and {{scenario}}.
	Env  map[string]string `json:"env,omitempty"`
	Args []string          `json:"args,omitempty"`
	// Exit is the exit status that the agent must end with, and Stderr what it
	// must then have said there.
	Exit   int    `json:"exit,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	// Pin compares the system prompt, the tool schemas and all that the agent
	// offers too, which the other scenarios leave out so that a changed word does
	// not touch them all.
	Pin bool `json:"pin,omitempty"`
	// ExactChunks keeps the borders of streamed text on the wire.
	ExactChunks bool `json:"exactChunks,omitempty"`
	// UnknownTool allows a call of a tool that does not exist.
	UnknownTool bool `json:"unknownTool,omitempty"`
}

// PermissionAnswer is an answer to session/request_permission. Kind is an
// option kind, or cancelled.
type PermissionAnswer struct {
	Kind string `json:"kind"`
}

// ElicitationAnswer is an answer to elicitation/create. Action is accept, decline
// or cancel; hold leaves the question open until the agent takes it back or ends
// the turn, when it is answered as cancelled. Content is accept's.
type ElicitationAnswer struct {
	Action  string `json:"action"`
	Content any    `json:"content,omitempty"`
}

// Step is one thing the client does. Op says which fields it takes; the
// package comment lists them.
type Step struct {
	Op string `json:"op"`
	// Session names a session (newSession's ref); the newest when empty.
	Session string `json:"session,omitempty"`
	Ref     string `json:"ref,omitempty"`
	Text    string `json:"text,omitempty"`
	Content any    `json:"content,omitempty"`
	// ClientCapabilities are initialize's; ProtocolVersion is 1 when 0.
	ClientCapabilities any `json:"clientCapabilities,omitempty"`
	ProtocolVersion    int `json:"protocolVersion,omitempty"`
	// Cwd is below the scenario's working directory.
	Cwd                   string   `json:"cwd,omitempty"`
	AdditionalDirectories []string `json:"additionalDirectories,omitempty"`
	MCPServers            any      `json:"mcpServers,omitempty"`
	ExpectErrorCode       *int     `json:"expectErrorCode,omitempty"`
	ExpectStopReason      string   `json:"expectStopReason,omitempty"`
	// What promptAndCancel and cancel wait for first; one of them.
	WaitForFile       *FileRef `json:"waitForFile,omitempty"`
	WaitForText       string   `json:"waitForText,omitempty"`
	WaitForToolCall   string   `json:"waitForToolCall,omitempty"`
	WaitForPermission bool     `json:"waitForPermission,omitempty"`
	WaitForLogEvent   string   `json:"waitForLogEvent,omitempty"`
	// WaitForElicitation waits for one that is answered with hold.
	WaitForElicitation bool `json:"waitForElicitation,omitempty"`
	// WaitForRequest waits until the model was asked so many times in the run.
	WaitForRequest int  `json:"waitForRequest,omitempty"`
	Immediately    bool `json:"immediately,omitempty"`
	// Path is waitForFile's and writeFile's, relative to the working directory.
	Path   string `json:"path,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Type   string `json:"type,omitempty"`
	ModeID string `json:"modeId,omitempty"`
	// ConfigID and Value are setConfigOption's.
	ConfigID string `json:"configId,omitempty"`
	Value    any    `json:"value,omitempty"`
	Line     string `json:"line,omitempty"`
	Expect   any    `json:"expect,omitempty"`
	Method   string `json:"method,omitempty"`
	Params   any    `json:"params,omitempty"`
	// Count is waitForRequest's and waitForLogEvent's, 1 when 0.
	Count int `json:"count,omitempty"`
	// MinimumTurn belongs to the reference's waitForTurnStart.
	MinimumTurn int `json:"minimumTurn,omitempty"`
}

// FileRef names a file in the working directory.
type FileRef struct {
	Path string `json:"path"`
}

var cancelTriggers = []string{"waitForFile", "waitForText", "waitForToolCall", "waitForPermission", "waitForElicitation", "waitForLogEvent", "waitForRequest", "immediately"}

// stepFields lists the fields that each op takes beside op and session.
var stepFields = map[string][]string{
	"initialize":                   {"clientCapabilities", "protocolVersion"},
	"newSession":                   {"ref", "cwd", "additionalDirectories", "mcpServers", "expectErrorCode"},
	"newSessionExpectError":        {"cwd", "additionalDirectories", "mcpServers", "expectErrorCode"},
	"loadSession":                  {"ref", "expectErrorCode"},
	"closeSession":                 {"expectErrorCode"},
	"prompt":                       {"text", "expectStopReason"},
	"promptContent":                {"content", "expectStopReason"},
	"promptExpectError":            {"text", "expectErrorCode"},
	"promptAsync":                  {"text"},
	"promptAndWaitForAgentMessage": {"text", "waitForText"},
	"promptAndCancel":              append([]string{"text"}, cancelTriggers...),
	"cancel":                       cancelTriggers,
	"setMode":                      {"modeId", "expectErrorCode"},
	"setConfigOption":              {"configId", "value", "expectErrorCode"},
	"rawLine":                      {"line", "expect"},
	"request":                      {"method", "params", "expectErrorCode"},
	"notify":                       {"method", "params"},
	"writeFile":                    {"path", "text"},
	"waitForFile":                  {"path"},
	"waitForText":                  {"text"},
	"waitForUpdate":                {"kind"},
	"waitForLogEvent":              {"type", "count"},
	"waitForRequest":               {"count"},
	"waitForTurnStart":             {"minimumTurn"},
	"waitForTurnEnd":               {},
	"closeInput":                   {},
}

// foreignOps are the reference system's (deepseek-harness 0.1.1-rc.2, replay) that
// wait for a part of it.
var foreignOps = map[string]string{
	"waitForSubagentTurnEnd":   "a subagent",
	"waitForGoalPhase":         "a goal",
	"waitForInboxMessage":      "the inbox",
	"waitForTitleAfterTurnEnd": "a title by a model",
	"waitForEventAfterTurnEnd": "a log event",
}

// ParseInput reads input.json. An unknown op, an unknown field or one that the
// op does not take is an error: a misspelt step must not pass for one that did
// nothing.
func ParseInput(data []byte) (*Input, error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	var raw struct {
		Version int                          `json:"version"`
		Steps   []map[string]json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, placed(data, err)
	}
	if raw.Version > inputVersion {
		return nil, fmt.Errorf("input.json has format version %d and this program reads up to %d: use a newer acp-agent", raw.Version, inputVersion)
	}
	if len(raw.Steps) == 0 {
		return nil, fmt.Errorf("input.json has no steps: say what the client does")
	}
	for i, step := range raw.Steps {
		if err := checkStep(step); err != nil {
			return nil, fmt.Errorf("input.json step %d: %w", i+1, err)
		}
	}
	in := new(Input)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(in); err != nil {
		return nil, placed(data, err)
	}
	for i, a := range in.PermissionAnswers {
		switch a.Kind {
		case "allow_once", "allow_always", "reject_once", "reject_always", "cancelled":
		default:
			return nil, fmt.Errorf("input.json permissionAnswers[%d]: unknown kind %q: use allow_once, allow_always, reject_once, reject_always or cancelled", i, a.Kind)
		}
	}
	for i, a := range in.ElicitationAnswers {
		switch a.Action {
		case "accept", "decline", "cancel", "hold":
		default:
			return nil, fmt.Errorf("input.json elicitationAnswers[%d]: unknown action %q: use accept, decline, cancel or hold", i, a.Action)
		}
	}
	return in, nil
}

// byteOrderMark is what some programs of Windows begin a text with.
var byteOrderMark = []byte("\xef\xbb\xbf")

// placed says where in input.json the fault is.
func placed(data []byte, err error) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var at int64
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typ):
		at, err = typ.Offset, fmt.Errorf("%s cannot be of type %s", cmp.Or(typ.Field, "the document"), typ.Value)
	default:
		return fmt.Errorf("input.json: %w", err)
	}
	before := data[:min(int(at), len(data))]
	return fmt.Errorf("input.json line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
}

func checkStep(raw map[string]json.RawMessage) error {
	var op string
	if err := json.Unmarshal(raw["op"], &op); err != nil {
		return fmt.Errorf("it has no op: %w", err)
	}
	fields, ok := stepFields[op]
	if !ok {
		if part := foreignOps[op]; part != "" {
			return fmt.Errorf("op %s waits for %s of the reference system, which this agent does not have: the scenario cannot be replayed", op, part)
		}
		return fmt.Errorf("unknown op %q: use one of %s", op, strings.Join(slices.Sorted(maps.Keys(stepFields)), ", "))
	}
	for key := range raw {
		if key != "op" && key != "session" && !slices.Contains(fields, key) {
			return fmt.Errorf("op %s takes no field %q (it takes %s)", op, key, strings.Join(fields, ", "))
		}
	}
	if op == "promptAndCancel" {
		n := 0
		for _, t := range cancelTriggers {
			if _, ok := raw[t]; ok {
				n++
			}
		}
		if n != 1 {
			return fmt.Errorf("promptAndCancel needs exactly one of %s", strings.Join(cancelTriggers, ", "))
		}
	}
	return nil
}
