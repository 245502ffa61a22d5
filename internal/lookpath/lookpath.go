// Package lookpath finds a program in the PATH of an environment that is not this
// process's: that of a hook or of an MCP server, which whoever configured it may
// have set.
package lookpath

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// In returns the file of a program by the PATH, and on Windows the PATHEXT, of an
// environment of KEY=value entries, the last of a key counting. A name with a
// separator is the file itself: whether that is there is the kernel's to say.
func In(environ []string, name string) (string, bool) {
	exts := extensions(environ, name)
	if strings.ContainsAny(name, separators) {
		for _, ext := range exts {
			if ext != "" && executable(name+ext) {
				return name + ext, true
			}
		}
		return name, true
	}
	path, _ := Get(environ, "PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			// An empty or relative entry is below the current directory, where a
			// repository could put a program.
			continue
		}
		for _, ext := range exts {
			if p := filepath.Join(dir, name+ext); executable(p) {
				return p, true
			}
		}
	}
	return "", false
}

// Get returns a variable's value and whether it is set; the last entry counts.
func Get(environ []string, key string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(environ[i], "="); ok && SameKey(k, key) {
			return v, true
		}
	}
	return "", false
}

// SameKey reports whether two names are those of one variable.
func SameKey(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// extensions are what a program's file may have behind its name.
func extensions(environ []string, name string) []string {
	if runtime.GOOS != "windows" || filepath.Ext(name) != "" {
		return []string{""}
	}
	v, ok := Get(environ, "PATHEXT")
	if !ok || v == "" {
		v = ".COM;.EXE;.BAT;.CMD"
	}
	return strings.Split(v, ";")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}
