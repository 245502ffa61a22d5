package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// rule is a parsed rule.
type rule struct {
	text string
	// tools are the native names that it is about; nil where name is a pattern.
	tools []string
	name  string
	// What stands in brackets; at most one is set. None: every call of the tool.
	command *commandPattern
	path    *pathPattern
	domain  string
}

// claudeNames are Claude Code's tool names and what they stand for here. Its
// Edit covers every tool that changes files, its Read every tool that shows
// them. A native name means that tool alone.
var claudeNames = map[string][]string{
	"Bash": {"bash"}, "BashOutput": {"job_output"}, "KillShell": {"job_kill"}, "KillBash": {"job_kill"},
	"Read": {"read", "glob", "grep"}, "Write": {"write"}, "Edit": {"edit", "write"}, "MultiEdit": {"edit", "write"},
	"Glob": {"glob"}, "Grep": {"grep"}, "LS": {"read"}, "TodoWrite": {"todo_write"},
	"WebFetch": {"web_fetch"}, "AskUserQuestion": {"ask_user"}, "Task": {"subagent"}, "Agent": {"subagent"},
}

// pathTools are the tools whose rules hold a path, by the argument that does.
var pathTools = map[string]string{
	"read": "file_path", "write": "file_path", "edit": "file_path", "glob": "path", "grep": "path",
}

// parse reads a rule: a tool's name, then what it is about in brackets.
func parse(home, text string) (rule, error) {
	text = strings.TrimSpace(text)
	name, arg, bracketed := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	if bracketed {
		var closed bool
		if arg, closed = strings.CutSuffix(arg, ")"); !closed {
			return rule{}, errors.New("the bracket is not closed")
		}
		arg = strings.TrimSpace(arg)
	}
	r := rule{text: text, name: name, tools: claudeNames[name]}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*") != "" {
		return rule{}, errors.New("it does not start with the name of a tool")
	}
	if r.tools == nil && !strings.Contains(name, "*") {
		r.tools = []string{name}
		if server, ok := strings.CutPrefix(name, "mcp__"); ok && !strings.Contains(server, "__") {
			r.tools, r.name = nil, name+"__*" // mcp__server: all its tools
		}
	}
	if arg == "" || arg == "*" {
		return r, nil
	}
	switch first := append(slices.Clone(r.tools), "")[0]; {
	case first == "bash":
		p := newCommandPattern(arg)
		r.command = &p
	case pathTools[first] != "":
		p, err := newPathPattern(home, arg)
		if err != nil {
			return rule{}, err
		}
		r.path = &p
	case first == "web_fetch" && strings.HasPrefix(arg, "domain:"):
		r.domain = strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(arg, "domain:")), ".")
	default:
		return rule{}, fmt.Errorf("%s takes nothing in brackets here", name)
	}
	return r, nil
}

// about reports whether the rule is about the tool at all.
func (r rule) about(tool string) bool {
	if r.tools != nil {
		return slices.Contains(r.tools, tool)
	}
	ok, err := path.Match(r.name, tool)
	return ok && err == nil
}

// whole: the rule is about every call of its tools.
func (r rule) whole() bool { return r.command == nil && r.path == nil && r.domain == "" }

// subject is a call as rules look at it.
type subject struct {
	call  Call
	args  map[string]json.RawMessage
	paths []string
	shell *script // of a bash call, made when first needed
}

func newSubject(c Call) *subject {
	s := &subject{call: c}
	// Arguments that are not an object match no rule about them; the tool will
	// refuse them.
	_ = json.Unmarshal(c.Input, &s.args)
	if arg := pathTools[c.Name]; arg != "" {
		p := s.arg(arg)
		if p != "" || arg == "path" { // a search without a path is one of the cwd
			s.paths = append(s.paths, absolute(c.Cwd, p))
		}
		s.paths = append(s.paths, c.Paths...)
	}
	return s
}

func (s *subject) arg(name string) string {
	var v string
	_ = json.Unmarshal(s.args[name], &v) // empty where it is no string
	return v
}

func (s *subject) script() *script {
	if s.shell == nil {
		sc := newScript(s.arg("command"))
		s.shell = &sc
	}
	return s.shell
}

// touched returns the first rule that is about any part of the call.
func (s *subject) touched(rules []rule) (string, bool) {
	for _, r := range rules {
		if !r.about(s.call.Name) {
			continue
		}
		hit := r.whole()
		switch {
		case r.command != nil:
			hit = s.script().touches(*r.command)
		case r.path != nil:
			hit = slices.ContainsFunc(s.paths, func(p string) bool { return r.path.match(s.call.Cwd, p, true) })
		case r.domain != "":
			hit = domainOf(s.arg("url"), r.domain)
		}
		if hit {
			return r.text, true
		}
	}
	return "", false
}

// covered returns the first of the rules that together cover the whole call.
func (s *subject) covered(rules []rule) (string, bool) {
	var commands []rule
	for _, r := range rules {
		if !r.about(s.call.Name) {
			continue
		}
		hit := r.whole()
		switch {
		case r.command != nil:
			commands = append(commands, r)
		case r.path != nil:
			hit = len(s.paths) > 0 && !slices.ContainsFunc(s.paths, func(p string) bool { return !r.path.match(s.call.Cwd, p, false) })
		case r.domain != "":
			hit = domainOf(s.arg("url"), r.domain)
		}
		if hit {
			return r.text, true
		}
	}
	if len(commands) == 0 {
		return "", false
	}
	return s.script().covered(commands)
}

// edits: the call changes files and does nothing else.
func (s *subject) edits() bool { return s.call.Name == "edit" || s.call.Name == "write" }
