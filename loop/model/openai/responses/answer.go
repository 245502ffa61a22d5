package responses

import (
	"encoding/json"
	"errors"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// answer turns the events of one answer into session chunks. Output comes as
// items (reasoning, message, function_call), each added, streamed in deltas and
// done; response.completed, .incomplete or .failed ends the stream. Unknown
// events and items are passed over.
//
// Deltas go out as they come. A done item settles what it holds: the encrypted
// content of reasoning is whole there alone. What was not streamed is taken from
// the done item or from the response that ends the stream, for servers that
// leave out one or the other.
type answer struct {
	y     *wire.Yield
	end   *wire.Endpoint
	items []*item
	// next is the number of the next session block.
	next    int
	said    bool
	calls   int
	refused bool
	// status is that of the ended response; reason why it is incomplete.
	status, reason string
	usage          *session.Usage
}

// item is an item of the output under way.
type item struct {
	index int64
	typ   session.BlockType
	// parts are the session blocks of the item: one, or as many as a message has
	// content parts.
	parts []*part
	done  bool
	// summary is the index of the summary part at hand.
	summary int64
}

type part struct {
	content int64
	number  int
	text    []byte
}

func newAnswer(y *wire.Yield, end *wire.Endpoint) *answer { return &answer{y: y, end: end} }

// event is what one event says.
type event struct {
	typ                      []byte
	index, content, summary  int64
	delta, arguments, object string
	item, response           []byte
	failed                   bool
}

func (e *event) read(s *wire.Scanner) {
	s.Enter('{')
	for ok := s.First('}'); ok; ok = s.Next('}') {
		switch string(s.Key()) {
		case "type":
			e.typ = s.Word()
		case "output_index":
			e.index, _ = s.Int()
		case "content_index":
			e.content, _ = s.Int()
		case "summary_index":
			e.summary, _ = s.Int()
		case "delta":
			e.delta, _ = s.Str()
		case "arguments":
			if s.Peek() == '{' {
				e.arguments = string(s.Raw())
			} else {
				e.arguments, _ = s.Str()
			}
		case "object":
			e.object, _ = s.Str()
		case "item":
			e.item = s.Raw()
		case "response":
			e.response = s.Raw()
		case "error", "detail":
			if !s.Null() {
				e.failed = true
				s.Skip()
			}
		default:
			s.Skip()
		}
	}
}

// Event implements wire.Answer.
func (a *answer) Event(data, name []byte) (rest []byte, ok bool, failure *model.Error) {
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
	case "response.output_text.delta", "response.refusal.delta":
		a.refused = a.refused || string(e.typ) == "response.refusal.delta"
		a.say(a.part(a.item(e.index, session.BlockText), e.content), session.ChunkText, e.delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(a.item(e.index, session.BlockReasoning), max(e.summary, e.content), e.delta)
	case "response.function_call_arguments.delta":
		if it := a.open(e.index); it != nil && it.typ == session.BlockToolCall {
			a.argue(it, e.delta)
		}
	case "response.function_call_arguments.done":
		if it := a.open(e.index); it != nil && it.typ == session.BlockToolCall && len(it.parts[0].text) == 0 {
			a.argue(it, e.arguments)
		}
	case "response.output_item.added":
		a.added(e.index, e.item)
	case "response.output_item.done":
		a.done(e.index, e.item)
	case "response.completed", "response.incomplete", "response.failed":
		failure = a.ended(string(e.typ[len("response."):]), e.response, whole)
	case "error":
		failure = a.end.Said(whole)
	case "":
		switch {
		case e.object == "response": // a server that does not stream
			failure = a.ended("", whole, whole)
		case e.failed:
			failure = a.end.Said(whole)
		}
	}
	return rest, true, failure
}

// open returns the item under way at an index.
func (a *answer) open(index int64) *item {
	for i := len(a.items) - 1; i >= 0; i-- {
		if it := a.items[i]; it.index == index {
			if it.done {
				return nil
			}
			return it
		}
	}
	return nil
}

// item returns the item of a kind at an index, begun here when the server left
// that out.
func (a *answer) item(index int64, typ session.BlockType) *item {
	if it := a.open(index); it != nil && it.typ == typ {
		return it
	}
	it := &item{index: index, typ: typ}
	a.items = append(a.items, it)
	return it
}

// part returns the session block for a content part, and begins it.
func (a *answer) part(it *item, content int64) *part {
	for _, p := range it.parts {
		if p.content == content || it.typ != session.BlockText {
			return p
		}
	}
	p := &part{content: content, number: a.next}
	a.next++
	it.parts = append(it.parts, p)
	a.y.Emit(session.Chunk{Type: session.ChunkBlockStart, Index: p.number, BlockType: it.typ})
	return p
}

func (a *answer) say(p *part, typ session.ChunkType, s string) {
	if s == "" {
		return
	}
	a.said = true
	p.text = append(p.text, s...)
	a.y.Emit(session.Chunk{Type: typ, Index: p.number, Text: s})
}

// think streams a summary. Its parts are paragraphs: they are set apart, since
// the log has one text for them.
func (a *answer) think(it *item, index int64, s string) {
	p := a.part(it, 0)
	if index != it.summary && s != "" {
		it.summary = index
		if len(p.text) > 0 {
			a.say(p, session.ChunkReasoning, "\n\n")
		}
	}
	a.say(p, session.ChunkReasoning, s)
}

func (a *answer) argue(it *item, s string) {
	if s == "" {
		return
	}
	p := it.parts[0]
	p.text = append(p.text, s...)
	a.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: p.number, Text: s})
}

// readItem reads an item. What is of a kind that it never has is absent, as
// everywhere; ok is false for what is no item at all.
func readItem(raw []byte) (o outputItem, ok bool) {
	err := json.Unmarshal(raw, &o)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return o, (err == nil || odd) && o.Type != ""
}

// arguments are those of a call: text that holds JSON, or the object itself.
type arguments string

// UnmarshalJSON implements json.Unmarshaler.
func (a *arguments) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		*a = arguments(raw)
		return nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	*a = arguments(s)
	return err
}

// outputItem is an item as it is added and done.
type outputItem struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	CallID    string    `json:"call_id"`
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Encrypted string `json:"encrypted_content"`
}

func (a *answer) added(index int64, raw []byte) {
	o, ok := readItem(raw)
	if !ok {
		return
	}
	if it := a.open(index); it != nil {
		a.close(it, nil) // a server that gives all items one index, or leaves out that one was done
	}
	a.begin(index, &o)
}

// begin opens an item. A call opens its block at once: it has its name.
func (a *answer) begin(index int64, o *outputItem) *item {
	var typ session.BlockType
	switch o.Type {
	case "message":
		typ = session.BlockText
	case "reasoning":
		typ = session.BlockReasoning
	case "function_call":
		typ = session.BlockToolCall
	}
	it := &item{index: index, typ: typ}
	a.items = append(a.items, it)
	switch typ {
	case session.BlockReasoning:
		a.part(it, 0)
	case session.BlockToolCall:
		a.calls++
		id := o.CallID
		if id == "" {
			id = o.ID
		}
		p := a.part(it, 0)
		a.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: p.number, ID: id, Name: o.Name})
	}
	return it
}

func (a *answer) done(index int64, raw []byte) {
	o, ok := readItem(raw)
	if !ok {
		return
	}
	it := a.open(index)
	if it == nil {
		if len(a.items) > 0 && a.known(index) {
			return // it was done already
		}
		it = a.begin(index, &o)
	}
	a.settle(it, &o)
}

// known reports whether an item at the index has been done.
func (a *answer) known(index int64) bool {
	for _, it := range a.items {
		if it.index == index && it.done {
			return true
		}
	}
	return false
}

// settle ends an item with what it says at its end, and streams what was not.
func (a *answer) settle(it *item, o *outputItem) {
	switch it.typ {
	case session.BlockText:
		for i, c := range o.Content {
			text := c.Text
			if c.Type == "refusal" {
				text, a.refused = c.Refusal, true
			}
			if text == "" {
				continue
			}
			if p := a.part(it, int64(i)); len(p.text) == 0 {
				a.say(p, session.ChunkText, text)
			}
		}
	case session.BlockReasoning:
		if len(a.part(it, 0).text) == 0 {
			for i, s := range o.Summary {
				a.think(it, int64(i), s.Text)
			}
			for i, c := range o.Content {
				if len(o.Summary) == 0 {
					a.think(it, int64(i), c.Text)
				}
			}
		}
	case session.BlockToolCall:
		if len(it.parts[0].text) == 0 {
			a.argue(it, string(o.Arguments))
		}
	}
	a.close(it, o)
}

// close ends an item's blocks. Reasoning keeps its id as its signature.
func (a *answer) close(it *item, o *outputItem) {
	if it.done {
		return
	}
	it.done = true
	for _, p := range it.parts {
		end := session.Chunk{Type: session.ChunkBlockEnd, Index: p.number}
		switch it.typ {
		case session.BlockToolCall:
			if len(p.text) == 0 && o != nil {
				a.argue(it, "{}")
			}
		case session.BlockReasoning:
			if o != nil {
				end.Block = &session.Block{Type: session.BlockReasoning, Text: string(p.text)}
				if o.Encrypted != "" {
					end.Block.Signature, end.Block.Redacted = o.ID, o.Encrypted
				}
			}
		}
		a.y.Emit(end)
	}
}

// ended takes the response that ends the stream.
func (a *answer) ended(status string, raw, whole []byte) *model.Error {
	var r struct {
		Status     string            `json:"status"`
		Output     []json.RawMessage `json:"output"`
		Error      *json.RawMessage  `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage json.RawMessage `json:"usage"`
	}
	_ = json.Unmarshal(raw, &r) // what is missing or odd is absent
	if status == "" {
		status = r.Status
	}
	if status == "failed" || status == "cancelled" || status == "" && r.Error != nil {
		return a.end.Said(whole)
	}
	// Servers that give all items one index have them listed by another.
	if !a.shared() {
		for i, o := range r.Output {
			a.done(int64(i), o)
		}
	}
	a.count(r.Usage)
	if status == "" {
		status = "completed"
	}
	a.status, a.reason = status, r.Incomplete.Reason
	return nil
}

// shared reports whether items share an index.
func (a *answer) shared() bool {
	return len(a.items) > 1 && a.items[0].index == a.items[1].index
}

// count reads a usage object. input_tokens holds what was read from the cache
// and written to it, which session.Usage counts apart: InputTokens is what
// remains. Reasoning is part of output_tokens.
func (a *answer) count(raw []byte) {
	var u struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		In     struct {
			Cached int64 `json:"cached_tokens"`
			Write  int64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	a.usage = &session.Usage{
		InputTokens: u.Input - u.In.Cached - u.In.Write, OutputTokens: u.Output,
		CacheReadTokens: u.In.Cached, CacheWriteTokens: u.In.Write, ReasoningTokens: u.Out.Reasoning,
	}
	if a.usage.InputTokens < 0 {
		a.usage.InputTokens = u.Input // a server that counts hits apart
	}
}

// Whole implements wire.Answer.
func (a *answer) Whole() bool { return a.status != "" }

// Done implements wire.Answer: the response that ends the stream is its last
// event.
func (a *answer) Done() bool { return a.status != "" }

// End implements wire.Answer.
func (a *answer) End() error {
	for _, it := range a.items {
		a.close(it, nil)
	}
	if a.usage != nil {
		a.y.Emit(session.Chunk{Type: session.ChunkUsage, Usage: a.usage})
	}
	kind, err := a.finish()
	if err != nil {
		return err
	}
	a.y.Emit(session.Chunk{Type: session.ChunkFinish, Finish: kind})
	return nil
}

// finish maps the status to what truly happened.
func (a *answer) finish() (session.FinishKind, error) {
	switch {
	case a.status == "incomplete" && a.reason == "content_filter":
		return session.FinishRefusal, nil
	case a.status == "incomplete":
		return session.FinishMaxTokens, nil
	case a.status != "completed":
		return "", model.Errorf(model.KindServer, "%s ended its answer with the unknown status %q", a.end.Name, wire.Clip(a.end.Clean(a.status), 60))
	case a.calls > 0:
		return session.FinishToolCalls, nil
	case a.refused:
		return session.FinishRefusal, nil
	case !a.said:
		return "", model.Errorf(model.KindEmpty, "%s answered with nothing: no text and no tool call; trying again usually helps", a.end.Name)
	}
	return session.FinishStop, nil
}
