package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"acp-agent/loop/permission"
)

func TestRemembered(t *testing.T) {
	var mu sync.Mutex
	r := &remembered{path: filepath.Join(t.TempDir(), "permissions", "p.json"), mu: &mu}
	decide := func(command string) permission.Decision {
		t.Helper()
		rules, err := permission.NewRules("", nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.apply(rules); err != nil {
			t.Fatal(err)
		}
		input, _ := json.Marshal(map[string]string{"command": command})
		return rules.Decide(permission.ModeDefault, permission.Call{Name: "bash", Input: input, Cwd: "/w"}).Decision
	}
	if got := decide("go test ./a"); got != permission.Ask {
		t.Errorf("with nothing remembered: %s", got)
	}
	for _, rule := range []string{"bash(go test:*)", "bash(go vet:*)"} {
		if err := r.add("/w", rule, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := decide("go test ./b"); got != permission.Allow {
		t.Errorf("a remembered rule: %s", got)
	}
	if err := r.add("/w", "bash(go vet:*)", false); err != nil {
		t.Fatal(err)
	}
	if got := decide("go vet"); got != permission.Deny {
		t.Errorf("a rule that was rejected later: %s", got)
	}
	if st, err := os.Stat(r.path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", st, err)
	}
	left, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
	if err := os.WriteFile(r.path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.apply(nil); err == nil {
		t.Error("a damaged file was taken for an empty one")
	}
	if err := r.add("/w", "bash(x)", true); err == nil {
		t.Error("a damaged file was overwritten")
	}
}
