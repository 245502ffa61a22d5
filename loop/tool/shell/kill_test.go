//go:build unix

package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

// TestMain runs the test binary as an agent that has a command running, when it
// is told to.
func TestMain(m *testing.M) {
	if command, ok := os.LookupEnv("ACP_AGENT_TEST_COMMAND"); ok {
		runAgent(command, os.Getenv("ACP_AGENT_TEST_GATE"), os.Getenv("ACP_AGENT_TEST_BACKGROUND") != "")
	}
	os.Exit(m.Run())
}

// runAgent runs a command until the parent kills this process. The gate opens
// when the command's first output is here: its group is guarded then.
func runAgent(command, gate string, background bool) {
	open := func() {
		if err := os.WriteFile(gate, []byte("\n"), 0); err != nil {
			panic(err)
		}
	}
	env := &tool.Env{Cwd: os.TempDir(), Environ: os.Environ(), Progress: func(tool.Progress) { open() }}
	s := New(Options{})
	args := []any{"command", command}
	if background {
		args = append(args, "run_in_background", true)
	}
	if _, err := (&bash{s}).Run(context.Background(), env, tooltest.Args(args...)); err != nil {
		panic(err)
	}
	for {
		r, err := (&jobOutput{s}).Run(context.Background(), env, tooltest.Args("job_id", "job-1", "wait", true, "timeout_ms", 10))
		if err != nil {
			panic(err)
		}
		if strings.Contains(tooltest.Text(r), "up") {
			open()
		}
	}
}

// An agent that is killed leaves nothing running: not the command, not what it
// started, not what ignores SIGTERM.
func TestKilledAgentLeavesNoOrphans(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, background := range []string{"", "1"} {
		path, gone := lifeline(t)
		gate := filepath.Join(t.TempDir(), "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		agent := exec.Command(exe)
		agent.Env = append(os.Environ(), "ACP_AGENT_TEST_BACKGROUND="+background, "ACP_AGENT_TEST_GATE="+gate,
			"ACP_AGENT_TEST_COMMAND=echo up; read -r x <"+gate+"; (trap '' TERM HUP; exec 3>"+path+"; sleep 1000 & sleep 1000; echo never) & sleep 1000; echo never")
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		// The lifeline is open when the command runs; only then is the agent killed.
		opened := waitOpen(t, path)
		if err := agent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = agent.Wait()
		opened.Close()
		gone()
	}
}

// waitOpen returns when somebody has the lifeline open for writing.
func waitOpen(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path) // waits for a writer
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func jobCall(t *testing.T, ctx context.Context, tl tool.Tool, pairs ...any) string {
	t.Helper()
	r, err := tl.Run(ctx, tooltest.Env(t, t.TempDir()), tooltest.Args(pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Text(r)
}

func TestJobs(t *testing.T) {
	s := newShell(t)
	run, out, kill := &bash{s}, &jobOutput{s}, &jobKill{s}
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := jobCall(t, t.Context(), run, "command", "echo one; read x <"+gate+"; echo two >&2; exit 3", "run_in_background", true); got != "Started job-1 in the background. Read its output with job_output." {
		t.Errorf("got %q", got)
	}
	if err := os.WriteFile(gate, []byte("\n"), 0); err != nil { // the job reads: one was written
		t.Fatal(err)
	}
	all := ""
	for !strings.Contains(all, "exited") {
		all += jobCall(t, t.Context(), out, "job_id", "job-1", "wait", true)
	}
	if all != "one\ntwo\n[status: exited with code 3]" {
		t.Errorf("got %q", all)
	}
	if got := jobCall(t, t.Context(), out, "job_id", "job-1"); got != "(no new output)\n[status: exited with code 3]" {
		t.Errorf("got %q", got)
	}
	if got := jobCall(t, t.Context(), kill, "job_id", "job-1"); got != "[status: exited with code 3]" {
		t.Errorf("got %q", got)
	}

	path, gone := lifeline(t)
	jobCall(t, t.Context(), run, "command", "exec 3>"+path+"; sleep 1000 & sleep 1000; echo never", "run_in_background", true)
	if got := jobCall(t, t.Context(), out, "job_id", "job-2", "wait", true, "timeout_ms", 1); got != "(no new output)\n[status: running]" {
		t.Errorf("got %q", got)
	}
	if got := s.Running(); len(got) != 1 || got[0].ID != "job-2" || !strings.HasSuffix(got[0].Command, "echo never") {
		t.Errorf("running: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := jobCall(t, ctx, out, "job_id", "job-2", "wait", true); got != "[cancelled]" {
		t.Errorf("got %q", got)
	}
	waitOpen(t, path).Close()
	if got := jobCall(t, t.Context(), kill, "job_id", "job-2"); got != "[status: killed]" {
		t.Errorf("got %q", got)
	}
	gone()
	if got := s.Running(); len(got) != 0 {
		t.Errorf("still running: %+v", got)
	}
	for _, tl := range []tool.Tool{out, kill} {
		if got := jobCall(t, t.Context(), tl, "job_id", "job_9"); got != `There is no job "job_9". The jobs are: job-1, job-2.` {
			t.Errorf("got %q", got)
		}
	}
	// After a load the model may ask for one that was there before.
	if got := jobCall(t, t.Context(), &jobOutput{newShell(t)}, "job_id", "job-1"); got != `There is no job "job-1", nor any other: jobs end when the session is closed.` {
		t.Errorf("got %q", got)
	}
}

// A job outlives the turn that started it, and ends with the session.
func TestJobsEndWithTheSession(t *testing.T) {
	s := newShell(t)
	path, gone := lifeline(t)
	ctx, cancel := context.WithCancel(t.Context())
	jobCall(t, ctx, &bash{s}, "command", "trap '' TERM; exec 3>"+path+"; sleep 1000 & sleep 1000; echo never", "run_in_background", true)
	waitOpen(t, path).Close()
	cancel()
	if got := jobCall(t, t.Context(), &jobOutput{s}, "job_id", "job-1"); !strings.HasSuffix(got, "[status: running]") {
		t.Errorf("got %q", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	gone()
	if got := jobCall(t, t.Context(), &bash{s}, "command", "true", "run_in_background", true); got != "The session is closing; no job was started." {
		t.Errorf("got %q", got)
	}
}

// Case P5: finished jobs are not kept for ever, and there is an end to how many
// run.
func TestJobsAreBounded(t *testing.T) {
	s := newShell(t)
	for i := range maxFinished + 3 {
		jobCall(t, t.Context(), &bash{s}, "command", "true", "run_in_background", true)
		jobCall(t, t.Context(), &jobOutput{s}, "job_id", fmt.Sprintf("job-%d", i+1), "wait", true)
	}
	s.jobs.running.Wait()
	if n := len(s.jobs.byID); n != maxFinished {
		t.Errorf("%d jobs are kept", n)
	}
	for range maxRunning {
		jobCall(t, t.Context(), &bash{s}, "command", "exec sleep 1000", "run_in_background", true)
	}
	if got := jobCall(t, t.Context(), &bash{s}, "command", "true", "run_in_background", true); got != "There are 32 background jobs already. End one with job_kill first." {
		t.Errorf("got %q", got)
	}
}
