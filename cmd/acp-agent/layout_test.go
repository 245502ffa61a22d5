package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "acp-agent"

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath, Dir, Doc string
	GoFiles, CgoFiles    []string
	IgnoredGoFiles       []string // other systems' files: the rules hold for them too
	TestGoFiles          []string
	XTestGoFiles         []string
}

func (p *goPackage) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// sources are the files that go into a program on some system.
func (p *goPackage) sources() []string {
	var out []string
	for _, f := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
		if !strings.HasSuffix(f, "_test.go") {
			out = append(out, filepath.Join(p.Dir, f))
		}
	}
	return out
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", module+"/...")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &errs)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// layers says which of our packages a package may import. The first row that
// matches counts; a pattern matches a package and what lies below it where it
// ends in "/...". A test helper (acptest, tooltest) is held to the same rows.
var layers = []struct {
	pkg string
	may []string
}{
	{"session/jsonl", []string{"session"}},
	{"session/...", []string{"internal/jsonstring"}},
	{"hooks/claudecode", []string{"hooks"}},
	{"hooks/codex", []string{"hooks"}},
	{"hooks", []string{"internal/procgroup", "internal/lookpath", "internal/jsonstring", "internal/lossy", "internal/files"}},
	{"internal/...", nil},
	{"acp/agent", []string{"acp/...", "loop/...", "session", "hooks"}},
	{"acp/acptest", []string{"acp", "acp/schema", "acp/stdio"}},
	{"acp/stdio", []string{"acp"}},
	{"acp/...", []string{"internal/jsonstring"}},
	// An adapter or a tool has its parent, and session, whose words its parent
	// speaks.
	{"loop/model/...", []string{"session", "loop/model", "loop/model/internal/..."}},
	{"loop/tool/shell", []string{"session", "loop/tool", "loop/model", "internal/procgroup", "internal/lossy"}},
	{"loop/tool/mcp", []string{"session", "loop/tool", "loop/model", "internal/procgroup", "internal/lookpath"}},
	{"loop/tool/web", []string{"session", "loop/tool", "loop/model", "internal/lossy"}},
	{"loop/tool/...", []string{"session", "loop/tool", "loop/model", "internal/files"}},
	{"loop/permission", []string{"session", "loop/model"}},
	{"loop/prompt", []string{"session", "loop/model"}},
	{"loop/compact", []string{"session", "loop/model"}},
	{"loop/judge", []string{"session", "loop/model", "loop/tool", "loop/permission"}},
	{"loop", []string{"loop/...", "session", "hooks"}},
	// It drives the binary: never loop or acp/agent.
	{"snapshots", []string{"acp", "session", "loop/model"}},
	{"cmd/acp-agent/internal/config", []string{"internal/files"}},
	{"cmd/...", []string{"..."}},
}

// sdks says which packages import a module, tests aside. Everything that is not
// named here is refused.
var sdks = map[string][]string{
	"github.com/JohannesKaufmann":              {"loop/tool/web"},
	"github.com/alecthomas/kong":               {"cmd/acp-agent"},
	"github.com/aymanbagabas/go-udiff":         {"loop/tool/file"},
	"github.com/bmatcuk/doublestar":            {"loop/tool/search", "loop/permission", "hooks/claudecode"},
	"github.com/dlclark/regexp2":               {"hooks/claudecode"},
	"github.com/go-git/go-git":                 {"loop/tool/search"},
	"github.com/google/uuid":                   {"cmd/acp-agent"},
	"github.com/invopop/jsonschema":            {"loop/tool/tooltest"},
	"github.com/modelcontextprotocol/go-sdk":   {"loop/tool/mcp"},
	"github.com/pelletier/go-toml":             {"cmd/acp-agent/internal/config", "hooks/codex"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"acp/acptest"},
	"github.com/sourcegraph/jsonrpc2":          {"acp", "acp/stdio"},
	"go.yaml.in/yaml":                          {"hooks/claudecode"},
	"golang.org/x/net":                         {"loop/tool/web"},
	"golang.org/x/sys":                         {"cmd/acp-agent", "session/jsonl", "hooks", "internal/procgroup", "loop/tool"},
	"mvdan.cc/sh":                              {"loop/permission", "hooks/claudecode"},
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pattern == pkg
}

func mayImport(pkg, imported string) bool {
	for _, l := range layers {
		if matches(l.pkg, pkg) {
			return slices.ContainsFunc(l.may, func(p string) bool { return matches(p, imported) })
		}
	}
	return false
}

// mayUse returns the module of an import that the table lets a package have.
func mayUse(pkg, imported string) (module string, ok bool) {
	for mod, users := range sdks {
		if imported == mod || strings.HasPrefix(imported, mod+"/") {
			return mod, slices.Contains(users, pkg)
		}
	}
	return "", false
}

// TestImports holds the direction of imports and keeps each SDK in its adapter. The
// table of SDKs says what is, no more: what nobody uses is no leave to use it.
func TestImports(t *testing.T) {
	used := map[[2]string]bool{}
	for _, p := range listPackages(t) {
		for _, file := range p.sources() {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				first, _, _ := strings.Cut(imported, "/")
				switch {
				case first == module:
					if to := strings.TrimPrefix(imported, module+"/"); !mayImport(p.name(), to) {
						t.Errorf("%s imports %s, which its layer may not: see the table in layout_test.go", file, to)
					}
				case strings.Contains(first, "."):
					mod, ok := mayUse(p.name(), imported)
					if !ok {
						t.Errorf("%s imports %s outside its adapter: see the table in layout_test.go", file, imported)
					}
					used[[2]string{mod, p.name()}] = true
				}
			}
		}
	}
	for mod, users := range sdks {
		for _, pkg := range users {
			if !used[[2]string{mod, pkg}] {
				t.Errorf("the table of SDKs lets %s import %s, which it does not: take it out", pkg, mod)
			}
		}
	}
}

// confined are names of package os that only some packages may use, so that
// nothing reaches the protocol's stdout or reads the environment by the way.
var confined = map[string][]string{
	"Stdout":    {"cmd/...", "acp/stdio"},
	"Getenv":    {"cmd/acp-agent/internal/config"},
	"LookupEnv": {"cmd/acp-agent/internal/config"},
	"ExpandEnv": {"cmd/acp-agent/internal/config"},
	// These read it, too.
	"UserHomeDir":   {"cmd/acp-agent/internal/config"},
	"UserConfigDir": {"cmd/acp-agent/internal/config"},
	"UserCacheDir":  {"cmd/acp-agent/internal/config"},
	// tooltest runs tools for tests, in the test's environment.
	"Environ": {"cmd/acp-agent/internal/config", "loop/tool/tooltest"},
}

// longFiles and longFunctions are the exceptions to 600 and 100 lines, each
// with its reason.
var (
	longFiles     = map[string]string{}
	longFunctions = map[string]string{}
)

const (
	maxFile     = 600
	maxFunction = 100
)

// TestSources checks what a reader of one file can see.
func TestSources(t *testing.T) {
	for _, p := range listPackages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("package %s has no package comment", p.name())
		}
		for _, file := range p.sources() {
			checkFile(t, p.name(), file)
		}
		for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			checkTest(t, p.name(), filepath.Join(p.Dir, name))
		}
	}
}

func checkFile(t *testing.T, pkg, file string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(f) {
		return
	}
	checkLength(t, pkg, fset, f)
	checkStart(t, fset, f)
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "os" || x.Obj != nil {
			return true
		}
		allowed, ok := confined[sel.Sel.Name]
		if ok && !slices.ContainsFunc(allowed, func(a string) bool { return matches(a, pkg) }) {
			t.Errorf("%s uses os.%s: only %s may", fset.Position(n.Pos()), sel.Sel.Name, strings.Join(allowed, ", "))
		}
		return true
	})
}

// checkStart holds that no regular expression is compiled when the program starts:
// each is when it is first needed.
func checkStart(t *testing.T, fset *token.FileSet, f *ast.File) {
	t.Helper()
	if strings.HasSuffix(fset.Position(f.FileStart).Filename, "_test.go") {
		return
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			ast.Inspect(g, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if ok && sel.Sel.Name == "MustCompile" {
					t.Errorf("%s compiles at the start of the program: use sync.OnceValue", fset.Position(n.Pos()))
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
	}
}

func checkLength(t *testing.T, pkg string, fset *token.FileSet, f *ast.File) {
	t.Helper()
	end := fset.Position(f.FileEnd)
	name := path.Join(pkg, filepath.Base(end.Filename))
	if _, excused := longFiles[name]; !excused && end.Line > maxFile {
		t.Errorf("%s has %d lines; split it, or give longFiles a reason", name, end.Line)
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
		name := pkg + "." + fn.Name.Name
		if _, excused := longFunctions[name]; lines > maxFunction && !excused {
			t.Errorf("%s: %s has %d lines; split it, or give longFunctions a reason", end.Filename, name, lines)
		}
	}
}

// checkTest holds a test to what a reader and a busy machine need: it is short,
// waits for events and never for a while, and says why it is skipped.
func checkTest(t *testing.T, pkg, file string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	checkLength(t, pkg, fset, f)
	checkStart(t, fset, f)
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		switch {
		case !ok:
		case x.Name == "time" && sel.Sel.Name == "Sleep":
			t.Errorf("%s sleeps: wait for what it is about; for the clock of a bubble take <-time.After", fset.Position(n.Pos()))
		case (x.Name == "t" || x.Name == "b" || x.Name == "f") && strings.HasPrefix(sel.Sel.Name, "Skip"):
			if !skipSays(call) {
				t.Errorf("%s skips without a word: say why", fset.Position(n.Pos()))
			}
		}
		return true
	})
}

// skipSays reports whether a call of Skip or Skipf has a text.
func skipSays(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	text, ok := call.Args[0].(*ast.BasicLit)
	return ok && text.Kind == token.STRING && len(text.Value) > len(`"because"`)
}

// unfinished marks work that was put off. It is spelled in two parts here so
// that this file passes.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// TestNothingIsPutOff: the tree holds no notes about work to come.
func TestNothingIsPutOff(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "testdata", "dist":
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(filepath.ToSlash(file)) {
		case ".go", ".md", ".mjs", ".sh", ".toml", ".yml":
		default:
			if filepath.Base(file) != "run" {
				return nil
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if m := unfinished.FindString(line); m != "" {
				t.Errorf("%s:%d holds %s: do it, or write an issue", file, i+1, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTopLevel: a Go directory at the top is a decision, not an accident.
func TestTopLevel(t *testing.T) {
	want := []string{"acp", "cmd", "hooks", "internal", "loop", "session", "snapshots"}
	var got []string
	for _, p := range listPackages(t) {
		top, _, _ := strings.Cut(p.name(), "/")
		if top != "" && !slices.Contains(got, top) {
			got = append(got, top)
		}
	}
	slices.Sort(got)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("top-level Go directories are %v, want %v", got, want)
	}
}
