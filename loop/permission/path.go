package permission

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pathPattern is what a rule about paths holds, after Claude Code's rules, which
// are those of .gitignore:
//
//	//etc/hosts    from the root of the file system
//	~/notes/**     from the home directory
//	/src/**        from the session's working directory
//	src/**, ./src  likewise
//	.env, *.key    a name alone, in any directory
//
// A pattern that matches a directory matches all that is in it.
type pathPattern struct {
	glob string
	// below: glob is relative to the session's working directory.
	below bool
}

func newPathPattern(home, arg string) (pathPattern, error) {
	var p pathPattern
	arg = filepath.ToSlash(arg)
	trimmed := strings.TrimSuffix(arg, "/")
	switch {
	case strings.HasPrefix(arg, "//"):
		p.glob = path.Clean(arg[1:])
	case trimmed == "~" || strings.HasPrefix(arg, "~/"):
		if home == "" {
			return p, errors.New("there is no home directory for ~")
		}
		p.glob = quoteGlob(filepath.ToSlash(home)) + path.Clean("/"+arg[1:])
	case !strings.Contains(trimmed, "/"):
		p.glob = "/**/" + trimmed
	default:
		p.glob, p.below = path.Clean("/"+arg), true
	}
	if !doublestar.ValidatePattern(p.glob) {
		return p, errors.New("it is not a glob")
	}
	return p, nil
}

// match reports whether an absolute path matches. A rule that denies does not
// let itself be evaded by another spelling where file systems ignore case.
func (p pathPattern) match(cwd, name string, denies bool) bool {
	glob := p.glob
	if p.below {
		glob = strings.TrimSuffix(quoteGlob(filepath.ToSlash(filepath.Clean(cwd))), "/") + glob
	}
	name = filepath.ToSlash(filepath.Clean(name))
	if denies && (runtime.GOOS == "darwin" || runtime.GOOS == "windows") {
		glob, name = strings.ToLower(glob), strings.ToLower(name)
	}
	if strings.HasPrefix(p.glob, "/**/") { // a volume name may stand before the slash
		name = strings.TrimPrefix(name, filepath.VolumeName(name))
	}
	return doublestar.MatchUnvalidated(glob, name) || doublestar.MatchUnvalidated(strings.TrimSuffix(glob, "/")+"/**", name)
}

func quoteGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(s)
}

func absolute(cwd, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(cwd, p)
	}
	return filepath.Clean(p)
}

// guardedDirs are directories whose files make programs run something, such as a
// repository's hooks or an agent's.
var guardedDirs = []string{".git", ".claude", ".codex", ".acp-agent"}

// guarded returns a path of the call that makes other programs, or this one, run
// something. Edits there are asked about even where edits are accepted. more are
// further files and directories of the kind, by any name that leads to them now.
func (s *subject) guarded(more []string) (string, bool) {
	for _, p := range s.paths {
		for _, part := range strings.Split(filepath.ToSlash(p), "/") {
			if slices.ContainsFunc(guardedDirs, func(dir string) bool { return strings.EqualFold(part, dir) }) {
				return p, true
			}
		}
		for _, dir := range more {
			if below(dir, p) || below(leadsTo(dir), p) {
				return p, true
			}
		}
	}
	return "", false
}

func below(dir, p string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// leadsTo resolves the links in a path; of one that is not there yet, those in the
// part that is.
func leadsTo(p string) string {
	rest := ""
	for dir := p; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return p
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// domainOf reports whether a URL's host is the domain or below it.
func domainOf(raw, domain string) bool {
	host := hostOf(raw)
	domain = strings.TrimPrefix(domain, "*.")
	return host != "" && (host == domain || strings.HasSuffix(host, "."+domain))
}

// hostOf is a URL's host, in lower case and without the dot that may end a full name;
// empty where there is none.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}
