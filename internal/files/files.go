// Package files has what all who keep files of their own need.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file in one step, for this person alone: who reads it, and who
// comes after a crash, finds the old content or the new one whole. Directories that are
// missing are made.
func Replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // made 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once the rename has worked
	if _, err = tmp.Write(data); err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// Cause is a file's error without the operation and the path, for messages that name
// both in their own words.
func Cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
