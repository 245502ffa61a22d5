package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// File is a file of project instructions.
type File struct {
	Path string
	// Digest changes with the content.
	Digest string
	// Text is what a model is shown: a line that says where it comes from, then
	// the file as it is.
	Text string
	// Memory is User, Project or Local, as Claude Code calls the layers.
	Memory string
}

// instructionNames are looked for in this order in each directory. A CLAUDE.md
// beside an AGENTS.md of the same content is left out.
var instructionNames = []struct{ name, memory string }{
	{"AGENTS.md", "Project"}, {"CLAUDE.md", "Project"}, {"CLAUDE.local.md", "Local"},
}

// maxInstructions bounds one file, in bytes; the rest of a longer one is left
// out and said to be.
const maxInstructions = 64 << 10

// Finder finds the instruction files of a session.
type Finder struct {
	// Cwd is the session's directory. User are the person's own files.
	Cwd  string
	User []string
}

// Initial returns the person's files, then those from the repository's root
// down to the working directory: the nearest comes last and has the last word.
func (f *Finder) Initial() []File {
	var out []File
	seen := map[string]bool{}
	for _, path := range f.User {
		out = add(out, seen, path, "User")
	}
	for _, dir := range f.above() {
		out = f.dir(out, seen, dir)
	}
	return out
}

// Touched returns the files in the directories between the working directory
// and a file below it.
func (f *Finder) Touched(path string) []File {
	rel, err := filepath.Rel(f.Cwd, filepath.Dir(path))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil
	}
	var out []File
	seen := map[string]bool{}
	dir := f.Cwd
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		out = f.dir(out, seen, dir)
	}
	return out
}

// above returns the directories from the repository's root to the working
// directory; outside a repository only the latter.
func (f *Finder) above() []string {
	dirs := []string{f.Cwd}
	for dir := f.Cwd; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return []string{f.Cwd}
		}
		dir = parent
		dirs = append([]string{dir}, dirs...)
	}
	return dirs
}

func (f *Finder) dir(out []File, seen map[string]bool, dir string) []File {
	for _, n := range instructionNames {
		out = add(out, seen, filepath.Join(dir, n.name), n.memory)
	}
	return out
}

// add reads a file; one that is missing, no text, or says what another of the
// list says adds nothing.
func add(out []File, seen map[string]bool, path, memory string) []File {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return out
	}
	data, err := os.ReadFile(path)
	if err != nil || !utf8.Valid(data) || len(strings.TrimSpace(string(data))) == 0 {
		return out
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if seen[digest] {
		return out
	}
	seen[digest] = true
	text := string(data)
	note := ""
	if len(text) > maxInstructions {
		cut := maxInstructions
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text, note = text[:cut], "\n[the rest of "+path+" is left out; read the file for it]\n"
	}
	return append(out, File{Path: path, Digest: digest, Memory: memory, Text: "Instructions from " + path + ":\n\n" + text + note})
}
