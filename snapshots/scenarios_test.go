package snapshots

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// agentDir holds the built program; TestMain removes it.
var agentDir string

// buildOnce builds the program under test.
var buildOnce = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "acp-agent-test-")
	if err != nil {
		return "", err
	}
	agentDir = dir
	exe := filepath.Join(dir, "acp-agent")
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", exe, "acp-agent/cmd/acp-agent").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the agent: %w\n%s", err, out)
	}
	return exe, noteSources()
})

// noteSources looks at the files that the program is made of. The go command keeps
// test results by what the test has looked at, and that a child of it has built the
// program from them it does not see.
func noteSources() error {
	return filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case !d.IsDir():
			_, err = os.Stat(path)
		}
		return err
	})
}

func buildAgent(t *testing.T) string {
	t.Helper()
	exe, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// TestScenarios runs every scenario of this project against the built program.
func TestScenarios(t *testing.T) {
	rep, err := Run(t.Context(), Options{
		Dirs: []string{"testdata/scenarios"}, Agent: []string{buildAgent(t)},
		Update: *update, Artifacts: t.ArtifactDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	report(t, rep)
}

// A recording that the agent does not use up, or that it asks for more than it
// holds, fails the scenario, also when it is updated.
func TestRecordedCallsAreCounted(t *testing.T) {
	agent := buildAgent(t)
	script, err := os.ReadFile("testdata/scenarios/multi-turn/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	const prompt = `,{"op":"prompt","text":"more"}`
	for prompts, want := range map[int]string{1: "was not asked for|were not asked for", 2: "", 3: "model call 3 is asked for"} {
		input := `{"steps":[{"op":"initialize"},{"op":"newSession"}` + strings.Repeat(prompt, prompts) + `]}`
		dir := newScenario(t, map[string]string{inputFile: input, logFile: string(script)})
		rep, err := Run(t.Context(), Options{Dirs: []string{dir}, Agent: []string{agent}, Update: true})
		if err != nil {
			t.Fatal(err)
		}
		res, said := &rep.Results[0], false
		for w := range strings.SplitSeq(want, "|") {
			said = said || strings.Contains(res.String(), w)
		}
		if res.OK() != (want == "") || !said {
			t.Errorf("%d prompts on 2 recorded calls: %q is not in %q", prompts, want, res)
		}
	}
}

// TestScriptByHand: what the package comment says of a script that nobody recorded.
func TestScriptByHand(t *testing.T) {
	agent := buildAgent(t)
	dir := newScenario(t, map[string]string{
		inputFile: `{"steps":[{"op":"initialize"},{"op":"newSession"},{"op":"prompt","text":"read\r\nit"},{"op":"prompt","text":"no","expectStopReason":"refusal"},{"op":"promptExpectError","text":"more"}]}`,
		logFile: `{"type":"session","version":1,"id":"x","createdAt":"1970-01-01T00:00:00Z","cwd":"{{cwd}}"}
{"type":"assistant/message","data":{"turn":1,"step":1,"message":{"role":"assistant","content":[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"file_path\":\"{{cwd}}/a.txt\"}"}]}}}
{"type":"assistant/message","data":{"turn":1,"step":2,"message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}}
{"type":"assistant/message","data":{"turn":2,"step":1,"message":{"role":"assistant","content":[{"type":"text","text":"No."}]},"stop":"refusal"}}
`,
		overrideFile:            `{"patches":[{"at":3,"entry":{"kind":"throw","message":"used up","code":"QUOTA"}}]}`,
		workspaceDir + "/a.txt": "alpha\n",
	})
	for _, again := range []bool{true, false} {
		rep, err := Run(t.Context(), Options{Dirs: []string{dir}, Agent: []string{agent}, Update: again})
		if err != nil || !rep.OK() {
			t.Fatalf("update %v: %v %v", again, err, &rep.Results[0])
		}
	}
	log, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil || !strings.Contains(string(log), "1: alpha") || !strings.Contains(string(log), "used up") {
		t.Errorf("%v: %s", err, log)
	}
}

// referenceDir is where the reference system's recordings lie beside a checkout.
const referenceDir = "../../shared/reference/scenarios"

// TestReference runs the reference system's recordings as they are and compares
// what the two systems share.
func TestReference(t *testing.T) {
	if _, err := os.Stat(referenceDir); err != nil {
		t.Skipf("the reference system's recordings are not beside this checkout, and are no part of it: %v", err)
	}
	rep, err := Run(t.Context(), Options{Dirs: []string{referenceDir}, Agent: []string{buildAgent(t)}, Artifacts: t.ArtifactDir()})
	if err != nil {
		t.Fatal(err)
	}
	report(t, rep)
}

func report(t *testing.T, rep Report) {
	for i := range rep.Results {
		res := &rep.Results[i]
		t.Run(res.Name, func(t *testing.T) {
			for _, f := range res.Updated {
				t.Logf("wrote %s", f)
			}
			for _, n := range res.Notes {
				t.Logf("deliberate: %s", n)
			}
			if !res.OK() {
				t.Error("\n" + res.String())
			}
		})
	}
}
