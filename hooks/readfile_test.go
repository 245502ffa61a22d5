package hooks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadConfigRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"missing": "no such file", dir: "it is a directory", "/dev/zero": "not a file"} {
		if filepath.Dir(name) == "/dev" {
			if _, err := os.Stat(name); err != nil {
				continue
			}
		}
		if _, err := ReadConfig(name); err == nil || name != "missing" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadConfig(path); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
	if err := os.Truncate(path, MaxConfig+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(path); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("%v", err)
	}
}
