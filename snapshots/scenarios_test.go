package snapshots

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// buildAgent builds the program under test.
func buildAgent(t *testing.T) string {
	t.Helper()
	name := "acp-agent"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	exe := filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-o", exe, "acp-agent/cmd/acp-agent")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the agent: %v\n%s", err, out)
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

// referenceDir is where the reference system's recordings lie beside a checkout.
const referenceDir = "../../shared/reference/scenarios"

// TestReference runs the reference system's recordings as they are and compares
// what the two systems share.
func TestReference(t *testing.T) {
	if _, err := os.Stat(referenceDir); err != nil {
		t.Skipf("the reference recordings are not here: %v", err)
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
