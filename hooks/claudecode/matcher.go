package claudecode

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"acp-agent/hooks"
)

// matcher is a compiled matcher string (Claude Code hooks reference, matchers).
type matcher struct {
	all   bool
	exact []string
	re    *regexp2.Regexp
}

// matchTimeout bounds a regular expression that backtracks without end.
const matchTimeout = 250 * time.Millisecond

// compileMatcher reads a matcher: "", "*" and a missing one take all; a string
// of letters, digits, _, -, blank, comma and bar is a list of exact names;
// anything else is a JavaScript regular expression. Two events have a narrower
// list form.
func compileMatcher(ev hooks.Event, text string) (*matcher, error) {
	if text == "" || text == "*" || !hasSubject(ev) {
		return &matcher{all: true}, nil
	}
	narrow := ev == hooks.StopFailure || ev == hooks.FileChanged
	if isList(text, narrow) {
		m := &matcher{}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.exact = append(m.exact, name)
			}
		}
		return m, nil
	}
	re, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("%w", err)
	}
	re.MatchTimeout = matchTimeout
	return &matcher{re: re}, nil
}

func isList(text string, narrow bool) bool {
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '|':
		case !narrow && (r == '-' || r == ' ' || r == ','):
		default:
			return false
		}
	}
	return true
}

// matches tests the names of one subject: the first is the dialect's own, which
// a regular expression is tested on; the others count in an exact list only.
func (m *matcher) matches(names ...string) bool {
	switch {
	case m == nil:
		return false
	case m.all:
		return true
	case len(names) == 0 || names[0] == "":
		// An empty subject matches no real matcher; the vendor's running of every
		// group there is a known defect (claude-code#87065).
		return false
	case m.re == nil:
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(m.exact, n) })
	}
	ok, err := m.re.MatchString(names[0])
	// An error is the time limit. A guard that runs once too often does less harm
	// than one that is skipped.
	return ok || err != nil
}

// MayMatch implements hooks.Idler. A regular expression on tools may be meant for
// those of MCP servers.
func (d *Dialect) MayMatch(h *hooks.Handler, c *hooks.Call) bool {
	m := extOf(h).matcher
	switch {
	case m == nil:
		return true // it says itself why it never runs
	case isToolEvent(h.Event) && (m.re != nil || slices.ContainsFunc(m.exact, isMCP)):
		return true
	}
	return m.matches(subject(h.Event, c)...)
}

// isMCP reports whether an exact name can be that of an MCP server's tool.
func isMCP(name string) bool {
	return strings.HasPrefix(name, "mcp__") && strings.Count(name, "__") > 1
}

// watches are the files that a matcher of FileChanged names: what stands between
// its bars, taken literally (Claude Code hooks reference, FileChanged). One for
// everything names none.
func watches(ev hooks.Event, matcher string) []string {
	if ev != hooks.FileChanged || matcher == "*" {
		return nil
	}
	return strings.FieldsFunc(matcher, func(r rune) bool { return r == '|' })
}

// hasSubject reports whether the event's matcher is looked at.
func hasSubject(ev hooks.Event) bool {
	switch ev {
	case hooks.UserPromptSubmit, hooks.PostToolBatch, hooks.Stop, hooks.CwdChanged:
		return false
	}
	return true
}

// subject returns the names that the event's matcher is tested on.
func subject(ev hooks.Event, c *hooks.Call) []string {
	field := func(key string) []string {
		s, _ := c.Fields[key].(string)
		return []string{s}
	}
	switch ev {
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PermissionRequest, hooks.PermissionDenied:
		if c.Tool == nil {
			return nil
		}
		return toolNames(c.Tool.Name)
	case hooks.SessionStart:
		return []string{c.Source}
	case hooks.SessionEnd:
		return []string{c.Reason}
	case hooks.PreCompact, hooks.PostCompact:
		return []string{c.Trigger}
	case hooks.SubagentStart, hooks.SubagentStop:
		return []string{c.AgentType}
	case hooks.Notification:
		return field("notification_type")
	case hooks.InstructionsLoaded:
		return field("load_reason")
	case hooks.StopFailure:
		return field("error")
	case hooks.ConfigChange:
		return field("source")
	case hooks.FileChanged:
		path, _ := c.Fields["file_path"].(string)
		return []string{filepath.Base(path)}
	case hooks.PreModelSwitch, hooks.PostModelSwitch:
		return field("to_model")
	case hooks.UserPromptExpand:
		return field("command_name")
	case hooks.Elicitation, hooks.ElicitationResult:
		return field("mcp_server_name")
	}
	return nil
}

// retired warns of names in a list that no tool has any more (public configs).
func retired(ev hooks.Event, m *matcher) string {
	if !isToolEvent(ev) || m.re != nil || m.all {
		return ""
	}
	for _, n := range m.exact {
		switch {
		case n == "MultiEdit" && !slices.Contains(m.exact, "Edit"):
			// Beside Edit it is the rest of older versions and harms nobody.
			return "there is no MultiEdit any more: match Edit"
		case strings.HasPrefix(n, "mcp__") && strings.Count(n, "__") == 1:
			return n + " is an exact name and matches no tool: write " + strings.TrimSuffix(n, "__") + "__.*"
		}
	}
	return ""
}
