package acp

import "acp-agent/internal/jsonstring"

// appendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, so that output is valid UTF-8
// whatever a tool or a model emitted.
func appendString(dst []byte, s string) []byte { return jsonstring.Stringify.Append(dst, s) }

// AppendTextChunk appends a whole session/update line, newline included, for one piece of streamed
// text: the hot path, which costs no allocation when dst is large enough. kind is the update kind
// (agent_message_chunk, agent_thought_chunk or user_message_chunk) and must need no escaping; an
// empty messageID is left out.
func AppendTextChunk(dst []byte, sessionID, kind, messageID, text string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`...)
	dst = appendString(dst, sessionID)
	dst = append(dst, `,"update":{"sessionUpdate":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","content":{"type":"text","text":`...)
	dst = appendString(dst, text)
	dst = append(dst, '}')
	if messageID != "" {
		dst = append(dst, `,"messageId":`...)
		dst = appendString(dst, messageID)
	}
	return append(dst, "}}}\n"...)
}
