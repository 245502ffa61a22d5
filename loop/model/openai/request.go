package openai

import (
	"fmt"
	"slices"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// Bounds of what a strict server would refuse for ever: a tool name that a model
// invented is letters, digits, _ and - (OpenAI's rule), and so is the id of a call
// of another model, at the length that all take. A model's own goes back as it
// came: LiteLLM keeps Gemini's thought signature in it, some thousand characters
// (BerriAI/litellm#16895, #18160).
const (
	maxName   = 64
	maxCallID = 40
)

// callID is the id of a call in a message as it is sent back.
func (w *writer) callID(m *session.Message, id string) string {
	if w.terms.has(shortIDs) {
		return shortID(id)
	}
	if w.own(m) {
		return id
	}
	return wire.SafeName(id, maxCallID)
}

// noOutput stands in for a tool result without text: several servers refuse an
// empty one. It is fixed, as all that the model sees is.
const noOutput = "(no output)"

// noAnswer stands for an assistant's message where roles alternate and there is
// none.
const noAnswer = "(no answer)"

// writer writes the body of a request.
//
// The body is a pure function of the request and the configuration. What is
// said is written block by block and byte for byte: a message of one text block
// is a plain string, one of several is an array with one part a block. Nothing
// is joined, trimmed or wrapped. Where the wire takes one string alone (tool
// results outside OpenAI, an assistant message written by another provider's
// model), text blocks are separated by one line end.
type writer struct {
	wire.Body
	c      *Client
	info   entry
	req    *model.Request
	name   string
	terms  terms
	thinks bool
	// gemini: the model is one, which refuses a result without its tool's name, and
	// not always by saying so.
	gemini  bool
	message int
	// images are those of tool results, which the wire takes from users alone:
	// they follow in a user message after the last result of the batch.
	images []part
	// waiting is a user's message that may go on, where roles alternate; last is the
	// role of the last message.
	waiting []part
	last    string
}

// part is one element of a content array.
type part struct{ text, image string }

// encode writes the request's body in one piece.
func (c *Client) encode(req *model.Request) ([]byte, error) {
	body, err := c.write(req, 0, new(written))
	return slices.Concat(body...), err
}

// written is what is kept of a conversation; the state of its writer is how many
// messages the wire has of it.
type written = wire.Written[int]

// write writes the body, in parts: the head, the messages, of which known may hold
// the beginning, and the end. It leaves in known what the next request can build
// on.
func (c *Client) write(req *model.Request, terms terms, known *written) ([][]byte, error) {
	params := req.Head.Config
	if params.Model == "" {
		params.Model = c.cfg.Model
	}
	if params.Model == "" {
		return nil, fmt.Errorf("no model is named")
	}
	w := &writer{c: c, info: c.info(params.Model), req: req, name: params.Model, terms: terms}
	w.gemini = c.dialect == dialectGeneric && strings.Contains(strings.ToLower(w.name), "gemini")
	w.Raw(`{"model":`)
	w.Str(params.Model)
	w.Raw(`,"stream":true`)
	if !terms.has(noUsage) {
		w.Raw(`,"stream_options":{"include_usage":true}`)
	}
	w.limits(&params)
	w.effort(params.ReasoningEffort)
	if c.dialect == dialectOpenAI && req.SessionID != "" && !terms.has(noCacheKey) {
		w.Raw(`,"prompt_cache_key":`)
		w.Str(req.SessionID)
	}
	if err := known.Tools(&w.Body, req.Head.Tools, w.tool); err != nil {
		return nil, err
	}
	w.Raw(`,"messages":[`)
	if req.Head.System != "" {
		w.open("system")
		w.Str(req.Head.System)
		w.Raw(`}`)
	}
	head := w.Dst
	if err := w.messages(known, wire.Key{Model: params.Model, Reasoning: w.thinks, Terms: uint16(terms)}); err != nil {
		return nil, err
	}
	if req.Head.System != "" && len(w.Dst) > 0 {
		head = append(head, ',')
	}
	return append(w.Parts, head, w.Dst, []byte(`]}`)), nil
}

// messages writes the conversation behind what known has of it. The images of a
// batch of tool results come after its last result: should the next message be
// one more, they are written again behind that.
func (w *writer) messages(known *written, key wire.Key) error {
	msgs := w.req.Messages
	dst, at := known.Resume(key, msgs, func(_ int, next *session.Message) bool { return next.Role != session.RoleTool })
	w.Dst, w.message = dst, at.State
	if at.Messages == len(msgs) {
		return nil
	}
	safe := at
	for i := at.Messages; i < len(msgs); i++ {
		m := &msgs[i]
		if m.Role != session.RoleTool {
			w.flushImages()
		}
		switch m.Role {
		case session.RoleUser:
			w.user(m)
		case session.RoleAssistant:
			w.assistant(m)
		case session.RoleTool:
			w.results(m, wire.Asked(msgs[:i]))
		default:
			return fmt.Errorf("message %d has the unknown role %q", i, m.Role)
		}
		if len(w.images) == 0 { // else more results may come before the images
			safe = wire.Place[int]{Messages: i + 1, Bytes: len(w.Dst), State: w.message}
		}
	}
	w.flushImages()
	w.flushWaiting()
	known.Settle(msgs, w.Dst, safe, wire.Place[int]{Messages: len(msgs), Bytes: len(w.Dst), State: w.message})
	return nil
}

// open begins a message up to its content.
func (w *writer) open(role string) {
	if role != "user" {
		w.flushWaiting()
	}
	if w.message > 0 {
		w.Raw(`,`)
	}
	w.message++
	w.last = role
	w.Raw(`{"role":"` + role + `","content":`)
}

// limits bounds the output. OpenAI has no low default and calls the field
// otherwise; unknown servers are left to their own default.
func (w *writer) limits(p *session.Params) {
	n := p.MaxTokens
	if n == 0 {
		n = w.c.cfg.MaxTokens
	}
	if w.c.dialect == dialectDeepSeek && n == 0 {
		n = deepseekMaxTokens
	}
	name := "max_tokens"
	if (w.c.dialect == dialectOpenAI) != w.terms.has(otherLimit) {
		name = "max_completion_tokens"
	}
	if w.info.MaxOutput > 0 {
		n = min(n, w.info.MaxOutput)
	}
	if n > 0 && !w.terms.has(noLimit) {
		w.Raw(`,"` + name + `":`)
		w.Int(n)
	}
}

// effort maps the session's effort (off, low, medium, high, max, or what the
// person wrote) to the wire's.
func (w *writer) effort(effort string) {
	effort = strings.ToLower(effort)
	if w.terms.has(lessEffort) && (effort == "max" || effort == "xhigh") {
		effort = "high"
	}
	switch w.c.dialect {
	case dialectDeepSeek:
		// Thinking is on by default. The mapping of levels that it has not is
		// that of its documents (guides/thinking_mode, note 2).
		w.thinks = effort != "off" && effort != "none"
		if effort == "" || w.terms.has(noEffort) {
			return
		}
		switch effort {
		case "off", "none":
			w.Raw(`,"thinking":{"type":"disabled"}`)
			return
		case "minimal":
			effort = "low"
		case "medium", "xhigh":
			effort = "high"
		}
		w.Raw(`,"thinking":{"type":"enabled"}`)
	case dialectOpenAI:
		if w.info.known && len(w.info.efforts) == 0 {
			return
		}
		if w.info.noThinkTools && len(w.req.Head.Tools) > 0 && w.c.end.Host == "api.openai.com" {
			effort = "none"
		}
		if effort == "" {
			return
		}
		effort = wire.Effort(effort, w.info.efforts)
	default:
		if effort == "" || effort == "off" {
			return
		}
	}
	if !w.terms.has(noEffort) {
		w.Raw(`,"reasoning_effort":`)
		w.Str(effort)
	}
}

func (w *writer) tool(t *session.ToolSchema, _ bool) error {
	w.Raw(`{"type":"function","function":{"name":`)
	w.Str(t.Name)
	w.Raw(`,"description":`)
	w.Str(t.Description)
	w.Raw(`,"parameters":`)
	err := w.Schema(t)
	w.Raw(`}}`)
	return err
}

// parts renders blocks for the wire.
func (w *writer) parts(blocks []session.Block) []part {
	out := make([]part, 0, len(blocks))
	for _, b := range blocks {
		for _, r := range model.Render(b, w.info.Images) {
			if r.Type == session.BlockImage {
				out = append(out, part{image: "data:" + r.MimeType + ";base64," + r.Data})
			} else {
				out = append(out, part{text: r.Text})
			}
		}
	}
	return out
}

func (w *writer) content(ps []part) {
	switch {
	case len(ps) == 0:
		w.Raw(`""`)
		return
	case len(ps) == 1 && ps[0].image == "":
		w.Str(ps[0].text)
		return
	}
	for i, p := range ps {
		if i == 0 {
			w.Raw(`[`)
		} else {
			w.Raw(`,`)
		}
		if p.image != "" {
			w.Raw(`{"type":"image_url","image_url":{"url":`)
			w.Str(p.image)
			w.Raw(`}}`)
			continue
		}
		w.Raw(`{"type":"text","text":`)
		w.Str(p.text)
		w.Raw(`}`)
	}
	w.Raw(`]`)
}

func (w *writer) user(m *session.Message) { w.userMessage(w.parts(m.Content)) }

// userMessage writes a message of a user, or keeps it for more to come where roles
// alternate: each block is then a part of the one message.
func (w *writer) userMessage(ps []part) {
	if w.terms.has(alternate) {
		w.waiting = append(w.waiting, ps...)
		return
	}
	w.users(ps)
}

// users writes parts as a user's message; where a server takes strings alone, a text
// each as a message of its own: nothing that a person or a hook said is joined.
func (w *writer) users(ps []part) {
	apart := w.terms.has(flat) && !slices.ContainsFunc(ps, func(p part) bool { return p.image != "" })
	for first := true; first || len(ps) > 0; first = false {
		next := ps
		if apart && len(ps) > 1 {
			next = ps[:1]
		}
		ps = ps[len(next):]
		if w.terms.has(alternate) && (!first || w.last == "tool") {
			w.open("assistant")
			w.Str(noAnswer)
			w.Raw(`}`)
		}
		w.open("user")
		w.content(next)
		w.Raw(`}`)
	}
}

func (w *writer) flushWaiting() {
	ps := w.waiting
	if len(ps) == 0 {
		return
	}
	w.waiting = nil
	w.users(ps)
}

// assistant writes what a model said. Content is null for who asks for it alone:
// DeepSeek and several gateways refuse that (Oaklight/llm-rosetta#356), and the
// empty string is taken by nearly all.
func (w *writer) assistant(m *session.Message) {
	var texts []part
	var reasoning []string
	calls := 0
	for _, b := range m.Content {
		switch b.Type {
		case session.BlockText:
			texts = append(texts, part{text: b.Text})
		case session.BlockReasoning:
			reasoning = append(reasoning, b.Text)
		case session.BlockToolCall:
			calls++
		}
	}
	if len(texts) == 0 && calls == 0 {
		// It thought and said nothing. Servers refuse a message without either
		// ("content or tool_calls must be set", "must not be empty").
		return
	}
	w.open("assistant")
	switch {
	case w.terms.has(nullContent) && joinText(texts) == "":
		w.Raw(`null`)
	case w.parted():
		w.content(texts)
	default:
		w.Str(joinText(texts))
	}
	w.reasoning(m, reasoning, calls > 0)
	i := 0
	for _, b := range m.Content {
		if b.Type != session.BlockToolCall {
			continue
		}
		if i == 0 {
			w.Raw(`,"tool_calls":[`)
		} else {
			w.Raw(`,`)
		}
		i++
		w.Raw(`{"id":`)
		w.Str(w.callID(m, b.ID))
		w.Raw(`,"type":"function","function":{"name":`)
		w.Str(wire.SafeName(b.Name, maxName))
		w.Raw(`,"arguments":`)
		w.Str(wire.Arguments(b.Arguments))
		w.Raw(`}`)
		w.sealed(m, &b)
		w.Raw(`}`)
	}
	if i > 0 {
		w.Raw(`]`)
	}
	w.Raw(`}`)
}

// reasoning sends a thinking answer's reasoning back to who wants it. DeepSeek
// refuses a history whose turns with tool calls lack it, be it empty
// (deepseek-harness 0.1.1-rc.2, model client; earendil-works/pi#3636), the last
// message of such a turn included (MoonshotAI/kimi-cli#2141): that of another
// provider's model is left out, and the empty string put in its place while
// DeepSeek thinks. Of the others some refuse the field and some refuse to be
// without it: see terms.
func (w *writer) reasoning(m *session.Message, texts []string, calls bool) {
	switch {
	case w.c.dialect == dialectOpenAI, w.terms.has(noReasoning):
	case w.c.dialect == dialectDeepSeek:
		own := m.Provider == "" || m.Provider == w.c.cfg.Provider || strings.HasPrefix(m.Provider, "deepseek")
		switch {
		case own && len(texts) > 0:
			w.Raw(`,"reasoning_content":`)
			w.Str(strings.Join(texts, ""))
		case w.thinks:
			w.Raw(`,"reasoning_content":""`)
		}
	default:
		said := strings.Join(texts, "")
		switch {
		case w.details(m) || !w.terms.has(askedReasoning) && !wantsReasoning(w.name):
		case w.own(m) && said != "":
			w.Raw(`,"reasoning_content":`)
			w.Str(said)
		case calls && w.terms.has(askedReasoning):
			// Moonshot takes an empty one for none (openclaw/openclaw#59689).
			w.Raw(`,"reasoning_content":" "`)
		}
	}
}

// parted reports whether what is not a user's may have parts. That OpenAI's own
// endpoint takes them does not say that those which call themselves compatible do.
func (w *writer) parted() bool {
	return w.c.dialect == dialectOpenAI && w.c.end.Host == "api.openai.com"
}

func joinText(ps []part) string {
	if len(ps) == 1 {
		return ps[0].text
	}
	var out []string
	for _, p := range ps {
		out = append(out, p.text)
	}
	return strings.Join(out, "\n")
}

// results writes tool results, each a message of its own, of the calls of an
// assistant's message.
func (w *writer) results(m, asked *session.Message) {
	for _, b := range m.Content {
		if b.Type != session.BlockToolResult {
			continue
		}
		var texts []part
		pictures := 0
		for _, p := range w.parts(b.Content) {
			switch {
			case p.image != "":
				if pictures == 0 {
					w.images = append(w.images, part{text: "Images from the result of tool call " + b.CallID + ":"})
				}
				w.images = append(w.images, p)
				pictures++
			case p.text != "":
				texts = append(texts, p)
			}
		}
		switch {
		case len(texts) > 0:
		case pictures > 0:
			texts = []part{{text: "(the images follow in the next message)"}}
		default:
			texts = []part{{text: noOutput}}
		}
		w.open("tool")
		if w.parted() {
			w.content(texts)
		} else {
			w.Str(joinText(texts))
		}
		w.Raw(`,"tool_call_id":`)
		w.Str(w.callID(asked, b.CallID))
		if w.terms.has(toolNames) || w.gemini {
			w.toolName(asked, b.CallID)
		}
		w.Raw(`}`)
	}
}

// toolName writes which tool a result is of.
func (w *writer) toolName(asked *session.Message, callID string) {
	for i := range asked.Content {
		if b := &asked.Content[i]; b.Type == session.BlockToolCall && b.ID == callID {
			w.Raw(`,"name":`)
			w.Str(wire.SafeName(b.Name, maxName))
			return
		}
	}
}

func (w *writer) flushImages() {
	if len(w.images) == 0 {
		return
	}
	w.userMessage(w.images)
	w.images = nil
}
