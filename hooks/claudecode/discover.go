package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"acp-agent/hooks"
)

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
	Extra []string
	// Commands are command files whose hooks count too, since they have been typed.
	Commands []CommandFile
	// DataDir is where plugins among Extra keep their data; empty: nowhere.
	DataDir string
	// Watch notes what is looked at; nil: nobody asks.
	Watch *hooks.Watch
}

// Discover reads the settings files that hold hooks (Claude Code hooks reference, settings): managed, user,
// explicit, project, local, plugins, command files, in this order. Their hooks add up. Files
// that do not exist come back empty; a file that two layers reach counts once.
func Discover(o DiscoverOptions) ([]*File, []hooks.Problem) {
	if o.Watch == nil {
		o.Watch = hooks.NewWatch(nil)
	}
	s := &search{o: o, watch: o.Watch, seen: map[string]bool{}}
	s.managed()
	s.user()
	var named []*Plugin
	for _, f := range o.Extra {
		if !filepath.IsAbs(f) {
			f = filepath.Join(o.Cwd, f)
		}
		root, dir := hooks.NamedPlugin(f, manifestPath)
		switch p := (&Plugin{Root: root, Data: hooks.PluginData(o.DataDir, root)}); {
		case dir:
			named = append(named, p)
		case root != "":
			s.add(f, &File{Layer: hooks.LayerPlugin, Plugin: p}, true)
		default:
			s.add(f, &File{Layer: hooks.LayerExplicit}, true)
		}
	}
	if o.Cwd != "" {
		s.add(filepath.Join(o.Cwd, ".claude", "settings.json"), &File{Layer: hooks.LayerProject}, false)
		for _, dir := range localDirs(o.Cwd) {
			s.add(filepath.Join(dir, ".claude", "settings.local.json"), &File{Layer: hooks.LayerLocal}, false)
		}
	}
	for _, p := range named {
		s.plugin(p, hooks.LayerPlugin, nil)
	}
	s.plugins()
	for _, c := range o.Commands {
		s.command(c)
	}
	return s.files, s.problems
}

// managed reads the administrator's files. Of managed-settings.d the names in
// order, hidden ones left out (Claude Code managed settings).
func (s *search) managed() {
	dir := s.o.ManagedDir
	if dir == "" {
		dir = systemDir(s.o.Env)
		s.problems = append(s.problems, hooks.UnreadPolicies("com.anthropic.claudecode", s.o.Home, "managed-settings.json")...)
	}
	s.add(filepath.Join(dir, "managed-settings.json"), &File{Layer: hooks.LayerManaged}, false)
	drops := filepath.Join(dir, "managed-settings.d")
	for _, name := range s.watch.List(drops) {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			s.add(filepath.Join(drops, name), &File{Layer: hooks.LayerManaged}, false)
		}
	}
}

// user reads the person's own settings. Where CLAUDE_CONFIG_DIR leads into the
// project they are what its repository says they are, and need its trust.
func (s *search) user() {
	dir, moved := configDir(s.o)
	if dir == "" {
		return
	}
	s.config, s.userLayer, s.usual = dir, hooks.LayerUser, !moved
	if moved && s.inRepository(dir) {
		s.userLayer = hooks.LayerProject
		s.problem(dir, "CLAUDE_CONFIG_DIR leads into this project, so what is there needs the project's trust (`acp-agent hooks trust`)")
	}
	s.add(filepath.Join(dir, "settings.json"), &File{Layer: s.userLayer}, false)
}

// inRepository reports whether the repository at hand may have written what lies
// in dir. What lies in ~/.claude is the person's, also where that is a repository
// of theirs, or a link into one.
func (s *search) inRepository(dir string) bool {
	if s.userLayer == hooks.LayerUser && s.usual && hooks.Inside(s.config, dir) {
		return false
	}
	return s.o.Cwd != "" && hooks.FromRepository(dir, hooks.RepositoryRoot(s.o.Cwd), s.o.Home)
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

// configDir is the person's own directory; moved: it is not the default one.
func configDir(o DiscoverOptions) (dir string, moved bool) {
	usual := ""
	if o.Home != "" {
		usual = filepath.Join(o.Home, ".claude")
	}
	dir = o.ConfigDir
	if dir == "" {
		dir, _ = o.Env.Get("CLAUDE_CONFIG_DIR")
	}
	if dir == "" {
		return usual, false
	}
	dir = absPath(expandHome(dir, o.Home))
	return dir, dir != usual
}

// absPath makes a path of the environment one that means the same everywhere,
// also to who asks whether it leads into a repository.
func absPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func expandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// localDirs are where settings.local.json may be: at the repository's root, and
// in the start directory, where older versions put it (2.1.211).
func localDirs(cwd string) []string {
	if root := hooks.RepositoryRoot(cwd); root != cwd {
		return []string{root, cwd}
	}
	return []string{cwd}
}

// search gathers files, each real path once.
type search struct {
	o         DiscoverOptions
	watch     *hooks.Watch
	config    string      // the person's directory
	userLayer hooks.Layer // of what is in it
	usual     bool        // it is ~/.claude
	links     hooks.Links
	seen      map[string]bool
	files     []*File
	ranked    []*File // settings
	problems  []hooks.Problem
}

func (s *search) problem(file, format string, args ...any) {
	s.problems = append(s.problems, hooks.Problem{File: file, Text: fmt.Sprintf(format, args...)})
}

// add reads the file at path into f, once, whatever names lead to it. It returns
// false when another layer has it.
func (s *search) add(path string, f *File, must bool) bool {
	if !s.first(path) {
		return false
	}
	f.Path = path
	p := &parser{file: f}
	p.parse(s.read(path, must))
	s.files = append(s.files, f)
	s.problems = append(s.problems, p.problems...)
	return true
}

// first reports whether no other name has led to the file yet.
func (s *search) first(path string) bool {
	real := s.links.Real(path)
	if s.seen[real] {
		return false
	}
	s.seen[real] = true
	return true
}

// read returns what a JSON file says, or said when it was last whole: an editor
// that saves in place leaves it in pieces for a moment, and its guards must not
// be lost for that.
func (s *search) read(path string, must bool) []byte {
	data, err := s.watch.Read(path)
	if err != nil {
		if must || !errors.Is(err, fs.ErrNotExist) {
			s.problem(path, "cannot be read, its hooks do not run: %v", hooks.Cause(err))
		}
		return nil
	}
	if data = bytes.TrimPrefix(data, byteOrderMark); json.Valid(data) {
		s.watch.Keep(path, data)
		return data
	}
	if before, ok := s.watch.Before(path); ok {
		s.problem(path, "is not valid JSON at the moment; what it said before counts until it is whole again")
		return before
	}
	return data
}
