package codex

import (
	"regexp"
	"strings"
	"testing"

	"acp-agent/hooks"
)

func toolCall(name string) *hooks.Call {
	return &hooks.Call{Event: hooks.PreToolUse, Tool: &hooks.Tool{Name: name}}
}

// TestMatcher is Codex 0.171.0, matchers, with the observed cases ([X]) among them.
func TestMatcher(t *testing.T) {
	start := func(source string) *hooks.Call { return &hooks.Call{Event: hooks.SessionStart, Source: source} }
	for _, c := range []struct {
		matcher string
		call    *hooks.Call
		want    bool
	}{
		{"", toolCall("bash"), true},
		{"*", toolCall("mcp__a__b"), true},
		{"Bash", toolCall("bash"), true},
		{"bash", toolCall("bash"), true}, // the native name, in a list
		{"Edit|bash", toolCall("bash"), true},
		{"BASH", toolCall("bash"), false},
		{"Bas", toolCall("bash"), false},
		{"^bash$", toolCall("bash"), false}, // a regular expression sees Codex's names only
		{"^Bash$", toolCall("bash"), true},
		{"Ba.*", toolCall("bash"), true},
		{"exec_command", toolCall("bash"), false},
		{"Bash|", toolCall("bash"), true},
		{"|", toolCall("bash"), false},
		{"Bash | Edit", toolCall("bash"), false}, // a blank makes it a regular expression, with the blanks in it
		{"apply_patch", toolCall("edit"), true},
		{"Edit", toolCall("write"), true},
		{"Write", toolCall("edit"), true},
		{"edit", toolCall("edit"), true},
		{"edit", toolCall("write"), false},
		{"write", toolCall("write"), true},
		{"Edit.*", toolCall("edit"), true},
		{"^edit$", toolCall("edit"), false},
		{"Agent", toolCall("subagent"), true},
		{"spawn_agent", toolCall("subagent"), true},
		{"subagent", toolCall("subagent"), true},
		{"read", toolCall("read"), true},
		{"^re", toolCall("read"), true},
		{"Read", toolCall("read"), false},
		{"mcp__memory__save", toolCall("mcp__memory__save"), true},
		{"mcp__memory", toolCall("mcp__memory__save"), false},
		{"mcp__memory__.*", toolCall("mcp__memory__save"), true},
		{"mcp__.*__write.*", toolCall("mcp__fs__write_file"), true},
		{"startup", start("startup"), true},
		{"startup|resume", start("resume"), true},
		{"startup,resume", start("startup"), false},
		{"startup, resume", start("startup"), false},
		{"startup | resume", start("startup"), false},
		{"start", start("startup"), false},
		{"start.*", start("startup"), true},
		{"up$", start("startup"), true},
		{"code-reviewer", &hooks.Call{Event: hooks.SubagentStart, AgentType: "my-code-reviewer-2"}, true}, // a hyphen makes it a regular expression
		{"auto", &hooks.Call{Event: hooks.PreCompact, Trigger: "auto"}, true},
		{"manual", &hooks.Call{Event: hooks.PostCompact, Trigger: "auto"}, false},
		{"other", &hooks.Call{Event: hooks.SessionEnd, Reason: "clear"}, true},
		{"clear", &hooks.Call{Event: hooks.SessionEnd, Reason: "clear"}, false},
	} {
		m, err := compileMatcher(c.matcher)
		if err != nil {
			t.Errorf("%q: %v", c.matcher, err)
			continue
		}
		if got := m.matches(subjectOf(c.call)); got != c.want {
			t.Errorf("matcher %q on %s %+v: %t, want %t", c.matcher, c.call.Event, subjectOf(c.call), got, c.want)
		}
	}
}

// TestInvalidMatcher: the group is dead and reported, the rest of the file
// lives; on an event without a subject even an invalid one is ignored.
func TestInvalidMatcher(t *testing.T) {
	d, problems := load(t, `{"hooks":{"PreToolUse":[
		{"matcher":"^(?!Bash$).*","hooks":[{"type":"command","command":"dead"}]},
		{"matcher":"Bash","hooks":[{"type":"command","command":"alive"}]}],
		"Stop":[{"matcher":"[","hooks":[{"type":"command","command":"stop"}]}]}}`)
	if len(problems) != 2 || !strings.Contains(problems[0].Text, "never runs, the rest of the file does") {
		t.Errorf("problems: %v", problems)
	}
	var can []string
	for _, h := range append(d.Match(toolCall("bash")), d.Match(&hooks.Call{Event: hooks.Stop})...) {
		if h.Why == "" {
			can = append(can, h.Command)
		}
	}
	if got := strings.Join(can, " "); got != "alive stop" {
		t.Errorf("handlers that can run: %s, want alive stop", got)
	}
}

// FuzzMatcher: the list path is chosen by charset alone and is exact; every
// other text does what its regular expression does.
func FuzzMatcher(f *testing.F) {
	for _, s := range []string{"", "*", "Bash", "Edit|Write", "a b", "[", "^B", "mcp__.*", "|", "é", "a-b", "a,b"} {
		f.Add(s, "Bash")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		m, err := compileMatcher(text)
		s := subject{names: []string{name}}
		switch {
		case text == "" || text == "*":
			if err != nil || !m.matches(s) {
				t.Fatalf("%q does not match everything", text)
			}
		case regexp.MustCompile(`^[A-Za-z0-9_|]+$`).MatchString(text) && !strings.HasSuffix(text, "\n"):
			want := false
			for _, n := range strings.Split(text, "|") {
				want = want || n == name
			}
			if err != nil || m.matches(s) != want {
				t.Fatalf("list %q on %q: %v", text, name, err)
			}
		default:
			re, rerr := regexp.Compile(text)
			if (rerr == nil) != (err == nil) {
				t.Fatalf("%q: %v, regexp says %v", text, err, rerr)
			}
			if err == nil && m.matches(s) != re.MatchString(name) {
				t.Fatalf("%q on %q differs from its regular expression", text, name)
			}
		}
	})
}
