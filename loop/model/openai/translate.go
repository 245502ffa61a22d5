package openai

import (
	"encoding/json"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// translator turns the events of one answer into session chunks. Deltas go out
// as they come; block ends, usage and finish wait for the end of the stream,
// since usage may follow the finish and may come more than once.
//
// Blocks are numbered in the order in which they open: one of reasoning, one of
// text, one a tool call.
type translator struct {
	y   *wire.Yield
	end *wire.Endpoint
	ev  event

	next            int
	text, reasoning int // block numbers, -1 while not open
	// sawReasoning: a reasoning field came, perhaps empty. DeepSeek begins each
	// thinking answer with an empty one, and wants it back even if no more came.
	sawReasoning  bool
	saidReasoning bool
	thought       []byte
	details       details
	calls         []*toolCall
	refused       bool
	finish        string
	// marked: the end mark was there.
	marked bool
	usage  *session.Usage
	// filter, when not nil, sees the answer's text first: some models write tool
	// calls into it.
	filter *markupFilter
	// broken is why the answer cannot be used, said by the filter.
	broken *model.Error
}

// toolCall is one call of the answer under way.
type toolCall struct {
	block    int
	index    int64
	hasIndex bool
	id, name string
	args     []byte
	sealed   string
}

var (
	_ wire.Answer = (*translator)(nil)
	_ wire.Marked = (*translator)(nil)
)

func newTranslator(y *wire.Yield, end *wire.Endpoint) *translator {
	return &translator{y: y, end: end, text: -1, reasoning: -1}
}

// Event implements wire.Answer.
func (t *translator) Event(data, name []byte) (rest []byte, ok bool, failure *model.Error) {
	rest, ok = t.ev.parse(data)
	if !ok {
		return nil, false, nil
	}
	said := t.ev.failure
	if said == nil && string(name) == "error" {
		said = data[:len(data)-len(rest)]
	}
	if said != nil {
		return rest, true, t.end.Said(said)
	}
	t.event(&t.ev)
	return rest, true, t.broken
}

// Mark implements wire.Marked.
func (t *translator) Mark() { t.marked = true }

// Whole implements wire.Answer. Servers leave out one or the other: the finish
// reason, or the end mark.
func (t *translator) Whole() bool { return t.finish != "" || t.marked }

// Done implements wire.Answer.
func (t *translator) Done() bool { return t.marked }

// event takes what one event says, which is no failure.
func (t *translator) event(e *event) {
	if e.usage != nil {
		t.usage = e.usage
	}
	said := e.reasoning != "" // then the details say the same
	for _, raw := range e.details {
		e.hasReasoning = true
		if says := t.details.add(raw); !said {
			e.reasoning += says
		}
	}
	if e.hasReasoning {
		t.sawReasoning = true
		if e.reasoning != "" {
			t.think(e.reasoning)
		}
	}
	if e.content != "" {
		if t.filter != nil {
			t.filter.text(t, e.content)
		} else {
			t.say(e.content)
		}
	}
	if e.refusal != "" {
		t.refused = true
		t.say(e.refusal)
	}
	for i := range e.calls {
		t.deltaCall(&e.calls[i])
	}
	if e.finish != "" {
		t.finish = e.finish
	}
}

func (t *translator) open(typ session.BlockType) int {
	if typ != session.BlockReasoning && t.sawReasoning && t.reasoning < 0 {
		// The reasoning was empty. It still comes before what follows it.
		t.reasoning = t.open(session.BlockReasoning)
	}
	n := t.next
	t.next++
	t.y.Emit(session.Chunk{Type: session.ChunkBlockStart, Index: n, BlockType: typ})
	return n
}

func (t *translator) think(s string) {
	if t.reasoning < 0 {
		t.reasoning = t.open(session.BlockReasoning)
	}
	t.saidReasoning = true
	t.thought = append(t.thought, s...)
	t.y.Emit(session.Chunk{Type: session.ChunkReasoning, Index: t.reasoning, Text: s})
}

func (t *translator) say(s string) {
	if t.text < 0 {
		t.text = t.open(session.BlockText)
	}
	t.y.Emit(session.Chunk{Type: session.ChunkText, Index: t.text, Text: s})
}

func (t *translator) deltaCall(d *callDelta) {
	c := t.match(d)
	fresh := c == nil
	if fresh {
		c = &toolCall{index: d.index, hasIndex: d.hasIndex, block: t.open(session.BlockToolCall)}
		t.calls = append(t.calls, c)
	}
	out := session.Chunk{Type: session.ChunkToolCall, Index: c.block, Text: d.args}
	// An id is settled once; a name is repeated by some servers, and comes in
	// growing pieces from others.
	if d.id != "" && c.id == "" {
		c.id, out.ID = d.id, d.id
	}
	if d.name != "" && d.name != c.name {
		c.name, out.Name = d.name, d.name
	}
	if !fresh && c.whole() && d.args == string(c.args) {
		d.args, out.Text = "", "" // some servers end with the whole call once more
	}
	c.args = append(c.args, d.args...)
	if d.sealed != "" {
		c.sealed = d.sealed
	}
	if out.ID != "" || out.Name != "" || out.Text != "" {
		t.y.Emit(out)
	}
}

// match returns the call that a delta continues, nil when it begins a new one.
// An index alone does not tell: servers give parallel calls one index, start at
// 1, or leave it out (ollama/ollama#15457).
func (t *translator) match(d *callDelta) *toolCall {
	var cur *toolCall
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := t.calls[i]
		if d.hasIndex && c.hasIndex && c.index != d.index {
			continue
		}
		if cur == nil {
			cur = c
		}
		if d.id != "" && c.id == d.id {
			return c
		}
	}
	if cur == nil {
		return nil
	}
	if d.id != "" {
		// A new id at a used place is a new call, unless the call at hand has no
		// id yet, or has begun and this is no beginning: that needs a name.
		switch {
		case d.name == "" && !cur.whole():
			return cur
		case cur.id == "" && d.name == cur.name && len(cur.args) == 0:
			return cur
		}
		return nil
	}
	if d.name == "" || cur.name == "" {
		return cur
	}
	switch {
	case cur.whole() && strings.TrimSpace(d.args) != "":
		return nil
	case d.name != cur.name && len(cur.args) == 0 && !strings.HasPrefix(d.name, cur.name):
		return nil
	}
	return cur
}

// addCall adds a call that came whole.
func (t *translator) addCall(name, args string) {
	c := &toolCall{block: t.open(session.BlockToolCall), name: name, args: []byte(args)}
	t.calls = append(t.calls, c)
	t.y.Emit(session.Chunk{Type: session.ChunkToolCall, Index: c.block, Name: name, Text: args})
}

// whole reports whether the arguments are complete JSON.
func (c *toolCall) whole() bool { return len(c.args) > 0 && json.Valid(c.args) }

// End implements wire.Answer.
func (t *translator) End() error {
	if t.filter != nil {
		t.filter.end(t)
	}
	if t.broken != nil {
		return t.broken
	}
	if t.sawReasoning && t.reasoning < 0 {
		t.reasoning = t.open(session.BlockReasoning)
	}
	for n := range t.next {
		t.y.Emit(session.Chunk{Type: session.ChunkBlockEnd, Index: n, Block: t.settled(n)})
	}
	if t.usage != nil {
		t.y.Emit(session.Chunk{Type: session.ChunkUsage, Usage: t.usage})
	}
	kind, err := t.finishKind()
	if err != nil {
		return err
	}
	t.y.Emit(session.Chunk{Type: session.ChunkFinish, Finish: kind})
	return nil
}

// settled is a block with what the provider has sealed of it, nil where that is
// nothing.
func (t *translator) settled(n int) *session.Block {
	if n == t.reasoning {
		if sealed := t.details.sealed(); sealed != "" {
			return &session.Block{Type: session.BlockReasoning, Text: string(t.thought), Redacted: sealed}
		}
		return nil
	}
	for _, c := range t.calls {
		if c.block == n && c.sealed != "" {
			return &session.Block{Type: session.BlockToolCall, ID: c.id, Name: c.name, Arguments: string(c.args), Signature: c.sealed}
		}
	}
	return nil
}

// finishKind maps the finish reason to what truly happened. Some servers say
// stop beside tool calls, or tool_calls without any.
func (t *translator) finishKind() (session.FinishKind, error) {
	if t.finish == "insufficient_system_resource" {
		// DeepSeek: the request was interrupted for want of capacity.
		return "", model.Errorf(model.KindOverloaded, "%s broke off its answer for want of capacity: try again later", t.end.Name)
	}
	kind := session.FinishStop // only the end mark was there
	if t.finish != "" {
		if err := t.end.Unfinished(t.finish, t.text >= 0 || t.saidReasoning || len(t.calls) > 0); err != nil {
			return "", err
		}
		kind = wire.Finish(t.finish)
	}
	switch {
	case kind != session.FinishStop:
	case len(t.calls) > 0:
		return session.FinishToolCalls, nil
	case t.refused:
		return session.FinishRefusal, nil
	case t.text < 0 && !t.saidReasoning:
		return "", model.Errorf(model.KindEmpty, "%s answered with nothing: no text and no tool call; trying again usually helps", t.end.Name)
	}
	return kind, nil
}
