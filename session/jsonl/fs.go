package jsonl

import (
	"io"
	"io/fs"
	"os"
)

// FS is what a Store needs of a file system. It is the seam at which tests put
// faults and crashes; the default is the operating system's.
type FS interface {
	// OpenFile is os.OpenFile.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// MkdirAll is os.MkdirAll.
	MkdirAll(dir string, perm fs.FileMode) error
	// ReadDir is os.ReadDir.
	ReadDir(dir string) ([]fs.DirEntry, error)
	// Stat is os.Stat.
	Stat(name string) (fs.FileInfo, error)
	// Remove is os.Remove.
	Remove(name string) error
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Stat is os.File.Stat.
	Stat() (fs.FileInfo, error)
	// Truncate is os.File.Truncate.
	Truncate(size int64) error
	// Sync makes content and length durable.
	Sync() error
	// TryLock takes the exclusive lock of the file or returns ErrLocked at once.
	TryLock() error
	// Unlock gives it up.
	Unlock() error
}

// OS is the operating system's file system.
type OS struct{}

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// MkdirAll is os.MkdirAll.
func (OS) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }

// ReadDir is os.ReadDir.
func (OS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// Stat is os.Stat.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Remove is os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir makes the names in dir durable.
func (OS) SyncDir(dir string) error {
	if !syncsDirs {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close() // read-only: Sync below is what may fail
	return d.Sync()
}

type osFile struct{ *os.File }
