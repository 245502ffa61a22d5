package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"acp-agent/cmd/acp-agent/internal/config"
)

// commonFlags are taken by every subcommand. config.Load reads the variables, so
// that a flag, a variable and the config file are merged in one place; kong only
// names them.
type commonFlags struct {
	Model       string   `help:"Model: deepseek/NAME, openai/NAME, anthropic/NAME, a provider of the config file, or replay:PATH ($$ACP_AGENT_MODEL)." placeholder:"REF"`
	StateDir    string   `help:"Where session logs and trust are kept; default $$XDG_STATE_HOME/acp-agent ($$ACP_AGENT_STATE_DIR)." placeholder:"DIR"`
	Config      string   `help:"Config file; default $$XDG_CONFIG_HOME/acp-agent/config.toml ($$ACP_AGENT_CONFIG)." placeholder:"FILE"`
	LogLevel    string   `help:"What the debug log holds: debug, info, warn or error ($$ACP_AGENT_LOG_LEVEL)." placeholder:"LEVEL"`
	LogFile     string   `help:"Where the debug log goes; default stderr ($$ACP_AGENT_LOG_FILE)." placeholder:"FILE"`
	Trace       string   `help:"Write every protocol line to a file ($$ACP_AGENT_TRACE)." placeholder:"FILE"`
	ClaudeHooks []string `help:"Extra settings file, or plugin directory, with Claude Code hooks, trusted; repeatable ($$ACP_AGENT_CLAUDE_HOOKS)." placeholder:"FILE" sep:"none"`
	CodexHooks  []string `help:"Extra hooks.json, or plugin directory, of Codex, trusted; repeatable ($$ACP_AGENT_CODEX_HOOKS)." placeholder:"FILE" sep:"none"`
	NoHooks     bool     `help:"Run no hooks ($$ACP_AGENT_NO_HOOKS)."`
}

// commandLine is the whole command line.
type commandLine struct {
	commonFlags `embed:"" group:"Flags of every command:"`

	Serve    serveCmd    `cmd:"" default:"1" help:"Speak ACP on stdin and stdout: the default."`
	Demo     demoCmd     `cmd:"" help:"Show a turn that stop hooks continue: wire, log and model transcript. Needs no key and no network."`
	Exec     execCmd     `cmd:"" help:"Run one headless turn and print the answer."`
	Hooks    hooksCmd    `cmd:"" help:"Which hooks would run, and why not; try one; trust them."`
	Sessions sessionsCmd `cmd:"" help:"List, show, verify and export session logs."`
	Snapshot snapshotCmd `cmd:"" help:"Run, record and refresh scenarios."`
	Doctor   doctorCmd   `cmd:"" help:"Say what is missing and how to get it."`
	Login    loginCmd    `cmd:"" help:"Store a provider's key."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// serveCmd is acp-agent serve.
type serveCmd struct{}

// Run serves ACP until the client hangs up.
func (serveCmd) Run(ctx context.Context, a *app) error { return a.serve(ctx) }

// command is a parsed command line.
type command struct {
	flags config.Flags
	run   func(ctx context.Context, a *app) error
}

// parse reads the command line. It returns nil, nil when it asked for help,
// which is then on stdout.
func parse(args []string, stdout, stderr io.Writer) (*command, error) {
	if flags, ok := parseServe(args); ok {
		return &command{flags: flags, run: func(ctx context.Context, a *app) error { return a.serve(ctx) }}, nil
	}
	return parseTree(args, stdout, stderr)
}

// parseTree reads any command line.
func parseTree(args []string, stdout, stderr io.Writer) (*command, error) {
	for _, arg := range args {
		if !utf8.ValidString(arg) { // kong would put U+FFFD into it: another prompt, another file
			return nil, &usageError{fmt.Sprintf("the argument %q is not UTF-8: convert a prompt, and give a path by its variable (see --help)", arg)}
		}
	}
	var line commandLine
	exited := false
	parser, err := kong.New(&line,
		kong.Name("acp-agent"),
		kong.Description("A coding agent for editors and programs that speak the Agent Client Protocol (ACP). It runs the hooks you wrote for Claude Code and Codex."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoExpandSubcommands: true}),
	)
	if err != nil {
		return nil, err
	}
	kctx, err := parser.Parse(args)
	if exited {
		return nil, nil
	}
	if errors.Is(err, syscall.EPIPE) { // who read the help has seen enough
		return nil, err
	}
	if err != nil {
		return nil, &usageError{err.Error() + ": see `" + helpCommand(parser, args) + "`"}
	}
	c := &command{flags: line.flags()}
	c.run = func(ctx context.Context, a *app) error {
		kctx.BindTo(ctx, (*context.Context)(nil))
		return kctx.Run(a)
	}
	return c, nil
}

// parseServe reads the command lines that editors use: serve with common flags
// and nothing else. Building and walking the command tree costs 2 to 3 ms, which
// is a quarter of the time to the first answer. Whatever is not plain is left to
// kong, errors included.
func parseServe(args []string) (f config.Flags, ok bool) {
	one := map[string]*string{
		"--model": &f.Model, "--state-dir": &f.StateDir, "--config": &f.ConfigFile,
		"--log-level": &f.LogLevel, "--log-file": &f.LogFile, "--trace": &f.Trace,
	}
	many := map[string]*[]string{"--claude-hooks": &f.ClaudeHooks, "--codex-hooks": &f.CodexHooks}
	for i, seen := 0, false; i < len(args); i++ {
		switch name, value, inline := strings.Cut(args[i], "="); {
		case args[i] == "serve" && !seen:
			seen = true
		case args[i] == "--no-hooks":
			f.NoHooks = true
		case one[name] == nil && many[name] == nil:
			return f, false
		default:
			if !inline {
				i++
				// A value that looks like a flag is a mistake for kong to explain.
				if i == len(args) || strings.HasPrefix(args[i], "-") {
					return f, false
				}
				value = args[i]
			}
			if p := many[name]; p != nil {
				*p = append(*p, value)
			} else {
				*one[name] = value
			}
		}
	}
	return f, true
}

// helpCommand names the help that fits a wrong command line: that of the command
// that it names first.
func helpCommand(parser *kong.Kong, args []string) string {
	node := parser.Model.Node
	for _, arg := range args {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == arg })
		if i < 0 {
			break
		}
		node = node.Children[i]
	}
	return node.FullPath() + " --help"
}

func (l *commandLine) flags() config.Flags {
	f := config.Flags{
		Model: l.Model, StateDir: l.StateDir, ConfigFile: l.Config,
		LogLevel: l.LogLevel, LogFile: l.LogFile, Trace: l.Trace, Mode: l.Exec.Mode,
		NoHooks: l.NoHooks,
	}
	f.ClaudeHooks, f.CodexHooks = l.ClaudeHooks, l.CodexHooks
	return f
}

// selfPath is the running program, to be started again as a child.
func selfPath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(path, " (deleted)"), nil
}
