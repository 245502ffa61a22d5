package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
)

// buildVersion is set by -ldflags "-X main.buildVersion=1.2.3" in a release build.
var buildVersion string

// version is the program's version: the release's, the module's when it
// was installed by `go install`, else 0.0.0 with the commit it was built from.
// What the build says of itself is read once: each session names the version.
var version = sync.OnceValue(func() string {
	if buildVersion != "" {
		return buildVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "0.0.0-dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = "+" + s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	return "0.0.0-dev" + rev + dirty
})

// versionCmd is acp-agent version.
type versionCmd struct{}

// Run prints the version and what it was built with.
func (versionCmd) Run(a *app) error {
	_, err := fmt.Fprintf(a.stdout, "acp-agent %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
