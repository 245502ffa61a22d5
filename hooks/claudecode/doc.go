// Package claudecode is the Claude Code dialect of hooks: settings files,
// matchers, `if` rules, stdin payloads, answers, precedence, execution.
//
// The rules follow the vendor's public reference (snapshot for 2.1.240), the
// agent SDK's types (2.1.332) and its change log; a comment that gives
// a rule's source names the part of the reference or the public report. Nothing here was copied from the vendor's program.
//
// Discover finds the files, New makes the dialect of them, hooks.NewEngine runs
// it. The agent's tools appear under the vendor's names and argument shapes
// (tools.go), so that hooks written for Claude Code run unmodified; in an exact
// matcher list the agent's own tool name counts too.
//
// Known differences, on purpose: the pipe of a hook's output is not waited for
// beyond a second (hooks.WaitDelay); a rewrite of a tool's input that this
// agent's tool cannot take refuses the call instead of running the original;
// hooks of a repository run only once trusted (Claude Code hooks reference, settings has the vendor ask
// once a folder).
package claudecode

import "acp-agent/hooks"

// Name is the dialect's name in ids and in the log.
const Name = "claude-code"

// vendorEvents are the events that settings files may name (Claude Code hooks reference, events). Those
// that this agent never has (hooks.Absent) are reported, and never run.
var vendorEvents = []hooks.Event{
	hooks.SessionStart, hooks.SessionEnd, hooks.UserPromptSubmit, hooks.UserPromptExpand,
	hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied,
	hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch,
	hooks.Stop, hooks.StopFailure, hooks.Notification, hooks.PreCompact, hooks.PostCompact,
	hooks.InstructionsLoaded, hooks.CwdChanged, hooks.FileChanged, hooks.ConfigChange,
	hooks.PreModelSwitch, hooks.PostModelSwitch,
	hooks.SubagentStart, hooks.SubagentStop, hooks.Elicitation, hooks.ElicitationResult,
	"Setup", "MessageDisplay", "PreSkillShellCommand", "TaskCreated", "TaskCompleted", "TeammateIdle",
	"DirectoryAdded", "WorktreeCreate", "WorktreeRemove",
}

// isToolEvent reports the events on which `if` is evaluated (Claude Code hooks reference, matchers).
func isToolEvent(e hooks.Event) bool {
	switch e {
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PermissionRequest, hooks.PermissionDenied:
		return true
	}
	return false
}
