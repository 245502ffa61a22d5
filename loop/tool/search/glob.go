package search

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

// maxPaths is how many paths glob returns.
const maxPaths = 100

type globArgs struct {
	Pattern string `json:"pattern" jsonschema_description:"A glob such as **/*.go or src/**/*.{ts,tsx}. Without a slash it is matched against file names at any depth."`
	Path    string `json:"path,omitempty" jsonschema_description:"The directory to search, absolute or relative to the working directory, which is the default."`
}

// globResponse is hooks.GlobResponse.
type globResponse struct {
	Files      []string `json:"files"`
	Truncated  bool     `json:"truncated"`
	DurationMs int64    `json:"durationMs"`
}

//go:embed schemas/glob.json
var globSchemaFile string

var globSchema = tool.Schema(globSchemaFile)

type globTool struct{}

func (globTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "glob",
		Description: "Finds files by name. Returns at most 100 paths, those changed last first. " +
			"Hidden files are found, ignored ones (.gitignore) are not.",
		Schema: globSchema(), Kind: tool.KindSearch, ReadOnly: true, Disk: true,
	}
}

func (globTool) Check(input json.RawMessage) error {
	_, err := decodeGlob(input)
	return err
}

func decodeGlob(input json.RawMessage) (globArgs, error) {
	a, err := tool.Decode[globArgs](input)
	if err == nil {
		err = checkGlob("pattern", a.Pattern)
	}
	return a, err
}

func checkGlob(name, pattern string) error {
	fault := ""
	switch {
	case pattern == "":
		fault = "is empty"
	case !doublestar.ValidatePattern(pattern):
		fault = "is not a glob"
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		fault = `holds ".."; name the directory in path instead`
	default:
		return nil
	}
	return &tool.ArgumentError{Faults: []string{fmt.Sprintf("%q %s", name, fault)}}
}

func (globTool) View(env *tool.Env, input json.RawMessage) tool.View {
	a := tool.Peek[globArgs](input)
	return view(env, "Find "+a.Pattern, a.Path)
}

// view is the title of a search, and where it looks when that is not the working
// directory.
func view(env *tool.Env, title, where string) tool.View {
	var v tool.View
	if where != "" {
		title += " in " + where
		if p, err := tool.Locate(env, where); err == nil {
			v.Locations = []session.Location{{Path: p.Path}}
		}
	}
	v.Title = tool.Title(title)
	return v
}

// target is the directory to search and the pattern below it. An absolute
// pattern names its directory itself.
func target(env *tool.Env, a globArgs) (tool.Place, string, error) {
	dir, pattern := a.Path, strings.TrimPrefix(a.Pattern, "./")
	if filepath.IsAbs(pattern) {
		dir, pattern = doublestar.SplitPattern(filepath.ToSlash(pattern))
		p, err := directory(env, dir)
		return p, pattern, err
	}
	if dir == "" {
		dir = env.Cwd
	}
	p, err := directory(env, dir)
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	return p, pattern, err
}

// directory resolves the directory of a search. The error is for the model.
func directory(env *tool.Env, dir string) (tool.Place, error) {
	p, err := tool.Locate(env, dir)
	if err != nil {
		return p, err
	}
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, fmt.Errorf("%s does not exist.", p.Shown) //nolint:staticcheck // a sentence for the model
	case err != nil:
		return p, fmt.Errorf("%s cannot be searched: %s.", p.Shown, tool.Cause(err)) //nolint:staticcheck // a sentence for the model
	case !info.IsDir():
		return p, errNotDir{p}
	}
	return p, nil
}

// errNotDir is for grep, which can search a file.
type errNotDir struct{ place tool.Place }

func (e errNotDir) Error() string { return e.place.Shown + " is not a directory." }

type found struct {
	name string // below the directory
	time time.Time
}

func (globTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	begun := time.Now()
	a, err := decodeGlob(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	p, pattern, err := target(env, a)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	var all []found
	fixed, _ := doublestar.SplitPattern(pattern)
	err = walk(limited, p, func(name string, d fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(pattern, name) {
			return nil
		}
		f := found{name: name}
		if info, err := d.Info(); err == nil {
			f.time = info.ModTime()
		}
		all = append(all, f)
		return nil
	}, func(dir string) bool { return !onWay(fixed, dir) })
	if err != nil && !stopped(ctx, err) {
		return tool.Fail("[cancelled]"), nil
	}
	slices.SortFunc(all, func(a, b found) int {
		if c := b.time.Compare(a.time); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	shown := all[:min(len(all), maxPaths)]
	resp := globResponse{Files: make([]string, len(shown)), Truncated: len(all) > len(shown) || err != nil}
	var b strings.Builder
	for i, f := range shown {
		resp.Files[i] = filepath.Join(p.Path, filepath.FromSlash(f.name))
		b.WriteString(text(tool.Shown(env, resp.Files[i])) + "\n")
	}
	if len(all) == 0 {
		b.WriteString("[no file matches]\n")
	}
	if len(all) > len(shown) {
		fmt.Fprintf(&b, "\n[%d of %d files, those changed last; narrow the pattern or the path]\n", len(shown), len(all))
	}
	if err != nil {
		fmt.Fprintf(&b, "\n[stopped after %s; not everything was searched]\n", maxTime)
	}
	r := tool.Text(strings.TrimSuffix(b.String(), "\n"))
	resp.DurationMs = time.Since(begun).Milliseconds()
	r.Meta.Response, _ = json.Marshal(resp) // strings and numbers always encode
	return r, nil
}

// onWay: dir leads to the fixed start of a pattern or lies below it.
func onWay(fixed, dir string) bool {
	if fixed == "." || fixed == "" {
		return true
	}
	fixed = path.Clean(fixed)
	return fixed == dir || strings.HasPrefix(dir, fixed+"/") || strings.HasPrefix(fixed, dir+"/")
}

// text is a name or a line as text.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
