package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnreadPolicies(t *testing.T) {
	dir := t.TempDir()
	names := func(goos, home string) string {
		var out []string
		for _, p := range unreadPolicies(goos, dir, "com.example", home, "settings.json") {
			rel, err := filepath.Rel(dir, p.File)
			if err != nil || !strings.Contains(p.Text, "deploy settings.json instead") {
				t.Errorf("%v %v", p, err)
			}
			out = append(out, filepath.ToSlash(rel))
		}
		return strings.Join(out, " ")
	}
	if got := names("darwin", "/Users/ann"); got != "" {
		t.Errorf("nothing there: %s", got)
	}
	for _, name := range []string{"com.example.plist", "ann/com.example.plist", "bob/com.example.plist"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for goos, want := range map[string]string{"darwin": "com.example.plist ann/com.example.plist", "linux": "", "windows": ""} {
		if got := names(goos, "/Users/ann"); got != want {
			t.Errorf("%s: %s", goos, got)
		}
	}
}
