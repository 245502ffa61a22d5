package claudecode

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"

	"go.yaml.in/yaml/v4"

	"acp-agent/hooks"
)

// CommandFile is a slash command that a file holds. Claude Code takes it for a
// skill: the hooks of its front matter are in force from when it has been typed to
// the session's end.
type CommandFile struct {
	// Name is what is typed, without the slash.
	Name, Path string
}

var frontMatter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^---[ \t]*\n((?s:.*?)\n)??---[ \t]*(?:\n|$)`) })

// frontHooks returns the hooks of a command file's front matter as a settings
// file would have them, nil where there are none.
func frontHooks(data []byte) ([]byte, error) {
	data = bytes.ReplaceAll(bytes.TrimPrefix(data, byteOrderMark), []byte("\r\n"), []byte("\n"))
	m := frontMatter().FindSubmatch(data)
	if m == nil || !bytes.Contains(m[1], []byte("hooks")) {
		return nil, nil
	}
	var front map[string]any
	if err := yaml.Unmarshal(m[1], &front); err != nil {
		return nil, err
	}
	events, ok := front["hooks"]
	if !ok || events == nil {
		return nil, nil
	}
	return json.Marshal(map[string]any{"hooks": events})
}

// BringsHooks reports whether the front matter of a command file has hooks, or
// looks as if it had.
func BringsHooks(path string) bool {
	data, err := hooks.ReadConfig(path)
	if err != nil {
		return false
	}
	found, err := frontHooks(data)
	return found != nil || err != nil
}

// command reads the hooks of a command file. A repository's need its trust.
func (s *search) command(c CommandFile) {
	data, err := s.watch.Read(c.Path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.problem(c.Path, "cannot be read, its hooks do not run: %v", hooks.Cause(err))
		}
		return
	}
	found, err := frontHooks(data)
	if err != nil {
		s.problem(c.Path, "its front matter cannot be read, hooks in it do not run: %v", err)
		return
	}
	if found == nil {
		return
	}
	f := &File{Path: c.Path, Layer: hooks.LayerCommand}
	if s.ofProject(c.Path) || s.inRepository(c.Path) {
		f.Layer = hooks.LayerProjectCommand
	}
	p := &parser{file: f}
	p.parse(found)
	for _, h := range f.Handlers {
		h.After = "/" + c.Name
	}
	s.files = append(s.files, f)
	s.problems = append(s.problems, p.problems...)
}

// ofProject reports whether the path is one of the project's own .claude, whatever
// it leads to.
func (s *search) ofProject(path string) bool {
	dir := filepath.Join(s.o.Cwd, ".claude")
	rel, err := filepath.Rel(dir, path)
	return s.o.Cwd != "" && (!s.usual || dir != s.config) && err == nil && filepath.IsLocal(rel)
}
