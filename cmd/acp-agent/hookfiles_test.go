package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"acp-agent/cmd/acp-agent/internal/config"
)

// A deleted session leaves nothing behind of what its hooks were given, and
// takes nothing of another's along.
func TestForgetHookFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		put("env/" + id + ".sh")
		put("env/" + id + ".start.sh")
		put("transcripts/claude-code/-w-x/" + id + ".jsonl")
		put("transcripts/codex/sessions/2026/11/30/rollout-2026-11-30T11-00-12-" + id + ".jsonl")
		put("hook-output/" + id + "/codex-Stop-1-1.txt")
	}
	w := &wiring{cfg: &config.Config{StateDir: dir}}
	for _, id := range []string{"a", "", "..", "*", "gone"} {
		if err := w.forgetHookFiles(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	var left []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	})
	want := []string{
		"env/b.sh", "env/b.start.sh", "hook-output/b/codex-Stop-1-1.txt", "transcripts/claude-code/-w-x/b.jsonl",
		"transcripts/codex/sessions/2026/11/30/rollout-2026-11-30T11-00-12-b.jsonl",
	}
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %q, %v", left, err)
	}
}
