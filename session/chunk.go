package session

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ChunkType discriminates a Chunk.
type ChunkType string

// The chunk types. The first seven are the reference's; the last three hold
// several consecutive deltas of one kind and block, with their token borders.
const (
	ChunkBlockStart      ChunkType = "block-start"
	ChunkText            ChunkType = "text-delta"
	ChunkReasoning       ChunkType = "reasoning-delta"
	ChunkToolCall        ChunkType = "tool-call-delta"
	ChunkBlockEnd        ChunkType = "block-end"
	ChunkUsage           ChunkType = "usage"
	ChunkFinish          ChunkType = "finish"
	ChunkPackedText      ChunkType = "text-chunks"
	ChunkPackedReasoning ChunkType = "reasoning-chunks"
	ChunkPackedToolCall  ChunkType = "tool-call-chunks"
)

// FinishKind is why a model stopped.
type FinishKind string

// The finish kinds.
const (
	FinishStop      FinishKind = "stop"
	FinishToolCalls FinishKind = "tool-calls"
	FinishMaxTokens FinishKind = "max-tokens"
	FinishRefusal   FinishKind = "refusal"
	FinishError     FinishKind = "error"
)

// Chunk is one event of a model's stream.
type Chunk struct {
	Type  ChunkType
	Index int
	// BlockType is block-start's.
	BlockType BlockType
	// Text is a text or reasoning delta, or a tool call's arguments delta.
	Text string
	// ID and Name are a tool-call delta's; empty on later deltas.
	ID, Name string
	// Block is block-end's: the finished block, which settles what the deltas
	// of its index made (a signature, redacted reasoning).
	Block *Block
	// Usage is usage's.
	Usage *Usage
	// Finish is finish's; Failure goes with FinishError.
	Finish  FinishKind
	Failure *ChunkFailure
	// Texts and Dt belong to the packed types: the deltas, and the ms between
	// each and the one before.
	Texts []string
	Dt    []int64
}

// ChunkFailure is the failure inside an error finish of a reference recording.
type ChunkFailure struct {
	Message string `json:"message"`
	Code    string `json:"code"`
}

type finishJSON struct {
	Kind    FinishKind    `json:"kind"`
	Failure *ChunkFailure `json:"failure,omitempty"`
}

// Packed reports whether the chunk holds several deltas.
func (c *Chunk) Packed() bool {
	return c.Type == ChunkPackedText || c.Type == ChunkPackedReasoning || c.Type == ChunkPackedToolCall
}

// MarshalJSON writes the shape of the chunk's type.
func (c Chunk) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil) }

// AppendJSON appends the chunk as JSON.
func (c *Chunk) AppendJSON(dst []byte) ([]byte, error) {
	w := objectWriter{dst: append(dst, '{')}
	w.str("type", string(c.Type))
	switch c.Type {
	case ChunkBlockStart:
		w.int("index", int64(c.Index))
		w.str("blockType", string(c.BlockType))
	case ChunkText, ChunkReasoning:
		w.int("index", int64(c.Index))
		w.str("text", c.Text)
	case ChunkToolCall:
		w.int("index", int64(c.Index))
		w.optStr("id", c.ID)
		w.optStr("name", c.Name)
		w.str("argumentsDelta", c.Text)
	case ChunkBlockEnd:
		w.int("index", int64(c.Index))
		if c.Block != nil {
			w.key("block")
			var err error
			if w.dst, err = c.Block.AppendJSON(w.dst); err != nil {
				return dst, err
			}
		}
	case ChunkUsage:
		w.key("usage")
		b, err := json.Marshal(c.Usage)
		if err != nil {
			return dst, err
		}
		w.dst = append(w.dst, b...)
	case ChunkFinish:
		w.key("reason")
		b, err := json.Marshal(finishJSON{c.Finish, c.Failure})
		if err != nil {
			return dst, err
		}
		w.dst = append(w.dst, b...)
	case ChunkPackedText, ChunkPackedReasoning, ChunkPackedToolCall:
		w.int("index", int64(c.Index))
		w.optStr("id", c.ID)
		w.optStr("name", c.Name)
		w.key("dt")
		w.dst = append(w.dst, '[')
		for i, d := range c.Dt {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst = appendInt(w.dst, d)
		}
		w.dst = append(w.dst, ']')
		if c.Type == ChunkPackedToolCall {
			w.key("args")
		} else {
			w.key("texts")
		}
		w.dst = append(w.dst, '[')
		for i, t := range c.Texts {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.dst = AppendString(w.dst, t)
		}
		w.dst = append(w.dst, ']')
	default:
		return dst, fmt.Errorf("encoding a chunk: unknown type %q", c.Type)
	}
	return append(w.dst, '}'), nil
}

// UnmarshalJSON reads any chunk shape. An unknown chunk type is kept with its
// type alone: a newer provider event does not make a log unreadable.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	var j struct {
		Type           ChunkType   `json:"type"`
		Index          int         `json:"index"`
		BlockType      BlockType   `json:"blockType"`
		Text           string      `json:"text"`
		ID             string      `json:"id"`
		Name           string      `json:"name"`
		ArgumentsDelta string      `json:"argumentsDelta"`
		Block          *Block      `json:"block"`
		Usage          *Usage      `json:"usage"`
		Reason         *finishJSON `json:"reason"`
		Dt             []int64     `json:"dt"`
		Texts          []string    `json:"texts"`
		Args           []string    `json:"args"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*c = Chunk{
		Type: j.Type, Index: j.Index, BlockType: j.BlockType, Text: j.Text,
		ID: j.ID, Name: j.Name, Block: j.Block, Usage: j.Usage, Dt: j.Dt, Texts: j.Texts,
	}
	switch j.Type {
	case ChunkToolCall:
		c.Text = j.ArgumentsDelta
	case ChunkPackedToolCall:
		c.Texts = j.Args
	case ChunkFinish:
		if j.Reason == nil {
			return fmt.Errorf("finish chunk has no reason")
		}
		c.Finish, c.Failure = j.Reason.Kind, j.Reason.Failure
	}
	return nil
}

// Assembler builds blocks from the chunks of one model stream. The zero value
// is ready.
type Assembler struct {
	blocks []*partial
	usage  *Usage
	finish FinishKind
}

type partial struct {
	index int
	typ   BlockType
	text  strings.Builder
	id    string
	name  string
	final *Block
}

// at returns the newest block of that index and kind. A block-start always
// opens a new one, so that a provider's reused index does not fuse two calls.
func (a *Assembler) at(index int, typ BlockType) *partial {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if b := a.blocks[i]; b.index == index && b.typ == typ {
			return b
		}
	}
	return a.open(index, typ)
}

func (a *Assembler) open(index int, typ BlockType) *partial {
	b := &partial{index: index, typ: typ}
	a.blocks = append(a.blocks, b)
	return b
}

// Add takes the next chunk.
func (a *Assembler) Add(c *Chunk) {
	switch c.Type {
	case ChunkBlockStart:
		a.open(c.Index, c.BlockType)
	case ChunkText:
		a.at(c.Index, BlockText).text.WriteString(c.Text)
	case ChunkReasoning:
		a.at(c.Index, BlockReasoning).text.WriteString(c.Text)
	case ChunkToolCall:
		a.tool(c).text.WriteString(c.Text)
	case ChunkPackedText, ChunkPackedReasoning:
		typ := BlockText
		if c.Type == ChunkPackedReasoning {
			typ = BlockReasoning
		}
		b := a.at(c.Index, typ)
		for _, t := range c.Texts {
			b.text.WriteString(t)
		}
	case ChunkPackedToolCall:
		b := a.tool(c)
		for _, t := range c.Texts {
			b.text.WriteString(t)
		}
	case ChunkBlockEnd:
		if c.Block != nil {
			a.at(c.Index, c.Block.Type).final = c.Block
		}
	case ChunkUsage:
		a.usage = c.Usage
	case ChunkFinish:
		a.finish = c.Finish
	}
}

func (a *Assembler) tool(c *Chunk) *partial {
	b := a.at(c.Index, BlockToolCall)
	if c.ID != "" {
		b.id = c.ID
	}
	if c.Name != "" {
		b.name = c.Name
	}
	return b
}

// Empty reports whether nothing that a person or a tool could use has arrived.
func (a *Assembler) Empty() bool {
	for _, b := range a.blocks {
		if b.text.Len() > 0 || b.final != nil || b.typ == BlockToolCall {
			return false
		}
	}
	return true
}

// Shown reports whether text or reasoning has arrived, which is shown as it
// streams.
func (a *Assembler) Shown() bool {
	for _, b := range a.blocks {
		if b.typ != BlockToolCall && b.text.Len() > 0 {
			return true
		}
	}
	return false
}

// Usage returns the last usage seen, nil when none came.
func (a *Assembler) Usage() *Usage { return a.usage }

// Finish returns the finish kind, empty while the stream is open.
func (a *Assembler) Finish() FinishKind { return a.finish }

// Blocks returns the blocks in the order in which they opened. Tool calls are
// left out when withCalls is false: a cut stream's calls may be incomplete. A
// text block that stayed empty is left out; an empty reasoning block is kept.
func (a *Assembler) Blocks(withCalls bool) []Block {
	out := make([]Block, 0, len(a.blocks))
	for _, b := range a.blocks {
		blk := Block{Type: b.typ, Text: b.text.String()}
		if b.typ == BlockToolCall {
			blk = Block{Type: BlockToolCall, ID: b.id, Name: b.name, Arguments: b.text.String()}
		}
		if b.final != nil {
			blk = *b.final
		}
		if blk.Type == BlockToolCall && !withCalls || blk.Type == BlockText && blk.Text == "" {
			continue
		}
		out = append(out, blk)
	}
	return out
}
