package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"acp-agent/loop/model"
)

// decoder reads one answer's body to its end.
type decoder struct {
	c     *Client
	t     *translator
	sse   *sseReader
	watch *watch
	// fail ends the sequence with an error, or the context's if that has ended.
	fail func(error)
	// idle reports whether the watch has cancelled the request.
	idle func() bool
	ev   event
}

// maxPlainBody bounds an answer that is no event stream.
const maxPlainBody = 8 << 20

// run decodes until the end mark, the end of the body or a failure. An answer
// that had its finish reason is whole whatever comes after it: a reference that
// insisted on the end mark threw complete answers away (deepseek-harness 0.1.1-rc.2, measured faults).
func (d *decoder) run(h http.Header) {
	for {
		data, name, cut, err := d.sse.next()
		if err != nil {
			d.ended(err, h)
			return
		}
		done, err := d.event(data, name, cut)
		switch {
		case d.t.stopped:
			return
		case err != nil:
			d.fail(err)
			return
		case done:
			d.t.end(d.c.name())
			if !d.t.stopped {
				d.drain()
			}
			return
		}
		if d.t.finish != "" {
			d.watch.limit = min(d.watch.limit, tailWait)
		}
	}
}

// event takes the data of one event. That is one JSON text; servers that leave
// out the blank line between events make it several.
func (d *decoder) event(data []byte, name string, cut bool) (done bool, err error) {
	for {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 {
			return false, nil
		}
		if bytes.HasPrefix(data, doneMark) {
			return true, nil
		}
		rest, ok := d.ev.parse(data)
		if !ok {
			if d.t.finish != "" {
				return true, nil
			}
			if cut {
				return false, d.closed(nil)
			}
			return false, model.Errorf(model.KindMalformed, "%s sent an event that is not JSON: %s", d.c.name(), clip(d.c.clean(string(data)), 80))
		}
		failure := d.ev.failure
		if failure == nil && name == "error" {
			failure = data[:len(data)-len(rest)]
		}
		if failure != nil {
			if d.t.finish != "" {
				return true, nil
			}
			return false, d.said(failure)
		}
		d.t.event(&d.ev)
		if d.t.stopped {
			return false, nil
		}
		if d.t.broken != nil {
			return false, d.t.broken
		}
		data = rest
	}
}

var doneMark = []byte("[DONE]")

// said words a failure that came as an event or as the body of a success.
func (d *decoder) said(raw []byte) *model.Error {
	f := readFailure(raw)
	if f.message == "" && f.code == "" && f.typ == "" {
		f.message = string(raw)
	}
	return d.c.failure(&f, 0)
}

// ended deals with the end of the body.
func (d *decoder) ended(err error, h http.Header) {
	switch {
	case errors.Is(err, errPlain):
		d.plain(h)
	case d.t.finish != "":
		d.t.end(d.c.name())
	case d.idle():
		d.fail(d.c.idleError())
	case errors.Is(err, errEventTooLong):
		d.fail(model.Errorf(model.KindMalformed, "%s answered unreadably: %w", d.c.name(), err))
	case errors.Is(err, io.EOF):
		d.fail(d.closed(nil))
	default:
		d.fail(d.closed(err))
	}
}

func (d *decoder) closed(cause error) *model.Error {
	text := "%s closed the stream before the answer was whole"
	if cause == nil {
		return model.Errorf(model.KindStreamClosed, text, d.c.name())
	}
	err := model.Errorf(model.KindStreamClosed, text+": %s", d.c.name(), d.c.clean(cause.Error()))
	err.Err = cause
	return err
}

// plain deals with a body that is JSON or a page: an error behind status 200,
// the whole answer of a server that does not stream, or the page of a proxy.
func (d *decoder) plain(h http.Header) {
	body, err := d.sse.rest(maxPlainBody)
	if isPage(h, body) {
		e := model.Errorf(model.KindMalformed, "%s answered with a web page instead of a model's stream: check the base URL and the proxy", d.c.name())
		e.Retryable = false
		d.fail(e)
		return
	}
	if err != nil && d.idle() {
		d.fail(d.c.idleError())
		return
	}
	done, everr := d.event(body, "", err != nil || len(body) > maxPlainBody)
	switch {
	case d.t.stopped:
	case everr != nil:
		d.fail(everr)
	case done || d.t.finish != "":
		d.t.end(d.c.name())
	default:
		d.fail(model.Errorf(model.KindMalformed, "%s answered with JSON that is no model's answer: check the base URL", d.c.name()))
	}
}

// drain reads what follows the end mark, so that the connection can be used for
// the next request. Nothing in it matters and nobody waits for it long.
func (d *decoder) drain() {
	d.watch.limit = drainWait
	deadline := time.Now().Add(drainWait)
	var scrap [512]byte
	for range 8 {
		if _, err := d.sse.r.Read(scrap[:]); err != nil || time.Now().After(deadline) {
			return
		}
	}
}
