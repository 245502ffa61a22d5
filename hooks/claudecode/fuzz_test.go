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

// FuzzSettings: no settings file makes the parser fall over, what it takes is
// JSON, and what it keeps of a handler is that handler.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":5}]}]}}`,
		`{"hooks":{"PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"http","url":"https://x/","headers":{"A":"$B"},"allowedEnvVars":["B"]}]}],"PreToolUse":[]}}`,
		`{"disableAllHooks":true,"allowManagedHooksOnly":1,"strictPluginOnlyCustomization":["hooks"],"env":{"A":"b"},"Stop":[]}`,
		`{"enabledPlugins":{"a@b":true},"hooks":{"PostToolUse":[{"hooks":[{"type":"prompt","prompt":"p","if":"Bash(git:*)"}]}]}}`,
		"\ufeff{", " ", "[]", `{"hooks":{"SubagentStop":[{"hooks":[{}]}],"stop":[]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems := parseFile("/f", hooks.LayerUser, data)
		again, _ := parseFile("/f", hooks.LayerUser, data)
		for _, p := range problems {
			if p.Text == "" || p.File != "/f" {
				t.Fatalf("%q: problem %+v", data, p)
			}
		}
		text := bytes.TrimPrefix(data, byteOrderMark)
		if !json.Valid(text) && (len(file.Handlers) > 0 || len(bytes.TrimSpace(text)) > 0 && len(problems) == 0) {
			t.Fatalf("%q was taken", data)
		}
		for i, h := range file.Handlers {
			if !json.Valid(h.Raw) || h.Hash == "" || h.Timeout < 0 || h.Hash != again.Handlers[i].Hash {
				t.Fatalf("handler %+v of %q", h, data)
			}
		}
	})
}

// FuzzTranscript: whatever happened in a session, each line of its transcript is
// a JSON object, and writing it anew gives the same bytes.
func FuzzTranscript(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "transcript.golden"))
	if err != nil {
		f.Fatal(err)
	}
	kinds := []hooks.EntryKind{
		hooks.EntryUser, hooks.EntrySteering, hooks.EntryContext, hooks.EntryText, hooks.EntryReasoning,
		hooks.EntryToolUse, hooks.EntryToolResult, hooks.EntrySummary, hooks.EntryTitle, hooks.EntryTurnStart,
	}
	f.Add([]byte{0, 3, 5, 6, 1, 7}, string(golden[:200]), "bash", []byte(`{"command":"ls"}`), []byte(`{"stdout":"a"}`))
	f.Add([]byte{5, 6}, "\xff\u2028", "edit", []byte(`{"file_path":"a","old_string":"x","new_string":"y"}`), []byte(`{"path":"/a"}`))
	f.Add([]byte{6, 6}, "", "mcp__a__b", []byte(`[`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, order []byte, text, tool string, input, response []byte) {
		write := func() (out []byte) {
			tr := NewTranscriber(hooks.TranscriptMeta{SessionID: "S", Cwd: "/w"})
			for i, k := range order {
				e := &hooks.Entry{Kind: kinds[int(k)%len(kinds)], Time: time.Unix(1, 0), Seq: uint64(i / 2), Text: text}
				if k%3 > 0 {
					e.Tool = &hooks.Tool{Name: tool, Input: input, Response: response, CallID: text, Output: text, Failed: k%5 == 0}
				}
				if out, err = tr.Append(out, e); err != nil {
					t.Fatal(err)
				}
			}
			return out
		}
		out := write()
		for line := range strings.Lines(string(out)) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil || m["type"] == "" {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if !bytes.Equal(out, write()) {
			t.Fatal("writing it anew gives other bytes")
		}
	})
}
