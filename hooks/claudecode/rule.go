package claudecode

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"

	"acp-agent/hooks"
)

// rule is one permission rule of an `if` (Claude Code hooks reference, matchers): a tool's name, and in
// parentheses what it is called with.
type rule struct {
	tool    string
	content string
	// command is the pattern for a command line, nil when content is no such.
	command *regexp.Regexp
	// beyondName: the rule says more than the command's name, so it takes every
	// command line whose words are only known when it runs.
	beyondName bool
}

var ruleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z0-9_*-]+)(?:\((.*)\))?$`) })

// parseRule reads a rule. Several joined by | are not one (public configs).
func parseRule(text string) (*rule, error) {
	s := strings.TrimSpace(text)
	m := ruleForm().FindStringSubmatch(s)
	joined := strings.Contains(s, ")|") || strings.Contains(s, ") |") || strings.Contains(s, ":*|")
	if m == nil || joined || !balanced(m[2]) {
		return nil, fmt.Errorf("%q is not one permission rule such as Bash(git commit:*)", text)
	}
	r := &rule{tool: m[1], content: strings.TrimSpace(m[2])}
	if r.content == "*" {
		r.content = ""
	}
	if r.tool == "Bash" || r.tool == "PowerShell" || r.tool == "bash" {
		r.command, r.beyondName = commandPattern(r.content)
	}
	return r, nil
}

// balanced reports whether no parenthesis closes before it was opened: in
// Bash(a) Bash(b) the first rule's does.
func balanced(s string) bool {
	depth := 0
	for _, c := range s {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return true
}

// commandPattern turns git commit:*, git commit *, git * push or an exact
// command into a regular expression. A prefix ends at a word's end, and takes
// the command without arguments too.
func commandPattern(content string) (re *regexp.Regexp, beyondName bool) {
	prefix, isPrefix := strings.CutSuffix(content, ":*")
	if !isPrefix && strings.Count(content, "*") == 1 {
		prefix, isPrefix = strings.CutSuffix(content, " *")
	}
	if isPrefix && !strings.Contains(prefix, "*") {
		beyondName = strings.Contains(strings.TrimSpace(prefix), " ")
		return regexp.MustCompile(`(?s)^` + regexp.QuoteMeta(prefix) + `(?:\s.*)?$`), beyondName
	}
	parts := strings.Split(content, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, `.*`) + `$`), strings.Contains(content, " ")
}

// matches tests the rule on a tool call.
func (r *rule) matches(c *hooks.Call, home string) bool {
	if c.Tool == nil || !r.matchesTool(c.Tool.Name) {
		return false
	}
	if r.content == "" {
		return true
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(ToolInput(c.Tool.Name, c.Tool.Input, c.Cwd), &args) != nil {
		return true
	}
	str := func(key string) string {
		var s string
		_ = json.Unmarshal(args[key], &s)
		return s
	}
	switch ToolName(c.Tool.Name) {
	case "Bash":
		return r.matchesCommand(str("command"))
	case "Read", "Write", "Edit":
		return r.matchesPath(str("file_path"), c, home)
	case "Glob", "Grep":
		path := str("path")
		if path == "" {
			path = c.Cwd
		}
		return r.matchesPath(path, c, home)
	case "WebFetch":
		return r.matchesURL(str("url"))
	case "Agent":
		return r.content == str("subagent_type")
	}
	// A content that is not understood does not keep a guard from running.
	return true
}

func (r *rule) matchesTool(native string) bool {
	if slices.Contains(toolNames(native), r.tool) {
		return true
	}
	if !strings.HasPrefix(r.tool, "mcp__") {
		return false
	}
	// mcp__server stands for all of the server's tools, as does mcp__server__*.
	prefix := strings.TrimSuffix(strings.TrimSuffix(r.tool, "*"), "__")
	return strings.HasPrefix(native, prefix+"__") && (strings.HasSuffix(r.tool, "*") || strings.Count(r.tool, "__") == 1)
}

// matchesCommand tests each simple command of the line, without the variables
// set before it, also inside substitutions. What cannot be parsed, or is known
// only when it runs, is taken: a guard that runs too often does no harm.
func (r *rule) matchesCommand(line string) bool {
	if r.command.MatchString(strings.TrimSpace(line)) {
		return true
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return true
	}
	found := false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ParamExp, *syntax.ProcSubst:
			found = found || r.beyondName
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				from, to := n.Args[0].Pos().Offset(), n.Args[len(n.Args)-1].End().Offset()
				if to <= uint(len(line)) && from < to {
					found = found || r.command.MatchString(line[from:to])
				}
			}
		case *syntax.DeclClause:
			from, to := n.Pos().Offset(), n.End().Offset()
			if to <= uint(len(line)) && from < to {
				found = found || r.command.MatchString(line[from:to])
			}
		}
		return !found
	})
	return found
}

// matchesPath tests a path on a pattern in the manner of .gitignore: //x is
// absolute, ~/x below home, /x below the project, a/b below the working
// directory (since 2.1.214), a name without a slash at any depth below it.
func (r *rule) matchesPath(path string, c *hooks.Call, home string) bool {
	path = filepath.ToSlash(filepath.Clean(path)) // as the tools read it
	pattern := filepath.ToSlash(r.content)
	base := filepath.ToSlash(c.Cwd)
	switch {
	case strings.HasPrefix(pattern, "//"):
		pattern = pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		pattern = escapeGlob(filepath.ToSlash(home)) + pattern[1:]
	case strings.HasPrefix(pattern, "/"):
		pattern = escapeGlob(filepath.ToSlash(c.ProjectDir)) + pattern
	case strings.Contains(strings.TrimSuffix(pattern, "/"), "/"):
		pattern = escapeGlob(base) + "/" + strings.TrimPrefix(pattern, "./")
	default:
		pattern = escapeGlob(base) + "/**/" + pattern
	}
	pattern = strings.TrimSuffix(pattern, "/")
	for _, p := range []string{pattern, pattern + "/**"} {
		if ok, err := doublestar.Match(p, path); ok || err != nil {
			return true
		}
	}
	return false
}

// escapeGlob keeps the characters of a real directory from counting as pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(dir)
}

func (r *rule) matchesURL(raw string) bool {
	domain, ok := strings.CutPrefix(r.content, "domain:")
	if !ok {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return true
	}
	host, domain := hostText(u.Hostname()), hostText(domain)
	if rest, ok := strings.CutPrefix(domain, "*."); ok {
		return strings.HasSuffix(host, "."+rest)
	}
	return host == domain
}
