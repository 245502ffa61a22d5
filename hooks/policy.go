package hooks

import (
	"path/filepath"
	"runtime"
)

// UnreadPolicies tells of what a device management has put on a Mac for a vendor's
// program, by its domain: it is not read here, which whoever relies on its hooks
// must not find out by their absence.
func UnreadPolicies(domain, home, instead string) []Problem {
	return unreadPolicies(runtime.GOOS, "/Library/Managed Preferences", domain, home, instead)
}

func unreadPolicies(goos, dir, domain, home, instead string) []Problem {
	if goos != "darwin" {
		return nil
	}
	dirs := []string{dir}
	if home != "" {
		dirs = append(dirs, filepath.Join(dir, filepath.Base(home)))
	}
	var out []Problem
	for _, d := range dirs {
		if path := filepath.Join(d, domain+".plist"); isFile(path) {
			out = append(out, Problem{File: path, Text: "a device management's policy is not read here, hooks in it do not run; deploy " + instead + " instead"})
		}
	}
	return out
}
