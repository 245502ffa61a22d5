package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/session/jsonl"
)

// A headless turn goes on with a stored session, by its id or as the newest of a
// directory: the model gets all that was said in it.
func TestExecResumes(t *testing.T) {
	m := newModelServer(t, "answer one", "answer two", "answer three", "answer four")
	home, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + m.URL + "/v1", "ACP_AGENT_MODEL=openai/any"}
	run := func(dir string, args ...string) (stdout, stderr string, ok bool) {
		t.Helper()
		cmd := exec.Command("acp-agent", append([]string{"exec"}, args...)...)
		cmd.Env, cmd.Dir = env, dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		return out.String(), errs.String(), err == nil
	}
	said := func(n int) (texts []string) {
		t.Helper()
		m.mu.Lock()
		defer m.mu.Unlock()
		var req struct {
			Messages []struct{ Role, Content string } `json:"messages"`
		}
		if n >= len(m.bodies) {
			t.Fatalf("the model got %d requests", len(m.bodies))
		}
		if err := json.Unmarshal(m.bodies[n], &req); err != nil {
			t.Fatal(err)
		}
		for _, msg := range req.Messages {
			if msg.Role != "system" {
				texts = append(texts, msg.Role+" "+msg.Content)
			}
		}
		return texts
	}
	if _, stderr, ok := run(first, "--resume", "last", "x"); ok || !strings.Contains(stderr, "no session is stored that works in ") {
		t.Errorf("with no session: %q", stderr)
	}
	for _, dir := range []string{first, second} {
		if _, stderr, ok := run(dir, "one"); !ok {
			t.Fatal(stderr)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if os.Symlink(first, link) != nil {
		link = first // links cannot be made here
	}
	if out, stderr, ok := run(second, "-C", link, "--resume", "last", "two"); !ok || out != "answer three\n" {
		t.Fatalf("%q, %q", out, stderr)
	}
	if got, want := said(2), []string{"user one", "assistant answer one", "user two"}; !slices.Equal(got, want) {
		t.Errorf("the newest of the directory: %q, want %q", got, want)
	}
	logs, err := filepath.Glob(filepath.Join(home, ".local/state/acp-agent/sessions/*.jsonl"))
	if err != nil || len(logs) != 2 {
		t.Fatalf("%q, %v", logs, err)
	}
	id := strings.TrimSuffix(filepath.Base(logs[0]), ".jsonl") // ids sort by time
	if out, stderr, ok := run(second, "--resume", id, "three"); !ok || out != "answer four\n" {
		t.Fatalf("%q, %q", out, stderr)
	}
	if got := said(3); len(got) != 5 || got[3] != "assistant answer three" || got[4] != "user three" {
		t.Errorf("by its id: %q", got)
	}
	if _, stderr, ok := run(second, "--resume", "no-such-id", "x"); ok || !strings.Contains(stderr, "no session no-such-id is stored") {
		t.Errorf("no such session: %q", stderr)
	}
	store, err := jsonl.Open(filepath.Dir(logs[0]), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := store.Open(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, stderr, ok := run(second, "--resume", id, "x"); ok || !strings.Contains(stderr, "in use by another process") {
		t.Errorf("a session that is open elsewhere: %q", stderr)
	}
}

// --mode counts whatever an earlier turn says.
func TestExecMode(t *testing.T) {
	m := newModelServer(t, "one", "two")
	home, dir := t.TempDir(), t.TempDir()
	for i, args := range [][]string{{"--mode", "plan"}, {"--resume", "last", "--mode", "default"}} {
		cmd := exec.Command("acp-agent", append(append([]string{"exec", "--json"}, args...), "x")...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OPENAI_API_KEY=" + testKey, "OPENAI_BASE_URL=" + m.URL + "/v1", "ACP_AGENT_MODEL=openai/any",
		}
		out, err := cmd.Output()
		if want := `"type":"mode/set","data":{"mode":"` + args[len(args)-1] + `"`; err != nil || !strings.Contains(string(out), want) {
			t.Errorf("turn %d: %v, no %s in %s", i+1, err, want, out)
		}
	}
}
