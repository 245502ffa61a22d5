package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/session"
)

// Run exports a session.
func (c *sessionsExportCmd) Run(ctx context.Context, a *app) error {
	path, err := a.logPath(ctx, c.Session)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	var damage error
	if c.Format == "json" {
		damage = exportJSON(ctx, &out, path)
	} else {
		damage = exportMarkdown(ctx, &out, path)
	}
	if damage != nil && out.Len() == 0 {
		return damage
	}
	if c.Output == "" {
		_, err := a.stdout.Write(out.Bytes())
		return errors.Join(damage, err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if damage != nil {
		flags |= os.O_EXCL // what stands before damage is not put in the place of an earlier export
	}
	f, err := os.OpenFile(c.Output, flags, 0o600)
	if err != nil {
		return errors.Join(damage, &config.Error{What: "writing " + c.Output + ": " + reason(err), Do: "name a writable file with -o"})
	}
	_, err = f.Write(out.Bytes())
	return errors.Join(damage, err, f.Close())
}

// exportJSON writes one object: header, events and the transcript.
func exportJSON(ctx context.Context, w io.Writer, path string) error {
	type event struct {
		Seq  uint64       `json:"seq"`
		Time time.Time    `json:"ts"`
		Type session.Type `json:"type"`
		Data session.Data `json:"data"`
	}
	events := []event{}
	got, damage := readLog(ctx, path, func(ev session.Event) error {
		if u, ok := ev.Data.(*session.Unknown); ok && len(u.Raw) == 0 {
			return nil
		}
		if _, ok := ev.Data.(*session.AssistantChunk); !ok {
			events = append(events, event{ev.Seq, ev.Time, ev.Data.EventType(), ev.Data})
		}
		return nil
	})
	if got == nil {
		return damage
	}
	said := ""
	if damage != nil {
		said = damage.Error()
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return errors.Join(damage, enc.Encode(struct {
		Session    session.Header    `json:"session"`
		Title      string            `json:"title,omitempty"`
		Transcript []session.Message `json:"transcript"`
		Events     []event           `json:"events"`
		Damage     string            `json:"damage,omitempty"`
	}{got.State.Header, got.State.Title, got.State.Transcript(), events, said}))
}

// exportMarkdown writes the conversation for people: what was said, the tools,
// the hooks.
func exportMarkdown(ctx context.Context, w io.Writer, path string) error {
	var body strings.Builder
	got, damage := readLog(ctx, path, func(ev session.Event) error {
		body.WriteString(markdown(ev.Data))
		return nil
	})
	if got == nil {
		return damage
	}
	if damage != nil {
		fmt.Fprintf(&body, "> The log is damaged, what came behind cannot be read: %s\n", oneLine(damage.Error()))
	}
	h := &got.State.Header
	title := got.State.Title
	if title == "" {
		title = "Session " + h.ID
	}
	_, err := fmt.Fprintf(w, "# %s\n\n- session: `%s`\n- directory: `%s`\n- created: %s\n- last event: %s\n\n%s",
		title, h.ID, h.Cwd, h.CreatedAt.Format(time.RFC3339), got.State.Updated.Format(time.RFC3339), body.String())
	return errors.Join(damage, err)
}

func markdown(d session.Data) string {
	switch d := d.(type) {
	case *session.UserMessage:
		return "## User\n\n" + markdownBlocks(d.Content)
	case *session.SteeringMessage:
		return "## Steering (" + by(d.Source) + ")\n\n" + markdownBlocks(d.Content)
	case *session.ContextMessage:
		return "## Context (" + by(d.Source) + ")\n\n" + markdownBlocks(d.Content)
	case *session.AssistantMessage:
		return "## Assistant\n\n" + markdownBlocks(d.Message.Content)
	case *session.ToolResult:
		b := d.Block()
		label := "**Result**"
		if b.IsError {
			label = "**Result (error)**"
		}
		return label + "\n\n" + fence(plainText(b.Content), "") + "\n"
	case *session.Notice:
		return "> " + d.Severity + ": " + clip(d.Text, 500) + "\n\n"
	case *session.Compaction:
		if d.Status == "completed" {
			return "## Summary of what came before\n\n" + markdownBlocks(d.Content)
		}
	case *session.TurnEnd:
		if d.Reason.Kind != session.EndCompleted {
			return "> turn ended: " + essentials(d, 500) + "\n\n"
		}
	}
	return ""
}

func by(src session.Source) string {
	return strings.TrimSpace(src.Kind + " " + strings.TrimSpace(src.Name+" "+src.Event))
}

func markdownBlocks(blocks []session.Block) string {
	var s strings.Builder
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case session.BlockText:
			s.WriteString(lineEnd(b.Text) + "\n")
		case session.BlockReasoning:
			if b.Text != "" {
				s.WriteString("<details><summary>Thinking</summary>\n\n" + lineEnd(b.Text) + "\n</details>\n\n")
			}
		case session.BlockToolCall:
			s.WriteString("**Tool** `" + b.Name + "`\n\n" + fence(b.Arguments, "json") + "\n")
		default:
			s.WriteString("*" + string(b.Type) + "* " + b.URI + "\n\n")
		}
	}
	return s.String()
}

func plainText(blocks []session.Block) string {
	var s strings.Builder
	for i := range blocks {
		if blocks[i].Type == session.BlockText {
			s.WriteString(lineEnd(blocks[i].Text))
		}
	}
	return s.String()
}

// fence puts text into a code block whose fence is longer than any in the text.
func fence(text, lang string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + lang + "\n" + lineEnd(text) + marks + "\n"
}
