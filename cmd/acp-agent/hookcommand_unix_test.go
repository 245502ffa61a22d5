//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
)

// The hooks in the front matter of a command file run from when it has been typed;
// the repository's are asked about then, and anew when they have changed.
func TestCommandFilesBringHooks(t *testing.T) {
	home, project, log := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "log")
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	front := func(event, name, more string) string {
		return "---\ndescription: d\nhooks:\n  " + event + ":\n    - hooks:\n        - type: command\n          command: echo " + name + " >>" + log + "\n" + more + "---\nDo $1.\n"
	}
	put(filepath.Join(home, ".claude", "commands", "mine.md"), front("UserPromptSubmit", "mine", ""))
	put(filepath.Join(home, ".claude", "commands", "one.md"), front("Stop", "one", "          once: true\n"))
	put(filepath.Join(project, ".claude", "commands", "theirs.md"), front("Stop", "theirs", ""))
	server := newModelServer(t, slices.Repeat([]string{"ok"}, 9)...)
	c, _ := agentProcess(t, []string{"HOME=" + home, "DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + server.URL}, "serve", "--model", "deepseek/test", "--state-dir", t.TempDir())
	c.HandlePermission(acp.PermissionOptionKindAllowOnce)
	questions := func() (n int) {
		for _, f := range c.Frames() {
			if f.Msg.Method == acp.MethodSessionRequestPermission {
				n++
			}
		}
		return n
	}
	call(t, c, acp.MethodInitialize, map[string]any{"protocolVersion": 1}, nil)
	var made acp.NewSessionResponse
	call(t, c, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: project}, &made)
	for _, step := range []struct {
		say, ran string
		asked    int
	}{
		{"hi", "", 0},
		{"/mine it", "mine", 0},
		{"hi", "mine", 0},
		{"/theirs it", "mine theirs", 1},
		{"/theirs it", "mine theirs", 1},
		{"/one it", "mine one theirs", 1},
		{"hi", "mine theirs", 1},
		{"/one it", "mine one theirs", 1},
	} {
		_ = os.Remove(log)
		call(t, c, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: made.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock(step.say)}}, nil)
		b, _ := os.ReadFile(log)
		lines := strings.Fields(string(b))
		slices.Sort(lines)
		if got := strings.Join(lines, " "); got != step.ran || questions() != step.asked {
			t.Errorf("%s: %q ran after %d questions, want %q after %d", step.say, got, questions(), step.ran, step.asked)
		}
	}
	_ = os.Remove(log)
	put(filepath.Join(project, ".claude", "commands", "theirs.md"), front("Stop", "changed", ""))
	call(t, c, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: made.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock("hi")}}, nil)
	if b, _ := os.ReadFile(log); questions() != 2 || strings.Contains(string(b), "theirs") || !strings.Contains(string(b), "changed") {
		t.Errorf("after the change: %q, %d questions", b, questions())
	}
	c.Finish()
}

// A headless prompt that is a slash command of a file is what it stands for, and
// hooks hear of it; other words behind a slash are words.
func TestExecTakesSlashCommands(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(project, ".claude", "commands", "fix.md"), "---\ndescription: d\n---\nFix $ARGUMENTS.")
	put(filepath.Join(project, ".claude", "commands", "empty.md"), "---\ndescription: d\n---\n")
	put(filepath.Join(home, ".claude", "settings.json"), `{"hooks":{"UserPromptExpansion":[{"matcher":"fix","hooks":[{"type":"command","command":"cat >>`+home+`/heard"}]}],"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`)
	server := newModelServer(t, "ok", "ok")
	state := t.TempDir()
	for n, c := range []struct{ say, want, fault string }{
		{"/fix the parser", "Fix the parser.", ""},
		{"/etc/passwd is what?", "/etc/passwd is what?", ""},
		{"/empty", "", "the command /empty says nothing"},
	} {
		cmd := exec.Command("acp-agent", "exec", "-C", project, "--model", "deepseek/test", "--state-dir", state, c.say)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + server.URL}
		out, err := cmd.CombinedOutput()
		if c.fault != "" {
			if err == nil || !strings.Contains(string(out), c.fault) {
				t.Errorf("%s: %v, %s", c.say, err, out)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v, %s", c.say, err, out)
		}
		if got := server.lastUser(t, n); got != c.want {
			t.Errorf("%s: the model was told %q", c.say, got)
		}
	}
	// What the file says was typed by nobody, and hooks can tell.
	files, err := filepath.Glob(filepath.Join(state, "transcripts", "claude-code", "*", "*.jsonl"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	slices.Sort(files) // ids sort by time
	transcript, err := os.ReadFile(files[0])
	lines := strings.SplitAfter(string(transcript), "\n")
	if err != nil || len(lines) < 3 || !strings.Contains(lines[0], `<command-name>/fix</command-name>\n<command-args>the parser</command-args>"`) ||
		strings.Contains(lines[0], "isMeta") || !strings.Contains(lines[1], `"content":"Fix the parser."`) || !strings.Contains(lines[1], `"isMeta":true`) {
		t.Errorf("the transcript: %s, %v", transcript, err)
	}
	heard, err := os.ReadFile(filepath.Join(home, "heard"))
	if err != nil || !strings.Contains(string(heard), `"command_name":"fix","command_args":"the parser"`) {
		t.Errorf("the hook heard %s, %v", heard, err)
	}
}
