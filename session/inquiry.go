package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// HookRequest records a request that a hook of type prompt or agent made to a
// model. It is on the log before it is sent. Nothing of it is in the session's
// own transcript; Inquiries folds the requests and answers of each handler into
// what its model saw.
type HookRequest struct {
	Turn      int    `json:"turn"`
	Point     string `json:"point"`
	HandlerID string `json:"handlerId"`
	// Round counts the handler's requests from 1, Attempt the tries of one.
	Round   int `json:"round"`
	Attempt int `json:"attempt"`
	// Header is the head of all the handler's requests; the first one has it.
	Header *RequestHead `json:"header,omitempty"`
	// Messages are those that come on top of what was sent and answered before:
	// the question first, then results of tools. A further attempt has none.
	Messages []Message `json:"messages,omitempty"`
	// Digest is RequestDigest of the whole request.
	Digest string `json:"digest"`
}

// HookAnswer records what came of a HookRequest: the model's message, or why
// there is none. A request that a cancel or a time limit cut has no answer.
type HookAnswer struct {
	Turn      int            `json:"turn"`
	Point     string         `json:"point"`
	HandlerID string         `json:"handlerId"`
	Round     int            `json:"round"`
	Attempt   int            `json:"attempt"`
	Message   *LoggedMessage `json:"message,omitempty"`
	Usage     *Usage         `json:"usage,omitempty"`
	Stop      FinishKind     `json:"stop,omitempty"`
	// Cost is this request's alone, where prices are known.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	// Error is set when the request failed; Message is then nil.
	Error *TurnError `json:"error,omitempty"`
}

// EventType implements Data.
func (*HookRequest) EventType() Type { return TypeHookRequest }

// EventType implements Data.
func (*HookAnswer) EventType() Type { return TypeHookAnswer }

// RequestDigest is the digest of a request: SHA-256 over the messages, each as
// its JSON line, then the head as its JSON line, as "sha256:<hex>".
// State.Digest is the same of the request that the state projects to.
func RequestDigest(head *RequestHead, messages []Message) (string, error) {
	h := sha256.New()
	var line []byte
	for i := range messages {
		var err error
		if line, err = appendMessageJSON(line[:0], &messages[i]); err != nil {
			return "", fmt.Errorf("digest of message %d: %w", i, err)
		}
		h.Write(append(line, '\n'))
	}
	if head != nil {
		b, err := appendHeadJSON(nil, head)
		if err != nil {
			return "", fmt.Errorf("digest of the request head: %w", err)
		}
		h.Write(append(b, '\n'))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Inquiry is what a hook handler's model has been shown so far.
type Inquiry struct {
	Head     *RequestHead
	Messages []Message
}

// Inquiries folds the requests of hook handlers, by handler id. The zero value
// is ready. It forgets a handler when its result comes.
type Inquiries struct{ open map[string]*Inquiry }

// Apply takes the next event of a log. For a HookRequest it returns what the
// handler's model is sent, nil for all others. The inquiry is valid until the
// next call.
func (q *Inquiries) Apply(d Data) *Inquiry {
	switch d := d.(type) {
	case *HookRequest:
		if q.open == nil {
			q.open = map[string]*Inquiry{}
		}
		in := q.open[d.HandlerID]
		if in == nil {
			in = &Inquiry{}
			q.open[d.HandlerID] = in
		}
		if d.Header != nil {
			in.Head = d.Header
		}
		in.Messages = append(in.Messages, d.Messages...)
		return in
	case *HookAnswer:
		if in := q.open[d.HandlerID]; in != nil && d.Message != nil {
			in.Messages = append(in.Messages, d.Message.Answer())
		}
	case *HookResult:
		delete(q.open, d.HandlerID)
	}
	return nil
}

// Answer is the message as requests hold it, with who wrote it.
func (m *LoggedMessage) Answer() Message {
	return Message{Role: m.Role, Content: m.Content, Provider: m.Source.Provider, Model: m.Source.Model}
}
