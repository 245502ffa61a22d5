package main

import (
	"os"
	"path/filepath"
	"time"

	"acp-agent/hooks"
)

// madeUpTranscripts are the transcripts of the session that hooks check makes up:
// one prompt, the tool's call where there is one, and the model's last text. Hooks
// that find none take that for a fault of the agent, and some then throw away what
// they keep.
type madeUpTranscripts struct {
	dir   string // it is removed with them
	call  *hooks.Call
	paths map[string]string
}

// path is hooks.Call.TranscriptPath. "" where the file cannot be written, as in a
// session.
func (m *madeUpTranscripts) path(dialect string) string {
	path, ok := m.paths[dialect]
	if !ok {
		path = m.write(dialect)
		m.paths[dialect] = path
	}
	return path
}

func (m *madeUpTranscripts) write(dialect string) string {
	c, now := m.call, time.Now()
	tr := transcriber(dialect, hooks.TranscriptMeta{SessionID: c.SessionID, Cwd: c.Cwd, Version: version(), Model: c.Model, CreatedAt: now})
	if tr == nil {
		return ""
	}
	prompt := c.Prompt
	if prompt == "" {
		prompt = "Check the hooks."
	}
	entries := []hooks.Entry{{Kind: hooks.EntryTurnStart}, {Kind: hooks.EntryUser, Text: prompt}}
	if c.Tool != nil {
		entries = append(entries, hooks.Entry{Kind: hooks.EntryToolUse, MessageID: "msg_check", StopReason: "tool_use", Last: true, Tool: c.Tool})
		if c.Event == hooks.PostToolUse {
			entries = append(entries, hooks.Entry{Kind: hooks.EntryToolResult, Tool: c.Tool})
		}
	}
	if c.LastAssistantMessage != nil {
		entries = append(entries, hooks.Entry{Kind: hooks.EntryText, MessageID: "msg_last", StopReason: "end_turn", Last: true, Text: *c.LastAssistantMessage})
	}
	var text []byte
	for i := range entries {
		e := &entries[i]
		e.Time, e.Seq, e.TurnID, e.Model, e.Mode = now, uint64(i+1), c.TurnID, c.Model, c.Mode
		var err error
		if text, err = tr.Append(text, e); err != nil {
			return ""
		}
	}
	path := filepath.Join(m.dir, dialect, tr.Path())
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, text, 0o600) != nil {
		return ""
	}
	return path
}
