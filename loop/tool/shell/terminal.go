package shell

import (
	"context"
	"fmt"

	"acp-agent/loop/tool"
)

// inTerminal runs the command in the client's terminal. ok is false when the
// client did not give one: the command has not run then, and can be run here.
// The terminal is released by Terminal.Run, always.
func (b *bash) inTerminal(ctx context.Context, env *tool.Env, shell string, c command) (r tool.Result, ok bool) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	id := ""
	// The terminal's environment is the client's own: only what keeps programs
	// from waiting for a key is added. Both streams come back as one.
	exited, err := env.Terminal.Run(limited, tool.TerminalCommand{
		Command: shell, Args: c.args, Env: quiet, Cwd: c.dir, OutputLimit: streamLimit,
	}, func(shown string) {
		id = shown
		env.Progress(tool.Progress{TerminalID: shown})
	})
	o := outcome{stdout: valid([]byte(exited.Output)), timeout: c.timeout, terminal: id}
	if exited.Truncated {
		o.stdout = "[the start of the output was left out]\n" + o.stdout
	}
	o.exit.signal = exited.Signal
	o.exit.code = -1
	if exited.ExitCode != nil {
		o.exit.code = *exited.ExitCode
	}
	switch {
	case ctx.Err() != nil:
		o.exit.cancelled = true
	case limited.Err() != nil && err != nil && id == "":
		// It may still make the terminal, which is released then at once. The
		// command is not run here too: it must never run twice.
		b.mute.Store(true)
		return tool.Fail(fmt.Sprintf("The client did not give the command a terminal within %v, so it did not run to its end, if at all. Further commands run without the client.", c.timeout)), true
	case limited.Err() != nil && (err != nil || exited.ExitCode == nil):
		o.exit.timedOut = true
	case err != nil && id == "":
		return r, false
	case err != nil:
		r = tool.Fail(line(o.stdout) + "The client's terminal failed: " + err.Error())
		r.Meta.TerminalID = id
		return r, true
	}
	return o.result(), true
}
