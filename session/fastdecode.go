package session

import (
	"encoding/json"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder reads JSON in exactly the form in which this package writes it: no
// blanks, known members, their order. Opening a session decodes its whole log,
// and encoding/json would spend most of that time on checking each line several
// times. At the first byte of any other form it gives up (ok is false) and the
// caller leaves the payload to encoding/json, which alone decides what is valid;
// a test holds the two to the same answer.
type decoder struct {
	b  []byte
	i  int
	ok bool
	// scratch holds a string with escapes while it is read.
	scratch []byte
}

// maxScratch is the largest scratch that is kept from one event to the next.
const maxScratch = 64 << 10

// decoders keeps scratch space between events.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// fastEvent decodes a line in the form in which AppendEvent writes it. ok is
// false when encoding/json has to do it.
func fastEvent(line []byte) (ev Event, ok bool) {
	seq, ts, rest, ok := cutFront(line)
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '}' {
		return Event{}, false
	}
	r := decoders.Get().(*decoder)
	defer func() {
		r.b = nil
		decoders.Put(r)
	}()
	r.b, r.i, r.ok = rest[:len(rest)-1], 0, true
	t := Type(r.lit(`,"type":`).name())
	if !r.lit(`,"data":`).ok {
		return Event{}, false
	}
	raw := r.b[r.i:]
	if d, ok := r.data(t); ok {
		return Event{Seq: seq, Time: ts, Data: d}, true
	}
	// Failure, and what an unknown type holds, is for the caller to find out.
	d := New(t)
	if d == nil || json.Unmarshal(raw, d) != nil {
		return Event{}, false
	}
	return Event{Seq: seq, Time: ts, Data: d}, true
}

// data decodes the rest of b as the payload of a frequent or large event.
func (r *decoder) data(t Type) (Data, bool) {
	var d Data
	switch t {
	case TypeAssistantChunk:
		d = r.assistantChunk()
	case TypeAssistantMessage:
		d = r.assistantMessage()
	case TypeToolCall:
		d = r.toolCall()
	case TypeToolResult:
		d = r.toolResult()
	case TypeUserMessage:
		d = r.userMessage()
	case TypeSteeringMessage:
		d = r.steeringMessage()
	case TypeContextMessage:
		d = r.contextMessage()
	case TypeTurnStart:
		d = &TurnStart{Turn: int(r.lit(`{"turn":`).int())}
	case TypeStepStart:
		turn, step := r.turnStep()
		d = &StepStart{Turn: turn, Step: step}
	case TypeStepEnd:
		turn, step := r.turnStep()
		d = &StepEnd{Turn: turn, Step: step}
	case TypeRequestSent:
		d = r.requestSent()
	case TypeUsage:
		d = r.usageReport()
	default:
		return nil, false
	}
	r.lit("}")
	return d, r.ok && r.i == len(r.b)
}

func (r *decoder) turnStep() (turn, step int) {
	turn = int(r.lit(`{"turn":`).int())
	step = int(r.lit(`,"step":`).int())
	return turn, step
}

func (r *decoder) assistantChunk() *AssistantChunk {
	d := new(AssistantChunk)
	d.Turn, d.Step = r.turnStep()
	r.lit(`,"chunk":`).chunk(&d.Chunk)
	return d
}

func (r *decoder) assistantMessage() *AssistantMessage {
	d := new(AssistantMessage)
	d.Turn, d.Step = r.turnStep()
	r.message(&d.Message)
	if r.opt(`,"usage":`) {
		d.Usage = r.usage()
	}
	d.Stop = FinishKind(r.optStr(`,"stop":`))
	if r.opt(`,"interrupted":`) {
		d.Interrupted = r.bool()
	}
	return d
}

func (r *decoder) toolCall() *ToolCall {
	d := new(ToolCall)
	d.Turn, d.Step = r.turnStep()
	d.CallID = r.lit(`,"callId":`).str()
	d.Name = r.lit(`,"name":`).str()
	d.Arguments = r.lit(`,"arguments":`).str()
	return d // with an input it is left to encoding/json
}

func (r *decoder) toolResult() *ToolResult {
	d := new(ToolResult)
	d.Turn, d.Step = r.turnStep()
	r.message(&d.Message)
	if r.opt(`,"meta":`) {
		// Small beside the content, and open-ended: encoding/json reads it. It
		// ends where the payload does.
		if r.i >= len(r.b)-1 || r.b[r.i] != '{' || json.Unmarshal(r.b[r.i:len(r.b)-1], &d.Meta) != nil {
			r.ok = false
			return d
		}
		r.i = len(r.b) - 1
	}
	return d
}

func (r *decoder) userMessage() *UserMessage {
	d := new(UserMessage)
	if r.opt(`{"id":`) {
		d.ID = r.str()
		r.lit(`,"content":`)
	} else {
		r.lit(`{"content":`)
	}
	d.Content = r.blocks()
	r.lit(`,"source":`).source(&d.Source)
	return d
}

func (r *decoder) steeringMessage() *SteeringMessage {
	d := new(SteeringMessage)
	d.Turn = int(r.lit(`{"turn":`).int())
	d.Content = r.lit(`,"content":`).blocks()
	r.lit(`,"source":`).source(&d.Source)
	return d
}

func (r *decoder) contextMessage() *ContextMessage {
	d := new(ContextMessage)
	d.Content = r.lit(`{"content":`).blocks()
	r.lit(`,"source":`).source(&d.Source)
	return d
}

func (r *decoder) requestSent() *RequestSent {
	d := new(RequestSent)
	d.Turn, d.Step = r.turnStep()
	d.Attempt = int(r.lit(`,"attempt":`).int())
	d.Digest = r.lit(`,"digest":`).str()
	return d
}

func (r *decoder) usageReport() *UsageReport {
	d := new(UsageReport)
	d.Turn, d.Step = r.turnStep()
	if u := r.lit(`,"usage":`).usage(); u != nil {
		d.Usage = *u
	}
	if r.opt(`,"window":`) {
		d.Window = r.int()
	}
	if r.opt(`,"output":`) {
		d.Output = r.int()
	}
	return d // with a cost it is left to encoding/json
}

func (r *decoder) message(m *LoggedMessage) {
	r.lit(`,"message":{`)
	if r.opt(`"id":`) {
		m.ID = r.str()
		r.lit(",")
	}
	m.Role = Role(r.lit(`"role":`).name())
	m.Content = r.lit(`,"content":`).blocks()
	r.lit(`,"source":`).source(&m.Source)
	r.lit("}")
}

func (r *decoder) source(s *Source) {
	s.Kind = r.lit(`{"kind":`).name()
	s.Name = r.optStr(`,"name":`)
	s.Event = r.optStr(`,"event":`)
	s.Handler = r.optStr(`,"handler":`)
	s.CallID = r.optStr(`,"callId":`)
	s.Provider = r.optStr(`,"provider":`)
	s.Model = r.optStr(`,"model":`)
	r.lit("}")
}

func (r *decoder) usage() *Usage {
	u := new(Usage)
	u.InputTokens = r.lit(`{"inputTokens":`).int()
	u.OutputTokens = r.lit(`,"outputTokens":`).int()
	if r.opt(`,"cacheReadTokens":`) {
		u.CacheReadTokens = r.int()
	}
	if r.opt(`,"cacheWriteTokens":`) {
		u.CacheWriteTokens = r.int()
	}
	if r.opt(`,"reasoningTokens":`) {
		u.ReasoningTokens = r.int()
	}
	r.lit("}")
	return u
}

func (r *decoder) blocks() []Block {
	if r.opt("[]") {
		return []Block{}
	}
	r.lit("[")
	var out []Block
	for r.ok {
		out = append(out, Block{})
		r.block(&out[len(out)-1])
		if !r.opt(",") {
			break
		}
	}
	r.lit("]")
	return out
}

func (r *decoder) block(b *Block) {
	b.Type = BlockType(r.lit(`{"type":`).name())
	switch b.Type {
	case BlockText:
		b.Text = r.lit(`,"text":`).str()
	case BlockReasoning:
		b.Text = r.lit(`,"text":`).str()
		b.Signature = r.optStr(`,"signature":`)
		b.Redacted = r.optStr(`,"redacted":`)
	case BlockToolCall:
		b.ID = r.lit(`,"id":`).str()
		b.Name = r.lit(`,"name":`).str()
		b.Arguments = r.lit(`,"arguments":`).str()
		b.Signature = r.optStr(`,"signature":`)
	case BlockToolResult:
		b.CallID = r.lit(`,"toolCallId":`).str()
		b.Content = r.lit(`,"content":`).blocks()
		b.IsError = r.lit(`,"isError":`).bool()
	case BlockImage, BlockAudio:
		b.Data = r.lit(`,"data":`).str()
		b.MimeType = r.lit(`,"mimeType":`).str()
		b.URI = r.optStr(`,"uri":`)
	default:
		r.ok = false
		return
	}
	r.lit("}")
}

func (r *decoder) chunk(c *Chunk) {
	c.Type = ChunkType(r.lit(`{"type":`).name())
	switch c.Type {
	case ChunkBlockStart:
		c.Index = int(r.lit(`,"index":`).int())
		c.BlockType = BlockType(r.lit(`,"blockType":`).name())
	case ChunkText, ChunkReasoning:
		c.Index = int(r.lit(`,"index":`).int())
		c.Text = r.lit(`,"text":`).str()
	case ChunkToolCall:
		c.Index = int(r.lit(`,"index":`).int())
		c.ID = r.optStr(`,"id":`)
		c.Name = r.optStr(`,"name":`)
		c.Text = r.lit(`,"argumentsDelta":`).str()
	case ChunkBlockEnd:
		c.Index = int(r.lit(`,"index":`).int())
		if r.opt(`,"block":`) {
			c.Block = new(Block)
			r.block(c.Block)
		}
	case ChunkUsage:
		c.Usage = r.lit(`,"usage":`).usage()
	case ChunkFinish:
		c.Finish = FinishKind(r.lit(`,"reason":{"kind":`).name())
		r.lit("}")
	case ChunkPackedText, ChunkPackedReasoning, ChunkPackedToolCall:
		r.pack(c)
	default:
		r.ok = false
		return
	}
	r.lit("}")
}

func (r *decoder) pack(c *Chunk) {
	c.Index = int(r.lit(`,"index":`).int())
	c.ID = r.optStr(`,"id":`)
	c.Name = r.optStr(`,"name":`)
	r.lit(`,"dt":[`)
	c.Dt = make([]int64, 0, 32)
	for r.ok && !r.opt("]") {
		if len(c.Dt) > 0 {
			r.lit(",")
		}
		c.Dt = append(c.Dt, r.int())
	}
	if c.Type == ChunkPackedToolCall {
		r.lit(`,"args":[`)
	} else {
		r.lit(`,"texts":[`)
	}
	c.Texts = make([]string, 0, len(c.Dt))
	for r.ok && !r.opt("]") {
		if len(c.Texts) > 0 {
			r.lit(",")
		}
		c.Texts = append(c.Texts, r.str())
	}
}

// lit takes exactly s.
func (r *decoder) lit(s string) *decoder {
	if !r.opt(s) {
		r.ok = false
	}
	return r
}

// opt takes s if it comes next.
func (r *decoder) opt(s string) bool {
	if !r.ok || len(r.b)-r.i < len(s) || string(r.b[r.i:r.i+len(s)]) != s {
		return false
	}
	r.i += len(s)
	return true
}

func (r *decoder) optStr(key string) string {
	if r.opt(key) {
		return r.str()
	}
	return ""
}

func (r *decoder) bool() bool {
	if r.opt("true") {
		return true
	}
	r.lit("false")
	return false
}

func (r *decoder) int() int64 {
	if !r.ok {
		return 0
	}
	neg := r.opt("-")
	start, v := r.i, int64(0)
	for r.i < len(r.b) && '0' <= r.b[r.i] && r.b[r.i] <= '9' {
		v = v*10 + int64(r.b[r.i]-'0')
		r.i++
	}
	// 9 digits fit an int on every platform, which is all that counts here.
	if n := r.i - start; n == 0 || n > 9 || n > 1 && r.b[start] == '0' || neg && v == 0 {
		r.ok = false
	}
	if neg {
		return -v
	}
	return v
}

// names are the strings that recur in every log: one copy of each will do.
var names = func() map[string]string {
	m := map[string]string{}
	for _, s := range []string{
		SourceUser, SourceHook, SourceAgent, SourceTool, SourceClient, SourceModel, string(RoleAssistant),
		string(BlockText), string(BlockReasoning), string(BlockToolCall), string(BlockToolResult),
		string(BlockImage), string(BlockAudio), string(BlockResourceLink), string(BlockResource),
		string(ChunkBlockStart), string(ChunkText), string(ChunkReasoning), string(ChunkToolCall), string(ChunkBlockEnd),
		string(ChunkUsage), string(ChunkFinish), string(ChunkPackedText), string(ChunkPackedReasoning), string(ChunkPackedToolCall),
		string(FinishStop), string(FinishToolCalls), string(FinishMaxTokens), string(FinishRefusal), string(FinishError),
	} {
		m[s] = s
	}
	for _, t := range Types {
		m[string(t)] = string(t)
	}
	return m
}()

// name is str for a string that is probably one of names.
func (r *decoder) name() string {
	s := r.raw()
	if n, ok := names[string(s)]; ok {
		return n
	}
	return string(s)
}

// str takes a string.
func (r *decoder) str() string { return string(r.raw()) }

// raw takes a string and returns its bytes, valid until the next call.
func (r *decoder) raw() []byte {
	if !r.lit(`"`).ok {
		return nil
	}
	start := r.i
	var high byte
	for ; r.i < len(r.b); r.i++ {
		c := r.b[r.i]
		high |= c
		switch {
		case c == '"':
			s := r.b[start:r.i]
			if high >= utf8.RuneSelf && !utf8.Valid(s) {
				r.ok = false
			}
			r.i++
			return s
		case c == '\\':
			return r.escaped(start)
		case c < 0x20:
			r.ok = false
			return nil
		}
	}
	r.ok = false
	return nil
}

// escaped takes the rest of a string that began at start and has an escape at
// the current place.
func (r *decoder) escaped(start int) []byte {
	out, run := r.scratch[:0], start
	defer func() {
		if cap(out) <= maxScratch {
			r.scratch = out
		}
	}()
	for r.i < len(r.b) {
		switch c := r.b[r.i]; {
		case c == '"':
			out = append(out, r.b[run:r.i]...)
			r.i++
			if !utf8.Valid(out) {
				r.ok = false
			}
			return out
		case c == '\\':
			out = append(out, r.b[run:r.i]...)
			out = r.escape(out)
			if !r.ok {
				return nil
			}
			run = r.i
		case c < 0x20:
			r.ok = false
			return nil
		default:
			r.i++
		}
	}
	r.ok = false
	return nil
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape takes one escape. A lone surrogate is left to encoding/json.
func (r *decoder) escape(out []byte) []byte {
	if r.i+1 >= len(r.b) {
		r.ok = false
		return out
	}
	c := r.b[r.i+1]
	if e := escapes[c]; e != 0 {
		r.i += 2
		return append(out, e)
	}
	u := r.hex4()
	if utf16.IsSurrogate(u) {
		u = utf16.DecodeRune(u, r.hex4())
		if u == utf8.RuneError {
			r.ok = false
		}
	}
	return utf8.AppendRune(out, u)
}

// hex4 takes a \u and its four hexadecimal digits.
func (r *decoder) hex4() rune {
	if len(r.b)-r.i < 6 || r.b[r.i] != '\\' || r.b[r.i+1] != 'u' {
		r.ok = false
		return 0
	}
	var v rune
	for _, c := range r.b[r.i+2 : r.i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			r.ok = false
			return 0
		}
		v = v<<4 | rune(c)
	}
	r.i += 6
	return v
}
