package snapshots

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	bareScript = `{"type":"session","version":1,"id":"x","createdAt":"1970-01-01T00:00:00.000Z","cwd":"{{cwd}}"}` + "\n"
	onePrompt  = `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"prompt","text":"hi"}]}`
)

// newScenario makes a scenario folder.
func newScenario(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "scenario")
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// drive runs one scenario against the fake agent.
func drive(t *testing.T, dir, mode string, change func(*Options)) *Result {
	t.Helper()
	o := Options{Dirs: []string{dir}, Agent: []string{os.Args[0], "fake-agent", mode}}
	if change != nil {
		change(&o)
	}
	rep, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return &rep.Results[0]
}

func refresh(o *Options) { o.Update = true }

func recorded(t *testing.T, mode, input string) string {
	t.Helper()
	dir := newScenario(t, map[string]string{inputFile: input, logFile: bareScript})
	if res := drive(t, dir, mode, refresh); !res.OK() {
		t.Fatalf("update: %v", res)
	}
	return dir
}

// An updated scenario passes, again and again, although every run has other
// ids, times and directories.
func TestUpdateThenRepeat(t *testing.T) {
	dir := recorded(t, "writes", onePrompt)
	for range 3 {
		if res := drive(t, dir, "writes", nil); !res.OK() {
			t.Fatal(res)
		}
	}
	log, _ := os.ReadFile(filepath.Join(dir, logFile))
	for _, want := range []string{`"id":"{{session:1}}"`, `"cwd":"{{cwd}}"`, `"agent":"fake/{{version}}"`, `"texts":["he","llo"]`, `"digest":"{{digest:1}}"`} {
		if !bytes.Contains(log, []byte(want)) {
			t.Errorf("%s is not in the log:\n%s", want, log)
		}
	}
	changed, _ := os.ReadFile(filepath.Join(dir, changesFile))
	if want := `{"path":"written.txt","change":"added","content":"session {{session:1}}\n"}` + "\n"; string(changed) != want {
		t.Errorf("changes %s, want %s", changed, want)
	}
	input, _ := os.ReadFile(filepath.Join(dir, inputFile))
	if string(input) != onePrompt {
		t.Error("an update rewrote the input")
	}
}

// One flipped byte anywhere in a recorded file is exactly one difference.
func TestFlippedByte(t *testing.T) {
	dir := recorded(t, "writes", onePrompt)
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range s.expected {
		// The file alone: all of them for each byte would take long.
		one := &Scenario{Name: s.Name, expected: map[string][]byte{}}
		got := map[string][]byte{name: data}
		for i := range data {
			flipped := bytes.Clone(data)
			flipped[i] ^= 1
			one.expected[name] = flipped
			if diffs := compareFiles(one, got); len(diffs) != 1 || diffs[0].File != name {
				t.Fatalf("%s byte %d (%q to %q): %d differences %v", name, i, data[i], flipped[i], len(diffs), diffs)
			}
		}
	}
}

// A file that a step writes is there for the agent, and among the changes.
func TestWriteFile(t *testing.T) {
	const input = `{"steps":[{"op":"initialize"},{"op":"writeFile","path":"a/b.txt","text":"in {{cwd}}\n"},{"op":"waitForFile","path":"a/b.txt"},{"op":"newSession"},{"op":"prompt","text":"hi"}]}`
	dir := recorded(t, "good", input)
	changed, _ := os.ReadFile(filepath.Join(dir, changesFile))
	if want := `{"path":"a/b.txt","change":"added","content":"in {{cwd}}\n"}` + "\n"; string(changed) != want {
		t.Errorf("changes %s, want %s", changed, want)
	}
	for _, path := range []string{"../x", "/x", ""} {
		bad := newScenario(t, map[string]string{inputFile: strings.Replace(input, `"a/b.txt"`, strconv.Quote(path), 1), logFile: bareScript})
		if res := drive(t, bad, "good", nil); res.Err == nil || !strings.Contains(res.Err.Error(), "input.json step 2 (writeFile)") {
			t.Errorf("%q: %v", path, res.Err)
		}
	}
}

// A step that fails says where the run first went another way.
func TestFailedStepHasItsCause(t *testing.T) {
	dir := recorded(t, "good", onePrompt)
	input := strings.Replace(onePrompt, `"text":"hi"`, `"text":"ho","expectStopReason":"refusal"`, 1)
	if err := os.WriteFile(filepath.Join(dir, inputFile), []byte(input), 0o644); err != nil {
		t.Fatal(err)
	}
	res := drive(t, dir, "good", nil)
	if res.Err == nil || !strings.Contains(res.Err.Error(), "input.json step 3 (prompt)") {
		t.Errorf("error %v", res.Err)
	}
	if len(res.Differences) != 1 || res.Differences[0].File != logFile || res.Differences[0].Want != `"hi"` || res.Differences[0].Got != `"ho"` {
		t.Errorf("differences %v", res.Differences)
	}
}

// Faults that no recording shows are found whatever is recorded.
func TestRules(t *testing.T) {
	for mode, want := range map[string]string{
		"impure":       "no JSON-RPC frame",
		"late":         "outside a turn",
		"wrong-digest": "digest",
		"open-turn":    "still open",
		"unlogged":     "is not what the log projects to",
		"asks":         "no answer left",
		"exit-1":       "status 1",
	} {
		t.Run(mode, func(t *testing.T) {
			dir := newScenario(t, map[string]string{inputFile: onePrompt, logFile: bareScript})
			res := drive(t, dir, mode, refresh)
			if len(res.Updated) > 0 {
				t.Errorf("an update wrote %v", res.Updated)
			}
			if res.OK() || !strings.Contains(res.String(), want) {
				t.Errorf("%q is not in:\n%s", want, res)
			}
			if mode == "exit-1" && !strings.Contains(res.String(), "one recorded call was not used") {
				t.Errorf("the agent's stderr is not in:\n%s", res)
			}
		})
	}
}

func TestAgentThatStaysIsKilled(t *testing.T) {
	dir := newScenario(t, map[string]string{inputFile: onePrompt, logFile: bareScript})
	res := drive(t, dir, "stays", func(o *Options) { o.Limit = 2 * time.Second })
	if res.OK() || !strings.Contains(res.String(), "still running") {
		t.Errorf("got %s", res)
	}
}

func TestCancelWaits(t *testing.T) {
	dir := newScenario(t, map[string]string{
		inputFile: `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"promptAndCancel","text":"hi","waitForText":"hello"}]}`,
		logFile:   bareScript,
	})
	res := drive(t, dir, "hangs", nil)
	if res.Err != nil || len(res.Faults) != 1 || !strings.Contains(res.Faults[0], "still open") {
		t.Errorf("got %v", res)
	}
}

func TestPermissionAnswers(t *testing.T) {
	const asked = `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"prompt","text":"hi"}],"permissionAnswers":[{"kind":"KIND"}]}`
	dir := recorded(t, "asks", strings.ReplaceAll(asked, "KIND", "allow_once"))
	wire, _ := os.ReadFile(filepath.Join(dir, wireFile))
	if !bytes.Contains(wire, []byte(`"id":"{{request:1}}"`)) {
		t.Errorf("the agent's own request id is not told from the client's:\n%s", wire)
	}
	for kind, want := range map[string]string{"reject_once": "did not offer", "cancelled": ""} {
		dir := newScenario(t, map[string]string{inputFile: strings.ReplaceAll(asked, "KIND", kind), logFile: bareScript})
		res := drive(t, dir, "asks", refresh)
		if want == "" && !res.OK() || want != "" && !strings.Contains(res.String(), want) {
			t.Errorf("%s: %s", kind, res)
		}
	}
	dir = newScenario(t, map[string]string{inputFile: strings.ReplaceAll(asked, "KIND", "allow_once"), logFile: bareScript})
	if res := drive(t, dir, "good", refresh); !strings.Contains(res.String(), "never asked") {
		t.Errorf("an unused answer passes: %s", res)
	}
}

func TestForeignAgent(t *testing.T) {
	dir := recorded(t, "good", onePrompt)
	foreign := func(o *Options) { o.Foreign = true }
	if res := drive(t, dir, "good", foreign); !res.OK() {
		t.Error(res)
	}
	wire := filepath.Join(dir, wireFile)
	data, _ := os.ReadFile(wire)
	if err := os.WriteFile(wire, bytes.ReplaceAll(data, []byte("hello"), []byte("goodbye")), 0o644); err != nil {
		t.Fatal(err)
	}
	res := drive(t, dir, "good", foreign)
	if len(res.Differences) != 1 || res.Differences[0].Path != "prompt 1 text" {
		t.Errorf("got %s", res)
	}
	if res := drive(t, dir, "impure", foreign); len(res.Faults) != 1 {
		t.Errorf("an impure foreign agent passes: %s", res)
	}
}

// What a foreign agent cannot take part in is skipped, and said.
func TestForeignAgentSkips(t *testing.T) {
	hooked := newScenario(t, map[string]string{inputFile: onePrompt, logFile: bareScript, "workspace/hooks.json": "{}"})
	waits := newScenario(t, map[string]string{
		inputFile: `{"steps":[{"op":"initialize"},{"op":"waitForLogEvent","type":"turn/start"}]}`, logFile: bareScript,
	})
	for _, dir := range []string{hooked, waits} {
		res := drive(t, dir, "good", func(o *Options) { o.Foreign = true })
		if !res.OK() || res.Skipped == "" {
			t.Errorf("got %+v", res)
		}
	}
	res := drive(t, hooked, "good", func(o *Options) {
		o.Foreign = true
		o.Agent = append(o.Agent, "--hooks", "{{cwd}}/hooks.json")
	})
	if res.Skipped != "" {
		t.Errorf("skipped although the command names the hooks: %s", res.Skipped)
	}
}

func TestArtifacts(t *testing.T) {
	dir := recorded(t, "good", onePrompt)
	if err := os.WriteFile(filepath.Join(dir, wireFile), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	drive(t, dir, "good", func(o *Options) { o.Artifacts = out })
	for _, name := range []string{wireFile, logFile, "stderr.txt", "report.txt"} {
		if _, err := os.Stat(filepath.Join(out, "scenario", name)); err != nil {
			t.Error(err)
		}
	}
}

func TestGuards(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"unknown file":    {map[string]string{inputFile: onePrompt, logFile: bareScript, "stdout.jsonl": ""}, "unknown file stdout.jsonl"},
		"no script":       {map[string]string{inputFile: onePrompt}, "needs a session.jsonl"},
		"newer log":       {map[string]string{inputFile: onePrompt, logFile: `{"type":"session","version":2}`}, "newer acp-agent"},
		"newer input":     {map[string]string{inputFile: `{"version":2,"steps":[{"op":"initialize"}]}`, logFile: bareScript}, "newer acp-agent"},
		"no header":       {map[string]string{inputFile: onePrompt, logFile: "{}\n"}, "session header"},
		"no steps":        {map[string]string{inputFile: `{}`, logFile: bareScript}, "no steps"},
		"unknown op":      {map[string]string{inputFile: `{"steps":[{"op":"promptt"}]}`, logFile: bareScript}, `unknown op "promptt"`},
		"unknown field":   {map[string]string{inputFile: `{"steps":[{"op":"prompt","txt":"hi"}]}`, logFile: bareScript}, `step 1: op prompt takes no field "txt"`},
		"other field":     {map[string]string{inputFile: "{\"steps\":[{\"op\":\"initialize\"}],\n\"stepz\":[]}", logFile: bareScript}, `unknown field "stepz"`},
		"no JSON":         {map[string]string{inputFile: "{\"steps\":[\n{\"op\":\n", logFile: bareScript}, "input.json line 3"},
		"wrong type":      {map[string]string{inputFile: "{\"steps\":[\n{\"op\":\"prompt\",\"text\":5}]}", logFile: bareScript}, "input.json line 2: steps.text cannot be of type number"},
		"no object":       {map[string]string{inputFile: "[1]", logFile: bareScript}, "line 1: the document cannot be of type array"},
		"two values":      {map[string]string{inputFile: onePrompt + "\n{}", logFile: bareScript}, "input.json line 2"},
		"a part it lacks": {map[string]string{inputFile: `{"steps":[{"op":"waitForGoalPhase","phase":"x"}]}`, logFile: bareScript}, "waits for a goal of the reference system"},
		"no folder":       {map[string]string{inputFile: onePrompt, logFile: bareScript, workspaceDir: "x"}, "is no folder"},
		"misplaced":       {map[string]string{inputFile: `{"steps":[{"op":"prompt","text":"hi","path":"x"}]}`, logFile: bareScript}, `takes no field "path"`},
		"no occasion":     {map[string]string{inputFile: `{"steps":[{"op":"promptAndCancel","text":"hi"}]}`, logFile: bareScript}, "exactly one of"},
		"unknown answer":  {map[string]string{inputFile: `{"steps":[{"op":"initialize"}],"permissionAnswers":[{"kind":"yes"}]}`, logFile: bareScript}, `unknown kind "yes"`},
	} {
		t.Run(name, func(t *testing.T) {
			res := drive(t, newScenario(t, c.files), "good", nil)
			if res.Err == nil || !strings.Contains(res.Err.Error(), c.want) {
				t.Errorf("%v does not say %q", res.Err, c.want)
			}
		})
	}
	if _, err := ParseInput([]byte("\xef\xbb\xbf" + onePrompt)); err != nil {
		t.Errorf("a byte order mark: %v", err)
	}
	orphan := t.TempDir()
	if err := os.MkdirAll(filepath.Join(orphan, "left-over"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(orphan); err == nil || !strings.Contains(err.Error(), "is no scenario") {
		t.Errorf("an orphan folder passes: %v", err)
	}
}

// What git, a Mac or an editor keeps beside scenarios is none of theirs.
func TestHiddenFilesAreNoScenarios(t *testing.T) {
	dir := newScenario(t, map[string]string{inputFile: onePrompt, logFile: bareScript, ".DS_Store": "x"})
	if err := os.MkdirAll(filepath.Join(filepath.Dir(dir), ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(filepath.Dir(dir)); err != nil || len(found) != 1 {
		t.Errorf("found %v: %v", found, err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
}

// A run that is ended tells of no scenario as failed.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	dir := newScenario(t, map[string]string{inputFile: onePrompt, logFile: bareScript})
	rep, err := Run(ctx, Options{Dirs: []string{dir}, Agent: []string{os.Args[0], "fake-agent", "good"}, Out: &out})
	if !errors.Is(err, context.Canceled) || out.Len() > 0 || len(rep.Results) != 1 {
		t.Errorf("%v, %d results, told %q", err, len(rep.Results), out.String())
	}
}

// A recording never holds a secret of the environment.
func TestSecretsAreNotRecorded(t *testing.T) {
	const input = `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"prompt","text":"my key is sk-0123456789"}]}`
	dir := newScenario(t, map[string]string{inputFile: input, logFile: bareScript})
	res := drive(t, dir, "good", func(o *Options) {
		o.Update = true
		o.Env = []string{"SOME_API_KEY=sk-0123456789"}
	})
	if res.Err == nil || !strings.Contains(res.Err.Error(), "secret") || len(res.Updated) > 0 {
		t.Errorf("got %v, wrote %v", res.Err, res.Updated)
	}
}

// How old the files of a workspace are does not depend on when they were copied.
func TestWorkspaceHasItsAge(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(src, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyTree(dst, src); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"a", "b"} {
		if info, err := os.Stat(filepath.Join(dst, name)); err != nil || info.ModTime().Sub(copiedAt) != time.Duration(i+1)*time.Second {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
