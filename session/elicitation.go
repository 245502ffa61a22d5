package session

import "encoding/json"

// ElicitAsked records a question that an MCP server has put to the person
// (MCP specification, client features, elicitation). It is followed by an
// ElicitAnswered of the same id.
type ElicitAsked struct {
	Turn int `json:"turn"`
	// CallID is the tool call that the server asks for, where that is known.
	CallID string `json:"callId,omitempty"`
	// ID names the question in this log and towards the client.
	ID     string `json:"id"`
	Server string `json:"server"`
	// Mode is form or url.
	Mode    string `json:"mode"`
	Message string `json:"message"`
	// Schema is a form's requestedSchema, as the server sent it.
	Schema json.RawMessage `json:"schema,omitempty"`
	// URL is where the person is to go, ElicitationID the server's own id for it.
	URL           string `json:"url,omitempty"`
	ElicitationID string `json:"elicitationId,omitempty"`
}

// ElicitAnswered records what became of an ElicitAsked. Where a hook changes the
// person's answer there are two of an id, and the last one is what the server was
// told.
type ElicitAnswered struct {
	Turn   int    `json:"turn"`
	CallID string `json:"callId,omitempty"`
	ID     string `json:"id"`
	// Action is accept, decline or cancel; error where the question could not be
	// shown, which Reason explains.
	Action string `json:"action"`
	// Content is what was filled in, by the names of the form's fields.
	Content json.RawMessage `json:"content,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	// Source says who answered: user, hook or agent.
	Source Source `json:"source"`
}

// EventType implements Data.
func (*ElicitAsked) EventType() Type { return TypeElicitAsked }

// EventType implements Data.
func (*ElicitAnswered) EventType() Type { return TypeElicitAnswered }
