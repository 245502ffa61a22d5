package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// FrameWriter is what a stream implements, beside jsonrpc2.ObjectStream, to take a message that is
// already encoded: one JSON value and its newline, or several of these in a row, which then go out as one.
// The frame goes through the same ordered queue as WriteObject's, and may be reused once WriteFrame returns.
// WriteFrame blocks while the peer does not read, until ctx is done; WriteObject does not block.
type FrameWriter interface {
	WriteFrame(ctx context.Context, frame []byte) error
}

// Conn is the agent's end of a connection: how it calls the client. Its methods may be used from any
// goroutine but the reading one (that is, not from admit or a notification handler: Call would wait for
// an answer that nobody reads).
type Conn struct {
	stream jsonrpc2.ObjectStream
	log    *slog.Logger

	mu       sync.Mutex
	refusing bool                      // no further requests are taken
	closed   bool                      // no further calls are made
	lastID   uint64                    // of our own requests; a number space apart from the client's
	calls    map[uint64]chan<- Message // open calls; each channel has room for its one answer
	serving  map[string]*inflight      // open requests of the client by IDKey
	ended    chan struct{}             // closed with closed
	handler  sync.WaitGroup            // Add only under mu and while not refusing
}

// inflight is a request of the client that has not been answered.
type inflight struct {
	cancel context.CancelFunc
	// See AfterReply and AfterAnswer; owned by the request's goroutine.
	after, finally []func()
}

func newConn(stream jsonrpc2.ObjectStream, log *slog.Logger) *Conn {
	return &Conn{
		stream:  stream,
		log:     log,
		calls:   map[uint64]chan<- Message{},
		serving: map[string]*inflight{},
		ended:   make(chan struct{}),
	}
}

// Call sends a request to the client and decodes its answer into result, which may be nil. An error of
// the client's is an *Error. When ctx ends first, Call tells the client by $/cancel_request, returns
// ctx.Err() at once and drops a late answer; when the connection ends first, it returns ErrClosed.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	return c.CallLate(ctx, method, params, result, nil)
}

// CallLate is Call for a request that leaves something with the client, which may do it although it was
// given up. When a result comes after CallLate has returned for the end of ctx, late is called, on a
// goroutine of its own, with result decoded; until then result must be left alone.
func (c *Conn) CallLate(ctx context.Context, method string, params, result any, late func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer := make(chan Message, 1)
	id, err := c.openCall(answer)
	if err != nil {
		return err
	}
	rawID := RequestId(strconv.FormatUint(id, 10))
	frame, err := appendFrame(nil, rawID, method, params)
	if err == nil {
		err = c.WriteFrame(ctx, frame)
	}
	if err != nil {
		c.dropCall(id)
		return err
	}
	select {
	case m := <-answer:
		return takeAnswer(m, result)
	case <-ctx.Done():
		if late == nil {
			c.dropCall(id)
		} else {
			go c.takeLate(id, answer, result, late) // ends with the answer or the connection
		}
		// Best effort: the answer is dropped whether or not the client hears of it.
		p, _ := Marshal(CancelRequestNotification{RequestID: rawID})
		_ = c.stream.WriteObject(&Message{Method: MethodCancelRequest, Params: p})
		return ctx.Err()
	case <-c.ended:
		c.dropCall(id)
		select {
		case m := <-answer: // it came before the end
			return takeAnswer(m, result)
		default:
		}
		return ErrClosed
	}
}

// takeLate waits for the answer to a call that was given up.
func (c *Conn) takeLate(id uint64, answer <-chan Message, result any, late func()) {
	select {
	case m := <-answer:
		if takeAnswer(m, result) == nil {
			late()
		}
	case <-c.ended:
		c.dropCall(id)
	}
}

func takeAnswer(m Message, result any) error {
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	raw := m.Result
	if raw == nil || isNull(raw) {
		raw = json.RawMessage("{}") // some clients answer null, or nothing, where the schema says an empty object
	}
	return unmarshalValid(raw, result)
}

func (c *Conn) openCall(answer chan<- Message) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, ErrClosed
	}
	c.lastID++
	c.calls[c.lastID] = answer
	return c.lastID, nil
}

func (c *Conn) dropCall(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// callID reads one of our ids as a client gives it back, which may be 1.0 for 1. A string is another id.
func callID(id RequestId) (uint64, bool) {
	key, _ := IDKey(id)
	digits, number := strings.CutPrefix(key, "n")
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, number && err == nil
}

// calling reports whether a call with this id is open.
func (c *Conn) calling(id RequestId) bool {
	n, ok := callID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && c.calls[n] != nil
}

// deliver hands an answer to its call. It is removed under the lock before it is sent, and the channel
// has room for one, so neither a second answer nor a close can block here or panic.
func (c *Conn) deliver(m Message) {
	id, ours := callID(m.ID)
	if !ours {
		return
	}
	c.mu.Lock()
	answer, ok := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if ok {
		answer <- m
	}
}

// Notify sends a notification to the client. It blocks while the client does not read, until ctx ends.
// Messages sent from one goroutine keep their order, also with regard to the answer of a request whose
// run returns afterwards.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	frame, err := appendFrame(nil, nil, method, params)
	if err != nil {
		return err
	}
	return c.WriteFrame(ctx, frame)
}

// AppendNotification appends a notification as WriteFrame takes it.
func AppendNotification(dst []byte, method string, params any) ([]byte, error) {
	return appendFrame(dst, nil, method, params)
}

// WriteFrame sends messages that are already encoded, newlines included (see AppendTextChunk and
// AppendNotification). The frame may be reused once WriteFrame returns.
func (c *Conn) WriteFrame(ctx context.Context, frame []byte) error {
	if fw, ok := c.stream.(FrameWriter); ok {
		return fw.WriteFrame(ctx, frame)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for line := range bytes.Lines(frame) {
		if err := c.stream.WriteObject(json.RawMessage(line)); err != nil {
			return err
		}
	}
	return nil
}

// appendFrame encodes a request, or a notification when id is nil, with its newline. With an error it
// returns dst as it was.
func appendFrame(dst []byte, id RequestId, method string, params any) ([]byte, error) {
	was := dst
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = appendString(append(dst, `"method":`...), method)
	if params != nil {
		var err error
		if dst, err = Append(append(dst, `,"params":`...), params); err != nil {
			return was, err
		}
	}
	return append(dst, "}\n"...), nil
}
