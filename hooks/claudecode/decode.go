package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"acp-agent/hooks"
)

// Decode implements hooks.Speaker: the whole table of Claude Code hooks reference, output, exit code times
// stdout, as a pure function.
//
//   - stdout that begins with { is JSON, and counts on every exit code; when it
//     is not valid JSON, or not of the right shape, the hook has failed; where
//     text is context it may be text (meantAsText);
//   - exit code 2 blocks where the event can be blocked, with JSON's own reason
//     if it has one, else with stderr;
//   - exit code 0 and other text is context on four events, and nothing
//     elsewhere;
//   - all else is a failure, which blocks nothing unless onFailure says so.
func (d *Dialect) Decode(c *hooks.Call, h *hooks.Handler, exit hooks.Exit) hooks.Answer {
	return decode(c, h, exit)
}

func decode(c *hooks.Call, h *hooks.Handler, exit hooks.Exit) hooks.Answer {
	if exit.Cancelled {
		return hooks.Answer{Decision: hooks.Cancelled}
	}
	if h.Async {
		return decodeAsync(h, exit)
	}
	if errors.Is(exit.StartErr, hooks.ErrNotAsked) {
		return hooks.Answer{Decision: hooks.Held, Why: exit.StartErr.Error()}
	}
	r := &reading{c: c, h: h, ev: h.Event, exit: exit}
	if !exit.OK() {
		return r.failed(whyEnded(h, exit))
	}
	text := hooks.TrimForTest(exit.Stdout)
	isJSON := len(text) > 0 && text[0] == '{' && !(plainIsContext(r.ev) && meantAsText(text))
	var fault string
	if isJSON {
		if r.out, fault = parseOutput(text, r.ev); fault == "" {
			r.apply()
		}
	}
	switch {
	case exit.Code == 2:
		r.exitTwo()
	case fault != "":
		return r.failed(fault)
	case exit.Code != 0 && extOf(h).blockOnFailure:
		return r.failed(whyEnded(h, exit))
	case isJSON:
	case exit.Code != 0:
		return r.failed(whyEnded(h, exit))
	default:
		if s := hooks.StreamText(exit.Stdout); plainIsContext(r.ev) && strings.TrimSpace(s) != "" {
			r.a.Context = &s
		}
		if hooks.HasAnswer(exit.Stdout, answerMembers...) {
			r.note("%s", hooks.BesideAnswer)
		}
	}
	return r.finish()
}

// reading is one decode on its way.
type reading struct {
	c    *hooks.Call
	h    *hooks.Handler
	ev   hooks.Event
	exit hooks.Exit
	out  *output
	a    hooks.Answer
	// ownReason: JSON made a block of its own.
	ownReason bool
}

// whyEnded puts an end that is no answer into a sentence.
func whyEnded(h *hooks.Handler, exit hooks.Exit) string {
	switch {
	case exit.StartErr != nil:
		return exit.StartErr.Error()
	case exit.TimedOut:
		return "ran into its time limit of " + h.Timeout.String()
	case exit.Signal != "":
		return "it was ended by " + exit.Signal
	}
	s := "exit code " + itoa(exit.Code)
	if exit.Code == 127 {
		s += " (command not found)"
	}
	if line := hooks.Telling(exit.Stderr); line != "" {
		s += ": " + line
	}
	return s
}

// failed is a handler without an answer: it decides nothing, and the person is
// told. With onFailure:block it counts as exit code 2 (Claude Code hooks reference, handlers). A model
// switch is refused by a time limit too (Claude Code hooks reference, events).
func (r *reading) failed(why string) hooks.Answer {
	d := hooks.Failed
	if r.exit.TimedOut {
		d = hooks.TimedOut
	}
	r.a.Decision, r.a.Why = d, why
	blocks := r.ev == hooks.PreModelSwitch && r.exit.TimedOut
	if extOf(r.h).blockOnFailure && failureBlocks(r.h, r.ev) {
		blocks = true
	}
	if blocks && canBlock(r.ev, r.c) {
		reason := hooks.StreamText(r.exit.Stderr)
		if strings.TrimSpace(reason) == "" || r.exit.TimedOut {
			reason = "The hook that guards this failed: " + why
		}
		r.block(reason)
		r.a.Decision = d
	}
	return r.a
}

func failureBlocks(h *hooks.Handler, ev hooks.Event) bool {
	switch ev {
	case hooks.Stop, hooks.SubagentStop:
		return false
	case hooks.SessionStart:
		return h.Type != "mcp_tool"
	}
	return true
}

// canBlock reports the events on which exit code 2 has an effect on what happens
// next (Claude Code hooks reference, events).
func canBlock(ev hooks.Event, c *hooks.Call) bool {
	switch ev {
	case hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.PreToolUse, hooks.PostToolUse,
		hooks.PostToolUseFailure, hooks.PostToolBatch, hooks.Stop, hooks.SubagentStop,
		hooks.PreCompact, hooks.PreModelSwitch, hooks.Elicitation, hooks.ElicitationResult:
		return true
	case hooks.ConfigChange:
		source, _ := c.Fields["source"].(string)
		return source != "policy_settings"
	}
	return false
}

// plainIsContext reports the events on which plain stdout is for the model.
func plainIsContext(ev hooks.Event) bool {
	switch ev {
	case hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.SessionStart, hooks.PostModelSwitch:
		return true
	}
	return false
}

// meantAsText reports whether output that begins with { is text all the same: it
// does not end like an object and its first word is no member's name, or it is
// lines of JSON of which none is an answer (Claude Code hooks reference, exit
// code 0). An answer that was cut off is not: the decision in it must not be lost
// without a word.
func meantAsText(text []byte) bool {
	text = bytes.TrimSpace(text)
	if !bytes.HasSuffix(text, []byte("}")) {
		return !bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte(`"`))
	}
	lines := 0
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var m map[string]json.RawMessage
		if !json.Valid(line) || json.Unmarshal(line, &m) == nil && isAnswer(m) {
			return false
		}
		lines++
	}
	return lines > 1
}

// answerMembers are the members of an object that mean something to the vendor.
var answerMembers = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "terminalSequence", "decision", "reason", "hookSpecificOutput", "async"}

func isAnswer(m map[string]json.RawMessage) bool {
	return slices.ContainsFunc(answerMembers, func(key string) bool { _, ok := m[key]; return ok })
}

// block refuses the event with a reason, in the event's own way.
func (r *reading) block(reason string) {
	if strings.TrimSpace(reason) == "" {
		// Providers refuse empty text, and the model must learn that it was refused.
		reason = "A " + string(r.ev) + " hook blocked this without giving a reason."
	}
	switch r.ev {
	case hooks.PreToolUse:
		r.a.Permission, r.a.PermissionReason = hooks.Deny, reason
		r.a.UpdatedInput = nil
	case hooks.Elicitation, hooks.ElicitationResult:
		r.a.Blocked, r.a.Reason = true, reason
		r.a.Action, r.a.Content = "decline", nil
	default:
		r.a.Blocked, r.a.Reason = true, reason
		r.a.ReasonToUser = r.ev == hooks.UserPromptSubmit || r.ev == hooks.UserPromptExpand ||
			r.ev == hooks.PreCompact || r.ev == hooks.ConfigChange || r.ev == hooks.PreModelSwitch
	}
}

// exitTwo applies exit code 2.
func (r *reading) exitTwo() {
	if !canBlock(r.ev, r.c) {
		if toldToUser(r.ev) {
			r.a.Decision = hooks.Failed
			r.a.Why = "exit code 2 cannot block " + string(r.ev)
			if s := hooks.Summary(r.exit.Stderr); s != "" {
				r.a.Why = s
			}
		}
		return
	}
	if !r.ownReason {
		r.block(hooks.StreamText(r.exit.Stderr))
		r.a.Decision = hooks.Block
	}
}

// toldToUser reports the events on which the stderr of an exit code 2 that has
// no effect is shown (Claude Code hooks reference, events).
func toldToUser(ev hooks.Event) bool {
	switch ev {
	case hooks.SessionStart, hooks.SessionEnd, hooks.SubagentStart, hooks.PostCompact, hooks.CwdChanged, hooks.FileChanged, hooks.PostModelSwitch:
		return true
	}
	return false
}

// finish settles what is logged of the run.
func (r *reading) finish() hooks.Answer {
	a := &r.a
	if r.ev == hooks.UserPromptSubmit || r.ev == hooks.UserPromptExpand {
		a.ContextDropped = true
	}
	if a.Decision == "" {
		switch {
		case a.Halt:
			a.Decision = hooks.Halt
		case a.Permission != "":
			a.Decision = a.Permission
		case a.Blocked:
			a.Decision = hooks.Block
		default:
			a.Decision = hooks.Pass
		}
	}
	return r.a
}

// decodeAsync reads what a handler in the background said: context and messages
// only, each where it has the right type (Claude Code hooks reference, handlers). With asyncRewake exit code
// 2 is a wake-up, with stderr or else stdout as its text.
func decodeAsync(h *hooks.Handler, exit hooks.Exit) hooks.Answer {
	a := hooks.Answer{Decision: hooks.Pass}
	if !exit.OK() {
		a.Decision, a.Why = hooks.Failed, whyEnded(h, exit)
		if exit.TimedOut {
			a.Decision = hooks.TimedOut
		}
		return a
	}
	stdout := exit.Stdout
	if line, rest, ok := bytes.Cut(stdout, []byte("\n")); ok {
		if _, detached := detach(line); detached {
			stdout = rest
		}
	}
	text := hooks.TrimForTest(stdout)
	if exit.Code == 2 && h.Rewake {
		reason := hooks.StreamText(exit.Stderr)
		if reason == "" {
			reason = hooks.StreamText(stdout)
		}
		if strings.TrimSpace(reason) == "" {
			reason = "" // no provider takes it
		}
		a.Blocked, a.Reason = reason != "" || h.RewakeMessage != "", reason
		return a
	}
	if len(text) > 0 && text[0] == '{' {
		var m map[string]json.RawMessage
		if json.Unmarshal(text, &m) != nil {
			a.Decision, a.Why = hooks.Failed, notJSON
			return a
		}
		_ = json.Unmarshal(m["systemMessage"], &a.Message)
		var specific map[string]json.RawMessage
		_ = json.Unmarshal(m["hookSpecificOutput"], &specific)
		var s string
		if json.Unmarshal(specific["additionalContext"], &s) == nil && strings.TrimSpace(s) != "" {
			a.Context = &s
		}
		return a
	}
	if exit.Code != 0 {
		a.Decision, a.Why = hooks.Failed, whyEnded(h, exit)
	} else if s := hooks.StreamText(stdout); plainIsContext(h.Event) && strings.TrimSpace(s) != "" {
		a.Context = &s
	}
	return a
}

func (r *reading) note(format string, args ...any) {
	r.a.Notices = append(r.a.Notices, fmt.Sprintf(format, args...))
}
