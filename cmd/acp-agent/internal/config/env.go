package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Env is an environment: the process's own or one made for a test.
type Env struct {
	list []string
	// GOOS decides where files lie by default and how names are compared.
	goos string
	// conceal is for the process's own environment: done once.
	conceal *sync.Once
}

// OSEnv is the environment of this process.
func OSEnv() Env {
	return Env{list: os.Environ(), goos: runtime.GOOS, conceal: new(sync.Once)}
}

// NewEnv makes an environment from KEY=value strings.
func NewEnv(list []string) Env { return Env{list: list, goos: runtime.GOOS} }

// Get returns a variable, empty when it is not set. The last entry of a name
// counts, as it does for a process started with the list.
func (e Env) Get(name string) string {
	for i := len(e.list) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e.list[i], "="); ok && e.same(k, name) {
			return v
		}
	}
	return ""
}

func (e Env) same(a, b string) bool {
	if e.goos == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Home is the person's home directory, empty when it is not known.
func (e Env) Home() string {
	if e.goos == "windows" {
		return e.Get("USERPROFILE")
	}
	return e.Get("HOME")
}

func (e Env) inHome(elem ...string) string {
	home := e.Home()
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, elem...)...)
}

// ConfigHome is the directory of config directories.
func (e Env) ConfigHome() string {
	if dir := e.xdg("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	switch e.goos {
	case "windows":
		return e.Get("APPDATA")
	case "darwin":
		return e.inHome("Library", "Application Support")
	}
	return e.inHome(".config")
}

// StateHome is the directory of state directories.
func (e Env) StateHome() string {
	if dir := e.xdg("XDG_STATE_HOME"); dir != "" {
		return dir
	}
	switch e.goos {
	case "windows":
		return e.Get("LOCALAPPDATA")
	case "darwin":
		return e.inHome("Library", "Application Support")
	}
	return e.inHome(".local", "state")
}

// xdg ignores a relative path, as the XDG specification demands.
func (e Env) xdg(name string) string {
	if dir := e.Get(name); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// Abs makes a path absolute.
func (e Env) Abs(path string) (string, error) { return filepath.Abs(e.Expand(path)) }

// absolute is Abs of a path that may not be known.
func (e Env) absolute(path string) string {
	if path == "" {
		return ""
	}
	abs, err := e.Abs(path)
	if err != nil {
		return e.Expand(path)
	}
	return abs
}

// Expand replaces a leading ~/ by the home directory: editors hand arguments on
// without a shell.
func (e Env) Expand(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return path
	}
	if home := e.Home(); home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// without returns the list with the named variables left out.
func (e Env) without(names []string) []string {
	out := make([]string, 0, len(e.list))
	for _, kv := range e.list {
		k, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(names, func(n string) bool { return e.same(k, n) }) {
			out = append(out, kv)
		}
	}
	return out
}

// Isolated returns the environment for a child that must not see the person's
// own setup: another home, no variables of this program, of the two hook
// vendors or of the providers. The rest, PATH above all, stays.
func (e Env) Isolated(home string) []string {
	var out []string
	for _, kv := range e.list {
		k, _, _ := strings.Cut(kv, "=")
		up := strings.ToUpper(k)
		switch {
		case strings.HasPrefix(up, "ACP_AGENT_"), strings.HasPrefix(up, "XDG_"), strings.HasPrefix(up, "CLAUDE_"), strings.HasPrefix(up, "CODEX_"),
			strings.HasSuffix(up, "_API_KEY"), strings.HasSuffix(up, "_BASE_URL"),
			up == "HOME", up == "USERPROFILE", up == "APPDATA", up == "LOCALAPPDATA":
			continue
		}
		out = append(out, kv)
	}
	return append(out, "HOME="+home, "USERPROFILE="+home, "APPDATA="+filepath.Join(home, "AppData"), "LOCALAPPDATA="+filepath.Join(home, "LocalAppData"))
}
