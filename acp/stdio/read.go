package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is what the reading goroutine found: a line, a line that is too long, or the end.
type line struct {
	data    []byte // without its line end; owned by the receiver
	tooLong int    // the limit that it passed
	err     error
}

// The reading goroutine runs ahead of ReadObject by so many lines, and by this many bytes and one line.
// Were each line handed over by itself, whoever reads would wait for its turn among all the requests that
// have just been started, once for each line: a cancel behind 50 prompts took 100 ms to be read.
const (
	linesAhead = 64
	readAhead  = 256 << 10
)

// read is the reading goroutine. A blocked Read can't be interrupted in general, so nobody waits for it:
// it ends when the reader does, or with the first line that nobody takes any more.
func (s *Stream) read() {
	lr := lineReader{br: bufio.NewReaderSize(s.r, 64<<10), max: s.opts.MaxLine}
	for {
		ln := lr.next()
		if ln.err == nil && ln.tooLong == 0 && s.opts.Trace != nil {
			s.opts.Trace(In, ln.data)
		}
		n := s.ahead.Add(int64(len(ln.data)))
		select {
		case s.lines <- ln:
		case <-s.ended:
			return
		}
		if ln.err != nil {
			return
		}
		for ; n > readAhead; n = s.ahead.Load() {
			select {
			case <-s.taken:
			case <-s.ended:
				return
			}
		}
	}
}

// lineReader cuts its input into lines.
type lineReader struct {
	br      *bufio.Reader
	max     int
	started bool
}

var bom = []byte("\xef\xbb\xbf")

// next returns the next line that is not blank. At the end of input a last line without newline counts.
func (lr *lineReader) next() line {
	for {
		data, tooLong, err := lr.raw()
		if !lr.started && len(data) > 0 {
			lr.started = true
			data = bytes.TrimPrefix(data, bom)
		}
		switch {
		case tooLong:
			return line{tooLong: lr.max}
		case len(bytes.TrimSpace(data)) > 0:
			return line{data: data}
		case err != nil:
			return line{err: err}
		}
	}
}

// raw returns one line without its line end. A short line costs one copy out of the read buffer. A long
// one is gathered in pieces and joined once, so that at no time more than twice its size is held; the
// usual doubling of one buffer would hold three times and more.
func (lr *lineReader) raw() (data []byte, tooLong bool, err error) {
	var pieces [][]byte
	size := 0
	for {
		var frag []byte
		frag, err = lr.br.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if !tooLong {
			size += len(frag)
			if size > lr.max+len("\r\n") || !more && len(trimEnd(frag))+size-len(frag) > lr.max {
				tooLong, pieces = true, nil
			} else {
				pieces = append(pieces, bytes.Clone(frag))
			}
		}
		if !more {
			break
		}
	}
	if tooLong {
		return nil, true, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err // half a line before a read error is no message
	}
	if len(pieces) == 1 {
		return trimEnd(pieces[0]), false, err
	}
	data = make([]byte, 0, size)
	for _, p := range pieces {
		data = append(data, p...)
	}
	return trimEnd(data), false, err
}

func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
		if n > 1 && b[n-2] == '\r' {
			b = b[:n-2]
		}
	}
	return b
}
