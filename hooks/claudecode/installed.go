package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"acp-agent/hooks"
)

// installed are Claude Code's records of what it has fetched
// (Claude Code plugin loading reference, find plugins on disk).
type installed struct {
	s       *search
	root    string
	plugins map[string][]install
	markets map[string]market
}

// install is a record of installed_plugins.json.
type install struct {
	Scope       string `json:"scope"`
	ProjectPath string `json:"projectPath"`
	InstallPath string `json:"installPath"`
}

// market is a record of known_marketplaces.json.
type market struct {
	Source struct {
		Source string `json:"source"`
	} `json:"source"`
	InstallLocation string `json:"installLocation"`
}

// installed reads the records. What is not there is no problem, what cannot be
// read is.
func (s *search) installed(root string) *installed {
	in := &installed{s: s, root: root, plugins: map[string][]install{}}
	if root == "" {
		return in
	}
	var records struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	s.decode(filepath.Join(root, "installed_plugins.json"), &records)
	for id, raw := range records.Plugins {
		var list []install
		if json.Unmarshal(raw, &list) != nil {
			// Version 1 had one record a plugin.
			var one install
			if json.Unmarshal(raw, &one) == nil {
				list = []install{one}
			}
		}
		in.plugins[id] = list
	}
	s.decode(filepath.Join(root, "known_marketplaces.json"), &in.markets)
	return in
}

func (s *search) decode(path string, v any) {
	data := s.read(path, false)
	if len(data) == 0 {
		return
	}
	if err := json.Unmarshal(data, v); err != nil {
		s.problem(path, "cannot be used, so installed plugins may be missing: %v", err)
	}
}

// find is the directory of a plugin, or why there is none. One that lies in a
// marketplace on this machine is used where it lies; of several installs the
// project's own goes before the person's.
func (in *installed) find(id, name, origin string) (dir, why string) {
	if dir := in.inPlace(name, origin); dir != "" {
		return dir, ""
	}
	other := false
	for _, own := range []bool{true, false} {
		for _, r := range in.plugins[id] {
			mine := r.ProjectPath != "" && in.s.isProject(r.ProjectPath)
			switch path := expandHome(r.InstallPath, in.s.o.Home); {
			case r.ProjectPath != "" && !mine:
				other = true
			case mine == own && filepath.IsAbs(path):
				if in.s.watch.Look(path); !isDir(path) {
					return "", "the plugin is switched on, but its directory " + path + " is gone: install it again"
				}
				return path, ""
			}
		}
	}
	if other {
		return "", "the plugin is switched on, and installed for other projects only"
	}
	return "", "the plugin is switched on, but Claude Code has not installed it here"
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

func (s *search) isProject(path string) bool {
	if s.o.Cwd == "" {
		return false
	}
	for _, dir := range []string{s.o.Cwd, hooks.RepositoryRoot(s.o.Cwd)} {
		if hooks.Inside(dir, path) && hooks.Inside(path, dir) {
			return true
		}
	}
	return false
}

// inPlace is the directory of a plugin that a marketplace on this machine has
// below itself.
func (in *installed) inPlace(name, origin string) string {
	m, ok := in.markets[origin]
	if !ok || m.Source.Source != "directory" && m.Source.Source != "file" {
		return ""
	}
	base := expandHome(m.InstallLocation, in.s.o.Home)
	if !filepath.IsAbs(base) {
		return ""
	}
	file := filepath.Join(base, ".claude-plugin", "marketplace.json")
	if strings.HasSuffix(base, ".json") {
		file, base = base, marketRoot(base)
	}
	var catalog struct {
		Plugins []struct {
			Name   string          `json:"name"`
			Source json.RawMessage `json:"source"`
		} `json:"plugins"`
	}
	in.s.decode(file, &catalog)
	for _, p := range catalog.Plugins {
		var rel string
		if p.Name != name || json.Unmarshal(p.Source, &rel) != nil {
			continue
		}
		dir, err := hooks.PluginPath(base, rel)
		if err != nil {
			in.s.problem(file, "plugin %s: %v", name, err)
			return ""
		}
		return dir
	}
	return ""
}

// marketRoot is the directory that a marketplace.json's paths count from: the
// one above .claude-plugin.
func marketRoot(file string) string {
	dir := filepath.Dir(file)
	if filepath.Base(dir) == ".claude-plugin" {
		return filepath.Dir(dir)
	}
	return dir
}

// Unread lists the sources of Claude Code's hooks that are not read here.
func Unread() []hooks.Unread {
	return []hooks.Unread{
		{Source: "policies of a device management (com.anthropic.claudecode on macOS, Policies\\ClaudeCode in the registry of Windows), settings from claude.ai, policyHelper", Why: "deploy managed-settings.json instead"},
		{Source: "hooks in the front matter of skills and agents", Why: "this agent has neither; those of command files are read"},
		{Source: "plugins that are synced from claude.ai, hooks that only a marketplace's catalog has, and hooks that are JavaScript functions", Why: fmt.Sprintf("plugins with a %s or a hooks/hooks.json are read", filepath.ToSlash(manifestPath))},
	}
}
