package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"acp-agent/cmd/acp-agent/internal/config"
)

// execCmd is acp-agent exec.
type execCmd struct {
	Dir    string `short:"C" help:"Working directory; default the current one." placeholder:"DIR"`
	JSON   bool   `name:"json" help:"Print the session's events, one JSON object a line, instead of the answer."`
	Resume string `help:"Go on with a stored session: its id (acp-agent sessions list), or last for the newest of the working directory." placeholder:"ID"`
	Mode   string `help:"Permission mode: default (what would be asked is refused: nobody is there), acceptEdits, plan or bypassPermissions ($$ACP_AGENT_MODE)." placeholder:"MODE"`
	Prompt string `arg:"" help:"What to do; - reads it from stdin."`
}

// Run does one headless turn.
func (c *execCmd) Run(ctx context.Context, a *app) error {
	prompt := c.Prompt
	if prompt == "-" {
		data, err := io.ReadAll(a.stdin)
		if err != nil {
			return &config.Error{What: "reading the prompt from stdin: " + reason(err), Do: "give it as an argument"}
		}
		prompt = string(data)
	}
	if strings.TrimSpace(prompt) == "" {
		return &usageError{"the prompt is empty: say what to do"}
	}
	if !utf8.ValidString(prompt) { // JSON cannot hold it, and it is not to be changed
		return &usageError{"the prompt is not UTF-8: convert it first, as by `iconv -f latin1 -t utf-8`"}
	}
	if c.Resume != "" {
		return a.resume(ctx, c.Resume, c.Dir, execRequest{Prompt: prompt, Mode: c.Mode, JSON: c.JSON})
	}
	dir, err := directory(c.Dir)
	if err != nil {
		return err
	}
	return a.exec(ctx, execRequest{Dir: dir, Prompt: prompt, Mode: c.Mode, JSON: c.JSON})
}

// directory makes a -C argument absolute and checks that it is one.
func directory(dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &config.Error{What: "finding the working directory: " + err.Error(), Do: "give an absolute path with -C"}
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", &config.Error{What: "working directory " + abs + ": " + reason(err), Do: "name an existing directory with -C"}
	}
	if !info.IsDir() {
		return "", &config.Error{What: "working directory " + abs + ": not a directory", Do: "name a directory with -C"}
	}
	return abs, nil
}
