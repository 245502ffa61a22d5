package jsonl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"acp-agent/session"
)

const (
	// flushAt is how many encoded bytes wait in memory before Append writes.
	flushAt = 64 << 10
	// keepAt is the largest buffer that is kept for the next log to use; the
	// buffer of one 20 MB prompt is not.
	keepAt = 4 * flushAt
)

// buffers holds encoding buffers between bursts of appends. A log has one only
// while something waits in it, so that an idle session costs a descriptor and a
// small struct.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// errClosed is what a closed log answers.
var errClosed = errors.New("session log is closed")

// Log is an open log file. It has no goroutine and no lock of its own: it
// belongs to one goroutine at a time.
type Log struct {
	f    File
	path string
	fs   FS
	now  func() time.Time
	// buf is borrowed from buffers while encoded events wait, else nil.
	buf *[]byte
	// off is the file's length: where the next write goes.
	off int64
	seq uint64
	// dirty: bytes were written that no sync has covered.
	dirty bool
	err   error
}

var _ session.Log = (*Log)(nil)

// Append encodes the payloads behind what waits and gives them their seq and
// time (UTC, whole milliseconds, as they will be read back). A payload that
// cannot be encoded leaves nothing of its call in the log.
func (l *Log) Append(data ...session.Data) ([]session.Event, error) {
	if l.err != nil {
		return nil, l.err
	}
	if len(data) == 0 {
		return nil, nil
	}
	if l.buf == nil {
		l.buf = buffers.Get().(*[]byte)
	}
	// Milliseconds are all the log keeps: what the appender folds now and what a
	// reader folds later must be the same event.
	now := l.now().UTC().Truncate(time.Millisecond)
	start := len(*l.buf)
	events := make([]session.Event, len(data))
	for i, d := range data {
		events[i] = session.Event{Seq: l.seq + uint64(i) + 1, Time: now, Data: d}
		b, err := session.AppendEvent(*l.buf, &events[i])
		if err != nil {
			*l.buf = (*l.buf)[:start]
			return nil, l.fail("appending to", err)
		}
		*l.buf = b
	}
	l.seq += uint64(len(data))
	if len(*l.buf) > flushAt {
		if err := l.Flush(); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// Flush writes what waits to the file.
func (l *Log) Flush() error {
	if l.err != nil {
		return l.err
	}
	if l.buf == nil {
		return nil
	}
	if len(*l.buf) > 0 {
		if err := l.check(); err != nil {
			return err
		}
		l.dirty = true
		n, err := l.f.WriteAt(*l.buf, l.off)
		l.off += int64(n)
		if err != nil {
			return l.fail("writing", err)
		}
	}
	l.release()
	return nil
}

// Sync writes what waits and makes the file durable.
func (l *Log) Sync() error {
	if err := l.Flush(); err != nil {
		return err
	}
	if !l.dirty {
		return nil
	}
	if err := l.f.Sync(); err != nil {
		return l.fail("syncing", err)
	}
	l.dirty = false
	return nil
}

// check notices that somebody else had his hands on the file: that its name leads
// to it no more, or that it is not as long as it was written. It costs two calls
// of stat, which is next to nothing beside a sync.
func (l *Log) check() error {
	mine, err := l.f.Stat()
	if err != nil {
		return l.fail("looking at", err)
	}
	named, err := l.fs.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.fail("looking for", fmt.Errorf("%w: it was deleted or moved while the session was open", session.ErrGone))
	case err != nil:
		return l.fail("looking for", err)
	case !os.SameFile(mine, named):
		return l.fail("looking for", fmt.Errorf("%w: another file has taken its place while the session was open", session.ErrGone))
	case mine.Size() != l.off:
		return l.fail("looking at", fmt.Errorf("%w: it has %d bytes and %d were written: another program has changed it", session.ErrCorrupt, mine.Size(), l.off))
	}
	return nil
}

// Close syncs and gives up lock and file. It returns the error that stuck, if
// any; a second Close does nothing.
func (l *Log) Close() error {
	if l.f == nil {
		return nil
	}
	err := l.Sync()
	if err == nil {
		err = l.check()
	}
	l.release()
	err = errors.Join(err, closeLocked(l.f, l.path))
	l.f, l.err = nil, fmt.Errorf("using %s: %w", l.path, errClosed)
	return err
}

func (l *Log) release() {
	if l.buf == nil {
		return
	}
	if cap(*l.buf) <= keepAt {
		*l.buf = (*l.buf)[:0]
		buffers.Put(l.buf)
	}
	l.buf = nil
}

// fail makes err stick: after a failed write nobody knows what the file holds,
// and the next Open has to find out.
func (l *Log) fail(doing string, err error) error {
	l.err = fmt.Errorf("%s the session log %s: %w", doing, l.path, err)
	return l.err
}

func closeLocked(f File, path string) error {
	uerr := f.Unlock()
	if err := errors.Join(uerr, f.Close()); err != nil {
		return fmt.Errorf("closing the session log %s: %w", path, err)
	}
	return nil
}
