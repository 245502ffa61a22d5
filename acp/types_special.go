package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Meta is the `_meta` object that every protocol type carries. The protocol says nothing about its
// keys but that traceparent, tracestate and baggage are those of W3C trace context.
type Meta = map[string]any

// RequestId is the id of a JSON-RPC request, kept as the bytes that came over the wire: a string, an
// integer or null.
type RequestId = json.RawMessage

// ProtocolVersionCurrent is the newest protocol version that this package speaks.
const ProtocolVersionCurrent ProtocolVersion = 1

// Patch is an optional field with three states: left out (the zero value, "unchanged"), null
// ("clear it") and a value, which Set makes.
type Patch[T any] struct {
	Value *T
	Null  bool
}

// Set returns a Patch that replaces the value by v.
func Set[T any](v T) Patch[T] { return Patch[T]{Value: &v} }

// MarshalJSON implements json.Marshaler; a Patch that is left out altogether needs omitzero.
func (p Patch[T]) MarshalJSON() ([]byte, error) {
	if p.Value == nil {
		return []byte("null"), nil
	}
	return Marshal(*p.Value)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Patch[T]) UnmarshalJSON(data []byte) error {
	*p = Patch[T]{}
	if string(data) == "null" {
		p.Null = true
		return nil
	}
	var v T
	if err := Unmarshal(data, &v); err != nil {
		return err
	}
	p.Value = &v
	return nil
}

// UnstructuredCommandInput: all text that was typed after the command name is its input.
type UnstructuredCommandInput struct {
	// A hint to display when the input has not been provided yet.
	Hint string `json:"hint"`
	Meta Meta   `json:"_meta,omitzero"`
}

// AvailableCommandInput is the input of a command; the protocol has one form of it so far.
type AvailableCommandInput = UnstructuredCommandInput

// RequestPermissionOutcome: what the person, or the client for them, decided. It folds the schema's
// variants (SelectedPermissionOutcome among them) into one flat type: OptionID is set if and only if
// Outcome is OutcomeSelected.
type RequestPermissionOutcome struct {
	Outcome  PermissionOutcome  `json:"outcome"`
	OptionID PermissionOptionId `json:"optionId,omitzero" acp:"strict"`
	Meta     Meta               `json:"_meta,omitzero"`
}

// check refuses what is neither a choice nor a cancellation: nothing may run on an answer that is not
// understood.
func (o *RequestPermissionOutcome) check() error {
	switch {
	case o.Outcome == OutcomeSelected && o.OptionID == "":
		return fieldErrorf("optionId", "missing; it is required with outcome \"selected\"")
	case o.Outcome != OutcomeSelected && o.Outcome != OutcomeCancelled:
		return fieldErrorf("outcome", "unknown value %.60q; want \"selected\" or \"cancelled\"", string(o.Outcome))
	}
	return nil
}

// PermissionOutcome is the discriminator of RequestPermissionOutcome.
type PermissionOutcome string

// The values of PermissionOutcome.
const (
	// OutcomeSelected: one of the offered options was chosen.
	OutcomeSelected PermissionOutcome = "selected"
	// OutcomeCancelled: the prompt turn was cancelled before an answer was given.
	OutcomeCancelled PermissionOutcome = "cancelled"
)

// CreateElicitationResponse is the client's answer to elicitation/create. It folds the schema's
// variants (ElicitationAcceptAction among them) into one flat type. An unknown action must not be
// taken for ElicitationAccept.
type CreateElicitationResponse struct {
	Action ElicitationAction `json:"action"`
	// Content holds the accepted values by property name: string, float64, bool or []any of strings.
	Content map[string]any `json:"content,omitzero" acp:"strict"`
	Meta    Meta           `json:"_meta,omitzero"`
}

// ElicitationAction is the discriminator of CreateElicitationResponse; the set is open.
type ElicitationAction string

// The known values of ElicitationAction.
const (
	ElicitationAccept  ElicitationAction = "accept"
	ElicitationDecline ElicitationAction = "decline"
	ElicitationCancel  ElicitationAction = "cancel"
)

// SetSessionConfigOptionRequest: set one configuration option of a session.
type SetSessionConfigOptionRequest struct {
	SessionID SessionId       `json:"sessionId"`
	ConfigID  SessionConfigId `json:"configId"`
	// Type is "boolean" for a boolean option and empty for a select option.
	Type string `json:"type,omitzero" acp:"strict"`
	// Value is a boolean with Type "boolean", else the id of one of the option's values.
	Value SessionConfigOptionValue `json:"value"`
	Meta  Meta                     `json:"_meta,omitzero"`
}

// check refuses a value whose JSON type is not the one that Type asks for.
func (r *SetSessionConfigOptionRequest) check() error {
	if (r.Type == "boolean") != (r.Value.Bool != nil) {
		if r.Type == "boolean" {
			return fieldErrorf("value", "want a boolean for type \"boolean\"")
		}
		return fieldErrorf("value", "want a string, the id of one of the option's values; a boolean needs type \"boolean\"")
	}
	return nil
}

// SessionConfigOptionValue is a string (the id of a select option's value) or a boolean.
type SessionConfigOptionValue struct {
	ID   SessionConfigValueId
	Bool *bool
}

// MarshalJSON implements json.Marshaler.
func (v SessionConfigOptionValue) MarshalJSON() ([]byte, error) {
	if v.Bool != nil {
		return json.Marshal(*v.Bool)
	}
	return appendString(nil, v.ID), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *SessionConfigOptionValue) UnmarshalJSON(data []byte) error {
	*v = SessionConfigOptionValue{}
	switch {
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, &v.ID)
	case string(data) == "true" || string(data) == "false":
		b := data[0] == 't'
		v.Bool = &b
		return nil
	}
	return fmt.Errorf("want a string or a boolean, got %s", kindOf(data))
}

// SessionConfigSelectOptions are the values a select option offers: a flat list or groups, not both.
type SessionConfigSelectOptions struct {
	Ungrouped []SessionConfigSelectOption
	Grouped   []SessionConfigSelectGroup
}

// MarshalJSON implements json.Marshaler.
func (o SessionConfigSelectOptions) MarshalJSON() ([]byte, error) {
	if len(o.Grouped) > 0 {
		return Marshal(o.Grouped)
	}
	if o.Ungrouped == nil {
		return []byte("[]"), nil
	}
	return Marshal(o.Ungrouped)
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *SessionConfigSelectOptions) UnmarshalJSON(data []byte) error {
	*o = SessionConfigSelectOptions{}
	var probe []struct {
		Group *string `json:"group"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return fmt.Errorf("want an array of options or groups, got %s", kindOf(bytes.TrimSpace(data)))
	}
	if len(probe) > 0 && probe[0].Group != nil {
		return Unmarshal(data, &o.Grouped)
	}
	return Unmarshal(data, &o.Ungrouped)
}

// TextBlock returns a text content block.
func TextBlock(text string) ContentBlock { return ContentBlock{Text: &TextContent{Text: text}} }

// ToolContent wraps a content block for use in a tool call.
func ToolContent(b ContentBlock) ToolCallContent {
	return ToolCallContent{Content: &Content{Content: b}}
}
