package claudecode

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"acp-agent/hooks"
)

const notJSON = "its output looks like a JSON object but is not valid JSON; print one object and nothing else"

// output is a hook's JSON answer, its types checked (Claude Code hooks reference, output). Member names
// are case-sensitive, unknown ones ignored, null counts as absent.
type output struct {
	top, specific map[string]json.RawMessage

	cont       *bool
	stopReason string
	message    string
	decision   string
	reason     *string
}

// parseOutput reads an answer; fault says what is wrong with its shape, in which
// case nothing of it applies.
func parseOutput(text []byte, ev hooks.Event) (o *output, fault string) {
	o = &output{}
	if err := json.Unmarshal(text, &o.top); err != nil {
		return nil, notJSON
	}
	c := checker{m: o.top}
	var suppress bool
	var terminal string
	c.take("continue", &o.cont, "true or false")
	c.take("suppressOutput", &suppress, "true or false")
	c.take("stopReason", &o.stopReason, "a string")
	c.take("systemMessage", &o.message, "a string")
	c.take("terminalSequence", &terminal, "a string")
	c.take("reason", &o.reason, "a string")
	c.enum("decision", &o.decision, "approve", "block")
	c.take("hookSpecificOutput", &o.specific, "an object")
	if c.fault != "" {
		return nil, "its answer is not of the right shape: " + c.fault
	}
	if o.specific == nil {
		return o, ""
	}
	var name string
	s := checker{m: o.specific, at: "hookSpecificOutput."}
	s.take("hookEventName", &name, "a string")
	switch {
	case s.fault != "":
	case name == "":
		s.fault = fmt.Sprintf("hookSpecificOutput.hookEventName is missing; it must be %q", ev)
	case name != string(ev):
		s.fault = fmt.Sprintf("hookSpecificOutput.hookEventName is %q; it must be %q", name, ev)
	default:
		s.specific(ev)
	}
	if s.fault != "" {
		return nil, "its answer is not of the right shape: " + s.fault
	}
	return o, ""
}

// checker reads members of an object and keeps the first fault.
type checker struct {
	m     map[string]json.RawMessage
	at    string
	fault string
}

func (c *checker) take(key string, v any, want string) {
	raw, ok := c.m[key]
	if !ok || string(raw) == "null" {
		return
	}
	if json.Unmarshal(raw, v) != nil && c.fault == "" {
		c.fault = c.at + key + " must be " + want
	}
}

func (c *checker) enum(key string, s *string, values ...string) {
	c.take(key, s, "a string")
	if *s != "" && !slices.Contains(values, *s) && c.fault == "" {
		c.fault = fmt.Sprintf("%s%s is %q; it must be %s", c.at, key, *s, strings.Join(values, " or "))
	}
}

// specific checks the types of the event's own members.
func (c *checker) specific(ev hooks.Event) {
	var s string
	var obj map[string]json.RawMessage
	c.take("additionalContext", &s, "a string")
	switch ev {
	case hooks.PreToolUse:
		var d string
		c.enum("permissionDecision", &d, "allow", "deny", "ask", "defer")
		c.take("permissionDecisionReason", &s, "a string")
		c.take("updatedInput", &obj, "an object")
	case hooks.PreModelSwitch:
		var d string
		c.enum("permissionDecision", &d, "allow", "deny", "ask")
		c.take("permissionDecisionReason", &s, "a string")
	case hooks.PermissionRequest:
		c.take("decision", &obj, "an object")
		if obj == nil {
			return
		}
		in := checker{m: obj, at: c.at + "decision."}
		var behavior string
		var interrupt bool
		var list []json.RawMessage
		var updated map[string]json.RawMessage
		in.enum("behavior", &behavior, "allow", "deny")
		if behavior == "" && in.fault == "" {
			in.fault = in.at + "behavior is missing"
		}
		in.take("message", &s, "a string")
		in.take("interrupt", &interrupt, "true or false")
		in.take("updatedInput", &updated, "an object")
		in.take("updatedPermissions", &list, "a list")
		if c.fault == "" {
			c.fault = in.fault
		}
	case hooks.UserPromptSubmit:
		c.take("sessionTitle", &s, "a string")
	case hooks.SessionStart, hooks.CwdChanged, hooks.FileChanged:
		c.take("sessionTitle", &s, "a string")
		var paths []string
		c.take("watchPaths", &paths, "a list of strings")
	case hooks.PermissionDenied:
		var retry bool
		c.take("retry", &retry, "true or false")
	case hooks.Elicitation, hooks.ElicitationResult:
		var a string
		c.enum("action", &a, "accept", "decline", "cancel")
		c.take("content", &obj, "an object")
	}
}

// str returns a string member of hookSpecificOutput; its type is checked.
func (o *output) str(key string) string {
	var s string
	_ = json.Unmarshal(o.specific[key], &s)
	return s
}

func (o *output) raw(key string) json.RawMessage {
	if v, ok := o.specific[key]; ok && string(v) != "null" {
		return v
	}
	return nil
}

// apply turns a checked answer into what it asks for, by event.
func (r *reading) apply() {
	o, a := r.out, &r.a
	if r.ev == hooks.StopFailure {
		return // output ignored (Claude Code hooks reference, events)
	}
	if o.message != "" && !messageDiscarded(r.ev) {
		a.Message = o.message
	}
	if o.cont != nil && !*o.cont && r.ev != hooks.SessionEnd {
		a.Halt, a.HaltReason = true, o.stopReason
	}
	r.applyContext()
	r.applyDecision()
	r.watchPaths()
	switch r.ev {
	case hooks.PreToolUse:
		r.preToolUse()
	case hooks.PermissionRequest:
		r.permissionRequest()
	case hooks.PostToolUse:
		r.replaceOutput()
	case hooks.PreModelSwitch:
		r.modelSwitch()
	case hooks.UserPromptSubmit:
		a.Title = o.str("sessionTitle")
	case hooks.SessionStart:
		if r.c.Source != "clear" && r.c.Source != "compact" {
			a.Title = o.str("sessionTitle")
		}
	case hooks.PermissionDenied:
		_ = json.Unmarshal(o.specific["retry"], &a.Retry)
	case hooks.Elicitation, hooks.ElicitationResult:
		// With exit code 2 the answer's own action is ignored (Claude Code hooks reference, output).
		if r.exit.Code != 2 {
			a.Action, a.Content = o.str("action"), o.raw("content")
		}
	}
	r.remarks()
}

func messageDiscarded(ev hooks.Event) bool {
	switch ev {
	case hooks.PreCompact, hooks.PostCompact, hooks.ConfigChange, hooks.Notification,
		hooks.Elicitation, hooks.ElicitationResult, hooks.StopFailure:
		return true
	}
	return false
}

// hasContext reports the events whose additionalContext reaches the model.
func hasContext(ev hooks.Event) bool {
	switch ev {
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch,
		hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.SessionStart, hooks.SubagentStart,
		hooks.Notification, hooks.PostModelSwitch, hooks.Stop, hooks.SubagentStop:
		return true
	}
	return false
}

func (r *reading) applyContext() {
	s := r.out.str("additionalContext")
	if strings.TrimSpace(s) == "" || !hasContext(r.ev) {
		return
	}
	r.a.Context = &s
}

// watchPaths takes the files whose changes the hook wants to hear of; it hands on
// absolute paths alone (Claude Code hooks reference, FileChanged).
func (r *reading) watchPaths() {
	raw := r.out.raw("watchPaths")
	if raw == nil || r.ev != hooks.SessionStart && r.ev != hooks.CwdChanged && r.ev != hooks.FileChanged {
		return
	}
	var paths []string
	_ = json.Unmarshal(raw, &paths) // parseOutput has checked it
	r.a.WatchPaths = []string{}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			r.note("watchPaths has %q, which is no absolute path; it is not watched", p)
			continue
		}
		r.a.WatchPaths = append(r.a.WatchPaths, p)
	}
}

// applyDecision handles the top-level decision and its reason.
func (r *reading) applyDecision() {
	o := r.out
	reason := ""
	if o.reason != nil {
		reason = *o.reason
	}
	switch {
	case o.decision == "block" && canBlock(r.ev, r.c):
		r.block(reason)
		r.ownReason = strings.TrimSpace(reason) != ""
	case o.decision == "approve" && r.ev == hooks.PreToolUse:
		r.a.Permission, r.a.PermissionReason = hooks.Allow, reason
	case o.decision == "block":
		r.note("\"decision\":\"block\" has no effect on %s", r.ev)
	}
	// On Stop additionalContext keeps the turn going too, as feedback that is no
	// error, and counts towards the cap (2.1.163): the loop goes on where a stop
	// comes back with context.
}

func (r *reading) preToolUse() {
	o, a := r.out, &r.a
	if d := o.str("permissionDecision"); d != "" {
		a.Permission, a.PermissionReason = hooks.Decision(d), o.str("permissionDecisionReason")
		r.ownReason = false
		if a.Permission == hooks.Deny {
			r.ownReason = strings.TrimSpace(a.PermissionReason) != ""
			r.block(a.PermissionReason)
			a.Decision = hooks.Deny
		}
	}
	if a.Permission == hooks.Deny || a.Permission == hooks.Defer {
		return
	}
	r.rewrite(o.raw("updatedInput"))
}

// rewrite takes an updatedInput. One that this agent's tool cannot take refuses
// the call: to run the original would be to run what the hook wanted changed.
func (r *reading) rewrite(updated json.RawMessage) {
	if updated == nil || r.c.Tool == nil {
		return
	}
	native, err := nativeInput(r.c.Tool.Name, updated)
	if err == nil {
		r.a.UpdatedInput = native
		return
	}
	r.a.Permission = hooks.Deny
	r.a.PermissionReason = "A hook rewrote the arguments in a way that cannot be applied, so the tool was not run: " + err.Error()
	r.a.Decision, r.a.Why = hooks.Failed, err.Error()
	r.ownReason = true
}

func (r *reading) permissionRequest() {
	raw := r.out.raw("decision")
	if raw == nil {
		return
	}
	// parseOutput has checked the types.
	var d struct {
		Behavior           string            `json:"behavior"`
		Message            string            `json:"message"`
		Interrupt          bool              `json:"interrupt"`
		UpdatedInput       json.RawMessage   `json:"updatedInput"`
		UpdatedPermissions []json.RawMessage `json:"updatedPermissions"`
	}
	_ = json.Unmarshal(raw, &d)
	r.a.Permission = hooks.Decision(d.Behavior)
	if r.a.Permission == hooks.Deny {
		r.a.PermissionReason, r.a.Interrupt = d.Message, d.Interrupt
		if strings.TrimSpace(d.Message) == "" {
			r.a.PermissionReason = "A PermissionRequest hook denied this."
		}
		return
	}
	r.a.UpdatedPermissions = d.UpdatedPermissions
	if string(d.UpdatedInput) != "null" && len(d.UpdatedInput) > 0 {
		r.rewrite(d.UpdatedInput)
	}
}

func (r *reading) modelSwitch() {
	switch d := hooks.Decision(r.out.str("permissionDecision")); d {
	case hooks.Deny:
		reason := r.out.str("permissionDecisionReason")
		r.ownReason = strings.TrimSpace(reason) != ""
		r.block(reason)
		r.a.Decision = hooks.Deny
	case hooks.Ask, hooks.Allow:
		r.a.Permission, r.a.PermissionReason = d, r.out.str("permissionDecisionReason")
	}
}

// replaceOutput takes updatedToolOutput, or updatedMCPToolOutput of an MCP tool.
func (r *reading) replaceOutput() {
	t := r.c.Tool
	if t == nil {
		return
	}
	mcp := strings.HasPrefix(t.Name, "mcp__")
	if raw := r.out.raw("updatedMCPToolOutput"); raw != nil {
		if mcp {
			s := outputText(raw)
			r.a.Replace = &s
		} else {
			r.note("updatedMCPToolOutput has no effect on %s, which is no MCP tool", ToolName(t.Name))
		}
	}
	raw := r.out.raw("updatedToolOutput")
	if raw == nil {
		return
	}
	s, ok := replacement(t.Name, raw)
	if !ok {
		r.note("updatedToolOutput is ignored: it is not of the shape of %s's tool_response", ToolName(t.Name))
		return
	}
	r.a.Replace = &s
}

// remarks names members that people expect something of and that do nothing
// (claude-plugins-official#1788).
func (r *reading) remarks() {
	for _, key := range []string{"additionalContext", "permissionDecision", "updatedInput", "updatedToolOutput", "updatedMCPToolOutput", "sessionTitle", "watchPaths"} {
		if _, ok := r.out.top[key]; ok {
			r.note("%q at the top level has no effect; put it inside hookSpecificOutput", key)
		}
	}
	if r.out.raw("permissionDecision") != nil && r.ev != hooks.PreToolUse && r.ev != hooks.PreModelSwitch {
		r.note("permissionDecision has no effect on %s", r.ev)
	}
	if r.out.str("additionalContext") != "" && !hasContext(r.ev) {
		r.note("additionalContext has no effect on %s", r.ev)
	}
	if r.out.raw("initialUserMessage") != nil {
		r.note("initialUserMessage is not supported here")
	}
	for _, key := range sortedKeys(r.out.specific) {
		switch {
		case r.out.raw(key) == nil, slices.Contains(specificMembers, key):
		case key == "reason" && r.ev == hooks.PreToolUse:
			r.note("hookSpecificOutput.reason has no effect; write permissionDecisionReason")
		case key == "decision" && r.ev == hooks.PermissionRequest, key == "suppressOutput":
		case slices.Contains(topMembers, key):
			r.note("hookSpecificOutput.%s has no effect; put it at the top level", key)
		default:
			r.note("hookSpecificOutput.%s is not a member that anybody reads", key)
		}
	}
}

// specificMembers are what hookSpecificOutput may have on one event or another
// (Claude Code hooks reference, output); topMembers stand beside it.
var (
	specificMembers = []string{
		"hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput", "updatedToolOutput",
		"updatedMCPToolOutput", "classifierContext", "sessionTitle", "suppressOriginalPrompt", "initialUserMessage", "watchPaths",
		"reloadSkills", "retry", "action", "content", "displayContent", "worktreePath",
	}
	topMembers = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "terminalSequence", "decision", "reason"}
)

// replacement turns an updatedToolOutput into the text that the model gets in
// place of the result. It must have the shape of the tool's tool_response.
func replacement(native string, raw json.RawMessage) (string, bool) {
	var m map[string]json.RawMessage
	str := func(key string) (string, bool) {
		var s string
		v, ok := m[key]
		return s, ok && json.Unmarshal(v, &s) == nil
	}
	get := func(key string) string {
		var s string
		_ = json.Unmarshal(m[key], &s)
		return s
	}
	switch native {
	case "bash":
		if json.Unmarshal(raw, &m) != nil {
			return "", false
		}
		if _, ok := str("stdout"); !ok {
			return "", false
		}
		out, errText := get("stdout"), get("stderr")
		if errText != "" && out != "" && !strings.HasSuffix(out, "\n") {
			out += "\n"
		}
		return out + errText, true
	case "read":
		var file struct {
			File *struct {
				Content *string `json:"content"`
			} `json:"file"`
		}
		if json.Unmarshal(raw, &file) != nil || file.File == nil || file.File.Content == nil {
			return "", false
		}
		return *file.File.Content, true
	case "glob", "grep":
		if json.Unmarshal(raw, &m) != nil {
			return "", false
		}
		if _, ok := str("content"); ok {
			return get("content"), true
		}
		var names []string
		if m["filenames"] == nil || json.Unmarshal(m["filenames"], &names) != nil {
			return "", false
		}
		return strings.Join(names, "\n"), true
	case "web_fetch":
		if json.Unmarshal(raw, &m) != nil {
			return "", false
		}
		return str("result")
	case "write", "edit", "todo_write":
		if json.Unmarshal(raw, &m) != nil || m == nil {
			return "", false
		}
	}
	return outputText(raw), true
}

// outputText is the text of an output of any shape: a string, MCP content
// blocks, or compact JSON.
func outputText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	type block struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	var blocks []block
	var result struct {
		Content []block `json:"content"`
	}
	if json.Unmarshal(raw, &blocks) != nil && json.Unmarshal(raw, &result) == nil {
		blocks = result.Content
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" && b.Text != nil {
			texts = append(texts, *b.Text)
		}
	}
	if len(texts) > 0 && len(texts) == len(blocks) {
		return strings.Join(texts, "\n")
	}
	return string(hooks.AppendJSON(nil, raw))
}
