package acp

// The unions implement json.Marshaler and json.Unmarshaler, so that they also work inside types of
// other packages that are encoded by encoding/json. The codec of this package does not need them.

// MarshalJSON implements json.Marshaler.
func (u ContentBlock) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *ContentBlock) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u ToolCallContent) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *ToolCallContent) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u McpServer) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *McpServer) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u AuthMethod) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *AuthMethod) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u SessionConfigOption) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *SessionConfigOption) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u EmbeddedResourceResource) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *EmbeddedResourceResource) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u CreateElicitationRequest) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *CreateElicitationRequest) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u ElicitationFormMode) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *ElicitationFormMode) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u ElicitationUrlMode) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *ElicitationUrlMode) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u ElicitationPropertySchema) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *ElicitationPropertySchema) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u MultiSelectItems) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *MultiSelectItems) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u PlanUpdateContent) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *PlanUpdateContent) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u StateUpdate) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *StateUpdate) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }

// MarshalJSON implements json.Marshaler.
func (u SessionUpdate) MarshalJSON() ([]byte, error) { return Marshal(u) }

// UnmarshalJSON implements json.Unmarshaler.
func (u *SessionUpdate) UnmarshalJSON(data []byte) error { return Unmarshal(data, u) }
