package session

import (
	"encoding/json"
	"fmt"
)

// BlockType discriminates a Block.
type BlockType string

// The block types of the log. Text, image, audio, resource_link and resource
// have the shapes of ACP content blocks; the others are those of the reference.
const (
	BlockText         BlockType = "text"
	BlockReasoning    BlockType = "reasoning"
	BlockToolCall     BlockType = "tool-call"
	BlockToolResult   BlockType = "tool-result"
	BlockImage        BlockType = "image"
	BlockAudio        BlockType = "audio"
	BlockResourceLink BlockType = "resource_link"
	BlockResource     BlockType = "resource"
)

// Block is one piece of content. Which fields mean something depends on Type.
//
// A reasoning block whose Text is empty is a block that was present and empty,
// which is not the same as no block: DeepSeek wants the empty string back.
type Block struct {
	Type BlockType

	// Text is the text of text and reasoning blocks and of a text resource.
	Text string
	// Signature seals a reasoning block (Anthropic) or a tool call (Gemini: what
	// chat completions have beside the call); sent back exactly.
	Signature string
	// Redacted is the opaque payload of a redacted reasoning block, or the parts
	// of one as a JSON array (reasoning_details of chat completions).
	Redacted string

	// ID, Name and Arguments are a tool call's; Arguments is the JSON text as
	// the model wrote it, not necessarily valid.
	ID, Name, Arguments string

	// CallID, Content and IsError are a tool result's.
	CallID  string
	Content []Block
	IsError bool

	// Data (base64) and MimeType are an image's, an audio's or a blob
	// resource's; URI and Title locate and name links, resources and images.
	Data, MimeType, URI, Title string
	// Description and Size belong to a resource link. Size is in bytes, 0 unknown.
	Description string
	Size        int64
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: BlockText, Text: s} }

// MarshalJSON writes the fields that the block's type has, in a fixed order.
func (b Block) MarshalJSON() ([]byte, error) { return b.AppendJSON(nil) }

// AppendJSON appends the block as JSON. Text is written without HTML escaping;
// it decodes to the same bytes when it is valid UTF-8.
func (b Block) AppendJSON(dst []byte) ([]byte, error) {
	w := objectWriter{dst: append(dst, '{')}
	w.str("type", string(b.Type))
	switch b.Type {
	case BlockText:
		w.str("text", b.Text)
	case BlockReasoning:
		w.str("text", b.Text)
		w.optStr("signature", b.Signature)
		w.optStr("redacted", b.Redacted)
	case BlockToolCall:
		w.str("id", b.ID)
		w.str("name", b.Name)
		w.str("arguments", b.Arguments)
		w.optStr("signature", b.Signature)
	case BlockToolResult:
		w.str("toolCallId", b.CallID)
		w.key("content")
		w.dst = append(w.dst, '[')
		for i, c := range b.Content {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			var err error
			if w.dst, err = c.AppendJSON(w.dst); err != nil {
				return dst, err
			}
		}
		w.dst = append(w.dst, ']')
		w.bool("isError", b.IsError)
	case BlockImage, BlockAudio:
		w.str("data", b.Data)
		w.str("mimeType", b.MimeType)
		w.optStr("uri", b.URI)
	case BlockResourceLink:
		w.str("uri", b.URI)
		w.str("name", b.Name)
		w.optStr("title", b.Title)
		w.optStr("description", b.Description)
		w.optStr("mimeType", b.MimeType)
		if b.Size != 0 {
			w.int("size", b.Size)
		}
	case BlockResource:
		w.key("resource")
		in := objectWriter{dst: append(w.dst, '{')}
		in.str("uri", b.URI)
		in.optStr("mimeType", b.MimeType)
		if b.Data != "" {
			in.str("blob", b.Data)
		} else {
			in.str("text", b.Text)
		}
		w.dst = append(in.dst, '}')
	default:
		return dst, fmt.Errorf("encoding a content block: unknown type %q", b.Type)
	}
	return append(w.dst, '}'), nil
}

// blockJSON is the union of all block shapes, for reading.
type blockJSON struct {
	Type        BlockType `json:"type"`
	Text        string    `json:"text"`
	Signature   string    `json:"signature"`
	Redacted    string    `json:"redacted"`
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Arguments   string    `json:"arguments"`
	ToolCallID  string    `json:"toolCallId"`
	Content     []Block   `json:"content"`
	IsError     bool      `json:"isError"`
	Data        string    `json:"data"`
	MimeType    string    `json:"mimeType"`
	URI         string    `json:"uri"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Size        int64     `json:"size"`
	Resource    *struct {
		URI      string `json:"uri"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text"`
		Blob     string `json:"blob"`
	} `json:"resource"`
}

// UnmarshalJSON reads any block shape. An unknown type is an error: a block
// that is not understood cannot be shown to a model truthfully.
func (b *Block) UnmarshalJSON(data []byte) error {
	var j blockJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	switch j.Type {
	case BlockText, BlockReasoning, BlockToolCall, BlockToolResult, BlockImage, BlockAudio, BlockResourceLink:
	case BlockResource:
		if j.Resource == nil {
			return fmt.Errorf("content block of type %q has no resource", j.Type)
		}
		j.URI, j.MimeType, j.Text, j.Data = j.Resource.URI, j.Resource.MimeType, j.Resource.Text, j.Resource.Blob
	default:
		return fmt.Errorf("content block has unknown type %q", j.Type)
	}
	*b = Block{
		Type: j.Type, Text: j.Text, Signature: j.Signature, Redacted: j.Redacted,
		ID: j.ID, Name: j.Name, Arguments: j.Arguments,
		CallID: j.ToolCallID, Content: j.Content, IsError: j.IsError,
		Data: j.Data, MimeType: j.MimeType, URI: j.URI, Title: j.Title,
		Description: j.Description, Size: j.Size,
	}
	return nil
}

// Role says who speaks in a Message.
type Role string

// Tool results are their own role here; each adapter puts them where its wire
// wants them.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the transcript that a model is sent.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
	// Provider and Model say who wrote an assistant message, so that an adapter
	// can leave out reasoning that another provider sealed.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// Source says where logged content came from. It stays in the log and is never
// rendered.
type Source struct {
	// Kind is user, hook, agent, tool, client or model. A reference recording
	// may hold others (plugin).
	Kind string `json:"kind"`
	// Name is the dialect of a hook, the name of a tool or of a client.
	Name string `json:"name,omitempty"`
	// Event and Handler name the hook event and the handler id.
	Event   string `json:"event,omitempty"`
	Handler string `json:"handler,omitempty"`
	// CallID is the tool call that a tool's content answers.
	CallID string `json:"callId,omitempty"`
	// Provider and Model are those of a model's message.
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
}

// The source kinds of this agent.
const (
	SourceUser   = "user"
	SourceHook   = "hook"
	SourceAgent  = "agent"
	SourceTool   = "tool"
	SourceClient = "client"
	SourceModel  = "model"
)

// Usage counts tokens of one model call. InputTokens leaves out cache hits.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	// ReasoningTokens is the part of OutputTokens spent on reasoning.
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`
}

// Context returns how many tokens of the context window the call left in use.
func (u Usage) Context() int64 {
	return u.InputTokens + u.CacheReadTokens + u.CacheWriteTokens + u.OutputTokens
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens: u.InputTokens + v.InputTokens, OutputTokens: u.OutputTokens + v.OutputTokens,
		CacheReadTokens: u.CacheReadTokens + v.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens + v.CacheWriteTokens,
		ReasoningTokens: u.ReasoningTokens + v.ReasoningTokens,
	}
}
