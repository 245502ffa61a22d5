package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// peer is a small ACP client over the pipes of a child process. It speaks the
// raw wire on purpose: what the demo shows is what went over it.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	wait   func() error // how the agent ended; may be asked again
	// frame sees every line: out says that the client sent it.
	frame func(out bool, line []byte)
	next  int
}

// peerExit is how long a child may take to end once its stdin is closed.
const peerExit = 10 * time.Second

// startPeer starts an agent. It ends with close, or is killed when ctx ends.
func startPeer(ctx context.Context, argv, env []string, dir string, frame func(out bool, line []byte)) (*peer, error) {
	p := &peer{frame: frame}
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = peerExit
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	p.in, p.out, p.wait = in, bufio.NewReader(out), sync.OnceValue(p.cmd.Wait)
	return p, nil
}

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *wireError      `json:"error,omitempty"`
}

type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (p *peer) send(m *message) error {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.frame(true, line)
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// call sends a request and reads until its answer. Requests of the agent are
// refused: the demo offers it nothing.
func (p *peer) call(method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	p.next++
	id := json.RawMessage(fmt.Sprint(p.next))
	if err := p.send(&message{ID: id, Method: method, Params: raw}); err != nil {
		return fmt.Errorf("%s: %w", method, p.explain(err))
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: waiting for the answer: %w", method, p.explain(err))
		}
		line = bytes.TrimRight(line, "\r\n")
		p.frame(false, line)
		var m message
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			return fmt.Errorf("%s: the agent wrote a line that is not JSON-RPC: %.200q", method, line)
		}
		switch {
		case m.Method != "" && m.ID != nil:
			if err := p.send(&message{ID: m.ID, Error: &wireError{-32601, "not offered"}}); err != nil {
				return fmt.Errorf("%s: %w", method, p.explain(err))
			}
		case m.Method != "" || !bytes.Equal(m.ID, id):
		case m.Error != nil:
			return fmt.Errorf("%s was answered with error %d: %s", method, m.Error.Code, m.Error.Message)
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

// explain adds what the agent said on stderr, which is where it says why it
// ended.
func (p *peer) explain(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the agent ended")
	}
	if werr := p.wait(); werr != nil && !errors.Is(err, werr) {
		err = fmt.Errorf("%w (%w)", err, werr)
	}
	if said := bytes.TrimSpace(p.stderr.Bytes()); len(said) > 0 {
		err = fmt.Errorf("%w: %.500s", err, said)
	}
	return err
}

// close hangs up and waits for the agent to end, which it must by itself.
func (p *peer) close() error {
	if err := p.in.Close(); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if len(line) > 0 {
			p.frame(false, bytes.TrimRight(line, "\r\n"))
		}
		if err != nil {
			break
		}
	}
	if err := p.wait(); err != nil {
		return fmt.Errorf("hanging up: %w", p.explain(err))
	}
	return nil
}
