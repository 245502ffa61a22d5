package claudecode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"acp-agent/hooks"
)

// Plugin is an enabled plugin's directory; its hooks/hooks.json counts.
type Plugin struct{ Root, Data string }

// DiscoverOptions say where to look for settings files.
type DiscoverOptions struct {
	Env hooks.Environ
	// Cwd is where the session starts.
	Cwd  string
	Home string
	// ConfigDir is the person's own directory; empty: CLAUDE_CONFIG_DIR, else
	// .claude in Home. ManagedDir is the administrator's; empty: the system's.
	ConfigDir, ManagedDir string
	// Extra are files named on the command line, or plugins: a directory, or its
	// hooks/hooks.json. They count as trusted, and a missing one is a problem.
	Extra   []string
	Plugins []Plugin
	// DataDir is where plugins among Extra keep their data; empty: nowhere.
	DataDir string
}

// Discover reads the settings files that hold hooks (Claude Code hooks reference, settings): managed, user,
// explicit, project, local, plugins, in this order. Their hooks add up. Files
// that do not exist come back empty, so that their appearing is noticed; a file
// that two layers reach counts once.
func Discover(o DiscoverOptions) ([]*File, []hooks.Problem) {
	s := &search{seen: map[string]bool{}}
	managed := o.ManagedDir
	if managed == "" {
		managed = systemDir(o.Env)
	}
	s.add(filepath.Join(managed, "managed-settings.json"), hooks.LayerManaged, false)
	// ReadDir and so Glob are sorted: alphabetical, as the vendor has it.
	drops, _ := filepath.Glob(filepath.Join(managed, "managed-settings.d", "*.json"))
	for _, f := range drops {
		s.add(f, hooks.LayerManaged, false)
	}
	if dir := configDir(o); dir != "" {
		s.add(filepath.Join(dir, "settings.json"), hooks.LayerUser, false)
	}
	for _, f := range o.Extra {
		if !filepath.IsAbs(f) {
			f = filepath.Join(o.Cwd, f)
		}
		if file, root := hooks.PluginFile(f); root != "" {
			s.plugin(file, Plugin{Root: root, Data: hooks.PluginData(o.DataDir, root)}, true)
		} else {
			s.add(f, hooks.LayerExplicit, true)
		}
	}
	if o.Cwd != "" {
		s.add(filepath.Join(o.Cwd, ".claude", "settings.json"), hooks.LayerProject, false)
		for _, dir := range localDirs(o.Cwd) {
			s.add(filepath.Join(dir, ".claude", "settings.local.json"), hooks.LayerLocal, false)
		}
	}
	for _, p := range o.Plugins {
		s.plugin(filepath.Join(p.Root, "hooks", "hooks.json"), p, false)
	}
	return s.files, s.problems
}

// systemDir is where an administrator puts settings.
func systemDir(env hooks.Environ) string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		if dir, ok := env.Get("ProgramFiles"); ok {
			return filepath.Join(dir, "ClaudeCode")
		}
		return `C:\Program Files\ClaudeCode`
	}
	return "/etc/claude-code"
}

func configDir(o DiscoverOptions) string {
	if o.ConfigDir != "" {
		return o.ConfigDir
	}
	if dir, ok := o.Env.Get("CLAUDE_CONFIG_DIR"); ok && dir != "" {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			return filepath.Join(o.Home, rest)
		}
		return dir
	}
	if o.Home == "" {
		return ""
	}
	return filepath.Join(o.Home, ".claude")
}

// localDirs are where settings.local.json may be: at the repository's root, and
// in the start directory, where older versions put it (2.1.211).
func localDirs(cwd string) []string {
	dirs := []string{cwd}
	for dir := cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			if dir != cwd {
				dirs = []string{dir, cwd}
			}
			return dirs
		}
		if filepath.Dir(dir) == dir {
			return dirs
		}
	}
}

// search gathers files, each real path once.
type search struct {
	seen     map[string]bool
	files    []*File
	problems []hooks.Problem
}

func (s *search) add(path string, layer hooks.Layer, must bool) *File {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = filepath.Clean(path)
	}
	if s.seen[real] {
		return nil
	}
	s.seen[real] = true
	data, err := hooks.ReadConfig(path)
	if err != nil && (must || !errors.Is(err, fs.ErrNotExist)) {
		s.problems = append(s.problems, hooks.Problem{File: path, Text: fmt.Sprintf("cannot be read, its hooks do not run: %v", err)})
	}
	f, problems := ParseFile(path, layer, data)
	s.files = append(s.files, f)
	s.problems = append(s.problems, problems...)
	return f
}

func (s *search) plugin(file string, p Plugin, must bool) {
	f := s.add(file, hooks.LayerPlugin, must)
	if f == nil {
		return
	}
	// A plugin's file has hooks and a description, and no say in settings.
	f.Env, f.DisableAll, f.HTTPURLs, f.HTTPEnv = nil, nil, nil, nil
	f.PluginRoot, f.PluginData = p.Root, p.Data
	for _, h := range f.Handlers {
		x := extOf(h)
		x.pluginRoot, x.pluginData = p.Root, p.Data
	}
}
