package claudecode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

func TestTranscript(t *testing.T) {
	meta := hooks.TranscriptMeta{SessionID: "S", Cwd: "/home/u/my.proj", Version: "1.0", GitBranch: "main", Model: "m"}
	when := time.Date(2026, 11, 30, 1, 2, 3, 4_000_000, time.UTC)
	tool := &hooks.Tool{Name: "edit", Input: json.RawMessage(`{"file_path":"a","old_string":"x","new_string":"y"}`), CallID: "c1"}
	done := *tool
	done.Output = "Edited a."
	old := "x\n"
	done.Response, _ = json.Marshal(hooks.EditResponse{Path: "/home/u/my.proj/a", OldString: "x", NewString: "y", Original: &old})
	failed := hooks.Tool{Name: "bash", CallID: "c2", Output: "boom", ExitCode: exitCode(1)}
	usage := hooks.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	entries := []hooks.Entry{
		{Kind: hooks.EntryTurnStart, Seq: 1},
		{Kind: hooks.EntryUser, Seq: 2, Text: "do <it> é", Mode: "default"},
		{Kind: hooks.EntryContext, Seq: 3, Text: "ctx", Event: hooks.UserPromptSubmit},
		{Kind: hooks.EntryContext, Seq: 3, Text: "be <brief>"},
		{Kind: hooks.EntryReasoning, Seq: 4, MessageID: "M", Text: "hm", Signature: "sig", StopReason: "tool_use", Usage: usage},
		{Kind: hooks.EntryText, Seq: 4, MessageID: "M", Text: "ok", StopReason: "tool_use", Usage: usage},
		{Kind: hooks.EntryToolUse, Seq: 4, MessageID: "M", Tool: tool, Last: true, StopReason: "tool_use", Usage: usage},
		{Kind: hooks.EntryToolResult, Seq: 5, Tool: &done},
		{Kind: hooks.EntryToolResult, Seq: 6, Tool: &failed},
		{Kind: hooks.EntrySteering, Seq: 7, Text: "go on", Event: hooks.Stop},
		{Kind: hooks.EntrySteering, Seq: 7, Text: "not hooked"},
		{Kind: hooks.EntrySummary, Seq: 8, Text: "summary"},
		{Kind: hooks.EntryTitle, Seq: 9, Text: "Title"},
		{Kind: hooks.EntryTurnEnd, Seq: 10},
		{Kind: hooks.EntryUser, Seq: 11, Typed: "/git:fix  the parser\nnow", Text: "Fix the parser\nnow.", Mode: "plan"},
	}
	write := func() []byte {
		tr := NewTranscriber(meta)
		if tr.Path() != filepath.Join("-home-u-my-proj", "S.jsonl") {
			t.Error(tr.Path())
		}
		var out []byte
		for i := range entries {
			entries[i].Time = when
			var err error
			if out, err = tr.Append(out, &entries[i]); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	got := write()
	if !bytes.Equal(got, write()) {
		t.Error("writing it anew gives other bytes")
	}
	path := filepath.Join("testdata", "transcript.golden")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v (run with -update to accept)\n%s", err, got)
	}
	// What readers in the wild rely on: a chain of parents, one id a line.
	parent, ids := "", map[string]bool{}
	var prompts []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(got), "\n"), "\n") {
		var l struct {
			Type, UUID, LeafUUID     string
			ParentUUID               *string
			IsMeta, IsCompactSummary bool
			Message                  struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		// A user line that is neither marked nor a tool's result is a prompt.
		if l.Type == "user" && !l.IsMeta && !l.IsCompactSummary && l.Message.Content[0] == '"' {
			prompts = append(prompts, string(l.Message.Content))
		}
		if l.Type == "summary" {
			if l.LeafUUID != parent {
				t.Errorf("leaf %s, last %s", l.LeafUUID, parent)
			}
			continue
		}
		if parent == "" && l.ParentUUID != nil || parent != "" && (l.ParentUUID == nil || *l.ParentUUID != parent) || ids[l.UUID] {
			t.Errorf("the chain breaks at %s", line)
		}
		ids[l.UUID], parent = true, l.UUID
	}
	if len(prompts) != 2 || prompts[0] != `"do <it> é"` || !strings.Contains(prompts[1], "/git:fix") {
		t.Errorf("what readers take for prompts: %s", prompts)
	}
	for _, want := range []string{
		`"type":"attachment","attachment":{"type":"hook_additional_context","content":["ctx"],"hookName":"UserPromptSubmit","hookEvent":"UserPromptSubmit"}`,
		`"content":"Stop hook feedback:\ngo on"},"uuid"`,
		`"content":"not hooked"`,
	} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	if !bytes.Contains(got, []byte(`"role":"assistant"`)) || !bytes.Contains(got, []byte(`"name":"Edit","input":{"file_path":"/home/u/my.proj/a"`)) {
		t.Error("not in the form that hooks grep for")
	}
}

func TestCommandLine(t *testing.T) {
	for typed, want := range map[string]string{
		"/check":        "<command-message>check</command-message>\n<command-name>/check</command-name>",
		"/a:b\n c  d\n": "<command-message>a:b</command-message>\n<command-name>/a:b</command-name>\n<command-args>c  d</command-args>",
	} {
		if got := commandLine(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
