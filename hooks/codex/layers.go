package codex

import (
	"os"
	"path/filepath"
	"strings"

	"acp-agent/hooks"
)

// projectRoot finds the directory that has a .git above dir, or dir itself
// where there is none. checkout is where the project's hooks are: the same
// directory, and for a linked git worktree the root checkout, so that a branch
// cannot bring hooks of its own (Codex 0.171.0, config and trust).
func projectRoot(dir string) (root, checkout string) {
	for d := dir; ; d = filepath.Dir(d) {
		git := filepath.Join(d, ".git")
		fi, err := os.Lstat(git)
		if err == nil && fi.Mode()&os.ModeSymlink != 0 {
			fi, err = os.Stat(git)
		}
		switch {
		case err == nil && fi.IsDir():
			return d, d
		case err == nil:
			return d, rootCheckout(d, git)
		case filepath.Dir(d) == d:
			return dir, dir
		}
	}
}

// rootCheckout follows a worktree's .git file ("gitdir: /r/.git/worktrees/w")
// and the commondir in there to the checkout that owns the repository. A
// submodule's .git file leads to a directory without commondir: the submodule
// is its own root.
func rootCheckout(root, gitFile string) string {
	line, ok := strings.CutPrefix(readLine(gitFile), "gitdir:")
	if !ok {
		return root
	}
	gitDir := absFrom(root, strings.TrimSpace(line))
	common := readLine(filepath.Join(gitDir, "commondir"))
	if common == "" {
		return root
	}
	common = absFrom(gitDir, common)
	if filepath.Base(common) != ".git" {
		return root // a bare repository has no checkout
	}
	return filepath.Dir(common)
}

func absFrom(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

func readLine(path string) string {
	b, err := hooks.ReadConfig(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// chain lists the directories from root down to dir.
func chain(root, dir string) []string {
	var out []string
	for d := dir; ; d = filepath.Dir(d) {
		out = append([]string{d}, out...)
		if d == root || filepath.Dir(d) == d {
			return out
		}
	}
}
