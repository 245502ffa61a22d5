package claudecode

import (
	"encoding/json"
	"slices"

	"acp-agent/hooks"
)

// precedence orders the layers of scalar settings: managed > --settings > local
// > project > user (Claude Code hooks reference, settings).
func precedence(l hooks.Layer) int {
	switch l {
	case hooks.LayerManaged:
		return 5
	case hooks.LayerExplicit:
		return 4
	case hooks.LayerLocal:
		return 3
	case hooks.LayerProject:
		return 2
	case hooks.LayerUser:
		return 1
	}
	return 0
}

// said is who has the last word about a switch; nil: nobody says anything.
type said struct {
	on   bool
	file *File
}

// lastWord is the value left after precedence, of the files that count.
func lastWord(files []*File, value func(*File) *bool, counts func(hooks.Layer) bool) *said {
	var out *said
	for _, f := range files {
		if v := value(f); v != nil && counts(f.Layer) {
			out = &said{*v, f}
		}
	}
	return out
}

func (s *said) yes() bool { return s != nil && s.on }

// allowed are the lists of URLs and variables that http hooks may use; nil allows
// all, which an empty list does not.
type allowed struct{ urls, env []string }

func (a *allowed) add(f *File) {
	a.urls, a.env = merge(a.urls, f.HTTPURLs), merge(a.env, f.HTTPEnv)
}

// merge appends to an allow-list; an empty list in a file allows nothing, which
// is not the same as no list.
func merge(list, more []string) []string {
	if more == nil {
		return list
	}
	return append(append([]string{}, list...), more...)
}

// switches applies disableAllHooks, allowManagedHooksOnly,
// strictPluginOnlyCustomization, the http allow-lists and missing services.
//
// In the vendor's program a folder is trusted before its settings count. Here
// nothing of the kind is asked, so what a repository says about hooks that are
// not its own counts for nothing until the person has agreed (disableAllHooks) or
// at all (allow-lists).
func (d *Dialect) switches() {
	files := byPrecedence(d.cfg.Files)
	all := func(hooks.Layer) bool { return true }
	own := func(l hooks.Layer) bool { return !l.NeedsTrust() }
	disable := func(f *File) *bool { return f.DisableAll }
	off, ownOff := lastWord(files, disable, all), lastWord(files, disable, own)
	only := lastWord(files, func(f *File) *bool { return f.ManagedOnly }, all)
	lock := lastWord(files, func(f *File) *bool { return f.PluginOnly }, all)
	var every, persons allowed
	for _, f := range files {
		every.add(f)
		if own(f.Layer) {
			persons.add(f)
		}
	}
	simple, _ := d.cfg.Env.Get("CLAUDE_CODE_SIMPLE")
	var asked *hooks.Handler
	for _, h := range d.handlers {
		x := extOf(h)
		lists := persons
		if h.Place.Layer.NeedsTrust() {
			lists = every
		}
		x.httpEnv = lists.env
		managed := h.Place.Layer == hooks.LayerManaged
		vetted := managed || x.plugin != nil && x.plugin.Forced
		switch {
		case h.Why != "":
		case simple == "1" || simple == "true":
			h.Why, x.quiet = "CLAUDE_CODE_SIMPLE is set, with which Claude Code runs no hooks", true
		case off.yes() && off.file.Layer == hooks.LayerManaged, off.yes() && ownOff.yes() && !vetted:
			h.Why, x.quiet = "disableAllHooks is set in "+ownOff.file.Path, true
		case off.yes() && h.Place.Layer.NeedsTrust():
			h.Why = "disableAllHooks is set in " + off.file.Path
		case only.yes() && !vetted:
			h.Why, x.quiet = "only managed hooks are allowed (allowManagedHooksOnly in "+only.file.Path+")", true
		case lock.yes() && !managed && !h.Place.Layer.Plugin():
			h.Why, x.quiet = "only plugins may bring hooks (strictPluginOnlyCustomization in "+lock.file.Path+")", true
		case h.Type == "http" && lists.urls != nil && !slices.ContainsFunc(lists.urls, func(p string) bool { return urlMatches(p, x.url) }):
			h.Why = "its URL is not among allowedHttpHookUrls"
		case h.Type == "mcp_tool" && d.cfg.MCP == nil:
			h.Why = "there are no MCP servers that hooks could call"
		case (h.Type == "prompt" || h.Type == "agent") && d.cfg.Judge == nil:
			h.Why = "there is no model that hooks could ask"
		case off.yes() && !vetted:
			if asked == nil {
				asked = repositorySwitch(off.file, "disableAllHooks", "true", "switches off all hooks, yours too")
			}
			h.OffBy = asked
		}
	}
	if asked != nil {
		d.handlers = append(d.handlers, asked)
	}
	d.handlers = append(d.handlers, d.offers()...)
}

// offers are the switches by which a repository turns off single plugins of the
// person's.
func (d *Dialect) offers() []*hooks.Handler {
	var out []*hooks.Handler
	for _, f := range d.cfg.Files {
		if f.offBy == nil {
			continue
		}
		if !slices.Contains(out, f.offBy) && len(f.Handlers) > 0 {
			out = append(out, f.offBy)
		}
		for _, h := range f.Handlers {
			h.OffBy = f.offBy
		}
	}
	return out
}

// repositorySwitch is a setting of a repository that turns hooks of the person's
// off. It is asked about like a hook, and stands among them.
func repositorySwitch(f *File, key, value, what string) *hooks.Handler {
	raw, _ := json.Marshal(map[string]json.RawMessage{key: json.RawMessage(value)})
	return &hooks.Handler{
		Dialect: Name, Type: hooks.SwitchType, Command: key + ": " + value + " " + what, Raw: raw,
		Place: hooks.Place{File: f.Path, Layer: f.Layer, Group: -1, Index: -1},
		Hash:  hooks.HashHandler(Name, "", key, raw), Ext: &ext{},
	}
}
