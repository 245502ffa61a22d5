package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"acp-agent/internal/files"
	"acp-agent/loop/permission"
)

// remembered are the "always" answers of a project, kept in the state directory
// and never in the repository: who can write there must not be able to allow
// anything. Sessions of one process share the lock; of two processes that answer
// at the same moment the later one wins.
type remembered struct {
	path string
	mu   *sync.Mutex
}

// rememberedFile is its content. Root is for people who look at it.
type rememberedFile struct {
	Root  string   `json:"root"`
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// remembered returns the store of the project at root.
func (w *wiring) remembered(root string) *remembered {
	sum := sha256.Sum256([]byte(root))
	return &remembered{path: filepath.Join(w.cfg.StateDir, "permissions", hex.EncodeToString(sum[:8])+".json"), mu: &w.remembering}
}

func (r *remembered) read() (rememberedFile, error) {
	var f rememberedFile
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return f, fmt.Errorf("reading the remembered answers in %s: %w: correct the file or remove it", r.path, err)
	}
	return f, nil
}

// apply adds what is remembered to a session's rules.
func (r *remembered) apply(rules *permission.Rules) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.read()
	if err != nil {
		return err
	}
	for _, rule := range f.Allow {
		rules.Allow(rule)
	}
	for _, rule := range f.Deny {
		rules.Reject(rule)
	}
	return nil
}

// add remembers a rule. The newer answer replaces the other one about it.
func (r *remembered) add(root, rule string, allow bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := r.read()
	if err != nil {
		return err
	}
	f.Root = root
	is := func(old string) bool { return old == rule }
	f.Allow, f.Deny = slices.DeleteFunc(f.Allow, is), slices.DeleteFunc(f.Deny, is)
	if allow {
		f.Allow = append(f.Allow, rule)
	} else {
		f.Deny = append(f.Deny, rule)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	if err := files.Replace(r.path, append(data, '\n')); err != nil {
		return fmt.Errorf("remembering the answer in %s: %w", r.path, err)
	}
	return nil
}
