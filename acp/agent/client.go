package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"acp-agent/acp"
	"acp-agent/loop/tool"
)

// client is what a session's client offers beside its user: files and
// terminals. Each is used only where it was advertised.
type client struct {
	agent *Agent
	id    string
}

type clientReader struct{ *client }

// ReadFile implements tool.Files.
func (c clientReader) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var res acp.ReadTextFileResponse
	err := c.agent.conn.Call(ctx, acp.MethodFSReadTextFile, &acp.ReadTextFileRequest{SessionID: c.id, Path: path}, &res)
	if err != nil {
		return nil, fmt.Errorf("reading %s through the client: %w", path, err)
	}
	return []byte(res.Content), nil
}

// WriteFile implements tool.Files; the client offers reading only.
func (clientReader) WriteFile(context.Context, string, []byte) error {
	return errors.New("the client does not write files")
}

type clientWriter struct{ *client }

// ReadFile implements tool.Files; the client offers writing only.
func (clientWriter) ReadFile(context.Context, string) ([]byte, error) {
	return nil, errors.New("the client does not read files")
}

// WriteFile implements tool.Files.
func (c clientWriter) WriteFile(ctx context.Context, path string, data []byte) error {
	req := &acp.WriteTextFileRequest{SessionID: c.id, Path: path, Content: string(data)}
	err := c.agent.conn.Call(ctx, acp.MethodFSWriteTextFile, req, nil)
	switch {
	case err == nil:
		return nil
	case unable(err):
		return fmt.Errorf("writing %s through the client: %w: %w", path, tool.ErrUnable, err)
	}
	return fmt.Errorf("writing %s through the client: %w", path, err)
}

// unable tells a client that cannot write the file from one that refuses: it does
// not serve the method, or it knows no file that is not there yet. (Editors say so
// in words, "invalid path": QwenLM/qwen-code#2294.)
func unable(err error) bool {
	e, answered := errors.AsType[*acp.Error](err)
	if !answered {
		return false
	}
	if e.Code == acp.CodeMethodNotFound || e.Code == acp.CodeResourceNotFound {
		return true
	}
	data, _ := json.Marshal(e.Data) // what does not encode says nothing
	return strings.Contains(strings.ToLower(e.Message+string(data)), "invalid path")
}

type clientTerminal struct{ *client }

// releaseWait bounds the calls that clean up a terminal after a cancel.
const releaseWait = 2 * time.Second

// Run implements tool.Terminal: create, show, wait, read, and release whatever
// happens in between.
func (c clientTerminal) Run(ctx context.Context, cmd tool.TerminalCommand, shown func(id string)) (exit tool.TerminalExit, err error) {
	limit := uint64(cmd.OutputLimit)
	req := &acp.CreateTerminalRequest{SessionID: c.id, Command: cmd.Command, Args: cmd.Args, Cwd: cmd.Cwd, OutputByteLimit: &limit}
	for _, kv := range cmd.Env {
		name, value, _ := strings.Cut(kv, "=")
		req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: value})
	}
	var created acp.CreateTerminalResponse
	release := func() {
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
		defer cancel()
		if rerr := c.agent.conn.Call(rctx, acp.MethodTerminalRelease, &acp.ReleaseTerminalRequest{SessionID: c.id, TerminalID: created.TerminalID}, nil); rerr != nil {
			c.agent.cfg.Log.Warn("a terminal was not released", "session", c.id, "terminal", created.TerminalID, "error", rerr)
		}
	}
	// A client that is slow may make the terminal after the command has been
	// given up, by a cancel or its time limit.
	if err := c.agent.conn.CallLate(ctx, acp.MethodTerminalCreate, req, &created, release); err != nil {
		return exit, fmt.Errorf("creating a terminal: %w", err)
	}
	id := created.TerminalID
	defer release()
	shown(id)
	var done acp.WaitForTerminalExitResponse
	werr := c.agent.conn.Call(ctx, acp.MethodTerminalWaitForExit, &acp.WaitForTerminalExitRequest{SessionID: c.id, TerminalID: id}, &done)
	octx := ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		octx, cancel = context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
		defer cancel()
		if kerr := c.agent.conn.Call(octx, acp.MethodTerminalKill, &acp.KillTerminalRequest{SessionID: c.id, TerminalID: id}, nil); kerr != nil {
			c.agent.cfg.Log.Warn("a terminal was not killed", "session", c.id, "terminal", id, "error", kerr)
		}
	}
	var out acp.TerminalOutputResponse
	if oerr := c.agent.conn.Call(octx, acp.MethodTerminalOutput, &acp.TerminalOutputRequest{SessionID: c.id, TerminalID: id}, &out); oerr != nil && werr == nil {
		return exit, fmt.Errorf("reading the terminal's output: %w", oerr)
	}
	exit.Output, exit.Truncated = out.Output, out.Truncated
	if done.ExitCode != nil {
		n := int(*done.ExitCode)
		exit.ExitCode = &n
	}
	exit.Signal = done.Signal
	if werr != nil {
		return exit, fmt.Errorf("waiting for the command in the terminal: %w", werr)
	}
	return exit, nil
}
