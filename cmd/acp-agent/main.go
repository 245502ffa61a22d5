// Command acp-agent is a coding agent that editors and programs start and talk
// to over the Agent Client Protocol on stdin and stdout.
//
// main owns the process: the real stdout, signals, the exit code. A subcommand
// is flags → config → wiring → run; it holds no behaviour that a package could
// hold.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the whole process but for the exit, so that the tests' binary can be
// the command as well.
func run(args []string) int {
	stdout, err := takeStdout()
	if err != nil {
		return report(os.Stderr, fmt.Errorf("taking stdout: %w", err))
	}
	surviveBrokenPipes()
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	defer stop()
	context.AfterFunc(ctx, func() { time.AfterFunc(untilSecond, stop) })

	cmd, err := parse(args, stdout, os.Stderr)
	if err != nil {
		return report(os.Stderr, err)
	}
	if cmd == nil { // help has been printed
		return 0
	}
	a := &app{flags: cmd.flags, env: config.OSEnv(), stdin: os.Stdin, stdout: stdout, stderr: os.Stderr}
	return report(os.Stderr, cmd.run(ctx, a))
}

// untilSecond is how long after the first signal another one ends the process at
// once, as it would any program: what waits where no context reaches, such as a write
// that nobody reads or a file on a dead network, is not waited for. Not sooner: some
// starters (npx, systemd) send two at once, and an end in order takes up to
// acp.DefaultGrace.
const untilSecond = 2 * time.Second

// endSignals are those that end the process in order. A hangup, the end of the
// terminal or of the ssh session, is one of them unless nohup said otherwise.
func endSignals() []os.Signal {
	s := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		s = append(s, syscall.SIGHUP)
	}
	return s
}

// exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that cannot be run.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// errSilent ends the process with code 1 when everything has been said.
var errSilent = errors.New("failed")

// report prints an error as one line and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errSilent) {
		return exitFailed
	}
	fmt.Fprintln(w, "acp-agent: "+oneLine(err.Error()))
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if e, ok := errors.AsType[*config.Error](err); ok && e.Usage {
		return exitUsage
	}
	return exitFailed
}

// oneLine is text of anybody's as one line that does nothing to a terminal.
func oneLine(s string) string {
	return hooks.Visible(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// inLine is a name of anybody's in full, for a line that holds other things as well.
func inLine(s string) string {
	return hooks.Visible(strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s))
}
