package session

import "time"

// Packing bounds: a pack is closed when it holds this many deltas or bytes, so
// that no line of the log grows without end.
const (
	packMaxDeltas = 512
	packMaxBytes  = 32 << 10
)

// Packer joins consecutive deltas of one block into one chunk, token borders
// kept. Its owner decides when waiting deltas must go out (Flush).
type Packer struct {
	open  Chunk
	n     int
	bytes int
	last  time.Time
}

// Add takes a chunk and returns those that are now complete, in order: none
// while a delta joins the open pack. now is when it arrived.
func (p *Packer) Add(c Chunk, now time.Time) []Chunk {
	if c.Type != ChunkText && c.Type != ChunkReasoning && c.Type != ChunkToolCall {
		out := p.Flush()
		return append(out, c)
	}
	if p.n > 0 && p.joins(&c) {
		p.open.Texts = append(p.open.Texts, c.Text)
		p.open.Dt = append(p.open.Dt, now.Sub(p.last).Milliseconds())
		p.n++
		p.bytes += len(c.Text)
		p.last = now
		return nil
	}
	out := p.Flush()
	p.open, p.n, p.bytes, p.last = c, 1, len(c.Text), now
	p.open.Texts = append(make([]string, 0, 16), c.Text)
	p.open.Dt = append(make([]int64, 0, 16), 0)
	return out
}

func (p *Packer) joins(c *Chunk) bool {
	return c.Type == p.open.Type && c.Index == p.open.Index && p.n < packMaxDeltas && p.bytes < packMaxBytes &&
		(c.ID == "" || c.ID == p.open.ID) && (c.Name == "" || c.Name == p.open.Name)
}

// Flush closes the open pack and returns it, nil when there is none.
func (p *Packer) Flush() []Chunk {
	if p.n == 0 {
		return nil
	}
	c := p.open
	if p.n == 1 {
		c.Texts, c.Dt = nil, nil
	} else {
		c.Text = ""
		switch c.Type {
		case ChunkText:
			c.Type = ChunkPackedText
		case ChunkReasoning:
			c.Type = ChunkPackedReasoning
		default:
			c.Type = ChunkPackedToolCall
		}
	}
	*p = Packer{}
	return []Chunk{c}
}

// Unpack returns the single deltas of a packed chunk, or the chunk itself.
func (c *Chunk) Unpack() []Chunk {
	var typ ChunkType
	switch c.Type {
	case ChunkPackedText:
		typ = ChunkText
	case ChunkPackedReasoning:
		typ = ChunkReasoning
	case ChunkPackedToolCall:
		typ = ChunkToolCall
	default:
		return []Chunk{*c}
	}
	out := make([]Chunk, len(c.Texts))
	for i, t := range c.Texts {
		out[i] = Chunk{Type: typ, Index: c.Index, Text: t}
		if i == 0 {
			out[i].ID, out[i].Name = c.ID, c.Name
		}
	}
	return out
}
