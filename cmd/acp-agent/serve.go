package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/acp/stdio"
)

// shutdownGrace bounds the orderly end: turns cancelled, SessionEnd hooks run,
// children gone, logs closed. It is above the longest budget that a SessionEnd
// hook can be given by its config (60 s); without such a hook the end takes
// milliseconds, and those hooks have 1.5 s together by default.
const shutdownGrace = 62 * time.Second

// serve speaks ACP on stdin and stdout until the client hangs up or ctx ends.
func (a *app) serve(ctx context.Context) error {
	rt, err := a.runtime()
	if err != nil {
		return err
	}
	defer rt.close()
	opts := stdio.Options{}
	trace, closeTrace, err := a.tracer(rt.cfg)
	if err != nil {
		return err
	}
	defer closeTrace() //nolint:errcheck // a trace that cannot be closed has nobody to tell
	if trace != nil {
		opts.Trace = func(dir string, line []byte) {
			fmt.Fprintf(trace, "%s %s\n", dir, line)
		}
	}
	if isTerminal(a.stdin) {
		fmt.Fprintln(a.stderr, "acp-agent: waiting for an ACP client on stdin, which is a terminal: editors start this command; see `acp-agent --help`, or end it with Ctrl-D")
	}
	ag := agent.New(rt.agentConfig())
	var mux acp.Mux
	ag.Register(&mux)
	stream := stdio.NewStream(a.stdin, protocolOut(a.stdout), opts)
	err = acp.Serve(ctx, stream, &mux, acp.ServeOptions{OnConn: ag.Attach, Logger: rt.log})
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		rt.log.Info("the connection broke", "error", err)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := ag.Shutdown(end); err != nil {
		return fmt.Errorf("closing sessions: %w", err)
	}
	return rt.finish()
}
