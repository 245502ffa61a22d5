package codex

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

type fakeMCP struct {
	got  string
	text string
	fail bool
	err  error
}

func (f *fakeMCP) CallTool(ctx context.Context, server, tool string, input json.RawMessage) (string, bool, error) {
	f.got = server + "/" + tool + " " + string(input)
	if f.text == "wait" {
		<-ctx.Done()
		return "", false, ctx.Err()
	}
	return f.text, f.fail, f.err
}

func mcpDialect(t *testing.T, caller hooks.MCPCaller, input string) (*Dialect, *hooks.Set) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hooks.json"), `{"hooks":{"PreToolUse":[{"hooks":[{"type":"mcp_tool","server":"s","tool":"t","timeout":1,"input":`+input+`}]}]}}`)
	files, _ := Discover(DiscoverOptions{CodexHome: dir})
	d, problems := New(Options{Files: files, MCP: caller})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	set := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	t.Cleanup(set.Close)
	return d, set
}

// TestMCPTool: placeholders, what an answer means, and every way to fail.
func TestMCPTool(t *testing.T) {
	call := func() *hooks.Call {
		return &hooks.Call{
			Event: hooks.PreToolUse, SessionID: "S", Cwd: t.TempDir(),
			Tool: &hooks.Tool{Name: "mcp__a__b", Input: json.RawMessage(`{"n":1.5,"list":[1],"text":"é"}`), CallID: "c"},
		}
	}
	f := &fakeMCP{text: `{"decision":"block","reason":"no"}`}
	_, set := mcpDialect(t, f, `{"n":"${tool_input.n}","l":["${tool_input.list}"],"s":"a ${tool_input.text} ${tool_input.n} ${","k":"${transcript_path}","o":{"x":true}}`)
	out := set.Match(call()).Run(t.Context())
	if want := `s/t {"n":1.5,"l":[[1]],"s":"a é 1.5 ${","k":null,"o":{"x":true}}`; f.got != want {
		t.Errorf("called with %s, want %s", f.got, want)
	}
	if out.Decision != hooks.Deny || out.DecisionReason.Text != "no" {
		t.Errorf("outcome %+v", out)
	}
	for _, c := range []struct {
		name  string
		mcp   hooks.MCPCaller
		input string
		want  hooks.Decision
		why   string
	}{
		{"no caller", nil, `{}`, hooks.Failed, "no MCP servers are connected"},
		{"missing path", f, `{"a":"${tool_input.nope.x}"}`, hooks.Failed, "${tool_input.nope.x} names nothing"},
		{"error", &fakeMCP{err: errors.New("gone")}, `{}`, hooks.Failed, "calling t of the MCP server s: gone"},
		{"tool error", &fakeMCP{text: "bad", fail: true}, `{}`, hooks.Failed, "reported an error: bad"},
		{"late", &fakeMCP{text: "wait"}, `{}`, hooks.TimedOut, "timed out after 1s"},
		{"plain text", &fakeMCP{text: "hello"}, `{}`, hooks.Pass, ""},
	} {
		_, set := mcpDialect(t, c.mcp, c.input)
		run := set.Match(call()).Run(t.Context()).Runs[0]
		if run.Decision != c.want || !strings.Contains(run.Reason, c.why) {
			t.Errorf("%s: %s %q, want %s with %q", c.name, run.Decision, run.Reason, c.want, c.why)
		}
	}
}

// TestShell: the person's shell, else bash, else sh; nothing of $SHELL.
func TestShell(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"bash", "sh", "zsh", "pwsh"} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := hooks.Environ{"PATH=" + bin, "SHELL=/bin/fish"}
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Env: env, Shell: "/usr/bin/zsh", GOOS: "linux"}, "/usr/bin/zsh -c x"},
		{Options{Env: env, Shell: "zsh", GOOS: "linux"}, bin + "/zsh -c x"},
		{Options{Env: env, Shell: "gone", GOOS: "linux"}, bin + "/bash -c x"},
		{Options{Env: env, GOOS: "linux"}, bin + "/bash -c x"},
		{Options{GOOS: "linux"}, "/bin/sh -c x"},
		{Options{Env: env, GOOS: "windows"}, bin + "/pwsh -NoProfile -Command x"},
		{Options{Env: hooks.Environ{`COMSPEC=C:\cmd.exe`}, GOOS: "windows"}, `C:\cmd.exe /C x`},
	} {
		d, _ := New(c.opts)
		argv, err := d.argv("x")
		if got := strings.Join(argv, " "); err != nil || got != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.opts, got, err, c.want)
		}
	}
	d, _ := New(Options{GOOS: "windows"})
	if argv, err := d.argv("x"); err == nil {
		t.Errorf("without any shell: %v", argv)
	}
}

func TestPasswdShell(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/bash\nu:x:1000:1000:U, x:/home/u:/usr/bin/zsh\r\nd:x:2:2::/:/usr/sbin/nologin\ne:x:3:3::/:\nbroken:x:4\n"
	for uid, want := range map[string]string{"0": "/bin/bash", "1000": "/usr/bin/zsh", "2": "", "3": "", "4": "", "5": ""} {
		if got := PasswdShell(passwd, uid); got != want {
			t.Errorf("the shell of %s is %q, want %q", uid, got, want)
		}
	}
}

// TestExecDirectory: a hook whose directory is gone still runs, elsewhere, with
// the whole environment and the payload that has no line end.
func TestExecDirectory(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, "hooks.json"), `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"pwd; echo $SECRET_TOKEN; wc -l; wc -c </dev/null"}]}]}}`)
	files, _ := Discover(DiscoverOptions{CodexHome: home})
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("there is no bash here")
	}
	d, _ := New(Options{Files: files, Shell: "/bin/bash", Env: hooks.Environ{"PATH=/usr/bin:/bin", "SECRET_TOKEN=s3"}, Home: home})
	set := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	defer set.Close()
	gone := filepath.Join(home, "gone")
	out := set.Match(&hooks.Call{Event: hooks.UserPromptSubmit, Cwd: gone, ProjectDir: gone}).Run(t.Context())
	if len(out.Contexts) != 1 {
		t.Fatalf("outcome %+v", out)
	}
	if got := strings.Fields(out.Contexts[0].Text); len(got) != 4 || got[0] != home || got[1] != "s3" || got[2] != "0" {
		t.Errorf("the hook saw %q", out.Contexts[0].Text)
	}
}

// TestCap: contexts and replacements over the limit, and what is never cut.
func TestCap(t *testing.T) {
	d, _ := New(Options{})
	long := strings.Repeat("é", 6000)
	limit := func(n uint64) *hooks.Handler { return &hooks.Handler{Ext: &ext{contextLimit: n}} }
	saved := func(string) (string, error) { return "/x/y.txt", nil }
	for _, c := range []struct {
		name string
		h    *hooks.Handler
		kind hooks.TextKind
		text string
		over bool
	}{
		{"context", limit(2500), hooks.ContextText, long, true},
		{"context within", limit(2500), hooks.ContextText, long[:10000], false},
		{"context one over", limit(2500), hooks.ContextText, long[:10001], true},
		{"replacement", limit(2500), hooks.ReplaceText, long, true},
		{"no limit", limit(0), hooks.ContextText, long, false},
		{"higher limit", limit(3000), hooks.ContextText, long, false},
		{"tiny limit", limit(1), hooks.ContextText, long, true},
		{"reason", limit(1), hooks.ReasonText, long, false},
		{"message", limit(1), hooks.MessageText, long, false},
	} {
		got, over := d.Cap(c.h, c.kind, c.text, saved)
		if over != c.over || !over && got != c.text {
			t.Errorf("%s: over %t, %d bytes", c.name, over, len(got))
		}
		if over && (!strings.HasSuffix(got, "\n\nFull hook output saved to: /x/y.txt") || strings.Contains(got, "\ufffd") || tokens(got) > c.h.Ext.(*ext).contextLimit+60) {
			t.Errorf("%s: %d tokens: %q…", c.name, tokens(got), got[:100])
		}
	}
	got, over := d.Cap(limit(10), hooks.ContextText, long, func(string) (string, error) { return "", errors.New("full") })
	if !over || !strings.HasSuffix(got, "could not be saved.") {
		t.Errorf("without a file: %q", got)
	}
}
