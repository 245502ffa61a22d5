package snapshots

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The files of a scenario folder.
const (
	inputFile    = "input.json"
	logFile      = "session.jsonl"
	wireFile     = "stdout.expected.jsonl"
	requestsFile = "requests.expected.jsonl"
	changesFile  = "files.expected.jsonl"
	overrideFile = "replay.override.json"
	systemFile   = "system-prompt.expected.md"
	schemasFile  = "tool-schemas.expected.json"
	workspaceDir = "workspace"

	// Hooks files of the workspace that the agent is given.
	claudeHooksFile = "hooks.json"
	codexHooksFile  = "codex-hooks.json"
)

// laterLog matches the logs of a scenario's second session and the next.
var laterLog = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^session\.[1-9][0-9]*\.jsonl$`) })

// Scenario is a loaded scenario folder.
type Scenario struct {
	// Name is the folder's, Dir its absolute path.
	Name, Dir string
	Input     *Input
	// Reference marks a recording of the reference system, which is compared by
	// what the two share.
	Reference bool
	// expected holds the recorded files by name.
	expected map[string][]byte
}

// Load reads a scenario folder. Files that it does not know and files that must
// be there and are not are errors: a recording that nobody compares would pass
// for one that agrees.
func Load(dir string) (*Scenario, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", dir, err)
	}
	s := &Scenario{Name: filepath.Base(abs), Dir: abs, expected: map[string][]byte{}}
	data, err := os.ReadFile(filepath.Join(abs, inputFile))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: it needs an %s: %w", s.Name, inputFile, err)
	}
	if s.Input, err = ParseInput(data); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case hidden(name) || name == inputFile || name == overrideFile || name == workspaceDir:
			continue
		case isExpectation(name):
		default:
			return nil, fmt.Errorf("scenario %s: unknown file %s: remove it, or name it as package snapshots documents", s.Name, name)
		}
		if s.expected[name], err = os.ReadFile(filepath.Join(abs, name)); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	if s.expected[logFile] == nil {
		return s, nil
	}
	s.Reference, err = isReference(s.expected[logFile])
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return s, nil
}

// hidden is what other programs leave beside the scenarios: .git, .DS_Store.
func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func isExpectation(name string) bool {
	switch name {
	case logFile, wireFile, requestsFile, changesFile, systemFile, schemasFile:
		return true
	}
	return laterLog().MatchString(name)
}

// isReference reads the header's version: the reference system writes 0, this
// project 1.
func isReference(log []byte) (bool, error) {
	line, _, _ := strings.Cut(string(bytes.TrimPrefix(log, byteOrderMark)), "\n")
	head, err := parseValue([]byte(line))
	if err != nil || head.text("type") != "session" {
		return false, fmt.Errorf("%s does not begin with a session header", logFile)
	}
	v := head.get("version")
	switch {
	case v == nil || v.kind != numberValue:
		return false, fmt.Errorf("the header of %s has no version", logFile)
	case v.str == "0":
		return true, nil
	case v.str == "1":
		return false, nil
	}
	return false, fmt.Errorf("%s has log version %s and this program reads 0 and 1: use a newer acp-agent", logFile, v.str)
}

// script checks that there is something to replay.
func (s *Scenario) script() error {
	if s.expected[logFile] == nil {
		return fmt.Errorf("scenario %s: it needs a %s, the model's script: write one, or record it", s.Name, logFile)
	}
	return nil
}

// Find returns the scenario folders at or below the given directories, sorted
// by path. A folder without input.json between scenarios is an error: it is
// most likely one whose input was lost.
func Find(dirs ...string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, inputFile)); err == nil {
			out = append(out, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("looking for scenarios: %w", err)
		}
		found := 0
		for _, e := range entries {
			if !e.IsDir() || hidden(e.Name()) {
				continue
			}
			sub := filepath.Join(dir, e.Name())
			if _, err := os.Stat(filepath.Join(sub, inputFile)); errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s is no scenario: it has no %s; finish it or remove it", sub, inputFile)
			}
			out = append(out, sub)
			found++
		}
		if found == 0 {
			return nil, fmt.Errorf("no scenario in %s: name a scenario folder or one that holds some", dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
