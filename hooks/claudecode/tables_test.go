package claudecode

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// heard are the vendor's events that come here.
func heard() []hooks.Event {
	return slices.DeleteFunc(slices.Clone(vendorEvents), func(ev hooks.Event) bool { return hooks.Absent(ev) != "" })
}

// What exit code 2 does on each event (Claude Code hooks reference, exit code 2
// behavior per event): block the event, tell the person, nothing.
func TestExitTwoByEvent(t *testing.T) {
	want := map[hooks.Event]string{
		hooks.PreToolUse: "blocks", hooks.UserPromptSubmit: "blocks", hooks.UserPromptExpand: "blocks",
		hooks.PostToolUse: "blocks", hooks.PostToolUseFailure: "blocks", hooks.PostToolBatch: "blocks",
		hooks.Stop: "blocks", hooks.SubagentStop: "blocks", hooks.PreCompact: "blocks",
		hooks.PreModelSwitch: "blocks", hooks.ConfigChange: "blocks",
		hooks.Elicitation: "blocks", hooks.ElicitationResult: "blocks",
		hooks.SessionStart: "told", hooks.SessionEnd: "told", hooks.SubagentStart: "told",
		hooks.PostCompact: "told", hooks.CwdChanged: "told", hooks.FileChanged: "told", hooks.PostModelSwitch: "told",
		hooks.PermissionRequest: "nothing", hooks.PermissionDenied: "nothing", hooks.Notification: "nothing",
		hooks.StopFailure: "nothing", hooks.InstructionsLoaded: "nothing",
	}
	for _, ev := range heard() {
		a := decode(bashCall(ev), commandHandler(ev), hooks.Exit{Code: 2, Stderr: []byte("why\n")})
		got := "nothing"
		switch {
		case a.Blocked || a.Permission == hooks.Deny:
			got = "blocks"
			if reason := a.Reason + a.PermissionReason; reason != "why" {
				t.Errorf("%s: the reason is %q", ev, reason)
			}
		case a.Decision == hooks.Failed && a.Why == "why":
			got = "told"
		case a.Decision != hooks.Pass:
			got = show(a)
		}
		if got != want[ev] {
			t.Errorf("%s: %s, want %s", ev, got, want[ev])
		}
	}
	c := bashCall(hooks.ConfigChange)
	c.Fields = map[string]any{"source": "policy_settings"}
	if a := decode(c, commandHandler(hooks.ConfigChange), hooks.Exit{Code: 2, Stderr: []byte("why")}); a.Blocked {
		t.Error("an administrator's change is refused")
	}
}

// Which events take a systemMessage, an additionalContext, plain stdout as
// context, a top-level block, continue:false.
func TestFieldsByEvent(t *testing.T) {
	set := func(evs ...hooks.Event) map[hooks.Event]bool {
		m := map[hooks.Event]bool{}
		for _, ev := range evs {
			m[ev] = true
		}
		return m
	}
	noMessage := set(hooks.PreCompact, hooks.PostCompact, hooks.ConfigChange, hooks.Notification, hooks.Elicitation, hooks.ElicitationResult, hooks.StopFailure)
	context := set(hooks.PreToolUse, hooks.PostToolUse, hooks.PostToolUseFailure, hooks.PostToolBatch, hooks.UserPromptSubmit,
		hooks.UserPromptExpand, hooks.SessionStart, hooks.SubagentStart, hooks.Notification, hooks.PostModelSwitch, hooks.Stop, hooks.SubagentStop)
	plain := set(hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.SessionStart, hooks.PostModelSwitch)
	block := set(hooks.PreToolUse, hooks.UserPromptSubmit, hooks.UserPromptExpand, hooks.PostToolUse, hooks.PostToolUseFailure,
		hooks.PostToolBatch, hooks.Stop, hooks.SubagentStop, hooks.PreCompact, hooks.ConfigChange, hooks.PreModelSwitch,
		hooks.Elicitation, hooks.ElicitationResult)
	for _, ev := range heard() {
		said := func(stdout string) hooks.Answer {
			return decode(bashCall(ev), commandHandler(ev), hooks.Exit{Stdout: []byte(stdout)})
		}
		if got := said(`{"systemMessage":"m"}`).Message == "m"; got == noMessage[ev] {
			t.Errorf("%s takes a systemMessage: %v", ev, got)
		}
		if got := said(specific(ev, `"additionalContext":"c"`)).Context != nil; got != context[ev] {
			t.Errorf("%s takes additionalContext: %v", ev, got)
		}
		if got := said("plain\n").Context != nil; got != plain[ev] {
			t.Errorf("%s takes plain text: %v", ev, got)
		}
		a := said(`{"decision":"block","reason":"r"}`)
		if got := a.Blocked || a.Permission == hooks.Deny; got != block[ev] {
			t.Errorf("%s can be blocked: %v", ev, got)
		}
		if got := said(`{"continue":false}`).Halt; got == (ev == hooks.StopFailure || ev == hooks.SessionEnd) {
			t.Errorf("%s can halt: %v", ev, got)
		}
	}
}

// When stdout is JSON and when it is text, on an event whose text is context and
// on one whose text is nobody's (Claude Code hooks reference, exit code 0). What
// looks like JSON and is none is said on every event; where text is context, text
// that only begins like JSON is text.
func TestStdoutIsTextOrJSON(t *testing.T) {
	for _, c := range []struct{ name, stdout, start, stop string }{
		{"an object", `{"systemMessage":"m"}`, "json", "json"},
		{"blanks round it", " \r\n{\"systemMessage\":\"m\"}\n\n", "json", "json"},
		{"begins like an object", "{note} be careful\n", "text", "failed"},
		{"half an object", `{"systemMessage":"m"`, "failed", "failed"}, // its end is missing, and with it a decision
		{"half an object, blanks", "{\n  \"systemMessage\"", "failed", "failed"},
		{"ends like one too", "{not json}", "failed", "failed"},
		{"lines of another program's log", "{\"level\":\"info\"}\n{\"level\":\"warn\"}\n", "text", "failed"},
		{"a log line before the answer", "{\"level\":\"info\"}\n{\"systemMessage\":\"m\"}\n", "failed", "failed"},
		{"an answer on many lines", "{\n\"systemMessage\":\n\"m\"\n}", "json", "json"},
		{"an array", `["a"]`, "text", "nothing"},
		{"a banner", "hi\n{\"systemMessage\":\"m\"}", "text", "nothing"},
	} {
		for ev, want := range map[hooks.Event]string{hooks.SessionStart: c.start, hooks.Stop: c.stop} {
			a := decode(bashCall(ev), commandHandler(ev), hooks.Exit{Stdout: []byte(c.stdout)})
			got := "nothing"
			switch {
			case a.Decision == hooks.Failed:
				got = "failed"
			case a.Message == "m":
				got = "json"
			case a.Context != nil:
				got = "text"
			}
			if got != want {
				t.Errorf("%s on %s: %s, want %s", c.name, ev, got, want)
			}
		}
	}
}

// Time limits by type and event (Claude Code hooks reference, common fields and
// SessionEnd).
func TestTimeoutTable(t *testing.T) {
	const (
		cmd    = `"type":"command","command":"x"`
		web    = `"type":"http","url":"http://x"`
		mcp    = `"type":"mcp_tool","server":"s","tool":"t"`
		prompt = `"type":"prompt","prompt":"x"`
		agent  = `"type":"agent","prompt":"x"`
	)
	for _, c := range []struct {
		ev, handler, env string
		layer            hooks.Layer
		want             time.Duration
	}{
		{ev: "Stop", handler: cmd, want: 600 * time.Second},
		{ev: "Stop", handler: web, want: 600 * time.Second},
		{ev: "Stop", handler: mcp, want: 600 * time.Second},
		{ev: "Stop", handler: prompt, want: 30 * time.Second},
		{ev: "Stop", handler: agent, want: 60 * time.Second},
		{ev: "Stop", handler: cmd + `,"timeout":0.25`, want: 250 * time.Millisecond},
		{ev: "UserPromptSubmit", handler: cmd, want: 30 * time.Second},
		{ev: "UserPromptSubmit", handler: web, want: 30 * time.Second},
		{ev: "UserPromptSubmit", handler: mcp, want: 30 * time.Second},
		{ev: "UserPromptSubmit", handler: prompt, want: 30 * time.Second},
		{ev: "UserPromptSubmit", handler: agent, want: 60 * time.Second},
		{ev: "UserPromptSubmit", handler: cmd + `,"timeout":90`, want: 90 * time.Second},
		{ev: "PreModelSwitch", handler: cmd, want: 30 * time.Second},
		{ev: "PostModelSwitch", handler: mcp, want: 30 * time.Second},
		{ev: "UserPromptExpansion", handler: cmd, want: 600 * time.Second},
		{ev: "SessionEnd", handler: cmd, want: 1500 * time.Millisecond},
		{ev: "SessionEnd", handler: cmd + `,"timeout":1`, want: time.Second},
		{ev: "SessionEnd", handler: cmd + `,"timeout":10`, want: 10 * time.Second},
		{ev: "SessionEnd", handler: cmd + `,"timeout":600`, want: 60 * time.Second},
		{ev: "SessionEnd", handler: cmd + `,"timeout":10`, layer: hooks.LayerPlugin, want: 1500 * time.Millisecond},
		{ev: "SessionEnd", handler: cmd, env: "4000", want: 4 * time.Second},
		{ev: "SessionEnd", handler: cmd + `,"timeout":10`, env: "4000", want: 4 * time.Second},
		{ev: "SessionEnd", handler: cmd + `,"timeout":10`, env: "nonsense", want: 1500 * time.Millisecond},
	} {
		layer := c.layer
		if layer == "" {
			layer = hooks.LayerUser
		}
		f, problems := parseFile("/f", layer, []byte(`{"hooks":{"`+c.ev+`":[{"hooks":[{`+c.handler+`}]}]}}`))
		if len(f.Handlers) != 1 {
			t.Fatalf("%s %s: %v", c.ev, c.handler, problems)
		}
		var env hooks.Environ
		if c.env != "" {
			env = env.Set("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", c.env)
		}
		if got := New(Config{Files: []*File{f}, Env: env}).Handlers()[0].Timeout; got != c.want {
			t.Errorf("%s %s %s: %v, want %v", c.ev, c.handler, c.env, got, c.want)
		}
	}
}

// Which handlers are the same one: command and arguments, or URL, of settings
// files; a plugin's copies run beside them.
func TestDedupeTable(t *testing.T) {
	const cmd = `{"type":"command","command":"x"}`
	for _, c := range []struct {
		name, a, b string
		second     hooks.Layer
		want       int
	}{
		{"the same", cmd, cmd, hooks.LayerManaged, 1},
		{"another time limit", cmd, `{"type":"command","command":"x","timeout":5,"statusMessage":"s"}`, hooks.LayerManaged, 1},
		{"another command", cmd, `{"type":"command","command":"x "}`, hooks.LayerManaged, 2},
		{"with args", cmd, `{"type":"command","command":"x","args":[]}`, hooks.LayerManaged, 2},
		{"other args", `{"type":"command","command":"x","args":["a b"]}`, `{"type":"command","command":"x","args":["a","b"]}`, hooks.LayerManaged, 2},
		{"another shell", cmd, `{"type":"command","command":"x","shell":"powershell"}`, hooks.LayerManaged, 2},
		{"the same URL", `{"type":"http","url":"http://x"}`, `{"type":"http","url":"http://x","headers":{"A":"b"}}`, hooks.LayerManaged, 1},
		{"another URL", `{"type":"http","url":"http://x"}`, `{"type":"http","url":"http://y"}`, hooks.LayerManaged, 2},
		{"a plugin's copy", cmd, cmd, hooks.LayerPlugin, 2},
		{"an offered plugin's copy", cmd, cmd, hooks.LayerOffered, 2},
	} {
		parse := func(layer hooks.Layer, h string) *File {
			f, _ := parseFile("/"+string(layer), layer, []byte(`{"hooks":{"Stop":[{"hooks":[`+h+`]}]}}`))
			return f
		}
		d := New(Config{Files: []*File{parse(hooks.LayerUser, c.a), parse(c.second, c.b)}})
		if got := len(d.Match(&hooks.Call{Event: hooks.Stop})); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	// A repository's env block makes another command of the same words.
	u, _ := parseFile("/u", hooks.LayerProject, []byte(`{"env":{"A":"1"},"hooks":{"Stop":[{"hooks":[`+cmd+`]}]}}`))
	l, _ := parseFile("/l", hooks.LayerLocal, []byte(`{"hooks":{"Stop":[{"hooks":[`+cmd+`]}]}}`))
	if got := len(New(Config{Files: []*File{u, l}}).Match(&hooks.Call{Event: hooks.Stop})); got != 2 {
		t.Errorf("with another environment: %d", got)
	}
}

// Which variables which event's hooks get, and what of the agent's own is not
// theirs: another session's, an exporter's, a provider's.
func TestEnvironmentTable(t *testing.T) {
	f, _ := parseFile("/f", hooks.LayerUser, []byte(one("Stop", "x")))
	inherited := hooks.Environ{
		"PATH=/bin", "GH_TOKEN=kept", "OTEL_EXPORTER_OTLP_HEADERS=x", "ANTHROPIC_API_KEY=x",
		"CLAUDE_ENV_FILE=/other", "CLAUDE_PLUGIN_ROOT=/other", "CLAUDE_PLUGIN_DATA=/other", "CLAUDE_PLUGIN_OPTION_A=x", "CLAUDE_EFFORT=x", "CLAUDE_PID=1",
		"CLAUDE_CODE_SESSION_ID=other", "CLAUDE_PROJECT_DIR=/other", "CLAUDE_CODE_BRIDGE_SESSION_ID=other", "CLAUDE_CODE_REMOTE=true",
		"AWS_SECRET_ACCESS_KEY=x", "INPUT_ANTHROPIC_API_KEY=x",
	}
	environ := func(env hooks.Environ, c *hooks.Call) hooks.Environ {
		d := New(Config{Files: []*File{f}, Env: env, EnvFile: func(id string) string { return "/env/" + id }})
		return d.environ(d.handlers[0], c)
	}
	for _, ev := range heard() {
		env := environ(inherited, &hooks.Call{Event: ev, SessionID: "S", ProjectDir: "/p"})
		for key, want := range map[string]string{
			"PATH": "/bin", "GH_TOKEN": "kept", "CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1", "CLAUDE_CODE_SESSION_ID": "S",
			"CLAUDE_PROJECT_DIR": "/p", "CLAUDE_CODE_REMOTE": "true", "AWS_SECRET_ACCESS_KEY": "x",
			"OTEL_EXPORTER_OTLP_HEADERS": "", "ANTHROPIC_API_KEY": "", "CLAUDE_PLUGIN_ROOT": "", "CLAUDE_PLUGIN_DATA": "",
			"CLAUDE_PLUGIN_OPTION_A": "", "CLAUDE_EFFORT": "", "CLAUDE_PID": "", "CLAUDE_CODE_BRIDGE_SESSION_ID": "",
		} {
			if got, _ := env.Get(key); got != want {
				t.Errorf("%s: %s=%s, want %s", ev, key, got, want)
			}
		}
		file, _ := env.Get("CLAUDE_ENV_FILE")
		if got := file == "/env/S"; got != (ev == hooks.SessionStart || ev == hooks.CwdChanged || ev == hooks.FileChanged) || !got && file != "" {
			t.Errorf("%s: CLAUDE_ENV_FILE=%s", ev, file)
		}
	}
	env := environ(append(inherited, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1"), &hooks.Call{Event: hooks.Stop})
	for key, want := range map[string]string{"GH_TOKEN": "kept", "AWS_SECRET_ACCESS_KEY": "", "INPUT_ANTHROPIC_API_KEY": ""} {
		if got, _ := env.Get(key); got != want {
			t.Errorf("scrubbed: %s=%s", key, got)
		}
	}
}

// The vendor's table of Bash patterns (Claude Code hooks reference, common
// fields).
func TestIfTable(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		want          bool
	}{
		{"Bash(git *)", "FOO=bar git push", true},
		{"Bash(git *)", "npm test && git push", true},
		{"Bash(git *)", "npm test; git push | cat", true},
		{"Bash(rm *)", "echo $(rm -rf /)", true},
		{"Bash(rm *)", "echo `rm -rf /`", true},
		{"Bash(rm *)", "echo $(date)", false},
		{"Bash(rm *)", "echo $HOME", false},
		{"Bash(git push *)", "echo $(date)", true},
		{"Bash(git push *)", "echo `date`", true},
		{"Bash(git push *)", "echo $HOME", true},
		{"Bash(git push *)", "echo hi", false},
		{"Bash(git push *)", "if then fi (", true}, // cannot be read: run
	} {
		r, err := parseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		call := &hooks.Call{Event: hooks.PreToolUse, Cwd: "/w", Tool: ruleTool(c.rule, c.command)}
		if got := r.matches(call, ""); got != c.want {
			t.Errorf("%s on %q: %v", c.rule, c.command, got)
		}
	}
	// On any other event such a handler never runs.
	for _, ev := range heard() {
		f, _ := parseFile("/f", hooks.LayerUser, []byte(`{"hooks":{"`+string(ev)+`":[{"hooks":[{"type":"command","command":"x","if":"Bash"}]}]}}`))
		if got := f.Handlers[0].Why == ""; got != isToolEvent(ev) {
			t.Errorf("%s: %v", ev, got)
		}
	}
}

// What each event's matcher is tested on; the rest ignore it.
func TestSubjectTable(t *testing.T) {
	fields := map[string]any{
		"notification_type": "x", "error": "x", "source": "x", "load_reason": "x", "command_name": "x", "mcp_server_name": "x", "to_model": "x",
		"file_path": "/w/x",
	}
	none := []hooks.Event{hooks.UserPromptSubmit, hooks.PostToolBatch, hooks.Stop, hooks.CwdChanged}
	for _, ev := range heard() {
		c := &hooks.Call{Event: ev, Source: "x", Reason: "x", Trigger: "x", AgentType: "x", Tool: &hooks.Tool{Name: "x"}, Fields: fields}
		for matcher, want := range map[string]bool{"x": true, "^x$": true, "y": slices.Contains(none, ev), "": true, "*": true} {
			m, err := compileMatcher(ev, matcher)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.matches(subject(ev, c)...); got != want {
				t.Errorf("%s, matcher %q: %v", ev, matcher, got)
			}
		}
	}
}

// Where a hook runs when its directory is gone: the project, home, and the
// system's directory for temporary files.
func TestFallbackDirectories(t *testing.T) {
	f, _ := parseFile("/f", hooks.LayerUser, []byte(one("Stop", "x")))
	d := New(Config{Files: []*File{f}, Home: "/home/u"})
	p, err := d.process(&hooks.Job{Call: &hooks.Call{Event: hooks.Stop, Cwd: "/gone", ProjectDir: "/p"}, Handler: f.Handlers[0]})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Fallbacks[:2], " "); got != "/p /home/u" || len(p.Fallbacks) != 3 || !filepath.IsAbs(p.Fallbacks[2]) {
		t.Errorf("%v", p.Fallbacks)
	}
}

// Every event of the vendor's either comes here or is told why not.
func TestEveryEventIsSaid(t *testing.T) {
	for _, ev := range vendorEvents {
		f, problems := parseFile("/f", hooks.LayerUser, []byte(one(string(ev), "x")))
		if why := hooks.Absent(ev); why != "" {
			if len(f.Handlers) != 0 || !strings.Contains(fmt.Sprint(problems), why) {
				t.Errorf("%s: %v", ev, problems)
			}
		} else if len(f.Handlers) != 1 || len(problems) > 0 {
			t.Errorf("%s: %v", ev, problems)
		}
	}
}

// What matchers of FileChanged name, and what answers do: files for every hook of
// the event (Claude Code hooks reference, FileChanged).
func TestWatchedFiles(t *testing.T) {
	for matcher, want := range map[string][]string{
		".envrc|.env": {".envrc", ".env"}, "package.json": {"package.json"}, "a.b|/w/c d": {"a.b", "/w/c d"}, "": nil, "*": nil,
	} {
		f, _ := parseFile("/f", hooks.LayerUser, []byte(`{"hooks":{"FileChanged":[{"matcher":"`+matcher+`","hooks":[{"type":"command","command":"x"}]}]}}`))
		if got := f.Handlers[0].Watches; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", matcher, got, want)
		}
	}
	for _, ev := range heard() {
		answer := `{"hookSpecificOutput":{"hookEventName":"` + string(ev) + `","watchPaths":["/w/a","b"]}}`
		a := decode(bashCall(ev), commandHandler(ev), hooks.Exit{Stdout: []byte(answer)})
		takes := ev == hooks.SessionStart || ev == hooks.CwdChanged || ev == hooks.FileChanged
		if got := slices.Equal(a.WatchPaths, []string{"/w/a"}); got != takes || !takes && a.WatchPaths != nil || takes && len(a.Notices) != 1 {
			t.Errorf("%s: %q, %q", ev, a.WatchPaths, a.Notices)
		}
	}
	none := decode(bashCall(hooks.CwdChanged), commandHandler(hooks.CwdChanged), hooks.Exit{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"CwdChanged","watchPaths":[]}}`)})
	if none.WatchPaths == nil || len(none.WatchPaths) > 0 {
		t.Errorf("an empty list clears: %#v", none.WatchPaths)
	}
}
