package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"acp-agent/session"
)

// essentials is what a reader wants to know of an event, on one line of about
// the given number of characters.
func essentials(d session.Data, width int) string {
	switch d := d.(type) {
	case *session.TurnStart:
		return fmt.Sprintf("turn %d", d.Turn)
	case *session.TurnEnd:
		s := string(d.Reason.Kind)
		if d.Reason.Error != nil {
			s += ": " + d.Reason.Error.Message
		}
		return clip(s, width)
	case *session.StepStart:
		return fmt.Sprintf("step %d", d.Step)
	case *session.StepEnd:
		return fmt.Sprintf("step %d", d.Step)
	case *session.UserMessage:
		return said(d.Source, d.Content, width)
	case *session.SteeringMessage:
		return said(d.Source, d.Content, width)
	case *session.ContextMessage:
		return said(d.Source, d.Content, width)
	case *session.RequestHeader:
		return fmt.Sprintf("%s/%s, %d tools, system prompt of %d bytes (%s)", d.Header.Config.Provider, d.Header.Config.Model, len(d.Header.Tools), len(d.Header.System), d.Reason)
	case *session.RequestSent:
		return fmt.Sprintf("attempt %d %s", d.Attempt, clip(d.Digest, 19))
	case *session.AssistantChunk:
		return chunkEssentials(&d.Chunk, width)
	case *session.AssistantMessage:
		return quoteBlocks(d.Message.Content, width)
	}
	return more(d, width)
}

// more is essentials for the events about tools, hooks and the rest.
func more(d session.Data, width int) string {
	switch d := d.(type) {
	case *session.ToolCall:
		return clip(d.Name+" "+d.Arguments, width)
	case *session.ToolResult:
		b := d.Block()
		s := quoteBlocks(b.Content, width)
		if b.IsError {
			s = "error " + s
		}
		return s
	case *session.HookInvoked:
		return strings.TrimSpace(d.Dialect + " " + d.Point + " " + d.HandlerID)
	case *session.HookResult:
		s := d.HandlerID + " → " + d.Decision
		if d.ExitCode != nil {
			s += fmt.Sprintf(", exit %d", *d.ExitCode)
		}
		if len(d.Injected) > 0 {
			s += fmt.Sprintf(", injected %v", d.Injected)
		}
		return clip(s+reasonSuffix(d.Reason), width)
	case *session.HookRequest:
		return clip(hookRequest(d, width), width)
	case *session.HookAnswer:
		s := d.HandlerID + " ← "
		if d.Error != nil {
			return clip(s+"failed: "+d.Error.Message, width)
		}
		if d.Message != nil {
			s += quoteBlocks(d.Message.Content, width)
		}
		return s
	case *session.PermissionAsked:
		return clip(d.Title, width)
	case *session.PermissionAnswered:
		return strings.TrimSpace(d.Outcome + " " + d.Rule)
	case *session.ElicitAsked:
		return clip(d.Server+" "+d.Mode+": "+d.Message+" "+d.URL, width)
	case *session.ElicitAnswered:
		return clip(d.Action+" "+string(d.Content)+reasonSuffix(d.Reason), width)
	case *session.Notice:
		return clip(d.Severity+": "+d.Text, width)
	case *session.ModelRetry:
		return clip(fmt.Sprintf("%d of %d after %d ms: %s", d.Retry, d.Max, d.DelayMs, d.Failure.Message), width)
	case *session.ModeSet:
		return d.Mode
	case *session.ConfigSet:
		return d.ID + " = " + d.Value
	case *session.SessionTitle:
		return clip(strconv.Quote(d.Title), width)
	case *session.UsageReport:
		return fmt.Sprintf("%d in, %d out, %d cached", d.Usage.InputTokens, d.Usage.OutputTokens, d.Usage.CacheReadTokens)
	case *session.Compaction:
		return fmt.Sprintf("%s, up to event %d", d.Status, d.Through)
	case *session.TodoWrite:
		return fmt.Sprintf("%d entries", len(d.Todos))
	}
	return ""
}

// hookRequest says what a hook's model is asked on top of what it was before.
func hookRequest(d *session.HookRequest, width int) string {
	s := fmt.Sprintf("%s → round %d", d.HandlerID, d.Round)
	if d.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", d.Attempt)
	}
	if d.Header != nil {
		s += fmt.Sprintf(", %s/%s", d.Header.Config.Provider, d.Header.Config.Model)
	}
	for _, m := range d.Messages {
		s += ": " + quoteBlocks(m.Content, width)
	}
	return s
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func chunkEssentials(c *session.Chunk, width int) string {
	text := c.Text + strings.Join(c.Texts, "")
	if text == "" {
		if c.Finish != "" {
			return string(c.Type) + " " + string(c.Finish)
		}
		return string(c.Type)
	}
	return clip(string(c.Type)+" "+strconv.Quote(text), width)
}

// said is a message with who said it.
func said(src session.Source, content []session.Block, width int) string {
	who := src.Kind
	for _, part := range []string{src.Name, src.Event} {
		if part != "" {
			who += " " + part
		}
	}
	return "[" + who + "] " + quoteBlocks(content, width)
}

func quoteBlocks(blocks []session.Block, width int) string {
	parts := make([]string, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case session.BlockText:
			parts[i] = clip(strconv.Quote(b.Text), width)
		case session.BlockReasoning:
			parts[i] = "(thinks) " + clip(strconv.Quote(b.Text), width)
		case session.BlockToolCall:
			parts[i] = "(calls " + b.Name + ") " + clip(b.Arguments, width)
		case session.BlockToolResult:
			parts[i] = "(result) " + quoteBlocks(b.Content, width)
		default:
			parts[i] = "(" + string(b.Type) + ") " + clip(b.URI+b.MimeType, width)
		}
	}
	return strings.Join(parts, " + ")
}

// clip cuts text for people, on a rune, and says that it did. Line ends become
// blanks.
func clip(s string, width int) string {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s)
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	n := 0
	for i := range s {
		if n == width-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// printEvents writes a log for a reader: a line an event, and what was said in
// full below it. Streamed pieces are left out, with a line that says how many: the
// message that follows them holds the same text.
type printEvents struct {
	w io.Writer
	// full adds the whole text of messages and results.
	full bool
	// chunk is the first of the pieces that were left out last, pieces how many.
	chunk  session.Event
	pieces int
	err    error
}

func (p *printEvents) event(ev session.Event) error {
	if _, ok := ev.Data.(*session.AssistantChunk); ok {
		if p.pieces == 0 {
			p.chunk = ev
		}
		p.pieces++
		return nil
	}
	p.leftOut()
	width := 100
	if p.full {
		width = 160
	}
	content := eventContent(ev.Data)
	line := essentials(ev.Data, width)
	if p.full && len(content) > 0 {
		line = eventSource(ev.Data)
	}
	p.printf("%5d  %s  %-20s %s", ev.Seq, ev.Time.Local().Format("15:04:05.000"), ev.Data.EventType(), line)
	if p.full {
		p.blocks(content)
	}
	return p.err
}

// leftOut says which pieces of a stream are not shown.
func (p *printEvents) leftOut() {
	if p.pieces == 0 {
		return
	}
	last := p.chunk.Seq + uint64(p.pieces) - 1
	p.printf("%5d  %s  %-20s %s", p.chunk.Seq, p.chunk.Time.Local().Format("15:04:05.000"), p.chunk.Data.EventType(),
		fmt.Sprintf("(%d left out, up to %d; --json has them)", p.pieces, last))
	p.pieces = 0
}

func (p *printEvents) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

func (p *printEvents) blocks(blocks []session.Block) {
	for i := range blocks {
		b := &blocks[i]
		switch b.Type {
		case session.BlockText:
			p.indented("", b.Text)
		case session.BlockReasoning:
			p.indented("(thinks) ", b.Text)
		case session.BlockToolCall:
			p.indented("(calls "+b.Name+") ", b.Arguments)
		case session.BlockToolResult:
			p.blocks(b.Content)
		default:
			p.indented("("+string(b.Type)+") ", b.URI+b.MimeType)
		}
	}
}

func (p *printEvents) indented(label, text string) {
	for line := range strings.Lines(label + text) {
		p.printf("       │ %s", strings.TrimRight(line, "\r\n"))
	}
}

// eventContent is what was said in an event, nil when nothing was.
func eventContent(d session.Data) []session.Block {
	switch d := d.(type) {
	case *session.UserMessage:
		return d.Content
	case *session.SteeringMessage:
		return d.Content
	case *session.ContextMessage:
		return d.Content
	case *session.AssistantMessage:
		return d.Message.Content
	case *session.ToolResult:
		return d.Message.Content
	case *session.Compaction:
		return d.Content
	case *session.HookRequest:
		var out []session.Block
		for _, m := range d.Messages {
			out = append(out, m.Content...)
		}
		return out
	case *session.HookAnswer:
		if d.Message != nil {
			return d.Message.Content
		}
	}
	return nil
}

func eventSource(d session.Data) string {
	var src session.Source
	switch d := d.(type) {
	case *session.UserMessage:
		src = d.Source
	case *session.SteeringMessage:
		src = d.Source
	case *session.ContextMessage:
		src = d.Source
	case *session.ToolResult:
		if d.Block().IsError {
			return "error"
		}
		return ""
	case *session.HookRequest:
		some := *d
		some.Messages = nil
		return hookRequest(&some, 0)
	case *session.HookAnswer:
		return d.HandlerID + " ←"
	default:
		return ""
	}
	return strings.TrimSuffix(said(src, nil, 0), " ")
}

// printTranscript writes the messages that a model is sent: a line with the
// role, then the text byte for byte.
func printTranscript(w io.Writer, messages []session.Message) error {
	for i := range messages {
		m := &messages[i]
		if _, err := fmt.Fprintf(w, "── %s\n", m.Role); err != nil {
			return err
		}
		for j := range m.Content {
			if _, err := io.WriteString(w, transcriptBlock(&m.Content[j])); err != nil {
				return err
			}
		}
	}
	return nil
}

func transcriptBlock(b *session.Block) string {
	switch b.Type {
	case session.BlockText:
		return lineEnd(b.Text)
	case session.BlockReasoning:
		return "(thinks) " + lineEnd(b.Text)
	case session.BlockToolCall:
		return "(calls " + b.Name + " as " + b.ID + ") " + lineEnd(b.Arguments)
	case session.BlockToolResult:
		var s strings.Builder
		s.WriteString("(result of " + b.CallID)
		if b.IsError {
			s.WriteString(", an error")
		}
		s.WriteString(")\n")
		for i := range b.Content {
			s.WriteString(transcriptBlock(&b.Content[i]))
		}
		return s.String()
	}
	return "(" + string(b.Type) + ") " + lineEnd(b.URI+b.MimeType)
}

func lineEnd(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
