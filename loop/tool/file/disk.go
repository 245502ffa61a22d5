package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"acp-agent/loop/tool"
)

// maxWhole bounds a file that is read into memory as a whole.
const maxWhole = 64 << 20

// DiskFiles is tool.Files on the local disk, confined to roots.
type DiskFiles struct{ roots []string }

// Disk returns the local disk below these directories, which are absolute and
// free of symlinks. Every access goes through os.Root, so a link that appears
// between the check and the access does not lead out.
func Disk(roots []string) *DiskFiles { return &DiskFiles{roots} }

// Direct implements tool.Direct.
func (d *DiskFiles) Direct() bool { return true }

// ReadFile reads a regular file.
func (d *DiskFiles) ReadFile(_ context.Context, path string) ([]byte, error) {
	p, err := tool.Within(d.roots, path)
	if err != nil {
		return nil, err
	}
	return readDisk(p)
}

func readDisk(p tool.Place) ([]byte, error) {
	f, info, err := p.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.IsDir() {
		return nil, tool.ErrSpecial
	}
	return readRest(nil, f, info.Size())
}

// readRest reads the rest of a file of about that size, of which head was read.
func readRest(head []byte, f io.Reader, size int64) ([]byte, error) {
	if size > maxWhole {
		return nil, fmt.Errorf("it is larger than %d MiB", maxWhole>>20)
	}
	var b bytes.Buffer
	b.Grow(max(int(size), len(head)) + bytes.MinRead)
	b.Write(head)
	n, err := b.ReadFrom(io.LimitReader(f, maxWhole+1))
	if err == nil && n > maxWhole {
		err = fmt.Errorf("it is larger than %d MiB", maxWhole>>20)
	}
	return b.Bytes(), err
}

// WriteFile replaces a file's content, or makes the file and its directories.
//
// The new content is written and synced to a temporary file beside it that takes
// the old one's mode and owner, and renamed over it: whoever reads sees the old
// or the new content, never a part. A symlink stays and its target is replaced.
// Where a rename would lose something that the old file has, more names (hard
// links), an owner that we may not give away, or is refused, by a directory that
// we may not write to, for a file that is mounted by itself (as containers do) or
// that another program holds open (Windows), the file is written in place
// instead. A file that we may not write is refused, although a rename would get
// round its mode.
func (d *DiskFiles) WriteFile(_ context.Context, path string, data []byte) error {
	p, err := tool.Within(d.roots, path)
	if err != nil {
		return err
	}
	r, err := p.OpenRoot()
	if err != nil {
		return err
	}
	defer r.Close()
	old, err := r.Stat(p.Rel)
	switch {
	case err == nil && !old.Mode().IsRegular():
		return tool.ErrSpecial
	case err == nil:
		return replace(r, p.Rel, old, data)
	case !os.IsNotExist(err):
		return err
	}
	if err := makeParents(r, p.Rel); err != nil {
		return err
	}
	temp, err := writeTemp(r, p.Rel, nil, data)
	if err != nil {
		return err
	}
	return rename(r, temp, p.Rel)
}

func makeParents(r *os.Root, rel string) error {
	dir := filepath.Dir(rel)
	if dir == "." {
		return nil
	}
	return r.MkdirAll(dir, 0o777)
}

func replace(r *os.Root, rel string, old fs.FileInfo, data []byte) error {
	f, err := r.OpenFile(rel, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if links(old) == 1 {
		temp, err := writeTemp(r, rel, old, data)
		switch {
		case err == nil:
			if rename(r, temp, rel) == nil {
				return nil
			}
		case !os.IsPermission(err) && !errors.As(err, new(keepError)):
			return err
		}
	}
	// Cut only after the write: a write that fails half way then loses least.
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		return err
	}
	return f.Sync()
}

// keepError says that a new file cannot be made what the old one is, as on a file
// system that keeps no modes.
type keepError struct{ error }

// writeTemp writes data to a new file beside rel, as old is. What fails leaves
// nothing behind.
func writeTemp(r *os.Root, rel string, old fs.FileInfo, data []byte) (_ string, err error) {
	name := filepath.Join(filepath.Dir(rel), ".acp-agent-"+rand.Text()+".tmp")
	f, err := r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = r.Remove(name)
		}
	}()
	if old != nil {
		if err := keepOwner(f, old); err != nil {
			return "", keepError{err}
		}
		// After the owner: a change of owner clears set-id bits.
		if err := f.Chmod(old.Mode()); err != nil {
			return "", keepError{err}
		}
	}
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	return name, f.Sync()
}

func rename(r *os.Root, temp, rel string) error {
	err := r.Rename(temp, rel)
	if err != nil {
		_ = r.Remove(temp)
	}
	return err
}
