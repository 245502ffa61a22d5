package codex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"acp-agent/hooks"
)

// output is a hook's JSON answer after the strict first parse: the union of
// what the events allow (testdata/schemas/*.command.output.schema.json).
type output struct {
	stop           bool // continue:false
	stopReason     *string
	suppressOutput bool
	systemMessage  *string
	decision       string // approve or block, "" when missing
	reason         *string
	specific       *specific
}

// specific is hookSpecificOutput.
type specific struct {
	context          *string
	permission       string
	permissionReason *string
	updatedInput     *node
	updatedMCP       bool
	decision         *permissionDecision
}

// permissionDecision is PermissionRequest's.
type permissionDecision struct {
	behavior    string
	message     *string
	interrupt   bool
	input       bool // updatedInput was given
	permissions bool // updatedPermissions was given
}

// shape is what an event's answer may hold.
type shape struct {
	bare      bool     // systemMessage and nothing else (Interrupt)
	decisions []string // values of "decision"; none: no decision and no reason
	specific  []string // members of hookSpecificOutput; nil: none is allowed
}

// shapes are Codex 0.171.0, output and the schemas. SessionEnd and the model events are
// not here: nobody looks at what they print.
var shapes = map[hooks.Event]shape{
	hooks.SessionStart:     {specific: []string{"additionalContext"}},
	hooks.SubagentStart:    {specific: []string{"additionalContext"}},
	hooks.UserPromptSubmit: {decisions: []string{"block"}, specific: []string{"additionalContext"}},
	hooks.PreToolUse: {
		decisions: []string{"approve", "block"},
		specific:  []string{"additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput"},
	},
	hooks.PermissionRequest: {specific: []string{"decision"}},
	hooks.PostToolUse:       {decisions: []string{"block"}, specific: []string{"additionalContext", "updatedMCPToolOutput"}},
	hooks.PreCompact:        {},
	hooks.PostCompact:       {},
	hooks.Stop:              {decisions: []string{"block"}},
	hooks.SubagentStop:      {decisions: []string{"block"}},
	hooks.Interrupt:         {bare: true},
}

// looksLikeJSON is Codex's first-character test: such an output must parse, any
// other is plain text.
func looksLikeJSON(stdout []byte) bool {
	b := bytes.TrimSpace(stdout)
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// parseOutput reads an answer by the event's schema. Unknown members at any
// level, a value of the wrong type and a hookSpecificOutput without an event
// name drop the whole answer.
func parseOutput(event hooks.Event, stdout []byte) (*output, error) {
	root, err := parseJSON(bytes.TrimSpace(stdout))
	if err != nil {
		return nil, err
	}
	if root.kind != objectNode {
		return nil, fmt.Errorf("an answer must be an object, not %s", root.kind)
	}
	sh := shapes[event]
	o := &output{}
	for _, m := range root.members {
		at := m.key
		switch {
		case m.key == "systemMessage":
			o.systemMessage, err = optionalText(m.value, at)
		case sh.bare:
			err = unknownField(event, at)
		case m.key == "continue":
			var goOn bool
			goOn, err = truth(m.value, at)
			o.stop = err == nil && !goOn
		case m.key == "stopReason":
			o.stopReason, err = optionalText(m.value, at)
		case m.key == "suppressOutput":
			o.suppressOutput, err = truth(m.value, at)
		case m.key == "decision" && sh.decisions != nil:
			o.decision, err = enum(m.value, at, sh.decisions...)
		case m.key == "reason" && sh.decisions != nil:
			o.reason, err = optionalText(m.value, at)
		case m.key == "hookSpecificOutput" && sh.specific != nil:
			o.specific, err = parseSpecific(event, m.value, sh.specific)
		default:
			err = unknownField(event, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func parseSpecific(event hooks.Event, n *node, allowed []string) (*specific, error) {
	const at = "hookSpecificOutput"
	if n.kind == nullNode {
		return nil, nil
	}
	if n.kind != objectNode {
		return nil, fmt.Errorf("%s is %s where an object was expected", at, n.kind)
	}
	s := &specific{}
	named := false
	for _, m := range n.members {
		field := at + "." + m.key
		if m.key != "hookEventName" && !slices.Contains(allowed, m.key) {
			return nil, unknownField(event, field)
		}
		var err error
		switch m.key {
		case "hookEventName":
			// Another event's name passes in 0.171.0 although the schema says const
			// (observed u_wrongname); a name that is no event's does not.
			named = true
			if m.value.kind != stringNode || !isEvent(m.value.text) {
				err = fmt.Errorf("%s is not the name of a Codex event", field)
			}
		case "additionalContext":
			s.context, err = optionalText(m.value, field)
		case "permissionDecision":
			s.permission, err = enum(m.value, field, "allow", "deny", "ask")
		case "permissionDecisionReason":
			s.permissionReason, err = optionalText(m.value, field)
		case "updatedInput":
			if m.value.kind != nullNode {
				s.updatedInput = m.value
			}
		case "updatedMCPToolOutput":
			s.updatedMCP = m.value.kind != nullNode
		case "decision":
			s.decision, err = parsePermission(m.value)
		}
		if err != nil {
			return nil, err
		}
	}
	if !named {
		return nil, fmt.Errorf("%s lacks hookEventName (%q)", at, event)
	}
	return s, nil
}

func parsePermission(n *node) (*permissionDecision, error) {
	const at = "hookSpecificOutput.decision"
	if n.kind == nullNode {
		return nil, nil
	}
	if n.kind != objectNode {
		return nil, fmt.Errorf("%s is %s where an object was expected", at, n.kind)
	}
	d := &permissionDecision{}
	for _, m := range n.members {
		var err error
		field := at + "." + m.key
		switch m.key {
		case "behavior":
			if m.value.kind == nullNode {
				err = fmt.Errorf("%s is null where allow or deny was expected", field)
				break
			}
			d.behavior, err = enum(m.value, field, "allow", "deny")
		case "message":
			d.message, err = optionalText(m.value, field)
		case "interrupt":
			d.interrupt, err = truth(m.value, field)
		case "updatedInput":
			d.input = m.value.kind != nullNode
		case "updatedPermissions":
			d.permissions = m.value.kind != nullNode
		default:
			err = unknownField(hooks.PermissionRequest, field)
		}
		if err != nil {
			return nil, err
		}
	}
	if d.behavior == "" {
		return nil, fmt.Errorf("%s lacks behavior (allow or deny)", at)
	}
	return d, nil
}

func isEvent(name string) bool {
	_, ok := events[hooks.Event(name)]
	return ok
}

// unknownField explains a refusal, with the place where the field would work
// when it is a common slip.
func unknownField(event hooks.Event, at string) error {
	hint := ""
	switch at {
	case "additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput":
		if slices.Contains(shapes[event].specific, at) {
			hint = `; it belongs into "hookSpecificOutput"`
		}
	case "hookSpecificOutput":
		hint = "; this event takes decision and reason only"
	}
	return fmt.Errorf("%s is not a field of %s answers%s", at, event, hint)
}

func optionalText(n *node, at string) (*string, error) {
	switch n.kind {
	case nullNode:
		return nil, nil
	case stringNode:
		return &n.text, nil
	}
	return nil, fmt.Errorf("%s is %s where a string was expected", at, n.kind)
}

func truth(n *node, at string) (bool, error) {
	if n.kind != boolNode {
		return false, fmt.Errorf("%s is %s where true or false was expected", at, n.kind)
	}
	return n.truth, nil
}

// enum reads an optional string that must be one of a few.
func enum(n *node, at string, values ...string) (string, error) {
	if n.kind == nullNode {
		return "", nil
	}
	if n.kind == stringNode && slices.Contains(values, n.text) {
		return n.text, nil
	}
	got := n.kind.String()
	if n.kind == stringNode {
		got = fmt.Sprintf("%q", clip(n.text))
	}
	return "", fmt.Errorf("%s is %s; Codex takes %s there", at, got, strings.Join(values, " or "))
}
