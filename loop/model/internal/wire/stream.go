package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// tailWait bounds the wait for what may follow the finish (usage, the end mark)
// from a server that keeps the connection open after it: the answer is there.
const tailWait = 5 * time.Second

// drainWait bounds the read after the end mark that lets a connection be used
// again.
const drainWait = 100 * time.Millisecond

// maxPlainBody bounds an answer that is no event stream.
const maxPlainBody = 8 << 20

// Answer takes the events of one answer and yields its chunks.
type Answer interface {
	// Event takes the first JSON value of data and returns what follows it. ok
	// is false for what is not JSON; err is what the event says of a failure.
	Event(data []byte, name []byte) (rest []byte, ok bool, err *model.Error)
	// Whole reports whether the model has finished: what follows does not
	// matter to the answer, and the end of the stream is no failure any more.
	Whole() bool
	// Done reports whether the wire's end mark was there.
	Done() bool
	// End closes the answer with usage and finish, or returns why it cannot.
	End() error
}

// Marked is an Answer to whose wire the end mark [DONE] belongs. On the others,
// where some gateways send it all the same, it says nothing that their own end
// does not.
type Marked interface {
	// Mark takes the mark. The answer is then whole and done.
	Mark()
}

// Yield passes chunks to a consumer until it leaves.
type Yield struct {
	to      func(session.Chunk, error) bool
	stopped bool
}

// NewYield returns a Yield to the loop body of an iterator.
func NewYield(to func(session.Chunk, error) bool) *Yield { return &Yield{to: to} }

// Emit passes a chunk on.
func (y *Yield) Emit(c session.Chunk) {
	if !y.stopped && !y.to(c, nil) {
		y.stopped = true
	}
}

// fail ends the sequence.
func (y *Yield) fail(err error) {
	if !y.stopped {
		y.stopped = true
		y.to(session.Chunk{}, err)
	}
}

// Stream sends a request by post, which returns the answer once its head is
// there, and decodes the body of a success into the Answer that answer makes.
// The error of post is a *model.Error unless ctx has ended.
func (e *Endpoint) Stream(ctx context.Context, post func(context.Context) (*http.Response, error), answer func(*Yield) Answer) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		y := NewYield(yield)
		rctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		fail := func(err error) {
			if cerr := ctx.Err(); cerr != nil {
				err = cerr
			}
			y.fail(err)
		}
		if ctx.Err() != nil {
			fail(nil)
			return
		}
		w := newWatch(e.Idle, func() { cancel(errIdle) })
		defer w.disarm()
		w.arm()
		res, err := post(rctx)
		w.disarm()
		if res != nil {
			defer res.Body.Close()
		}
		if err != nil {
			if idled(rctx) {
				err = e.idleError(w)
			}
			fail(err)
			return
		}
		r, err := plainBody(res, &watched{res.Body, w})
		if err != nil {
			odd := model.Errorf(model.KindMalformed, "%s answered unreadably: %w: check the proxy", e.Name, err)
			odd.Retryable = false
			fail(odd)
			return
		}
		d := &decoder{e: e, y: y, a: answer(y), sse: NewSSE(r), w: w, fail: fail, idle: func() bool { return idled(rctx) }}
		d.run(res.Header)
	}
}

// Decode reads a body without HTTP, for tests.
func (e *Endpoint) Decode(r io.Reader, answer func(*Yield) Answer) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		y := NewYield(yield)
		w := newWatch(DefaultIdleTimeout, func() {})
		d := &decoder{e: e, y: y, a: answer(y), sse: NewSSE(r), w: w, fail: y.fail, idle: func() bool { return false }}
		d.run(http.Header{})
	}
}

// decoder reads one answer's body to its end.
type decoder struct {
	e   *Endpoint
	y   *Yield
	a   Answer
	sse *SSE
	w   *watch
	// fail ends the sequence with an error, or with the context's.
	fail func(error)
	// idle reports whether the watch has cancelled the request.
	idle func() bool
	// half is an event that ends in half a character, until it is known whether the next
	// has the other; halfName is its type.
	half, halfName []byte
}

// run decodes until the end mark, the end of the body or a failure. An answer
// that was finished is whole whatever comes after it: a reference that insisted
// on the end mark threw complete answers away (deepseek-harness 0.1.1-rc.2, measured faults).
func (d *decoder) run(h http.Header) {
	for {
		data, name, cut, err := d.sse.Next()
		if d.half != nil {
			var half []byte
			half, data = rejoin(d.half, data)
			d.half = nil
			if !d.event(half, d.halfName, false) {
				return
			}
		}
		if err != nil {
			d.ended(err, h)
			return
		}
		if !keepAlive(name) {
			d.w.news()
		}
		if !cut && firstHalf(data) >= 0 {
			d.half, d.halfName = bytes.Clone(data), bytes.Clone(name)
			continue
		}
		if !d.event(data, name, cut) {
			return
		}
		if d.a.Done() {
			d.end()
			if !d.y.stopped {
				d.drain()
			}
			return
		}
		if d.a.Whole() {
			d.w.limit = min(d.w.limit, tailWait)
		}
	}
}

// keepAlive tells an event that says no more than that the server lives, as a
// comment does: Messages' and some gateways' have these names.
func keepAlive(name []byte) bool { return string(name) == "ping" || string(name) == "keepalive" }

// event takes the data of one event. That is one JSON text; servers that leave
// out the blank line between events make it several. It reports whether the
// stream goes on.
func (d *decoder) event(data, name []byte, cut bool) bool {
	for {
		for len(data) > 0 && (data[0] == ' ' || data[0] == '\n' || data[0] == '\r' || data[0] == '\t') {
			data = data[1:]
		}
		if len(data) == 0 {
			return true
		}
		if bytes.HasPrefix(data, doneMark) {
			if m, ok := d.a.(Marked); ok {
				m.Mark()
			}
			return true
		}
		rest, ok, err := d.a.Event(data, name)
		switch {
		case d.y.stopped:
			return false
		case (!ok || err != nil) && d.a.Whole():
			d.end()
			return false
		case err != nil:
			d.fail(err)
			return false
		case !ok && cut:
			d.fail(d.closed(nil))
			return false
		case !ok:
			d.fail(model.Errorf(model.KindMalformed, "%s sent an event that is not JSON: %s", d.e.Name, Clip(d.e.Clean(string(data)), 80)))
			return false
		}
		data = rest
	}
}

// doneMark is the end mark of Chat Completions. It is no event.
var doneMark = []byte("[DONE]")

func (d *decoder) end() {
	if err := d.a.End(); err != nil {
		d.fail(err)
	}
}

// ended deals with the end of the body.
func (d *decoder) ended(err error, h http.Header) {
	switch {
	case errors.Is(err, ErrPlain):
		d.plain(h)
	case d.a.Whole():
		d.end()
	case d.idle():
		d.fail(d.e.idleError(d.w))
	case errors.Is(err, ErrEventTooLong):
		d.fail(model.Errorf(model.KindMalformed, "%s answered unreadably: %w", d.e.Name, err))
	case errors.Is(err, io.EOF):
		d.fail(d.closed(nil))
	default:
		d.fail(d.closed(err))
	}
}

func (d *decoder) closed(cause error) *model.Error {
	text := "%s closed the stream before the answer was whole"
	if cause == nil {
		return model.Errorf(model.KindStreamClosed, text, d.e.Name)
	}
	err := model.Errorf(model.KindStreamClosed, text+": %s", d.e.Name, d.e.Clean(cause.Error()))
	err.Err = cause
	return err
}

// plain deals with a body that is JSON or a page: an error behind status 200,
// the whole answer of a server that does not stream, or the page of a proxy.
func (d *decoder) plain(h http.Header) {
	body, err := d.sse.Rest(maxPlainBody)
	if isPage(h, body) {
		e := model.Errorf(model.KindMalformed, "%s answered with a web page instead of a model's stream: check the base URL and the proxy", d.e.Name)
		e.Retryable = false
		d.fail(e)
		return
	}
	if err != nil && d.idle() {
		d.fail(d.e.idleError(d.w))
		return
	}
	if !d.event(body, nil, err != nil || len(body) > maxPlainBody) {
		return
	}
	if d.a.Whole() {
		d.end()
		return
	}
	d.fail(model.Errorf(model.KindMalformed, "%s answered with JSON that is no model's answer: check the base URL", d.e.Name))
}

// drain reads what follows the end mark, so that the connection can be used for
// the next request. Nothing in it matters and nobody waits for it long.
func (d *decoder) drain() {
	d.w.limit = drainWait
	deadline := time.Now().Add(drainWait)
	var scrap [512]byte
	for range 8 {
		if _, err := d.sse.r.Read(scrap[:]); err != nil || time.Now().After(deadline) {
			return
		}
	}
}
