// Package model says what a model client is: what it is asked (Request), what
// it streams back (Chunk) and how it fails (Error). Messages and blocks are
// session's. The adapters below it speak one provider wire each and import
// their SDK; this package imports none and makes no request itself.
package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"acp-agent/session"
)

// Request is what a model is asked. It is a pure function of a session's log.
type Request struct {
	Head     session.RequestHead
	Messages []session.Message
	// SessionID lets a provider keep one session's cache together. It and the
	// fields below are not shown to the model and not part of the digest.
	SessionID string
	// Cwd is the session's working directory; Turn, Step and Attempt say which
	// request of the log this is.
	Cwd                 string
	Turn, Step, Attempt int
	// Handler is the run of a hook that asks, "" for the session's own requests;
	// Step is then the hook's round.
	Handler string
}

// Conversation names the conversation that the request goes on with, so that an
// adapter can keep what it wrote of it; "" where there is nothing to keep. A hook's
// is short, and must not drive the session's own out.
func (r *Request) Conversation() string {
	if r.Handler != "" {
		return ""
	}
	return r.SessionID
}

// Client streams one answer. The sequence ends after a finish chunk, or with
// one non-nil error, always an *Error or the context's. Breaking out of the
// loop or cancelling ctx stops the request; the sequence then ends soon.
//
// A client does not retry and does not wait: the loop does, and logs it.
type Client interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[session.Chunk, error]
}

// Kind classifies a failure. It is logged and reaches ACP clients in error.data.
type Kind string

// The failure kinds.
const (
	KindAuth            Kind = "auth"
	KindQuota           Kind = "quota"
	KindRateLimit       Kind = "rate_limit"
	KindContextOverflow Kind = "context_overflow"
	KindInvalidRequest  Kind = "invalid_request"
	KindNotFound        Kind = "model_not_found"
	KindServer          Kind = "server"
	KindOverloaded      Kind = "overloaded"
	KindTimeout         Kind = "timeout"
	KindTransport       Kind = "transport"
	KindStreamClosed    Kind = "stream_closed"
	KindMalformed       Kind = "malformed_response"
	KindEmpty           Kind = "empty_response"
	KindReplay          Kind = "replay"
)

// Retryable reports whether a failure of this kind may pass by itself.
func (k Kind) Retryable() bool {
	switch k {
	case KindRateLimit, KindServer, KindOverloaded, KindTimeout, KindTransport, KindStreamClosed, KindMalformed, KindEmpty:
		return true
	}
	return false
}

// Error is a failed model call. Message says what failed and what to do; it
// never holds a key, a header or a cookie.
type Error struct {
	Kind Kind
	// Status is the HTTP status, 0 when there was no response.
	Status  int
	Message string
	// RetryAfter is what the provider asked for, 0 when it did not.
	RetryAfter time.Duration
	// Retryable says whether another attempt may succeed.
	Retryable bool
	// Err is the cause, for errors.Is; it is not shown.
	Err error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind, retryable as the kind is.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Retryable: kind.Retryable(), Err: errors.Unwrap(err)}
}

// TurnError is what failed a request in the log's terms; what is no Error is a fault
// of the agent's own.
func TurnError(err error) session.TurnError {
	var e *Error
	if !errors.As(err, &e) {
		return session.TurnError{Kind: "internal", Message: err.Error()}
	}
	return session.TurnError{
		Kind: string(e.Kind), Message: e.Message, Status: e.Status, Retryable: e.Retryable, RetryAfterMs: e.RetryAfter.Milliseconds(),
	}
}

// Info is what is known of a model.
type Info struct {
	// Ref is the name as people give it: provider/name.
	Ref string
	// Window is the context window and MaxOutput the output limit, in tokens;
	// 0 means not known.
	Window, MaxOutput int64
	// Budget is the output that requests ask for at most, 0 where that is
	// MaxOutput. Providers count it against the window, used or not.
	Budget int64
	// Efforts are the reasoning efforts that the model takes, in rising order;
	// empty when it takes none.
	Efforts []string
	// Images says whether image blocks may be sent.
	Images bool
	// Price is in USD per million tokens, nil when not known.
	Price *Price
}

// OutputBudget is the room that an answer needs in the window, 0 when not known.
func (i Info) OutputBudget() int64 {
	if i.Budget > 0 && (i.MaxOutput == 0 || i.Budget < i.MaxOutput) {
		return i.Budget
	}
	return i.MaxOutput
}

// Cost returns what a call cost in USD, false where the price is not known.
func (i Info) Cost(u session.Usage) (float64, bool) {
	if i.Price == nil {
		return 0, false
	}
	p := i.Price
	return (float64(u.InputTokens)*p.Input + float64(u.OutputTokens)*p.Output +
		float64(u.CacheReadTokens)*p.CacheRead + float64(u.CacheWriteTokens)*p.CacheWrite) / 1e6, true
}

// Price is in USD per million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }
