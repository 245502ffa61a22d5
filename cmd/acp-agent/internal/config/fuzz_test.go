package config

import (
	"os"
	"strings"
	"testing"
)

// FuzzFile: no config file makes the reader fall over, and an error is one line
// that names the file and what to do.
func FuzzFile(f *testing.F) {
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		f.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```toml\n")
	text, _, ok := strings.Cut(text, "```")
	if !ok {
		f.Fatal("README.md shows no config file")
	}
	f.Add([]byte(text))
	for _, s := range []string{"", "modle = \"x\"", "[limits]\nretries = -1\nidle_timeout = \"5\"\n", "[providers.x]\nwire = \"y\"\n", "a = [", "\xff", "[permissions]\nallow = [\"Bash(\"]\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c file
		err := c.decode("/c.toml", data)
		if err == nil {
			return
		}
		if s := err.Error(); strings.Contains(s, "\n") || !strings.Contains(s, "/c.toml") || !strings.Contains(s, ": ") {
			t.Fatalf("%q: %q", data, s)
		}
	})
}
