package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/snapshots"
)

// snapshotCmd is acp-agent snapshot.
type snapshotCmd struct {
	RunCmd  snapshotRunCmd     `cmd:"" name:"run" help:"Run scenarios and compare wire, log, model requests and files."`
	Record  snapshotRecordCmd  `cmd:"" help:"Run scenarios with a live model (--model) and keep what it answered."`
	Refresh snapshotRefreshCmd `cmd:"" help:"Run scenarios and rewrite what they expect."`
}

// snapshotFlags are shared by the three.
type snapshotFlags struct {
	Scenarios []string `arg:"" name:"scenario" help:"Scenario folders, or folders of them."`
	Filter    string   `help:"Only scenarios whose name matches the regular expression." placeholder:"REGEXP"`
	Artifacts string   `help:"Folder for what was got where it differs." placeholder:"DIR"`
}

type snapshotRunCmd struct {
	snapshotFlags
	Agent *string `help:"Command line of another ACP agent to run them against; {{cwd}}, {{home}}, {{state}} and {{scenario}} are filled in." placeholder:"CMD"`
}

type snapshotRecordCmd struct{ snapshotFlags }

type snapshotRefreshCmd struct{ snapshotFlags }

// Run runs scenarios.
func (c *snapshotRunCmd) Run(ctx context.Context, a *app) error {
	o, err := c.options(a)
	if err != nil {
		return err
	}
	if c.Agent != nil { // an empty one is an unset variable, and not this agent
		if o.Agent, err = splitCommand(*c.Agent); err != nil {
			return &usageError{"--agent: " + err.Error()}
		}
		o.Foreign = true
	}
	return a.snapshots(ctx, snapshots.Run, o)
}

// Run records scenarios with a live model.
func (c *snapshotRecordCmd) Run(ctx context.Context, a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	o, err := c.options(a)
	if err != nil {
		return err
	}
	ref, err := cfg.ResolveModel()
	if err != nil {
		return err
	}
	if ref.Provider == config.Replay {
		return &usageError{"recording needs a live model: give one with --model"}
	}
	if o.Env, err = recordEnv(cfg, ref); err != nil {
		return err
	}
	o.Model = ref.String()
	return a.snapshots(ctx, snapshots.Record, o)
}

// recordEnv is what the agent needs to reach the model; its environment is
// otherwise empty.
func recordEnv(cfg *config.Config, ref config.ModelRef) ([]string, error) {
	p, err := cfg.Provider(ref.Provider)
	if err != nil {
		return nil, err
	}
	key, err := cfg.Key(ref.Provider)
	if err != nil {
		return nil, err
	}
	var env []string
	if p.KeyEnv != "" {
		env = append(env, p.KeyEnv+"="+key)
	}
	if _, err := os.Stat(cfg.File); err == nil {
		env = append(env, "ACP_AGENT_CONFIG="+cfg.File)
	}
	for _, name := range []string{strings.ToUpper(ref.Provider) + "_BASE_URL", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := cfg.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env, nil
}

// Run refreshes scenarios.
func (c *snapshotRefreshCmd) Run(ctx context.Context, a *app) error {
	o, err := c.options(a)
	if err != nil {
		return err
	}
	o.Update = true
	return a.snapshots(ctx, snapshots.Run, o)
}

func (f *snapshotFlags) options(a *app) (snapshots.Options, error) {
	self, err := selfPath()
	if err != nil {
		return snapshots.Options{}, err
	}
	return snapshots.Options{Dirs: f.Scenarios, Filter: f.Filter, Artifacts: f.Artifacts, Agent: []string{self}, Out: a.stdout}, nil
}

func (a *app) snapshots(ctx context.Context, run func(context.Context, snapshots.Options) (snapshots.Report, error), o snapshots.Options) error {
	rep, err := run(ctx, o)
	if ctx.Err() != nil {
		return &config.Error{What: "snapshot: interrupted before all scenarios had run", Do: "run it again", Err: err}
	}
	if err != nil {
		return &config.Error{What: "snapshot: " + err.Error(), Do: "see `acp-agent snapshot --help`", Err: err}
	}
	if _, err := fmt.Fprintf(a.stdout, "%d scenario(s), %d failed\n", len(rep.Results), rep.Failed()); err != nil {
		return err
	}
	if !rep.OK() {
		return errSilent
	}
	return nil
}

// splitCommand splits a command line at blanks; quotes of either kind keep
// blanks together and no other character means anything, so that Windows paths
// stay whole.
func splitCommand(s string) ([]string, error) {
	var args []string
	var word strings.Builder
	in, open := false, rune(0)
	for _, r := range s {
		switch {
		case open != 0 && r == open:
			open = 0
		case open != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			open, in = r, true
		case unicode.IsSpace(r):
			if in {
				args = append(args, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if in {
		args = append(args, word.String())
	}
	switch {
	case open != 0:
		return nil, fmt.Errorf("the quote %c is not closed", open)
	case len(args) == 0:
		return nil, errors.New("the command is empty")
	}
	return args, nil
}
