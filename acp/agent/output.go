package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"acp-agent/acp"
	"acp-agent/loop/tool"
)

// mild puts the replacement character in the place of what some clients lose a whole
// message over, in the JSON of a tool call: NUL, which binary output has (Emacs 28.2,
// json-parse-string, and PostgreSQL's jsonb), and halves of a surrogate pair, which a
// model may write in its arguments (serde_json, and so Zed). With the message the end
// of a call would be lost, or the question about it, which the turn waits for. The log
// and the model keep what there was.
func mild(data []byte) {
	if !bytes.Contains(data, []byte(`\u`)) {
		return
	}
	const escape = len(`\u0000`)
	for i := 0; ; {
		n := bytes.IndexByte(data[i:], '\\')
		if n < 0 {
			return
		}
		i += n
		if data[i+1] != 'u' {
			i += 2
			continue
		}
		switch r := escaped(data[i:]); {
		case r == 0, utf16.IsSurrogate(r) && utf16.DecodeRune(r, escaped(data[i+escape:])) == utf8.RuneError:
			copy(data[i:], `\ufffd`)
		case utf16.IsSurrogate(r):
			i += escape
		}
		i += escape
	}
}

// escaped reads the escape, \u and four hexadecimal digits, that data begins with;
// -1 where it begins otherwise.
func escaped(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// maxDepth is how deep JSON of a model, a tool or a hook may be in a frame to be shown
// as JSON. serde_json, and so Zed, reads no frame above 128, .NET none above 64, which
// the frame's own members count to.
const maxDepth = 48

// rawJSON passes on JSON that any client can read. Everything else is a string: what is
// not valid, what is too deep, and a number that no double holds (1e999 is no number to
// serde_json and Python writes it as Infinity). A frame with it would be lost as a whole.
func rawJSON(b []byte) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	if json.Valid(b) && readable(b) {
		return b
	}
	out, _ := json.Marshal(string(b))
	return out
}

// readable says whether valid JSON is not too deep and has no number that overflows.
func readable(b []byte) bool {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}', c == ']':
			depth--
		case c >= '0' && c <= '9':
			start := i
			for i+1 < len(b) && strings.IndexByte("0123456789.eE+-", b[i+1]) >= 0 {
				i++
			}
			if _, err := strconv.ParseFloat(string(b[start:i+1]), 64); err != nil {
				return false
			}
		}
	}
	return true
}

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
		v.send(ctx, inProgress(callID))
	default:
		v.addOutput(ctx, callID, p.Output)
	}
}

func inProgress(callID string) acp.SessionUpdate {
	return acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: callID, Status: acp.ToolCallStatusInProgress}}
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
