package claudecode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

// parseFile reads the content of a settings file that is not on disk.
func parseFile(path string, layer hooks.Layer, data []byte) (*File, []hooks.Problem) {
	p := &parser{file: &File{Path: path, Layer: layer}}
	p.parse(data)
	return p.file, p.problems
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// places is a machine with one stop hook in each place.
type places struct {
	root, managed, home, repo, cwd string
	opts                           DiscoverOptions
}

func newPlaces(t *testing.T) *places {
	t.Helper()
	root := t.TempDir()
	p := &places{root: root, managed: filepath.Join(root, "etc"), home: filepath.Join(root, "home"), repo: filepath.Join(root, "repo")}
	p.cwd = filepath.Join(p.repo, "sub")
	for _, d := range []string{p.managed, p.home, p.cwd, filepath.Join(p.repo, ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.opts = DiscoverOptions{Env: testEnv(p.home), Cwd: p.cwd, Home: p.home, ManagedDir: p.managed}
	return p
}

func commands(files []*File) string {
	var out []string
	for _, f := range files {
		for _, h := range f.Handlers {
			out = append(out, fmt.Sprintf("%s:%s", h.Place.Layer, h.Command))
		}
	}
	return strings.Join(out, " ")
}

// gemini-cli PR#13656: hooks of all files add up.
func TestDiscoverLayers(t *testing.T) {
	p := newPlaces(t)
	write(t, filepath.Join(p.managed, "managed-settings.json"), one("Stop", "m"))
	write(t, filepath.Join(p.managed, "managed-settings.d", "b.json"), one("Stop", "m2"))
	write(t, filepath.Join(p.managed, "managed-settings.d", "a.json"), one("Stop", "m1"))
	write(t, filepath.Join(p.home, ".claude", "settings.json"), one("Stop", "u"))
	write(t, filepath.Join(p.cwd, ".claude", "settings.json"), one("Stop", "p"))
	write(t, filepath.Join(p.repo, ".claude", "settings.json"), one("Stop", "not the start directory"))
	write(t, filepath.Join(p.repo, ".claude", "settings.local.json"), one("Stop", "l"))
	write(t, filepath.Join(p.cwd, ".claude", "settings.local.json"), one("Stop", "old"))
	write(t, filepath.Join(p.managed, "managed-settings.d", ".c.json"), one("Stop", "hidden"))
	write(t, filepath.Join(p.managed, "managed-settings.d", "d.json.bak"), one("Stop", "another name"))
	plugin := filepath.Join(p.root, "plugin")
	write(t, filepath.Join(plugin, "hooks", "hooks.json"), one("Stop", "pl"))
	p.opts.Extra = []string{write(t, filepath.Join(p.root, "x.json"), one("Stop", "x")), plugin}
	files, problems := Discover(p.opts)
	want := "managed:m managed:m1 managed:m2 user:u explicit:x project:p local:l local:old plugin:pl"
	if got := commands(files); got != want || len(problems) > 0 {
		t.Errorf("%s\n%v", got, problems)
	}
	// CLAUDE_CONFIG_DIR moves the person's file; a file named on the command line
	// is the person's choice even where a repository has it.
	other := filepath.Join(p.root, "other")
	write(t, filepath.Join(other, "settings.json"), one("Stop", "moved"))
	p.opts.Env = p.opts.Env.Set("CLAUDE_CONFIG_DIR", other)
	p.opts.Extra = []string{".claude/settings.json", filepath.Join(p.cwd, ".claude", "settings.json"), "missing.json"}
	files, problems = Discover(p.opts)
	want = "managed:m managed:m1 managed:m2 user:moved explicit:p local:l local:old"
	if got := commands(files); got != want || len(problems) != 1 || !strings.Contains(problems[0].Text, "cannot be read") {
		t.Errorf("%s\n%v", got, problems)
	}
}

// With the home directory as project, its settings are the person's own, once.
func TestDiscoverHomeAsProject(t *testing.T) {
	p := newPlaces(t)
	write(t, filepath.Join(p.home, ".claude", "settings.json"), one("Stop", "u"))
	p.opts.Cwd = p.home
	if files, _ := Discover(p.opts); commands(files) != "user:u" {
		t.Error(commands(files))
	}
}

func TestConfigFaults(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		handlers   int
		problem    string
	}{
		{"empty", "", 0, ""},
		{"BOM", "\ufeff" + one("Stop", "x"), 1, ""},
		{"comment", "{\n  // c\n}", 0, "2:3: not valid JSON"},
		{"trailing comma", `{"hooks":{},}`, 0, "not valid JSON"},
		{"unknown top-level key (destructive_command_guard#391)", `{"version":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`, 1, ""},
		{"bare event map (codex#25875)", `{"Stop":[]}`, 0, "an event at the top level has no effect"},
		{"hooks is a list", `{"hooks":[]}`, 0, "must be an object of events"},
		{"unknown event (get-shit-done#824)", `{"hooks":{"AfterTool":[{"hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"y"}]}]}}`, 1, "no event of this name"},
		{"event in other case", `{"hooks":{"stop":[]}}`, 0, "case-sensitive: Stop"},
		{"event that never comes here", `{"hooks":{"WorktreeCreate":[{"hooks":[{"type":"command","command":"x"}]}]}}`, 0, "this agent makes no worktrees; its hooks never run"},
		{"flat handler", `{"hooks":{"Stop":[{"type":"command","command":"x"},{"hooks":[{"type":"command","command":"y"}]}]}}`, 1, "wrap it"},
		{"matcher is an object", `{"hooks":{"PreToolUse":[{"matcher":{"tools":["Bash"]},"hooks":[{"type":"command","command":"x"}]},{"hooks":[{"type":"command","command":"y"}]}]}}`, 1, "must be a string"},
		{"invalid expression", `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"x"}]},{"hooks":[{"type":"command","command":"y"}]}]}}`, 2, "not a valid JavaScript regular expression"},
		{"invalid matcher where there is none", `{"hooks":{"Stop":[{"matcher":"(","hooks":[{"type":"command","command":"x"}]}]}}`, 1, ""},
		{"unknown type", `{"hooks":{"Stop":[{"hooks":[{"type":"webhook","url":"x"},{"type":"command","command":"y"}]}]}}`, 1, `no handler type "webhook"`},
		{"no type", `{"hooks":{"Stop":[{"hooks":[{"command":"x"}]}]}}`, 0, "type is missing"},
		{"no command", `{"hooks":{"Stop":[{"hooks":[{"type":"command"}]}]}}`, 0, "command is missing"},
		{"bad timeout", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":"5"}]}]}}`, 0, "timeout must be a number"},
		{"timeout in ms (failproofai#485)", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":60000}]}]}}`, 1, "is in seconds"},
		{"timeout 1e300", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":1e300}]}]}}`, 1, "is in seconds"},
		{"once in settings", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","once":true}]}]}}`, 1, "front matter"},
		{"if on a group", `{"hooks":{"PreToolUse":[{"if":"Bash(x)","hooks":[{"type":"command","command":"x"}]}]}}`, 1, "belongs to a handler"},
		{"joined ifs", `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x","if":"Bash(a)|Bash(b)"}]}]}}`, 1, "not one permission rule"},
		{"if on Stop", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","if":"Bash(a)"}]}]}}`, 1, "never runs"},
		{"prompt on SessionStart", `{"hooks":{"SessionStart":[{"hooks":[{"type":"prompt","prompt":"x"}]}]}}`, 1, "not possible"},
		{"retired tool", `{"hooks":{"PreToolUse":[{"matcher":"Write|MultiEdit","hooks":[{"type":"command","command":"x"}]}]}}`, 1, "match Edit"},
		{"retired tool beside its heir", `{"hooks":{"PreToolUse":[{"matcher":"Write|Edit|MultiEdit","hooks":[{"type":"command","command":"x"}]}]}}`, 1, ""},
		{"all MCP servers", `{"hooks":{"PreToolUse":[{"matcher":"Bash|mcp__","hooks":[{"type":"command","command":"x"}]}]}}`, 1, "write mcp__.*"},
		{"whole MCP server", `{"hooks":{"PreToolUse":[{"matcher":"mcp__memory","hooks":[{"type":"command","command":"x"}]}]}}`, 1, "mcp__memory__.*"},
		{"event twice", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}],"Stop":[{"hooks":[{"type":"command","command":"y"}]}]}}`, 1, "twice"},
		{"async on an agent", `{"hooks":{"Stop":[{"hooks":[{"type":"agent","prompt":"x","asyncRewake":true}]}]}}`, 1, "command handlers only"},
		{"group extras", `{"hooks":{"Stop":[{"id":"a","description":"d","_comment":"c","hooks":[{"type":"command","command":"x","rewakeMessage":"r"}]}]}}`, 1, ""},
	} {
		f, problems := parseFile("/f.json", hooks.LayerUser, []byte(tc.text))
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		got := strings.Join(all, "; ")
		if len(f.Handlers) != tc.handlers || tc.problem == "" && got != "" || !strings.Contains(got, tc.problem) {
			t.Errorf("%s: %d handlers, problems: %s", tc.name, len(f.Handlers), got)
		}
	}
}

// One SessionEnd handler's timeout raises the budget of all.
func TestSharedBudget(t *testing.T) {
	const cmd = `"type":"command","command":"x"`
	f, _ := parseFile("/f", hooks.LayerUser, []byte(`{"hooks":{"SessionEnd":[{"hooks":[{`+cmd+`},{`+cmd+`,"timeout":5}]}]}}`))
	hs := New(Config{Files: []*File{f}}).Handlers()
	if hs[0].Timeout != 5*time.Second || hs[1].Timeout != 5*time.Second {
		t.Errorf("%v %v", hs[0].Timeout, hs[1].Timeout)
	}
}

// The person's own switch is not news; a repository's is.
func TestSwitchesAreSaid(t *testing.T) {
	for layer, said := range map[hooks.Layer]int{hooks.LayerUser: 0, hooks.LayerProject: 1} {
		u, _ := parseFile("/u", hooks.LayerUser, []byte(one("Stop", "exit 2")))
		off, _ := parseFile("/off", layer, []byte(`{"disableAllHooks":true}`))
		if got := len(New(Config{Files: []*File{u, off}}).Match(&hooks.Call{Event: hooks.Stop})); got != said {
			t.Errorf("%s: %d", layer, got)
		}
	}
}

// A repository with hooks runs nothing before the person has trusted exactly
// them; its env block does not reach the person's own hooks either.
func TestMaliciousRepositoryRunsNothing(t *testing.T) {
	p := newPlaces(t)
	marker := filepath.Join(p.root, "owned")
	var events []string
	for _, ev := range vendorEvents {
		if hooks.Absent(ev) == "" {
			events = append(events, fmt.Sprintf(`%q:[{"hooks":[{"type":"command","command":"touch %s"}]}]`, ev, marker))
		}
	}
	slices.Sort(events)
	evil := `{"env":{"EVIL":"1","BASH_ENV":"` + filepath.Join(p.cwd, "evil.sh") + `"},"hooks":{` + strings.Join(events, ",") + `}}`
	write(t, filepath.Join(p.cwd, "evil.sh"), "touch "+marker)
	write(t, filepath.Join(p.cwd, ".claude", "settings.json"), evil)
	write(t, filepath.Join(p.repo, ".claude", "settings.local.json"), evil)
	write(t, filepath.Join(p.home, ".claude", "settings.json"), one("Stop", "echo \"[$EVIL$BASH_ENV]\" >&2; exit 2"))
	store := hooks.OpenTrust(filepath.Join(p.root, "state"))
	engine := func() (*hooks.Set, *Dialect) {
		p.opts.Watch = hooks.NewWatch(nil)
		files, problems := Discover(p.opts)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		d := New(Config{Files: files, Env: p.opts.Env, Home: p.home})
		s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}, ProjectDir: p.cwd, Trust: store, Watch: p.opts.Watch})
		t.Cleanup(s.Close)
		return s, d
	}
	fire := func(s *hooks.Set, ev hooks.Event) *hooks.Outcome {
		b := s.Match(&hooks.Call{Event: ev, Cwd: p.cwd, ProjectDir: p.cwd, Source: "startup", Tool: &hooks.Tool{Name: "bash"}, AgentType: "x"})
		if b == nil {
			return nil
		}
		return b.Run(t.Context())
	}
	s, _ := engine()
	for _, ev := range vendorEvents {
		if hooks.Absent(ev) == "" {
			fire(s, ev)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Fatal("an untrusted hook ran")
	}
	s, _ = engine()
	out := fire(s, hooks.Stop)
	if len(out.Reasons) != 1 || out.Reasons[0].Text != "[]" {
		t.Errorf("the person's hook: %+v", out.Reasons)
	}
	// Identical hooks of two untrusted files are one question.
	if len(out.Notices) != 1 || !strings.Contains(out.Notices[0].Text, "not trusted") {
		t.Errorf("%+v", out.Notices)
	}
	var ids []string
	for _, h := range s.Held() {
		if h.Event == hooks.Stop && h.Place.Layer == hooks.LayerProject {
			ids = append(ids, h.ID())
		}
	}
	if err := s.Approve(ids, true); err != nil {
		t.Fatal(err)
	}
	s, _ = engine()
	if out = fire(s, hooks.Stop); len(out.Notices) != 0 {
		t.Errorf("%+v", out.Notices)
	}
	if _, err := os.Stat(marker); err != nil {
		t.Error("the trusted hook did not run")
	}
	// The same command with another environment is another content.
	if s.Changed() {
		t.Error("changed, though nothing has")
	}
	write(t, filepath.Join(p.cwd, ".claude", "settings.json"), strings.Replace(evil, `"EVIL":"1"`, `"EVIL":"22"`, 1))
	if !s.Changed() {
		t.Error("an edit went unnoticed")
	}
	s, _ = engine()
	for _, h := range s.Handlers() {
		if h.Event == hooks.Stop && h.Place.Layer == hooks.LayerProject && h.Trust != hooks.TrustModified {
			t.Errorf("%s", h.Trust)
		}
	}
}

// A file that is in pieces for a moment keeps what it said, hooks and switches
// alike; one that is gone, or whole and another one, does not.
func TestFileInPieces(t *testing.T) {
	p := newPlaces(t)
	file := filepath.Join(p.home, ".claude", "settings.json")
	whole := `{"env":{"A":"1"},` + one("Stop", "guard")[1:]
	step := func(text, want, problem string) {
		t.Helper()
		write(t, file, text)
		p.opts.Watch = hooks.NewWatch(p.opts.Watch)
		files, problems := Discover(p.opts)
		if got := commands(files); got != want || !strings.Contains(fmt.Sprint(problems), problem) || problem == "" && len(problems) > 0 {
			t.Errorf("%q: %s %v, want %s", text, got, problems, want)
		}
	}
	step(whole, "user:guard", "")
	for _, pieces := range []string{"", whole[:10], whole[:len(whole)-1], "\x00\x00"} {
		step(pieces, "user:guard", "until it is whole again")
	}
	step(`{}`, "", "")
	step(`{"hooks":`, "", "until it is whole again") // what it said before was {}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.opts.Watch = hooks.NewWatch(p.opts.Watch)
	if files, problems := Discover(p.opts); commands(files) != "" || len(problems) > 0 {
		t.Errorf("gone: %s %v", commands(files), problems)
	}
	// At a session's start there is no before.
	p.opts.Watch = nil
	step(`{"hooks":`, "", "not valid JSON")
}
