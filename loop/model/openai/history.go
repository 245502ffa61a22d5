package openai

import (
	"slices"
	"sync"

	"acp-agent/session"
)

// A request repeats the whole conversation. What was written of it for the last
// request is kept, so that writing the next one costs what is new.

// Bounds of what is kept: so many conversations, the last used ones, of so many
// bytes each. A longer one is written anew each time.
const (
	maxKept      = 8
	maxKeptBytes = 4 << 20
)

// written is the start of a conversation as the wire has it.
type written struct {
	session string
	// key is all that the text of a message depends on beside the message.
	key writtenKey
	// msgs are the messages that buf holds, count how many the wire has of them.
	msgs  []session.Message
	buf   []byte
	count int
}

type writtenKey struct {
	model  string
	thinks bool
	// system: a system message stands before the first.
	system bool
}

// begins reports whether the conversation begins with what is written. Logged
// content is never changed in place, so that the same array is the same content;
// and a session only appends to its messages or replaces them all, so that the
// same array of messages with the same last one is the same beginning. Where the
// array has moved, as it does when it grows, each message is looked at.
func (h *written) begins(msgs []session.Message) bool {
	n := len(h.msgs)
	if n == 0 || n > len(msgs) {
		return n == 0
	}
	if &h.msgs[0] == &msgs[0] {
		return same(&h.msgs[n-1], &msgs[n-1])
	}
	for i := range h.msgs {
		if !same(&h.msgs[i], &msgs[i]) {
			return false
		}
	}
	return true
}

func same(a, b *session.Message) bool {
	return a.Role == b.Role && a.Provider == b.Provider && a.Model == b.Model && len(a.Content) == len(b.Content) &&
		(len(a.Content) == 0 || &a.Content[0] == &b.Content[0])
}

// history keeps what was written. A conversation that is taken has one owner
// until it is kept again, and buf only ever grows behind its end, where a request
// that is still being sent does not read.
type history struct {
	mu   sync.Mutex
	kept []*written // the last used at the end
}

func (h *history) take(id string) *written {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.kept, func(w *written) bool { return w.session == id })
	if i < 0 || id == "" {
		return &written{session: id}
	}
	w := h.kept[i]
	h.kept = slices.Delete(h.kept, i, i+1)
	return w
}

func (h *history) keep(w *written) {
	if w.session == "" || len(w.buf) > maxKeptBytes {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = slices.DeleteFunc(h.kept, func(k *written) bool { return k.session == w.session })
	if len(h.kept) == maxKept {
		h.kept = slices.Delete(h.kept, 0, 1)
	}
	h.kept = append(h.kept, w)
}
