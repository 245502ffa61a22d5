package codex

import (
	"encoding/json"
	"fmt"

	"acp-agent/hooks"
)

// payload writes the stdin of a call's handlers: one line of compact JSON in
// raw UTF-8 without a line end, the keys in the order in which Codex 0.171.0
// writes them (Codex 0.171.0, events; the schemas say which are required).
// Hooks grep this text, so the order and the lack of blanks are part of it.
func payload(c *hooks.Call) ([]byte, error) {
	if _, ok := events[c.Event]; !ok {
		return nil, fmt.Errorf("Codex has no event %s", c.Event)
	}
	switch c.Event {
	case hooks.PreModelRequest, hooks.PostModelRequest:
		return modelPayload(c), nil
	}
	w := hooks.NewObject(make([]byte, 0, 512))
	w.Str("session_id", c.SessionID)
	if turnScoped(c.Event) {
		w.Str("turn_id", c.TurnID)
	}
	agent := c.AgentID != "" && takesAgent(c.Event)
	if agent {
		w.Str("agent_id", c.AgentID)
		w.Str("agent_type", c.AgentType)
	}
	path(w, "transcript_path", transcriptPath(c))
	if c.Event == hooks.SubagentStop {
		agentPath, _ := c.Fields["agent_transcript_path"].(string)
		path(w, "agent_transcript_path", agentPath)
	}
	w.Str("cwd", c.Cwd)
	w.Str("hook_event_name", string(c.Event))
	if c.Event != hooks.SessionEnd {
		w.Str("model", c.Model)
	}
	if hasMode(c.Event) {
		w.Str("permission_mode", permissionMode(c.Mode))
	}
	if err := eventFields(w, c); err != nil {
		return nil, err
	}
	return w.Close(), nil
}

// eventFields writes what only this event has.
func eventFields(w *hooks.ObjectWriter, c *hooks.Call) error {
	switch c.Event {
	case hooks.SessionStart:
		w.Str("source", c.Source)
	case hooks.SessionEnd:
		w.Str("reason", sessionEndReason)
	case hooks.UserPromptSubmit:
		w.Str("prompt", c.Prompt)
	case hooks.PreCompact, hooks.PostCompact:
		w.Str("trigger", c.Trigger)
	case hooks.SubagentStart:
		w.Str("agent_id", c.AgentID)
		w.Str("agent_type", c.AgentType)
	case hooks.Stop:
		w.Bool("stop_hook_active", c.StopHookActive)
		optional(w, "last_assistant_message", c.LastAssistantMessage)
	case hooks.SubagentStop:
		w.Bool("stop_hook_active", c.StopHookActive)
		w.Str("agent_id", c.AgentID)
		w.Str("agent_type", c.AgentType)
		optional(w, "last_assistant_message", c.LastAssistantMessage)
	case hooks.PreToolUse, hooks.PermissionRequest, hooks.PostToolUse:
		return toolFields(w, c)
	}
	return nil
}

func toolFields(w *hooks.ObjectWriter, c *hooks.Call) error {
	if c.Tool == nil {
		return fmt.Errorf("a %s call without a tool", c.Event)
	}
	in, err := toolInput(c.Tool, c.Cwd, c.Event == hooks.PermissionRequest)
	if err != nil {
		return err
	}
	w.Str("tool_name", toolNames(c.Tool.Name).name)
	w.Raw("tool_input", in)
	if c.Event == hooks.PostToolUse {
		out, err := toolResponse(c.Tool, c.Cwd)
		if err != nil {
			return err
		}
		w.Raw("tool_response", out)
	}
	if c.Event != hooks.PermissionRequest {
		w.Str("tool_use_id", c.Tool.CallID)
	}
	return nil
}

// modelPayload is that of the two undocumented events (Codex 0.171.0, events), which have
// an order of their own.
func modelPayload(c *hooks.Call) []byte {
	w := hooks.NewObject(make([]byte, 0, 512))
	field(w, c, "kind", "sampling")
	field(w, c, "request_id", "")
	field(w, c, "attempt_number", 1)
	w.Str("session_id", c.SessionID)
	w.Str("thread_id", c.SessionID)
	w.Str("turn_id", c.TurnID)
	w.Str("cwd", c.Cwd)
	path(w, "transcript_path", transcriptPath(c))
	w.Str("model", c.Model)
	w.Str("hook_event_name", string(c.Event))
	if c.Event == hooks.PostModelRequest {
		field(w, c, "status", "completed")
		field(w, c, "error", nil)
		usage(w, c.Fields["token_usage"])
		field(w, c, "response_id", nil)
	}
	return w.Close()
}

// field writes one of the call's rarer members, or what stands for it.
func field(w *hooks.ObjectWriter, c *hooks.Call, key string, missing any) {
	v, ok := c.Fields[key]
	if !ok {
		v = missing
	}
	w.Value(key, v)
}

// usage writes token counts in Codex's order; a map would sort its keys.
func usage(w *hooks.ObjectWriter, v any) {
	b, err := json.Marshal(v)
	var counts map[string]int64
	if v == nil || err != nil || json.Unmarshal(b, &counts) != nil {
		w.Null("token_usage")
		return
	}
	w.Object("token_usage", func(in *hooks.ObjectWriter) {
		for _, k := range []string{
			"input_tokens", "cached_input_tokens", "cache_write_input_tokens",
			"output_tokens", "reasoning_output_tokens", "total_tokens",
		} {
			in.Int(k, counts[k])
		}
	})
}

// turnScoped events carry turn_id.
func turnScoped(e hooks.Event) bool { return e != hooks.SessionStart && e != hooks.SessionEnd }

// takesAgent reports the events that carry agent_id and agent_type up front
// when they are fired inside a subagent; the Subagent events have them among
// their own fields, and the rest are the main agent's only.
func takesAgent(e hooks.Event) bool {
	switch e {
	case hooks.UserPromptSubmit, hooks.PreToolUse, hooks.PermissionRequest, hooks.PostToolUse,
		hooks.PreCompact, hooks.PostCompact:
		return true
	}
	return false
}

func hasMode(e hooks.Event) bool {
	switch e {
	case hooks.PreCompact, hooks.PostCompact, hooks.SessionEnd:
		return false
	}
	return true
}

// permissionMode is one of the two that Codex ever produces: it asks, or it
// does not.
func permissionMode(mode string) string {
	if mode == "bypassPermissions" {
		return mode
	}
	return "default"
}

func transcriptPath(c *hooks.Call) string {
	if c.TranscriptPath == nil {
		return ""
	}
	return c.TranscriptPath(Name)
}

// path writes a path, null when there is none.
func path(w *hooks.ObjectWriter, key, value string) {
	if value == "" {
		w.Null(key)
		return
	}
	w.Str(key, value)
}

func optional(w *hooks.ObjectWriter, key string, value *string) {
	if value == nil {
		w.Null(key)
		return
	}
	w.Str(key, *value)
}
