package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// FuzzTOML: no config.toml makes the parser fall over, an error has a text, and
// what it keeps of a handler is that handler.
func FuzzTOML(f *testing.F) {
	for _, text := range []string{
		"", "model = \"x\"\n[features]\nhooks = false\n",
		"[[hooks.Stop]]\nmatcher = \"a\"\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\ntimeout = 5\n",
		"[hooks]\nmanaged_dir = \"/etc\"\nPreToolUse = [{hooks = [{type = \"mcp_tool\", server = \"s\", tool = \"t\", input = {a = [1, 2.5, 1979-05-27]}}]}]\n",
		"[hooks.state.\"k\"]\nenabled = 1\ntrusted_hash = \"h\"\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n",
		"allow_managed_hooks_only = true\nhooks = 1\n", "[plugins.p]\nenabled = false\n", "a = ", "\xff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseTOML(data)
		if err == nil {
			err = l.hooksErr
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		if l.hooks == nil {
			return
		}
		d, _ := New(Options{Files: []File{{Path: "/f", Layer: hooks.LayerUser, config: l.hooks, data: data}}, GOOS: "linux"})
		for _, h := range d.Handlers() {
			if !json.Valid(h.Raw) || h.Hash == "" || h.Timeout <= 0 {
				t.Fatalf("handler %+v of %q", h, data)
			}
		}
	})
}

// FuzzTranscript: whatever happened in a session, each line of its rollout is a
// JSON object of the format's four members, numbered from 0, and writing it anew
// gives the same bytes. An entry that lacks its tool is an error.
func FuzzTranscript(f *testing.F) {
	kinds := []hooks.EntryKind{
		hooks.EntryUser, hooks.EntrySteering, hooks.EntryContext, hooks.EntryText, hooks.EntryReasoning,
		hooks.EntryToolUse, hooks.EntryToolResult, hooks.EntrySummary, hooks.EntryTitle, hooks.EntryTurnStart, hooks.EntryTurnEnd,
	}
	f.Add([]byte{9, 0, 3, 5, 6, 1, 7, 10}, "text", "bash", []byte(`{"command":"ls"}`), []byte(`{"stdout":"a"}`))
	f.Add([]byte{5, 6}, "\xff\u2028", "edit", []byte(`{"file_path":"a","old_string":"x","new_string":"y"}`), []byte(`{"path":"/a"}`))
	f.Add([]byte{6, 6}, "", "mcp__a__b", []byte(`[`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, order []byte, text, tool string, input, response []byte) {
		write := func() string {
			var out []byte
			tr := NewTranscriber(hooks.TranscriptMeta{SessionID: "S", Cwd: "/w"})
			for i, k := range order {
				e := &hooks.Entry{Kind: kinds[int(k)%len(kinds)], Time: time.Unix(1, 0), Seq: uint64(i), Text: text, Last: k%2 == 0}
				if k < 200 {
					e.Tool = &hooks.Tool{Name: tool, Input: input, Response: response, CallID: text, Output: text}
				}
				got, err := tr.Append(out, e)
				if err != nil && e.Tool != nil {
					t.Fatal(err)
				}
				out = got
			}
			return string(out)
		}
		out := write()
		n := 0
		for line := range strings.Lines(out) {
			var l struct {
				Timestamp, Type string
				Ordinal         int
				Payload         map[string]any
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.Type == "" || l.Timestamp == "" || l.Payload == nil || l.Ordinal != n {
				t.Fatalf("line %d: %q: %v", n, line, err)
			}
			n++
		}
		if write() != out {
			t.Fatal("writing it anew gives other bytes")
		}
	})
}
