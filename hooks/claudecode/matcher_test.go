package claudecode

import (
	"encoding/json"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// TestMatchers is Claude Code hooks reference, matchers, rule by rule.
func TestMatchers(t *testing.T) {
	for _, tc := range []struct {
		ev      hooks.Event
		matcher string
		yes, no string // subjects, blank-separated; ~ is the empty one
	}{
		// 1: everything.
		{hooks.PreToolUse, "", "bash read mcp__a__b", ""},
		{hooks.PreToolUse, "*", "bash read", ""},
		// 2: lists of exact names.
		{hooks.PreToolUse, "Bash", "bash", "read BashX Xbash"},
		{hooks.PreToolUse, "bash", "bash", "read"}, // the agent's own name
		{hooks.PreToolUse, "BASH", "", "bash"},
		{hooks.PreToolUse, "Edit|Write", "edit write", "read bash NotebookEdit"},
		{hooks.PreToolUse, "Edit, Write", "edit write", "read"}, // can1357/oh-my-pi#6473
		{hooks.PreToolUse, " Edit | Write ", "edit write", "read"},
		{hooks.PreToolUse, "edit|Write", "edit write", "read"},
		{hooks.PreToolUse, "my-tool", "my-tool", "mytool my-tool2"},
		{hooks.PreToolUse, "mcp__memory", "", "mcp__memory__create"}, // 6
		{hooks.PreToolUse, "|", "", "bash ~"},
		// 3: unanchored JavaScript expressions, on the dialect's name only.
		{hooks.PreToolUse, "Edit.*", "edit NotebookEdit", "write"},
		{hooks.PreToolUse, "^Bash$", "bash", "read BashX"},
		{hooks.PreToolUse, "^bash$", "", "bash"},
		{hooks.PreToolUse, "^(?!Bash$).*", "read write", "bash"}, // 7.8
		{hooks.PreToolUse, "mcp__memory__.*", "mcp__memory__create", "mcp__other__create"},
		{hooks.PreToolUse, "mcp__.*__write", "mcp__fs__write", "mcp__fs__read"},
		{hooks.PreToolUse, `^(\w)\w*\1$`, "level", "bash"},
		{hooks.PreToolUse, "Web(Fetch|Search)", "web_fetch web_search", "bash"},
		// 7: former names.
		{hooks.PreToolUse, "Task", "subagent", "bash"},
		{hooks.PreToolUse, "KillShell", "job_kill", "bash"},
		// Other subjects.
		{hooks.SessionStart, "startup|resume", "startup resume", "clear"},
		{hooks.SessionStart, "start", "", "startup"},
		{hooks.SessionStart, "start.*", "startup", "resume"},
		{hooks.SessionEnd, "other", "other", "clear"},
		{hooks.PreCompact, "auto", "auto", "manual"},
		{hooks.Notification, "permission_prompt", "permission_prompt", "idle_prompt"},
		// 4: the narrower list form.
		{hooks.StopFailure, "rate_limit|overloaded", "rate_limit overloaded", "unknown"},
		{hooks.StopFailure, "rate_limit, overloaded", "", "rate_limit overloaded"},
		// 5: no subject.
		{hooks.UserPromptSubmit, "anything(", "x", ""},
		{hooks.Stop, "Bash", "~", ""},
		// 8: an empty subject.
		{hooks.SubagentStop, "explorer", "explorer", "~"},
		{hooks.SubagentStop, ".*", "explorer", "~"},
		{hooks.SubagentStop, "*", "explorer ~", ""},
	} {
		m, err := compileMatcher(tc.ev, tc.matcher)
		if err != nil {
			t.Errorf("%s %q: %v", tc.ev, tc.matcher, err)
			continue
		}
		check := func(list string, want bool) {
			for s := range strings.FieldsSeq(list) {
				if s == "~" {
					s = ""
				}
				c := &hooks.Call{
					Event: tc.ev, Source: s, Reason: s, Trigger: s, AgentType: s, Tool: &hooks.Tool{Name: s},
					Fields: map[string]any{"notification_type": s, "error": s},
				}
				if got := m.matches(subject(tc.ev, c)...); got != want {
					t.Errorf("%s %q on %q: %v", tc.ev, tc.matcher, s, got)
				}
			}
		}
		check(tc.yes, true)
		check(tc.no, false)
	}
	for _, bad := range []string{"Bash(", "[", "*Bash", "(?<"} {
		if _, err := compileMatcher(hooks.PreToolUse, bad); err == nil {
			t.Errorf("%q compiles", bad)
		}
	}
}

// An expression that backtracks without end is given up, towards running.
func TestMatcherTimeLimit(t *testing.T) {
	m, err := compileMatcher(hooks.PreToolUse, `^(([a-z])+.)+[A-Z]([a-z])+$`)
	if err != nil {
		t.Fatal(err)
	}
	if !m.matches(strings.Repeat("a", 200)) {
		t.Error("a guard was skipped")
	}
}

func FuzzMatcher(f *testing.F) {
	for _, s := range []string{"", "*", "A|B", "a, b", "^(?!x).*", "(", `\d+`, "mcp__.*", "é|ü", "|,|"} {
		f.Add(s, "Bash")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		m, err := compileMatcher(hooks.PreToolUse, text)
		if err != nil {
			if isList(text, false) {
				t.Fatalf("a list does not compile: %q", text)
			}
			return
		}
		got := m.matches(name, "bash")
		if m.exact != nil && name != "" {
			want := false
			for _, n := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '|' }) {
				n = strings.TrimSpace(n)
				want = want || n != "" && (n == name || n == "bash")
			}
			if got != want {
				t.Fatalf("%q on %q: %v", text, name, got)
			}
		}
	})
}

func TestIfRules(t *testing.T) {
	for _, tc := range []struct {
		rule    string
		yes, no []string // for Bash the command, else tool and path
	}{
		{"Bash", []string{"ls"}, nil},
		{"Bash(*)", []string{"ls"}, nil},
		{
			"Bash(git commit:*)",
			[]string{
				"git commit", "git commit -m 'x'", "A=1 git commit", "cd x && git commit", "(git commit)", "echo $(git commit)", "true; `git commit`",
				"git $SUB", "git push $(x)", "if true; then git commit; fi", "git commit\n", "broken ' quote",
			},
			[]string{"git committed", "git push", "echo git commit", "ls"},
		},
		{"Bash(git commit *)", []string{"git commit", "git commit -a"}, []string{"git committed"}},
		{"Bash(git *)", []string{"git", "git status", "ls | git apply", "X=$Y git status"}, []string{"gitk", "ls $HOME", "echo `ls`"}},
		{"Bash(git:*)", []string{"git", "git status"}, []string{"gitk"}},
		{"Bash(npm run test)", []string{"npm run test", "npm run test && ls"}, []string{"npm run test2", "npm run"}},
		{"Bash(git * main)", []string{"git push origin main"}, []string{"git push origin dev"}},
		{"Bash(rm *)", []string{"rm -rf x", "for f in a; do rm $f; done", "find . && FOO=bar rm x"}, []string{"echo rm"}},
		{"Edit(*.ts)", []string{"edit src/a.ts", "edit a.ts"}, []string{"edit a.go", "write a.ts", "bash a.ts"}},
		{"Edit(src/**)", []string{"edit src/a.ts", "edit src/b/c.go"}, []string{"edit other/src/a.ts", "edit a.ts"}},
		{"Edit(./src/**)", []string{"edit src/a.ts"}, []string{"edit a.ts"}},
		{"Edit(/src/**)", []string{"edit src/a.ts"}, []string{"edit a.ts"}},
		{"Edit(//etc/**)", []string{"edit /etc/passwd"}, []string{"edit etc/passwd"}},
		{"Edit(//etc/**)", []string{"edit /etc/./passwd", "edit //etc/passwd", "edit /work/../etc/passwd"}, []string{"edit /etc/../work/a"}},
		{"Edit(~/notes/*)", []string{"edit /home/u/notes/a"}, []string{"edit notes/a"}},
		{"Read(secrets)", []string{"read secrets/a", "read x/secrets"}, []string{"read secretsx"}},
		{"mcp__fs", []string{"mcp__fs__read x"}, []string{"mcp__fs2__read x", "read x"}},
		{"mcp__fs__*", []string{"mcp__fs__read x"}, []string{"mcp__fs2__read x"}},
		{"mcp__fs__read", []string{"mcp__fs__read x"}, []string{"mcp__fs__read_all x"}},
		{"Task(explorer)", []string{"subagent explorer"}, []string{"subagent other"}},
		{"WebFetch(domain:example.com)", []string{"web_fetch https://example.com/x", "web_fetch https://Example.COM./x", "web_fetch https://example.com:8443"}, []string{"web_fetch https://evil.org/example.com"}},
		{"WebFetch(domain:*.Example.com)", []string{"web_fetch https://a.example.com/x", "web_fetch https://A.EXAMPLE.com./x"}, []string{"web_fetch https://example.com", "web_fetch https://aexample.com"}},
	} {
		r, err := parseRule(tc.rule)
		if err != nil {
			t.Errorf("%s: %v", tc.rule, err)
			continue
		}
		check := func(list []string, want bool) {
			for _, s := range list {
				c := &hooks.Call{Event: hooks.PreToolUse, Cwd: "/work", ProjectDir: "/work", Tool: ruleTool(tc.rule, s)}
				if got := r.matches(c, "/home/u"); got != want {
					t.Errorf("%s on %q: %v", tc.rule, s, got)
				}
			}
		}
		check(tc.yes, true)
		check(tc.no, false)
	}
	for _, bad := range []string{"Bash(git *)|Edit(*.ts)", "Bash(git commit:*|git push:*)", "Bash(a) Bash(b)", "", "Bash(", "(x)"} {
		if _, err := parseRule(bad); err == nil {
			t.Errorf("%q is one rule", bad)
		}
	}
}

func ruleTool(rule, s string) *hooks.Tool {
	if strings.HasPrefix(rule, "Bash") {
		in, _ := json.Marshal(map[string]string{"command": s})
		return &hooks.Tool{Name: "bash", Input: in}
	}
	name, arg, _ := strings.Cut(s, " ")
	in, _ := json.Marshal(map[string]string{"file_path": arg, "subagent_type": arg, "url": arg})
	return &hooks.Tool{Name: name, Input: in}
}
