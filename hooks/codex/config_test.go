package codex

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// TestHash compares our trust hashes with those that codex-cli 0.171.0 gave
// (app-server, hooks/list) for the same file.
func TestHash(t *testing.T) {
	c, err := parseHooksJSON(readFile(t, "testdata/hashed-hooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(readFile(t, "testdata/hashes.json"), &want); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range c.groups {
		g := &c.groups[i]
		for j := range g.handlers {
			key := fmt.Sprintf("%s:%d:%d", events[g.event], g.index, g.handlers[j].index)
			if got := codexHash(g, &g.handlers[j], "linux"); got != want[key] {
				t.Errorf("%s: hash %s, Codex says %s", key, got, want[key])
			}
			n++
		}
	}
	if n != len(want) {
		t.Errorf("%d handlers, Codex listed %d", n, len(want))
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStrictFile: what drops the whole file, with the place and the remedy.
func TestStrictFile(t *testing.T) {
	handler := func(h string) string { return `{"hooks":{"Stop":[{"hooks":[` + h + `]}]}}` }
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1 column 1"},
		{"comment", "{ // c\n \"hooks\": {}}", "line 1 column 3"},
		{"trailing comma", `{"hooks":{},}`, "line 1"},
		{"two values", `{"hooks":{}} {}`, "line 1 column 15: there is more text"},
		{"array", `[]`, `an array where an object with the key "hooks"`},
		{"bare map", `{"UserPromptSubmit":[]}`, `unknown top-level key "UserPromptSubmit": put the events inside`},
		{"top level", "{\n\"hooks\":{},\n \"permissions\":{}}", `line 3 column 2: unknown top-level key "permissions"`},
		{"case", `{"Hooks":{}}`, `unknown top-level key "Hooks"`},
		{"doubled", `{"hooks":{},"hooks":{}}`, `"hooks" is given twice`},
		{"description", `{"description":1}`, "(description): a number where a string"},
		{"hooks null", `{"hooks":null}`, "(hooks): null where an object"},
		{"event not array", `{"hooks":{"Stop":{}}}`, "(hooks.Stop): an object where an array"},
		{"event twice", `{"hooks":{"Stop":[],"Stop":[]}}`, "the event is given twice"},
		{"group", `{"hooks":{"Stop":["x"]}}`, "(hooks.Stop[0]): a string where a group"},
		{"matcher", `{"hooks":{"PreToolUse":[{"matcher":{"tool":"Bash"}}]}}`, "(hooks.PreToolUse[0].matcher): an object where a string"},
		{"http", handler(`{"type":"http","url":"http://127.0.0.1:1"}`), `(hooks.Stop[0].hooks[0].type): unknown handler type "http"`},
		{"no type", handler(`{"command":"x"}`), `needs a "type"`},
		{"no command", handler(`{"type":"command"}`), `needs a "command"`},
		{"command null", handler(`{"type":"command","command":null}`), `needs a "command"`},
		{"float", handler(`{"type":"command","command":"x","timeout":1.5}`), "timeout): 1.5 is not a whole number"},
		{"float that is whole", handler(`{"type":"command","command":"x","timeout":5.0}`), "5.0 is not a whole number"},
		{"exponent", handler(`{"type":"command","command":"x","timeout":1e2}`), "1e2 is not a whole number"},
		{"negative", handler(`{"type":"command","command":"x","timeout":-1}`), "-1 is negative"},
		{"huge", handler(`{"type":"command","command":"x","timeout":18446744073709551616}`), "does not fit into 64 bits"},
		{"string", handler(`{"type":"command","command":"x","timeout":"5"}`), "a string where a whole number"},
		{"async", handler(`{"type":"command","command":"x","async":"yes"}`), "async): a string where true or false"},
		{"async null", handler(`{"type":"command","command":"x","async":null}`), "async): null where"},
		{"limit", handler(`{"type":"command","command":"x","additionalContextLimit":-2}`), "additionalContextLimit): -2 is negative"},
		{"alias twice", handler(`{"type":"command","command":"x","commandWindows":"a","command_windows":"b"}`), "given twice"},
		{"mcp", handler(`{"type":"mcp_tool","server":"s"}`), `needs a "server" and a "tool"`},
		{"mcp null", handler(`{"type":"mcp_tool","server":"s","tool":"t","input":{"a":[null]}}`), "TOML, which has no null"},
		{"utf-8", "{\"description\":\"\xff\"}", "not valid UTF-8"},
		{"deep", `{"hooks":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`, "nested more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "hooks.json"), c.text)
			files, problems := Discover(DiscoverOptions{CodexHome: dir})
			if !files[0].Dropped || files[0].config != nil {
				t.Error("the file was not dropped")
			}
			if len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) || !strings.Contains(problems[0].Text, "drops the whole file") {
				t.Errorf("problems %q, want one with %q", problems, c.want)
			}
		})
	}
}

// TestLaxFile: what Codex puts up with, and what is said about it.
func TestLaxFile(t *testing.T) {
	const text = `{"description":"d","hooks":{
		"Nope":[{"hooks":[{"type":"http"}]}],
		"UserPromptSubmit":[{"matcher":"^zzz$","extra":1,"hooks":[
			{"type":"command","command":"echo ok6","once":true,"if":"Bash(x)","shell":"bash","args":["q"],"onFailure":"block","env":{"A":"b"},"_comment":"c","statusMessage":null},
			{"type":"prompt","prompt":1},
			{"type":"agent"},
			{"type":"command","command":"  "}]}],
		"PreToolUse":[{"matcher":"[","hooks":[{"type":"command","command":"never"}]},{"matcher":null,"hooks":[{"type":"command","command":"b","timeout":0}]},{}],
		"SessionEnd":[{"hooks":[{"type":"command","command":"e","timeout":9},{"type":"command","command":"f","async":true},{"type":"mcp_tool","server":"s","tool":"t"}]}]}}`
	d, problems := load(t, text)
	var got []string
	for _, h := range d.Handlers() {
		if h.Async {
			t.Errorf("%s %q would end with the session that it tells of", h.Event, h.Command)
		}
		got = append(got, fmt.Sprintf("%s %q %s why=%q", h.Event, h.Command, h.Timeout, h.Why))
	}
	want := []string{
		`UserPromptSubmit "echo ok6" 10m0s why=""`,
		`UserPromptSubmit "" 10m0s why="Codex does not support prompt hooks yet and skips them; use a command"`,
		`UserPromptSubmit "" 10m0s why="Codex does not support agent hooks yet and skips them; use a command"`,
		`UserPromptSubmit "  " 10m0s why="the command is empty, so there is nothing to run"`,
		"PreToolUse \"never\" 10m0s why=\"the matcher \\\"[\\\" of its group is not a regular expression (error parsing regexp: missing closing ]: `[`)\"",
		`PreToolUse "b" 1s why=""`,
		`SessionEnd "e" 3s why=""`,
		`SessionEnd "f" 1s why=""`,
		`SessionEnd "s/t" 1s why="Codex runs no mcp_tool handlers on SessionEnd; use a command"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("handlers\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	all := fmt.Sprint(problems)
	for _, want := range []string{
		"hooks.Nope): Codex has no event of this name",
		"line 4 column 55 (hooks.UserPromptSubmit[0].hooks[0].if): Codex ignores this key: the handler runs on every match",
		".args): Codex ignores this key: the command runs without its arguments",
		".once)", ".shell)", ".env)", ".onFailure)",
		"Codex ignores a matcher on UserPromptSubmit",
		"hooks.PreToolUse[0].matcher",
		"prompt hooks", "agent hooks", "the command is empty", "mcp_tool handlers on SessionEnd", "9 s is cut", "async ones too",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no problem says %q in\n%s", want, strings.ReplaceAll(all, "} {", "}\n{"))
		}
	}
	if strings.Contains(all, "_comment") || strings.Contains(all, "extra") {
		t.Error("a comment key was reported")
	}
}

// FuzzHooksJSON: no file makes the parser fall over; what it takes is JSON, and
// what it keeps of a handler is that handler.
func FuzzHooksJSON(f *testing.F) {
	f.Add([]byte(command("x")))
	f.Add([]byte(`{"hooks":{"PreToolUse":[{"matcher":"a|b","hooks":[{"type":"mcp_tool","server":"s","tool":"t","input":{"a":[1.5,{"b":"${x}"}]},"timeout":3}]}]}}`))
	f.Add([]byte(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":1e3}]}]}}`))
	f.Add([]byte("{\"description\":\"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseHooksJSON(data)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q was taken", data)
		}
		d, _ := New(Options{Files: []File{{Path: "/f", Layer: hooks.LayerUser, config: c, data: data}}, GOOS: "linux"})
		for _, h := range d.Handlers() {
			if !json.Valid(h.Raw) || h.Hash == "" || h.Timeout <= 0 {
				t.Fatalf("handler %+v of %q", h, data)
			}
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// load makes a dialect of one user-level hooks.json.
func load(t *testing.T, text string) (*Dialect, []hooks.Problem) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hooks.json"), text)
	files, problems := Discover(DiscoverOptions{CodexHome: dir})
	d, more := New(Options{Files: files, GOOS: "linux"})
	return d, append(problems, more...)
}

// An event that this agent never has is said, and its handlers are listed as
// such.
func TestAbsentEvents(t *testing.T) {
	c, err := parseHooksJSON([]byte(`{"hooks":{"SubagentStop":[{"hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"y"}]}]}}`))
	if err != nil || len(c.notes) != 1 || c.notes[0].path != "hooks.SubagentStop" || !strings.Contains(c.notes[0].text, "no subagents") {
		t.Fatalf("%+v %v", c, err)
	}
	d, _ := New(Options{Files: []File{{Path: "/x/hooks.json", Layer: hooks.LayerUser, config: c}}})
	var why []string
	for _, h := range d.Handlers() {
		why = append(why, string(h.Event)+": "+h.Why)
	}
	if got := strings.Join(why, "; "); got != "SubagentStop: this agent has no subagents; Stop: " {
		t.Errorf("%s", got)
	}
}

// What the person has switched off is listed, and not told in every session;
// what a repository has switched off is told.
func TestOwnSwitchIsQuiet(t *testing.T) {
	const stop = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`
	const off = "[features]\nhooks = false\n"
	for _, c := range []struct {
		user, project string
		want          int
	}{{off, "", 0}, {"", off, 1}, {"", "", 2}} {
		dir := t.TempDir()
		home, cwd := filepath.Join(dir, "home"), filepath.Join(dir, "p")
		write(t, filepath.Join(home, "hooks.json"), stop)
		write(t, filepath.Join(home, "config.toml"), c.user)
		write(t, filepath.Join(cwd, ".codex", "hooks.json"), strings.Replace(stop, `"x"`, `"y"`, 1))
		write(t, filepath.Join(cwd, ".codex", "config.toml"), c.project)
		files, _ := Discover(DiscoverOptions{CodexHome: home, Cwd: cwd})
		d, _ := New(Options{Files: files})
		var matched, run int
		for _, h := range d.Match(&hooks.Call{Event: hooks.Stop}) {
			matched++
			if h.Why == "" {
				run++
			}
		}
		if len(d.Handlers()) != 2 || run != c.want || matched < run || c.user != "" && matched > 0 || c.project != "" && matched != 2 {
			t.Errorf("%+v: %d handlers, %d matched, %d run", c, len(d.Handlers()), matched, run)
		}
	}
}

// A config.toml may begin with a byte order mark, a hooks.json may not: as the
// released Codex has it.
func TestByteOrderMark(t *testing.T) {
	if l, err := parseTOML([]byte("\ufeff[features]\nplugins = false\n")); err != nil || l == nil {
		t.Errorf("%v", err)
	}
	if _, err := parseTOML([]byte("\ufeff\ufeffmodel = 1\n")); err == nil {
		t.Error("two were taken")
	}
}
