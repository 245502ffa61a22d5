package session

import (
	"context"
	"errors"
	"time"
)

// The kinds of log failure. Stores wrap them with what was being done to which
// log. None is ever repaired silently.
var (
	// ErrNotFound: there is no such session.
	ErrNotFound = errors.New("session not found")
	// ErrLocked: another process has the session open.
	ErrLocked = errors.New("session is in use by another process")
	// ErrVersion: the log is of a version this program does not read.
	ErrVersion = errors.New("session log version not supported")
	// ErrGone: the log was deleted, moved or replaced while it was open.
	ErrGone = errors.New("session log is gone")
	// ErrCorrupt: the log is damaged before its last durable event.
	ErrCorrupt = errors.New("session log is damaged")
)

// Log is an open session log. It belongs to one goroutine at a time; the first
// error of Append or Sync sticks and is returned from then on.
type Log interface {
	// Append gives the payloads their seq and time and buffers them in order.
	// They are not durable before Sync returns nil.
	Append(data ...Data) ([]Event, error)
	// Flush hands everything appended to the operating system: it then survives
	// the death of the process, though not of the machine.
	Flush() error
	// Sync makes everything appended durable (fsync).
	Sync() error
	// Close syncs, releases the lock and the file.
	Close() error
}

// Store makes and opens logs.
type Store interface {
	// Create makes a log whose header is durable when it returns.
	Create(ctx context.Context, h Header) (Log, error)
	// Open locks an existing log, cuts a torn tail, and returns it with the fold
	// of its events. visit, if not nil, is called with each event in order.
	Open(ctx context.Context, id string, visit func(Event) error) (Log, *State, error)
}

// Info describes a stored session without opening it.
type Info struct {
	Header
	// Dir is the directory that the session works in now: that of the last load or
	// resume, or the header's.
	Dir   string
	Title string
	// UpdatedAt is the time of the last event, or of the header.
	UpdatedAt time.Time
	// Err says why the log cannot be read; the other fields then hold what could.
	Err error
}

// Catalog lists and removes stored sessions.
type Catalog interface {
	// List returns every session, last active first. A damaged log is listed
	// with Info.Err set and never stops the list.
	List(ctx context.Context) ([]Info, error)
	// Delete removes a session; a missing one is ErrNotFound, an open one ErrLocked.
	Delete(ctx context.Context, id string) error
}
