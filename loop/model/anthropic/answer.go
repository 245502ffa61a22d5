package anthropic

import (
	"encoding/json"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// answer turns the events of one answer into session chunks
// (build-with-claude/streaming): message_start, then for each block its start,
// deltas and stop, then message_delta with the stop reason, then message_stop.
// Pings, unknown events and unknown deltas are passed over, as the documents ask.
//
// Deltas go out as they come and blocks end where they end, since a block's
// signature settles it; usage and finish wait for the end of the stream.
type answer struct {
	y   *wire.Yield
	end *wire.Endpoint
	// afterTools: the request's last words are tool results. A model that has
	// nothing to add to those may truly say nothing.
	afterTools bool

	blocks []*block
	// next is the number of the next session block.
	next  int
	said  bool // text or thinking, not empty
	calls int
	stop  string
	done  bool
	usage session.Usage
	// counted: a usage came.
	counted bool
	// before is what the parts of a paused turn used that came before this one.
	before session.Usage
}

// block is one content block under way.
type block struct {
	index int64
	// number is that of the session's block; only with a type are there chunks.
	number int
	typ    session.BlockType
	open   bool
	// start is the block as it began, for types that the log does not know.
	start           []byte
	text, signature []byte
	redacted        string
	id, name        string
	input           []byte
}

func newAnswer(y *wire.Yield, end *wire.Endpoint, req *model.Request) *answer {
	n := len(req.Messages)
	return &answer{y: y, end: end, afterTools: n > 0 && req.Messages[n-1].Role == session.RoleTool}
}

// Event implements wire.Answer.
func (a *answer) Event(data []byte, name []byte) (rest []byte, ok bool, failure *model.Error) {
	s := wire.NewScanner(data)
	if s.Peek() != '{' {
		s.Skip()
		return s.Rest(), !s.Bad(), nil
	}
	e := event{typ: name}
	e.read(&s)
	if s.Bad() {
		return nil, false, nil
	}
	rest = s.Rest()
	whole := data[:len(data)-len(rest)]
	switch string(e.typ) {
	case "message_start":
		a.used(e.message, "usage")
	case "content_block_start":
		a.start(e.index, e.block)
	case "content_block_delta":
		a.delta(e.index, &e.delta)
	case "content_block_stop":
		if b := a.at(e.index); b != nil {
			a.close(b)
		}
	case "message_delta":
		if e.delta.stop != "" {
			a.stop = e.delta.stop
		}
		a.count(e.usage)
	case "message_stop":
		a.done = true
	case "error":
		return rest, true, a.end.Said(whole)
	case "message":
		a.whole(whole)
	case "":
		// No event of this wire; some gateways word their failures so.
		if e.failed {
			return rest, true, a.end.Said(whole)
		}
	}
	return rest, true, nil
}

// event is what one event says, as parts of its JSON.
type event struct {
	typ                   []byte
	index                 int64
	message, block, usage []byte
	delta                 delta
	failed                bool
}

// delta is the delta of a block or of the message.
type delta struct {
	typ             []byte
	text            string
	partial, sealed string
	stop            string
}

func (e *event) read(s *wire.Scanner) {
	s.Enter('{')
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "type":
			e.typ = s.Word()
		case "index":
			e.index, _ = s.Int()
		case "delta":
			e.delta.read(s)
		case "content_block":
			e.block = s.Raw()
		case "message":
			e.message = s.Raw()
		case "usage":
			e.usage = s.Raw()
		case "error", "detail":
			e.failed = e.failed || !s.Null()
			if e.failed {
				s.Skip()
			}
		default:
			s.Skip()
		}
	}
}

func (d *delta) read(s *wire.Scanner) {
	if !s.Enter('{') {
		return
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "type":
			d.typ = s.Word()
		case "text", "thinking":
			d.text, _ = s.Str()
		case "partial_json":
			d.partial, _ = s.Str()
		case "signature":
			d.sealed, _ = s.Str()
		case "stop_reason":
			d.stop, _ = s.Str()
		default:
			s.Skip()
		}
	}
}

// at returns the open block at an index.
func (a *answer) at(index int64) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := a.blocks[i]; b.index == index && b.open {
			return b
		}
	}
	return nil
}

// start opens a block. What it holds already counts as its first delta: servers
// that do not stream a block send it whole.
func (a *answer) start(index int64, raw []byte) {
	if b := a.at(index); b != nil {
		a.close(b) // a server that leaves out the stop
	}
	b := &block{index: index, open: true, start: append([]byte(nil), raw...)}
	a.blocks = append(a.blocks, b)
	var kind string
	var text, signature string
	s := wire.NewScanner(raw)
	if s.Enter('{') {
		for ok := s.First('}'); ok; ok = s.Next('}') {
			switch string(s.Key()) {
			case "type":
				kind, _ = s.Str()
			case "text", "thinking":
				text, _ = s.Str()
			case "signature":
				signature, _ = s.Str()
			case "data":
				b.redacted, _ = s.Str()
			case "id":
				b.id, _ = s.Str()
			case "name":
				b.name, _ = s.Str()
			case "input":
				b.input = append(b.input, s.Raw()...)
			default:
				s.Skip()
			}
		}
	}
	b.signature = append(b.signature, signature...)
	switch kind {
	case "text":
		a.open(b, session.BlockText)
		a.say(b, text)
	case "thinking":
		a.open(b, session.BlockReasoning)
		a.say(b, text)
	case "redacted_thinking":
		a.open(b, session.BlockReasoning)
	case "tool_use":
		a.open(b, session.BlockToolCall)
		a.calls++
		a.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: b.number, ID: b.id, Name: b.name})
	}
}

func (a *answer) open(b *block, typ session.BlockType) {
	b.typ, b.number = typ, a.next
	a.next++
	a.y.Emit(session.Chunk{Type: session.ChunkBlockStart, Index: b.number, BlockType: typ})
}

func (a *answer) say(b *block, s string) {
	if s == "" {
		return
	}
	a.said = true
	b.text = append(b.text, s...)
	typ := session.ChunkText
	if b.typ == session.BlockReasoning {
		typ = session.ChunkReasoning
	}
	a.y.Emit(session.Chunk{Type: typ, Index: b.number, Text: s})
}

func (a *answer) delta(index int64, d *delta) {
	b := a.at(index)
	if b == nil {
		// A server that leaves out the start. A call cannot begin so: it has
		// neither id nor name.
		var typ session.BlockType
		switch string(d.typ) {
		case "text_delta":
			typ = session.BlockText
		case "thinking_delta":
			typ = session.BlockReasoning
		default:
			return
		}
		b = &block{index: index, open: true}
		a.blocks = append(a.blocks, b)
		a.open(b, typ)
	}
	switch string(d.typ) {
	case "text_delta":
		if b.typ == session.BlockText {
			a.say(b, d.text)
		}
	case "thinking_delta":
		if b.typ == session.BlockReasoning {
			a.say(b, d.text)
		}
	case "signature_delta":
		b.signature = append(b.signature, d.sealed...)
	case "input_json_delta":
		if d.partial == "" {
			return
		}
		b.text = append(b.text, d.partial...)
		if b.typ == session.BlockToolCall {
			a.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: b.number, Text: d.partial})
		}
	}
}

// close ends a block. A thinking block is settled by what it is sealed with; a
// call without deltas has the input that it began with, an empty object as a
// rule.
func (a *answer) close(b *block) {
	if !b.open {
		return
	}
	b.open = false
	if b.typ == "" {
		return
	}
	end := session.Chunk{Type: session.ChunkBlockEnd, Index: b.number}
	switch b.typ {
	case session.BlockReasoning:
		end.Block = &session.Block{Type: session.BlockReasoning, Text: string(b.text), Signature: string(b.signature), Redacted: b.redacted}
	case session.BlockToolCall:
		if len(b.text) == 0 {
			b.text = []byte(wire.Arguments(string(b.input)))
			a.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: b.number, Text: string(b.text)})
		}
	}
	a.y.Emit(end)
}

// whole takes the answer of a server that does not stream.
func (a *answer) whole(raw []byte) {
	var m struct {
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	for i, c := range m.Content {
		a.start(int64(i), c)
		if b := a.at(int64(i)); b != nil {
			a.close(b)
		}
	}
	a.used(raw, "usage")
	a.stop, a.done = m.Stop, true
}

// used counts the usage object inside raw.
func (a *answer) used(raw []byte, key string) {
	s := wire.NewScanner(raw)
	if !s.Enter('{') {
		return
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		if string(s.Key()) == key {
			a.count(s.Raw())
		} else {
			s.Skip()
		}
	}
}

// count reads a usage object. input_tokens leaves out what was read from the
// cache and written to it, as session.Usage does; thinking is part of
// output_tokens. The counts of message_delta are cumulative and may leave out
// what message_start said, so the larger stands.
func (a *answer) count(raw []byte) {
	s := wire.NewScanner(raw)
	if s.Peek() != '{' {
		return
	}
	s.Enter('{')
	u := &a.usage
	add := func(to *int64, s *wire.Scanner) {
		n, _ := s.Int()
		*to = max(*to, n)
		a.counted = true
	}
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "input_tokens":
			add(&u.InputTokens, &s)
		case "output_tokens":
			add(&u.OutputTokens, &s)
		case "cache_read_input_tokens":
			add(&u.CacheReadTokens, &s)
		case "cache_creation_input_tokens":
			add(&u.CacheWriteTokens, &s)
		case "output_tokens_details":
			if !s.Enter('{') {
				continue
			}
			for ok := s.First('}'); ok; ok = s.Next('}') {
				if string(s.Key()) == "thinking_tokens" {
					add(&u.ReasoningTokens, &s)
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
}

// Whole implements wire.Answer: the stop reason is the last thing that an answer
// needs.
func (a *answer) Whole() bool { return a.stop != "" || a.done }

// Done implements wire.Answer.
func (a *answer) Done() bool { return a.done }

// End implements wire.Answer.
func (a *answer) End() error {
	for _, b := range a.blocks {
		a.close(b)
	}
	if a.counted {
		u := a.before.Add(a.usage)
		a.y.Emit(session.Chunk{Type: session.ChunkUsage, Usage: &u})
	}
	kind, err := a.finish()
	if err != nil {
		return err
	}
	a.y.Emit(session.Chunk{Type: session.ChunkFinish, Finish: kind})
	return nil
}

// finish maps the stop reason to what truly happened (build-with-claude/
// handling-stop-reasons). A paused turn is continued by Stream and gets here
// only when it has been too often.
func (a *answer) finish() (session.FinishKind, error) {
	kind := session.FinishStop
	if a.stop != "" && a.stop != "pause_turn" {
		if err := a.end.Unfinished(a.stop, a.said || a.calls > 0); err != nil {
			return "", err
		}
		kind = wire.Finish(a.stop)
	}
	switch {
	case kind != session.FinishStop:
	case a.calls > 0:
		return session.FinishToolCalls, nil
	case !a.said && !a.afterTools:
		return "", model.Errorf(model.KindEmpty, "%s answered with nothing: no text and no tool call; trying again usually helps", a.end.Name)
	}
	return kind, nil
}

// paused reports whether the provider has interrupted its turn and wants it sent
// back to go on.
func (a *answer) paused() bool { return a.stop == "pause_turn" && a.calls == 0 }

// content writes the blocks of the answer as the provider wants them back, those
// that the log does not know included.
func (a *answer) content() []byte {
	var w writer
	for _, b := range a.blocks {
		switch {
		case b.typ == session.BlockText:
			w.text(string(b.text))
		case b.redacted != "":
			w.open("redacted_thinking")
			w.Raw(`,"data":`)
			w.Str(b.redacted)
			w.Raw(`}`)
		case b.typ == session.BlockReasoning:
			if len(b.signature) > 0 {
				w.open("thinking")
				w.Raw(`,"thinking":`)
				w.Str(string(b.text))
				w.Raw(`,"signature":`)
				w.Str(string(b.signature))
				w.Raw(`}`)
			}
		case b.typ == "" && len(b.start) > 0:
			raw := b.start
			var fields map[string]json.RawMessage
			if len(b.text) > 0 && json.Valid(b.text) && json.Unmarshal(raw, &fields) == nil {
				fields["input"] = b.text
				if full, err := json.Marshal(fields); err == nil {
					raw = full
				}
			}
			if w.n > 0 {
				w.Raw(`,`)
			}
			w.n++
			w.Dst = append(w.Dst, raw...)
		}
	}
	return w.Dst
}
