package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
)

// doc reads a file of the repository.
func doc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// found returns the first group of each match, once.
func found(text, pattern string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(out, m[1]) {
			out = append(out, m[1])
		}
	}
	return out
}

// TestReadmeIsComplete: what a user meets by name has a place in the README.
func TestReadmeIsComplete(t *testing.T) {
	readme := doc(t, "README.md")
	var methods []string
	for _, m := range acp.Methods {
		if m.Side != acp.SideClient {
			methods = append(methods, m.Name)
		}
	}
	keys := found(doc(t, "docs/config.schema.json"), `(?m)^\s+"([a-z_]+)": \{$`)
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "properties" || k == "items" }) // the schema's own
	for what, want := range map[string][]string{
		"hook event":        found(doc(t, "hooks/hooks.go"), `Event = "(\w+)"`),
		"log event":         found(doc(t, "session/schema.json"), `"const": "([a-z]+/[a-z]+|notice|usage|compaction)"`),
		"method":            methods,
		"tool":              found(doc(t, "snapshots/testdata/scenarios/text-turn/tool-schemas.expected.json"), `(?m)^\{"name":"(\w+)"`),
		"flag":              found(doc(t, "cmd/acp-agent/testdata/help/acp-agent.txt"), `(?m)^ {2,}(--[a-z-]+)`),
		"variable":          found(doc(t, "cmd/acp-agent/cli.go"), `\$\$(ACP_AGENT_\w+)`),
		"key of the config": keys,
	} {
		if len(want) < 3 {
			t.Errorf("only %d are found of each %s: the pattern is out of date", len(want), what)
		}
		for _, name := range want {
			if !regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(name) + `($|[^\w-])`).MatchString(readme) {
				t.Errorf("the README does not name the %s %s", what, name)
			}
		}
	}
}

// TestLayoutIsShown: CONTRIBUTING.md shows each package.
func TestLayoutIsShown(t *testing.T) {
	_, text, _ := strings.Cut(doc(t, "CONTRIBUTING.md"), "\n## Layout\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, p := range listPackages(t) {
		if name := path.Base(p.name()) + "/"; !regexp.MustCompile(`(^|\s|/)` + regexp.QuoteMeta(name) + `(\s|$)`).MatchString(text) {
			t.Errorf("the layout in CONTRIBUTING.md does not show %s", p.name())
		}
	}
}

// TestDocsPointSomewhere: each link within the repository has an end.
func TestDocsPointSomewhere(t *testing.T) {
	anchors := func(text string) (out []string) {
		for _, h := range found(text, `(?m)^#+ (.+)$`) {
			h = strings.ToLower(regexp.MustCompile(`[^\w -]`).ReplaceAllString(h, ""))
			out = append(out, strings.ReplaceAll(h, " ", "-"))
		}
		return out
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "docs/performance.md"} {
		text := doc(t, name)
		for _, link := range found(text, `\]\(([^)\s]+)\)`) {
			file, anchor, _ := strings.Cut(link, "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := text
			if file != "" {
				at := filepath.Join("..", "..", filepath.Dir(filepath.FromSlash(name)), filepath.FromSlash(file))
				b, err := os.ReadFile(at)
				if err != nil {
					t.Errorf("%s links to %s: %v", name, link, err)
					continue
				}
				target = string(b)
			}
			if anchor != "" && !slices.Contains(anchors(target), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, link)
			}
		}
	}
}

// TestDependenciesHaveReasons: each module that go.mod asks for, and each npm
// package of the interop step, has its row in CONTRIBUTING.md, and no row is of
// one that is gone.
func TestDependenciesHaveReasons(t *testing.T) {
	text := doc(t, "CONTRIBUTING.md")
	_, text, _ = strings.Cut(text, "\n## Dependencies\n")
	direct, _, _ := strings.Cut(doc(t, "go.mod"), "\n)") // the first block
	modules := found(direct, `(?m)^\t(\S+) v[^/\n]*$`)
	packages := found(doc(t, ".ci/interop/package.json"), `(?m)^    "([@\w/-]+)": "[0-9]`)
	var rows []string
	for _, row := range found(text, `(?m)^\| (.+?) \|`) {
		rows = append(rows, found(row, "`([^`]+)`")...)
	}
	if len(modules) < 10 || len(packages) < 5 || len(rows) < 15 {
		t.Fatalf("%d modules, %d packages, %d rows: a pattern is out of date", len(modules), len(packages), len(rows))
	}
	for _, m := range modules {
		if !slices.Contains(rows, strings.TrimPrefix(m, "github.com/")) {
			t.Errorf("CONTRIBUTING.md has no row for %s", m)
		}
	}
	for _, p := range packages {
		if !slices.Contains(rows, p) {
			t.Errorf("CONTRIBUTING.md has no row for the npm package %s", p)
		}
	}
	for _, r := range rows {
		if !slices.Contains(modules, r) && !slices.Contains(modules, "github.com/"+r) && !slices.Contains(packages, r) && r != "@openai/codex" {
			t.Errorf("CONTRIBUTING.md has a row for %s, which nothing asks for", r)
		}
	}
}
