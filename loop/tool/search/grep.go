package search

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

const (
	maxMatches = 250
	maxPreview = 2000   // bytes of a line that are shown
	maxOutput  = 64_000 // bytes of a result
	maxLine    = 1 << 20
	sniffed    = 8000
)

type grepArgs struct {
	Pattern string `json:"pattern" jsonschema_description:"A regular expression (RE2 syntax), matched against each line."`
	Path    string `json:"path,omitempty" jsonschema_description:"The directory or file to search, absolute or relative to the working directory, which is the default."`
	Include string `json:"include,omitempty" jsonschema_description:"A glob that files must match, such as *.go or src/**/*.{ts,tsx}."`
}

// grepResponse is hooks.GrepResponse.
type grepResponse struct {
	Files   []string `json:"files"`
	Content string   `json:"content"`
	Matches int      `json:"matches"`
}

//go:embed schemas/grep.json
var grepSchemaFile string

var grepSchema = tool.Schema(grepSchemaFile)

type grepTool struct{}

func (grepTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "grep",
		Description: "Searches file contents for a regular expression. Returns the lines by file, at most 250. " +
			"Binary files and ignored ones (.gitignore) are skipped.",
		Schema: grepSchema(), Kind: tool.KindSearch, ReadOnly: true, Disk: true,
	}
}

func (grepTool) Check(input json.RawMessage) error {
	_, _, err := decodeGrep(input)
	return err
}

func decodeGrep(input json.RawMessage) (grepArgs, *regexp.Regexp, error) {
	a, err := tool.Decode[grepArgs](input)
	if err != nil {
		return a, nil, err
	}
	if a.Pattern == "" {
		return a, nil, &tool.ArgumentError{Faults: []string{`"pattern" is empty`}}
	}
	if a.Include != "" {
		if err := checkGlob("include", a.Include); err != nil {
			return a, nil, err
		}
	}
	re, err := regexp.Compile(a.Pattern)
	if err != nil {
		why := err.Error()
		if se, ok := errors.AsType[*syntax.Error](err); ok {
			why = se.Code.String() + ": " + se.Expr
		}
		return a, nil, &tool.ArgumentError{Faults: []string{`"pattern" is not an RE2 expression (` + why + `); there is no look-around and no back-reference`}}
	}
	return a, re, nil
}

func (grepTool) View(env *tool.Env, input json.RawMessage) tool.View {
	a := tool.Peek[grepArgs](input)
	title := "Search for " + a.Pattern
	if a.Include != "" {
		title += " in " + a.Include
	}
	return view(env, title, a.Path)
}

// errFull ends a walk that has found enough.
var errFull = errors.New("enough found")

// grep is a search under way.
type grep struct {
	env     *tool.Env
	ctx     context.Context // of the search; it does not outlive Run
	re      *regexp.Regexp
	prefix  []byte // what every match starts with
	include string
	out     strings.Builder
	files   []string
	matches int
	// full says what bound the result.
	full string
	in   *bufio.Reader
}

func (grepTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, re, err := decodeGrep(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	dir := a.Path
	if dir == "" {
		dir = env.Cwd
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	prefix, _ := re.LiteralPrefix()
	g := &grep{env: env, ctx: limited, re: re, prefix: []byte(prefix), include: a.Include, in: bufio.NewReaderSize(nil, 64<<10)}
	if g.include != "" && !strings.Contains(g.include, "/") {
		g.include = "**/" + g.include
	}
	p, err := directory(env, dir)
	if file, ok := errors.AsType[errNotDir](err); ok {
		err = g.one(file.place)
	} else if err != nil {
		return tool.Fail(err.Error()), nil
	} else {
		err = g.tree(p)
	}
	late := stopped(ctx, err)
	switch {
	case err == nil, errors.Is(err, errFull), late:
	case ctx.Err() != nil:
		return tool.Fail("[cancelled]"), nil
	default:
		return tool.Fail(fmt.Sprintf("%s cannot be searched: %s.", p.Shown, tool.Cause(err))), nil
	}
	return g.result(late), nil
}

// one searches a file that was named. Include and ignore files do not matter.
func (g *grep) one(p tool.Place) error {
	f, _, err := p.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	return g.search(f, p.Path)
}

func (g *grep) tree(p tool.Place) error {
	root, err := openDir(p)
	if err != nil {
		return err
	}
	defer root.Close()
	return walk(g.ctx, p, func(name string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || g.include != "" && !doublestar.MatchUnvalidated(g.include, name) {
			return nil
		}
		f, err := root.Open(filepath.FromSlash(name))
		if err != nil {
			return nil //nolint:nilerr // gone, or not ours to read: as in walk
		}
		defer f.Close()
		return g.search(f, filepath.Join(p.Path, filepath.FromSlash(name)))
	}, func(dir string) bool {
		fixed, _ := doublestar.SplitPattern(g.include)
		return g.include != "" && !onWay(path.Clean(fixed), dir)
	})
}

// search reads a file line by line. Of a line over maxLine the rest is not
// searched.
func (g *grep) search(r io.Reader, path string) error {
	g.in.Reset(r)
	head, _ := g.in.Peek(sniffed) // a short file is no error, a broken one shows below
	if bytes.IndexByte(head, 0) >= 0 {
		return nil
	}
	first := true
	for n := 1; ; n++ {
		if n%4096 == 0 && g.ctx.Err() != nil {
			return g.ctx.Err()
		}
		line, err := g.line()
		if len(line) > 0 && bytes.Contains(line, g.prefix) {
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if g.re.Match(line) {
				if e := g.add(path, n, line, first); e != nil {
					return e
				}
				first = false
			}
		}
		if err != nil {
			return g.ctx.Err() // the end, or a file that cannot be read further
		}
	}
}

func (g *grep) line() ([]byte, error) {
	line, err := g.in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	line = bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = g.in.ReadSlice('\n')
		if len(line) < maxLine {
			line = append(line, more...)
		}
	}
	return line, err
}

func (g *grep) add(path string, n int, line []byte, first bool) error {
	if g.matches == maxMatches {
		g.full = fmt.Sprintf("the first %d matches", maxMatches)
		return errFull
	}
	var b strings.Builder
	if first {
		if g.matches > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text(tool.Shown(g.env, path)) + "\n")
	}
	fmt.Fprintf(&b, "Line %d: %s\n", n, preview(line))
	if g.matches > 0 && g.out.Len()+b.Len() > maxOutput {
		g.full = fmt.Sprintf("the first %d matches, as much as fits", g.matches)
		return errFull
	}
	if first {
		g.files = append(g.files, path)
	}
	g.out.WriteString(b.String())
	g.matches++
	return nil
}

func preview(line []byte) string {
	if len(line) <= maxPreview {
		return text(string(line))
	}
	cut := maxPreview
	for cut > maxPreview-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
		cut--
	}
	return text(string(line[:cut])) + "…"
}

func (g *grep) result(late bool) tool.Result {
	var foot string
	switch {
	case g.full != "":
		foot = g.full + "; narrow the pattern or the path"
	case late:
		foot = fmt.Sprintf("stopped after %s; not everything was searched", maxTime)
	case g.matches == 0:
		foot = "no match"
	default:
		foot = fmt.Sprintf("%s in %s", count(g.matches, "match", "matches"), count(len(g.files), "file", "files"))
	}
	body := g.out.String()
	if body != "" {
		body += "\n"
	}
	r := tool.Text(body + "[" + foot + "]")
	if g.files == nil {
		g.files = []string{}
	}
	for _, f := range g.files[:min(len(g.files), 20)] {
		r.Meta.Locations = append(r.Meta.Locations, session.Location{Path: f})
	}
	r.Meta.Response, _ = json.Marshal(grepResponse{g.files, strings.TrimSuffix(g.out.String(), "\n"), g.matches}) // always encodes
	return r
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
