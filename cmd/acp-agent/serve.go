package main

import (
	"context"
	"errors"
)

// serve speaks ACP on stdin and stdout until the client hangs up or ctx ends.
func (a *app) serve(ctx context.Context) error {
	if _, err := a.config(); err != nil {
		return err
	}
	return errors.New("serve: not wired yet")
}

// execRequest is one headless turn.
type execRequest struct {
	// Dir is the working directory, absolute.
	Dir    string
	Prompt string
	// JSON prints the log's events, one a line, instead of the answer.
	JSON bool
}

// exec runs one headless turn; the answer goes to stdout.
func (a *app) exec(ctx context.Context, r execRequest) error {
	if _, err := a.config(); err != nil {
		return err
	}
	return errors.New("exec: not wired yet")
}
