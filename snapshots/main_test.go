package snapshots

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the scenarios' expectations from what the agent does; read the diff before you commit it")

// TestMain also serves as the fake agent that the harness is tested with:
// `snapshots.test fake-agent MODE …` is one.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake-agent" {
		os.Exit(fakeAgent(os.Args[2], os.Args[3:]))
	}
	code := m.Run()
	os.RemoveAll(agentDir)
	os.Exit(code)
}
