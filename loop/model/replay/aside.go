package replay

import (
	"encoding/json"
	"fmt"

	"acp-agent/session"
)

// asked begins a call of a hook's. One that nothing answers hung until the hook
// was cancelled or ran out of time.
func (p *parser) asked(data json.RawMessage) error {
	var d session.HookRequest
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if p.asides == nil {
		p.asides = map[string]*reel{}
	}
	r := p.asides[d.HandlerID]
	if r == nil {
		r = &reel{}
		p.asides[d.HandlerID] = r
	}
	if n := len(r.calls); d.Attempt > 1 && n > 0 && r.calls[n-1].err != nil {
		r.calls[n-1].err.Retryable = true // the recording did try again
	}
	r.calls = append(r.calls, call{
		where: fmt.Sprintf("call %d of the hook %s in %s (turn %d)", len(r.calls)+1, d.HandlerID, p.name, d.Turn),
		turn:  d.Turn, step: d.Round, end: endHang,
	})
	return nil
}

// answered ends the hook's last call. Its stream is not in the log and is made of
// the message.
func (p *parser) answered(data json.RawMessage) error {
	var d session.HookAnswer
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	r := p.asides[d.HandlerID]
	if r == nil {
		return fmt.Errorf("the hook %s has asked nothing", d.HandlerID)
	}
	c := &r.calls[len(r.calls)-1]
	if c.end != endHang {
		return fmt.Errorf("the hook %s has an answer twice", d.HandlerID)
	}
	switch {
	case d.Error != nil:
		f := failure{Kind: d.Error.Kind, Message: d.Error.Message, Status: d.Error.Status, RetryAfterMs: d.Error.RetryAfterMs}
		c.end, c.err = endError, f.error(false)
		return nil
	case d.Message != nil:
		c.chunks = synthesise(d.Message.Content)
	}
	if d.Usage != nil {
		c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkUsage, Usage: d.Usage})
	}
	c.chunks = append(c.chunks, session.Chunk{Type: session.ChunkFinish, Finish: stopOf(d.Stop, d.Message)})
	c.end = endFinish
	return nil
}

// stopOf is how an answer ended, where the log does not say it by what is in it.
func stopOf(stop session.FinishKind, m *session.LoggedMessage) session.FinishKind {
	if stop != "" || m == nil {
		return stop
	}
	for _, b := range m.Content {
		if b.Type == session.BlockToolCall {
			return session.FinishToolCalls
		}
	}
	return session.FinishStop
}
