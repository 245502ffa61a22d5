package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
)

// foundHooks are the config files of both dialects that a directory has, as they
// were read, and what is wrong with them. Sessions share it: it is not changed.
type foundHooks struct {
	claude []*claudecode.File
	codex  []codex.File
	faults []hooks.Problem
	watch  *hooks.Watch
	// sources are Claude Code's names for where files belong, by path.
	sources map[string]string
	// vouched: the state directory lies in the project, which could vouch for itself.
	vouched bool
}

// findHooks looks for the files and notes in watch what it has looked at. commands
// are the command files whose hooks count.
func findHooks(cfg *config.Config, cwd string, commands []claudecode.CommandFile, watch *hooks.Watch) *foundHooks {
	f := &foundHooks{watch: watch, sources: map[string]string{}, vouched: stateInProject(cfg, cwd)}
	var more []hooks.Problem
	f.claude, f.faults = claudecode.Discover(claudecode.DiscoverOptions{
		Env: hooks.Environ(cfg.HookEnviron()), Cwd: cwd, Home: cfg.Home(), ConfigDir: cfg.Hooks.ClaudeDir,
		Extra: cfg.Hooks.ClaudeFiles, Commands: commands, DataDir: pluginData(cfg), Watch: watch,
	})
	f.codex, more = codex.Discover(codex.DiscoverOptions{
		Cwd: cwd, Home: cfg.Home(), CodexHome: cfg.Hooks.CodexDir, SystemDir: systemCodexDir, Extra: cfg.Hooks.CodexFiles,
		DataDir: pluginData(cfg), Watch: watch,
	})
	f.faults = append(f.faults, more...)
	for _, file := range f.claude {
		f.sources[file.Path] = settingsSource(file.Layer)
	}
	for i := range f.codex {
		f.sources[f.codex[i].Path] = settingsSource(f.codex[i].Layer)
	}
	return f
}

// hookFinder remembers what was found for a directory, for the next session in it:
// an editor opens many. When anything that was looked at has changed since, or the
// repository has another root, it looks again.
type hookFinder struct {
	mu   sync.Mutex
	dirs map[place]*dirHooks
}

// place is a directory, the root of its repository, and what there is of a .git:
// nothing, a directory, or the file of a linked worktree, which leads elsewhere.
type place struct {
	dir, root string
	git       fs.FileMode
	size      int64
	written   time.Time
}

func placeOf(dir string) place {
	p := place{dir: dir, root: hooks.RepositoryRoot(dir)}
	if info, err := os.Lstat(filepath.Join(p.root, ".git")); err == nil {
		p.git = info.Mode()
		if !info.IsDir() { // a directory's size and time change with every commit
			p.size, p.written = info.Size(), info.ModTime()
		}
	}
	return p
}

type dirHooks struct {
	mu    sync.Mutex // sessions that are made at once wait for the first
	found *foundHooks
}

// maxHookDirs is for how many directories it remembers.
const maxHookDirs = 16

func (h *hookFinder) find(cfg *config.Config, cwd string) *foundHooks {
	d := h.at(placeOf(cwd))
	d.mu.Lock()
	was := d.found
	if was == nil {
		defer d.mu.Unlock()
		d.found = findHooks(cfg, cwd, nil, hooks.NewWatch(nil))
		return d.found
	}
	d.mu.Unlock()
	if len(was.watch.Changed()) == 0 {
		return was
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.found == was {
		d.found = findHooks(cfg, cwd, nil, hooks.NewWatch(nil))
	}
	return d.found
}

func (h *hookFinder) at(p place) *dirHooks {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.dirs[p]
	if d == nil {
		if h.dirs == nil || len(h.dirs) >= maxHookDirs {
			h.dirs = map[place]*dirHooks{}
		}
		d = &dirHooks{}
		h.dirs[p] = d
	}
	return d
}
