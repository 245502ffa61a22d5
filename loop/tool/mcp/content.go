package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

const (
	// textLimit is what the model sees of one text, half of it from the start and
	// half from the end, as with a command's output.
	textLimit = 64_000
	// responseLimit bounds the copy of the answer that the log keeps for hooks.
	responseLimit = 4 << 20
)

// result takes a server's answer into the agent's terms.
func result(res *sdk.CallToolResult) tool.Result {
	out := tool.Result{IsError: res.IsError, Meta: session.ToolMeta{Response: response(res)}}
	for _, c := range res.Content {
		out.Content = append(out.Content, block(c))
	}
	if len(out.Content) == 0 {
		text := "(no output)"
		if res.StructuredContent != nil {
			text = cut(string(encode(res.StructuredContent)))
		}
		out.Content = []session.Block{session.Text(text)}
	}
	return out
}

func block(c sdk.Content) session.Block {
	switch c := c.(type) {
	case *sdk.TextContent:
		return session.Text(cut(c.Text))
	case *sdk.ImageContent:
		return session.Block{Type: session.BlockImage, Data: base64.StdEncoding.EncodeToString(c.Data), MimeType: c.MIMEType}
	case *sdk.ResourceLink:
		b := session.Block{
			Type: session.BlockResourceLink, URI: c.URI, Name: c.Name, Title: c.Title,
			Description: c.Description, MimeType: c.MIMEType,
		}
		if c.Size != nil {
			b.Size = *c.Size
		}
		return b
	case *sdk.EmbeddedResource:
		if c.Resource == nil {
			return session.Text("[A resource without content.]")
		}
		b := session.Block{Type: session.BlockResource, URI: c.Resource.URI, MimeType: c.Resource.MIMEType, Text: cut(c.Resource.Text)}
		if len(c.Resource.Blob) > 0 {
			b.Text, b.Data = "", base64.StdEncoding.EncodeToString(c.Resource.Blob)
		}
		return b
	case *sdk.AudioContent:
		return session.Text(fmt.Sprintf("[Audio (%s, %d bytes) is left out: models get no sound.]", c.MIMEType, len(c.Data)))
	}
	return session.Text(fmt.Sprintf("[Content of an unexpected type (%T) is left out.]", c))
}

// cut keeps the head and the tail of a text that is too long, and makes it valid
// UTF-8.
func cut(s string) string {
	if len(s) <= textLimit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	const half = textLimit / 2
	head, tail := s[:half], s[len(s)-half:]
	for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(head); r != utf8.RuneError || n > 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
		tail = tail[1:]
	}
	gone := len(s) - len(head) - len(tail)
	return strings.ToValidUTF8(fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", head, gone, tail), "\uFFFD")
}

// response is the answer as JSON, for hooks, in the protocol's own shape.
func response(res *sdk.CallToolResult) json.RawMessage {
	content := res.Content
	if content == nil {
		content = []sdk.Content{}
	}
	raw := encode(struct {
		Content           []sdk.Content `json:"content"`
		StructuredContent any           `json:"structuredContent,omitempty"`
		IsError           bool          `json:"isError"`
	}{content, res.StructuredContent, res.IsError})
	if len(raw) > responseLimit {
		return nil
	}
	return raw
}

// encode writes JSON without HTML escapes; nil for what cannot be written, which
// nothing that came as JSON is.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// plainText is the text of an answer, one block a line.
func plainText(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				parts = append(parts, c.Resource.Text)
			}
		}
	}
	if len(res.Content) == 0 && res.StructuredContent != nil {
		return string(encode(res.StructuredContent))
	}
	return strings.Join(parts, "\n")
}

// inputSchema is a tool's schema for the model: the server's, or any object where
// that is not the schema of an object. A schema that only leaves the type out is
// given it, since providers insist.
func inputSchema(v any) json.RawMessage {
	const anyObject = `{"type":"object"}`
	m, ok := v.(map[string]any)
	if !ok {
		return json.RawMessage(anyObject)
	}
	if t, ok := m["type"]; ok && t != "object" {
		return json.RawMessage(anyObject)
	} else if !ok {
		typed := map[string]any{"type": "object"}
		for k, v := range m {
			typed[k] = v
		}
		m = typed
	}
	if raw := encode(m); raw != nil {
		return raw
	}
	return json.RawMessage(anyObject)
}
