package claudecode

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"acp-agent/hooks"
)

// Plugin is a plugin whose hooks count (Claude Code plugin loading reference).
type Plugin struct {
	// ID is name@origin; empty for one that the person named.
	ID string
	// Root is its directory, Data where it keeps what outlives an update.
	Root, Data string
	// Forced: an administrator has switched it on.
	Forced bool
	// Options are the person's answers to the manifest's userConfig, by name.
	Options map[string]string
}

var manifestPath = filepath.Join(".claude-plugin", "plugin.json")

// plugins reads the settings about plugins.
func (p *parser) plugins(top map[string]json.RawMessage) {
	var enabled map[string]json.RawMessage
	if raw, ok := top["enabledPlugins"]; ok && string(raw) != "null" {
		if json.Unmarshal(raw, &enabled) != nil {
			p.fault("enabledPlugins", "must be an object of true and false; it is ignored")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(enabled)) {
		var on bool
		if json.Unmarshal(enabled[id], &on) != nil {
			p.fault("enabledPlugins."+id, "must be true or false; it is ignored")
			continue
		}
		if p.file.Enabled == nil {
			p.file.Enabled = map[string]bool{}
		}
		p.file.Enabled[id] = on
	}
	// A repository has no say in a plugin's options.
	if p.file.Layer.NeedsTrust() {
		return
	}
	var configs map[string]struct {
		Options map[string]json.RawMessage `json:"options"`
	}
	if raw, ok := top["pluginConfigs"]; ok && json.Unmarshal(raw, &configs) != nil {
		p.fault("pluginConfigs", "must be an object of plugins with their \"options\"; it is ignored")
		return
	}
	for id, c := range configs {
		if p.file.Options == nil {
			p.file.Options = map[string]map[string]string{}
		}
		p.file.Options[id] = map[string]string{}
		for name, raw := range c.Options {
			p.file.Options[id][name] = optionText(raw)
		}
	}
}

// optionText is an option as a variable has it: a string as it is, all else as
// it is written.
func optionText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// enabling says who has decided about a plugin.
type enabling struct {
	on bool
	by hooks.Layer
	// file is where it was decided; byPerson: whoever is no repository has
	// switched it on too.
	file     string
	byPerson bool
}

// offBy is the switch where a repository would turn off a plugin of the person's.
func (e enabling) offBy(id string) *hooks.Handler {
	if e.on || !e.byPerson || !e.by.NeedsTrust() {
		return nil
	}
	f := &File{Path: e.file, Layer: e.by}
	return repositorySwitch(f, "enabledPlugins."+id, "false", "switches off the hooks of this plugin of yours")
}

// enabled settles enabledPlugins key by key: managed > named on the command line
// > local > project > user, a later file of one layer over an earlier one.
func (s *search) enabled() map[string]enabling {
	out := map[string]enabling{}
	for _, f := range s.settings() {
		for id, on := range f.Enabled {
			e := out[id]
			e.on, e.by, e.file = on, f.Layer, f.Path
			e.byPerson = e.byPerson || on && !f.Layer.NeedsTrust()
			out[id] = e
		}
	}
	return out
}

// byPrecedence is the files with the ones that have the last word last.
func byPrecedence(files []*File) []*File {
	out := slices.Clone(files)
	slices.SortStableFunc(out, func(a, b *File) int { return precedence(a.Layer) - precedence(b.Layer) })
	return out
}

// plugins finds the plugins that are switched on: those installed from a
// marketplace, those in a skills directory, and CLAUDE_CODE_PLUGIN_DIRS.
func (s *search) plugins() {
	enabled := s.enabled()
	root := s.pluginsRoot()
	var store *installed
	for _, id := range slices.Sorted(maps.Keys(enabled)) {
		e := enabled[id]
		name, origin := splitID(id)
		sw := e.offBy(id)
		if !e.on && sw == nil || name == "" || slices.Contains(reservedOrigins, origin) {
			continue
		}
		if store == nil {
			store = s.installed(root)
		}
		dir, why := store.find(id, name, origin)
		if dir == "" {
			s.problems = append(s.problems, hooks.Problem{File: e.file, Where: "enabledPlugins." + id, Text: why + "; its hooks do not run", Minor: true})
			continue
		}
		s.plugin(s.described(id, dir, root, e), s.layerOf(e, dir), sw)
	}
	for _, d := range s.looseDirs() {
		s.loose(d, root, enabled)
	}
}

// reservedOrigins are the origins that no marketplace has.
var reservedOrigins = []string{"inline", "skills-dir", "synced", "builtin"}

// splitID splits name@origin.
func splitID(id string) (name, origin string) {
	i := strings.LastIndexByte(id, '@')
	if i <= 0 {
		return "", ""
	}
	return id[:i], id[i+1:]
}

// pluginsRoot is where Claude Code keeps plugins.
func (s *search) pluginsRoot() string {
	if dir, ok := s.o.Env.Get("CLAUDE_CODE_PLUGIN_CACHE_DIR"); ok && dir != "" {
		return absPath(expandHome(dir, s.o.Home))
	}
	if s.config == "" {
		return ""
	}
	return filepath.Join(s.config, "plugins")
}

// layerOf decides about trust. Somebody other than the repository must have
// switched the plugin on, and the repository must not be where it lies, nor where
// it is written down where it lies: then also an administrator's word for the name
// is none for the content.
func (s *search) layerOf(e enabling, dir string) hooks.Layer {
	managed := e.on && e.by == hooks.LayerManaged
	switch {
	case !e.byPerson && !managed, s.inRepository(dir), s.inRepository(s.pluginsRoot()):
		return hooks.LayerOffered
	}
	return hooks.LayerPlugin
}

func (s *search) described(id, dir, root string, e enabling) *Plugin {
	p := &Plugin{ID: id, Root: dir, Forced: e.on && e.by == hooks.LayerManaged}
	if root != "" {
		p.Data = filepath.Join(root, "data", dataName(id))
	}
	return p
}

// dataName is a plugin's id as the name of its data directory.
func dataName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '-'
	}, id)
}

// looseDir is a directory that may be a plugin without having been installed.
type looseDir struct {
	dir, origin string
	byPerson    bool
}

// looseDirs lists them: what CLAUDE_CODE_PLUGIN_DIRS names, in the person's
// environment or settings, and what lies in a skills directory with a manifest.
func (s *search) looseDirs() []looseDir {
	var out []looseDir
	dirs, _ := s.o.Env.Get("CLAUDE_CODE_PLUGIN_DIRS")
	for _, f := range s.settings() {
		if v, ok := f.Env["CLAUDE_CODE_PLUGIN_DIRS"]; ok && !f.Layer.NeedsTrust() {
			dirs = v
		}
	}
	for _, dir := range filepath.SplitList(dirs) {
		if dir = expandHome(dir, s.o.Home); filepath.IsAbs(dir) {
			out = append(out, looseDir{dir, "inline", true})
		}
	}
	skills := func(dir string, byPerson bool) {
		if dir == "" {
			return
		}
		dir = filepath.Join(dir, "skills")
		for _, name := range s.watch.List(dir) {
			out = append(out, looseDir{filepath.Join(dir, name), "skills-dir", byPerson})
		}
	}
	skills(s.config, s.userLayer == hooks.LayerUser)
	if s.o.Cwd != "" && filepath.Join(s.o.Cwd, ".claude") != s.config {
		skills(filepath.Join(s.o.Cwd, ".claude"), false)
	}
	return out
}

// loose takes a directory that is a plugin and that nobody has switched off.
func (s *search) loose(d looseDir, root string, enabled map[string]enabling) {
	path := filepath.Join(d.dir, manifestPath)
	data, err := s.watch.Read(path)
	if err != nil {
		return // no plugin: a skill
	}
	var m manifest
	if json.Unmarshal(bytes.TrimPrefix(data, byteOrderMark), &m) != nil || m.Name == "" {
		m.Name = filepath.Base(d.dir)
	}
	id := m.Name + "@" + d.origin
	e, said := enabled[id]
	if !said {
		e = enabling{on: m.DefaultEnabled == nil || *m.DefaultEnabled, file: path}
	}
	// Where it lies decides, not who has switched it on.
	e.byPerson = d.byPerson
	sw := e.offBy(id)
	if e.on || sw != nil {
		s.plugin(s.described(id, d.dir, root, e), s.layerOf(e, d.dir), sw)
	}
}

// manifest is plugin.json, as far as it is about hooks.
type manifest struct {
	Name           string          `json:"name"`
	DefaultEnabled *bool           `json:"defaultEnabled"`
	Hooks          json.RawMessage `json:"hooks"`
	UserConfig     map[string]struct {
		Default json.RawMessage `json:"default"`
	} `json:"userConfig"`
}

// plugin reads a plugin's hooks: hooks/hooks.json, and beside it what its
// manifest has or names (Claude Code plugin manifest reference, hooks). offBy is
// a repository's switch that would turn it off, or nil.
func (s *search) plugin(p *Plugin, layer hooks.Layer, offBy *hooks.Handler) {
	first := len(s.files)
	defer func() {
		for _, f := range s.files[first:] {
			f.offBy = offBy
		}
	}()
	path := filepath.Join(p.Root, manifestPath)
	if !s.first(path) {
		return // it goes by another id as well
	}
	var m manifest
	data := s.read(path, false)
	if len(data) > 0 {
		if err := json.Unmarshal(data, &m); err != nil {
			s.problems = append(s.problems, hooks.Problem{
				File: path, Where: errorPlace(data, err),
				Text: "the manifest cannot be used, so none of the plugin's hooks run: " + err.Error(),
			})
			return
		}
	}
	p.Options = s.options(p.ID, &m)
	s.add(filepath.Join(p.Root, "hooks", "hooks.json"), &File{Layer: layer, Plugin: p}, false)
	inline := &parser{file: &File{Path: path, Layer: layer, Plugin: p}}
	s.manifestHooks(inline, m.Hooks, "hooks", layer)
	if len(inline.file.Handlers) > 0 {
		s.files = append(s.files, inline.file)
	}
	s.problems = append(s.problems, inline.problems...)
}

// settings are the files that have a say in what else is read, by precedence. All
// of them are there before the first plugin is, of which there may be many.
func (s *search) settings() []*File {
	if s.ranked == nil {
		s.ranked = byPrecedence(s.files)
	}
	return s.ranked
}

// options are the answers of the administrator and the person, and the manifest's
// defaults where there is none. Those that are kept in a key chain are not known
// here.
func (s *search) options(id string, m *manifest) map[string]string {
	out := map[string]string{}
	for name, c := range m.UserConfig {
		if len(c.Default) > 0 && string(c.Default) != "null" {
			out[name] = optionText(c.Default)
		}
	}
	for _, f := range s.settings() {
		maps.Copy(out, f.Options[id])
	}
	return out
}

// manifestHooks reads the manifest's hooks: a path, a map of events, or a list of
// these.
func (s *search) manifestHooks(inline *parser, raw json.RawMessage, where string, layer hooks.Layer) {
	var (
		list []json.RawMessage
		path string
	)
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &list) == nil && where == "hooks":
		for i, r := range list {
			s.manifestHooks(inline, r, where+"["+itoa(i)+"]", layer)
		}
	case json.Unmarshal(raw, &path) == nil:
		file, err := hooks.PluginPath(inline.file.Plugin.Root, path)
		switch {
		case err != nil:
			inline.fault(where, "%v; its hooks do not run", err)
		case !s.add(file, &File{Layer: layer, Plugin: inline.file.Plugin}, true):
			inline.fault(where, "%s is read already (hooks/hooks.json is, without being named), which Claude Code takes for an error: leave it out", path)
		}
	default:
		var wrapped map[string]json.RawMessage
		if json.Unmarshal(raw, &wrapped) == nil && wrapped["hooks"] != nil {
			inline.fault(where, "has another \"hooks\" inside: in a manifest the events stand directly in it; it is ignored")
			return
		}
		inline.events(raw, where)
	}
}
