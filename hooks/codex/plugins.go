package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"acp-agent/hooks"
)

// plugin is a plugin whose hooks count.
type plugin struct {
	// id is name@marketplace; empty for one that the person named.
	id         string
	root, data string
	layer      hooks.Layer
}

// manifests are where a plugin's manifest may be; the first one counts.
var manifests = []string{
	filepath.Join(".codex-plugin", "plugin.json"), filepath.Join(".claude-plugin", "plugin.json"),
}

// ofPlugin gives a file's hooks the variables of its plugin (Codex 0.171.0,
// execution).
func (f *File) ofPlugin(p plugin) {
	m := map[string]string{"PLUGIN_ROOT": p.root, "CLAUDE_PLUGIN_ROOT": p.root}
	if p.data != "" {
		m["PLUGIN_DATA"], m["CLAUDE_PLUGIN_DATA"] = p.data, p.data
	}
	f.plugin, f.pluginData = m, p.data
}

// installed reads the plugins that [plugins] of the user's config.toml switches
// on; nobody else has a say. home is CODEX_HOME.
func (d *finder) installed(home string) {
	for _, id := range slices.Sorted(maps.Keys(d.plugins)) {
		if !d.plugins[id] || home == "" {
			continue
		}
		at := hooks.Problem{File: filepath.Join(home, "config.toml"), Where: "plugins." + id, Minor: true}
		name, market, ok := strings.Cut(id, "@")
		if !ok || !segment(name) || !segment(market) {
			at.Text = "is no name@marketplace; its hooks do not run"
			d.problems = append(d.problems, at)
			continue
		}
		base := filepath.Join(home, "plugins", "cache", market, name)
		version := active(d.watch.List(base))
		if version == "" {
			at.Text = "the plugin is switched on, but Codex has not installed it here; its hooks do not run"
			d.problems = append(d.problems, at)
			continue
		}
		d.plugin(plugin{
			id: id, root: filepath.Join(base, version), layer: hooks.LayerPlugin,
			data: filepath.Join(home, "plugins", "data", name+"-"+market),
		})
	}
}

var segmentForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

func segment(s string) bool { return segmentForm().MatchString(s) }

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._+-]+$`) })

// active is the version that counts: "local", else the highest.
func active(versions []string) string {
	versions = slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		return !versionForm().MatchString(v) || v == "." || v == ".."
	})
	if slices.Contains(versions, "local") {
		return "local"
	}
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, compareVersions)
}

// compareVersions orders semantic versions by their numbers, and what is none by
// its text.
func compareVersions(a, b string) int {
	x, xok := numbers(a)
	y, yok := numbers(b)
	if !xok || !yok {
		return strings.Compare(a, b)
	}
	if c := slices.Compare(x, y); c != 0 {
		return c
	}
	// A release goes after its candidates.
	_, preA, _ := strings.Cut(a, "-")
	_, preB, _ := strings.Cut(b, "-")
	if (preA == "") != (preB == "") {
		return cmp.Compare(len(preB), len(preA))
	}
	return strings.Compare(preA, preB)
}

func numbers(version string) ([]int, bool) {
	core, _, _ := strings.Cut(version, "+")
	core, _, _ = strings.Cut(core, "-")
	var out []int
	for part := range strings.SplitSeq(core, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) == 3
}

// plugin reads a plugin's hooks: those that its manifest has or names, or else
// its hooks/hooks.json (Codex 0.171.0, config and trust).
func (d *finder) plugin(p plugin) {
	first := len(d.files)
	defer func() {
		for i := range d.files[first:] {
			d.files[first+i].ofPlugin(p)
		}
	}()
	for _, name := range manifests {
		path := filepath.Join(p.root, name)
		f, data := d.read(path, p.layer)
		switch {
		case f == nil, f.Dropped:
			return // it goes by another name as well, or cannot be read
		case f.Missing:
			continue
		}
		if json.Valid(data) {
			d.watch.Keep(path, data)
		} else {
			data = d.before(f, data)
		}
		root, err := parseJSON(data)
		if err != nil {
			d.drop(f, err)
			return
		}
		if n := root.get("hooks"); n != nil && n.kind != nullNode {
			d.manifestHooks(p, *f, data, n)
		} else {
			d.pluginFile(p, "hooks/hooks.json")
		}
		return
	}
	if p.id != "" {
		d.problems = append(d.problems, hooks.Problem{File: p.root, Text: "the plugin has no plugin.json, so Codex does not load it and its hooks do not run", Minor: true})
		return
	}
	// Whoever names a directory without a manifest means it.
	d.pluginFile(p, "hooks/hooks.json")
}

func (d *finder) pluginFile(p plugin, rel string) {
	before := len(d.files)
	d.jsonFile(filepath.Join(p.root, filepath.FromSlash(rel)), p.layer)
	if len(d.files) > before && p.id != "" {
		d.files[before].keySource = p.id + ":" + rel
	}
}

// manifestHooks reads the hooks of a manifest: a path, an object as hooks.json
// has it, or a list of the one or of the other.
func (d *finder) manifestHooks(p plugin, manifest File, data []byte, n *node) {
	list := []*node{n}
	if n.kind == arrayNode {
		list = n.elems
	}
	for i, e := range list {
		if e.kind != list[0].kind || e.kind != stringNode && e.kind != objectNode {
			d.problems = append(d.problems, hooks.Problem{
				File: manifest.Path, Where: fmt.Sprintf("hooks[%d]", i),
				Text: "must be all paths or all objects; Codex ignores all of it, so none of the plugin's hooks run",
			})
			return
		}
	}
	for i, e := range list {
		if e.kind == stringNode {
			path, err := hooks.PluginPath(p.root, e.text)
			if err != nil {
				d.problems = append(d.problems, hooks.Problem{File: manifest.Path, Where: fmt.Sprintf("hooks[%d]", i), Text: err.Error() + "; its hooks do not run"})
				continue
			}
			d.pluginFile(p, filepath.ToSlash(strings.TrimPrefix(path, p.root+string(filepath.Separator))))
			continue
		}
		f := manifest
		f.data = data
		if p.id != "" {
			f.keySource = fmt.Sprintf("%s:plugin.json#hooks[%d]", p.id, i)
		}
		c, err := parseHooks(e)
		if err != nil {
			d.drop(&f, err)
			continue
		}
		f.config = c
		d.notes(&f, c.notes)
		d.files = append(d.files, f)
	}
}

// Unread lists the sources of Codex's hooks that are not read here.
func Unread() []hooks.Unread {
	return []hooks.Unread{
		{Source: "policies of a device management (com.openai.codex on macOS), requirements from the cloud", Why: "deploy requirements.toml instead"},
		{Source: "hooks given with -c", Why: "name a file with --codex-hooks"},
		{Source: "notify of config.toml", Why: "it is no hook: use a Stop hook"},
	}
}
