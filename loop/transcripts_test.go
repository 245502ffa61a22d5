package loop

import (
	"os"
	"path/filepath"
	"testing"

	"acp-agent/hooks"
	"acp-agent/session"
)

// A turn's entry says by which model and in which mode it began.
func TestTranscriptEntriesKnowModelAndMode(t *testing.T) {
	x := entries{mode: "plan"}
	var got []hooks.Entry
	for _, d := range []session.Data{
		&session.TurnStart{Turn: 1, ID: "t1"},
		&session.ConfigSet{ID: ConfigModel, Value: "p/other"},
		&session.ModeSet{Mode: "bypassPermissions"},
		&session.TurnStart{Turn: 2, ID: "t2"},
	} {
		got = append(got, x.of(session.Event{Data: d})...)
	}
	if len(got) != 2 || got[0].Model != "" || got[0].Mode != "plan" || got[1].Model != "other" || got[1].Mode != "bypassPermissions" {
		t.Errorf("%+v", got)
	}
}

// A text that a hook gave names its event; the agent's own has none.
func TestTranscriptEntriesKnowTheHookEvent(t *testing.T) {
	text := []session.Block{session.Text("x")}
	hook := func(ev string) session.Source { return session.Source{Kind: session.SourceHook, Event: ev} }
	var x entries
	for _, tc := range []struct {
		data session.Data
		want hooks.Event
	}{
		{&session.SteeringMessage{Content: text, Source: hook("Stop")}, hooks.Stop},
		{&session.ContextMessage{Content: text, Source: hook("SessionStart")}, hooks.SessionStart},
		{&session.ContextMessage{Content: text, Source: session.Source{Kind: session.SourceAgent, Event: "Stop"}}, ""},
	} {
		if got := x.of(session.Event{Data: tc.data}); len(got) != 1 || got[0].Event != tc.want {
			t.Errorf("%T: %+v, want event %q", tc.data, got, tc.want)
		}
	}
}

func TestGitBranch(t *testing.T) {
	root := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("repo/.git/HEAD", "ref: refs/heads/feature/x\n")
	write("repo/sub/file", "")
	write("loose/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("repo/.git/worktrees/w/HEAD", "ref: refs/heads/w\n")
	write("w/.git", "gitdir: ../repo/.git/worktrees/w\n")
	write("broken/.git", "nothing\n")
	for dir, want := range map[string]string{"repo": "feature/x", "repo/sub": "feature/x", "loose": "HEAD", "w": "w", "broken": ""} {
		if got := gitBranch(filepath.Join(root, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if got := gitBranch(root); got != "" && got != gitBranch(filepath.Dir(root)) {
		t.Errorf("no repository: %q", got)
	}
}

// Each entry of a message has its usage: some readers count the first, some the last.
func TestTranscriptEntriesHaveTheMessagesUsage(t *testing.T) {
	var x entries
	got := x.of(session.Event{Data: &session.AssistantMessage{
		Message: session.LoggedMessage{ID: "m", Content: []session.Block{{Type: session.BlockReasoning, Text: "hm"}, session.Text("ok")}},
		Usage:   &session.Usage{InputTokens: 3, OutputTokens: 2}, Stop: session.FinishStop,
	}})
	want := hooks.Usage{Input: 3, Output: 2}
	if len(got) != 2 || got[0].Usage != want || got[1].Usage != want || got[0].Last || !got[1].Last {
		t.Errorf("%+v", got)
	}
}
