package agent

import (
	"context"
	"time"
	"unicode/utf8"

	"acp-agent/acp"
	"acp-agent/loop/tool"
)

// Bounds of live output: an update replaces a call's content, so it carries the
// newest liveTail bytes and goes out at most every liveEvery. What a command
// costs on the wire is then bounded by how long it runs, not by what it prints.
const (
	liveTail  = 8 << 10
	liveEvery = 200 * time.Millisecond
)

// liveOutput is what a running tool has put out.
type liveOutput struct {
	tail  []byte
	cut   bool
	timer *time.Timer
	last  time.Time
	ended bool
}

// Progress implements loop.Observer.
func (v *view) Progress(ctx context.Context, callID string, p tool.Progress) {
	switch {
	case p.TerminalID != "":
		v.send(ctx, acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{
			ToolCallID: callID, Content: []acp.ToolCallContent{{Terminal: &acp.Terminal{TerminalID: p.TerminalID}}},
		}})
	case p.Output == "":
		v.send(ctx, acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: callID, Status: acp.ToolCallStatusInProgress}})
	default:
		v.addOutput(ctx, callID, p.Output)
	}
}

func (v *view) addOutput(ctx context.Context, callID, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.output == nil {
		v.output = map[string]*liveOutput{}
	}
	o := v.output[callID]
	if o == nil {
		o = &liveOutput{}
		v.output[callID] = o
	}
	o.tail = append(o.tail, text...)
	if over := len(o.tail) - liveTail; over > 0 {
		for over < len(o.tail) && !utf8.RuneStart(o.tail[over]) {
			over++
		}
		o.tail, o.cut = append(o.tail[:0], o.tail[over:]...), true
	}
	if o.timer != nil {
		return
	}
	wait := liveEvery - time.Since(o.last)
	if wait <= 0 {
		wait = 0
	}
	// The timer is stopped, or finds the call ended, when the result comes.
	o.timer = time.AfterFunc(wait, func() { v.flushOutput(ctx, callID, o) })
}

func (v *view) flushOutput(ctx context.Context, callID string, o *liveOutput) {
	v.mu.Lock()
	defer v.mu.Unlock()
	o.timer = nil
	if o.ended {
		return
	}
	o.last = time.Now()
	text := string(o.tail)
	if o.cut {
		text = "…\n" + text
	}
	// Sent under the lock: nothing of a call may follow its result.
	v.send(ctx, acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: callID, Content: []acp.ToolCallContent{textContent(text)}}})
}

// endOutput stops a call's live output, before its result is sent.
func (v *view) endOutput(callID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if o := v.output[callID]; o != nil {
		o.ended = true
		if o.timer != nil {
			o.timer.Stop()
		}
		delete(v.output, callID)
	}
}
