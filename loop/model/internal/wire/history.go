package wire

import (
	"slices"
	"sync"

	"acp-agent/session"
)

// A request repeats the whole conversation. What was written of it for the last
// request is kept, so that writing the next one costs what is new.

// Bounds of what is kept: so many conversations, the last used ones, of so many
// bytes together. A conversation that is longer by itself is written anew each
// time.
const (
	maxKept      = 8
	maxKeptBytes = 16 << 20
)

// Key is all that the text of a message depends on beside the message and the
// client.
type Key struct {
	// Model is the one that is asked.
	Model string
	// Reasoning: reasoning is sent back.
	Reasoning bool
	// Terms are what the endpoint has made known of what it takes, as the client
	// counts them.
	Terms uint16
}

// Place is a place between two messages of a conversation.
type Place[S any] struct {
	// Messages are so many before it, Bytes what they take.
	Messages, Bytes int
	// State is what the writer needs to go on from here.
	State S
}

// Written is the beginning of a conversation as a wire has it.
type Written[S any] struct {
	session string
	key     Key
	msgs    []session.Message
	buf     []byte
	// safe is the last place before which nothing changes, whatever follows;
	// end is that of buf.
	safe, end Place[S]
	// schemas are the tools that tools holds.
	schemas []session.ToolSchema
	tools   []byte
}

// Tools writes the tools, each by write, as a part of b. They change seldom and
// are long, and checking their schemas takes longer than the rest of a short
// request: what was written of the same ones before is taken.
func (w *Written[S]) Tools(b *Body, tools []session.ToolSchema, write func(t *session.ToolSchema, last bool) error) error {
	b.Part()
	if slices.EqualFunc(w.schemas, tools, sameTool) {
		b.Parts = append(b.Parts, w.tools)
		return nil
	}
	for i := range tools {
		b.Raw([]string{`,"tools":[`, `,`}[min(i, 1)])
		if err := write(&tools[i], i == len(tools)-1); err != nil {
			return err
		}
	}
	if len(tools) > 0 {
		b.Raw(`]`)
	}
	w.schemas, w.tools = slices.Clone(tools), b.Dst
	b.Part()
	return nil
}

// sameTool: a schema is never changed in place, as logged content is not.
func sameTool(a, b session.ToolSchema) bool {
	return a.Name == b.Name && a.Description == b.Description && len(a.Parameters) == len(b.Parameters) &&
		(len(a.Parameters) == 0 || &a.Parameters[0] == &b.Parameters[0])
}

// Resume says from where on msgs is to be written, behind dst. follows reports
// whether the message after what is written leaves the end of it as it is; it is
// not asked where there is nothing that could change.
func (w *Written[S]) Resume(key Key, msgs []session.Message, follows func(end S, next *session.Message) bool) (dst []byte, at Place[S]) {
	if w.key != key || !w.begins(msgs) {
		*w = Written[S]{session: w.session, key: key, schemas: w.schemas, tools: w.tools}
	}
	n := w.end.Messages
	if w.safe.Messages < n && n < len(msgs) && !follows(w.end.State, &msgs[n]) {
		w.end = w.safe
		w.msgs = w.msgs[:w.end.Messages]
		w.buf = slices.Clip(w.buf[:w.end.Bytes]) // what follows may still be being sent
	}
	return slices.Grow(w.buf, room(msgs[w.end.Messages:])), w.end
}

// Settle takes what has been written of msgs: dst, as Resume gave it and more.
func (w *Written[S]) Settle(msgs []session.Message, dst []byte, safe, end Place[S]) {
	w.msgs, w.buf, w.safe, w.end = msgs[:end.Messages:end.Messages], dst, safe, end
}

// begins reports whether the conversation begins with what is written. Logged
// content is never changed in place, so that the same array is the same content;
// and a session only appends to its messages or replaces them all, so that the
// same array of messages with the same last one is the same beginning. Where the
// array has moved, as it does when it grows, each message is looked at.
func (w *Written[S]) begins(msgs []session.Message) bool {
	n := len(w.msgs)
	if n == 0 || n > len(msgs) {
		return n == 0
	}
	if &w.msgs[0] == &msgs[0] {
		return same(&w.msgs[n-1], &msgs[n-1])
	}
	for i := range w.msgs {
		if !same(&w.msgs[i], &msgs[i]) {
			return false
		}
	}
	return true
}

func same(a, b *session.Message) bool {
	return a.Role == b.Role && a.Provider == b.Provider && a.Model == b.Model && len(a.Content) == len(b.Content) &&
		(len(a.Content) == 0 || &a.Content[0] == &b.Content[0])
}

// room is about how much messages take on the wire.
func room(msgs []session.Message) int {
	if len(msgs) == 0 {
		return 0
	}
	size := 256
	for i := range msgs {
		for j := range msgs[i].Content {
			b := &msgs[i].Content[j]
			size += 128 + len(b.Text) + len(b.Arguments) + len(b.Data) + len(b.Signature) + len(b.Redacted)
			for k := range b.Content {
				size += 64 + len(b.Content[k].Text) + len(b.Content[k].Data)
			}
		}
	}
	return size + size/16
}

// History keeps what was written of conversations. One that is taken has one
// owner until it is kept again, and its bytes are only ever added to behind their
// end, where a request that is still being sent does not read. S is the state of
// the wire's writer between two messages.
type History[S any] struct {
	mu   sync.Mutex
	kept []*Written[S] // the last used at the end
}

// Take returns what is kept of a session's conversation, nothing written when
// there is nothing.
func (h *History[S]) Take(id string) *Written[S] {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.kept, func(w *Written[S]) bool { return w.session == id })
	if i < 0 || id == "" {
		return &Written[S]{session: id}
	}
	w := h.kept[i]
	h.kept = slices.Delete(h.kept, i, i+1)
	return w
}

// Keep keeps w for the session's next request.
func (h *History[S]) Keep(w *Written[S]) {
	if w.session == "" || cap(w.buf) > maxKeptBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = slices.DeleteFunc(h.kept, func(k *Written[S]) bool { return k.session == w.session })
	h.kept = append(h.kept, w)
	sum, first := 0, len(h.kept)
	for first > 0 && len(h.kept)-first < maxKept {
		if sum += cap(h.kept[first-1].buf); sum > maxKeptBytes {
			break
		}
		first--
	}
	h.kept = slices.Delete(h.kept, 0, first)
}
