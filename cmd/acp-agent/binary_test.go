package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
)

// scrubbed is the environment in which a registry starts an agent: no keys, a
// home of its own, no terminal to speak of.
func scrubbed(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=dumb"}
}

// child is the program, with its pipes.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// startChild starts the shipped entry path (see TestMain).
func startChild(t *testing.T, env []string, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	t.Cleanup(cancel)
	c := &child{cmd: exec.CommandContext(ctx, "acp-agent", args...)}
	c.cmd.Env = env
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, out
	return c
}

func (c *child) start(t *testing.T) {
	t.Helper()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func scenarioArgs(t *testing.T, name string) []string {
	t.Helper()
	return []string{
		"--model", "replay:" + filepath.Join("..", "..", "snapshots", "testdata", "scenarios", name, "session.jsonl"),
		"--state-dir", filepath.Join(t.TempDir(), "state"),
	}
}

// TestBinaryStdout is the registry's check and more: the first line on stdout is
// the answer to initialize, with a method of type agent; nobody reads stderr;
// every frame of a turn fits the schema; end of input ends the process with 0.
func TestBinaryStdout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close() // nobody will ever read what is logged
	defer w.Close()
	c := startChild(t, scrubbed(t.TempDir()), append(scenarioArgs(t, "tool-bash"), "--log-level", "debug")...)
	c.cmd.Stderr = w
	c.start(t)
	client := acptest.NewClient(t, c.out, c.in)
	var res acp.InitializeResponse
	call(t, client, acp.MethodInitialize, map[string]any{
		"protocolVersion": 1,
		"clientCapabilities": map[string]any{
			"terminal": true, "fs": map[string]any{"readTextFile": true, "writeTextFile": true},
			"_meta": map[string]any{"terminal_output": true, "terminal-auth": true},
		},
	}, &res)
	if first := client.Frames()[0]; first.Answers != acp.MethodInitialize || first.Msg.Error != nil {
		t.Errorf("the first line is %s", first.Raw)
	}
	if !slices.ContainsFunc(res.AuthMethods, func(m acp.AuthMethod) bool { return m.Agent != nil }) {
		t.Errorf("no method of type agent: %+v", res.AuthMethods)
	}
	if slices.ContainsFunc(res.AuthMethods, func(m acp.AuthMethod) bool { return m.Terminal != nil }) {
		t.Error("a terminal method without auth.terminal")
	}
	client.HandlePermission(acp.PermissionOptionKindAllowOnce)
	dir := t.TempDir()
	var created acp.NewSessionResponse
	call(t, client, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: dir}, &created)
	var answer acp.PromptResponse
	call(t, client, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: created.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock("Run it.")}}, &answer)
	if answer.StopReason != acp.StopReasonEndTurn {
		t.Errorf("stop reason %s", answer.StopReason)
	}
	client.Finish()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("end of input: %v", err)
	}
}

func call(t *testing.T, c *acptest.Client, method string, params, result any) {
	t.Helper()
	if err := c.Call(t.Context(), method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// TestBinaryWithoutKey: B5. No key is said at session/new with what to set; one
// that appears counts without a restart.
func TestBinaryWithoutKey(t *testing.T) {
	home := t.TempDir()
	c := startChild(t, scrubbed(home))
	c.start(t)
	client := acptest.NewClient(t, c.out, c.in)
	call(t, client, acp.MethodInitialize, map[string]any{"protocolVersion": 1}, nil)
	needsKey := func(method string, params any) {
		t.Helper()
		var e *acp.Error
		if err := client.Call(t.Context(), method, params, nil); !errors.As(err, &e) || e.Code != -32000 || !strings.Contains(e.Message, "DEEPSEEK_API_KEY") {
			t.Errorf("%s without a key: %v", method, err)
		}
	}
	needsKey(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: home})
	needsKey(acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "api-key"})
	login := exec.CommandContext(t.Context(), "acp-agent", "login", "--provider", "deepseek")
	login.Env, login.Stdin = scrubbed(home), strings.NewReader("sk-test-0123456789\n")
	if out, err := login.CombinedOutput(); err != nil {
		t.Fatalf("login: %v\n%s", err, out)
	}
	call(t, client, acp.MethodAuthenticate, &acp.AuthenticateRequest{MethodID: "api-key"}, nil)
	call(t, client, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: home}, nil)
	client.Finish()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("end of input: %v", err)
	}
}

// TestBinaryNewSessionWaitsForNothing: C15, C16. session/new is answered while
// the provider never answers and an MCP server hangs, and nothing is asked of
// the client about a session that it does not know yet.
func TestBinaryNewSessionWaitsForNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts by its backlog, says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	home, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("Be brief."), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, append(scrubbed(home), "DEEPSEEK_API_KEY=sk-test-0123456789", "DEEPSEEK_BASE_URL=http://"+silent.Addr().String()))
	c.start(t)
	client := acptest.NewClient(t, c.out, c.in)
	caps := map[string]any{"terminal": true, "fs": map[string]any{"readTextFile": true, "writeTextFile": true}}
	call(t, client, acp.MethodInitialize, map[string]any{"protocolVersion": 1, "clientCapabilities": caps}, nil)
	p := client.Go(acp.MethodSessionNew, map[string]any{"cwd": dir, "mcpServers": []any{
		map[string]any{"name": "hangs", "command": "/bin/sh", "args": []any{"-c", "sleep 1000"}, "env": []any{}},
	}})
	if err := p.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range client.Frames()[:p.Frame().N] {
		if f.Msg.Method != "" {
			t.Errorf("before the reply: %s", f.Raw)
		}
	}
	client.Finish()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("end of input: %v", err)
	}
}

// wire records both directions of a connection, to check the agent's frames
// after a client of another author has used it.
type wire struct {
	mu      sync.Mutex
	methods map[string]string // of the client's requests, by id
	lines   []string          // the agent's
}

// tee hands lines on and keeps them.
type tee struct {
	io.Reader
	rest []byte
	line func([]byte)
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.rest = append(t.rest, p[:n]...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			return n, err
		}
		t.line(t.rest[:i])
		t.rest = t.rest[i+1:]
	}
}

func (w *wire) sent(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) == nil && m.Method != "" && m.ID != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.methods[string(m.ID)] = m.Method
	}
}

func (w *wire) got(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(line))
}

// check validates each frame of the agent's.
func (w *wire) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == 0 {
		t.Error("the agent said nothing")
	}
	for _, line := range w.lines {
		m, merr := acp.ParseMessage([]byte(line))
		var err error
		switch {
		case merr != nil:
			err = merr
		case m.Method != "":
			err = acptest.CheckParams(m.Method, m.Params)
		case m.Error == nil:
			err = acptest.CheckResult(w.methods[string(m.ID)], m.Result)
		}
		if err != nil {
			t.Errorf("%.200s: %v", line, err)
		}
	}
}

// sdkClient is a client on another author's reading of the protocol. Methods
// that it does not have, it does not advertise.
type sdkClient struct {
	sdk.Client
	kind sdk.PermissionOptionKind

	mu    sync.Mutex
	text  strings.Builder
	heard chan struct{} // gets one for each update; room for one
	asked int
}

func (c *sdkClient) RequestPermission(_ context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	for _, o := range p.Options {
		if o.Kind == c.kind {
			return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Selected: &sdk.RequestPermissionOutcomeSelected{OptionId: o.OptionId, Outcome: "selected"}}}, nil
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.RequestPermissionOutcome{Cancelled: &sdk.RequestPermissionOutcomeCancelled{Outcome: "cancelled"}}}, nil
}

func (c *sdkClient) SessionUpdate(_ context.Context, p sdk.SessionNotification) error {
	c.mu.Lock()
	if u := p.Update.AgentMessageChunk; u != nil && u.Content.Text != nil {
		c.text.WriteString(u.Content.Text.Text)
	}
	c.mu.Unlock()
	select {
	case c.heard <- struct{}{}:
	default:
	}
	return nil
}

func (c *sdkClient) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// sdkSession is a session of the program as the SDK's client sees it.
func sdkSession(t *testing.T, client *sdkClient, scenario string) (*sdk.ClientSideConnection, sdk.SessionId, string, func()) {
	t.Helper()
	client.heard = make(chan struct{}, 1)
	c := startChild(t, scrubbed(t.TempDir()), scenarioArgs(t, scenario)...)
	c.start(t)
	w := &wire{methods: map[string]string{}}
	inR, inW := io.Pipe()
	go func() { // ends with the closing of inW
		_, _ = io.Copy(c.in, &tee{Reader: inR, line: w.sent})
		_ = c.in.Close()
	}()
	conn := sdk.NewClientSideConnection(client, inW, &tee{Reader: c.out, line: w.got})
	dir := t.TempDir()
	init, err := conn.Initialize(t.Context(), sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	if err != nil || init.ProtocolVersion != 1 || !init.AgentCapabilities.LoadSession {
		t.Fatalf("initialize: %v, %+v", err, init)
	}
	created, err := conn.NewSession(t.Context(), sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	if err != nil || created.SessionId == "" || created.Modes == nil {
		t.Fatalf("session/new: %v, %+v", err, created)
	}
	return conn, created.SessionId, dir, func() {
		t.Helper()
		_ = inW.Close()
		<-conn.Done()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("the program ended with: %v", err)
		}
		w.check(t)
	}
}

func sdkPrompt(id sdk.SessionId, text string) sdk.PromptRequest {
	return sdk.PromptRequest{SessionId: id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}}
}

// TestSDKClientAllows runs a turn that asks, with the always answer.
func TestSDKClientAllows(t *testing.T) {
	client := &sdkClient{kind: sdk.PermissionOptionKindAllowAlways}
	conn, id, dir, end := sdkSession(t, client, "permission-always")
	res, err := conn.Prompt(t.Context(), sdkPrompt(id, "Write two files."))
	if err != nil || res.StopReason != sdk.StopReasonEndTurn {
		t.Fatalf("prompt: %v, %+v", err, res)
	}
	for name, want := range map[string]string{"a.txt": "a\n", "b.txt": "b\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if client.asked != 1 {
		t.Errorf("asked %d times", client.asked)
	}
	end()
}

// TestSDKClientRejects: a no leaves the files alone.
func TestSDKClientRejects(t *testing.T) {
	client := &sdkClient{kind: sdk.PermissionOptionKindRejectOnce}
	conn, id, dir, end := sdkSession(t, client, "permission-rejected")
	res, err := conn.Prompt(t.Context(), sdkPrompt(id, "go"))
	if err != nil || res.StopReason != sdk.StopReasonEndTurn || client.asked == 0 {
		t.Fatalf("prompt: %v, %+v, asked %d times", err, res, client.asked)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the directory holds %v, %v", left, err)
	}
	end()
}

// TestSDKClientCancels cancels a running turn and goes on.
func TestSDKClientCancels(t *testing.T) {
	client := &sdkClient{}
	conn, id, _, end := sdkSession(t, client, "cancel-mid-text")
	type result struct {
		res sdk.PromptResponse
		err error
	}
	done := make(chan result, 1)
	go func() { // joined below
		res, err := conn.Prompt(t.Context(), sdkPrompt(id, "Start a long task."))
		done <- result{res, err}
	}()
	for !strings.Contains(client.said(), "partial") {
		<-client.heard
	}
	if err := conn.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || r.res.StopReason != sdk.StopReasonCancelled {
		t.Fatalf("the cancelled prompt: %+v", r)
	}
	res, err := conn.Prompt(t.Context(), sdkPrompt(id, "Are you there?"))
	if err != nil || res.StopReason != sdk.StopReasonEndTurn || !strings.Contains(client.said(), "Still here.") {
		t.Errorf("the next prompt: %v, %+v, %q", err, res, client.said())
	}
	if _, err := conn.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id}); err != nil {
		t.Errorf("session/close: %v", err)
	}
	list, err := conn.ListSessions(t.Context(), sdk.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id {
		t.Errorf("session/list: %v, %+v", err, list)
	}
	end()
}
