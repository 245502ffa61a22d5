package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"acp-agent/session"
)

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) head(s string) {
	p.line("")
	p.line("  %s", s)
	p.line("  %s", strings.Repeat("─", len([]rune(s))))
}

func rule(s string) string {
	return "━━ " + s + " " + strings.Repeat("━", max(3, 96-len([]rune(s))))
}

// wirePrinter shows frames, one compact line each. Streamed pieces of one
// message are shown together, with their number.
type wirePrinter struct {
	p       *printer
	dir     string
	session string
	// said is all the text that the client was told.
	said strings.Builder

	kind  string
	text  strings.Builder
	count int
}

// frame shows one frame.
func (w *wirePrinter) frame(out bool, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		w.flush()
		w.show(out, string(line))
		return
	}
	if m.Method == "session/update" && w.chunk(m.Params) {
		return
	}
	w.flush()
	head := m.Method
	if m.ID != nil {
		head = strings.TrimSpace("#" + string(m.ID) + " " + m.Method)
	}
	body := m.Params
	switch {
	case m.Error != nil:
		body, _ = json.Marshal(m.Error)
	case m.Result != nil:
		body = m.Result
	}
	w.show(out, head+" "+string(body))
}

func (w *wirePrinter) show(out bool, s string) {
	arrow := "←"
	if out {
		arrow = "→"
	}
	if w.session != "" {
		s = strings.ReplaceAll(s, w.session, "…")
	}
	w.p.line("  %s %s", arrow, clip(strings.ReplaceAll(s, w.dir, ""), demoWidth-4))
}

// chunk takes a frame that is a piece of streamed text.
func (w *wirePrinter) chunk(params json.RawMessage) bool {
	var u struct {
		Update struct {
			Kind    string `json:"sessionUpdate"`
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"update"`
	}
	// content is a list in updates of other kinds: then this is no chunk.
	if json.Unmarshal(params, &u) != nil {
		return false
	}
	if u.Update.Kind != "agent_message_chunk" && u.Update.Kind != "agent_thought_chunk" {
		return false
	}
	if u.Update.Kind != w.kind {
		w.flush()
		w.kind = u.Update.Kind
	}
	if w.kind == "agent_message_chunk" {
		w.said.WriteString(u.Update.Content.Text)
	}
	w.text.WriteString(u.Update.Content.Text)
	w.count++
	return true
}

// flush shows the pieces that were collected.
func (w *wirePrinter) flush() {
	if w.count == 0 {
		return
	}
	frames := "1 frame"
	if w.count > 1 {
		frames = fmt.Sprintf("%d frames", w.count)
	}
	w.show(false, fmt.Sprintf("session/update %s, %s: %s", w.kind, frames, strconv.Quote(w.text.String())))
	w.kind, w.count = "", 0
	w.text.Reset()
}

// logPrinter shows a log's events, one compact line each; streamed pieces are
// counted.
type logPrinter struct {
	p        *printer
	steering []session.SteeringMessage

	chunks      int
	first, last uint64
}

func (l *logPrinter) event(ev session.Event) error {
	if _, ok := ev.Data.(*session.AssistantChunk); ok {
		if l.chunks == 0 {
			l.first = ev.Seq
		}
		l.chunks++
		l.last = ev.Seq
		return nil
	}
	l.flush()
	mark := " "
	if d, ok := ev.Data.(*session.SteeringMessage); ok {
		l.steering = append(l.steering, *d)
		mark = ">"
	}
	l.p.line("%s %4d  %-18s %s", mark, ev.Seq, ev.Data.EventType(), clip(essentials(ev.Data, demoWidth-28), demoWidth-26))
	return l.p.err
}

func (l *logPrinter) flush() {
	if l.chunks > 0 {
		l.p.line("  %4d  %-18s … to %d: the stream as it came", l.first, session.TypeAssistantChunk, l.last)
		l.chunks = 0
	}
}
