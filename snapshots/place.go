package snapshots

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// place is where one run happens: directories of its own, so that nothing of
// the person's machine reaches the agent and runs do not meet.
type place struct {
	root                                 string
	cwd, state, home, tmp, scenario, exe string
	// requests is the file that the agent writes its model requests to.
	requests string
}

// newPlace makes a place and copies the scenario's workspace into its working
// directory. remove deletes it.
func newPlace(scenarioDir, exe string) (place, error) {
	root, err := newRoot()
	if err != nil {
		return place{}, fmt.Errorf("making a place for the run: %w", err)
	}
	// The agent reports real paths; start from one, so that there is one spelling.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	p := place{
		root: root, cwd: filepath.Join(root, "work"), state: filepath.Join(root, "state"),
		home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp"),
		scenario: scenarioDir, exe: exe, requests: filepath.Join(root, "requests.jsonl"),
	}
	for _, dir := range []string{p.cwd, p.state, p.home, p.tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return p, fmt.Errorf("making a place for the run: %w", err)
		}
	}
	src := filepath.Join(scenarioDir, "workspace")
	if info, err := os.Stat(src); err == nil && !info.IsDir() {
		return p, fmt.Errorf("%s is no folder: put the files of the working directory into one", src)
	} else if err == nil {
		if err := copyTree(p.cwd, src); err != nil {
			return p, fmt.Errorf("copying %s: %w", src, err)
		}
	}
	return p, nil
}

// newRoot is os.MkdirTemp with a name of fixed length: texts that the agent cuts
// to a length may hold the path.
func newRoot() (string, error) {
	for {
		root := filepath.Join(os.TempDir(), fmt.Sprintf("acp-snapshot-%08x", rand.Uint32()))
		if err := os.Mkdir(root, 0o700); !errors.Is(err, fs.ErrExist) {
			return root, err
		}
	}
}

func (p place) remove() {
	if p.root != "" {
		os.RemoveAll(p.root)
	}
}

// expand fills in the placeholders of input.json and of an agent command.
func (p place) expand(s string) string {
	return strings.NewReplacer("{{cwd}}", p.cwd, "{{home}}", p.home, "{{state}}", p.state, "{{scenario}}", p.scenario).Replace(s)
}

// copiedAt is when the files of a workspace were last changed, each a second after
// the one before it by path: a glob tells which is the newest, and the clock of a
// file system does not tell those apart that are copied at once.
var copiedAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// copyTree copies files with their mode bits. It is not os.CopyFS because a
// checkout's files may be read-only and the run must be able to change them.
func copyTree(dst, src string) error {
	at := copiedAt
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(to, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, to)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, data, info.Mode().Perm()|0o600); err != nil {
			return err
		}
		at = at.Add(time.Second)
		return os.Chtimes(to, at, at)
	})
}

// tree is the files below a directory by slash path: content, or "-> target"
// for a link.
type tree map[string]treeFile

type treeFile struct {
	data []byte
	mode fs.FileMode
}

func readTree(dir string) (tree, error) {
	out := tree{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := treeFile{mode: e.Type()}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			f.data = []byte("-> " + target)
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				return err
			}
			f.mode = info.Mode() & 0o111
			if f.data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		out[filepath.ToSlash(rel)] = f
		return nil
	})
	return out, err
}

// changes lists what a run did to the working directory, as the records of
// files.expected.jsonl: one line a file, sorted by path.
func changes(before, after tree) []record {
	paths := make([]string, 0, len(after))
	for p := range after {
		paths = append(paths, p)
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	var out []record
	for _, p := range paths {
		old, was := before[p]
		now, is := after[p]
		v := &value{kind: objectValue}
		v.set("path", text(p))
		switch {
		case !is:
			v.set("change", text("deleted"))
		case !was:
			v.set("change", text("added"))
		case string(old.data) == string(now.data) && old.mode == now.mode:
			continue
		default:
			v.set("change", text("modified"))
		}
		if is && now.mode != 0 && now.mode.IsRegular() {
			v.set("mode", text(now.mode.String()))
		}
		if is && utf8.Valid(now.data) {
			v.set("content", text(string(now.data)))
		} else if is {
			v.set("base64", text(base64.StdEncoding.EncodeToString(now.data)))
		}
		out = append(out, v)
	}
	return out
}
