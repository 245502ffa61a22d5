package responses

import (
	"fmt"
	"slices"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// noOutput stands in for a tool result without text, which several servers
// refuse. It is fixed, as all that the model sees is.
const noOutput = "(no output)"

// writer writes the body of a request.
//
// The body is a pure function of the request and the configuration. What is said
// is written block by block and byte for byte: each message of a user is an item
// of its own, with one part a block. Nothing is joined, trimmed or wrapped, but
// for tool results at other addresses than OpenAI's, which take one string alone:
// there text blocks are separated by one line end.
type writer struct {
	wire.Body
	c       *Client
	info    entry
	req     *model.Request
	name    string
	without without
	items   int
	// images are those of tool results where only users may send some: they
	// follow in a user message after the last result of the batch.
	images []session.Block
}

// encode writes the request's body in one piece.
func (c *Client) encode(req *model.Request, without without) ([]byte, error) {
	body, err := c.write(req, without, new(written))
	return slices.Concat(body...), err
}

// written is what is kept of a conversation; the state of its writer is how many
// items the wire has of it.
type written = wire.Written[int]

// write writes the body, in parts: the head, the items, of which known may hold
// the beginning, and the end. It leaves in known what the next request can build
// on.
func (c *Client) write(req *model.Request, without without, known *written) ([][]byte, error) {
	params := req.Head.Config
	if params.Model == "" {
		params.Model = c.cfg.Model
	}
	if params.Model == "" {
		return nil, fmt.Errorf("no model is named")
	}
	w := &writer{c: c, req: req, name: params.Model, without: without, info: lookup(c.cfg.Provider, params.Model)}
	if c.cfg.Info != nil {
		w.info.Info = *c.cfg.Info
	}
	w.Raw(`{"model":`)
	w.Str(params.Model)
	w.Raw(`,"stream":true,"store":false`)
	if c.official {
		// Padding that hides the length of deltas is not worth its bytes here.
		w.Raw(`,"stream_options":{"include_obfuscation":false}`)
	}
	w.limit(&params)
	w.reasoning(params.ReasoningEffort)
	if c.official && req.SessionID != "" {
		w.Raw(`,"prompt_cache_key":`)
		w.Str(req.SessionID)
	}
	if err := known.Tools(&w.Body, req.Head.Tools, w.tool); err != nil {
		return nil, err
	}
	if req.Head.System != "" {
		w.Raw(`,"instructions":`)
		w.Str(req.Head.System)
	}
	w.Raw(`,"input":[`)
	w.Part()
	if err := w.input(known); err != nil {
		return nil, err
	}
	return append(w.Parts, w.Dst, []byte(`]}`)), nil
}

// input writes the conversation behind what known has of it. Where the images of a
// batch of tool results come after its last result, they are written again should
// the next message be one more.
func (w *writer) input(known *written) error {
	msgs := w.req.Messages
	dst, at := known.Resume(wire.Key{Model: w.name, Reasoning: !w.without.reasoning}, msgs,
		func(_ int, next *session.Message) bool { return next.Role != session.RoleTool })
	w.Dst, w.items = dst, at.State
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
		if len(w.images) == 0 {
			safe = wire.Place[int]{Messages: i + 1, Bytes: len(w.Dst), State: w.items}
		}
	}
	w.flushImages()
	known.Settle(msgs, w.Dst, safe, wire.Place[int]{Messages: len(msgs), Bytes: len(w.Dst), State: w.items})
	return nil
}

// open begins an item of the input.
func (w *writer) open(typ string) {
	if w.items > 0 {
		w.Raw(`,`)
	}
	w.items++
	w.Raw(`{"type":"` + typ + `"`)
}

// limit bounds the output where somebody set a bound; the wire's own default is
// the model's limit.
func (w *writer) limit(p *session.Params) {
	n := p.MaxTokens
	if n == 0 {
		n = w.c.cfg.MaxTokens
	}
	if w.info.MaxOutput > 0 {
		n = min(n, w.info.MaxOutput)
	}
	if n > 0 && !w.without.limit {
		w.Raw(`,"max_output_tokens":`)
		w.Int(n)
	}
}

// reasoning asks for reasoning: its effort, a summary of it to show to people,
// and its encrypted self to send back. A model that does not reason refuses all
// three.
func (w *writer) reasoning(effort string) {
	if w.info.known && len(w.info.efforts) == 0 {
		return
	}
	effort = strings.ToLower(effort)
	var fields []string
	if effort != "" && !w.without.effort {
		fields = append(fields, `"effort":`+string(session.AppendString(nil, wire.Effort(effort, w.info.efforts))))
	}
	if !w.without.summary && effort != "off" && effort != "none" && (w.info.known || w.c.official) {
		fields = append(fields, `"summary":"auto"`)
	}
	if len(fields) > 0 {
		w.Raw(`,"reasoning":{` + strings.Join(fields, ",") + `}`)
	}
	if !w.without.include {
		w.Raw(`,"include":["reasoning.encrypted_content"]`)
	}
}

// tool writes a tool. Strict mode, on by default here, would have schemas
// with optional fields rewritten or refused.
func (w *writer) tool(t *session.ToolSchema, _ bool) error {
	w.Raw(`{"type":"function","name":`)
	w.Str(t.Name)
	w.Raw(`,"description":`)
	w.Str(t.Description)
	w.Raw(`,"strict":false,"parameters":`)
	err := w.Schema(t)
	w.Raw(`}`)
	return err
}

// parts writes rendered blocks as the content of a message or a result.
func (w *writer) parts(blocks []session.Block) {
	w.Raw(`[`)
	for i, b := range blocks {
		if i > 0 {
			w.Raw(`,`)
		}
		if b.Type == session.BlockImage {
			w.Raw(`{"type":"input_image","image_url":`)
			w.Str("data:" + b.MimeType + ";base64," + b.Data)
		} else {
			w.Raw(`{"type":"input_text","text":`)
			w.Str(b.Text)
		}
		w.Raw(`}`)
	}
	w.Raw(`]`)
}

func (w *writer) render(blocks []session.Block) []session.Block {
	out := make([]session.Block, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, model.Render(b, w.info.Images)...)
	}
	return out
}

func (w *writer) user(m *session.Message) { w.userItem(w.render(m.Content)) }

func (w *writer) userItem(blocks []session.Block) {
	if len(blocks) == 0 {
		blocks = []session.Block{session.Text("")}
	}
	w.open("message")
	w.Raw(`,"role":"user","content":`)
	w.parts(blocks)
	w.Raw(`}`)
}

// sends reports whether a block of an assistant message goes out.
//
// Reasoning does when this provider sealed it. OpenAI reads what its other
// models sealed, or says that it cannot, and post deals with that; elsewhere one
// provider's name may stand for several vendors, and the model must be the same.
func (w *writer) sends(m *session.Message, b *session.Block) bool {
	switch b.Type {
	case session.BlockText:
		return b.Text != ""
	case session.BlockToolCall:
		return true
	case session.BlockReasoning:
		return !w.without.reasoning && b.Redacted != "" && !wire.Parts(b) && m.Provider == w.c.cfg.Provider && (w.c.official || m.Model == w.name)
	}
	return false
}

// assistant writes what a model said, each block an item. Reasoning without an
// item after it is refused ("provided without its required following item"), so
// that of a cut stream stays out.
func (w *writer) assistant(m *session.Message) {
	last := len(m.Content)
	for last > 0 && (m.Content[last-1].Type == session.BlockReasoning || !w.sends(m, &m.Content[last-1])) {
		last--
	}
	call := -1
	for i := range last {
		if m.Content[i].Type == session.BlockToolCall {
			call = i
		}
	}
	for i := range last {
		b := &m.Content[i]
		switch {
		case !w.sends(m, b):
		case b.Type == session.BlockText:
			w.open("message")
			w.Raw(`,"role":"assistant"`)
			if w.info.phases && w.c.official {
				// What is said before a call is on the way; the log does not keep
				// the phase that the provider gave, and the two agree.
				if i < call {
					w.Raw(`,"phase":"commentary"`)
				} else {
					w.Raw(`,"phase":"final_answer"`)
				}
			}
			w.Raw(`,"content":[{"type":"output_text","text":`)
			w.Str(b.Text)
			w.Raw(`}]}`)
		case b.Type == session.BlockToolCall:
			w.open("function_call")
			w.Raw(`,"call_id":`)
			w.Str(w.callID(m, b.ID))
			w.Raw(`,"name":`)
			w.Str(wire.SafeName(b.Name, 64))
			w.Raw(`,"arguments":`)
			w.Str(wire.Arguments(b.Arguments))
			w.Raw(`}`)
		default:
			w.open("reasoning")
			if b.Signature != "" {
				w.Raw(`,"id":`)
				w.Str(b.Signature)
			}
			w.Raw(`,"summary":[`)
			if b.Text != "" {
				w.Raw(`{"type":"summary_text","text":`)
				w.Str(b.Text)
				w.Raw(`}`)
			}
			w.Raw(`],"encrypted_content":`)
			w.Str(b.Redacted)
			w.Raw(`}`)
		}
	}
}

// callID is the id of a call in a message: as it came where the model that is asked
// wrote it, behind another address than OpenAI's.
func (w *writer) callID(m *session.Message, id string) string {
	if !w.c.official && id != "" && m.Provider == w.c.cfg.Provider && m.Model == w.name {
		return id
	}
	return wire.SafeName(id, 64)
}

// results writes tool results, each an item, of the calls of an assistant's
// message.
func (w *writer) results(m, asked *session.Message) {
	for i := range m.Content {
		b := &m.Content[i]
		if b.Type != session.BlockToolResult {
			continue
		}
		blocks := slices.DeleteFunc(w.render(b.Content), func(r session.Block) bool {
			return r.Type == session.BlockText && r.Text == ""
		})
		if !w.c.official {
			blocks = w.plain(b.CallID, blocks)
		}
		if len(blocks) == 0 {
			blocks = []session.Block{session.Text(noOutput)}
		}
		w.open("function_call_output")
		w.Raw(`,"call_id":`)
		w.Str(w.callID(asked, b.CallID))
		w.Raw(`,"output":`)
		if len(blocks) == 1 && blocks[0].Type == session.BlockText {
			w.Str(blocks[0].Text)
		} else {
			w.parts(blocks)
		}
		w.Raw(`}`)
	}
}

// plain makes a result one text, and keeps its images for a user message.
func (w *writer) plain(callID string, blocks []session.Block) []session.Block {
	var texts []string
	images := 0
	for _, b := range blocks {
		if b.Type != session.BlockImage {
			texts = append(texts, b.Text)
			continue
		}
		if images == 0 {
			w.images = append(w.images, session.Text("Images from the result of tool call "+callID+":"))
		}
		images++
		w.images = append(w.images, b)
	}
	switch {
	case len(texts) > 0:
		return []session.Block{session.Text(strings.Join(texts, "\n"))}
	case images > 0:
		return []session.Block{session.Text("(the images follow in the next message)")}
	}
	return nil
}

func (w *writer) flushImages() {
	if len(w.images) > 0 {
		w.userItem(w.images)
		w.images = nil
	}
}
