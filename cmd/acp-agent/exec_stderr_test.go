package main

import (
	"os"
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

// A broken last line is said once to whoever goes on with the session.
func TestExecSaysThatALogWasBroken(t *testing.T) {
	m := newModelServer(t, "one", "two", "three")
	dir, state := t.TempDir(), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("acp-agent", append([]string{"exec", "-C", dir, "--state-dir", state, "--no-hooks", "--model", "openai/any"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + m.URL + "/v1"}
		var errs strings.Builder
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		return errs.String()
	}
	run("one")
	logs, err := filepath.Glob(filepath.Join(state, "sessions", "*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, logs[0], string(data)+`{"seq":99,"ts"`)
	if said := run("--resume", "last", "two"); strings.Count(said, "ended in a broken line") != 1 {
		t.Errorf("said %q", said)
	}
	if said := run("--resume", "last", "three"); said != "" {
		t.Errorf("said %q", said)
	}
}
