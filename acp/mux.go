package acp

import (
	"context"
	"encoding/json"
	"fmt"
)

// Mux maps methods to handlers. Fill it before Serve; it must not change afterwards. The zero value is
// ready to use, and one Mux may serve many connections.
type Mux struct {
	requests      map[string]requestHandler
	notifications map[string]notificationHandler
}

type (
	requestHandler      func(ctx context.Context, params json.RawMessage) (func() (json.RawMessage, error), error)
	notificationHandler func(ctx context.Context, params json.RawMessage) error
)

// HandleRequest registers the handler of a request method.
//
// admit is called on the goroutine that reads, in the order of the wire: when it takes a turn's slot or
// registers a cancel, no later message can overtake it. It must not block and must not call the
// client. It returns the rest of the work as run, which Serve starts on a goroutine of its own and
// waits for; a nil run answers at once with the zero result. An error refuses the request, and goes to
// the client by way of ToError, as does an error of run.
//
// ctx is the request's: it ends on $/cancel_request for its id, when the connection closes, and when
// Serve's context ends. A request must not outlive it for long.
func HandleRequest[P, R any](m *Mux, method string, admit func(ctx context.Context, p *P) (run func() (*R, error), err error)) {
	if m.requests == nil {
		m.requests = map[string]requestHandler{}
	}
	if _, ok := m.requests[method]; ok {
		panic(fmt.Sprintf("acp: two handlers for the request %q", method))
	}
	m.requests[method] = func(ctx context.Context, params json.RawMessage) (func() (json.RawMessage, error), error) {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return nil, err
		}
		run, err := admit(ctx, p)
		if err != nil {
			return nil, err
		}
		return func() (json.RawMessage, error) {
			res := new(R)
			if run != nil {
				r, err := run()
				if err != nil {
					return nil, err
				}
				if r != nil {
					res = r
				}
			}
			return Marshal(res)
		}, nil
	}
}

// HandleNotification registers the handler of a notification method. fn runs on the goroutine that
// reads, in the order of the wire, and must not block. A notification with wrong params is dropped:
// notifications are never answered.
func HandleNotification[P any](m *Mux, method string, fn func(ctx context.Context, p *P)) {
	if m.notifications == nil {
		m.notifications = map[string]notificationHandler{}
	}
	if _, ok := m.notifications[method]; ok {
		panic(fmt.Sprintf("acp: two handlers for the notification %q", method))
	}
	m.notifications[method] = func(ctx context.Context, params json.RawMessage) error {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return err
		}
		fn(ctx, p)
		return nil
	}
}

// decodeParams takes absent and null params for an empty object. params come from ParseMessage and are
// valid JSON.
func decodeParams(params json.RawMessage, p any) error {
	if params == nil || isNull(params) {
		params = json.RawMessage("{}")
	}
	return unmarshalValid(params, p)
}
