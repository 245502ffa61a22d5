package acp

// Modes and configuration options of a session.

// SessionConfigBoolean: a boolean on/off toggle session configuration option payload.
type SessionConfigBoolean struct {
	// The current value of the boolean option.
	CurrentValue bool `json:"currentValue"`
}

// SessionConfigGroupId: unique identifier for a session configuration option value group.
type SessionConfigGroupId = string

// SessionConfigId: unique identifier for a session configuration option.
type SessionConfigId = string

// SessionConfigOption: a session configuration option selector and its current state.
//
// It is a union: exactly one of its variant pointers is set.
type SessionConfigOption struct {
	_ struct{} `acp:"union=type"`
	// Unique identifier for the configuration option.
	ID SessionConfigId `json:"id"`
	// Human-readable label for the option.
	Name string `json:"name"`
	// Optional description for the Client to display to the user.
	Description string `json:"description,omitzero"`
	// Optional semantic category for this option (UX only).
	Category SessionConfigOptionCategory `json:"category,omitzero"`
	// Single-value selector (dropdown).
	Select *SessionConfigSelect `json:"-" acp:"variant=select"`
	// Boolean on/off toggle.
	Boolean *SessionConfigBoolean `json:"-" acp:"variant=boolean"`
	Meta    Meta                  `json:"_meta,omitzero"`
}

// SessionConfigOptionCategory: semantic category for a session configuration option.
type SessionConfigOptionCategory string

// The values of SessionConfigOptionCategory.
const (
	// Session mode selector.
	SessionConfigOptionCategoryMode SessionConfigOptionCategory = "mode"
	// Model selector.
	SessionConfigOptionCategoryModel SessionConfigOptionCategory = "model"
	// Model-related configuration parameter.
	SessionConfigOptionCategoryModelConfig SessionConfigOptionCategory = "model_config"
	// Thought/reasoning level selector.
	SessionConfigOptionCategoryThoughtLevel SessionConfigOptionCategory = "thought_level"
)

// SessionConfigSelect: a single-value selector (dropdown) session configuration option payload.
type SessionConfigSelect struct {
	// The currently selected value.
	CurrentValue SessionConfigValueId `json:"currentValue"`
	// The set of selectable options.
	Options SessionConfigSelectOptions `json:"options"`
}

// SessionConfigSelectGroup: a group of possible values for a session configuration option.
type SessionConfigSelectGroup struct {
	// Unique identifier for this group.
	Group SessionConfigGroupId `json:"group"`
	// Human-readable label for this group.
	Name string `json:"name"`
	// The set of option values in this group.
	Options []SessionConfigSelectOption `json:"options" acp:"lenient,skip"`
	Meta    Meta                        `json:"_meta,omitzero"`
}

// SessionConfigSelectOption: a possible value for a session configuration option.
type SessionConfigSelectOption struct {
	// Unique identifier for this option value.
	Value SessionConfigValueId `json:"value"`
	// Human-readable label for this option value.
	Name string `json:"name"`
	// Optional description for this option value.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// SessionConfigValueId: unique identifier for a session configuration option value.
type SessionConfigValueId = string

// SessionMode: a mode the agent can operate in.
type SessionMode struct {
	// Stable identifier used to refer to this protocol object in later messages.
	ID SessionModeId `json:"id"`
	// Human-readable name shown for this protocol object.
	Name string `json:"name"`
	// Optional human-readable details shown with this protocol object.
	Description string `json:"description,omitzero"`
	Meta        Meta   `json:"_meta,omitzero"`
}

// SessionModeId: unique identifier for a Session Mode.
type SessionModeId = string

// SessionModeState: the set of modes and the one currently active.
type SessionModeState struct {
	// The current mode the Agent is in.
	CurrentModeID SessionModeId `json:"currentModeId"`
	// The set of modes that the Agent can operate in
	AvailableModes []SessionMode `json:"availableModes" acp:"lenient,skip"`
	Meta           Meta          `json:"_meta,omitzero"`
}

// SetSessionConfigOptionResponse: response to session/set_config_option method.
type SetSessionConfigOptionResponse struct {
	// The full set of configuration options and their current values.
	ConfigOptions []SessionConfigOption `json:"configOptions" acp:"lenient,skip"`
	Meta          Meta                  `json:"_meta,omitzero"`
}

// SetSessionModeRequest: request parameters for setting a session mode.
type SetSessionModeRequest struct {
	// The ID of the session to set the mode for.
	SessionID SessionId `json:"sessionId"`
	// The ID of the mode to set.
	ModeID SessionModeId `json:"modeId"`
	Meta   Meta          `json:"_meta,omitzero"`
}

// SetSessionModeResponse: response to session/set_mode method.
type SetSessionModeResponse struct {
	Meta Meta `json:"_meta,omitzero"`
}
