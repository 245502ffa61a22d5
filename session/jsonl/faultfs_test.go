package jsonl_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"acp-agent/session/jsonl"
)

var errFault = errors.New("injected fault")

// faultFS is the operating system's file system with faults, and with a memory
// of what is durable. Each call that changes something is one operation.
type faultFS struct {
	jsonl.OS
	// ops counts operations; from operation failAt on, one (or all, if dead)
	// fail. failAt 0 fails none.
	ops, failAt int
	// dead: everything fails from failAt on, as after a power cut.
	dead bool
	// short: a failing write writes half of its bytes first.
	short bool
	// trace lists the operations.
	trace []string
	// durable is the content of each file that a sync covered, names the files
	// that a directory sync covered.
	durable map[string][]byte
	names   map[string]bool
}

func newFaultFS() *faultFS {
	return &faultFS{durable: map[string][]byte{}, names: map[string]bool{}}
}

// op counts an operation and says whether it fails.
func (f *faultFS) op(what, name string) error {
	f.ops++
	f.trace = append(f.trace, what+" "+filepath.Base(name))
	if f.failAt > 0 && (f.ops == f.failAt || f.dead && f.ops > f.failAt) {
		return fmt.Errorf("%s: %w", what, errFault)
	}
	return nil
}

func (f *faultFS) OpenFile(name string, flag int, perm fs.FileMode) (jsonl.File, error) {
	if flag&os.O_CREATE != 0 {
		if err := f.op("create", name); err != nil {
			return nil, err
		}
	}
	file, err := f.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{File: file, fs: f, name: name}, nil
}

func (f *faultFS) Remove(name string) error {
	if err := f.op("remove", name); err != nil {
		return err
	}
	return f.OS.Remove(name)
}

func (f *faultFS) SyncDir(dir string) error {
	if err := f.op("syncdir", dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	clear(f.names)
	for _, e := range entries {
		f.names[filepath.Join(dir, e.Name())] = true
	}
	return nil // see faultFile.Sync
}

// crash returns a directory with what a power cut may leave of dir: of each file
// whose name was synced what was synced, and a random part of what was not.
func (f *faultFS) crash(t testing.TB, dir string, r *rand.Rand) string {
	t.Helper()
	out := t.TempDir()
	entries, err := os.ReadDir(dir)
	check(t, err)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		now, err := os.ReadFile(name)
		check(t, err)
		was := f.durable[name]
		if !f.names[name] && r.IntN(2) == 0 {
			continue
		}
		left := was
		if n := len(now) - len(was); n > 0 {
			left = now[:len(was)+r.IntN(n+1)]
		} else if r.IntN(2) == 0 {
			left = now
		}
		check(t, os.WriteFile(filepath.Join(out, e.Name()), left, 0o600))
	}
	return out
}

type faultFile struct {
	jsonl.File
	fs   *faultFS
	name string
}

func (f *faultFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.op("write", f.name); err != nil {
		n := 0
		if f.fs.short {
			n, _ = f.File.WriteAt(p[:len(p)/2], off)
		}
		return n, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.fs.op("truncate", f.name); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Sync() error {
	if err := f.fs.op("sync", f.name); err != nil {
		return err
	}
	b, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	f.fs.durable[f.name] = b
	return nil // what is durable is in the map: no need to wait for the disk
}
