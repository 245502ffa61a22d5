package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"acp-agent/hooks"
)

// File is one settings file, read: its hooks and the switches about hooks.
type File struct {
	Path  string
	Layer hooks.Layer
	// Plugin is set for a plugin's file.
	Plugin *Plugin
	// offBy is the repository's switch that would turn this plugin off.
	offBy *hooks.Handler

	Handlers []*hooks.Handler
	// Env is the settings' env block.
	Env map[string]string

	// DisableAll and ManagedOnly are nil where the file does not say.
	DisableAll, ManagedOnly *bool
	// PluginOnly: only plugins and administrators may bring hooks
	// (strictPluginOnlyCustomization).
	PluginOnly *bool
	// HTTPURLs and HTTPEnv are allow-lists, nil where the file has none.
	HTTPURLs, HTTPEnv []string
	// Enabled is enabledPlugins, Options pluginConfigs, both by plugin id.
	Enabled map[string]bool
	Options map[string]map[string]string
}

// ext is what this dialect keeps beside a handler (hooks.Handler.Ext).
type ext struct {
	matcher *matcher
	rule    *rule // nil: no `if`
	ifText  string
	// quiet: switched off by a switch of the person's or the administrator's, so
	// it is listed, but not reported when its event comes.
	quiet bool

	blockOnFailure bool

	url        string
	headers    map[string]string
	allowedEnv []string
	httpEnv    []string // the settings' allow-list; nil allows all

	server, tool string
	input        json.RawMessage

	prompt          string
	model           string
	continueOnBlock bool

	env    map[string]string // the env block of its own repository file
	plugin *Plugin
}

func extOf(h *hooks.Handler) *ext { return h.Ext.(*ext) }

// parser reads one file and gathers its faults.
type parser struct {
	file     *File
	problems []hooks.Problem
	// groups counts an event's groups: a plugin's manifest may have several maps.
	groups map[hooks.Event]int
}

func (p *parser) fault(where, format string, args ...any) {
	p.problems = append(p.problems, hooks.Problem{File: p.file.Path, Where: where, Text: fmt.Sprintf(format, args...)})
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// parse reads a settings file's content. It is strict JSON (Claude Code hooks
// reference, settings); a fault in one entry is reported and costs that entry only.
func (p *parser) parse(data []byte) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	if len(bytes.TrimSpace(data)) == 0 {
		return
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		p.fault(errorPlace(data, err), "not valid JSON, none of the file counts: %v; comments and trailing commas are not allowed", err)
		return
	}
	if p.file.Plugin == nil {
		// A plugin's file has hooks and a description, and no say in settings.
		p.switches(top)
	}
	raw, ok := top["hooks"]
	if !ok {
		for name := range top {
			if slices.Contains(vendorEvents, hooks.Event(name)) {
				p.fault(name, "an event at the top level has no effect: put it inside \"hooks\"")
			}
		}
		return
	}
	p.events(raw, "hooks")
}

// events reads the map from event to groups, which stands at where.
func (p *parser) events(raw json.RawMessage, where string) {
	names, values, err := members(raw)
	if err != nil {
		p.fault(where, "must be an object of events: %v", err)
		return
	}
	for i, name := range names {
		at := where + "." + name
		if slices.Contains(names[:i], name) {
			p.fault(at, "the event is there twice; the last one counts, as in any JSON object: put all its groups in one array")
		}
		if slices.Contains(names[i+1:], name) {
			continue
		}
		p.event(name, at, values[i])
	}
}

// errorPlace turns a syntax error's offset into line:column.
func errorPlace(data []byte, err error) string {
	var syn *json.SyntaxError
	if !errors.As(err, &syn) || syn.Offset > int64(len(data)) {
		return ""
	}
	before := data[:max(0, syn.Offset-1)]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("%d:%d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}

// members returns an object's members in the order they are written.
func members(raw json.RawMessage) (names []string, values []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, nil, errors.New("not an object")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, nil, err
		}
		names, values = append(names, tok.(string)), append(values, v)
	}
	return names, values, nil
}

// switches reads the settings about hooks that are no hooks.
func (p *parser) switches(top map[string]json.RawMessage) {
	take := func(key string, v any, want string) bool {
		raw, ok := top[key]
		if !ok || string(raw) == "null" {
			return false
		}
		if err := json.Unmarshal(raw, v); err != nil {
			p.fault(key, "must be %s; it is ignored", want)
			return false
		}
		return true
	}
	var off bool
	if take("disableAllHooks", &off, "true or false") {
		p.file.DisableAll = &off
	}
	var only bool
	if take("allowManagedHooksOnly", &only, "true or false") {
		if p.managed("allowManagedHooksOnly") {
			p.file.ManagedOnly = &only
		}
	}
	if raw, ok := top["strictPluginOnlyCustomization"]; ok && string(raw) != "null" && p.managed("strictPluginOnlyCustomization") {
		locked, ok := locksHooks(raw)
		if !ok {
			p.fault("strictPluginOnlyCustomization", "must be true, false or a list of names; it counts as true, so that nothing is unlocked by mistake")
		}
		p.file.PluginOnly = &locked
	}
	var list []string
	if take("allowedHttpHookUrls", &list, "a list of URL patterns") {
		p.file.HTTPURLs = append([]string{}, list...)
	}
	list = nil
	if take("httpHookAllowedEnvVars", &list, "a list of names") {
		p.file.HTTPEnv = append([]string{}, list...)
	}
	env := map[string]string{}
	if take("env", &env, "an object of strings") {
		p.file.Env = env
	}
	p.plugins(top)
}

// managed reports whether the file may say this; who may not is told so.
func (p *parser) managed(key string) bool {
	if p.file.Layer == hooks.LayerManaged {
		return true
	}
	p.fault(key, "counts in managed settings only; it is ignored")
	return false
}

// locksHooks reads strictPluginOnlyCustomization: everything, a list of what is
// locked, or an object of switches. ok is false for anything else.
func locksHooks(raw json.RawMessage) (locked, ok bool) {
	var all bool
	var names []string
	var switches map[string]bool
	switch {
	case json.Unmarshal(raw, &all) == nil:
		return all, true
	case json.Unmarshal(raw, &names) == nil:
		return slices.Contains(names, "hooks"), true
	case json.Unmarshal(raw, &switches) == nil:
		return switches["hooks"], true
	}
	return true, false
}

func (p *parser) event(name, where string, raw json.RawMessage) {
	ev := hooks.Event(name)
	if !slices.Contains(vendorEvents, ev) {
		p.fault(where, "there is no event of this name%s; its hooks never run", suggest(name))
		return
	}
	var groups []json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		p.fault(where, "must be a list of matcher groups; its hooks never run")
		return
	}
	if why := hooks.Absent(ev); why != "" {
		if len(groups) > 0 {
			p.fault(where, "%s; its hooks never run", why)
		}
		return
	}
	for i, g := range groups {
		p.group(ev, fmt.Sprintf("%s[%d]", where, i), p.groups[ev], g)
		if p.groups == nil {
			p.groups = map[hooks.Event]int{}
		}
		p.groups[ev]++
	}
}

// suggest names an event that differs in case only.
func suggest(name string) string {
	for _, ev := range vendorEvents {
		if strings.EqualFold(string(ev), name) {
			return fmt.Sprintf(" (names are case-sensitive: %s)", ev)
		}
	}
	return ""
}

func (p *parser) group(ev hooks.Event, where string, gi int, raw json.RawMessage) {
	var g map[string]json.RawMessage
	if err := json.Unmarshal(raw, &g); err != nil || g == nil {
		p.fault(where, "must be an object with a \"hooks\" list; it is ignored")
		return
	}
	text, ok := optString(g, "matcher")
	if !ok {
		p.fault(where+".matcher", "must be a string; the group is ignored")
		return
	}
	list, ok := g["hooks"]
	if !ok {
		if _, flat := g["command"]; flat || g["type"] != nil {
			p.fault(where, "a handler stands where a matcher group belongs: wrap it as {\"hooks\": [ … ]}; it is ignored")
		} else {
			p.fault(where, "has no \"hooks\" list; it is ignored")
		}
		return
	}
	if _, ok := g["if"]; ok {
		p.fault(where+".if", "\"if\" belongs to a handler, not to a group; it is ignored and the hooks run without it")
	}
	var handlers []json.RawMessage
	if err := json.Unmarshal(list, &handlers); err != nil {
		p.fault(where+".hooks", "must be a list of handlers; the group is ignored")
		return
	}
	m, err := compileMatcher(ev, text)
	if err != nil {
		p.fault(where+".matcher", "%q is not a valid JavaScript regular expression: %v; the group never runs", text, err)
	} else if why := retired(ev, m); why != "" {
		p.fault(where+".matcher", "%s", why)
	}
	for i, h := range handlers {
		at := hooks.Place{File: p.file.Path, Layer: p.file.Layer, Group: gi, Index: i}
		p.handler(ev, fmt.Sprintf("%s.hooks[%d]", where, i), text, m, at, h)
	}
}

// optString returns a string member, "" when it is absent or null; false when
// it is something else.
func optString(m map[string]json.RawMessage, key string) (string, bool) {
	raw, ok := m[key]
	if !ok || string(raw) == "null" {
		return "", true
	}
	var s string
	return s, json.Unmarshal(raw, &s) == nil
}

func (p *parser) handler(ev hooks.Event, where, text string, m *matcher, at hooks.Place, raw json.RawMessage) {
	var f handlerFields
	f.m = map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &f.m); err != nil || f.m == nil {
		p.fault(where, "must be an object; it is ignored")
		return
	}
	h := &hooks.Handler{Dialect: Name, Event: ev, Matcher: text, Place: at, Raw: raw}
	x := &ext{matcher: m, plugin: p.file.Plugin}
	h.Ext = x
	h.Type, h.Watches = f.str("type"), watches(ev, text)
	x.ifText = f.str("if")
	h.StatusMessage = f.str("statusMessage")
	h.Async, h.Rewake = f.flag("async"), f.flag("asyncRewake")
	h.Async = h.Async || h.Rewake
	h.RewakeMessage, h.RewakeSummary = f.str("rewakeMessage"), f.str("rewakeSummary")
	switch once := f.flag("once"); {
	case once && at.Layer.Command():
		h.Once = true
	case once:
		p.fault(where+".once", "counts in front matter only; the hook runs every time")
	}
	switch f.str("onFailure") {
	case "", "continue":
	case "block":
		x.blockOnFailure = true
	default:
		f.bad = append(f.bad, "onFailure must be continue or block")
	}
	f.typeFields(h, x)
	if h.Async && h.Type != "command" {
		h.Async, h.Rewake = false, false
		p.fault(where, "async and asyncRewake count for command handlers only; it is waited for")
	}
	if ev == hooks.SessionEnd {
		// Nothing is left for it to go on beside, and what goes on is ended with the
		// session: it has its time like the others.
		h.Async, h.Rewake = false, false
	}
	f.timeout(h)
	if len(f.bad) > 0 {
		p.fault(where, "%s; it is ignored", strings.Join(f.bad, "; "))
		return
	}
	h.Hash = hooks.HashHandler(Name, ev, text, p.hashed(raw, x))
	h.With = x.with()
	p.ifRule(where, h, x)
	if m == nil {
		h.Why = "its matcher is not a valid regular expression"
	}
	if h.TimeoutSet && h.Timeout >= 30000*time.Second {
		p.fault(where+".timeout", "is in seconds: this one is %s long", h.Timeout)
	}
	if why := typeWhy(ev, h); why != "" {
		h.Why = why
		p.fault(where, "%s; it never runs", why)
	}
	p.file.Handlers = append(p.file.Handlers, h)
}

// hashed is what trust is given to. A repository file's env block goes with its
// handlers, as variables such as BASH_ENV and PATH decide what a command runs. So
// does a plugin's id: "$CLAUDE_PLUGIN_ROOT/run.sh" is another command in each.
func (p *parser) hashed(raw json.RawMessage, x *ext) json.RawMessage {
	whole := map[string]any{"handler": raw}
	switch {
	case !p.file.Layer.NeedsTrust():
		return raw
	case p.file.Plugin != nil:
		whole["plugin"] = p.file.Plugin.ID
	case len(p.file.Env) == 0:
		return raw
	default:
		x.env = p.file.Env
		whole["env"] = p.file.Env
	}
	b, err := json.Marshal(whole)
	if err != nil {
		return raw
	}
	return b
}

// with is what the handler's text does not say and what trust is given to all the
// same (hooks.Handler.With).
func (x *ext) with() string {
	var parts []string
	for _, k := range sortedKeys(x.env) {
		parts = append(parts, k+"="+x.env[k])
	}
	for _, k := range sortedKeys(x.headers) {
		parts = append(parts, k+": "+x.headers[k])
	}
	return strings.Join(parts, ", ")
}

func (p *parser) ifRule(where string, h *hooks.Handler, x *ext) {
	if x.ifText == "" {
		return
	}
	if !isToolEvent(h.Event) {
		h.Why = "its \"if\" is evaluated on tool events only, so on " + string(h.Event) + " it never runs"
		p.fault(where+".if", "%s", h.Why)
		return
	}
	r, err := parseRule(x.ifText)
	if err != nil {
		p.fault(where+".if", "%v; the hook runs on every call that its matcher takes", err)
		return
	}
	x.rule = r
}

// typeWhy says why a handler of that type cannot run on the event (Claude Code hooks reference, handlers).
func typeWhy(ev hooks.Event, h *hooks.Handler) string {
	switch h.Type {
	case "prompt", "agent":
		switch ev {
		case hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch,
			hooks.PermissionRequest, hooks.PermissionDenied, hooks.Stop, hooks.SubagentStop,
			hooks.UserPromptSubmit, hooks.UserPromptExpand:
			return ""
		}
		return fmt.Sprintf("%s handlers are not possible on %s", h.Type, ev)
	case "http":
		if ev == hooks.SessionStart {
			return "http handlers are not possible on SessionStart"
		}
	}
	return ""
}

// handlerFields reads a handler's members and gathers what is wrong with them.
type handlerFields struct {
	m   map[string]json.RawMessage
	bad []string
}

func (f *handlerFields) get(key string, v any, want string) bool {
	raw, ok := f.m[key]
	if !ok || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil {
		f.bad = append(f.bad, key+" must be "+want)
		return false
	}
	return true
}

func (f *handlerFields) str(key string) (s string) { f.get(key, &s, "a string"); return s }
func (f *handlerFields) flag(key string) (b bool)  { f.get(key, &b, "true or false"); return b }

func (f *handlerFields) need(key string) string {
	s := f.str(key)
	if strings.TrimSpace(s) == "" {
		f.bad = append(f.bad, key+" is missing")
	}
	return s
}

func (f *handlerFields) typeFields(h *hooks.Handler, x *ext) {
	switch h.Type {
	case "command":
		h.Command = f.need("command")
		h.ExecForm = f.get("args", &h.Args, "a list of strings")
		h.Shell = f.str("shell")
		if h.Shell != "" && h.Shell != "bash" && h.Shell != "powershell" {
			f.bad = append(f.bad, "shell must be bash or powershell")
		}
	case "http":
		x.url = f.need("url")
		if x.url != "" && !strings.HasPrefix(x.url, "http://") && !strings.HasPrefix(x.url, "https://") {
			f.bad = append(f.bad, "url must begin with http:// or https://")
		}
		f.get("headers", &x.headers, "an object of strings")
		f.get("allowedEnvVars", &x.allowedEnv, "a list of names")
		h.Command = "POST " + x.url
	case "mcp_tool":
		x.server, x.tool = f.need("server"), f.need("tool")
		x.input = f.m["input"]
		h.Command = "mcp " + x.server + " " + x.tool
	case "prompt", "agent":
		x.prompt, x.model = f.need("prompt"), f.str("model")
		x.continueOnBlock = f.flag("continueOnBlock") || h.Type == "agent"
		h.Command = h.Type + ": " + x.prompt
	case "":
		f.bad = append(f.bad, "type is missing (command, http, mcp_tool, prompt or agent)")
	default:
		f.bad = append(f.bad, fmt.Sprintf("there is no handler type %q", h.Type))
	}
}

// timeout reads the time limit, in seconds, or takes the default of type and
// event (Claude Code hooks reference, handlers). SessionEnd's shared budget is New's business.
func (f *handlerFields) timeout(h *hooks.Handler) {
	var sec float64
	if f.get("timeout", &sec, "a number of seconds") {
		if sec <= 0 {
			f.bad = append(f.bad, "timeout must be more than 0 seconds")
			return
		}
		h.TimeoutSet, h.Timeout = true, seconds(sec)
		return
	}
	switch {
	case h.Type == "prompt":
		h.Timeout = 30 * time.Second
	case h.Type == "agent":
		h.Timeout = 60 * time.Second
	case h.Event == hooks.UserPromptSubmit, h.Event == hooks.PreModelSwitch, h.Event == hooks.PostModelSwitch:
		h.Timeout = 30 * time.Second
	default:
		h.Timeout = 600 * time.Second
	}
}

// seconds converts without overflow: an installer may have meant milliseconds
// (failproofai#485).
func seconds(sec float64) time.Duration {
	const most = 10 * 365 * 24 * time.Hour
	if sec >= most.Seconds() {
		return most
	}
	return max(time.Duration(math.Round(sec*float64(time.Second))), 1)
}
