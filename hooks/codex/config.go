package codex

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"acp-agent/hooks"
)

// events are those of Codex 0.171.0 (Codex 0.171.0, events), with the name that its trust
// keys and hashes use. PreModelRequest and PostModelRequest are undocumented
// but in the binary.
var events = map[hooks.Event]string{
	hooks.SessionStart:      "session_start",
	hooks.SubagentStart:     "subagent_start",
	hooks.UserPromptSubmit:  "user_prompt_submit",
	hooks.PreToolUse:        "pre_tool_use",
	hooks.PermissionRequest: "permission_request",
	hooks.PostToolUse:       "post_tool_use",
	hooks.PreCompact:        "pre_compact",
	hooks.PostCompact:       "post_compact",
	hooks.Stop:              "stop",
	hooks.SubagentStop:      "subagent_stop",
	hooks.Interrupt:         "interrupt",
	hooks.SessionEnd:        "session_end",
	hooks.PreModelRequest:   "pre_model_request",
	hooks.PostModelRequest:  "post_model_request",
}

// config is what one file says.
type config struct {
	groups []group
	notes  []note
}

// group is a matcher group. index is its place in its event, which is part of
// Codex's trust key.
type group struct {
	event   hooks.Event
	index   int
	off     int
	path    string
	matcher string
	// matcherWritten tells an empty matcher from a missing one, which Codex's
	// hash does too.
	matcherWritten bool
	handlers       []handler
}

type handlerKind string

const (
	commandHandler handlerKind = "command"
	mcpToolHandler handlerKind = "mcp_tool"
	promptHandler  handlerKind = "prompt"
	agentHandler   handlerKind = "agent"
)

// handler is one handler as the file has it, before any normalising.
type handler struct {
	index          int
	off            int
	path           string
	kind           handlerKind
	command        string
	commandWindows *string
	timeout        *uint64
	async          bool
	statusMessage  *string
	contextLimit   *uint64
	server, tool   string
	input          *node
	raw            json.RawMessage
}

// note is something to tell that does not drop the file.
type note struct {
	off  int
	path string
	text string
}

func (c *config) note(off int, path, format string, args ...any) {
	c.notes = append(c.notes, note{off, path, fmt.Sprintf(format, args...)})
}

// parseHooksJSON reads a hooks.json. Its errors mean that the whole file is
// dropped, as Codex drops it (Codex 0.171.0, handlers, observed cf_bareflat, cf_http,
// cf_jsonc, cf_toneg, cf_toplevel).
func parseHooksJSON(data []byte) (*config, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	return parseHooks(root)
}

// parseHooks reads what a hooks.json, or an object in a plugin's manifest, is.
func parseHooks(root *node) (*config, error) {
	if root.kind != objectNode {
		return nil, root.fail("", "%s where an object with the key \"hooks\" was expected", root.kind)
	}
	c := &config{}
	seen := map[string]bool{}
	for _, m := range root.members {
		if seen[m.key] {
			return nil, &placedError{off: m.off, msg: fmt.Sprintf("the key %q is given twice", m.key)}
		}
		seen[m.key] = true
		switch m.key {
		case "description":
			if m.value.kind != stringNode && m.value.kind != nullNode {
				return nil, m.value.fail("description", "%s where a string was expected", m.value.kind)
			}
		case "hooks":
			if err := c.parseEvents(m.value, "hooks", nil); err != nil {
				return nil, err
			}
		default:
			return nil, unknownTop(m)
		}
	}
	return c, nil
}

// unknownTop explains the mistake behind the key where it can be told.
func unknownTop(m member) error {
	hint := "Codex takes only \"hooks\" and \"description\" there; remove it"
	if _, ok := events[hooks.Event(m.key)]; ok {
		hint = "put the events inside a top-level \"hooks\" object"
	}
	return &placedError{off: m.off, msg: fmt.Sprintf("unknown top-level key %q: %s", m.key, hint)}
}

// parseEvents reads the map from event to groups. Keys in skip are not events
// (a TOML layer keeps state and managed_dir beside them).
func (c *config) parseEvents(n *node, path string, skip []string) error {
	if n.kind != objectNode {
		return n.fail(path, "%s where an object from event to groups was expected", n.kind)
	}
	seen := map[string]bool{}
	for _, m := range n.members {
		if slices.Contains(skip, m.key) {
			continue
		}
		event := hooks.Event(m.key)
		at := path + "." + m.key
		if _, ok := events[event]; !ok {
			c.note(m.off, at, "Codex has no event of this name; its handlers never run")
			continue
		}
		if seen[m.key] {
			return &placedError{off: m.off, path: at, msg: "the event is given twice"}
		}
		seen[m.key] = true
		if m.value.kind != arrayNode {
			return m.value.fail(at, "%s where an array of groups was expected", m.value.kind)
		}
		for i, e := range m.value.elems {
			g, err := c.parseGroup(e, event, i, fmt.Sprintf("%s[%d]", at, i))
			if err != nil {
				return err
			}
			c.groups = append(c.groups, g)
		}
		if why := hooks.Absent(event); why != "" && len(m.value.elems) > 0 {
			c.note(m.off, at, "%s; its handlers never run", why)
		}
	}
	return nil
}

func (c *config) parseGroup(n *node, event hooks.Event, index int, path string) (group, error) {
	g := group{event: event, index: index, off: n.off, path: path}
	if n.kind != objectNode {
		return g, n.fail(path, "%s where a group {\"matcher\", \"hooks\"} was expected", n.kind)
	}
	if err := once(n, path, "matcher", "hooks"); err != nil {
		return g, err
	}
	if m := n.get("matcher"); m != nil && m.kind != nullNode {
		if m.kind != stringNode {
			return g, m.fail(path+".matcher", "%s where a string was expected", m.kind)
		}
		g.matcher, g.matcherWritten, g.off = m.text, true, m.off
	}
	for _, m := range n.members {
		if why, ok := ignoredKeys[m.key]; ok {
			c.note(m.off, path+"."+m.key, "Codex ignores this key on a group: %s", why)
		} else if m.key == "type" || m.key == "command" {
			c.note(m.off, path+"."+m.key, "a handler belongs into the group's \"hooks\" array; Codex ignores it here")
		}
	}
	hs := n.get("hooks")
	if hs == nil {
		return g, nil
	}
	if hs.kind != arrayNode {
		return g, hs.fail(path+".hooks", "%s where an array of handlers was expected", hs.kind)
	}
	for i, e := range hs.elems {
		h, err := c.parseHandler(e, fmt.Sprintf("%s.hooks[%d]", path, i))
		if err != nil {
			return g, err
		}
		h.index = i
		g.handlers = append(g.handlers, h)
	}
	return g, nil
}

// ignoredKeys are the keys of a handler that Codex does not know and whose
// loss changes what the handler does (Codex 0.171.0, handlers). Any other unknown key is a
// comment in the eyes of Codex, and here.
var ignoredKeys = map[string]string{
	"if":            "the handler runs on every match",
	"args":          "the command runs without its arguments; write them into \"command\"",
	"shell":         "the command runs in the person's own shell",
	"once":          "the handler runs every time",
	"env":           "the variables are not set",
	"onFailure":     "a failing handler never blocks",
	"asyncRewake":   "use \"async\"",
	"timeoutSec":    "the time limit is the default; the key is \"timeout\"",
	"timeout_sec":   "the time limit is the default; the key is \"timeout\"",
	"timeoutMs":     "the time limit is the default; the key is \"timeout\", in seconds",
	"url":           "Codex has no http handlers",
	"rewakeMessage": "use \"async\"",
}

// knownHandlerKeys must be unique in a handler, as serde demands of the fields
// it knows; a doubled unknown key is nobody's business.
var knownHandlerKeys = []string{
	"type", "command", "commandWindows", "command_windows", "timeout", "async",
	"statusMessage", "additionalContextLimit", "server", "tool", "input",
}

func (c *config) parseHandler(n *node, path string) (handler, error) {
	h := handler{off: n.off, path: path, raw: n.json()}
	if n.kind != objectNode {
		return h, n.fail(path, "%s where a handler object was expected", n.kind)
	}
	if err := once(n, path, knownHandlerKeys...); err != nil {
		return h, err
	}
	t := n.get("type")
	if t == nil || t.kind != stringNode {
		return h, n.fail(path, "a handler needs a \"type\": command or mcp_tool")
	}
	h.kind = handlerKind(t.text)
	var err error
	switch h.kind {
	case commandHandler:
		err = h.readCommand(n, path)
	case mcpToolHandler:
		err = h.readMCPTool(n, path)
	case promptHandler, agentHandler:
		return h, nil // parses whatever it holds; said and skipped later
	default:
		return h, t.fail(path+".type", "unknown handler type %q: Codex knows command and mcp_tool (and reads, but skips, prompt and agent)", t.text)
	}
	if err != nil {
		return h, err
	}
	for _, m := range n.members {
		if why, ok := ignoredKeys[m.key]; ok {
			c.note(m.off, path+"."+m.key, "Codex ignores this key: %s", why)
		}
	}
	return h, h.readCommon(n, path)
}

func (h *handler) readCommand(n *node, path string) error {
	command, err := text(n, "command", path)
	if err != nil {
		return err
	}
	if command == nil {
		return n.fail(path, "a command handler needs a \"command\"")
	}
	h.command = *command
	if h.commandWindows, err = text(n, "commandWindows", path); err != nil {
		return err
	}
	if h.commandWindows == nil {
		h.commandWindows, err = text(n, "command_windows", path)
	}
	return err
}

func (h *handler) readMCPTool(n *node, path string) error {
	server, err := text(n, "server", path)
	if err != nil {
		return err
	}
	tool, err := text(n, "tool", path)
	if err != nil {
		return err
	}
	if server == nil || tool == nil {
		return n.fail(path, "an mcp_tool handler needs a \"server\" and a \"tool\"")
	}
	h.server, h.tool = *server, *tool
	if in := n.get("input"); in != nil && in.kind != nullNode {
		if in.kind != objectNode {
			return in.fail(path+".input", "%s where an object was expected", in.kind)
		}
		if null := in.findNull(); null != nil {
			return null.fail(path+".input", "Codex keeps this input as TOML, which has no null; leave the member out")
		}
		h.input = in
	}
	return nil
}

func (h *handler) readCommon(n *node, path string) error {
	var err error
	if h.timeout, err = count(n, "timeout", path); err != nil {
		return err
	}
	if h.contextLimit, err = count(n, "additionalContextLimit", path); err != nil {
		return err
	}
	if h.statusMessage, err = text(n, "statusMessage", path); err != nil {
		return err
	}
	if a := n.get("async"); a != nil {
		if a.kind != boolNode {
			return a.fail(path+".async", "%s where true or false was expected", a.kind)
		}
		h.async = a.truth
	}
	return nil
}

// text reads an optional string; null counts as missing.
func text(n *node, key, path string) (*string, error) {
	v := n.get(key)
	if v == nil || v.kind == nullNode {
		return nil, nil
	}
	if v.kind != stringNode {
		return nil, v.fail(path+"."+key, "%s where a string was expected", v.kind)
	}
	return &v.text, nil
}

func count(n *node, key, path string) (*uint64, error) {
	v := n.get(key)
	if v == nil || v.kind == nullNode {
		return nil, nil
	}
	u, err := v.uint(path + "." + key)
	if err != nil {
		return nil, err
	}
	return &u, nil
}

func once(n *node, path string, keys ...string) error {
	var seen []string
	for _, m := range n.members {
		if !slices.Contains(keys, m.key) {
			continue
		}
		name := m.key
		if name == "command_windows" {
			name = "commandWindows" // an alias of the same field
		}
		if slices.Contains(seen, name) {
			return &placedError{off: m.off, path: path, msg: fmt.Sprintf("the key %q is given twice", m.key)}
		}
		seen = append(seen, name)
	}
	return nil
}

// blank reports a command that has nothing to run; Codex skips it with a
// warning.
func (h *handler) blank() bool {
	return h.kind == commandHandler && strings.TrimSpace(h.command) == ""
}

// effective is the command for the system.
func (h *handler) effective(goos string) string {
	if goos == "windows" && h.commandWindows != nil {
		return *h.commandWindows
	}
	return h.command
}

// The time limits of Codex 0.171.0, handlers, in seconds.
const (
	defaultSeconds = 600
	endSeconds     = 1 // SessionEnd and Interrupt: somebody is waiting to leave
	maxEndSeconds  = 3
	// maxSeconds keeps a limit inside a time.Duration; it is 31 years.
	maxSeconds = 1_000_000_000
)

// seconds is the handler's effective time limit.
func (h *handler) seconds(e hooks.Event) uint64 {
	ending := e == hooks.SessionEnd || e == hooks.Interrupt
	s := uint64(defaultSeconds)
	if ending {
		s = endSeconds
	}
	if h.timeout != nil {
		s = max(*h.timeout, 1)
	}
	if ending {
		return min(s, maxEndSeconds)
	}
	return min(s, maxSeconds)
}
