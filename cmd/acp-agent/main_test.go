package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite expected files")

// TestMain lets the test binary be the command: the scripts run the shipped
// entry path, main included.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"acp-agent": main})
}

// TestScripts runs testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			e.Setenv("HOME", home)
			e.Setenv("USERPROFILE", home)
			e.Setenv("APPDATA", filepath.Join(home, "AppData"))
			e.Setenv("LOCALAPPDATA", filepath.Join(home, "LocalAppData"))
			// Nothing of the machine's own setup reaches a script: testscript hands
			// on only what it knows, and these are not among it.
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"oneline":   oneLineError,
			"jsonlines": jsonLines,
			"perm":      perm,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// exits CODE COMMAND… runs a command that must end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// oneline TEXT… checks that the last command said exactly one line on stderr,
// that it is an error of acp-agent and that it holds each text.
func oneLineError(ts *testscript.TestScript, _ bool, args []string) {
	said := ts.ReadFile("stderr")
	line, rest, _ := strings.Cut(said, "\n")
	if rest != "" || !strings.HasPrefix(line, "acp-agent: ") {
		ts.Fatalf("stderr is not one line of the form acp-agent: what: what to do:\n%s", said)
	}
	for _, text := range args {
		if !strings.Contains(line, text) {
			ts.Fatalf("the error does not say %q:\n%s", text, line)
		}
	}
}

// jsonlines N checks that the last command's stdout is at least N lines, each
// one JSON-RPC message and nothing else.
func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	out := ts.ReadFile("stdout")
	if out != "" && !strings.HasSuffix(out, "\n") {
		ts.Fatalf("stdout does not end with a line end: %q", out)
	}
	n := 0
	for line := range strings.Lines(out) {
		var m struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			ts.Fatalf("stdout holds a line that is not JSON-RPC: %q", line)
		}
		n++
	}
	if n < least {
		ts.Fatalf("stdout holds %d messages, want at least %d", n, least)
	}
}

// perm MODE FILE checks permission bits.
func perm(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// TestHelp pins every help text.
func TestHelp(t *testing.T) {
	for _, name := range []string{
		"", "serve", "demo", "exec", "hooks", "hooks list", "hooks check", "hooks trust", "hooks untrust",
		"sessions", "sessions list", "sessions show", "sessions verify", "sessions export",
		"snapshot", "snapshot run", "snapshot record", "snapshot refresh", "doctor", "login", "version",
	} {
		t.Run("acp-agent "+name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd, err := parse(append(strings.Fields(name), "--help"), &out, &errs)
			if cmd != nil || err != nil || errs.Len() > 0 {
				t.Fatalf("help gave command %v, error %v, stderr %q", cmd, err, &errs)
			}
			file := filepath.Join("testdata", "help", strings.Join(append([]string{"acp-agent"}, strings.Fields(name)...), "-")+".txt")
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("help text differs from %s (-want +got); run go test ./cmd/acp-agent -update if it should:\n%s", file, diff)
			}
		})
	}
}
