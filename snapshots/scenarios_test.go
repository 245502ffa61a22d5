package snapshots

import (
	"fmt"
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
	return exe, nil
})

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
