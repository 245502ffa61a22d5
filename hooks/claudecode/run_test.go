//go:build unix

package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// settings builds a file of one event's handlers, each its own group.
func settings(ev string, handlers ...map[string]any) string {
	var groups []any
	for _, h := range handlers {
		if h["type"] == nil {
			h["type"] = "command"
		}
		groups = append(groups, map[string]any{"hooks": []any{h}})
	}
	b, _ := json.Marshal(map[string]any{"hooks": map[string]any{ev: groups}})
	return string(b)
}

type m = map[string]any

func TestHookEnvironment(t *testing.T) {
	envFile := ""
	r := newRig(t, one("SessionStart", "env | sort"), func(c *Config, _ *hooks.Options) {
		c.Env = append(c.Env, "OTEL_EXPORTER=x", "ANTHROPIC_API_KEY=secret", "OPENAI_API_KEY=secret", "GH_TOKEN=kept", "MULTI=a\nb", "SHLVL=0")
		c.AllowEnv = []string{"OPENAI_API_KEY"}
		c.PID = 42
		c.EnvFile = func(id string) string { envFile = "/env/" + id; return envFile }
		c.Files[0].Env = map[string]string{"FROM_SETTINGS": "1"} // CC#57959
	})
	c := r.call(hooks.SessionStart)
	c.Source, c.Effort = "startup", "high"
	out := r.run(c)
	if len(out.Contexts) != 1 {
		t.Fatalf("%+v", out)
	}
	env := strings.Split(out.Contexts[0].Text, "\n")
	for _, want := range []string{
		"CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID=S", "CLAUDE_PID=42", "CLAUDE_EFFORT=high",
		"CLAUDE_PROJECT_DIR=" + r.dir, "CLAUDE_ENV_FILE=/env/S", "OPENAI_API_KEY=secret", "GH_TOKEN=kept", "FROM_SETTINGS=1", "HOME=" + r.home,
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing in\n%s", want, out.Contexts[0].Text)
		}
	}
	for _, bad := range []string{"OTEL_", "ANTHROPIC_API_KEY", "CLAUDE_FILE_PATH"} {
		if strings.Contains(out.Contexts[0].Text, bad) {
			t.Errorf("%s is there", bad)
		}
	}
}

func TestPayloadArrivesOnStdin(t *testing.T) {
	r := newRig(t, one("UserPromptSubmit", `read -r line; printf %s "$line"; [ -z "$(cat)" ] && echo; :`))
	c := r.call(hooks.UserPromptSubmit)
	c.Prompt = "it's é $HOME `x`"
	out := r.run(c)
	want, _ := r.d.Payload(c)
	// It looks like JSON and has no member that means anything.
	if len(out.Contexts) != 0 || out.Runs[0].Decision != hooks.Pass {
		t.Errorf("%+v", out)
	}
	r = newRig(t, one("UserPromptSubmit", `printf 'got '; cat`))
	if out = r.run(c); out.Contexts[0].Text+"\n" != "got "+strings.Replace(string(want), r.dir, r.dir, 1) {
		t.Errorf("%q\n%q", out.Contexts[0].Text, want)
	}
}

// Facts 7.4: shell form is bash where there is one. CC#40084: a blank, a quote
// and other letters in the project's path.
func TestForms(t *testing.T) {
	r := newRig(t, settings("SessionStart",
		m{"command": `[[ "$CLAUDE_PROJECT_DIR" =~ it ]] && printf '%s' "$CLAUDE_PROJECT_DIR"`},
		m{"command": "printf", "args": []string{"%s|%s", "${CLAUDE_PROJECT_DIR}/x", "$HOME; echo `id`"}},
		m{"command": "${CLAUDE_PROJECT_DIR}/run me", "args": []string{}},
	))
	dir := filepath.Join(t.TempDir(), "it's a \"pröject\"")
	write(t, filepath.Join(dir, "run me"), "#!/bin/sh\nprintf ran\n")
	if err := os.Chmod(filepath.Join(dir, "run me"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := r.call(hooks.SessionStart)
	c.Cwd, c.ProjectDir, c.Source = dir, dir, "startup"
	out := r.run(c)
	var got []string
	for _, x := range out.Contexts {
		got = append(got, x.Text)
	}
	want := []string{dir, dir + "/x|$HOME; echo `id`", "ran"}
	if !slices.Equal(got, want) {
		t.Errorf("%q %+v", got, out.Notices)
	}
}

// openai/codex#45293 for this dialect: it falls back, project first.
func TestDeletedWorkingDirectory(t *testing.T) {
	r := newRig(t, one("SessionStart", "pwd"))
	c := r.call(hooks.SessionStart)
	c.Cwd, c.Source = filepath.Join(r.dir, "gone"), "startup"
	if out := r.run(c); out.Contexts[0].Text != c.ProjectDir {
		t.Errorf("%+v", out)
	}
	c.ProjectDir = c.Cwd
	if out := r.run(c); out.Contexts[0].Text != r.home {
		t.Errorf("%+v", out)
	}
}

// CC#76297: identical handlers of several settings files run once.
func TestDedupe(t *testing.T) {
	r := newRig(t, "{}")
	count := filepath.Join(r.dir, "count")
	cmd := "echo x >> " + count
	file := func(layer hooks.Layer) *File {
		f, _ := parseFile("/"+string(layer), layer, []byte(settings("Stop", m{"command": cmd, "timeout": 5}, m{"command": cmd, "args": []string{}})))
		f.Handlers = f.Handlers[:1]
		return f
	}
	plugin := file(hooks.LayerPlugin)
	r.start([]*File{file(hooks.LayerUser), file(hooks.LayerManaged), plugin})
	if out := r.run(r.call(hooks.Stop)); len(out.Runs) != 2 {
		t.Errorf("%+v", out.Runs)
	}
	if b, _ := os.ReadFile(count); string(b) != "x\nx\n" {
		t.Errorf("%q", b)
	}
}

// Handlers run side by side: each waits for the other's file.
func TestHooksRunInParallel(t *testing.T) {
	r := newRig(t, settings("Stop",
		m{"command": "touch a; while ! [ -e b ]; do sleep 0.01; done; echo A >&2; exit 2"},
		m{"command": "touch b; while ! [ -e a ]; do sleep 0.01; done; echo B >&2; exit 2"},
	))
	out := r.run(r.call(hooks.Stop))
	if len(out.Reasons) != 2 || out.Reasons[0].Text != "A" || out.Reasons[1].Text != "B" {
		t.Errorf("%+v", out)
	}
}

// The torture of one hook that does everything wrong must not cost the other's
// answer.
func TestTorture(t *testing.T) {
	r := newRig(t, settings("Stop",
		m{"command": "kill -9 $$"},
		m{"command": "head -c 21000000 /dev/zero"},
		m{"command": "trap '' TERM; while :; do sleep 0.05; done", "timeout": 0.2},
		m{"command": "no-such-command-at-all"},
		m{"command": `printf '\377\376' >&2; exit 2`},
		m{"command": `echo banner; echo '{"decision":"block","reason":"r"}'`},
		m{"command": `echo '{}{}'`},
		m{"command": "no such program", "args": []string{}},
		m{"command": "echo fine >&2; exit 2"},
	))
	c := r.call(hooks.Stop)
	big := strings.Repeat("é", 4<<20)
	c.LastAssistantMessage = &big // nobody reads the 8 MB
	out := r.run(c)
	want := []hooks.Decision{hooks.Failed, hooks.Pass, hooks.TimedOut, hooks.Failed, hooks.Block, hooks.Pass, hooks.Failed, hooks.Failed, hooks.Block}
	for i, run := range out.Runs {
		if run.Decision != want[i] {
			t.Errorf("%d: %s (%s), want %s", i, run.Decision, run.Reason, want[i])
		}
	}
	if len(out.Reasons) != 2 || out.Reasons[0].Text != "\ufffd\ufffd" || out.Reasons[1].Text != "fine" {
		t.Errorf("%q", out.Reasons)
	}
	if len(out.Notices) != 7 || !strings.Contains(out.Notices[1].Text, "wrote more than 20 MiB") {
		t.Errorf("%d notices: %+v", len(out.Notices), out.Notices)
	}
}

// CC#13756: exit code 2 and updatedInput through the whole engine (CC#79321).
func TestRewriteAndDeny(t *testing.T) {
	rewrite := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"echo b"}}}`
	r := newRig(t, settings("PreToolUse", m{"command": "echo '" + rewrite + "'"}))
	out := r.run(r.tool(hooks.PreToolUse, "bash", `{"command":"echo a"}`))
	if out.Decision != hooks.Allow || string(out.UpdatedInput) != `{"command":"echo b"}` {
		t.Errorf("%+v", out)
	}
	r = newRig(t, settings("PreToolUse", m{"command": "echo '" + rewrite + "'"}, m{"command": "echo no >&2; exit 2"}))
	out = r.run(r.tool(hooks.PreToolUse, "bash", `{"command":"echo a"}`))
	if out.Decision != hooks.Deny || out.UpdatedInput != nil || out.DecisionReason.Text != "no" {
		t.Errorf("%+v", out)
	}
}

// openai/codex#16685: a failing command fires; one call, the right event.
func TestFailureEvent(t *testing.T) {
	r := newRig(t, `{"hooks":{
		"PostToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo success >&2; exit 2"}]}],
		"PostToolUseFailure":[{"matcher":"Bash","hooks":[{"type":"command","command":"jq -r .error >&2; exit 2"}]}]}}`)
	c := r.tool(hooks.PostToolUse, "bash", `{"command":"x"}`)
	c.Tool.ExitCode = exitCode(3)
	c.Tool.Response, _ = json.Marshal(hooks.BashResponse{Stderr: "boom\n", ExitCode: 3})
	out := r.run(c)
	if len(out.Runs) != 1 || out.Runs[0].Event != hooks.PostToolUseFailure || out.Runs[0].Handler != "claude-code:PostToolUseFailure:1" {
		t.Fatalf("%+v", out.Runs)
	}
	if out.Reasons[0].Text != "Exit code 3\nboom" && !strings.Contains(out.Runs[0].Stderr, "not found") {
		t.Errorf("%q", out.Reasons)
	}
}

func TestSpill(t *testing.T) {
	long := strings.Repeat("x", 10_001)
	r := newRig(t, settings("SessionStart", m{"command": "printf '" + long + "'"}, m{"command": "printf '" + long[1:] + "'"}))
	c := r.call(hooks.SessionStart)
	c.Source = "startup"
	out := r.run(c)
	head, rest, ok := strings.Cut(out.Contexts[0].Text, "\n… (10001 characters in all; the full text is in ")
	path := strings.TrimSuffix(rest, ")")
	if !ok || head != long[:2000] {
		t.Fatalf("%.80q", out.Contexts[0].Text)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != long {
		t.Errorf("%s: %v", path, err)
	}
	if out.Contexts[1].Text != long[1:] {
		t.Error("10,000 characters are within the limit")
	}
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, path) {
		t.Errorf("%+v", out.Notices)
	}
	// A stop's reason is never cut.
	r = newRig(t, one("Stop", "head -c 1000000 /dev/zero | tr '\\0' y >&2; exit 2"))
	if out := r.run(r.call(hooks.Stop)); out.Reasons[0].Text != strings.Repeat("y", 1_000_000) {
		t.Errorf("%d bytes", len(out.Reasons[0].Text))
	}
}

func TestAsyncHooks(t *testing.T) {
	got := make(chan string, 3)
	deliver := func(_ *Config, o *hooks.Options) {
		o.Deliver = func(x hooks.Late) { got <- fmt.Sprintf("%s%s %v%s", x.Lead, x.Text.Text, x.Rewake, x.Summary) }
	}
	r := newRig(t, settings("PostToolUse",
		m{"command": `while ! [ -e go ]; do sleep 0.01; done; echo '{"systemMessage":"late"}'`, "async": true},
		m{"command": `while ! [ -e go ]; do sleep 0.01; done; echo wake >&2; exit 2`, "asyncRewake": true, "rewakeMessage": "lead ", "rewakeSummary": " summary"},
		m{"command": `echo '{"async":true,"asyncTimeout":60000}'; while ! [ -e go ]; do sleep 0.01; done; echo '{"systemMessage":"detached"}'`},
	), deliver)
	out := r.run(r.tool(hooks.PostToolUse, "bash", `{}`))
	for _, run := range out.Runs {
		if run.Decision != hooks.Pass || run.ExitCode != nil {
			t.Errorf("%+v", run)
		}
	}
	write(t, filepath.Join(r.dir, "go"), "")
	all := []string{<-got, <-got, <-got}
	slices.Sort(all)
	if strings.Join(all, "|") != "detached false|late false|lead wake true summary" {
		t.Errorf("%v", all)
	}
}

// What hooks say after the turn was cancelled is gone, and so are they.
// Plugins mark their SessionEnd hooks async so that leaving is quick, and count on
// what they save: they are waited for, within the budget, however they detach.
func TestAsyncSessionEnd(t *testing.T) {
	for _, fields := range []string{`"async":true`, `"asyncRewake":true`, `"timeout":60`} {
		command := `cat > out`
		if fields == `"timeout":60` {
			command = `echo '{\"async\":true}'; cat > out`
		}
		r := newRig(t, `{"hooks":{"SessionEnd":[{"hooks":[{"type":"command",`+fields+`,"command":"`+command+`"}]}]}}`)
		c := r.call(hooks.SessionEnd)
		c.Reason = "other"
		out := r.run(c)
		r.set.Close()
		if got, err := os.ReadFile(filepath.Join(r.dir, "out")); !strings.Contains(string(got), `"reason":"other"`) {
			t.Errorf("%s: %q, %v, %+v", fields, got, err, out.Runs)
		}
		if code := out.Runs[0].ExitCode; fields != `"timeout":60` && (code == nil || *code != 0) {
			t.Errorf("%s: not waited for: %+v", fields, out.Runs)
		}
	}
}

func TestCancelDuringHooks(t *testing.T) {
	r := newRig(t, settings("Stop", m{"command": "touch up; while :; do sleep 0.05; done"}, m{"command": "echo R >&2; exit 2"}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			if _, err := os.Stat(filepath.Join(r.dir, "up")); err == nil {
				cancel()
				return
			}
		}
	}()
	out := r.set.Match(r.call(hooks.Stop)).Run(ctx)
	if out.Blocked || len(out.Reasons) > 0 || len(out.Runs) != 2 || out.Runs[0].Decision != hooks.Cancelled || out.Runs[1].Decision != hooks.Cancelled {
		t.Errorf("%+v", out)
	}
}

func TestHTTPHooks(t *testing.T) {
	var header http.Header
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got, _ := io.ReadAll(req.Body)
		switch req.URL.Path {
		case "/block":
			header, body = req.Header.Clone(), got
			fmt.Fprint(w, `{"decision":"block","reason":"by http"}`)
		case "/text":
			fmt.Fprint(w, "ok")
		case "/500":
			http.Error(w, `{"decision":"block"}`, http.StatusInternalServerError)
		case "/slow":
			<-req.Context().Done()
		}
	}))
	defer srv.Close()
	h := func(path string, more ...any) m {
		x := m{"type": "http", "url": srv.URL + path}
		for i := 0; i < len(more); i += 2 {
			x[more[i].(string)] = more[i+1]
		}
		return x
	}
	r := newRig(t, settings("Stop",
		h("/block", "headers", m{"X-A": "Bearer $TOKEN", "X-B": "${SECRET}x", "X-C": "a\r\nX-D: b"}, "allowedEnvVars", []string{"TOKEN"}),
		h("/empty"), h("/text"), h("/500"), h("/slow", "timeout", 0.1), m{"type": "http", "url": "http://127.0.0.1:1/"},
	), func(c *Config, _ *hooks.Options) { c.Env = append(c.Env, "TOKEN=t\nX-Evil: 1", "SECRET=s") })
	c := r.call(hooks.Stop)
	out := r.run(c)
	want := []hooks.Decision{hooks.Block, hooks.Pass, hooks.Failed, hooks.Failed, hooks.TimedOut, hooks.Failed}
	for i, run := range out.Runs {
		if run.Decision != want[i] {
			t.Errorf("%d: %s (%s), want %s", i, run.Decision, run.Reason, want[i])
		}
	}
	if out.Reasons[0].Text != "by http" || header.Get("X-A") != "Bearer tX-Evil: 1" || header.Get("X-B") != "x" || header.Get("X-D") != "" || header.Get("X-Evil") != "" {
		t.Errorf("%+v %v", out.Reasons, header)
	}
	payload, _ := r.d.Payload(c)
	if string(body)+"\n" != string(payload) {
		t.Errorf("%s", body)
	}
}

type fakeMCP func(server, tool string, input json.RawMessage) (string, bool, error)

func (f fakeMCP) CallTool(_ context.Context, server, tool string, input json.RawMessage) (string, bool, error) {
	return f(server, tool, input)
}

func TestMCPHooks(t *testing.T) {
	mcp := fakeMCP(func(server, tool string, input json.RawMessage) (string, bool, error) {
		switch tool {
		case "echo":
			return `{"decision":"block","reason":` + string(hooks.AppendString(nil, server+" "+string(input))) + `}`, false, nil
		case "bad":
			return "broken", true, nil
		}
		return "", false, errors.New("not connected")
	})
	h := func(tool string) m {
		return m{"type": "mcp_tool", "server": "s", "tool": tool, "input": m{"a": "${tool_input.command}", "b": "x${tool_name}y${no.such}", "c": "${tool_input}", "d": []any{1, true}}}
	}
	r := newRig(t, settings("PreToolUse", h("echo"), h("bad"), h("gone")), func(c *Config, _ *hooks.Options) { c.MCP = mcp })
	out := r.run(r.tool(hooks.PreToolUse, "bash", `{"command":"ls"}`))
	if out.DecisionReason.Text != `s {"a":"ls","b":"xBashy","c":{"command":"ls"},"d":[1,true]}` {
		t.Errorf("%+v", out)
	}
	if out.Runs[1].Decision != hooks.Failed || !strings.Contains(out.Runs[1].Reason, "broken") || out.Runs[2].Decision != hooks.Failed {
		t.Errorf("%+v", out.Runs)
	}
	r = newRig(t, settings("PreToolUse", h("echo")))
	if out := r.run(r.tool(hooks.PreToolUse, "bash", `{}`)); out.Runs[0].Decision != hooks.Held || len(out.Notices) != 1 {
		t.Errorf("%+v", out)
	}
}

func TestIfKeepsHookFromRunning(t *testing.T) {
	r := newRig(t, settings("PreToolUse", m{"command": "exit 2", "if": "Bash(git push:*)"}))
	if r.set.Match(r.tool(hooks.PreToolUse, "bash", `{"command":"ls"}`)) != nil {
		t.Error("ran")
	}
	if r.set.Match(r.tool(hooks.PreToolUse, "bash", `{"command":"cd x && git push origin"}`)) == nil {
		t.Error("did not run")
	}
}

func TestPowerShellCommand(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pwsh"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "pwsh"), 0o700); err != nil {
		t.Fatal(err)
	}
	argv, err := shellCommand("powershell", `& "${CLAUDE_PROJECT_DIR}\x.ps1" $HOME`, hooks.Environ{"PATH=" + dir})
	if err != nil || argv[len(argv)-1] != `& "${env:CLAUDE_PROJECT_DIR}\x.ps1" $HOME` {
		t.Errorf("%q %v", argv, err)
	}
	if _, err := shellCommand("powershell", "x", hooks.Environ{"PATH="}); err == nil {
		t.Error("found a PowerShell nowhere")
	}
	argv, _ = shellCommand("", "it's", hooks.Environ{"PATH=", "CLAUDE_CODE_SHELL_PREFIX=/wrap"})
	if !slices.Equal(argv, []string{"/bin/sh", "-c", `/wrap 'it'\''s'`}) {
		t.Errorf("%q", argv)
	}
}

func TestDetachLine(t *testing.T) {
	for line, want := range map[string]time.Duration{
		`{"async":true,"asyncTimeout":1500}`: 1500 * time.Millisecond,
		"\ufeff {\"async\":true}\r":          600 * time.Second,
		`{"async":false}`:                    -1,
		`{`:                                  -1,
		`async`:                              -1,
	} {
		got, ok := detach([]byte(line))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v %v", line, got, ok)
		}
	}
}

// What a placeholder stands for goes as the payload has it, and is not looked through
// for more placeholders.
func TestPlaceholders(t *testing.T) {
	payload := []byte(`{"tool_input":{"z":"<a & b>","a":12345678901234567890,"n":null},"text":"${tool_name}","tool_name":"T"}`)
	got, err := fill([]byte(`{"whole":"${tool_input}","part":"x ${tool_input} ${text} ${tool_input.n}.","number":12345678901234567890}`), payload)
	if err != nil {
		t.Fatal(err)
	}
	var in struct {
		Whole, Number json.RawMessage
		Part          string
	}
	if err := json.Unmarshal(got, &in); err != nil {
		t.Fatal(err)
	}
	object := `{"z":"<a & b>","a":12345678901234567890,"n":null}`
	if string(hooks.AppendJSON(nil, in.Whole)) != object || in.Part != "x "+object+" ${tool_name} ." || string(in.Number) != "12345678901234567890" {
		t.Errorf("%s", got)
	}
	for range 20 { // maps have no order
		if s := substitute("${a}/${b}", map[string]string{"a": "${b}", "b": "${a}"}); s != "${b}/${a}" {
			t.Fatal(s)
		}
	}
}
