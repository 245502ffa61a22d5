package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"acp-agent/session"
)

const (
	// headSize is read first: it holds the header and often the whole of a short
	// session.
	headSize = 16 << 10
	// maxHeader bounds a header line.
	maxHeader = 1 << 20
	// tailSize is the unit of scanning backwards.
	tailSize = 128 << 10
)

// listed is what List found in a file of that size and time.
type listed struct {
	size int64
	mod  time.Time
	info session.Info
}

// List returns every session, last active first, equal times by id. It reads
// the header, the end of the file, back to the start of the last turn and back to
// the last title, no more.
func (s *Store) List(ctx context.Context) ([]session.Info, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // as in Create: no directory, no session
		return nil, fmt.Errorf("listing the sessions in %s: %w", s.dir, err)
	}
	out := make([]session.Info, 0, len(entries))
	seen := make(map[string]listed, len(entries))
	var space []byte
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !safeID(id) || e.Type()&^fs.ModeSymlink != 0 { // opening a pipe would wait for a writer
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("listing the sessions in %s: %w", s.dir, context.Cause(ctx))
		}
		got, err := s.look(id, &space)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since ReadDir
		}
		if err != nil {
			got = listed{info: session.Info{Header: session.Header{ID: id}, Err: fmt.Errorf("reading the session log of %s: %w", id, err)}}
		} else {
			seen[id] = got
		}
		info := got.info
		info.AdditionalDirectories = slices.Clone(info.AdditionalDirectories)
		out = append(out, info)
	}
	s.mu.Lock()
	s.listed = seen
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b session.Info) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// look describes one log, from memory if the file has not changed. Its error is
// that of the file system; damage is in the info. space is lent for reading.
func (s *Store) look(id string, space *[]byte) (listed, error) {
	path := filepath.Join(s.dir, id+suffix)
	fi, err := s.fs.Stat(path)
	if err != nil {
		return listed{}, err
	}
	s.mu.Lock()
	old, ok := s.listed[id]
	s.mu.Unlock()
	if ok && old.size == fi.Size() && old.mod.Equal(fi.ModTime()) {
		return old, nil
	}
	f, err := s.fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return listed{}, err
	}
	defer f.Close() // opened for reading: nothing can be lost
	out := listed{size: fi.Size(), mod: fi.ModTime()}
	out.info, err = describe(f, fi.Size(), id, path, space)
	if out.info.UpdatedAt.IsZero() {
		out.info.UpdatedAt = fi.ModTime().UTC()
	}
	return out, err
}

// describe reads what List shows of a log of the given size.
func describe(f io.ReaderAt, size int64, id, path string, space *[]byte) (session.Info, error) {
	info := session.Info{Header: session.Header{ID: id}}
	line, err := headerLine(f, size, space)
	if err != nil {
		return info, err
	}
	h, err := session.DecodeHeader(line)
	switch {
	case len(line) == 0 || line[len(line)-1] != '\n' && !errors.Is(err, session.ErrVersion):
		err = fmt.Errorf("%w: the file ends inside its header", session.ErrCorrupt)
	case err == nil && h.ID != id:
		err = fmt.Errorf("%w: the header is that of session %q", session.ErrCorrupt, h.ID)
	}
	if err != nil {
		info.Err = fmt.Errorf("reading %s, line 1: %w", path, err)
		return info, nil
	}
	info.Header, info.Dir, info.UpdatedAt = *h, h.Cwd, h.CreatedAt
	b := &backwards{f: f, low: int64(len(line)), pos: size, space: space}
	if err := b.end(path, &info); err != nil {
		return info, err
	}
	return info, b.lasts(
		&wanted{found: func(d session.Data) bool {
			t, ok := d.(*session.SessionTitle)
			if ok {
				info.Title = t.Title
			}
			return ok
		}, types: []session.Type{session.TypeSessionTitle}},
		// A turn says where it works where that is not the directory of the header,
		// and so does a load.
		&wanted{found: func(d session.Data) bool {
			switch d := d.(type) {
			case *session.TurnStart:
				info.Dir = cmp.Or(d.Cwd, h.Cwd)
				return true
			case *session.ConfigSet:
				if d.ID == session.ConfigCwd {
					info.Dir = d.Value
					return true
				}
			}
			return false
		}, types: []session.Type{session.TypeTurnStart, session.TypeConfigSet}},
	)
}

// headerLine reads the first line with its LF, or all there is without one.
func headerLine(f io.ReaderAt, size int64, space *[]byte) ([]byte, error) {
	for n := int64(headSize); ; n *= 8 {
		buf := lend(space, min(n, size))
		if _, err := f.ReadAt(buf, 0); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if i := bytes.IndexByte(buf, '\n'); i >= 0 {
			return buf[:i+1], nil
		}
		if n >= size || n > maxHeader {
			return buf, nil
		}
	}
}

// backwards reads the lines of a log from its end.
type backwards struct {
	f io.ReaderAt
	// low is where the events begin, pos where what has not been looked at ends.
	low, pos int64
	// buf holds the file from start up to pos or beyond.
	buf   []byte
	start int64
	space *[]byte
}

// lend returns n bytes of space, which is made larger where it has to be.
func lend(space *[]byte, n int64) []byte {
	if int64(cap(*space)) < n {
		*space = make([]byte, n)
	}
	return (*space)[:n]
}

// end finds the time of the last whole event.
func (b *backwards) end(path string, info *session.Info) error {
	bad := 0
	for b.pos > b.low {
		from, line, err := b.line(b.pos)
		if err != nil {
			return err
		}
		if ts, ok := eventTime(line); ok {
			info.UpdatedAt = ts
			return nil
		}
		// One bad line at the end is a torn tail, which Open will cut.
		if bad++; bad > 1 {
			info.Err = fmt.Errorf("reading %s, byte %d: %w: no event line here", path, from, session.ErrCorrupt)
			return nil
		}
		b.pos = from
	}
	return nil
}

// eventTime returns the time of an event line. One that another program wrote in
// its own form is decoded for it.
func eventTime(line []byte) (time.Time, bool) {
	line, whole := bytes.CutSuffix(line, []byte("\n"))
	if !whole {
		return time.Time{}, false
	}
	if ts, ok := session.PeekTime(line); ok && line[len(line)-1] == '}' {
		return ts, true
	}
	ev, err := session.DecodeEvent(line)
	return ev.Time, err == nil
}

// line returns the line that ends at end, and where it begins.
func (b *backwards) line(end int64) (int64, []byte, error) {
	for {
		if b.start < end && b.buf != nil {
			part := b.buf[:end-b.start]
			if i := bytes.LastIndexByte(part[:len(part)-1], '\n'); i >= 0 {
				return b.start + int64(i) + 1, part[i+1:], nil
			}
		}
		if b.buf != nil && b.start <= b.low {
			return b.low, b.buf[b.low-b.start : end-b.start], nil
		}
		if err := b.extend(end); err != nil {
			return 0, nil, err
		}
	}
}

// extend reads a larger part of the file that ends at end. It doubles, so that
// a line of any length costs its length a few times at most.
func (b *backwards) extend(end int64) error {
	n := int64(tailSize)
	if b.buf != nil && b.start < end {
		n = 2 * (end - b.start)
	}
	b.start = max(b.low, end-n)
	b.buf = lend(b.space, end-b.start)
	return readFull(b.f, b.buf, b.start)
}

func readFull(f io.ReaderAt, buf []byte, off int64) error {
	n, err := f.ReadAt(buf, off)
	if n == len(buf) || errors.Is(err, io.EOF) {
		clear(buf[n:]) // cut by another process meanwhile
		return nil
	}
	return err
}

// wanted is an event that is looked for from the end of a log: the last of these
// types that found takes.
type wanted struct {
	types []session.Type
	found func(session.Data) bool
	done  bool
}

// lasts finds the last events before pos that are wanted. It goes back window by
// window, until it has them all.
func (b *backwards) lasts(all ...*wanted) error {
	type candidate struct {
		at  int64
		typ session.Type
	}
	var lines []candidate
	for end := b.pos; end > b.low; {
		// The lines that begin in the window, and the byte before them; behind them
		// enough to tell the type of the last.
		from := max(b.low, end-tailSize)
		buf := lend(b.space, min(b.pos, end+session.PeekFront)-max(from-1, 0))
		if err := readFull(b.f, buf, max(from-1, 0)); err != nil {
			return err
		}
		lines = lines[:0]
		for i := int64(0); ; {
			n := int64(bytes.IndexByte(buf[i:], '\n')) + 1
			if i += n; n == 0 || max(from-1, 0)+i >= end {
				break
			}
			for _, w := range all {
				if t := w.wants(session.PeekType(buf[i:])); t != "" {
					lines = append(lines, candidate{max(from-1, 0) + i, t})
				}
			}
		}
		for _, c := range slices.Backward(lines) {
			for _, w := range all {
				if w.wants([]byte(c.typ)) == "" {
					continue
				}
				if err := b.offer(w, c.at); err != nil {
					return err
				}
			}
		}
		if !slices.ContainsFunc(all, func(w *wanted) bool { return !w.done }) {
			return nil
		}
		end = from
	}
	return nil
}

// wants returns the type where it is still looked for.
func (w *wanted) wants(typ []byte) session.Type {
	for _, t := range w.types {
		if !w.done && string(t) == string(typ) {
			return t
		}
	}
	return ""
}

// offer decodes the line that begins at a place for who wants it.
func (b *backwards) offer(w *wanted, at int64) error {
	const usual, most = 4 << 10, 1 << 20
	for _, size := range []int64{usual, most} {
		line := make([]byte, min(size, b.pos-at))
		if err := readFull(b.f, line, at); err != nil {
			return err
		}
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			continue
		}
		ev, err := session.DecodeEvent(line[:end])
		if err != nil {
			return nil // damage, which Open reports
		}
		w.done = w.found(ev.Data)
		return nil
	}
	return nil
}
