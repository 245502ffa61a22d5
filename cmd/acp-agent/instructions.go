package main

import (
	"path/filepath"

	"acp-agent/loop"
	"acp-agent/loop/prompt"
)

// instructions finds project instructions for a session (loop.Instructions).
type instructions struct{ finder *prompt.Finder }

func (w *wiring) instructions(cwd string) instructions {
	f := &prompt.Finder{Cwd: cwd}
	if dir := w.cfg.Dir; dir != "" {
		f.User = append(f.User, filepath.Join(dir, "AGENTS.md"))
	}
	if dir := w.cfg.Hooks.ClaudeDir; dir != "" {
		f.User = append(f.User, filepath.Join(dir, "CLAUDE.md"))
	}
	if dir := w.cfg.Hooks.CodexDir; dir != "" {
		f.User = append(f.User, filepath.Join(dir, "AGENTS.md"))
	}
	return instructions{f}
}

// Initial implements loop.Instructions.
func (i instructions) Initial() []loop.Instruction { return convert(i.finder.Initial()) }

// Touched implements loop.Instructions.
func (i instructions) Touched(path string) []loop.Instruction {
	return convert(i.finder.Touched(path))
}

func convert(files []prompt.File) []loop.Instruction {
	out := make([]loop.Instruction, len(files))
	for n, f := range files {
		out[n] = loop.Instruction{Path: f.Path, Digest: f.Digest, Text: f.Text, Memory: f.Memory}
	}
	return out
}

// commandDirs are the directories of command files, those of Claude Code included:
// the person's, then the project's, which cannot take a name of the person's away
// (Claude Code skills, where skills live: personal overrides project).
func (w *wiring) commandDirs(cwd string) []string {
	claude := claudeCommandDirs(w.cfg, cwd)
	var dirs []string
	if dir := w.cfg.Dir; dir != "" {
		dirs = append(dirs, filepath.Join(dir, "commands"))
	}
	dirs = append(dirs, claude[1:]...)
	if dir := w.cfg.Hooks.CodexDir; dir != "" {
		dirs = append(dirs, filepath.Join(dir, "prompts"))
	}
	return append(dirs, filepath.Join(cwd, ".acp-agent", "commands"), claude[0])
}
