package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"acp-agent/internal/files"
)

// Place is a path that a tool may touch: it lies in one of the session's roots.
type Place struct {
	// Path is the path as the session knows it, absolute and clean. Clients are
	// shown it, and Files is asked by it.
	Path string
	// Real is where it leads, with symlinks resolved.
	Real string
	// Root is the root that holds Real; Rel is Real below it.
	Root, Rel string
	// Shown is the path for results: relative to the working directory when it
	// lies in it.
	Shown string
}

// ErrOutside: a path leads out of the session's roots.
var ErrOutside = errors.New("outside the session's directories")

// Locate resolves a path that the model wrote, absolute or relative to the
// working directory. Symlinks are followed, and what leads out of the roots is
// refused, as is whatever cannot be told. The error is worded for the model.
//
// The answer is a statement about this moment. Whoever then opens the place does
// so through Open, which holds even when a directory is swapped for a link
// meanwhile.
func Locate(env *Env, path string) (Place, error) {
	if strings.TrimSpace(path) == "" {
		return Place{}, errors.New("The path is empty.") //nolint:staticcheck // a sentence for the model
	}
	if p, ok := env.placed[path]; ok {
		return p, nil
	}
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(env.Cwd, abs)
	}
	p, err := Within(env.Roots, abs)
	if err != nil {
		return p, err
	}
	p.Shown = Shown(env, p.Path)
	return p, nil
}

// Touched returns where the path in a call's arguments really leads, so that a
// symlink does not slip past a rule that denies (permission.Call.Paths). From then
// on Locate answers for this call what it answered here.
func Touched(env *Env, input json.RawMessage) []string {
	var out []string
	for _, path := range paths(input) {
		if p, err := Locate(env, path); err == nil && p.Real != "" {
			out = append(out, p.Real)
			if env.placed == nil {
				env.placed = map[string]Place{}
			}
			env.placed[path] = p
		}
	}
	return out
}

// PathOf returns the path in a call's arguments, "" where there is none.
func PathOf(input json.RawMessage) string {
	if ps := paths(input); len(ps) > 0 {
		return ps[0]
	}
	return ""
}

func paths(input json.RawMessage) []string {
	var args struct {
		FilePath string `json:"file_path"`
		Path     string `json:"path"`
	}
	if json.Unmarshal(input, &args) != nil {
		return nil
	}
	var out []string
	for _, path := range []string{args.FilePath, args.Path} {
		if path != "" {
			out = append(out, path)
		}
	}
	return out
}

// Shown returns an absolute path as results show it.
func Shown(env *Env, abs string) string {
	if rel, ok := below(env.Cwd, abs); ok {
		return filepath.ToSlash(rel)
	}
	return abs
}

// Within is Locate for an absolute path and roots.
func Within(roots []string, abs string) (Place, error) {
	if strings.ContainsRune(abs, 0) || !filepath.IsAbs(abs) {
		return Place{}, fmt.Errorf("%q is not a path.", abs) //nolint:staticcheck // a sentence for the model
	}
	p := Place{Path: filepath.Clean(abs)}
	p.Shown = p.Path
	var err error
	if p.Real, err = follow(p.Path); err != nil {
		return p, fmt.Errorf("%s cannot be used: %w", p.Path, files.Cause(err))
	}
	for _, root := range roots {
		rel, ok := below(root, p.Real)
		if ok && (p.Root == "" || len(rel) < len(p.Rel)) {
			p.Root, p.Rel = root, rel
		}
	}
	if p.Root == "" {
		where := p.Path
		if p.Real != p.Path {
			where += " (" + p.Real + ")"
		}
		return p, fmt.Errorf("%s is %w (%s).", where, ErrOutside, strings.Join(roots, ", ")) //nolint:staticcheck // a sentence for the model
	}
	return p, nil
}

// follow resolves symlinks. Of a path that does not exist yet, it resolves the
// part that does; a link that leads nowhere is an error, for writing through it
// would make a file at a place that was not checked.
func follow(path string) (string, error) {
	if straight(path) {
		return path, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSymlink != 0 {
			return "", errors.New("it is a symbolic link that leads nowhere")
		}
		return "", errors.New("it is changing at this moment")
	}
	dir := filepath.Dir(path)
	if dir == path {
		return "", err
	}
	if real, err = follow(dir); err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

func below(root, path string) (string, bool) {
	if root == "" {
		return "", false
	}
	rel, err := filepath.Rel(root, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// OpenRoot opens the root that holds the place. What is then opened by Rel stays
// inside it.
func (p Place) OpenRoot() (*os.Root, error) { return os.OpenRoot(p.Root) }

// Stat returns what is at the place.
func (p Place) Stat() (fs.FileInfo, error) {
	r, err := p.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Stat(p.Rel)
}

// ErrSpecial: a device, a pipe or a socket, which may block for ever or do
// something when it is opened.
var ErrSpecial = errors.New("it is not a regular file")

// Open opens a regular file or a directory for reading.
func (p Place) Open() (*os.File, fs.FileInfo, error) {
	r, err := p.OpenRoot()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	// Looked at before it is opened, since opening can have effects, and after,
	// since only then it is sure.
	if info, err := r.Stat(p.Rel); err != nil {
		return nil, nil, err
	} else if !usable(info) {
		return nil, nil, ErrSpecial
	}
	f, err := r.OpenFile(p.Rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !usable(info) {
		err = ErrSpecial
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func usable(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// Near returns names beside the place that its name may have meant, at most
// three, the nearest first.
func (p Place) Near() []string {
	dir := p
	dir.Rel = filepath.Dir(p.Rel)
	f, info, err := dir.Open()
	if err != nil {
		return nil
	}
	defer f.Close()
	if !info.IsDir() {
		return nil
	}
	names, _ := f.Readdirnames(5000) // a listing that is cut still holds good guesses
	base := filepath.Base(p.Rel)
	type guess struct {
		name string
		far  int
	}
	var guesses []guess
	for _, name := range names {
		limit := max(len(base), len(name)) / 3
		if d := distance(strings.ToLower(base), strings.ToLower(name), limit); d <= limit {
			guesses = append(guesses, guess{name, d})
		}
	}
	slices.SortFunc(guesses, func(a, b guess) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, g := range guesses[:min(len(guesses), 3)] {
		out = append(out, filepath.ToSlash(filepath.Join(filepath.Dir(p.Shown), g.name)))
	}
	return out
}

// distance is the number of bytes to insert, remove or change between two names,
// or anything above limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit || len(a) > 255 {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}

// Cause is an error's text without the system call and the path, which the text
// round it has.
func Cause(err error) string { return files.Cause(err).Error() }
