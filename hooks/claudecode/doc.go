// Package claudecode is the Claude Code dialect of hooks: settings files,
// matchers, `if` rules, stdin payloads, answers, precedence, execution.
//
// The rules follow the vendor's public reference (snapshot for 2.1.240), the
// agent SDK's types (2.1.332) and its change log; where a comment names a
// section ("facts 1.4") it means this project's notes on them,
// hook-protocols/facts.md. Nothing here was copied from the vendor's program.
//
// Discover finds the files, New makes the dialect of them, hooks.NewEngine runs
// it. The agent's tools appear under the vendor's names and argument shapes
// (tools.go), so that hooks written for Claude Code run unmodified; in an exact
// matcher list the agent's own tool name counts too.
//
// Known differences, on purpose: the pipe of a hook's output is not waited for
// beyond a second (hooks.WaitDelay); a rewrite of a tool's input that this
// agent's tool cannot take refuses the call instead of running the original;
// hooks of a repository run only once trusted (facts 1.7 has the vendor ask
// once a folder).
package claudecode

import "acp-agent/hooks"

// Name is the dialect's name in ids and in the log.
const Name = "claude-code"

// vendorEvents are the events that settings files may name (facts 1.3), and
// whether this agent has the occasion. The hooks of one that it has not are
// reported, and never run.
var vendorEvents = map[hooks.Event]bool{
	hooks.SessionStart: true, hooks.SessionEnd: true, hooks.UserPromptSubmit: true,
	hooks.PreToolUse: true, hooks.PermissionRequest: true, hooks.PermissionDenied: true,
	hooks.PostToolUse: true, hooks.PostToolUseFailure: true, hooks.PostToolBatch: true,
	hooks.Stop: true, hooks.StopFailure: true, hooks.Notification: true,
	hooks.PreCompact: true, hooks.PostCompact: true,
	hooks.SubagentStart: true, hooks.SubagentStop: true,
	hooks.InstructionsLoaded: true, hooks.CwdChanged: true, hooks.ConfigChange: true,
	hooks.PreModelSwitch: true, hooks.PostModelSwitch: true, hooks.UserPromptExpand: true,
	hooks.Elicitation: true, hooks.ElicitationResult: true,

	"Setup": false, "MessageDisplay": false, "PreSkillShellCommand": false,
	"TaskCreated": false, "TaskCompleted": false, "TeammateIdle": false,
	"DirectoryAdded": false, "FileChanged": false,
	"WorktreeCreate": false, "WorktreeRemove": false,
}

// isToolEvent reports the events on which `if` is evaluated (facts 1.4).
func isToolEvent(e hooks.Event) bool {
	switch e {
	case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PermissionRequest, hooks.PermissionDenied:
		return true
	}
	return false
}
