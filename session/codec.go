package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// AppendHeader appends the header line of a log, with its line end.
func AppendHeader(dst []byte, h *Header) ([]byte, error) {
	body, err := encode(h)
	if err != nil {
		return dst, fmt.Errorf("encoding the header of session %s: %w", h.ID, err)
	}
	dst = append(dst, `{"type":"session",`...)
	dst = append(dst, body[1:]...)
	return append(dst, '\n'), nil
}

// AppendEvent appends an event's line, with its line end.
func AppendEvent(dst []byte, ev *Event) ([]byte, error) {
	before := dst
	dst = append(dst, `{"seq":`...)
	dst = appendInt(dst, int64(ev.Seq))
	dst = append(dst, `,"ts":"`...)
	dst = ev.Time.UTC().AppendFormat(dst, timeLayout)
	dst = append(dst, `","type":`...)
	dst = AppendString(dst, string(ev.Data.EventType()))
	dst = append(dst, `,"data":`...)
	var err error
	if dst, err = appendData(dst, ev.Data); err != nil {
		return before, fmt.Errorf("encoding event %d (%s): %w", ev.Seq, ev.Data.EventType(), err)
	}
	return append(dst, '}', '\n'), nil
}

// appendData writes the payloads that are large or frequent by hand and leaves
// the others to encoding/json.
func appendData(dst []byte, d Data) ([]byte, error) {
	var err error
	switch d := d.(type) {
	case *Unknown:
		return appendRaw(dst, d.Raw)
	case *AssistantChunk:
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		w.int("step", int64(d.Step))
		w.key("chunk")
		if w.dst, err = d.Chunk.AppendJSON(w.dst); err != nil {
			return dst, err
		}
		return append(w.dst, '}'), nil
	case *UserMessage:
		w := objectWriter{dst: append(dst, '{')}
		w.optStr("id", d.ID)
		w.optStr("typed", d.Typed)
		return appendMessage(w, d.Content, d.Source, nil)
	case *SteeringMessage:
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		if len(d.Sources) > 0 {
			body, err := encode(d.Sources)
			if err != nil {
				return dst, err
			}
			w.key("sources")
			w.dst = append(w.dst, body...)
		}
		return appendMessage(w, d.Content, d.Source, nil)
	case *ContextMessage:
		return appendMessage(objectWriter{dst: append(dst, '{')}, d.Content, d.Source, d.Meta)
	case *AssistantMessage:
		return appendAssistant(dst, d)
	case *ToolResult:
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		w.int("step", int64(d.Step))
		if err := w.logged(&d.Message); err != nil {
			return dst, err
		}
		if d.Meta != nil {
			if err := w.meta(d.Meta); err != nil {
				return dst, err
			}
		}
		return append(w.dst, '}'), nil
	case *StepStart:
		return appendStep(dst, d.Turn, d.Step), nil
	case *StepEnd:
		return appendStep(dst, d.Turn, d.Step), nil
	case *RequestSent:
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		w.int("step", int64(d.Step))
		w.int("attempt", int64(d.Attempt))
		w.str("digest", d.Digest)
		w.optStr("messageId", d.MessageID)
		return append(w.dst, '}'), nil
	case *ToolCall:
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		w.int("step", int64(d.Step))
		w.str("callId", d.CallID)
		w.str("name", d.Name)
		w.str("arguments", d.Arguments)
		if err := w.optRaw("input", d.Input); err != nil {
			return dst, err
		}
		return append(w.dst, '}'), nil
	case *UsageReport:
		if d.Cost != 0 {
			break // how a fraction is written is encoding/json's business
		}
		w := objectWriter{dst: append(dst, '{')}
		w.int("turn", int64(d.Turn))
		w.int("step", int64(d.Step))
		w.usage("usage", &d.Usage)
		w.optInt("window", d.Window)
		w.optInt("output", d.Output)
		w.optStr("currency", d.Currency)
		return append(w.dst, '}'), nil
	case *TodoWrite:
		// A list is never null in the log, whoever left it nil.
		if d.Todos == nil {
			return append(dst, `{"todos":[]}`...), nil
		}
	case *PermissionAsked:
		if d.Options == nil {
			some := *d
			some.Options = []PermissionOption{}
			return appendData(dst, &some)
		}
	}
	body, err := encode(d)
	return append(dst, body...), err
}

func appendAssistant(dst []byte, d *AssistantMessage) ([]byte, error) {
	w := objectWriter{dst: append(dst, '{')}
	w.int("turn", int64(d.Turn))
	w.int("step", int64(d.Step))
	if err := w.logged(&d.Message); err != nil {
		return dst, err
	}
	if d.Usage != nil {
		w.usage("usage", d.Usage)
	}
	w.optStr("stop", string(d.Stop))
	if d.Interrupted {
		w.bool("interrupted", true)
	}
	return append(w.dst, '}'), nil
}

// logged writes the message member of an event.
func (w *objectWriter) logged(m *LoggedMessage) error {
	w.key("message")
	in := objectWriter{dst: append(w.dst, '{')}
	in.optStr("id", m.ID)
	in.str("role", string(m.Role))
	var err error
	w.dst, err = appendMessage(in, m.Content, m.Source, nil)
	return err
}

// value writes a member by encoding/json.
func (w *objectWriter) value(k string, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	w.key(k)
	w.dst = append(w.dst, body...)
	return nil
}

func appendMessage(w objectWriter, content []Block, src Source, meta json.RawMessage) ([]byte, error) {
	w.key("content")
	var err error
	if w.dst, err = appendBlocks(w.dst, content); err != nil {
		return nil, err
	}
	w.source("source", &src)
	if err := w.optRaw("meta", meta); err != nil {
		return nil, err
	}
	return append(w.dst, '}'), nil
}

func appendStep(dst []byte, turn, step int) []byte {
	w := objectWriter{dst: append(dst, '{')}
	w.int("turn", int64(turn))
	w.int("step", int64(step))
	return append(w.dst, '}')
}

// source writes a Source, usage a Usage and meta a ToolMeta, as encoding/json has
// them: there is one in nearly every line.
func (w *objectWriter) source(k string, s *Source) {
	w.key(k)
	in := objectWriter{dst: append(w.dst, '{')}
	in.str("kind", s.Kind)
	in.optStr("name", s.Name)
	in.optStr("event", s.Event)
	in.optStr("handler", s.Handler)
	in.optStr("callId", s.CallID)
	in.optStr("provider", s.Provider)
	in.optStr("model", s.Model)
	w.dst = append(in.dst, '}')
}

func (w *objectWriter) usage(k string, u *Usage) {
	w.key(k)
	in := objectWriter{dst: append(w.dst, '{')}
	in.int("inputTokens", u.InputTokens)
	in.int("outputTokens", u.OutputTokens)
	in.optInt("cacheReadTokens", u.CacheReadTokens)
	in.optInt("cacheWriteTokens", u.CacheWriteTokens)
	in.optInt("reasoningTokens", u.ReasoningTokens)
	w.dst = append(in.dst, '}')
}

func (w *objectWriter) meta(m *ToolMeta) error {
	if len(m.Diffs) > 0 || m.ExitCode != nil {
		return w.value("meta", m)
	}
	w.key("meta")
	in := objectWriter{dst: append(w.dst, '{')}
	if len(m.Locations) > 0 {
		in.key("locations")
		in.dst = append(in.dst, '[')
		for i := range m.Locations {
			if i > 0 {
				in.dst = append(in.dst, ',')
			}
			at := objectWriter{dst: append(in.dst, '{')}
			at.str("path", m.Locations[i].Path)
			at.optInt("line", int64(m.Locations[i].Line))
			in.dst = append(at.dst, '}')
		}
		in.dst = append(in.dst, ']')
	}
	in.optInt("durationMs", m.DurationMs)
	if err := in.optRaw("response", m.Response); err != nil {
		return err
	}
	in.optStr("terminalId", m.TerminalID)
	in.optStr("notRun", m.NotRun)
	w.dst = append(in.dst, '}')
	return nil
}

func appendBlocks(dst []byte, blocks []Block) ([]byte, error) {
	dst = append(dst, '[')
	for i := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = blocks[i].AppendJSON(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendRaw appends JSON that somebody else wrote. It is checked, and compacted:
// a line end in it would break the log's framing.
func appendRaw(dst []byte, raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "null"...), nil
	}
	buf := bytes.NewBuffer(dst)
	if err := json.Compact(buf, raw); err != nil {
		return dst, fmt.Errorf("raw JSON member: %w", err)
	}
	return buf.Bytes(), nil
}

// encode is json.Marshal without HTML escaping, so that a log can be grepped
// for what was said.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// DecodeHeader reads the first line of a log. It wraps ErrVersion for a log
// that a newer program wrote, ErrCorrupt for anything that is no header.
func DecodeHeader(line []byte) (*Header, error) {
	var h struct {
		Type    string          `json:"type"`
		Version json.RawMessage `json:"version"`
	}
	if err := json.Unmarshal(line, &h); err != nil || h.Type != "session" {
		return nil, fmt.Errorf("%w: the first line is not a session header", ErrCorrupt)
	}
	var v int
	if err := json.Unmarshal(h.Version, &v); err != nil || v < 1 {
		return nil, fmt.Errorf("%w: log version %s is not one this program writes (it writes %d)", ErrVersion, h.Version, Version)
	}
	if v > Version {
		return nil, fmt.Errorf("%w: the log has version %d and this program reads up to %d: use a newer acp-agent", ErrVersion, v, Version)
	}
	out := new(Header)
	if err := json.Unmarshal(line, out); err != nil {
		return nil, fmt.Errorf("%w: session header: %w", ErrCorrupt, err)
	}
	return out, nil
}

// DecodeEvent reads one event line. Errors wrap ErrCorrupt. The event keeps
// nothing of line.
func DecodeEvent(line []byte) (Event, error) {
	if ev, ok := fastEvent(line); ok {
		return ev, nil
	}
	var j struct {
		Seq  uint64          `json:"seq"`
		TS   time.Time       `json:"ts"`
		Type Type            `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return Event{}, fmt.Errorf("%w: event line: %w", ErrCorrupt, err)
	}
	if j.Type == "" || j.Seq == 0 {
		return Event{}, fmt.Errorf("%w: event line has no type or no seq", ErrCorrupt)
	}
	d, err := DecodeData(j.Type, j.Data)
	if err != nil {
		return Event{}, fmt.Errorf("event %d: %w", j.Seq, err)
	}
	return Event{Seq: j.Seq, Time: j.TS, Data: d}, nil
}

// DecodeData reads the payload of an event of type t; an unknown type becomes
// *Unknown. Errors wrap ErrCorrupt.
func DecodeData(t Type, raw json.RawMessage) (Data, error) {
	d := New(t)
	if d == nil {
		return &Unknown{Kind: t, Raw: append(json.RawMessage(nil), raw...)}, nil
	}
	if err := json.Unmarshal(raw, d); err != nil {
		return nil, fmt.Errorf("%w: data of %s: %w", ErrCorrupt, t, err)
	}
	return d, nil
}

// PeekTime returns the time of an event line that AppendEvent wrote, without
// decoding the rest of it. ok is false for any other line.
func PeekTime(line []byte) (ts time.Time, ok bool) {
	_, ts, _, ok = cutFront(line)
	return ts, ok
}

// PeekFront is how much of a line PeekType looks at, at most.
const PeekFront = 128

// PeekType returns the type of an event line that AppendEvent wrote, from its
// front alone; nil for any other line. The type is a part of line.
func PeekType(line []byte) []byte {
	const front, mid, typ = `{"seq":`, `,"ts":"`, `","type":"`
	if len(line) < len(front) || string(line[:len(front)]) != front {
		return nil
	}
	i := len(front)
	for i < len(line) && '0' <= line[i] && line[i] <= '9' && i < len(front)+18 {
		i++
	}
	if i == len(front) || len(line)-i < len(mid) || string(line[i:i+len(mid)]) != mid {
		return nil
	}
	line = line[i+len(mid):]
	i = bytes.IndexByte(line[:min(len(line), 40)], '"')
	if i < 0 || len(line)-i < len(typ) || string(line[i:i+len(typ)]) != typ {
		return nil
	}
	line = line[i+len(typ):]
	if i = bytes.IndexByte(line[:min(len(line), 40)], '"'); i < 0 {
		return nil
	}
	return line[:i]
}

// cutFront takes seq and time off a line that has the form in which AppendEvent
// writes it; rest begins at the comma before "type".
func cutFront(line []byte) (seq uint64, ts time.Time, rest []byte, ok bool) {
	const front, mid = `{"seq":`, `,"ts":"`
	if len(line) < len(front) || string(line[:len(front)]) != front {
		return 0, time.Time{}, nil, false
	}
	i := len(front)
	for ; i < len(line) && '0' <= line[i] && line[i] <= '9' && i < len(front)+18; i++ {
		seq = seq*10 + uint64(line[i]-'0')
	}
	if seq == 0 || line[len(front)] == '0' || len(line)-i < len(mid) || string(line[i:i+len(mid)]) != mid {
		return 0, time.Time{}, nil, false
	}
	line = line[i+len(mid):]
	end := bytes.IndexByte(line[:min(len(line), 40)], '"')
	if end < 0 {
		return 0, time.Time{}, nil, false
	}
	if err := ts.UnmarshalText(line[:end]); err != nil {
		return 0, time.Time{}, nil, false
	}
	return seq, ts, line[end+1:], true
}
