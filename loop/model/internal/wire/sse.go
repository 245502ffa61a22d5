package wire

import (
	"bytes"
	"errors"
	"io"
)

// MaxEvent bounds one event of a stream: nothing that a model says in one delta
// comes near, and a server that never ends a line must not eat the memory.
const MaxEvent = 32 << 20

// ErrEventTooLong ends a stream with an event longer than MaxEvent.
var ErrEventTooLong = errors.New("an event of the stream is longer than 32 MiB")

// SSE splits a server-sent event stream (WHATWG HTML 9.2.6) into the data
// of its events. Beyond the standard it takes a last event without its blank
// line, since servers leave it out after the end mark.
type SSE struct {
	r   io.Reader
	buf []byte
	// buf[start:end] is not read yet; from start to scan there is no line end.
	start, scan, end int
	err              error
	// crlf: the last line ended in CR at the end of what had arrived; a LF that
	// follows belongs to it.
	crlf bool
	data []byte
	name []byte
	// plain is the body's first line when that is no field of an event stream:
	// the body is then JSON or a page, which rest reads.
	plain []byte
	begun bool
}

// A stream is read into minRead bytes, into maxRead as soon as it fills them.
const (
	minRead = 4 << 10
	maxRead = 16 << 10
)

// NewSSE returns a reader of the stream r.
func NewSSE(r io.Reader) *SSE { return &SSE{r: r, buf: make([]byte, minRead)} }

// Next returns the next event's data and type; both are valid until the next
// call. last is set for an event that the end of the stream cut. At the end err
// is io.EOF or the reader's error; ErrPlain says that this is no event stream.
func (s *SSE) Next() (data, name []byte, last bool, err error) {
	s.data, s.name = s.data[:0], s.name[:0]
	any := false
	for {
		line, err := s.line()
		if err != nil {
			if any {
				return s.data, s.name, true, nil
			}
			return nil, nil, false, err
		}
		if len(line) == 0 {
			if any {
				return s.data, s.name, false, nil
			}
			s.name = s.name[:0]
			continue
		}
		if !s.begun {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
			if t := bytes.TrimLeft(line, " \t"); len(t) > 0 && (t[0] == '{' || t[0] == '[' || t[0] == '<') {
				s.plain = append([]byte(nil), line...)
				return nil, nil, false, ErrPlain
			}
			s.begun = true
		}
		if len(line) == 0 || line[0] == ':' {
			continue
		}
		field, value, _ := bytes.Cut(line, colon)
		value = bytes.TrimPrefix(value, space)
		switch string(field) {
		case "data":
			if any {
				s.data = append(s.data, '\n')
			}
			any = true
			if len(s.data)+len(value) > MaxEvent {
				return nil, nil, false, ErrEventTooLong
			}
			s.data = append(s.data, value...)
		case "event":
			s.name = append(s.name[:0], value...)
		}
	}
}

var (
	colon = []byte(":")
	space = []byte(" ")
)

// ErrPlain says that a body is no event stream; Rest returns it.
var ErrPlain = errors.New("not an event stream")

// Rest returns the body of an answer that is no event stream, up to limit.
func (s *SSE) Rest(limit int) ([]byte, error) {
	out := append(s.plain, '\n')
	out = append(out, s.buf[s.start:s.end]...)
	s.start, s.scan, s.end = 0, 0, 0
	more, err := io.ReadAll(io.LimitReader(s.r, int64(limit)))
	return append(out, more...), err
}

// line returns the next line without its end, which is LF, CR LF or CR. What
// remains at the end of the stream counts as a line.
func (s *SSE) line() ([]byte, error) {
	for {
		if s.crlf && s.start < s.end {
			s.crlf = false
			if s.buf[s.start] == '\n' {
				s.start++
				s.scan = s.start
			}
		}
		seen := s.buf[s.scan:s.end]
		i := bytes.IndexByte(seen, '\n')
		if i >= 0 {
			seen = seen[:i]
		}
		if j := bytes.IndexByte(seen, '\r'); j >= 0 {
			i = j
		}
		if i >= 0 {
			at := s.scan + i
			line := s.buf[s.start:at]
			s.start, s.scan = at+1, at+1
			s.crlf = s.buf[at] == '\r'
			return line, nil
		}
		s.scan = s.end
		if s.err != nil {
			if s.start < s.end && s.err != ErrEventTooLong {
				line := s.buf[s.start:s.end]
				s.start, s.scan = s.end, s.end
				return line, nil
			}
			return nil, s.err
		}
		s.fill()
	}
}

func (s *SSE) fill() {
	if s.start > 0 {
		n := copy(s.buf, s.buf[s.start:s.end])
		s.scan -= s.start
		s.start, s.end = 0, n
	}
	if s.end == len(s.buf) {
		if len(s.buf) >= MaxEvent {
			s.err = ErrEventTooLong
			return
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if s.end == len(s.buf) && s.end < maxRead {
			s.buf = append(make([]byte, 0, maxRead), s.buf...)[:maxRead]
		}
		if err != nil {
			s.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}
