package hooks

import (
	"slices"
	"strings"
)

// occasions are what the matchers of an event are tested on here, where these are
// this agent's to choose. MCP tools are not among the tools.
var occasions = func() map[Event][]string {
	tools := []string{"bash", "read", "write", "edit", "glob", "grep", "todo_write", "web_fetch", "ask_user", "job_output", "job_kill"}
	compactions := []string{"manual", "auto"}
	return map[Event][]string{
		PreToolUse: tools, PostToolUse: tools, PostToolUseFailure: tools, PermissionRequest: tools, PermissionDenied: tools,
		SessionStart: {"startup", "resume", "compact"}, SessionEnd: {"other"},
		PreCompact: compactions, PostCompact: compactions,
		Notification: {
			"permission_prompt", "idle_prompt", "elicitation_dialog", "elicitation_url_dialog", "elicitation_complete", "elicitation_response",
		},
		ConfigChange: {"user_settings", "project_settings", "local_settings", "policy_settings"},
	}
}()

// Occasions are the calls of an event that this agent makes, as far as a matcher
// looks at them: one for each subject. nil for an event whose subjects are
// anybody's names, and for one that has none.
func Occasions(ev Event) []*Call {
	var out []*Call
	for _, s := range occasions[ev] {
		c := &Call{Event: ev}
		switch ev {
		case SessionStart:
			c.Source = s
		case SessionEnd:
			c.Reason = s
		case PreCompact, PostCompact:
			c.Trigger = s
		case Notification:
			c.Fields = map[string]any{"notification_type": s}
		case ConfigChange:
			c.Fields = map[string]any{"source": s}
		default:
			c.Tool = &Tool{Name: s}
		}
		out = append(out, c)
	}
	return out
}

// Idler is a Dialect that can tell which matchers match nothing here.
type Idler interface {
	// MayMatch reports whether the handler's matcher takes the call, or an MCP
	// tool, which nobody knows in advance. It looks at nothing but the matcher.
	MayMatch(*Handler, *Call) bool
}

// Idle says why the handler is never started here although nothing holds it
// back: its matcher names only what never occurs. "" when it may be started.
func (s *Set) Idle(h *Handler) string {
	calls := Occasions(h.Event)
	for _, d := range s.opts.Dialects {
		i, ok := d.(Idler)
		if !ok || d.Name() != h.Dialect || len(calls) == 0 || h.Type == SwitchType {
			continue
		}
		if slices.ContainsFunc(calls, func(c *Call) bool { return i.MayMatch(h, c) }) {
			return ""
		}
		if calls[0].Tool != nil {
			return "no tool here is called that"
		}
		return "here " + string(h.Event) + " is only ever " + strings.Join(occasions[h.Event], ", ")
	}
	return ""
}
