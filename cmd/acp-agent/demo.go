package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/session"
	"acp-agent/snapshots"
)

// demoCmd is acp-agent demo.
type demoCmd struct{}

// demoLimit bounds one of the two runs; a run takes well under a second.
const demoLimit = 60 * time.Second

// demoWidth is the width of what the demo prints.
const demoWidth = 118

// The parts that both runs share.
const (
	demoPrompt = "Reply with the single word FIRST and stop."
	demoReason = "Also reply with the single word SECOND, then stop."
	// demoHook asks once: a hook is told on stdin whether it has already kept the
	// turn going.
	demoHook = `grep -q '"stop_hook_active":true' || { echo '` + demoReason + `' >&2; exit 2; }`
)

// demoRun is one of the runs.
type demoRun struct {
	title    string
	flag     string
	file     string
	scenario string
}

var demoRuns = []demoRun{
	{"a Claude Code Stop hook", "--claude-hooks", "settings.json", "hook-cc-stop-continue"},
	{"a Codex Stop hook", "--codex-hooks", "hooks.json", "hook-codex-stop-continue"},
}

// Run shows the main job on recorded model output.
func (demoCmd) Run(ctx context.Context, a *app) error {
	if _, err := exec.LookPath("bash"); err != nil && runtime.GOOS == "windows" {
		return &config.Error{What: "demo: its hooks are shell scripts, and bash is not in PATH", Do: "install Git for Windows", Err: err}
	}
	p := &printer{w: a.stdout}
	p.line("acp-agent is a coding agent that editors talk to over the Agent Client Protocol (ACP).")
	p.line("It runs the hooks you already wrote for Claude Code and for Codex. Two real turns follow: the")
	p.line("agent, its stdio connection, its log and the hook processes are real, the model is a recording.")
	p.line("Each time the model answers FIRST and is done; then the hook objects, and the model goes on.")
	for i, r := range demoRuns {
		p.line("")
		p.line("%s", rule(fmt.Sprintf("%d. %s", i+1, r.title)))
		if r.flag == "--codex-hooks" && runtime.GOOS == "windows" {
			p.line("Not shown on Windows: hooks of Codex run in PowerShell there, and this one is a shell script.")
			continue
		}
		switch err := a.demo(ctx, p, r); {
		case p.err != nil:
			return p.err // whoever reads has enough
		case errors.As(err, new(*config.Error)):
			return err
		case err != nil:
			return &config.Error{What: "demo, " + r.title + ": " + err.Error(), Do: "this is a bug in acp-agent or a damaged build; `acp-agent doctor` tells more", Err: err}
		}
	}
	p.line("")
	p.line("%s", rule("What you have seen"))
	p.line("One prompt, one turn, two answers: the hook's words reached the model as a plain user message, byte")
	p.line("for byte, with nothing wrapped round them; the log says that a hook said them, and was on disk before")
	p.line("the client heard of it. Next: `acp-agent doctor`, then name `acp-agent` as an ACP agent in your editor.")
	return p.err
}

// demo does one run in a directory of its own, which is gone afterwards.
func (a *app) demo(ctx context.Context, p *printer, r demoRun) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	dir, err := os.MkdirTemp("", "acp-agent-demo-")
	if err != nil {
		return &config.Error{What: "demo: making a directory for it in " + os.TempDir() + ": " + reason(err), Do: "name a writable one in TMPDIR", Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	argv, err := r.prepare(dir)
	if err != nil {
		return err
	}
	p.line("")
	p.line("the hook:  %s", demoHook)
	p.line("the agent: acp-agent serve --model replay:… %s %s", r.flag, r.file)

	p.head("the wire, as the editor sees it (→ sent, ← received)")
	wire := &wirePrinter{p: p, dir: dir}
	stop, id, err := converse(ctx, argv, a.env.Isolated(filepath.Join(dir, "home")), filepath.Join(dir, "work"), wire)
	if err != nil {
		return err
	}

	p.head("the session log, on disk")
	log := &logPrinter{p: p}
	got, err := readLog(ctx, filepath.Join(dir, "state", "sessions", id+".jsonl"), log.event)
	if err != nil {
		return err
	}
	log.flush()

	transcript := got.State.Transcript()
	p.head("the transcript, as the model was sent it (its last answer included)")
	var text bytes.Buffer
	if err := printTranscript(&text, transcript); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		p.line("  %s", strings.TrimSuffix(line, "\n"))
	}
	if p.err != nil {
		return p.err
	}
	return checkDemo(stop, wire.said.String(), log.steering, transcript)
}

// prepare lays out the directory and returns the agent's command line.
func (r *demoRun) prepare(dir string) ([]string, error) {
	self, err := selfPath()
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"home", "work", "state"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	recording, err := demoRecording(r.scenario)
	if err != nil {
		return nil, err
	}
	type hook struct {
		Type    string `json:"type"`
		Command string `json:"command"`
	}
	type group struct {
		Hooks []hook `json:"hooks"`
	}
	var hooks bytes.Buffer
	enc := json.NewEncoder(&hooks)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]map[string][]group{"hooks": {"Stop": {{Hooks: []hook{{"command", demoHook}}}}}}); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"session.jsonl": recording, r.file: hooks.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return []string{
		self, "serve", "--model", "replay:" + filepath.Join(dir, "session.jsonl"),
		"--state-dir", filepath.Join(dir, "state"), r.flag, filepath.Join(dir, r.file),
	}, nil
}

// demoRecording finds the recorded model output of a scenario in the binary.
func demoRecording(scenario string) ([]byte, error) {
	var found string
	err := fs.WalkDir(snapshots.Demo, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && path.Base(p) == "session.jsonl" && path.Base(path.Dir(p)) == scenario {
			found = p
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if found == "" {
		return nil, fmt.Errorf("the recording %s is not in this binary", scenario)
	}
	return fs.ReadFile(snapshots.Demo, found)
}

// converse is the client's part: one session, one prompt, hang up.
func converse(ctx context.Context, argv, env []string, cwd string, wire *wirePrinter) (stop, id string, err error) {
	agent, err := startPeer(ctx, argv, env, cwd, wire.frame)
	if err != nil {
		return "", "", err
	}
	var init, created struct {
		SessionID string `json:"sessionId"`
	}
	var answer struct {
		StopReason string `json:"stopReason"`
	}
	steps := []struct {
		method string
		params func() any
		result any
	}{
		{"initialize", func() any {
			return map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}
		}, &init},
		{"session/new", func() any {
			return map[string]any{"cwd": cwd, "mcpServers": []any{}}
		}, &created},
		{"session/prompt", func() any {
			return map[string]any{"sessionId": created.SessionID, "prompt": []any{map[string]string{"type": "text", "text": demoPrompt}}}
		}, &answer},
	}
	for _, s := range steps {
		if err = agent.call(s.method, s.params(), s.result); err != nil {
			break
		}
		wire.session = created.SessionID
	}
	cerr := agent.close()
	wire.flush()
	if err == nil {
		err = cerr
	}
	return answer.StopReason, created.SessionID, err
}

// checkDemo holds the demo to what it claims.
func checkDemo(stop, said string, steering []session.SteeringMessage, transcript []session.Message) error {
	if stop != "end_turn" {
		return fmt.Errorf("the turn ended with %q and not with end_turn", stop)
	}
	if said != "FIRSTSECOND" {
		return fmt.Errorf("the client was told %q and not FIRST, SECOND", said)
	}
	if len(steering) != 1 || !isText(steering[0].Content, demoReason) || steering[0].Source.Kind != session.SourceHook {
		return fmt.Errorf("the log does not hold the hook's reason as one steering/message: %v", steering)
	}
	for i := range transcript {
		m := &transcript[i]
		if m.Role == session.RoleUser && isText(m.Content, demoReason) {
			return nil
		}
	}
	return errors.New("the transcript does not hold the hook's reason as a plain user message")
}

// isText reports whether content is exactly one text block of s.
func isText(content []session.Block, s string) bool {
	return len(content) == 1 && content[0].Type == session.BlockText && content[0].Text == s
}
