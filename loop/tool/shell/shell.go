// Package shell is the tool that runs commands: bash, with job_output and
// job_kill for commands in the background.
//
// Each call is a fresh non-login shell with nothing on stdin, a process group of
// its own and pipes of its own; the protocol's descriptors are never inherited.
// When a command ends, is cancelled or runs out of time, its whole group goes
// (procgroup says what else): what is to keep running is a background job, which
// ends with its session. Nothing here is a sandbox: a command can do what its
// user can, and a daemon leaves the group.
package shell

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"acp-agent/loop/tool"
)

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 600 * time.Second
)

// Options are the settings of a Shell; the zero value has the defaults.
type Options struct {
	// Timeout is for a call that names none, MaxTimeout for one that asks for
	// more: 120 and 600 seconds.
	Timeout, MaxTimeout time.Duration
	// TempDir is where the directory for full outputs is made; empty is the
	// system's.
	TempDir string
}

// Shell holds what the shell tools of one session share: settings, background
// jobs, the directory of full outputs.
type Shell struct {
	opts   Options
	spills spills
	jobs   jobs
	// mute is set once the client has not answered a request for a terminal.
	mute atomic.Bool
}

// New returns the shell of a session. Its owner calls Close.
func New(opts Options) *Shell {
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.MaxTimeout <= 0 {
		opts.MaxTimeout = maxTimeout
	}
	s := &Shell{opts: opts}
	s.spills.parent = opts.TempDir
	s.jobs.byID = map[string]*job{}
	return s
}

// Tools returns bash, job_kill and job_output.
func (s *Shell) Tools() []tool.Tool {
	return []tool.Tool{&bash{s}, &jobKill{s}, &jobOutput{s}}
}

// Close kills the background jobs, waits for their end and removes the full
// outputs. It may be called more than once.
func (s *Shell) Close() error {
	s.jobs.close()
	return s.spills.close()
}

type bashArgs struct {
	Command     string `json:"command" jsonschema_description:"The command line, for bash -c."`
	Description string `json:"description,omitempty" jsonschema_description:"What the command does, in 5 to 10 words, for the person who reads along."`
	TimeoutMs   int64  `json:"timeoutMs,omitempty" jsonschema_description:"Time limit in milliseconds. Default 120000, at most 600000."`
	Workdir     string `json:"workdir,omitempty" jsonschema_description:"Directory to run in, absolute or relative to the working directory, which is the default."`
	Background  bool   `json:"run_in_background,omitempty" jsonschema_description:"Start the command and return a job id at once, without a time limit. Read its output with job_output and end it with job_kill."`
}

// bashResponse is hooks.BashResponse; a tool does not import hooks.
type bashResponse struct {
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	ExitCode    int    `json:"exitCode"`
	Interrupted bool   `json:"interrupted"`
	TimedOutMs  int64  `json:"timedOutMs,omitempty"`
	JobID       string `json:"jobId,omitempty"`
}

//go:embed schemas/bash.json
var bashSchemaFile string

var bashSchema = tool.Schema(bashSchemaFile)

const bashDescription = "Runs a command with bash and returns its output. Every call is a fresh shell in the working directory: " +
	"variables and cd do not carry over, so give workdir instead of using cd. There is nothing on stdin and no terminal. " +
	"A non-zero exit is reported as [exit code: N]. Of long output the middle is left out and a file is named that holds all of it. " +
	"What a command leaves running ends with it; use run_in_background for servers and watchers. " +
	"Use read, edit, write, glob and grep for files rather than cat, sed, find and grep."

type bash struct{ *Shell }

func (*bash) Spec() tool.Spec {
	return tool.Spec{Name: "bash", Description: bashDescription, Schema: bashSchema(), Kind: tool.KindExecute}
}

func (*bash) View(_ *tool.Env, input json.RawMessage) tool.View {
	a := tool.Peek[bashArgs](input)
	title := tool.Title(a.Command)
	if title == "" {
		title = "bash"
	}
	return tool.View{Title: title}
}

func (*bash) Check(input json.RawMessage) error {
	_, err := decodeBash(input)
	return err
}

func decodeBash(input json.RawMessage) (bashArgs, error) {
	a, err := tool.Decode[bashArgs](input)
	switch {
	case err != nil:
	case strings.TrimSpace(a.Command) == "":
		err = &tool.ArgumentError{Faults: []string{`"command" is empty`}}
	case strings.ContainsRune(a.Command, 0):
		err = &tool.ArgumentError{Faults: []string{`"command" holds a NUL character`}}
	case a.TimeoutMs < 0:
		err = &tool.ArgumentError{Faults: []string{`"timeoutMs" must not be negative`}}
	}
	return a, err
}

func (b *bash) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := decodeBash(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	dir, fault := workdir(env.Cwd, a.Workdir)
	if fault != "" {
		return tool.Fail(fault), nil
	}
	timeout := b.opts.Timeout
	if a.TimeoutMs > 0 {
		timeout = min(time.Duration(min(a.TimeoutMs, maxTimeout.Milliseconds()))*time.Millisecond, b.opts.MaxTimeout)
	}
	path, name, err := find()
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	c := command{path: path, args: []string{"-c", a.Command}, env: environ(env.Environ), dir: dir}
	if a.Background {
		return b.background(env, c, Job{Command: a.Command, Description: a.Description}), nil
	}
	c.timeout = timeout
	if env.Terminal != nil && !b.mute.Load() {
		if r, ok := b.inTerminal(ctx, env, name, c); ok {
			return r, nil
		}
		if ctx.Err() != nil {
			return outcome{exit: exit{cancelled: true, code: -1}}.result(), nil
		}
	}
	return b.foreground(ctx, env, c), nil
}

func (b *bash) foreground(ctx context.Context, env *tool.Env, c command) tool.Result {
	show := func(text string) { env.Progress(tool.Progress{Output: text}) }
	stdout := &capture{show: show, spill: func() (*os.File, error) { return b.spills.file("stdout") }}
	stderr := &capture{show: show, spill: func() (*os.File, error) { return b.spills.file("stderr") }}
	c.stdout, c.stderr = stdout, stderr
	e, err := run(ctx, c)
	stdout.close()
	stderr.close()
	if err != nil {
		return tool.Fail("The command could not be started: " + tool.Cause(err))
	}
	return outcome{stdout: stdout.text(), stderr: stderr.text(), exit: e, timeout: c.timeout}.result()
}

// outcome is a finished command.
type outcome struct {
	stdout, stderr string
	exit           exit
	timeout        time.Duration
	terminal       string
}

// result is the text for the model: stdout, a [stderr] section, and markers on
// lines of their own. Exit code, signal and time limit are told apart.
func (o outcome) result() tool.Result {
	text := o.stdout
	if o.stderr != "" {
		text = line(text) + "[stderr]\n" + o.stderr
	}
	if text == "" {
		text = "(no output)"
	}
	mark := func(s string) { text = line(text) + "[" + s + "]" }
	e := o.exit
	resp := bashResponse{Stdout: o.stdout, Stderr: o.stderr, ExitCode: e.code, Interrupted: e.cancelled}
	if e.timedOut {
		resp.TimedOutMs = o.timeout.Milliseconds()
		mark("timed out after " + strconv.FormatInt(resp.TimedOutMs, 10) + "ms")
	}
	if e.cancelled {
		mark("cancelled")
	}
	switch {
	case e.signal != "":
		mark("killed by signal: " + e.signal)
	case e.code > 0:
		mark("exit code: " + strconv.Itoa(e.code))
	}
	if e.left {
		mark("processes it left running were ended; use run_in_background to keep one")
	}
	r := tool.Text(text)
	r.IsError = e.cancelled
	r.Meta.ExitCode = &e.code
	r.Meta.TerminalID = o.terminal
	r.Meta.Response, _ = json.Marshal(resp) // strings, numbers and booleans always encode
	return r
}

// environ is a command's environment: the one it is given, with what keeps
// programs from colouring, paging and asking. Never nil, which exec takes for
// this process's own, keys included.
func environ(base []string) []string {
	return append(append(make([]string, 0, len(base)+len(quiet)), base...), quiet...)
}

var quiet = []string{"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}

// find returns the shell's path and name.
func find() (path, name string, err error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path, name, nil
			}
		}
	}
	return "", "", errors.New("There is no bash and no sh on the PATH of the agent, so commands cannot be run.") //nolint:staticcheck // a sentence for the model
}

// workdir resolves where to run. fault is what the model is told.
func workdir(cwd, dir string) (path, fault string) {
	if dir == "" {
		return cwd, ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(cwd, dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", "The workdir " + dir + " cannot be used: " + tool.Cause(err)
	}
	if !info.IsDir() {
		return "", "The workdir " + dir + " is not a directory."
	}
	return dir, ""
}
