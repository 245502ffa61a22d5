package jsonl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"acp-agent/session"
)

const (
	// readSize is the unit of reading.
	readSize = 64 << 10
	// maxLine bounds a line so that a file without line ends cannot take all
	// memory. No real line comes near it: a prompt is bounded on the wire.
	maxLine = 1 << 30
	// checkEvery is how many lines are read between looks at the context.
	checkEvery = 256
)

// Reading is what reading a log found.
type Reading struct {
	// State is the fold of the events.
	State *session.State
	// Size is the length of the header and the whole lines: where an append
	// would go.
	Size int64
	// Torn is how many bytes of a broken last line follow them; 0 for a log that
	// was closed properly.
	Torn int64
}

// lines reads lines of any length from r with their positions.
type lines struct {
	r *bufio.Reader
	// long collects a line that does not fit the reader's buffer.
	long []byte
	// off is where the next line begins, n the number of the last one.
	off int64
	n   int
}

// readers keeps read buffers: a list of sessions opens many logs.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

func newLines(r io.Reader) *lines {
	s := &lines{r: readers.Get().(*bufio.Reader)}
	s.r.Reset(r)
	return s
}

func (s *lines) release() {
	s.r.Reset(nil)
	readers.Put(s.r)
	s.r = nil
}

// next returns the next line without its LF, valid until the call after. whole
// is false for a last line that has no LF. At the end it returns io.EOF.
func (s *lines) next() (line []byte, whole bool, err error) {
	line, err = s.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.long = append(s.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(s.long) > maxLine {
				return nil, false, fmt.Errorf("%w: line %d at byte %d is longer than %d bytes", session.ErrCorrupt, s.n+1, s.off, maxLine)
			}
			line, err = s.r.ReadSlice('\n')
			s.long = append(s.long, line...)
		}
		line = s.long
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if len(line) == 0 {
		return nil, false, io.EOF
	}
	s.n++
	s.off += int64(len(line))
	if err != nil {
		return line, false, nil
	}
	return line[:len(line)-1], true, nil
}

// scan reads a log from its start: header, then events, each folded and handed
// to visit. A torn tail ends it without error; at damage behind the header it returns
// what stands before it, too. name is the file, for errors.
func scan(ctx context.Context, r io.Reader, name string, visit func(session.Event) error) (*Reading, error) {
	in := newLines(r)
	defer in.release()
	line, whole, err := in.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("reading %s: %w: the file is empty, not even the header was written; delete the session", name, session.ErrCorrupt)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	h, err := session.DecodeHeader(line)
	if !whole && !errors.Is(err, session.ErrVersion) {
		return nil, fmt.Errorf("reading %s: %w: the file ends inside its header (line 1, %d bytes); delete the session", name, session.ErrCorrupt, len(line))
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s, line 1: %w", name, err)
	}
	out := &Reading{State: session.NewState(*h), Size: in.off}
	for {
		if in.n%checkEvery == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("reading %s: %w", name, context.Cause(ctx))
		}
		line, whole, err := in.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("reading %s: %w", name, err)
		}
		if !whole {
			out.Torn = int64(len(line))
			return out, nil
		}
		ev, err := session.DecodeEvent(line)
		if err != nil {
			at := fmt.Errorf("reading %s, line %d at byte %d: %w", name, in.n, out.Size, err)
			// Only what no program ever wrote whole may count as torn: a JSON line
			// that is not understood is somebody's data.
			if json.Valid(line) {
				return out, at
			}
			size := in.off - out.Size
			if _, _, err := in.next(); !errors.Is(err, io.EOF) {
				return out, errors.Join(at, notEOF(err))
			}
			out.Torn = size
			return out, nil
		}
		if err := out.State.Apply(ev); err != nil {
			if ev.Seq <= out.State.Seq {
				err = fmt.Errorf("%w: seq %d appears a second time after seq %d: two processes wrote this log", session.ErrCorrupt, ev.Seq, out.State.Seq)
			}
			return out, fmt.Errorf("reading %s, line %d at byte %d: %w", name, in.n, out.Size, err)
		}
		out.Size = in.off
		if visit != nil {
			if err := visit(ev); err != nil {
				return nil, err
			}
		}
	}
}

func notEOF(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("and behind it: %w", err)
}

// ReadFile reads a log file without locking or changing it. It stops before a
// torn tail; Reading.Torn says how long that is. visit, if not nil, is called
// with each event in order, also with those before damage, which are in the Reading
// that comes with the error.
func ReadFile(ctx context.Context, path string, visit func(session.Event) error) (*Reading, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a session log: %w", err)
	}
	defer f.Close() // opened for reading: nothing can be lost
	return scan(ctx, f, path, visit)
}
