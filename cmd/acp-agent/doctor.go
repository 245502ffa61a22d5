package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop"
)

// doctorCmd is acp-agent doctor.
type doctorCmd struct {
	Offline bool `help:"Ask no provider which models it serves."`
}

// finding is one line of the doctor's report.
type finding struct {
	// state is ok, note (works without) or miss (does not work without).
	state, what, say string
}

// Run says what is there, what is missing and how to get it. It fails when the
// agent could not run a turn.
func (c *doctorCmd) Run(ctx context.Context, a *app) error {
	found := []finding{{"ok", "acp-agent", version() + " (" + runtime.GOOS + "/" + runtime.GOARCH + ")"}}
	cfg, err := a.config()
	if err != nil {
		found = append(found, finding{"miss", "config", err.Error()})
	} else {
		found = append(found, checkConfig(cfg), checkState(cfg))
		found = append(found, a.checkFiles(cfg)...)
		found = append(found, checkModels(cfg)...)
		if !c.Offline {
			found = append(found, checkServed(ctx, cfg)...)
		}
		found = append(found, checkHooks(cfg)...)
	}
	found = append(found, checkPrograms()...)
	missing := 0
	for _, f := range found {
		if f.state == "miss" {
			missing++
		}
		if _, err := fmt.Fprintf(a.stdout, "%-5s %-12s %s\n", f.state, f.what, oneLine(f.say)); err != nil {
			return err
		}
	}
	if missing > 0 {
		return errSilent
	}
	return nil
}

func checkConfig(cfg *config.Config) finding {
	switch _, err := os.Stat(cfg.File); {
	case cfg.File == "":
		return finding{"note", "config", "no place for a config file: neither XDG_CONFIG_HOME nor HOME is set; name one with --config"}
	case errors.Is(err, fs.ErrNotExist):
		return finding{"ok", "config", "none at " + cfg.File + "; none is needed"}
	}
	return finding{"ok", "config", cfg.File}
}

// checkState writes a file: nothing else proves that logs can be kept.
func checkState(cfg *config.Config) finding {
	dir, err := cfg.EnsureStateDir()
	if err != nil {
		return finding{"miss", "state", err.Error()}
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return finding{"miss", "state", dir + " is not writable (" + reason(err) + "): name another directory with --state-dir"}
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil {
		return finding{"miss", "state", dir + ": " + err.Error()}
	}
	return finding{"ok", "state", dir}
}

// checkFiles opens the files that the agent was told to write: it does not start
// where one of them cannot be. A file that was not there is not there afterwards.
func (a *app) checkFiles(cfg *config.Config) []finding {
	var out []finding
	check := func(what, path string, open func() (func() error, error)) {
		if path == "" {
			return
		}
		_, absent := os.Lstat(path)
		shut, err := open()
		if err == nil {
			err = shut()
		}
		if errors.Is(absent, fs.ErrNotExist) && err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			out = append(out, finding{"miss", what, err.Error()})
			return
		}
		out = append(out, finding{"ok", what, path})
	}
	check("log", cfg.LogFile, func() (func() error, error) { _, shut, err := a.logger(cfg); return shut, err })
	check("trace", cfg.Trace, func() (func() error, error) { _, shut, err := a.tracer(cfg); return shut, err })
	record := cfg.Getenv("ACP_AGENT_REQUESTS")
	check("requests", record, func() (func() error, error) {
		r, err := newRecorder(record)
		if err != nil {
			return nil, err
		}
		return r.f.Close, nil
	})
	return out
}

func checkModels(cfg *config.Config) []finding {
	var out []finding
	for _, name := range cfg.ProviderNames() {
		p, err := cfg.Provider(name)
		if err != nil {
			continue
		}
		key, err := cfg.Key(name)
		switch {
		case err != nil && p.KeyEnv != "" && strings.HasPrefix(err.Error(), "no API key"):
			out = append(out, finding{"note", "key", name + " has none (" + p.KeyEnv + ")"})
		case err != nil:
			out = append(out, finding{"miss", "key", err.Error()})
		case key == "":
			out = append(out, finding{"ok", "key", name + " needs none (" + p.Address() + ")"})
		default:
			out = append(out, finding{"ok", "key", name + " has one (" + p.Address() + ")"})
		}
	}
	ref, err := cfg.ResolveModel()
	if err != nil {
		return append(out, finding{"miss", "model", err.Error()})
	}
	if ref.Provider == config.Replay {
		if _, err := os.Stat(ref.Name); err != nil {
			return append(out, finding{"miss", "model", ref.String() + ": " + reason(err) + ": name a recorded session.jsonl or a scenario folder"})
		}
	} else if _, err := cfg.Key(ref.Provider); err != nil {
		return append(out, finding{"miss", "model", ref.String() + ": " + err.Error()})
	}
	return append(append(out, finding{"ok", "model", ref.String()}), checkEffort(cfg, ref)...)
}

// checkEffort looks whether the model has the effort that sessions start with.
func checkEffort(cfg *config.Config, ref config.ModelRef) []finding {
	p, err := cfg.Provider(ref.Provider)
	if cfg.Effort == "" || ref.Provider == config.Replay || err != nil {
		return nil
	}
	info := lookup(p, ref.Name)
	info.Ref = ref.String()
	switch {
	case len(info.Efforts) == 0:
		return []finding{{"note", "effort", fmt.Sprintf("%s: it is not known that %s takes one; where it takes none it is left out", cfg.Effort, info.Ref)}}
	case !slices.Contains(info.Efforts, cfg.Effort):
		return []finding{{"note", "effort", loop.EffortNote(info, cfg.Effort) + " Set effort in the config file, or ACP_AGENT_EFFORT"}}
	}
	return []finding{{"ok", "effort", cfg.Effort}}
}

// checkHooks names the hook files that a session in this directory would look
// at; `hooks list` says what is in them.
func checkHooks(cfg *config.Config) []finding {
	if !cfg.Hooks.Enabled {
		return []finding{{"note", "hooks", "switched off (--no-hooks, ACP_AGENT_NO_HOOKS or hooks.enabled)"}}
	}
	var out []finding
	for _, name := range append(cfg.Hooks.ClaudeFiles, cfg.Hooks.CodexFiles...) {
		if _, err := os.Stat(name); err != nil {
			out = append(out, finding{"miss", "hooks", name + ": " + reason(err) + ": correct the path, or leave it out"})
			continue
		}
		out = append(out, finding{"ok", "hooks", name + " (named, trusted)"})
	}
	for _, c := range []struct{ name, who string }{
		{filepath.Join(cfg.Hooks.ClaudeDir, "settings.json"), "Claude Code, yours"},
		{filepath.Join(".claude", "settings.json"), "Claude Code, this project's"},
		{filepath.Join(cfg.Hooks.CodexDir, "hooks.json"), "Codex, yours"},
		{filepath.Join(".codex", "hooks.json"), "Codex, this project's"},
	} {
		if _, err := os.Stat(c.name); err == nil {
			out = append(out, finding{"ok", "hooks", c.name + " (" + c.who + ")"})
		}
	}
	if len(out) == 0 {
		out = append(out, finding{"ok", "hooks", "none found; none are needed"})
	}
	return out
}

func checkPrograms() []finding {
	var out []finding
	for _, p := range []struct{ name, missing string }{
		{"bash", "the bash tool and most hooks need it: install it with your package manager (Windows: install Git for Windows)"},
		{"git", "searches then read .gitignore files by themselves: install it with your package manager"},
	} {
		state := "note"
		if p.name == "bash" {
			state = "miss"
		}
		path, err := exec.LookPath(p.name)
		if err != nil {
			out = append(out, finding{state, p.name, "not in PATH; " + p.missing})
			continue
		}
		out = append(out, finding{"ok", p.name, path})
	}
	return out
}
