package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"acp-agent/acp"
)

// Defaults of Options.
const (
	DefaultMaxLine      = 64 << 20
	DefaultBudget       = 4 << 20
	DefaultFlushTimeout = 500 * time.Millisecond
)

// Directions of a traced line.
const (
	In  = "in"
	Out = "out"
)

// Options adjusts a Stream; the zero value is usable.
type Options struct {
	// MaxLine is the longest line that is read, in bytes; 0 means DefaultMaxLine.
	MaxLine int
	// Budget is how many bytes may be queued before WriteFrame waits; 0 means DefaultBudget. A single
	// larger frame is taken when nothing is queued.
	Budget int
	// FlushTimeout bounds the flush in Close; 0 means DefaultFlushTimeout.
	FlushTimeout time.Duration
	// Trace, when not nil, sees every line without its newline: In when it is read, Out when it is
	// queued. It must not block, call the stream, or keep the slice. It may be called from two
	// goroutines at once, but not for the same direction.
	Trace func(dir string, line []byte)
}

// PromptWriter is a writer that a Stream can write to without waiting.
type PromptWriter interface {
	io.Writer
	// WritePrompt writes as much of p as the peer has room for and returns how much
	// that was: with a nil error it may be less than all, or nothing. An error means
	// that this way is not open, not that the writer is broken. It is not called
	// during Write, nor twice at once.
	WritePrompt(p []byte) (n int, err error)
}

// Stream is a connection over a reader and a writer. It implements jsonrpc2.ObjectStream and
// acp.FrameWriter. ReadObject is for one goroutine at a time; everything else is for any.
type Stream struct {
	opts Options
	r    io.Reader
	w    io.Writer

	startReader sync.Once
	readErr     error         // how reading ended; owned by the caller of ReadObject
	lines       chan line     // handed over by the reading goroutine, which nobody joins
	ahead       atomic.Int64  // bytes in lines
	taken       chan struct{} // room for one: ahead has sunk below readAhead

	closeOnce sync.Once
	closeErr  error

	mu      sync.Mutex
	pending []byte        // queued and not yet taken by the writer
	writing int           // bytes that the writer has taken and not finished
	closing bool          // no more is queued; the writer ends when pending is empty
	err     error         // why the stream ended; set once
	wake    chan struct{} // room for one: there is something for the writer to do
	room    chan struct{} // closed and replaced whenever the queue has shrunk, and at the end
	ended   chan struct{} // closed when err is set
	idle    chan struct{} // closed by the writer when it ends
	prompt  PromptWriter  // nil where w is none
	began   time.Time
	last    time.Duration // when the newest message came, since began
}

var (
	_ jsonrpc2.ObjectStream = (*Stream)(nil)
	_ acp.FrameWriter       = (*Stream)(nil)
	_ acp.Roomer            = (*Stream)(nil)
)

// NewStream returns a stream over r and w. Close closes both where they are io.Closers. Its writing
// goroutine ends with Close, or with the first write error; its reading goroutine starts with the
// first ReadObject and ends when r does.
func NewStream(r io.Reader, w io.Writer, opts Options) *Stream {
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	if opts.Budget <= 0 {
		opts.Budget = DefaultBudget
	}
	if opts.FlushTimeout <= 0 {
		opts.FlushTimeout = DefaultFlushTimeout
	}
	s := &Stream{
		opts:  opts,
		r:     r,
		w:     w,
		lines: make(chan line, linesAhead),
		taken: make(chan struct{}, 1),
		wake:  make(chan struct{}, 1),
		room:  make(chan struct{}),
		ended: make(chan struct{}),
		idle:  make(chan struct{}),
	}
	s.prompt, _ = w.(PromptWriter)
	s.began, s.last = time.Now(), -silence
	go s.write() // ended by Close or a write error
	return s
}

// ReadObject implements jsonrpc2.ObjectStream. v is an *acp.Message, which is filled without copying,
// or anything encoding/json can decode a message into. It returns io.EOF at the end of input, the
// write error when writing has failed, and acp.ErrClosed after Close.
func (s *Stream) ReadObject(v any) error {
	s.startReader.Do(func() { go s.read() })
	for {
		if s.readErr != nil {
			return s.readErr
		}
		var ln line
		select {
		case ln = <-s.lines:
		case <-s.ended:
			return s.failure()
		}
		if ln.err != nil {
			s.readErr = ln.err
			return ln.err
		}
		if s.ahead.Add(-int64(len(ln.data))) <= readAhead {
			select {
			case s.taken <- struct{}{}:
			default:
			}
		}
		m, bad := parse(ln)
		if bad != nil {
			id := m.ID
			if m.IsResponse() {
				id = acp.RequestId("null") // the id is one of ours, and means another request to the peer
			}
			s.answer(&acp.Message{ID: id, Error: bad})
			if !m.IsResponse() {
				continue
			}
			// It was meant to answer a call of ours, which must not wait for ever.
		}
		if out, ok := v.(*acp.Message); ok {
			*out = m
			return nil
		}
		data := ln.data
		if bad != nil {
			var err error
			if data, err = m.AppendJSON(nil); err != nil {
				continue
			}
		}
		return json.Unmarshal(data, v)
	}
}

// maxUnread is how many bytes beyond the budget may be queued when a line that is no
// message is to be answered: as many lines, some 35,000, as package acp has wait of a
// client that sends requests and does not read. From then on reading stops.
const maxUnread = 4 << 20

// answer answers a line that is no message, for the goroutine that reads. There is
// nothing that could wait in its place as a request does, and a client that writes such
// lines without end and reads nothing would fill memory with their answers.
func (s *Stream) answer(m *acp.Message) {
	for {
		s.mu.Lock()
		full, room := len(s.pending)+s.writing >= s.opts.Budget+maxUnread, s.room
		s.mu.Unlock()
		if !full {
			_ = s.WriteObject(m) // a write error shows at the next read
			return
		}
		select {
		case <-room:
		case <-s.ended:
			return
		}
	}
}

func parse(ln line) (acp.Message, *acp.Error) {
	if ln.tooLong > 0 {
		return acp.Message{ID: acp.RequestId("null")},
			acp.InvalidRequest(fmt.Sprintf("the line is longer than %d bytes; send less in one message", ln.tooLong))
	}
	return acp.ParseMessage(ln.data)
}

// WriteObject implements jsonrpc2.ObjectStream: it queues a message and does not wait for room. obj is
// an *acp.Message, a json.RawMessage that is a whole message, or anything acp.Marshal can encode.
func (s *Stream) WriteObject(obj any) error {
	var frame []byte
	var err error
	if m, ok := obj.(*acp.Message); ok {
		frame, err = m.AppendJSON(make([]byte, 0, 128+len(m.Params)+len(m.Result)))
	} else {
		frame, err = acp.Marshal(obj)
	}
	if err != nil {
		return fmt.Errorf("write a message: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue(frame, true)
}

// WriteFrame implements acp.FrameWriter. The frame is one JSON value, or several, a line each; a newline
// at its end is added when it is missing. WriteFrame returns ctx's error if there is no room before ctx ends.
func (s *Stream) WriteFrame(ctx context.Context, frame []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	newline := len(frame) == 0 || frame[len(frame)-1] != '\n'
	for {
		s.mu.Lock()
		queued := len(s.pending) + s.writing
		if queued == 0 || queued+len(frame) <= s.opts.Budget || s.err != nil || s.closing {
			err := s.queue(frame, newline)
			s.mu.Unlock()
			return err
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
		case <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Room implements acp.Roomer.
func (s *Stream) Room() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.closing || len(s.pending)+s.writing < s.opts.Budget {
		return nil
	}
	return s.room
}

// queue appends a frame; s.mu is held.
func (s *Stream) queue(frame []byte, newline bool) error {
	if s.err != nil {
		return s.err
	}
	if s.closing {
		return acp.ErrClosed
	}
	if s.opts.Trace != nil {
		for line := range bytes.Lines(frame) {
			s.opts.Trace(Out, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	first := len(s.pending)+s.writing == 0
	s.pending = append(s.pending, frame...)
	if newline {
		s.pending = append(s.pending, '\n')
	}
	if s.prompt == nil || !s.writtenPromptly(first) {
		s.kick()
	}
	return nil
}

// silence is how long nothing must have come for the next message to be written by
// who brings it.
const silence = 50 * time.Microsecond

// maxPrompt is the most that is written without the writer.
const maxPrompt = 64 << 10

// writtenPromptly writes what is pending and reports whether that was all of it.
// first: nothing was queued before. s.mu is held.
func (s *Stream) writtenPromptly(first bool) bool {
	now := time.Since(s.began)
	quiet := now-s.last >= silence
	s.last = now
	if !first || !quiet || len(s.pending) > maxPrompt {
		return false
	}
	n, err := s.prompt.WritePrompt(s.pending)
	if err != nil {
		s.prompt = nil // what is wrong with it, if anything, the writer will find
	}
	s.pending = append(s.pending[:0], s.pending[n:]...)
	return len(s.pending) == 0
}

// kick wakes the writer.
func (s *Stream) kick() {
	select {
	case s.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// keepBuffer is the largest write buffer that is kept for the next round: an answer
// of some thousand deltas, which a client falls behind with, takes up to a megabyte.
const keepBuffer = 1 << 20

// write is the writing goroutine. It swaps two buffers with the producers, so that a write(2) carries
// all that came during the one before it, and an idle stream writes at once.
func (s *Stream) write() {
	defer close(s.idle)
	var buf []byte
	for range s.wake {
		for {
			s.mu.Lock()
			buf, s.pending = s.pending, buf[:0]
			s.writing = len(buf)
			stop := s.closing && len(buf) == 0 || s.err != nil
			s.mu.Unlock()
			if stop {
				return
			}
			if len(buf) == 0 {
				break
			}
			if _, err := s.w.Write(buf); err != nil {
				// What was taken stays counted as queued: it was not written, and Flush must say so.
				s.fail(fmt.Errorf("write to the peer: %w", err))
				return
			}
			if cap(buf) > keepBuffer {
				buf = nil
			}
			s.mu.Lock()
			s.writing = 0
			close(s.room)
			s.room = make(chan struct{})
			s.mu.Unlock()
		}
	}
}

// fail ends the stream for its first cause and wakes everyone.
func (s *Stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.ended)
		close(s.room)
		s.room = make(chan struct{})
		s.kick()
	}
}

func (s *Stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Flush waits until nothing is queued, ctx ends, or the stream does.
func (s *Stream) Flush(ctx context.Context) error {
	for {
		s.mu.Lock()
		queued, room, err := len(s.pending)+s.writing, s.room, s.err
		s.mu.Unlock()
		if queued == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-room:
		case <-s.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close implements jsonrpc2.ObjectStream. It takes no more messages, writes what is queued for at most
// FlushTimeout, ends the stream and closes the writer and the reader where they are io.Closers. It
// may be called from anywhere, more than once; every call waits for the first to finish.
func (s *Stream) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.kick()
		s.mu.Unlock()
		t := time.NewTimer(s.opts.FlushTimeout)
		defer t.Stop()
		var err error
		select {
		case <-s.idle:
		case <-t.C:
			err = fmt.Errorf("close the stream: the peer did not read what was queued within %v", s.opts.FlushTimeout)
		}
		s.fail(acp.ErrClosed)
		if f := s.failure(); err == nil && !errors.Is(f, acp.ErrClosed) {
			err = f
		}
		for _, x := range []any{s.w, s.r} {
			if c, ok := x.(io.Closer); ok {
				_ = c.Close() // nothing is lost: all that could be written is
			}
		}
		s.closeErr = err
	})
	return s.closeErr
}
