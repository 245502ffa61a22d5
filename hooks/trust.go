package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"acp-agent/internal/files"
)

// A repository must not be able to run commands on the machine of whoever opens
// it (README, Security). So a handler of a project layer runs only once the person
// has trusted exactly its content: a hash over event, matcher and the handler as
// written, per project directory. Codex does the same (Codex 0.171.0, config and
// trust); Claude Code trusts a folder as a whole, and in -p everything.
//
// What is not covered: the content of scripts that a command names. Trusting
// `bash check.sh` trusts what check.sh will say tomorrow, as with any build.

// HashHandler is the content that trust is given to. raw is the handler as
// written; its member order and blanks do not count, nor does its place in the
// file, so that moving it keeps the trust.
func HashHandler(dialect string, ev Event, matcher string, raw json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		v = string(raw)
	}
	// encoding/json sorts the keys of maps: the canonical form.
	b, err := json.Marshal(map[string]any{
		"dialect": dialect, "event": ev, "matcher": matcher, "handler": v,
	})
	if err != nil {
		b = raw
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Trust is the store of what the person has trusted, in one file outside every
// repository. It is safe for several goroutines and several processes: a change
// is made under a lock, to a copy that replaces the file.
type Trust struct {
	path string

	mu    sync.Mutex
	read  bool
	stamp *sight
	file  trustFile
	err   error
}

// trustFile is the file's content.
type trustFile struct {
	Version int `json:"version"`
	// Projects maps a project directory to its decisions, by handler hash.
	Projects map[string]map[string]trustEntry `json:"projects"`
}

// trustEntry is a decision, with what it was about for whoever reads the file.
type trustEntry struct {
	State   TrustState `json:"state"`
	Dialect string     `json:"dialect"`
	Place   string     `json:"place"`
	Command string     `json:"command"`
}

const trustVersion = 1

// OpenTrust returns the store in that directory; nothing is read or made yet.
func OpenTrust(dir string) *Trust { return &Trust{path: filepath.Join(dir, "trusted-hooks.json")} }

// State returns what the person has said about the handler in the project:
// trusted, rejected, modified (another content was trusted in its place) or
// untrusted. A store that cannot be read trusts nothing; Err says why.
func (t *Trust) State(project string, h *Handler) TrustState {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	entries := t.file.Projects[realDir(project)]
	if e, ok := entries[h.Hash]; ok {
		if e.State == TrustTrusted || e.State == TrustRejected {
			return e.State
		}
		return TrustUntrusted
	}
	for _, e := range entries {
		if e.State == TrustTrusted && e.Place == place(project, h) {
			return TrustModified
		}
	}
	return TrustUntrusted
}

// Err returns why the store could not be read, if so.
func (t *Trust) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	return t.err
}

// Set records a decision about handlers of the project: TrustTrusted,
// TrustRejected, or TrustUntrusted to forget.
func (t *Trust) Set(project string, hs []*Handler, st TrustState) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.change(func() { t.set(realDir(project), hs, st) })
}

// change makes a change to what is in the file by now, under its lock.
func (t *Trust) change(do func()) error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return fmt.Errorf("trusting hooks: %w", err)
	}
	unlock, err := lockFile(t.path + ".lock")
	if err != nil {
		return fmt.Errorf("trusting hooks: locking %s: %w", t.path, err)
	}
	defer unlock()
	// What another process has written since must not be lost.
	t.read = false
	t.refresh()
	if t.err != nil {
		return fmt.Errorf("trusting hooks: %w", t.err)
	}
	do()
	b, err := json.MarshalIndent(t.file, "", "  ")
	if err == nil {
		err = files.Replace(t.path, append(b, '\n'))
	}
	if err != nil {
		t.read = false
		return fmt.Errorf("trusting hooks: %w", err)
	}
	t.stamp = stamp(t.path)
	return nil
}

func (t *Trust) set(project string, hs []*Handler, st TrustState) {
	entries := t.file.Projects[project]
	if entries == nil {
		entries = map[string]trustEntry{}
		t.file.Projects[project] = entries
	}
	for _, h := range hs {
		at := place(project, h)
		for hash, e := range entries {
			// One place, one decision: an older content is forgotten, or an edit
			// taken back would run unasked.
			if e.Place == at {
				delete(entries, hash)
			}
		}
		if st == TrustTrusted || st == TrustRejected {
			entries[h.Hash] = trustEntry{State: st, Dialect: h.Dialect, Place: at, Command: h.Describe()}
		} else {
			delete(entries, h.Hash)
		}
	}
}

// Forget drops every decision about the project, also those about hooks that are
// not there at the moment, and says how many there were.
func (t *Trust) Forget(project string) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refresh()
	if project = realDir(project); t.err == nil && len(t.file.Projects[project]) == 0 {
		return 0, nil
	}
	n := 0
	err := t.change(func() {
		n = len(t.file.Projects[project])
		delete(t.file.Projects, project)
	})
	return n, err
}

// changed reports whether the file is another than the one last read.
func (t *Trust) changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.read && !t.stamp.same(t.path, time.Now())
}

// refresh reads the file anew when it has changed.
func (t *Trust) refresh() {
	if t.read && t.stamp.same(t.path, time.Now()) {
		return
	}
	t.read, t.stamp, t.err = true, stamp(t.path), nil
	t.file = trustFile{Version: trustVersion, Projects: map[string]map[string]trustEntry{}}
	b, err := ReadConfig(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var f trustFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err == nil && f.Version != trustVersion {
		err = fmt.Errorf("version %d is not known here", f.Version)
	}
	if err != nil {
		t.err = fmt.Errorf("reading %s: %w; mend or remove it", t.path, err)
		return
	}
	if f.Projects != nil {
		t.file = f
	}
}

// stamp is a sight without a sum: the store is replaced and never written in
// place, so that each version is another file.
func stamp(path string) *sight {
	s := &sight{}
	s.stat, s.there = statOf(path)
	return s
}

// place is where the handler stands, relative to the project so that a file's
// entry survives a symlinked path to it.
func place(project string, h *Handler) string {
	file := h.Place.File
	if rel, err := filepath.Rel(realDir(project), realFile(file)); err == nil && filepath.IsLocal(rel) {
		file = filepath.ToSlash(rel)
	}
	return h.Dialect + ":" + file + ":" + string(h.Event) + ":" + strconv.Itoa(h.Place.Group) + ":" + strconv.Itoa(h.Place.Index)
}

func realDir(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

func realFile(path string) string {
	return filepath.Join(realDir(filepath.Dir(path)), filepath.Base(path))
}
