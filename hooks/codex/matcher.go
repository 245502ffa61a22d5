package codex

import (
	"regexp"
	"slices"
	"strings"

	"acp-agent/hooks"
)

// matcher is a compiled group matcher (Codex 0.171.0, matchers): everything, a list of exact
// names, or a regular expression.
type matcher struct {
	all   bool
	names []string
	re    *regexp.Regexp
}

// subject is what a matcher is tested against.
type subject struct {
	// names are the dialect's name and its aliases.
	names []string
	// native is the agent's own tool name; only an exact list knows it, so that
	// a regular expression hits what it hits in Codex and nothing else.
	native string
}

// hasSubject reports whether the event's matcher counts at all. A matcher on
// the others is ignored, even an invalid one.
func hasSubject(e hooks.Event) bool {
	switch e {
	case hooks.UserPromptSubmit, hooks.Stop, hooks.Interrupt, hooks.PreModelRequest, hooks.PostModelRequest:
		return false
	}
	return true
}

// compileMatcher compiles a group's matcher. Rust's regex and Go's are the same
// family (no look-around, linear time), so Go's is a faithful engine; an
// invalid one disables the group.
func compileMatcher(text string) (*matcher, error) {
	switch {
	case text == "" || text == "*":
		return &matcher{all: true}, nil
	case exact(text):
		return &matcher{names: strings.Split(text, "|")}, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &matcher{re: re}, nil
}

// exact reports whether the text is a plain list: letters, digits, "_" and "|"
// only. A blank, a comma or a hyphen makes it a regular expression, and names
// are not trimmed: "startup | resume" matches nothing in Codex either.
func exact(text string) bool {
	for i := range len(text) {
		c := text[i]
		if c != '_' && c != '|' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

func (m *matcher) matches(s subject) bool {
	switch {
	case m.all:
		return true
	case m.re != nil:
		return slices.ContainsFunc(s.names, m.re.MatchString)
	}
	if s.native != "" && slices.Contains(m.names, s.native) {
		return true
	}
	return slices.ContainsFunc(s.names, func(n string) bool { return slices.Contains(m.names, n) })
}

// MayMatch implements hooks.Idler. A regular expression on tools may be meant for
// those of MCP servers.
func (d *Dialect) MayMatch(h *hooks.Handler, c *hooks.Call) bool {
	m := h.Ext.(*ext).matcher
	switch {
	case m == nil:
		return true // it says itself why it never runs
	case c.Tool != nil && (m.re != nil || slices.ContainsFunc(m.names, func(n string) bool { return strings.HasPrefix(n, "mcp__") })):
		return true
	}
	return m.matches(subjectOf(c))
}

// subjectOf returns what the event's matchers are tested against.
func subjectOf(c *hooks.Call) subject {
	switch c.Event {
	case hooks.PreToolUse, hooks.PermissionRequest, hooks.PostToolUse:
		if c.Tool == nil {
			return subject{}
		}
		t := toolNames(c.Tool.Name)
		return subject{names: append([]string{t.name}, t.aliases...), native: c.Tool.Name}
	case hooks.SessionStart:
		return subject{names: []string{c.Source}}
	case hooks.SubagentStart, hooks.SubagentStop:
		return subject{names: []string{c.AgentType}}
	case hooks.PreCompact, hooks.PostCompact:
		return subject{names: []string{c.Trigger}}
	case hooks.SessionEnd:
		return subject{names: []string{sessionEndReason}}
	}
	return subject{}
}

// sessionEndReason is the only reason that Codex ever gives.
const sessionEndReason = "other"
