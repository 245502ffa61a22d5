package acp

// Blocks of content, shared by prompts, messages and tool calls.

// Annotations: optional annotations for the client. The client can use annotations to inform how
// objects are used or displayed
type Annotations struct {
	// Intended recipients for this content, such as the user or assistant.
	Audience []Role `json:"audience,omitzero" acp:"skip"`
	// Timestamp indicating when the underlying resource was last modified.
	LastModified string `json:"lastModified,omitzero"`
	// Relative importance of this content when clients choose what to surface.
	Priority *float64 `json:"priority,omitzero"`
	Meta     Meta     `json:"_meta,omitzero"`
}

// AudioContent: audio provided to or from an LLM.
type AudioContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Base64-encoded media payload.
	Data string `json:"data"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType"`
	Meta     Meta   `json:"_meta,omitzero"`
}

// BlobResourceContents: binary resource contents.
type BlobResourceContents struct {
	// Base64-encoded bytes for a binary resource payload.
	Blob string `json:"blob"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType,omitzero"`
	// URI associated with this resource or media payload.
	URI  string `json:"uri"`
	Meta Meta   `json:"_meta,omitzero"`
}

// ContentBlock: content blocks represent displayable information in the Agent Client Protocol.
//
// It is a union: exactly one of its variant pointers is set.
type ContentBlock struct {
	_ struct{} `acp:"union=type"`
	// Text content. May be plain text or formatted with Markdown.
	Text *TextContent `json:"-" acp:"variant=text"`
	// Images for visual context or analysis.
	Image *ImageContent `json:"-" acp:"variant=image"`
	// Audio data for transcription or analysis.
	Audio *AudioContent `json:"-" acp:"variant=audio"`
	// References to resources that the agent can access.
	ResourceLink *ResourceLink `json:"-" acp:"variant=resource_link"`
	// Complete resource contents embedded directly in the message.
	Resource *EmbeddedResource `json:"-" acp:"variant=resource"`
}

// EmbeddedResource: the contents of a resource, embedded into a prompt or tool call result.
type EmbeddedResource struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Embedded resource payload, either text or binary data.
	Resource EmbeddedResourceResource `json:"resource"`
	Meta     Meta                     `json:"_meta,omitzero"`
}

// EmbeddedResourceResource: resource content that can be embedded in a message.
//
// It is a union: exactly one of its variant pointers is set.
type EmbeddedResourceResource struct {
	_    struct{}              `acp:"union="`
	Text *TextResourceContents `json:"-" acp:"key=text"`
	Blob *BlobResourceContents `json:"-" acp:"key=blob"`
}

// ImageContent: an image provided to or from an LLM.
type ImageContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Base64-encoded media payload.
	Data string `json:"data"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType"`
	// URI associated with this resource or media payload.
	URI  string `json:"uri,omitzero"`
	Meta Meta   `json:"_meta,omitzero"`
}

// ResourceLink: a resource that the server is capable of reading, included in a prompt or tool call
// result.
type ResourceLink struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Optional human-readable details shown with this protocol object.
	Description string `json:"description,omitzero"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType,omitzero"`
	// Human-readable name shown for this protocol object.
	Name string `json:"name"`
	// Optional size of the linked resource in bytes, if known.
	Size *int64 `json:"size,omitzero"`
	// Optional display title for end-user UI.
	Title string `json:"title,omitzero"`
	// URI associated with this resource or media payload.
	URI  string `json:"uri"`
	Meta Meta   `json:"_meta,omitzero"`
}

// Role: the sender or recipient of messages and data in a conversation.
type Role string

// The values of Role.
const (
	// The assistant side of a conversation.
	RoleAssistant Role = "assistant"
	// The user side of a conversation.
	RoleUser Role = "user"
)

// TextContent: text provided to or from an LLM.
type TextContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Text payload carried by this content block.
	Text string `json:"text"`
	Meta Meta   `json:"_meta,omitzero"`
}

// TextResourceContents: text-based resource contents.
type TextResourceContents struct {
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType,omitzero"`
	// Text payload carried by this content block.
	Text string `json:"text"`
	// URI associated with this resource or media payload.
	URI  string `json:"uri"`
	Meta Meta   `json:"_meta,omitzero"`
}
