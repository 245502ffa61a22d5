package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-agent/session"
)

const (
	suffix   = ".jsonl"
	tornMark = ".torn-"

	dirMode  = 0o700
	fileMode = 0o600

	// maxID keeps a file name with every suffix below the 255 bytes that file
	// systems allow.
	maxID = 200
)

// Options are the settings of a Store. The zero value is that of a program that
// runs for real.
type Options struct {
	// Now is the clock that stamps events; nil means time.Now.
	Now func() time.Time
	// FS is the file system; nil means the operating system's.
	FS FS
}

// Store keeps session logs in one directory. It may be used by several
// goroutines; each Log that it returns belongs to one.
type Store struct {
	dir string
	now func() time.Time
	fs  FS

	mu sync.Mutex
	// listed remembers what List found in files that have not changed since.
	listed map[string]listed
}

var (
	_ session.Store   = (*Store)(nil)
	_ session.Catalog = (*Store)(nil)
)

// Open returns the store of a directory, which is made if it is missing.
func Open(dir string, opts Options) (*Store, error) {
	s := &Store{dir: dir, now: opts.Now, fs: opts.FS, listed: map[string]listed{}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.fs == nil {
		s.fs = OS{}
	}
	if err := s.fs.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("making the session directory %s: %w", dir, err)
	}
	return s, nil
}

// Dir returns the directory of the logs.
func (s *Store) Dir() string { return s.dir }

// Path returns the file of a session's log. An id that cannot be a file name
// here is ErrNotFound: no session has it.
func (s *Store) Path(id string) (string, error) {
	if !safeID(id) {
		return "", fmt.Errorf("%w: %q cannot be a session id", session.ErrNotFound, id)
	}
	return filepath.Join(s.dir, id+suffix), nil
}

// safeID accepts what is one plain file name on every system and cannot be
// taken for another session's side file. The set is closed rather than a list
// of what is forbidden: ids come from clients.
func safeID(id string) bool {
	if id == "" || len(id) > maxID || id[0] == '.' || id[0] == '-' || strings.Contains(id, tornMark) {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return id[len(id)-1] != '.' && !device(id)
}

// device reports whether Windows would take the name for a device, whatever
// its extension.
func device(id string) bool {
	base, _, _ := strings.Cut(strings.ToLower(id), ".")
	switch base {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(base) == 4 && (base[:3] == "com" || base[:3] == "lpt") && '0' <= base[3] && base[3] <= '9'
}

// Create makes the log of a new session. When it returns, the header is
// durable and the log is locked. The header's version is set to the current
// one, a zero CreatedAt to now.
func (s *Store) Create(ctx context.Context, h session.Header) (session.Log, error) {
	path, err := s.Path(h.ID)
	if err != nil {
		return nil, fmt.Errorf("creating a session log: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, context.Cause(ctx))
	}
	h.Version = session.Version
	if h.CreatedAt.IsZero() {
		h.CreatedAt = s.now()
	}
	h.CreatedAt = h.CreatedAt.UTC().Truncate(time.Millisecond)
	line, err := session.AppendHeader(nil, &h)
	if err != nil {
		return nil, err
	}
	f, err := s.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrNotExist) && s.fs.MkdirAll(s.dir, dirMode) == nil {
		// The directory was removed under us: someone has tidied up.
		f, err = s.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	}
	if err != nil {
		return nil, fmt.Errorf("creating the session log %s: %w", path, err)
	}
	if err := s.begin(f, line); err != nil {
		// The file is ours, O_EXCL made it: leave no half of a session behind.
		return nil, errors.Join(fmt.Errorf("creating the session log %s: %w", path, err), f.Close(), s.fs.Remove(path))
	}
	return &Log{f: f, path: path, fs: s.fs, now: s.now, off: int64(len(line))}, nil
}

func (s *Store) begin(f File, header []byte) error {
	if err := f.TryLock(); err != nil {
		return err
	}
	if _, err := f.WriteAt(header, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// Open locks a log, reads it, cuts a torn tail and closes a turn that was cut.
// visit is called with every event that the returned state holds, those that
// Open appends included; before an error it may have seen a part of them. The
// log's concrete type is *Log.
func (s *Store) Open(ctx context.Context, id string, visit func(session.Event) error) (session.Log, *session.State, error) {
	path, err := s.Path(id)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.lock(path)
	if err != nil {
		return nil, nil, err
	}
	l, st, err := s.load(ctx, id, f, path, visit)
	if err != nil {
		return nil, nil, errors.Join(err, closeLocked(f, path))
	}
	return l, st, nil
}

// lock opens an existing log and takes its lock.
func (s *Store) lock(path string) (File, error) {
	f, err := s.fs.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no log at %s", session.ErrNotFound, path)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the session log %s: %w", path, err)
	}
	if err := f.TryLock(); err != nil {
		if errors.Is(err, session.ErrLocked) {
			err = fmt.Errorf("%w (%s): close it there, or end that process", session.ErrLocked, path)
		} else {
			err = fmt.Errorf("locking the session log %s: %w", path, err)
		}
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the session log %s: %w", path, err), closeLocked(f, path))
	}
	named, err := s.fs.Stat(path)
	if err != nil || !os.SameFile(mine, named) {
		return nil, errors.Join(fmt.Errorf("%w: %s was deleted just now", session.ErrNotFound, path), closeLocked(f, path))
	}
	return f, nil
}

func (s *Store) load(ctx context.Context, id string, f File, path string, visit func(session.Event) error) (*Log, *session.State, error) {
	got, err := scan(ctx, io.NewSectionReader(f, 0, maxSize), path, visit)
	if err != nil {
		return nil, nil, err
	}
	st := got.State
	if st.Header.ID != id {
		return nil, nil, fmt.Errorf("reading %s, line 1: %w: the header is that of session %q", path, session.ErrCorrupt, st.Header.ID)
	}
	l := &Log{f: f, path: path, fs: s.fs, now: s.now, off: got.Size, seq: st.Seq}
	var repair []session.Data
	if got.Torn > 0 {
		aside, err := s.cutTail(id, f, path, got)
		if err != nil {
			return nil, nil, err
		}
		repair = append(repair, &session.Notice{
			Severity: "warning",
			Text:     fmt.Sprintf("The session log ended in a broken line, as after a crash. Its %d bytes were cut off and are kept in %s.", got.Torn, aside),
			Source:   session.Source{Kind: session.SourceAgent},
		})
	}
	repair = append(repair, st.Repair()...)
	if err := l.repair(st, repair, visit); err != nil {
		return nil, nil, err
	}
	return l, st, nil
}

// maxSize is where reading a log would stop; no file is as large.
const maxSize = 1<<63 - 1

// cutTail moves the torn tail to a file of its own and cuts it from the log.
// The copy is durable before the log changes. It returns the copy's name.
func (s *Store) cutTail(id string, f File, path string, got *Reading) (string, error) {
	aside, side, err := s.sideFile(id)
	if err != nil {
		return "", fmt.Errorf("keeping the torn tail of %s aside: %w", path, err)
	}
	err = copyTail(side, f, got.Size, got.Torn)
	if err = errors.Join(err, side.Close()); err == nil {
		err = s.fs.SyncDir(s.dir)
	}
	if err != nil {
		// The log still holds the tail: a partial copy has no use.
		err = errors.Join(err, s.fs.Remove(aside))
		return "", fmt.Errorf("keeping the torn tail of %s in %s: %w", path, aside, err)
	}
	if err := f.Truncate(got.Size); err != nil {
		return "", fmt.Errorf("cutting the torn tail of %s at byte %d: %w", path, got.Size, err)
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("syncing %s after cutting its torn tail: %w", path, err)
	}
	return filepath.Base(aside), nil
}

// sideFile makes the first ID.torn-N that does not exist.
func (s *Store) sideFile(id string) (string, File, error) {
	for n := 1; ; n++ {
		name := filepath.Join(s.dir, fmt.Sprintf("%s%s%d", id, tornMark, n))
		f, err := s.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrExist) {
			return name, f, err
		}
	}
}

func copyTail(dst, src File, off, n int64) error {
	if _, err := io.Copy(io.NewOffsetWriter(dst, 0), io.NewSectionReader(src, off, n)); err != nil {
		return err
	}
	return dst.Sync()
}

// repair appends what closes a log that was cut, folds it and makes it durable.
func (l *Log) repair(st *session.State, data []session.Data, visit func(session.Event) error) error {
	if len(data) == 0 {
		return nil
	}
	events, err := l.Append(data...)
	if err != nil {
		return err
	}
	if err := l.Sync(); err != nil {
		return err
	}
	for _, ev := range events {
		if err := st.Apply(ev); err != nil {
			return fmt.Errorf("repairing %s: %w", l.path, err)
		}
		if visit != nil {
			ev.Fresh = true
			if err := visit(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read reads a session's log without locking or changing it, also while
// another process writes it. See ReadFile.
func (s *Store) Read(ctx context.Context, id string, visit func(session.Event) error) (*Reading, error) {
	path, err := s.Path(id)
	if err != nil {
		return nil, err
	}
	f, err := s.fs.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no log at %s", session.ErrNotFound, path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the session log: %w", err)
	}
	defer f.Close() // opened for reading: nothing can be lost
	return scan(ctx, io.NewSectionReader(f, 0, maxSize), path, visit)
}

// Delete removes a session's log and its side files. A log that is open
// anywhere is ErrLocked; a damaged one can be deleted.
func (s *Store) Delete(ctx context.Context, id string) error {
	path, err := s.Path(id)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("deleting %s: %w", path, context.Cause(ctx))
	}
	f, err := s.lock(path)
	if err != nil {
		return err
	}
	if removesOpen {
		err = errors.Join(s.remove(id, path), closeLocked(f, path))
	} else {
		err = errors.Join(closeLocked(f, path), s.remove(id, path))
	}
	if err != nil {
		return fmt.Errorf("deleting session %s: %w", id, err)
	}
	return nil
}

// remove takes the log first: a crash between leaves side files, which show
// nowhere, and not a session without its side files.
func (s *Store) remove(id, path string) error {
	if err := s.fs.Remove(path); err != nil {
		return err
	}
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), id+tornMark) {
			errs = append(errs, s.fs.Remove(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(append(errs, s.fs.SyncDir(s.dir))...)
}
