package main

import (
	"context"
	"io"
	"os"
	"strings"

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
	ClaudeHooks []string `help:"Extra settings file with Claude Code hooks, trusted; repeatable ($$ACP_AGENT_CLAUDE_HOOKS)." placeholder:"FILE" sep:"none"`
	CodexHooks  []string `help:"Extra hooks.json of Codex, trusted; repeatable ($$ACP_AGENT_CODEX_HOOKS)." placeholder:"FILE" sep:"none"`
	NoHooks     bool     `help:"Run no hooks ($$ACP_AGENT_NO_HOOKS)."`
}

// commandLine is the whole command line.
type commandLine struct {
	commonFlags

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
	// Editors start the agent without arguments, hundreds of times a day; the
	// command tree need not be built for that.
	if len(args) == 0 || len(args) == 1 && args[0] == "serve" {
		return &command{run: func(ctx context.Context, a *app) error { return a.serve(ctx) }}, nil
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
	if err != nil {
		return nil, &usageError{err.Error() + ": see `" + helpCommand(args) + "`"}
	}
	c := &command{flags: line.flags()}
	c.run = func(ctx context.Context, a *app) error {
		kctx.BindTo(ctx, (*context.Context)(nil))
		return kctx.Run(a)
	}
	return c, nil
}

// helpCommand names the help that fits a wrong command line.
func helpCommand(args []string) string {
	for _, cmd := range []string{"demo", "exec", "hooks", "sessions", "snapshot", "doctor", "login", "version"} {
		if len(args) > 0 && args[0] == cmd {
			return "acp-agent " + cmd + " --help"
		}
	}
	return "acp-agent --help"
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
