package acp

// Questions the agent puts to the person through the client.

import "encoding/json"

// BooleanPropertySchema: schema for boolean properties in an elicitation form.
type BooleanPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Default value.
	Default *bool `json:"default,omitzero"`
	Meta    Meta  `json:"_meta,omitzero"`
}

// CompleteElicitationNotification: notification sent by the agent when a URL-based elicitation is
// complete.
type CompleteElicitationNotification struct {
	// The ID of the elicitation that completed.
	ElicitationID ElicitationId `json:"elicitationId"`
	Meta          Meta          `json:"_meta,omitzero"`
}

// CreateElicitationRequest: request from the agent to elicit structured user input.
//
// It is a union: exactly one of its variant pointers is set, or Other for a kind this package does not know.
type CreateElicitationRequest struct {
	_ struct{} `acp:"union=mode"`
	// A human-readable message describing what input is needed.
	Message string `json:"message"`
	// Form-based elicitation where the client renders a form from the provided schema.
	Form *ElicitationFormMode `json:"-" acp:"variant=form"`
	// URL-based elicitation where the client directs the user to a URL.
	URL *ElicitationUrlMode `json:"-" acp:"variant=url"`
	// Other is the whole object, as received, of a kind that is not known here.
	Other json.RawMessage `json:"-" acp:"other"`
	Meta  Meta            `json:"_meta,omitzero"`
}

// ElicitationFormMode: form-based elicitation mode where the client renders a form from the provided
// schema.
//
// It is a union: exactly one of its variant pointers is set.
type ElicitationFormMode struct {
	_ struct{} `acp:"union="`
	// A JSON Schema describing the form fields to present to the user.
	RequestedSchema ElicitationSchema        `json:"requestedSchema"`
	Session         *ElicitationSessionScope `json:"-" acp:"key=sessionId"`
	Request         *ElicitationRequestScope `json:"-" acp:"key=requestId"`
}

// ElicitationId: unique identifier for an elicitation.
type ElicitationId = string

// ElicitationPropertySchema: property schema for elicitation form fields.
//
// It is a union: exactly one of its variant pointers is set, or Other for a kind this package does not know.
type ElicitationPropertySchema struct {
	_ struct{} `acp:"union=type"`
	// String property (or single-select enum when enum/oneOf is set).
	String *StringPropertySchema `json:"-" acp:"variant=string"`
	// Number (floating-point) property.
	Number *NumberPropertySchema `json:"-" acp:"variant=number"`
	// Integer property.
	Integer *IntegerPropertySchema `json:"-" acp:"variant=integer"`
	// Boolean property.
	Boolean *BooleanPropertySchema `json:"-" acp:"variant=boolean"`
	// Multi-select array property.
	Array *MultiSelectPropertySchema `json:"-" acp:"variant=array"`
	// Other is the whole object, as received, of a kind that is not known here.
	Other json.RawMessage `json:"-" acp:"other"`
}

// ElicitationRequestScope: request-scoped elicitation, tied to a specific JSON-RPC request outside of
// a session (e.g., during auth/configuration phases before any session is started).
type ElicitationRequestScope struct {
	// The request this elicitation is tied to.
	RequestID RequestId `json:"requestId"`
}

// ElicitationSchema: type-safe elicitation schema for requesting structured user input.
type ElicitationSchema struct {
	// Type discriminator. Always "object".
	Type string `json:"type,omitzero"`
	// Optional title for the schema.
	Title string `json:"title,omitzero"`
	// Property definitions (must be primitive types).
	Properties map[string]ElicitationPropertySchema `json:"properties,omitzero" acp:"strict"`
	// List of required property names.
	Required []string `json:"required,omitzero" acp:"strict"`
	// Optional description of what this schema represents.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// ElicitationSessionScope: session-scoped elicitation, optionally tied to a specific tool call.
type ElicitationSessionScope struct {
	// The session this elicitation is tied to.
	SessionID SessionId `json:"sessionId"`
	// Optional tool call within the session.
	ToolCallID ToolCallId `json:"toolCallId,omitzero"`
}

// ElicitationUrlMode: URL-based elicitation mode where the client directs the user to a URL.
//
// It is a union: exactly one of its variant pointers is set.
type ElicitationUrlMode struct {
	_ struct{} `acp:"union="`
	// The unique identifier for this elicitation.
	ElicitationID ElicitationId `json:"elicitationId"`
	// The URL to direct the user to.
	URL     string                   `json:"url"`
	Session *ElicitationSessionScope `json:"-" acp:"key=sessionId"`
	Request *ElicitationRequestScope `json:"-" acp:"key=requestId"`
}

// EnumOption: a titled enum option with a const value, human-readable title, and optional description.
type EnumOption struct {
	// The constant value for this option.
	Const string `json:"const"`
	// Human-readable title for this option.
	Title string `json:"title"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// IntegerPropertySchema: schema for integer properties in an elicitation form.
type IntegerPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum value (inclusive).
	Minimum *int64 `json:"minimum,omitzero" acp:"strict"`
	// Maximum value (inclusive).
	Maximum *int64 `json:"maximum,omitzero" acp:"strict"`
	// Default value.
	Default *int64 `json:"default,omitzero"`
	Meta    Meta   `json:"_meta,omitzero"`
}

// MultiSelectItems: items for a multi-select (array) property schema.
//
// It is a union: exactly one of its variant pointers is set, or Other for a kind this package does not know.
type MultiSelectItems struct {
	_ struct{} `acp:"union=type"`
	// Multi-select string items with plain string values.
	Plain  *StringMultiSelectItems `json:"-" acp:"variant=string"`
	Titled *TitledMultiSelectItems `json:"-" acp:"key=anyOf"`
	// Other is the whole object, as received, of a kind that is not known here.
	Other json.RawMessage `json:"-" acp:"other"`
}

// MultiSelectPropertySchema: schema for multi-select (array) properties in an elicitation form.
type MultiSelectPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum number of items to select.
	MinItems *uint64 `json:"minItems,omitzero" acp:"strict"`
	// Maximum number of items to select.
	MaxItems *uint64 `json:"maxItems,omitzero" acp:"strict"`
	// The items definition describing allowed values.
	Items MultiSelectItems `json:"items"`
	// Default selected values.
	Default []string `json:"default,omitzero" acp:"skip"`
	Meta    Meta     `json:"_meta,omitzero"`
}

// NumberPropertySchema: schema for number (floating-point) properties in an elicitation form.
type NumberPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum value (inclusive).
	Minimum *float64 `json:"minimum,omitzero" acp:"strict"`
	// Maximum value (inclusive).
	Maximum *float64 `json:"maximum,omitzero" acp:"strict"`
	// Default value.
	Default *float64 `json:"default,omitzero"`
	Meta    Meta     `json:"_meta,omitzero"`
}

// StringFormat: string format types for string properties in elicitation schemas.
type StringFormat string

// The values of StringFormat.
const (
	// Email address format.
	StringFormatEmail StringFormat = "email"
	// URI format.
	StringFormatUri StringFormat = "uri"
	// Date format (YYYY-MM-DD).
	StringFormatDate StringFormat = "date"
	// Date-time format (ISO 8601).
	StringFormatDateTime StringFormat = "date-time"
)

// StringMultiSelectItems: string item schema for multi-select enum properties.
type StringMultiSelectItems struct {
	// Allowed enum values.
	Enum []string `json:"enum"`
	Meta Meta     `json:"_meta,omitzero"`
}

// StringPropertySchema: schema for string properties in an elicitation form.
type StringPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum string length.
	MinLength *uint32 `json:"minLength,omitzero" acp:"strict"`
	// Maximum string length.
	MaxLength *uint32 `json:"maxLength,omitzero" acp:"strict"`
	// Pattern the string must match.
	Pattern string `json:"pattern,omitzero" acp:"strict"`
	// String format.
	Format StringFormat `json:"format,omitzero" acp:"strict"`
	// Default value.
	Default *string `json:"default,omitzero"`
	// Enum values for untitled single-select enums. Optional. Omitted and null are equivalent and mean no
	// untitled single-select choices are declared by enum.
	Enum []string `json:"enum,omitzero" acp:"strict"`
	// Titled enum options for titled single-select enums. Optional. Omitted and null are equivalent and
	// mean no titled single-select choices are declared by oneOf.
	OneOf []EnumOption `json:"oneOf,omitzero" acp:"strict"`
	Meta  Meta         `json:"_meta,omitzero"`
}

// TitledMultiSelectItems: items definition for titled multi-select enum properties.
type TitledMultiSelectItems struct {
	// Titled enum options.
	AnyOf []EnumOption `json:"anyOf"`
	Meta  Meta         `json:"_meta,omitzero"`
}
