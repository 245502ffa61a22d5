package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a mode refuses is said on stderr, as what nobody is there to allow.
func TestExecSaysWhatWasRefused(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log.jsonl")
	write(t, log, strings.Join([]string{
		`{"type":"session","version":1,"id":"x","createdAt":"1970-01-01T00:00:00Z","cwd":"/"}`,
		`{"seq":1,"ts":"1970-01-01T00:00:00Z","type":"assistant/message","data":{"turn":1,"step":1,"message":{"role":"assistant","content":[{"type":"tool-call","id":"c1","name":"write","arguments":"{\"file_path\":\"a\",\"content\":\"x\"}"}],"source":{"kind":"model"}}}}`,
		`{"seq":2,"ts":"1970-01-01T00:00:00Z","type":"assistant/message","data":{"turn":1,"step":2,"message":{"role":"assistant","content":[{"type":"text","text":"done"}],"source":{"kind":"model"}}}}`,
	}, "\n")+"\n")
	for mode, want := range map[string]string{"plan": "refused: The session is in plan mode", "default": "refused (nobody to ask): "} {
		cmd := exec.Command("acp-agent", "exec", "-C", dir, "--state-dir", t.TempDir(), "--no-hooks", "--model", "replay:"+log, "--mode", mode, "go")
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || out.String() != "done\n" || strings.Count(errs.String(), want) != 1 || strings.Count(errs.String(), "refused") != 1 {
			t.Errorf("%s: %v, said %q, stderr\n%s", mode, err, out.String(), errs.String())
		}
	}
}
