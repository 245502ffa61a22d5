// Package search holds the tools that find files and text: glob and grep.
//
// Both walk the disk in the order of names, below one directory of the session's
// roots, opened as an os.Root so that nothing leads out of it. Symlinks are not
// followed, so there are no loops; files that .gitignore leaves out and the
// folders of version control are skipped, hidden files are not. They look at the
// disk, not at an editor's unsaved buffers: asking an editor for every file of a
// project is not possible.
package search

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"acp-agent/loop/tool"
)

// Tools returns glob and grep.
func Tools() []tool.Tool { return []tool.Tool{globTool{}, grepTool{}} }

// maxTime bounds a search; what was found until then is returned.
const maxTime = 30 * time.Second

// maxIgnoreFile bounds a .gitignore that is read.
const maxIgnoreFile = 1 << 20

// walker walks a directory.
type walker struct {
	root *os.Root // the directory
	dir  fs.FS
	// base is the directory's path below top, in parts: patterns of ignore files
	// are relative to where those lie.
	base []string
	// visit gets a file by its path below the directory. An error ends the walk.
	visit func(name string, d fs.DirEntry) error
	// prune skips a directory.
	prune func(name string) bool
}

// openDir opens the directory itself, so that nothing outside it can be reached.
func openDir(p tool.Place) (*os.Root, error) {
	outer, err := p.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer outer.Close()
	return outer.OpenRoot(p.Rel)
}

// walk visits the files below p. A context that ends stops it with its error.
func walk(ctx context.Context, p tool.Place, visit func(string, fs.DirEntry) error, prune func(string) bool) error {
	root, err := openDir(p)
	if err != nil {
		return err
	}
	defer root.Close()
	w := walker{root: root, dir: root.FS(), visit: visit, prune: prune}
	above := w.above(p.Real)
	// A directory that is itself ignored was asked for by name: only what lies in
	// it counts then.
	if len(w.base) > 0 && gitignore.NewMatcher(above).Match(w.base, true) {
		above = nil
	}
	return w.walk(ctx, ".", above)
}

// above reads the ignore files from the top of the repository down to the
// directory. They may lie above the session's roots; nothing but the names that
// a search leaves out comes of them.
func (w *walker) above(dir string) []gitignore.Pattern {
	top := ""
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			top = d
			break
		}
		if d == filepath.Dir(d) {
			return nil
		}
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return nil
	}
	if rel != "." {
		w.base = strings.Split(filepath.ToSlash(rel), "/")
	}
	ps := fromFile(filepath.Join(top, ".git", "info", "exclude"), nil)
	for i := range w.base { // the directory's own is read by walk
		ps = append(ps, fromFile(filepath.Join(top, filepath.Join(w.base[:i]...), ".gitignore"), w.base[:i])...)
	}
	return ps
}

func fromFile(name string, domain []string) []gitignore.Pattern {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	return parse(f, domain)
}

func parse(r io.Reader, domain []string) []gitignore.Pattern {
	var ps []gitignore.Pattern
	for in := bufio.NewScanner(io.LimitReader(r, maxIgnoreFile)); in.Scan(); {
		l := strings.TrimSuffix(in.Text(), "\r")
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "#") {
			ps = append(ps, gitignore.ParsePattern(l, domain))
		}
	}
	return ps
}

// walk visits one directory. What cannot be read is left out, as find does with
// a word on stderr; there is nobody to tell here.
func (w *walker) walk(ctx context.Context, dir string, ignored []gitignore.Pattern) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.dir, dir)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	at := w.base
	if dir != "." {
		at = append(slices.Clone(w.base), strings.Split(dir, "/")...)
	}
	if i, ok := slices.BinarySearchFunc(entries, ".gitignore", func(d fs.DirEntry, n string) int { return strings.Compare(d.Name(), n) }); ok && entries[i].Type().IsRegular() {
		if f, err := w.root.Open(filepath.FromSlash(path.Join(dir, ".gitignore"))); err == nil {
			ignored = append(slices.Clip(ignored), parse(f, at)...)
			f.Close()
		}
	}
	match := gitignore.NewMatcher(ignored)
	parts := append(slices.Clone(at), "")
	for _, d := range entries {
		name := path.Join(dir, d.Name())
		if d.IsDir() && versionControl(d.Name()) || d.Name() == ".git" {
			continue
		}
		parts[len(parts)-1] = d.Name()
		if len(ignored) > 0 && match.Match(parts, d.IsDir()) {
			continue
		}
		if !d.IsDir() {
			err = w.visit(name, d)
		} else if w.prune == nil || !w.prune(name) {
			err = w.walk(ctx, name, ignored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func versionControl(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", ".jj", ".bzr":
		return true
	}
	return false
}

// stopped tells the two ways a search may be cut: false is the person's cancel.
func stopped(ctx context.Context, err error) (late bool) {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}
