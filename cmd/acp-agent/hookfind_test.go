package main

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"acp-agent/cmd/acp-agent/internal/config"
)

// Sessions of a directory share what was found there for as long as it is as it
// was, those too that are made at once.
func TestHookFinder(t *testing.T) {
	home, above := t.TempDir(), t.TempDir()
	dir := filepath.Join(above, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Flags{StateDir: t.TempDir()}, config.NewEnv([]string{"HOME=" + home}))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var h hookFinder
	first := h.find(cfg, dir)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if h.find(cfg, dir) != first {
				t.Error("looked again although nothing has changed")
			}
		})
	}
	all.Wait()
	if h.find(cfg, t.TempDir()) == first {
		t.Error("another directory has the same")
	}
	last := first
	for _, c := range []struct{ what, path, text string }{
		{"the person's file appears", filepath.Join(home, ".claude", "settings.json"), `{"hooks":{}}`},
		{"the project's file appears", filepath.Join(dir, ".codex", "hooks.json"), `{"hooks":{}}`},
		{"a repository begins above", filepath.Join(above, ".git", "HEAD"), "ref: x"},
		{"a repository begins here", filepath.Join(dir, ".git"), "gitdir: elsewhere"},
		{"it is the worktree of another", filepath.Join(dir, ".git"), "gitdir: somewhere else"},
	} {
		write(c.path, c.text)
		again := h.find(cfg, dir)
		if again == last {
			t.Errorf("not looked again when %s", c.what)
		}
		if last = again; h.find(cfg, dir) != last {
			t.Errorf("looked twice when %s", c.what)
		}
	}
	for range maxHookDirs + 1 {
		h.find(cfg, t.TempDir())
	}
	if len(h.dirs) > maxHookDirs {
		t.Errorf("%d directories are remembered", len(h.dirs))
	}
}

// A project does not take a command's name from the person: of two files of one
// name the first counts.
func TestCommandDirsOfThePersonComeFirst(t *testing.T) {
	cfg := &config.Config{Dir: "/cfg"}
	cfg.Hooks.ClaudeDir, cfg.Hooks.CodexDir = "/home/u/.claude", "/home/u/.codex"
	got := (&wiring{cfg: cfg}).commandDirs("/proj")
	var want []string
	for _, dir := range []string{"/cfg/commands", "/home/u/.claude/commands", "/home/u/.codex/prompts", "/proj/.acp-agent/commands", "/proj/.claude/commands"} {
		want = append(want, filepath.FromSlash(dir))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// How often stop hooks may go on is said by the env block of a settings file, too,
// but not by a repository's; the config file stands above all.
func TestStopCapOfSettings(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, ".claude", "settings.json"), `{"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"99"}}`)
	for _, c := range []struct {
		settings, config string
		want             int
	}{
		{`{}`, "", 20},
		{`{"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"2"}}`, "", 2},
		{`{"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"0"}}`, "", 0},
		{`{"env":{"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP":"2"}}`, "[limits]\nstop_continuations = 3\n", 3},
	} {
		write(filepath.Join(home, ".claude", "settings.json"), c.settings)
		file := filepath.Join(home, "config.toml")
		write(file, c.config)
		cfg, err := config.Load(config.Flags{StateDir: t.TempDir(), ConfigFile: file}, config.NewEnv([]string{"HOME=" + home, "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=20"}))
		if err != nil {
			t.Fatal(err)
		}
		l := loadHooks(cfg, dir, hookOptions{})
		l.set.Close()
		if l.stopCap != c.want {
			t.Errorf("%s %q: %d, want %d", c.settings, c.config, l.stopCap, c.want)
		}
	}
}
