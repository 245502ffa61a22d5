package claudecode

import (
	"cmp"
	"strconv"

	"acp-agent/hooks"
)

func itoa(n int) string { return strconv.Itoa(n) }

// eventOf is the vendor's event for a call: the end of a tool is one call of the
// agent's and two events of the vendor's.
func eventOf(c *hooks.Call) hooks.Event {
	if (c.Event == hooks.PostToolUse || c.Event == hooks.PostToolUseFailure) && c.Tool != nil {
		if toolFailed(c.Tool) {
			return hooks.PostToolUseFailure
		}
		return hooks.PostToolUse
	}
	return c.Event
}

// hasMode reports the events whose payload says the permission mode (Claude Code hooks reference, common fields).
func hasMode(ev hooks.Event) bool {
	switch ev {
	case hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.PreToolUse, hooks.PostToolUse,
		hooks.PostToolUseFailure, hooks.PostToolBatch, hooks.PermissionRequest, hooks.PermissionDenied,
		hooks.Stop, hooks.SubagentStop, hooks.Elicitation, hooks.ElicitationResult:
		return true
	}
	return false
}

// hasEffort reports the events in a tool's context, whose payload says the
// reasoning effort.
func hasEffort(ev hooks.Event) bool {
	switch ev {
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch,
		hooks.PermissionRequest, hooks.PermissionDenied, hooks.Stop, hooks.SubagentStop:
		return true
	}
	return false
}

// field is a member that is taken from Call.Fields.
type field struct {
	name     string
	optional bool
}

// fields are the members of the rarer events, in the vendor's order (Claude Code hooks reference, events).
var fields = map[hooks.Event][]field{
	hooks.SessionStart:       {{"session_title", true}, {"seconds_since_last_response", true}, {"context_tokens", true}},
	hooks.PermissionRequest:  {{"permission_suggestions", true}},
	hooks.InstructionsLoaded: {{"file_path", false}, {"memory_type", false}, {"load_reason", false}, {"globs", true}, {"trigger_file_path", true}, {"parent_file_path", true}},
	hooks.UserPromptExpand:   {{"expansion_type", false}, {"command_name", false}, {"command_args", false}, {"command_source", true}},
	hooks.Notification:       {{"message", false}, {"title", true}, {"notification_type", false}},
	hooks.SubagentStop:       {{"agent_transcript_path", false}},
	hooks.StopFailure:        {{"error", false}, {"error_details", true}},
	hooks.PreModelSwitch:     modelSwitch, hooks.PostModelSwitch: modelSwitch,
	hooks.ConfigChange:      {{"source", false}, {"file_path", true}},
	hooks.CwdChanged:        {{"old_cwd", false}, {"new_cwd", false}},
	hooks.FileChanged:       {{"file_path", false}, {"event", false}},
	hooks.Elicitation:       {{"mcp_server_name", false}, {"message", false}, {"mode", true}, {"url", true}, {"elicitation_id", true}, {"requested_schema", true}},
	hooks.ElicitationResult: {{"mcp_server_name", false}, {"elicitation_id", true}, {"mode", true}, {"action", false}, {"content", true}},
}

var modelSwitch = []field{
	{"from_model", false},
	{"to_model", false},
	{"requested_model", false},
	{"source", false},
	{"context_tokens", true},
	{"prompt_cache_warm", true},
	{"cache_ttl", true},
	{"estimated_cache_write_usd", true},
	{"pricing", true},
}

// Payload implements hooks.Speaker: one line of compact JSON in raw UTF-8 with a
// final newline, which `read -r` depends on (Claude Code hooks reference, common fields, 7.2).
func (d *Dialect) Payload(c *hooks.Call) ([]byte, error) {
	ev := eventOf(c)
	w := hooks.NewObject(make([]byte, 0, 1024))
	d.common(w, ev, c)
	w.Str("hook_event_name", string(ev))
	eventMembers(w, ev, c)
	b := w.Close()
	if d.cfg.ASCII {
		b = hooks.EscapeASCII(b)
	}
	return append(b, '\n'), nil
}

func (d *Dialect) common(w *hooks.ObjectWriter, ev hooks.Event, c *hooks.Call) {
	w.Str("session_id", c.SessionID)
	transcript := ""
	if c.TranscriptPath != nil {
		transcript = c.TranscriptPath(Name)
	}
	w.Str("transcript_path", transcript)
	w.Str("cwd", c.Cwd)
	w.OptStr("prompt_id", c.PromptID)
	if hasMode(ev) {
		mode := c.Mode
		if mode == "" {
			mode = "default"
		}
		w.Str("permission_mode", mode)
	}
	if hasEffort(ev) && c.Effort != "" {
		w.Object("effort", func(w *hooks.ObjectWriter) { w.Str("level", c.Effort) })
	}
	w.OptStr("agent_id", c.AgentID)
	w.OptStr("agent_type", c.AgentType)
}

// permissionText is what a notification says of a tool that asks for permission, in
// the vendor's words, which public hooks look for (Claude Code hooks reference,
// Notification).
func permissionText(c *hooks.Call, field string) (string, bool) {
	tool, _ := c.Fields["tool_name"].(string)
	switch {
	case c.Event != hooks.Notification || tool == "":
		return "", false
	case field == "message":
		return "Claude needs your permission to use " + ToolName(tool), true
	}
	return "Permission needed", field == "title"
}

func eventMembers(w *hooks.ObjectWriter, ev hooks.Event, c *hooks.Call) {
	switch ev {
	case hooks.SessionStart:
		w.Str("source", c.Source)
		w.OptStr("model", c.Model)
	case hooks.SessionEnd:
		w.Str("reason", c.Reason)
	case hooks.UserPromptSubmit:
		w.Str("prompt", typed(c))
	case hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied, hooks.PostToolUse, hooks.PostToolUseFailure:
		toolMembers(w, ev, c)
	case hooks.PostToolBatch:
		batchMembers(w, c)
	case hooks.Stop, hooks.SubagentStop:
		w.Bool("stop_hook_active", c.StopHookActive)
	case hooks.PreCompact:
		w.Str("trigger", c.Trigger)
		if c.Instructions == "" {
			w.Null("custom_instructions")
		} else {
			w.Str("custom_instructions", c.Instructions)
		}
	case hooks.PostCompact:
		w.Str("trigger", c.Trigger)
		w.Str("compact_summary", c.Summary)
	}
	for _, f := range fields[ev] {
		if v, ok := permissionText(c, f.name); ok {
			w.Str(f.name, v)
		} else if v, ok := c.Fields[f.name]; ok {
			w.Value(f.name, v)
		} else if !f.optional {
			if f.name == "requested_model" {
				w.Null(f.name)
			} else {
				w.Str(f.name, "")
			}
		}
	}
	switch ev {
	case hooks.UserPromptExpand:
		w.Str("prompt", typed(c))
	case hooks.Stop, hooks.SubagentStop:
		if c.LastAssistantMessage != nil {
			w.Str("last_assistant_message", *c.LastAssistantMessage)
		}
		w.Raw("background_tasks", backgroundTasks(c.Jobs))
		w.Raw("session_crons", []byte("[]"))
	case hooks.StopFailure:
		if c.LastAssistantMessage != nil {
			w.Str("last_assistant_message", *c.LastAssistantMessage)
		}
	}
}

// typed is the prompt as the person typed it: hooks tell commands by the slash
// (Claude Code hooks reference, UserPromptExpansion: the original prompt).
func typed(c *hooks.Call) string {
	if c.Typed != "" {
		return c.Typed
	}
	return c.Prompt
}

// backgroundTasks are the jobs as the vendor lists them (Claude Code sdk.d.ts,
// BackgroundTaskSummary).
func backgroundTasks(jobs []hooks.BackgroundJob) []byte {
	list := []byte{'['}
	for i, j := range jobs {
		if i > 0 {
			list = append(list, ',')
		}
		w := hooks.NewObject(list)
		w.Str("id", j.ID)
		w.Str("type", "shell")
		w.Str("status", "running")
		w.Str("description", clip(cmp.Or(j.Description, j.Command)))
		w.Str("command", clip(j.Command))
		list = w.Close()
	}
	return append(list, ']')
}

// clip keeps the first 1,000 characters of a text and says how many are left out.
func clip(s string) string {
	const limit = 1000
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit]) + "… [+" + itoa(len(r)-limit) + " chars]"
}

func toolMembers(w *hooks.ObjectWriter, ev hooks.Event, c *hooks.Call) {
	t := c.Tool
	if t == nil {
		t = &hooks.Tool{}
	}
	w.Str("tool_name", ToolName(t.Name))
	toolInput(w, t, c.Cwd)
	if ev == hooks.PostToolUse {
		w.Raw("tool_response", ToolResponse(t, c.Cwd))
	}
	if ev != hooks.PermissionRequest {
		w.Str("tool_use_id", t.CallID)
	}
	switch ev {
	case hooks.PermissionDenied:
		w.Str("reason", c.Reason)
	case hooks.PostToolUseFailure:
		w.Str("error", failureError(t))
		w.Bool("is_interrupt", t.Interrupted)
	}
	if ev == hooks.PostToolUse || ev == hooks.PostToolUseFailure {
		w.Int("duration_ms", t.Duration.Milliseconds())
	}
}

func toolInput(w *hooks.ObjectWriter, t *hooks.Tool, cwd string) {
	in := ToolInput(t.Name, t.Input, cwd)
	if len(in) == 0 {
		in = []byte("{}")
	}
	w.Raw("tool_input", in)
}

func batchMembers(w *hooks.ObjectWriter, c *hooks.Call) {
	list := []byte{'['}
	for i := range c.Tools {
		if i > 0 {
			list = append(list, ',')
		}
		t := &c.Tools[i]
		in := hooks.NewObject(list)
		in.Str("tool_name", ToolName(t.Name))
		toolInput(in, t, c.Cwd)
		in.Str("tool_use_id", t.CallID)
		in.Str("tool_response", t.Output)
		list = in.Close()
	}
	w.Raw("tool_calls", append(list, ']'))
}
