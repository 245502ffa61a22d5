// Package permission decides whether a tool call may run: rules, modes and
// remembered answers. It is pure but for what it remembers, asks nobody and runs
// nothing; the loop does.
//
// Rules are written as Claude Code writes them, with its tool names or the
// agent's own: Bash, Bash(git *), Bash(go test:*), Edit(src/**), Read(.env),
// mcp__server__*. What they mean is in rule.go (names), bash.go (commands) and
// path.go (paths). A rule that allows must cover everything that a call does; a
// rule that asks or denies needs to touch one part of it.
package permission

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The permission modes, by their ACP ids.
const (
	ModeDefault     = "default"           // ask before anything that changes something
	ModeAcceptEdits = "acceptEdits"       // edits inside the roots run unasked
	ModePlan        = "plan"              // nothing that changes anything runs
	ModeBypass      = "bypassPermissions" // nothing is asked; deny and ask rules hold
)

// Decision is what becomes of a call.
type Decision string

// The decisions.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// Call is a tool call in the agent's own names and arguments.
type Call struct {
	Name     string
	Input    json.RawMessage
	ReadOnly bool
	// Hinted: the tool is said to be read-only by whoever offers it (tool.Spec).
	Hinted bool
	// Cwd is the session's working directory: relative paths in rules and
	// arguments are below it.
	Cwd string
	// Paths are further absolute paths that the call touches, such as where a
	// symlink in its arguments leads. A path rule that denies looks at them too,
	// and one that allows must cover them.
	Paths []string
}

// Verdict is a decision and why.
type Verdict struct {
	Decision Decision
	// Reason is for the model where the call is denied, for the person where it
	// is asked about.
	Reason string
	// Rule is the rule that decided, empty for a mode or the default.
	Rule string
	// Explicit: an ask or deny rule decided. A hook's allow does not go past it.
	Explicit bool
}

// Rules are a session's rules and what the person has answered so far. They are
// safe for concurrent use.
type Rules struct {
	home  string   // what ~ stands for
	guard []string // Guard's

	mu               sync.Mutex
	deny, ask, allow []rule
}

// NewRules parses the rules of the config file, in Claude Code's syntax. home is
// the person's home directory, which ~ stands for; where it is not known (empty) a
// rule with ~ is none. The error names the first rule that is not one.
func NewRules(home string, allow, ask, deny []string) (*Rules, error) {
	r := &Rules{home: home}
	for _, list := range []struct {
		name string
		from []string
		to   *[]rule
	}{{"allow", allow, &r.allow}, {"ask", ask, &r.ask}, {"deny", deny, &r.deny}} {
		for _, text := range list.from {
			parsed, err := parse(r.home, text)
			if err != nil {
				return nil, fmt.Errorf("%s rule %q: %w", list.name, text, err)
			}
			*list.to = append(*list.to, parsed)
		}
	}
	return r, nil
}

// Guard names further files and directories, absolute, edits of which are asked
// about where edits are accepted, as they make this program run something. It is
// called before the first Decide.
func (r *Rules) Guard(paths ...string) {
	for _, p := range paths {
		if p == "" {
			continue
		}
		r.guard = append(r.guard, filepath.Clean(p))
	}
}

const planReason = "The session is in plan mode: nothing may be changed and no command run. Make a plan; the user will leave plan mode to carry it out."

// Decide applies, in this order: deny rules, remembered ones among them; plan
// mode; ask rules; allow rules, remembered ones among them; the mode. A read-only
// call needs no permission; one that is only said to be read-only does, and is what
// plan mode lets be asked about. So a newer deny beats whatever was allowed before,
// and plan mode holds against every allow.
func (r *Rules) Decide(mode string, c Call) Verdict {
	s := newSubject(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	if rule, ok := s.touched(r.deny); ok {
		return Verdict{Decision: Deny, Reason: "The rule " + rule + " denies this call. Do not try it in another way.", Rule: rule, Explicit: true}
	}
	if mode == ModePlan && !c.ReadOnly && !c.Hinted {
		return Verdict{Decision: Deny, Reason: planReason}
	}
	if rule, ok := s.touched(r.ask); ok {
		return Verdict{Decision: Ask, Reason: "The rule " + rule + " asks about this call.", Rule: rule, Explicit: true}
	}
	if rule, ok := s.covered(r.allow); ok {
		return Verdict{Decision: Allow, Rule: rule}
	}
	switch {
	case c.ReadOnly, mode == ModeBypass:
		return Verdict{Decision: Allow}
	case mode == ModeAcceptEdits && s.edits():
		if path, ok := s.guarded(r.guard); ok {
			return Verdict{Decision: Ask, Reason: path + " steers programs that run by themselves."}
		}
		return Verdict{Decision: Allow}
	}
	if c.Hinted && strings.HasPrefix(c.Name, "mcp__") {
		return Verdict{Decision: Ask, Reason: "Its server says that this tool changes nothing. That is not checked."}
	}
	return Verdict{Decision: Ask}
}

// Allows reports whether any allow rule is about the tool.
func (r *Rules) Allows(tool string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.allow, func(r rule) bool { return r.about(tool) })
}

// Allow remembers an "allow always" for the session. A text that is no rule is
// not remembered.
func (r *Rules) Allow(rule string) { r.remember(&r.allow, rule) }

// Reject remembers a "reject always" for the session.
func (r *Rules) Reject(rule string) { r.remember(&r.deny, rule) }

func (r *Rules) remember(list *[]rule, text string) {
	parsed, err := parse(r.home, text)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(*list, func(old rule) bool { return old.text == parsed.text }) {
		*list = append(*list, parsed)
	}
}

// update is Claude Code's permission update, the kinds about rules.
type update struct {
	Type     string `json:"type"`
	Behavior string `json:"behavior"`
	Rules    []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent"`
	} `json:"rules"`
}

// Update applies a permission update as a hook gives it (Claude Code
// PermissionRequest updatedPermissions), for the session. Kinds that it does not
// know it leaves; a rule that is none is an error, and then nothing is applied.
func (r *Rules) Update(raw json.RawMessage) error {
	var u update
	if err := json.Unmarshal(raw, &u); err != nil {
		return fmt.Errorf("reading a permission update: %w", err)
	}
	list := map[string]*[]rule{"allow": &r.allow, "ask": &r.ask, "deny": &r.deny}[u.Behavior]
	if list == nil || u.Type != "addRules" && u.Type != "replaceRules" && u.Type != "removeRules" {
		return nil
	}
	var rules []rule
	for _, x := range u.Rules {
		text := x.ToolName
		if x.RuleContent != "" {
			text += "(" + x.RuleContent + ")"
		}
		parsed, err := parse(r.home, text)
		if err != nil {
			return fmt.Errorf("permission update: rule %q: %w", text, err)
		}
		rules = append(rules, parsed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	named := func(old rule) bool {
		return slices.ContainsFunc(rules, func(n rule) bool { return n.text == old.text })
	}
	switch u.Type {
	case "removeRules":
		*list = slices.DeleteFunc(*list, named)
	case "replaceRules":
		*list = rules
	case "addRules":
		*list = append(slices.DeleteFunc(*list, named), rules...)
	}
	return nil
}
