package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// contentText reads content that is a string or parts with text.
func contentText(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct{ Text *string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("content %s is neither text nor parts", raw)
	}
	for _, p := range parts {
		if p.Text == nil {
			return "", fmt.Errorf("a part of %s has no text", raw)
		}
		s += *p.Text
	}
	return s, nil
}

// readChat reads a request of Chat Completions. DeepSeek wants the reasoning of
// messages with calls back while it thinks, the others refuse the field.
func readChat(deepseek bool) func([]byte) ([]heard, error) {
	return func(body []byte) ([]heard, error) {
		var req struct {
			Thinking struct{ Type string }
			Messages []struct {
				Role       string
				Content    json.RawMessage
				Reasoning  *string `json:"reasoning_content"`
				ToolCallID string  `json:"tool_call_id"`
				ToolCalls  []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		if err := decodeBody(body, &req); err != nil {
			return nil, err
		}
		var out []heard
		for i, m := range req.Messages {
			if len(m.Content) == 0 || string(m.Content) == "null" {
				return nil, fmt.Errorf("message %d has no content", i)
			}
			text, err := contentText(m.Content)
			if err != nil {
				return nil, err
			}
			switch {
			case deepseek && m.Reasoning == nil && len(m.ToolCalls) > 0 && req.Thinking.Type != "disabled":
				return nil, fmt.Errorf("message %d: the reasoning_content in the thinking mode must be passed back", i)
			case !deepseek && m.Reasoning != nil:
				return nil, fmt.Errorf("message %d: unknown field reasoning_content", i)
			}
			switch m.Role {
			case "system":
			case "tool":
				out = append(out, heard{"result", m.ToolCallID, text})
			default:
				out = append(out, heard{role: m.Role, text: text})
			}
			for _, c := range m.ToolCalls {
				if !json.Valid([]byte(c.Function.Arguments)) {
					return nil, fmt.Errorf("message %d: arguments %q", i, c.Function.Arguments)
				}
				out = append(out, heard{"call", c.ID, c.Function.Arguments})
			}
		}
		return out, nil
	}
}

func writeChat(deepseek bool) func(reply) string {
	return func(r reply) string {
		var out strings.Builder
		delta := func(format string, args ...any) {
			fmt.Fprintf(&out, `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{%s},"end":null}]}`+"\n\n", fmt.Sprintf(format, args...))
		}
		if deepseek {
			delta(`"role":"assistant","content":null,"reasoning_content":""`)
			for _, p := range pieces(r.thinking) {
				delta(`"content":null,"reasoning_content":%s`, quote(p))
			}
		}
		for _, p := range pieces(r.text) {
			delta(`"content":%s`, quote(p))
		}
		for i, c := range r.calls {
			delta(`"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":""}}]`, i, c.id)
			for _, p := range pieces(c.text) {
				delta(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quote(p))
			}
		}
		reason := "stop"
		if len(r.calls) > 0 {
			reason = "tool_calls"
		}
		fmt.Fprintf(&out, `data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\n", reason)
		out.WriteString(`data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":10}}` + "\n\ndata: [DONE]\n\n")
		return out.String()
	}
}

// seal is the signature of a thinking block.
func seal(thinking string) string { return fmt.Sprintf("sig+%x/=", thinking) }

// readMessages reads a request of the Messages wire.
func readMessages(body []byte) ([]heard, error) {
	var req struct {
		Messages []struct {
			Role    string
			Content []struct {
				Type, Text, Thinking, Signature, ID string
				ToolUseID                           string `json:"tool_use_id"`
				Input, Content                      json.RawMessage
			}
		}
	}
	if err := decodeBody(body, &req); err != nil {
		return nil, err
	}
	var out []heard
	for i, m := range req.Messages {
		if i%2 == 0 != (m.Role == "user") {
			return nil, fmt.Errorf("message %d has the role %s", i, m.Role)
		}
		if len(m.Content) == 0 {
			return nil, fmt.Errorf("message %d is empty", i)
		}
		for k, b := range m.Content {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					return nil, errors.New("text content blocks must contain non-whitespace text")
				}
				out = append(out, heard{role: m.Role, text: b.Text})
			case "thinking":
				if b.Signature != seal(b.Thinking) {
					return nil, fmt.Errorf("invalid signature of %q in a thinking block", b.Thinking)
				}
				if k == len(m.Content)-1 {
					return nil, errors.New("the final block in an assistant message cannot be thinking")
				}
			case "tool_use":
				var input map[string]any
				if json.Unmarshal(b.Input, &input) != nil {
					return nil, fmt.Errorf("the input of %s is no object", b.ID)
				}
				out = append(out, heard{"call", b.ID, string(b.Input)})
			case "tool_result":
				if k > 0 && m.Content[k-1].Type != "tool_result" {
					return nil, errors.New("tool results must come first")
				}
				text, err := contentText(b.Content)
				if err != nil {
					return nil, err
				}
				out = append(out, heard{"result", b.ToolUseID, text})
			default:
				return nil, fmt.Errorf("unknown block %q", b.Type)
			}
		}
	}
	return out, nil
}

func writeMessages(r reply) string {
	var out strings.Builder
	event := func(typ, format string, args ...any) {
		fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q%s}\n\n", typ, typ, fmt.Sprintf(format, args...))
	}
	event("message_start", `,"message":{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":90,"cache_read_input_tokens":10,"output_tokens":1}}`)
	n := 0
	block := func(start, kind, field string, deltas ...string) {
		event("content_block_start", `,"index":%d,"content_block":{%s}`, n, start)
		for _, d := range deltas {
			event("content_block_delta", `,"index":%d,"delta":{"type":%q,%q:%s}`, n, kind, field, quote(d))
		}
	}
	stop := func() { event("content_block_stop", `,"index":%d`, n); n++ }
	if r.thinking != "" {
		block(`"type":"thinking","thinking":"","signature":""`, "thinking_delta", "thinking", pieces(r.thinking)...)
		event("content_block_delta", `,"index":%d,"delta":{"type":"signature_delta","signature":%s}`, n, quote(seal(r.thinking)))
		stop()
	}
	if r.text != "" {
		block(`"type":"text","text":""`, "text_delta", "text", pieces(r.text)...)
		stop()
	}
	reason := "end_turn"
	for _, c := range r.calls {
		reason = "tool_use"
		block(fmt.Sprintf(`"type":"tool_use","id":%q,"name":"look","input":{}`, c.id), "input_json_delta", "partial_json", pieces(c.text)...)
		stop()
	}
	out.WriteString(": finish\n\n")
	event("message_delta", `,"delta":{"stop_reason":%q},"usage":{"output_tokens":10}`, reason)
	event("message_stop", "")
	return out.String()
}

// readResponses reads a request of the Responses wire.
func readResponses(body []byte) ([]heard, error) {
	var req struct {
		Store *bool
		Input []struct {
			Type, Role, ID, Arguments string
			CallID                    string `json:"call_id"`
			Encrypted                 string `json:"encrypted_content"`
			Content, Output           json.RawMessage
		}
	}
	if err := decodeBody(body, &req); err != nil {
		return nil, err
	}
	if req.Store == nil || *req.Store {
		return nil, errors.New("the request is to be stored")
	}
	var out []heard
	for i, m := range req.Input {
		switch m.Type {
		case "message":
			text, err := contentText(m.Content)
			if err != nil {
				return nil, err
			}
			out = append(out, heard{role: m.Role, text: text})
		case "reasoning":
			if !strings.HasPrefix(m.Encrypted, "enc+") || m.ID == "" {
				return nil, fmt.Errorf("the encrypted content %q could not be verified", m.Encrypted)
			}
			if i+1 == len(req.Input) || req.Input[i+1].Type == "reasoning" || req.Input[i+1].Role == "user" {
				return nil, fmt.Errorf("item %q of type 'reasoning' was provided without its required following item", m.ID)
			}
		case "function_call":
			if !json.Valid([]byte(m.Arguments)) {
				return nil, fmt.Errorf("arguments %q", m.Arguments)
			}
			out = append(out, heard{"call", m.CallID, m.Arguments})
		case "function_call_output":
			text, err := contentText(m.Output)
			if err != nil {
				return nil, err
			}
			out = append(out, heard{"result", m.CallID, text})
		default:
			return nil, fmt.Errorf("unknown item %q", m.Type)
		}
	}
	return out, nil
}

func writeResponses(r reply) string {
	var out strings.Builder
	seq := 0
	event := func(typ, format string, args ...any) {
		fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", typ, typ, seq, fmt.Sprintf(format, args...))
		seq++
	}
	event("response.created", `,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}`)
	n := 0
	var items []string
	item := func(added, done string, deltas func()) {
		event("response.output_item.added", `,"output_index":%d,"item":%s`, n, added)
		deltas()
		event("response.output_item.done", `,"output_index":%d,"item":%s`, n, done)
		items = append(items, done)
		n++
	}
	if r.thinking != "" {
		item(`{"id":"rs_1","type":"reasoning","encrypted_content":"enc+part","summary":[]}`,
			fmt.Sprintf(`{"id":"rs_1","type":"reasoning","encrypted_content":"enc+%x","summary":[{"type":"summary_text","text":%s}]}`, r.thinking, quote(r.thinking)), func() {
				for _, p := range pieces(r.thinking) {
					event("response.reasoning_summary_text.delta", `,"item_id":"rs_1","output_index":%d,"summary_index":0,"delta":%s`, n, quote(p))
				}
			})
	}
	if r.text != "" {
		item(`{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`,
			fmt.Sprintf(`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, quote(r.text)), func() {
				for _, p := range pieces(r.text) {
					event("response.output_text.delta", `,"item_id":"msg_1","output_index":%d,"content_index":0,"delta":%s`, n, quote(p))
				}
			})
	}
	for i, c := range r.calls {
		call := func(args string) string {
			return fmt.Sprintf(`{"id":"fc_%d","type":"function_call","call_id":%q,"name":"look","arguments":%s}`, i, c.id, quote(args))
		}
		item(call(""), call(c.text), func() {
			for _, p := range pieces(c.text) {
				event("response.function_call_arguments.delta", `,"item_id":"fc_%d","output_index":%d,"delta":%s`, i, n, quote(p))
			}
		})
	}
	out.WriteString(": finish\n\n")
	event("response.completed", `,"response":{"id":"resp_1","object":"response","status":"completed","output":[%s],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":10},"output_tokens":10}}`, strings.Join(items, ","))
	return out.String()
}
