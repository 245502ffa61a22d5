package codex

import (
	"bytes"
	"fmt"
	"strings"

	"acp-agent/hooks"
)

// decode turns how a handler ended into its answer (Codex 0.171.0, output). It is a pure
// function of its arguments. Exit code 0 is the only one whose stdout counts;
// exit code 2 blocks by what it wrote to stderr, and fails when that is
// nothing; every other end fails. A failure never holds anything up.
func decode(c *hooks.Call, h *hooks.Handler, e hooks.Exit) hooks.Answer {
	switch {
	case e.Cancelled:
		return hooks.Answer{Decision: hooks.Cancelled, Why: "the hook was cancelled because the turn was interrupted"}
	case e.StartErr != nil:
		return failed("the hook could not be started: %v", e.StartErr)
	case e.TimedOut:
		return hooks.Answer{Decision: hooks.TimedOut, Why: fmt.Sprintf("timed out after %s", h.Timeout)}
	case e.Signal != "":
		return failed("the hook was ended by %s", e.Signal)
	case e.Code == 0:
		if h.Async {
			return decodeAsync(c, e)
		}
		return decodeZero(c, e)
	case h.Async:
		return failed("the async hook exited with code %d%s", e.Code, telling(e.Stderr))
	case e.Code == 2:
		return decodeTwo(c, e)
	}
	return failed("the hook exited with code %d%s", e.Code, telling(e.Stderr))
}

// telling is what it wrote to stderr in a line, for a person.
func telling(stderr []byte) string {
	line := hooks.Telling(stderr)
	if line == "" {
		return ""
	}
	return ": " + line
}

func failed(format string, args ...any) hooks.Answer {
	return hooks.Answer{Decision: hooks.Failed, Why: fmt.Sprintf(format, args...)}
}

// decodeTwo is exit code 2: stderr is the reason, stdout is not looked at.
func decodeTwo(c *hooks.Call, e hooks.Exit) hooks.Answer {
	var a hooks.Answer
	reason := hooks.StreamText(e.Stderr)
	switch c.Event {
	case hooks.PreToolUse, hooks.PermissionRequest:
		a = deny(reason)
	case hooks.PostToolUse:
		a = replace(hooks.Block, reason)
	case hooks.UserPromptSubmit:
		a = block(reason)
		a.ReasonToUser = true
	case hooks.Stop, hooks.SubagentStop:
		a = block(reason)
	default:
		return failed("the hook exited with code 2, which blocks nothing on %s", c.Event)
	}
	if strings.TrimSpace(reason) == "" {
		return failed("the hook exited with code 2 but wrote no reason to stderr, so Codex does not block")
	}
	a.Decision = hooks.Block // logged alike in both dialects, whatever it refuses
	return a
}

func deny(reason string) hooks.Answer {
	return hooks.Answer{Decision: hooks.Deny, Permission: hooks.Deny, PermissionReason: reason}
}

func block(reason string) hooks.Answer {
	return hooks.Answer{Decision: hooks.Block, Blocked: true, Reason: reason}
}

func halt(reason *string) hooks.Answer {
	a := hooks.Answer{Decision: hooks.Halt, Halt: true}
	if reason != nil {
		a.HaltReason = *reason
	}
	return a
}

// replace is PostToolUse's feedback, which stands in the place of the tool's
// output. Several are joined by a blank line, here alone.
func replace(d hooks.Decision, text string) hooks.Answer {
	return hooks.Answer{Decision: d, Replace: &text, JoinReplace: true}
}

// decodeZero is exit code 0.
func decodeZero(c *hooks.Call, e hooks.Exit) hooks.Answer {
	if observed(c.Event) || len(bytes.TrimSpace(e.Stdout)) == 0 {
		return hooks.Answer{}
	}
	stdout := []byte(hooks.ValidText(e.Stdout))
	if !looksLikeJSON(stdout) {
		a := decodePlain(c, e.Stdout)
		if a.Decision != hooks.Failed && hooks.HasAnswer(e.Stdout, "continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput") {
			a.Notices = append(a.Notices, hooks.BesideAnswer)
		}
		return a
	}
	o, err := parseOutput(c.Event, stdout)
	if err != nil {
		return failed("the hook's answer is not what Codex takes on %s, so none of it applies: %v", c.Event, err)
	}
	a := decodeOutput(c, o)
	if o.systemMessage != nil {
		a.Message = *o.systemMessage
	}
	return a
}

// observed events take no answer at all.
func observed(e hooks.Event) bool {
	return e == hooks.SessionEnd || e == hooks.PreModelRequest || e == hooks.PostModelRequest
}

// decodePlain is stdout that is no JSON.
func decodePlain(c *hooks.Call, stdout []byte) hooks.Answer {
	switch c.Event {
	case hooks.SessionStart, hooks.SubagentStart, hooks.UserPromptSubmit:
		return withContext(hooks.Answer{}, hooks.StreamText(stdout))
	case hooks.Stop, hooks.SubagentStop, hooks.Interrupt:
		return failed("the hook printed plain text, and Codex takes only JSON on %s", c.Event)
	}
	return hooks.Answer{}
}

func withContext(a hooks.Answer, text string) hooks.Answer {
	if text != "" {
		a.Context = &text
	}
	return a
}

func (o *output) context() string {
	if o.specific == nil || o.specific.context == nil {
		return ""
	}
	return *o.specific.context
}

func decodeOutput(c *hooks.Call, o *output) hooks.Answer {
	switch c.Event {
	case hooks.PreToolUse:
		return decodePreToolUse(c, o)
	case hooks.PermissionRequest:
		return decodePermission(o)
	case hooks.PostToolUse:
		return decodePostToolUse(o)
	case hooks.UserPromptSubmit:
		return decodePrompt(o)
	case hooks.SessionStart, hooks.SubagentStart:
		a := hooks.Answer{}
		if o.stop {
			a = halt(o.stopReason)
		}
		return withContext(a, o.context())
	case hooks.Stop, hooks.SubagentStop:
		return decodeStop(c, o)
	case hooks.PreCompact, hooks.PostCompact:
		if o.stop {
			return halt(o.stopReason)
		}
	}
	return hooks.Answer{}
}

// decodePreToolUse: only a denial, a legacy block, a rewrite with allow, and
// context are supported. Anything else fails, and its context is lost with it.
func decodePreToolUse(c *hooks.Call, o *output) hooks.Answer {
	switch {
	case o.stop:
		return unsupported(c, "continue:false")
	case o.stopReason != nil:
		return unsupported(c, "stopReason")
	case o.suppressOutput:
		return unsupported(c, "suppressOutput")
	}
	s := o.specific
	if s == nil || s.permission == "" && s.permissionReason == nil && s.updatedInput == nil {
		return withContext(legacyDecision(c, o))
	}
	switch {
	case s.updatedInput != nil && s.permission != "allow":
		return failed("the hook gave updatedInput without permissionDecision allow, which Codex refuses")
	case s.permission == "allow" && s.updatedInput == nil:
		return unsupported(c, "permissionDecision allow without updatedInput")
	case s.permission == "ask":
		return unsupported(c, "permissionDecision ask")
	case s.permission == "":
		return failed("the hook gave permissionDecisionReason without permissionDecision")
	case s.permission == "deny":
		if blank(s.permissionReason) {
			return failed("the hook denied without a permissionDecisionReason, so Codex does not deny")
		}
		return withContext(deny(*s.permissionReason), o.context())
	}
	return withContext(rewrite(c, s.updatedInput), o.context())
}

// legacyDecision is decision and reason at the top level. It returns what
// withContext takes.
func legacyDecision(c *hooks.Call, o *output) (hooks.Answer, string) {
	switch {
	case o.decision == "approve":
		return unsupported(c, "decision approve"), ""
	case o.decision == "block" && blank(o.reason):
		return failed("the hook blocked without a reason, so Codex does not block"), ""
	case o.decision == "block":
		return deny(*o.reason), o.context()
	case o.reason != nil:
		return failed("the hook gave a reason without a decision"), ""
	}
	return hooks.Answer{}, o.context()
}

// rewrite maps updatedInput back. One that cannot be mapped denies the call as
// well as failing: Codex answers the model with the error too, and running what
// the hook wanted changed would be the worst of all outcomes.
func rewrite(c *hooks.Call, updated *node) hooks.Answer {
	if c.Tool == nil {
		return failed("the hook rewrote the input of a call that has no tool")
	}
	in, err := nativeInput(c.Tool, c.Cwd, updated)
	if err != nil {
		a := failed("the call did not run, since the hook's rewrite of it cannot be carried out: %v", err)
		a.Permission, a.PermissionReason = hooks.Deny, a.Why
		return a
	}
	// Allow here is the form that a rewrite must have; it does not skip the
	// approval that would follow, so no permission is given.
	return hooks.Answer{Decision: hooks.Allow, UpdatedInput: in}
}

func decodePermission(o *output) hooks.Answer {
	const event = "PermissionRequest"
	switch {
	case o.stop:
		return failed("Codex does not support continue:false on %s", event)
	case o.stopReason != nil:
		return failed("Codex does not support stopReason on %s", event)
	case o.suppressOutput:
		return failed("Codex does not support suppressOutput on %s", event)
	}
	if o.specific == nil || o.specific.decision == nil {
		return hooks.Answer{}
	}
	d := o.specific.decision
	switch {
	case d.input:
		return failed("Codex does not support updatedInput on %s", event)
	case d.permissions:
		return failed("Codex does not support updatedPermissions on %s", event)
	case d.interrupt:
		return failed("Codex does not support interrupt:true on %s", event)
	case d.behavior == "allow":
		return hooks.Answer{Decision: hooks.Allow, Permission: hooks.Allow}
	case blank(d.message):
		return deny("PermissionRequest hook denied approval")
	}
	return deny(*d.message)
}

func decodePostToolUse(o *output) hooks.Answer {
	why := ""
	switch {
	case o.suppressOutput:
		why = "Codex does not support suppressOutput on PostToolUse"
	case o.specific != nil && o.specific.updatedMCP:
		why = "Codex does not support updatedMCPToolOutput on PostToolUse"
	case o.decision == "block" && blank(o.reason):
		why = "the hook blocked without a reason, so Codex does not block"
	case o.decision == "" && !o.stop && o.reason != nil:
		why = "the hook gave a reason without a decision"
	}
	var a hooks.Answer
	switch {
	case o.stop:
		// The turn goes on; only the result is replaced (observed q_cont).
		text := "PostToolUse hook stopped execution"
		if o.stopReason != nil {
			text = *o.stopReason
		}
		if !blank(o.reason) {
			text = *o.reason
		}
		a = replace(hooks.Block, text)
	case why != "":
		return failed("%s", why)
	case o.decision == "block":
		a = replace(hooks.Block, *o.reason)
	}
	if why != "" {
		return a
	}
	return withContext(a, o.context())
}

// decodePrompt is UserPromptSubmit: a block keeps the context, which stays in
// the history while the prompt does not (Codex 0.171.0, output).
func decodePrompt(o *output) hooks.Answer {
	invalid := o.decision == "block" && blank(o.reason)
	switch {
	case o.stop && invalid:
		return halt(o.stopReason)
	case o.stop:
		return withContext(halt(o.stopReason), o.context())
	case invalid:
		return failed("the hook blocked without a reason, so Codex does not block")
	case o.decision == "block":
		a := block(*o.reason)
		a.ReasonToUser = true
		return withContext(a, o.context())
	}
	return withContext(hooks.Answer{}, o.context())
}

func decodeStop(c *hooks.Call, o *output) hooks.Answer {
	switch {
	case o.stop:
		return halt(o.stopReason)
	case o.decision == "block" && blank(o.reason):
		return failed("the hook blocked without a reason, so Codex does not go on")
	case o.decision == "block":
		return block(*o.reason)
	}
	return hooks.Answer{}
}

// decodeAsync takes context only: the event is long over, so nothing can be
// decided or said to the person any more (Codex 0.171.0, output, observed as_async).
func decodeAsync(c *hooks.Call, e hooks.Exit) hooks.Answer {
	if observed(c.Event) || len(bytes.TrimSpace(e.Stdout)) == 0 {
		return hooks.Answer{}
	}
	stdout := []byte(hooks.ValidText(e.Stdout))
	if !looksLikeJSON(stdout) {
		return withContext(hooks.Answer{}, hooks.StreamText(e.Stdout))
	}
	o, err := parseOutput(c.Event, stdout)
	if err != nil {
		return failed("the async hook's answer is not what Codex takes on %s: %v", c.Event, err)
	}
	return withContext(hooks.Answer{}, o.context())
}

func unsupported(c *hooks.Call, what string) hooks.Answer {
	return failed("Codex does not support %s on %s, so none of the answer applies", what, c.Event)
}

func blank(s *string) bool { return s == nil || strings.TrimSpace(*s) == "" }
