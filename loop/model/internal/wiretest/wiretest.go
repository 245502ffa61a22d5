// Package wiretest holds what the tests of the wires have in common.
package wiretest

import (
	"acp-agent/session"
)

// Wire is a wire under test.
type Wire struct {
	// Provider is the client's, Models some that it knows, the first the one asked.
	Provider string
	Models   []string
}

// User is a message of a user, with a block for each text.
func User(texts ...string) session.Message {
	m := session.Message{Role: session.RoleUser}
	for _, s := range texts {
		m.Content = append(m.Content, session.Text(s))
	}
	return m
}

// Assistant is a message of a provider's model.
func Assistant(provider, name string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleAssistant, Provider: provider, Model: name, Content: blocks}
}

// Call is a tool call.
func Call(id, name, args string) session.Block {
	return session.Block{Type: session.BlockToolCall, ID: id, Name: name, Arguments: args}
}

// ToolResult is a message with the result of a call.
func ToolResult(id string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: id, Content: blocks}}}
}

// PNG is an image.
var PNG = session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}
