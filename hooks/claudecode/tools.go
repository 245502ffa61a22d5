package claudecode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"acp-agent/hooks"
)

// tool is how one of the agent's tools looks to hooks (Claude Code sdk-tools.d.ts).
type tool struct {
	native, name string
	// rename maps the agent's argument names to the vendor's. Arguments that are
	// not in it keep their names.
	rename map[string]string
	// args are the agent's arguments that an updatedInput may set, by the
	// vendor's names; nil takes any.
	args []string
	// paths are the arguments that hold a file path, by the vendor's names.
	paths []string
}

var tools = []tool{
	{
		native: "bash", name: "Bash", rename: map[string]string{"timeoutMs": "timeout"},
		args: []string{"command", "description", "timeout", "workdir", "run_in_background"},
	},
	{native: "read", name: "Read", args: []string{"file_path", "offset", "limit"}, paths: []string{"file_path"}},
	{native: "write", name: "Write", args: []string{"file_path", "content"}, paths: []string{"file_path"}},
	{native: "edit", name: "Edit", args: []string{"file_path", "old_string", "new_string", "replace_all"}, paths: []string{"file_path"}},
	{native: "glob", name: "Glob", args: []string{"pattern", "path"}, paths: []string{"path"}},
	{
		native: "grep", name: "Grep", rename: map[string]string{"include": "glob"},
		args: []string{"pattern", "path", "glob"}, paths: []string{"path"},
	},
	{native: "todo_write", name: "TodoWrite", args: []string{"todos"}},
	{native: "subagent", name: "Agent", args: []string{"prompt", "description", "subagent_type", "model", "run_in_background"}},
	{native: "web_fetch", name: "WebFetch", args: []string{"url", "prompt"}},
	{native: "web_search", name: "WebSearch"},
	{native: "ask_user", name: "AskUserQuestion"},
	{
		native: "job_output", name: "TaskOutput", rename: map[string]string{"job_id": "task_id", "wait": "block", "timeout_ms": "timeout"},
		args: []string{"task_id", "block", "timeout"},
	},
	{native: "job_kill", name: "TaskStop", rename: map[string]string{"job_id": "task_id"}, args: []string{"task_id"}},
}

// legacy maps a tool to the names it had, which still match in a list
// (Claude Code hooks reference, matchers).
var legacy = map[string][]string{
	"Agent": {"Task"}, "TaskStop": {"KillShell", "KillBash"}, "ListAgents": {"ListPeers"},
	"SendUserMessage": {"Brief"}, "ListMcpResourcesTool": {"ListMcpResources"},
	"ReadMcpResourceTool": {"ReadMcpResource"}, "ReadMcpResourceDirTool": {"ReadMcpResourceDir"},
	"SetGoal": {"ProposeGoal"},
}

func toolFor(native string) *tool {
	for i := range tools {
		if tools[i].native == native {
			return &tools[i]
		}
	}
	return nil
}

// ToolName is the vendor's name of one of the agent's tools; MCP tools and ones
// that the vendor does not have keep theirs.
func ToolName(native string) string {
	if t := toolFor(native); t != nil {
		return t.name
	}
	return native
}

// NativeName is the agent's name of one of the vendor's tools, and of its own;
// other names stay.
func NativeName(name string) string {
	for _, t := range tools {
		if t.name == name || contains(legacy[t.name], name) {
			return t.native
		}
	}
	return name
}

// toolNames are the names that matchers are tested on: the vendor's first, then
// its former ones and the agent's own.
func toolNames(native string) []string {
	name := ToolName(native)
	names := append([]string{name}, legacy[name]...)
	if native != name {
		names = append(names, native)
	}
	return names
}

// ToolInput turns a tool's arguments into the vendor's tool_input: its names,
// absolute paths. Arguments that are no object are handed on as they are.
func ToolInput(native string, input json.RawMessage, cwd string) json.RawMessage {
	t := toolFor(native)
	if t == nil {
		return input
	}
	names, values, err := members(input)
	if err != nil {
		return input
	}
	w := hooks.NewObject(nil)
	for i, k := range names {
		v := values[i]
		if to, ok := t.rename[k]; ok {
			k = to
		}
		for _, p := range t.paths {
			if k == p {
				v = absolute(v, cwd)
			}
		}
		if native == "todo_write" && k == "todos" {
			v = withActiveForm(v)
		}
		w.Raw(k, v)
	}
	return w.Close()
}

// absolute makes a path argument absolute (Claude Code sdk-tools.d.ts).
func absolute(v json.RawMessage, cwd string) json.RawMessage {
	var s string
	if json.Unmarshal(v, &s) != nil || s == "" || filepath.IsAbs(s) || cwd == "" {
		return v
	}
	return hooks.AppendString(nil, filepath.Join(cwd, s))
}

// withActiveForm gives each todo the activeForm that the vendor's have.
func withActiveForm(todos json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(todos, &list) != nil {
		return todos
	}
	out := []byte{'['}
	for i, item := range list {
		if i > 0 {
			out = append(out, ',')
		}
		names, values, err := members(item)
		if err != nil {
			out = hooks.AppendJSON(out, item)
			continue
		}
		w := hooks.NewObject(out)
		var content json.RawMessage
		has := false
		for j, k := range names {
			w.Raw(k, values[j])
			if k == "content" {
				content = values[j]
			}
			has = has || k == "activeForm"
		}
		if !has && content != nil {
			w.Raw("activeForm", content)
		}
		out = w.Close()
	}
	return append(out, ']')
}

// nativeInput turns an updatedInput back into the agent's arguments. It fails
// where the agent's tool has no such argument: to drop it would run something
// else than the hook asked for.
func nativeInput(native string, updated json.RawMessage) (json.RawMessage, error) {
	names, values, err := members(updated)
	if err != nil {
		return nil, fmt.Errorf("updatedInput must be an object")
	}
	t := toolFor(native)
	if t == nil {
		return bytes.Clone(updated), nil
	}
	back := map[string]string{}
	for from, to := range t.rename {
		back[to] = from
	}
	w := hooks.NewObject(nil)
	for i, k := range names {
		if t.args != nil && !contains(t.args, k) {
			return nil, fmt.Errorf("updatedInput has %q, which %s does not take here (it takes %s)", k, t.name, strings.Join(t.args, ", "))
		}
		v := values[i]
		if native == "todo_write" && k == "todos" {
			if v, err = withoutActiveForm(v); err != nil {
				return nil, err
			}
		}
		if from, ok := back[k]; ok {
			k = from
		}
		w.Raw(k, v)
	}
	return w.Close(), nil
}

func withoutActiveForm(todos json.RawMessage) (json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(todos, &list); err != nil {
		return nil, fmt.Errorf("updatedInput.todos must be a list of objects")
	}
	for _, item := range list {
		delete(item, "activeForm")
	}
	return json.Marshal(list)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
