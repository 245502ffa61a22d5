package hooks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NamedPlugin tells a plugin from any other file that a person names. A directory
// with a hooks/hooks.json or with one of the manifests is a plugin, dir true. A
// file of the name hooks/hooks.json belongs to the plugin two levels above: it
// alone is meant, and finds its plugin's own files. root is "" for all else.
func NamedPlugin(path string, manifests ...string) (root string, dir bool) {
	path = filepath.Clean(path)
	for _, name := range append([]string{filepath.Join("hooks", "hooks.json")}, manifests...) {
		if isFile(filepath.Join(path, name)) {
			return path, true
		}
	}
	if parent := filepath.Dir(path); filepath.Base(path) == "hooks.json" && filepath.Base(parent) == "hooks" {
		return filepath.Dir(parent), false
	}
	return "", false
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// PluginData is the directory below dir in which a plugin that the person named
// keeps what it wants to find again; it may not exist yet. Plugins of one name in
// two places have two.
func PluginData(dir, root string) string {
	if dir == "" || root == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, filepath.Base(root)+"-"+hex.EncodeToString(sum[:4]))
}

// PluginPath resolves a path that a plugin's manifest names. It must be written
// as ./path, and must stay in the plugin, links resolved (Claude Code plugin
// manifest reference, path rules; Codex 0.171.0 the same).
func PluginPath(root, path string) (string, error) {
	switch {
	case !strings.HasPrefix(path, "./"):
		return "", fmt.Errorf("the path %q must begin with ./", path)
	case filepath.Separator == '/' && strings.Contains(path, `\`):
		return "", fmt.Errorf("the path %q has a backslash in it: write /", path)
	}
	abs := filepath.Join(root, filepath.FromSlash(path))
	if !Inside(root, abs) {
		return "", fmt.Errorf("the path %q leads out of the plugin", path)
	}
	return abs, nil
}

// Inside reports whether path lies in dir, or is dir, once the links of both are
// resolved as far as they exist.
func Inside(dir, path string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// realPath resolves the links of the part of a path that exists.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs // cleaned, too
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

// FromRepository reports whether what lies in dir may have been written by
// whoever wrote the repository at root: a directory of the person's own settings,
// moved by a variable into the project, is the repository's word and not the
// person's. A home directory that is itself (in) the repository is the person's.
func FromRepository(dir, root, home string) bool {
	return dir != "" && root != "" && Inside(root, dir) && (home == "" || !Inside(root, home))
}

// RepositoryRoot is the directory at or above dir that has a .git, or dir itself
// where there is none.
func RepositoryRoot(dir string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if filepath.Dir(d) == d {
			return dir
		}
	}
}
