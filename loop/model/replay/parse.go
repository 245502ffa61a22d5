package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// row is a line of either log format; only our own lines have seq and ts.
type row struct {
	Type    string          `json:"type"`
	Version *int            `json:"version"`
	Cwd     string          `json:"cwd"`
	Data    json.RawMessage `json:"data"`
}

// parser finds the model calls in a log.
//
// Our own log marks each with request/sent, so that a call which failed before
// its first chunk is found too: what ended it stands in model/retry or turn/end.
// The reference's log has no such mark; there a call begins with its first
// chunk and ends with its finish, which may be an error. In both, a stream that
// has no finish ended as its turn did: cancelled means that it hung until then,
// an error is that error, anything else a connection that broke. A committed
// message without chunks was logged without them and is made into a stream.
type parser struct {
	name string
	own  bool
	// scenario: the log is that of a scenario, with tokens for what each run has
	// its own of.
	scenario bool
	calls    []call
	// open is whether the last call has not ended.
	open bool
	// unclaimed is whether the last call finished and no message has committed
	// it yet.
	unclaimed bool
	// failed is whether the last call ended in an error in the turn at hand, so
	// that a retry or the turn's end can say more of it.
	failed bool
	asides map[string]*reel
	// at is the position of what comes next.
	at             position
	window, output int64
}

func parse(name string, r io.Reader) (*script, error) {
	p := &parser{name: name}
	br := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := br.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, err
		}
		if n == 1 { // some programs of Windows begin a text so
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if body := bytes.TrimSpace(line); len(body) > 0 {
			var rw row
			uerr := json.Unmarshal(body, &rw)
			switch {
			case uerr != nil && last && n > 1:
				// A torn tail: its writer was killed. What precedes it counts.
			case uerr != nil:
				return nil, fmt.Errorf("line %d is not JSON: %w", n, uerr)
			case n == 1:
				if err := p.header(&rw); err != nil {
					return nil, err
				}
			default:
				if err := p.row(&rw); err != nil {
					return nil, fmt.Errorf("line %d (%s): %w", n, rw.Type, err)
				}
			}
		} else if n == 1 {
			return nil, errors.New("it is empty")
		}
		if last {
			break
		}
	}
	p.cut()
	s := &script{name: name, scenario: p.scenario, reel: reel{calls: p.calls}, asides: p.asides, window: p.window, output: p.output}
	for _, reel := range s.reels() {
		for i := range reel.calls {
			reel.calls[i].templated = templated(reel.calls[i].chunks, s.scenario)
		}
	}
	return s, nil
}

func (p *parser) header(rw *row) error {
	if rw.Type != "session" || rw.Version == nil {
		return errors.New("the first line is not a session header")
	}
	p.scenario = rw.Cwd == cwdToken
	switch *rw.Version {
	case 0:
	case session.Version:
		p.own = true
	default:
		return fmt.Errorf("log version %d is not one that can be replayed (0, the reference's, and %d)", *rw.Version, session.Version)
	}
	return nil
}

// position is where a row belongs.
type position struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

func (p *parser) row(rw *row) error {
	switch rw.Type {
	case "request/sent":
		var at position
		if err := json.Unmarshal(rw.Data, &at); err != nil {
			return err
		}
		p.cut()
		p.begin(at)
	case "assistant/chunk":
		var d struct {
			position
			Chunk session.Chunk `json:"chunk"`
		}
		if err := json.Unmarshal(rw.Data, &d); err != nil {
			return err
		}
		if !known(d.Chunk.Type) {
			return fmt.Errorf("unknown chunk type %q", d.Chunk.Type)
		}
		p.chunk(d.position, d.Chunk)
	case string(session.ChunkPackedText), string(session.ChunkPackedReasoning), string(session.ChunkPackedToolCall):
		return p.packed(rw)
	case "assistant/message":
		return p.message(rw.Data)
	case "compaction":
		return p.compaction(rw.Data)
	case "hook/request":
		return p.asked(rw.Data)
	case "hook/answer":
		return p.answered(rw.Data)
	case "turn/start", "step/start":
		p.cut()
		p.at = position{}
		return json.Unmarshal(rw.Data, &p.at)
	case "usage":
		var d session.UsageReport
		if p.own && p.window == 0 && json.Unmarshal(rw.Data, &d) == nil {
			p.window, p.output = d.Window, d.Output
		}
	case "model/retry", "llm/retry":
		var d struct {
			Failure failure `json:"failure"`
		}
		if err := json.Unmarshal(rw.Data, &d); err != nil {
			return err
		}
		p.fail(&d.Failure, true)
	case "turn/end":
		return p.turnEnd(rw.Data)
	}
	return nil
}

func (p *parser) last() *call { return &p.calls[len(p.calls)-1] }

func (p *parser) begin(at position) {
	p.calls = append(p.calls, call{
		where: fmt.Sprintf("call %d of %s (turn %d, step %d)", len(p.calls)+1, p.name, at.Turn, at.Step),
		turn:  at.Turn, step: at.Step,
	})
	p.open, p.unclaimed, p.failed = true, false, false
}

// cut ends an open call of which nothing says how it ended.
func (p *parser) cut() {
	if p.open {
		p.fail(&failure{Kind: string(model.KindStreamClosed), Message: "the recorded stream ends here"}, false)
		p.last().err.Retryable = false
	}
}

func (p *parser) chunk(at position, c session.Chunk) {
	if p.open && (p.last().turn != at.Turn || p.last().step != at.Step) {
		p.cut()
	}
	if !p.open {
		p.begin(at)
	}
	if c.Type == session.ChunkFinish {
		if c.Finish == session.FinishError {
			f := failure{Message: "the recorded answer ended in an error"}
			if c.Failure != nil {
				f.Message, f.Code = c.Failure.Message, c.Failure.Code
			}
			p.fail(&f, false)
			return
		}
		p.open, p.unclaimed = false, true
	}
	p.last().chunks = append(p.last().chunks, c)
}

// known reports whether a chunk is one that can be served: the log takes no
// other.
func known(t session.ChunkType) bool {
	switch t {
	case session.ChunkBlockStart, session.ChunkText, session.ChunkReasoning, session.ChunkToolCall, session.ChunkBlockEnd, session.ChunkUsage,
		session.ChunkFinish, session.ChunkPackedText, session.ChunkPackedReasoning, session.ChunkPackedToolCall:
		return true
	}
	return false
}

// packed reads a packed row of the reference: the chunk is the row itself.
func (p *parser) packed(rw *row) error {
	var d struct {
		position
		Index int      `json:"index"`
		ID    string   `json:"id"`
		Name  string   `json:"name"`
		Dt    []int64  `json:"dt"`
		Texts []string `json:"texts"`
		Args  []string `json:"args"`
	}
	if err := json.Unmarshal(rw.Data, &d); err != nil {
		return err
	}
	c := session.Chunk{Type: session.ChunkType(rw.Type), Index: d.Index, ID: d.ID, Name: d.Name, Dt: d.Dt, Texts: d.Texts}
	if c.Type == session.ChunkPackedToolCall {
		c.Texts = d.Args
	}
	p.chunk(d.position, c)
	return nil
}

func (p *parser) message(data json.RawMessage) error {
	var head struct {
		position
		Interrupted bool `json:"interrupted"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	if head.Interrupted {
		return nil // what cut it stands at the turn's end
	}
	if p.unclaimed {
		p.unclaimed = false
		return nil
	}
	var m session.AssistantMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if !p.open {
		p.begin(head.position)
	}
	c := p.last()
	if len(c.chunks) == 0 {
		c.chunks = synthesise(m.Message.Content)
	}
	if m.Usage != nil {
		c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkUsage, Usage: m.Usage})
	}
	c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkFinish, Finish: stopOf(m.Stop, &m.Message)})
	p.open = false
	return nil
}

// compaction reads the request for a summary and how it ended. One that begins
// while a call is open begins because that call did not fit; one that had a digest
// is a call, whatever came of it. A summary whose stream is not in the log is made
// into one; without usage it asked no model.
func (p *parser) compaction(data json.RawMessage) error {
	var d session.Compaction
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if d.Status == "in_progress" {
		if p.open {
			p.fail(&failure{Kind: string(model.KindContextOverflow), Message: "the recorded request did not fit"}, false)
		}
		if d.Digest != "" {
			p.begin(p.at)
		}
		return nil
	}
	if p.unclaimed {
		p.unclaimed = false
		return nil
	}
	if d.Status != "completed" {
		if p.open && d.Error != "" {
			p.fail(&failure{Kind: string(model.KindServer), Message: d.Error}, false)
		}
		return nil
	}
	if !p.open && d.Usage == nil {
		return nil
	}
	if !p.open {
		p.begin(position{})
	}
	c := p.last()
	if len(c.chunks) == 0 {
		c.chunks = synthesise(d.Content)
	}
	if d.Usage != nil {
		c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkUsage, Usage: d.Usage})
	}
	c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop})
	p.open = false
	return nil
}

func (p *parser) turnEnd(data json.RawMessage) error {
	var d struct {
		Reason struct {
			Kind  string   `json:"kind"`
			Error *failure `json:"error"`
		} `json:"reason"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	switch {
	case d.Reason.Error != nil:
		p.fail(d.Reason.Error, d.Reason.Error.Retryable)
	case p.open && (d.Reason.Kind == string(session.EndCancelled) || d.Reason.Kind == "aborted"):
		p.last().end = endHang
		p.open = false
	}
	p.cut()
	p.failed, p.unclaimed = false, false
	return nil
}

// fail ends the open call in a failure, or says more of the failure in which
// the last call of the turn ended. retryable is whether the recording goes on
// to try again, or says that one might: the replay must then do the same.
func (p *parser) fail(f *failure, retryable bool) {
	if !p.open && !p.failed {
		return
	}
	c := p.last()
	if p.failed {
		if f.Kind != "" {
			c.err.Kind = model.Kind(f.Kind)
		}
		c.err.Status, c.err.RetryAfter = f.Status, f.retryAfter()
		c.err.Retryable = c.err.Retryable || retryable
		return
	}
	c.end, c.err = endError, f.error(retryable)
	p.open, p.unclaimed, p.failed = false, false, true
}

// synthesise makes the chunks of whole blocks.
func synthesise(blocks []session.Block) []session.Chunk {
	var out []session.Chunk
	for i := range blocks {
		b := &blocks[i]
		out = append(out, session.Chunk{Type: session.ChunkBlockStart, Index: i, BlockType: b.Type})
		switch b.Type {
		case session.BlockText:
			out = append(out, session.Chunk{Type: session.ChunkText, Index: i, Text: b.Text})
		case session.BlockReasoning:
			if b.Text != "" {
				out = append(out, session.Chunk{Type: session.ChunkReasoning, Index: i, Text: b.Text})
			}
		case session.BlockToolCall:
			out = append(out, session.Chunk{Type: session.ChunkToolCall, Index: i, ID: b.ID, Name: b.Name, Text: b.Arguments})
		}
		out = append(out, session.Chunk{Type: session.ChunkBlockEnd, Index: i, Block: b})
	}
	return out
}
