package anthropic

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// Texts that stand where the wire wants some and there is none. They are fixed,
// as all that the model sees is.
const (
	noOutput     = "(no output)"
	emptyMessage = "(empty message)"
)

// cacheMark ends a prefix that the provider is to keep. Up to four are taken;
// they are no part of what the model sees (build-with-claude/prompt-caching).
// markedEnd stands where a marked block ends.
const (
	cacheMark = `,"cache_control":{"type":"ephemeral"}`
	markedEnd = cacheMark + `}`
)

// writer writes the body of a request.
//
// The body is a pure function of the request and the configuration. What is said
// is written block by block and byte for byte; nothing is joined, trimmed or
// wrapped. The wire wants user and assistant to alternate, so all that comes
// between two assistant messages is one user message: the tool results first, as
// the wire demands, then each block of each message as a block of its own.
//
// Blocks of text without a letter are left out, since the API refuses a request
// that has one ("text content blocks must contain non-whitespace text"), and the
// log would have every later request refused. A message with nothing else gets a
// note, so that the model knows of it.
type writer struct {
	wire.Body
	c    *Client
	info entry
	req  *model.Request
	// name is the model's, for telling own thinking from foreign.
	name string
	terms
	// n counts the blocks of the open message.
	n int
	// asked is the message whose calls the results at hand are of.
	asked *session.Message
}

// encode writes the request's body in one piece.
func (c *Client) encode(req *model.Request, said []byte, t terms) (body []byte, betas []string, err error) {
	parts, betas, err := c.write(req, said, t, new(written))
	return slices.Concat(parts...), betas, err
}

// write writes the request's body, in parts, and returns the betas that it needs.
// said are the blocks of a paused turn so far. known may hold the beginning of the
// messages; write leaves in it what the next request can build on.
func (c *Client) write(req *model.Request, said []byte, t terms, known *written) (body [][]byte, betas []string, err error) {
	params := req.Head.Config
	if params.Model == "" {
		params.Model = c.cfg.Model
	}
	if params.Model == "" {
		return nil, nil, fmt.Errorf("no model is named")
	}
	w := &writer{c: c, req: req, name: params.Model, terms: t, info: lookup(c.cfg.Provider, params.Model)}
	if c.cfg.Info != nil {
		w.info.Info = *c.cfg.Info
	}
	w.Raw(`{"model":`)
	w.Str(params.Model)
	w.Raw(`,"stream":true`)
	betas = w.think(&params)
	if err := known.Tools(&w.Body, req.Head.Tools, w.tool); err != nil {
		return nil, nil, err
	}
	if !blank(req.Head.System) {
		w.Raw(`,"system":[{"type":"text","text":`)
		w.Str(req.Head.System)
		w.Raw(cacheMark + `}]`)
	}
	w.Raw(`,"messages":[`)
	w.Part()
	at, err := w.messages(known)
	if err != nil {
		return nil, nil, err
	}
	body = at.marked(w.Parts, w.Dst)
	if len(said) > 0 {
		body = append(body, []byte(`,{"role":"assistant","content":[`), said, []byte(`]}`))
	}
	return append(body, []byte(`]}`)), betas, nil
}

// blank reports whether the API would refuse the text as empty: it strips what
// Python takes for white space.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }) == ""
}

// tool writes a tool. The last one ends a prefix: a system prompt that changes
// leaves the tools cached.
func (w *writer) tool(t *session.ToolSchema, last bool) error {
	w.Raw(`{"name":`)
	w.Str(t.Name)
	w.Raw(`,"description":`)
	w.Str(t.Description)
	w.Raw(`,"input_schema":`)
	err := w.Schema(t)
	if last {
		w.Raw(cacheMark)
	}
	w.Raw(`}`)
	return err
}

// written is what is kept of a conversation. It is kept without cache marks, which
// move with each request.
type written = wire.Written[place]

// place is where the writer stands between two messages of the wire.
type place struct {
	// some: a message stands before.
	some bool
	// user: the last run was one of user messages.
	user bool
	// ends are where the last blocks of the last two user messages end, 0 where
	// there is none.
	ends [2]int
}

// marked appends the messages to the parts of a body, with cache marks.
//
// The last user message ends the prefix that the next request reads from the
// cache. The one before is where the previous request ended; it is marked as
// well, since the provider looks back only twenty blocks from a mark for an
// older entry, and a step with many parallel calls has more.
func (p *place) marked(body [][]byte, messages []byte) [][]byte {
	from := 0
	for _, end := range p.ends {
		if end > 0 {
			body = append(body, messages[from:end-len(`}`)], []byte(markedEnd))
			from = end
		}
	}
	return append(body, messages[from:])
}

// messages writes the history behind what known has of it: runs of user and tool
// messages, and runs of assistant messages, by turns. The run at the end is
// written again should the next message belong to it, since results come first.
func (w *writer) messages(known *written) (place, error) {
	ms := w.req.Messages
	dst, at := known.Resume(wire.Key{Model: w.name, Reasoning: !w.bare, Terms: w.key()}, ms, func(end place, next *session.Message) bool { return !w.continues(end.user, next) })
	w.Dst = dst
	if at.Messages == len(ms) {
		return at.State, nil
	}
	p, safe := at.State, at
	for i := at.Messages; i < len(ms); {
		safe = wire.Place[place]{Messages: i, Bytes: len(w.Dst), State: p}
		switch ms[i].Role {
		case session.RoleUser, session.RoleTool, session.RoleAssistant:
		default:
			return p, fmt.Errorf("message %d has the unknown role %q", i, ms[i].Role)
		}
		p.user = ms[i].Role != session.RoleAssistant
		to := i + 1
		for to < len(ms) && w.continues(p.user, &ms[to]) {
			to++
		}
		w.asked = wire.Asked(ms[:i])
		w.run(&p, ms[i:to])
		i = to
	}
	known.Settle(ms, w.Dst, safe, wire.Place[place]{Messages: len(ms), Bytes: len(w.Dst), State: p})
	return p, nil
}

// continues reports whether a message belongs to the run before it. An assistant's
// that has nothing to be sent does not part two user messages.
func (w *writer) continues(user bool, m *session.Message) bool {
	switch m.Role {
	case session.RoleAssistant:
		return !user || !w.speaks(m)
	case session.RoleUser, session.RoleTool:
		return user
	}
	return false
}

// run writes a run as one message, unless there is nothing in it.
func (w *writer) run(p *place, ms []session.Message) {
	start := len(w.Dst)
	if p.some {
		w.Raw(`,`)
	}
	w.n = 0
	if p.user {
		w.Raw(`{"role":"user","content":[`)
		w.user(ms)
		p.ends = [2]int{p.ends[1], 0}
	} else {
		w.Raw(`{"role":"assistant","content":[`)
		for i := range ms {
			w.assistant(&ms[i])
		}
	}
	if w.n == 0 {
		w.Dst = w.Dst[:start]
		return
	}
	if p.user {
		p.ends[1] = len(w.Dst)
	}
	p.some = true
	w.Raw(`]}`)
}

// open begins a block of a message.
func (w *writer) open(typ string) {
	if w.n > 0 {
		w.Raw(`,`)
	}
	w.n++
	w.Raw(`{"type":"` + typ + `"`)
}

// text writes a text block unless the API would refuse it.
func (w *writer) text(s string) {
	if blank(s) {
		return
	}
	w.open("text")
	w.Raw(`,"text":`)
	w.Str(s)
	w.Raw(`}`)
}

// content writes a rendered block.
func (w *writer) content(b *session.Block) {
	if b.Type != session.BlockImage {
		w.text(b.Text)
		return
	}
	w.open("image")
	w.Raw(`,"source":{"type":"base64","media_type":`)
	w.Str(b.MimeType)
	w.Raw(`,"data":`)
	w.Str(b.Data)
	w.Raw(`}}`)
}

// user writes a run of user and tool messages as one message.
func (w *writer) user(ms []session.Message) {
	var images []session.Block
	for i := range ms {
		for j := range ms[i].Content {
			if b := &ms[i].Content[j]; b.Type == session.BlockToolResult {
				images = append(images, w.result(b)...)
			}
		}
	}
	for i := range images {
		w.content(&images[i])
	}
	for i := range ms {
		if ms[i].Role != session.RoleUser {
			continue
		}
		before, results := w.n, false
		for _, b := range ms[i].Content {
			results = results || b.Type == session.BlockToolResult
			for _, r := range model.Render(b, w.info.Images) {
				w.content(&r)
			}
		}
		if w.n == before && !results {
			w.text(emptyMessage)
		}
	}
}

// result writes a tool result. It returns images that must follow it: the API
// takes nothing but text in a result that is an error.
func (w *writer) result(b *session.Block) (images []session.Block) {
	w.open("tool_result")
	w.Raw(`,"tool_use_id":`)
	w.Str(w.callID(w.asked, b.CallID))
	w.Raw(`,"content":[`)
	outer := w.n
	w.n = 0
	for _, c := range b.Content {
		for _, r := range model.Render(c, w.info.Images) {
			if r.Type == session.BlockImage && b.IsError {
				if len(images) == 0 {
					images = append(images, session.Text("Images from the result of tool call "+b.CallID+":"))
				}
				images = append(images, r)
				continue
			}
			w.content(&r)
		}
	}
	if w.n == 0 {
		w.text(noOutput)
	}
	w.n = outer
	w.Raw(`]`)
	if b.IsError {
		w.Raw(`,"is_error":true`)
	}
	w.Raw(`}`)
	return images
}

// sends reports whether a block of an assistant message goes out.
func (w *writer) sends(m *session.Message, b *session.Block) bool {
	switch b.Type {
	case session.BlockText:
		return !blank(b.Text)
	case session.BlockToolCall:
		return true
	case session.BlockReasoning:
		sealed := b.Signature != "" || b.Redacted != "" && !wire.Parts(b)
		return !w.bare && w.own(m) && (sealed || w.unsigned && b.Text != "")
	}
	return false
}

// own reports whether a message's thinking may be sent: it is sealed by the
// provider that wrote it. Anthropic reads or silently drops what its other
// models wrote, and wants all of it sent (preserved-thinking, "Switching models
// mid-conversation"). Behind another address one name may stand for several
// vendors, so there the model must be the same or both be Claudes.
func (w *writer) own(m *session.Message) bool {
	if m.Provider != w.c.cfg.Provider {
		return false
	}
	return m.Model == w.name || isClaude(m.Model) && isClaude(w.name)
}

// speaks reports whether an assistant message has something beside thinking: the
// API does not take a message that ends with it, as that of a cut stream does.
func (w *writer) speaks(m *session.Message) bool {
	for i := range m.Content {
		if b := &m.Content[i]; b.Type != session.BlockReasoning && w.sends(m, b) {
			return true
		}
	}
	return false
}

// assistant writes what a model said, in its order.
func (w *writer) assistant(m *session.Message) {
	last := len(m.Content)
	for last > 0 && (m.Content[last-1].Type == session.BlockReasoning || !w.sends(m, &m.Content[last-1])) {
		last--
	}
	w.missing(m, last)
	for i := range last {
		b := &m.Content[i]
		switch {
		case !w.sends(m, b):
		case b.Type == session.BlockText:
			w.text(b.Text)
		case b.Type == session.BlockToolCall:
			w.open("tool_use")
			w.Raw(`,"id":`)
			w.Str(w.callID(m, b.ID))
			w.Raw(`,"name":`)
			w.Str(safeName(b.Name))
			w.Raw(`,"input":`)
			w.Raw(wire.Arguments(b.Arguments))
			w.Raw(`}`)
		case b.Redacted != "" && !wire.Parts(b):
			w.open("redacted_thinking")
			w.Raw(`,"data":`)
			w.Str(b.Redacted)
			w.Raw(`}`)
		default:
			w.open("thinking")
			w.Raw(`,"thinking":`)
			w.Str(b.Text)
			w.Raw(`,"signature":`)
			w.Str(b.Signature)
			w.Raw(`}`)
		}
	}
}

// missing writes thinking where it is demanded and there is none: the model said
// nothing of it, or another model was asked.
func (w *writer) missing(m *session.Message, last int) {
	calls := false
	for i := range last {
		b := &m.Content[i]
		if b.Type == session.BlockReasoning && w.sends(m, b) {
			return
		}
		calls = calls || b.Type == session.BlockToolCall
	}
	if w.unsigned && calls {
		w.open("thinking")
		w.Raw(`,"thinking":" ","signature":""}`)
	}
}

// callID is the id of a call in a message: as it came where the model that is asked
// wrote it behind another address than Anthropic's. LiteLLM keeps Gemini's thought
// signature in it (BerriAI/litellm#16895).
func (w *writer) callID(m *session.Message, id string) string {
	if !w.c.official && id != "" && w.own(m) {
		return id
	}
	return safeName(id)
}

// safeName makes an id or a name fit the wire's pattern, ^[a-zA-Z0-9_-]{1,128}$.
func safeName(s string) string { return wire.SafeName(s, 128) }
