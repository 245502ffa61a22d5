package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"acp-agent/hooks"
)

// toolName is how a tool of this agent is called in Codex.
type toolName struct {
	name    string
	aliases []string
}

// toolNames maps a tool's own name (Codex 0.171.0, events). An MCP tool keeps its
// mcp__server__tool, and so does every other tool its own flat name.
func toolNames(native string) toolName {
	switch native {
	case "bash":
		return toolName{name: "Bash"}
	case "edit", "write":
		return toolName{name: "apply_patch", aliases: []string{"Write", "Edit"}}
	case "subagent":
		return toolName{name: "spawn_agent", aliases: []string{"Agent"}}
	}
	return toolName{name: native}
}

func isMCP(native string) bool { return strings.HasPrefix(native, "mcp__") }

// The arguments of this agent's tools, as far as they have a counterpart.
type (
	bashInput struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	writeInput struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	editInput struct {
		FilePath  string `json:"file_path"`
		OldString string `json:"old_string"`
		NewString string `json:"new_string"`
	}
)

// toolInput puts a tool's arguments into Codex's shape: {command} for Bash and
// apply_patch, the arguments as they are for the rest. A description (why the
// model wants it) is PermissionRequest's alone.
func toolInput(t *hooks.Tool, cwd string, withDescription bool) (json.RawMessage, error) {
	var command, description string
	switch t.Name {
	case "bash":
		var b bashInput
		if err := json.Unmarshal(t.Input, &b); err != nil {
			return nil, inputError(t, err)
		}
		command = b.Command
		if withDescription {
			description = b.Description
		}
	case "write":
		var w writeInput
		if err := json.Unmarshal(t.Input, &w); err != nil {
			return nil, inputError(t, err)
		}
		command = addPatch(patchPath(cwd, w.FilePath), w.Content)
	case "edit":
		var e editInput
		if err := json.Unmarshal(t.Input, &e); err != nil {
			return nil, inputError(t, err)
		}
		command = updatePatch(patchPath(cwd, e.FilePath), e.OldString, e.NewString)
	default:
		return rawArguments(t)
	}
	w := hooks.NewObject(nil)
	w.Str("command", command)
	w.OptStr("description", description)
	return w.Close(), nil
}

// rawArguments are the full arguments, rewritten only so that text in them is
// raw UTF-8 and compact, whatever the model's API sent.
func rawArguments(t *hooks.Tool) (json.RawMessage, error) {
	if len(t.Input) == 0 {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(t.Input) {
		return nil, inputError(t, errors.New("they are not JSON"))
	}
	return hooks.AppendJSON(nil, t.Input), nil
}

func inputError(t *hooks.Tool, err error) error {
	return fmt.Errorf("the arguments of the tool call %s (%s) are not what the tool takes: %w", t.CallID, t.Name, err)
}

// toolResponse is PostToolUse's tool_response: text, or the CallToolResult of
// an MCP tool (Codex 0.171.0, events). A command's exit code is nowhere in it. A patch's
// text names the files, and hooks read them there, so it is in Codex's words.
func toolResponse(t *hooks.Tool, cwd string) (json.RawMessage, error) {
	switch {
	case t.Name == "bash" && len(t.Response) > 0:
		var r hooks.BashResponse
		if err := json.Unmarshal(t.Response, &r); err != nil {
			return nil, fmt.Errorf("the response of the tool call %s (bash) cannot be read: %w", t.CallID, err)
		}
		return hooks.AppendString(nil, r.Stdout+r.Stderr), nil
	case (t.Name == "write" || t.Name == "edit") && len(t.Response) > 0 && !t.Failed:
		return patchResponse(t, cwd)
	case isMCP(t.Name):
		if r := bytes.TrimSpace(t.Response); len(r) > 0 && r[0] == '{' && json.Valid(r) {
			return hooks.AppendJSON(nil, r), nil
		}
		return callToolResult(t.Output, t.Failed), nil
	}
	return hooks.AppendString(nil, t.Output), nil
}

// patchResponse is the text of an apply_patch that worked (0.171.0, TestInterop):
// A for a new file, M for a changed one.
func patchResponse(t *hooks.Tool, cwd string) (json.RawMessage, error) {
	var r struct {
		Path    string `json:"path"`
		Created bool   `json:"created"` // an edit's has none, and creates nothing
	}
	if err := json.Unmarshal(t.Response, &r); err != nil {
		return nil, fmt.Errorf("the response of the tool call %s (%s) cannot be read: %w", t.CallID, t.Name, err)
	}
	mark := 'M'
	if r.Created {
		mark = 'A'
	}
	seconds := strconv.FormatFloat(math.Round(t.Duration.Seconds()*10)/10, 'f', -1, 64)
	return hooks.AppendString(nil, fmt.Sprintf("Exit code: 0\nWall time: %s seconds\nOutput:\nSuccess. Updated the following files:\n%c %s\n",
		seconds, mark, headerPath(patchPath(cwd, r.Path)))), nil
}

// callToolResult is an MCP result that holds a text.
func callToolResult(text string, isError bool) json.RawMessage {
	w := hooks.NewObject(nil)
	block := hooks.NewObject([]byte{'['})
	block.Str("type", "text")
	block.Str("text", text)
	w.Raw("content", append(block.Close(), ']'))
	w.Bool("isError", isError)
	return w.Close()
}

// nativeInput maps a hook's updatedInput back to the tool's own arguments.
// What it cannot map is an error: the call must not run as if the hook had
// said nothing.
func nativeInput(t *hooks.Tool, cwd string, updated *node) (json.RawMessage, error) {
	if updated.kind != objectNode {
		return nil, fmt.Errorf("updatedInput must be an object, not %s", updated.kind)
	}
	switch t.Name {
	case "bash", "edit", "write":
	default:
		return updated.json(), nil
	}
	cmd := updated.get("command")
	if cmd == nil || cmd.kind != stringNode {
		return nil, fmt.Errorf("updatedInput for %s must have a string \"command\"", toolNames(t.Name).name)
	}
	if t.Name == "bash" {
		return replaceArguments(t, map[string]string{"command": cmd.text})
	}
	before, err := toolInput(t, cwd, false)
	if err != nil {
		return nil, err
	}
	same := hooks.NewObject(nil)
	same.Str("command", cmd.text)
	if bytes.Equal(before, same.Close()) {
		return t.Input, nil // the hook gave the patch back as it was
	}
	p, err := parsePatch(cmd.text)
	if err != nil {
		return nil, fmt.Errorf("updatedInput for apply_patch cannot be carried out: %w", err)
	}
	return patchedArguments(t, cwd, p)
}

// patchedArguments puts a parsed patch into the arguments of the edit or write
// that is running. A write cannot become an edit, nor the other way round: the
// call's name stays.
func patchedArguments(t *hooks.Tool, cwd string, p *filePatch) (json.RawMessage, error) {
	if p.add != (t.Name == "write") {
		return nil, fmt.Errorf("updatedInput for apply_patch cannot be carried out: the call is our %s, which %s",
			t.Name, map[bool]string{true: "takes an Add File patch only", false: "takes an Update File patch only"}[t.Name == "write"])
	}
	if p.add {
		var w writeInput
		if err := json.Unmarshal(t.Input, &w); err != nil {
			return nil, inputError(t, err)
		}
		content := strings.Join(p.lines, "\n")
		if len(p.lines) > 0 && (w.Content == "" || strings.HasSuffix(w.Content, "\n")) {
			content += "\n" // a patch cannot say whether the last line ends; the original can
		}
		return replaceArguments(t, map[string]string{
			"file_path": patchedPath(cwd, w.FilePath, p.path),
			"content":   content,
		})
	}
	var e editInput
	if err := json.Unmarshal(t.Input, &e); err != nil {
		return nil, inputError(t, err)
	}
	old, new := strings.Join(p.old, "\n"), strings.Join(p.new, "\n")
	if sharedEnd(e.OldString, e.NewString) {
		old, new = endLine(p.old, old), endLine(p.new, new)
	}
	if old == "" {
		return nil, fmt.Errorf("updatedInput for apply_patch cannot be carried out: it removes nothing, so edit has no place to insert at")
	}
	return replaceArguments(t, map[string]string{
		"file_path":  patchedPath(cwd, e.FilePath, p.path),
		"old_string": old,
		"new_string": new,
	})
}

func endLine(lines []string, s string) string {
	if len(lines) == 0 {
		return s
	}
	return s + "\n"
}

// patchedPath keeps the path as the model wrote it when the hook left it alone.
func patchedPath(cwd, original, patched string) string {
	if patched == strings.TrimSpace(headerPath(patchPath(cwd, original))) { // as parsePatch reads it
		return original
	}
	if cwd != "" && !filepath.IsAbs(patched) {
		return filepath.Join(cwd, patched)
	}
	return patched
}

// replaceArguments sets string members of the tool's arguments and leaves the
// others (a time limit, replace_all) and their order alone.
func replaceArguments(t *hooks.Tool, set map[string]string) (json.RawMessage, error) {
	n, err := parseJSON(t.Input)
	if err != nil {
		return nil, inputError(t, err)
	}
	if n.kind != objectNode {
		return nil, inputError(t, fmt.Errorf("%s where an object was expected", n.kind))
	}
	out := &node{kind: objectNode}
	done := map[string]bool{}
	for i, m := range n.members {
		if doubledLater(n.members, i) {
			continue
		}
		if v, ok := set[m.key]; ok {
			m.value = &node{kind: stringNode, text: v}
			done[m.key] = true
		}
		out.members = append(out.members, m)
	}
	for _, k := range slices.Sorted(maps.Keys(set)) {
		if !done[k] {
			return nil, inputError(t, fmt.Errorf("%q is missing", k))
		}
	}
	return out.json(), nil
}
