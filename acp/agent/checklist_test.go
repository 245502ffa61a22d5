package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// line is one line of the conformance checklist: a test of this package, or
// where the test is ("dir.TestName", dir below the module), or why there is
// none.
type line struct {
	n    int
	name string
	test func(t *testing.T)
	at   string
	why  string
}

// TestChecklist holds the agent to the 116 lines of the checklist, one subtest a
// line. The number and the order of the lines are checked too, so that none can
// get lost.
func TestChecklist(t *testing.T) {
	all := slices.Concat(wireLines, setupLines, listLines, promptLines, toolLines, configLines)
	if len(all) != 116 {
		t.Errorf("the checklist has 116 lines, the table %d", len(all))
	}
	for i, l := range all {
		if l.n != i+1 {
			t.Fatalf("line %d of the table has number %d", i+1, l.n)
		}
		t.Run(fmt.Sprintf("%03d-%s", l.n, l.name), l.run)
	}
}

func (l line) run(t *testing.T) {
	if l.at == "" && l.why == "" && l.test == nil {
		t.Fatal("no test and no reason")
	}
	for ref := range strings.FieldsSeq(l.at) {
		elsewhere(t, ref)
	}
	if l.test != nil {
		l.test(t)
		return
	}
	t.Log(strings.TrimSpace(l.at + " " + l.why))
}

// elsewhere checks that a test that a table points to is there.
func elsewhere(t *testing.T, ref string) {
	t.Helper()
	dir, name, ok := strings.Cut(ref, ".Test")
	if !ok {
		t.Fatalf("%q is no dir.TestName", ref)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	decl := regexp.MustCompile(`(?m)^func Test` + name + `\(`)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if decl.Match(data) {
			return
		}
	}
	t.Errorf("there is no %s", ref)
}
