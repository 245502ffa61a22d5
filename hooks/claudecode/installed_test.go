package claudecode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// market is a machine on which Claude Code has installed plugins. Each plugin is
// a map from path to content.
type machine struct {
	*places
	t       *testing.T
	records map[string][]map[string]string
}

func newMachine(t *testing.T) *machine {
	return &machine{places: newPlaces(t), t: t, records: map[string][]map[string]string{}}
}

func (m *machine) config(name string) string { return filepath.Join(m.home, ".claude", name) }

// install puts a plugin where Claude Code keeps it and records it; project is
// empty for an install of the person's.
func (m *machine) install(id, project string, files map[string]string) string {
	name, market := splitID(id)
	dir := filepath.Join(m.config("plugins"), "cache", market, name, "1.0.0")
	if project != "" {
		dir += "-" + filepath.Base(project)
	}
	for path, text := range files {
		write(m.t, filepath.Join(dir, filepath.FromSlash(path)), text)
	}
	r := map[string]string{"scope": "user", "installPath": dir, "version": "1.0.0"}
	if project != "" {
		r["scope"], r["projectPath"] = "project", project
	}
	m.records[id] = append(m.records[id], r)
	b, _ := json.Marshal(map[string]any{"version": 2, "plugins": m.records})
	write(m.t, filepath.Join(m.config("plugins"), "installed_plugins.json"), string(b))
	return dir
}

func enable(pairs ...any) string {
	on := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		on[pairs[i].(string)] = pairs[i+1]
	}
	b, _ := json.Marshal(map[string]any{"enabledPlugins": on})
	return string(b)
}

// states lists the handlers with what would become of them.
func (m *machine) states() (string, []hooks.Problem) {
	m.t.Helper()
	files, problems := Discover(m.opts)
	d := New(Config{Files: files, Env: m.opts.Env, Home: m.home})
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}, ProjectDir: m.cwd})
	defer s.Close()
	var out []string
	for _, h := range s.Handlers() {
		text := string(h.Place.Layer) + ":" + h.Command
		switch {
		case h.Type == hooks.SwitchType:
			text = "switch:" + strings.Fields(h.Command)[0]
		case h.Why != "":
			text += "/off"
		case h.OffBy != nil:
			text += "/offered-off"
		case !h.Trust.Runs():
			text += "/held"
		}
		out = append(out, text)
	}
	return strings.Join(out, " "), problems
}

// Who has switched a plugin on, and where it lies, decides whether its hooks
// run: key by key, managed > named > local > project > user.
func TestEnabledPlugins(t *testing.T) {
	const id = "guard@acme"
	for _, c := range []struct {
		name                          string
		user, project, local, managed string
		want                          string
	}{
		{name: "nobody says", want: ""},
		{name: "the person", user: enable(id, true), want: "plugin:g"},
		{name: "the person, off", user: enable(id, false), want: ""},
		{name: "the repository alone", project: enable(id, true), want: "project-plugin:g/held"},
		{name: "its local file alone", local: enable(id, true), want: "project-plugin:g/held"},
		{name: "the repository against the person", user: enable(id, false), project: enable(id, true), want: "project-plugin:g/held"},
		{name: "both", user: enable(id, true), project: enable(id, true), want: "plugin:g"},
		{name: "the repository switches it off", user: enable(id, true), project: enable(id, false), want: "plugin:g/offered-off switch:enabledPlugins.guard@acme:"},
		{name: "its local file too", user: enable(id, true), local: enable(id, false), want: "plugin:g/offered-off switch:enabledPlugins.guard@acme:"},
		{name: "managed on", user: enable(id, false), project: enable(id, false), managed: enable(id, true), want: "plugin:g"},
		{name: "managed off", user: enable(id, true), managed: enable(id, false), want: ""},
		{name: "another marketplace", user: enable("guard@other", true), want: ""},
		{name: "managed hooks only", user: enable(id, true), managed: `{"allowManagedHooksOnly":true}`, want: "plugin:g/off"},
		{name: "managed hooks only, forced", managed: `{"allowManagedHooksOnly":true,"enabledPlugins":{"guard@acme":true}}`, want: "plugin:g"},
		{name: "the person's disableAllHooks", user: `{"disableAllHooks":true,"enabledPlugins":{"guard@acme":true}}`, want: "plugin:g/off"},
		{name: "the same, forced", user: `{"disableAllHooks":true}`, managed: enable(id, true), want: "plugin:g"},
		{name: "managed disableAllHooks, forced", managed: `{"disableAllHooks":true,"enabledPlugins":{"guard@acme":true}}`, want: "plugin:g/off"},
		{name: "plugins only", user: enable(id, true), managed: `{"strictPluginOnlyCustomization":true}`, want: "plugin:g"},
	} {
		m := newMachine(t)
		m.install(id, "", map[string]string{"hooks/hooks.json": one("Stop", "g")})
		for path, text := range map[string]string{
			m.config("settings.json"):                               c.user,
			filepath.Join(m.cwd, ".claude", "settings.json"):        c.project,
			filepath.Join(m.repo, ".claude", "settings.local.json"): c.local,
			filepath.Join(m.managed, "managed-settings.json"):       c.managed,
		} {
			if text != "" {
				write(t, path, text)
			}
		}
		if got, _ := m.states(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where the plugin's files are: the records, for this project or all, and a
// marketplace on this machine. What is switched on and not there is listed and
// not said at every start.
func TestInstalledWhere(t *testing.T) {
	m := newMachine(t)
	hook := func(cmd string) map[string]string { return map[string]string{"hooks/hooks.json": one("Stop", cmd)} }
	m.install("user@m", "", hook("user"))
	m.install("both@m", "", hook("both-user"))
	m.install("both@m", m.repo, hook("both-project"))
	m.install("here@m", m.cwd, hook("here"))
	m.install("elsewhere@m", filepath.Join(m.root, "else"), hook("elsewhere"))
	shop := filepath.Join(m.root, "shop")
	write(t, filepath.Join(shop, ".claude-plugin", "marketplace.json"), `{"plugins":[{"name":"placed","source":"./plugins/placed"},{"name":"out","source":"./../out"},{"name":"remote","source":{"source":"github"}}]}`)
	write(t, filepath.Join(shop, "plugins", "placed", "hooks", "hooks.json"), one("Stop", "placed"))
	own := filepath.Join(m.repo, "tools")
	write(t, filepath.Join(own, ".claude-plugin", "marketplace.json"), `{"plugins":[{"name":"own","source":"./own"}]}`)
	write(t, filepath.Join(own, "own", "hooks", "hooks.json"), one("Stop", "own"))
	write(t, filepath.Join(m.config("plugins"), "known_marketplaces.json"), fmt.Sprintf(
		`{"shop":{"source":{"source":"directory"},"installLocation":%q},"tools":{"source":{"source":"directory"},"installLocation":%q}}`, shop, own))
	write(t, m.config("settings.json"), enable("user@m", true, "both@m", true, "here@m", true, "elsewhere@m", true,
		"placed@shop", true, "out@shop", true, "remote@shop", true, "own@tools", true, "gone@m", true, "noat", true, "x@synced", true))
	got, problems := m.states()
	want := "plugin:both-project plugin:here project-plugin:own/held plugin:placed plugin:user"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	minor, said := 0, ""
	for _, p := range problems {
		if p.Minor {
			minor++
		} else {
			said += p.String() + "\n"
		}
	}
	if minor != 4 || strings.Count(said, "\n") != 1 || !strings.Contains(said, "leads out of the plugin") {
		t.Errorf("%d minor; said: %s\n%v", minor, said, problems)
	}
}

// Version 1 of the records, and records in pieces.
func TestInstalledRecords(t *testing.T) {
	m := newMachine(t)
	dir := m.install("a@m", "", map[string]string{"hooks/hooks.json": one("Stop", "a")})
	write(t, m.config("settings.json"), enable("a@m", true))
	file := filepath.Join(m.config("plugins"), "installed_plugins.json")
	write(t, file, fmt.Sprintf(`{"version":1,"plugins":{"a@m":{"version":"1","installPath":%q}}}`, dir))
	if got, problems := m.states(); got != "plugin:a" || len(problems) > 0 {
		t.Error(got, problems)
	}
	write(t, file, `{"version":2,"plugins":{`)
	if got, problems := m.states(); got != "" || len(problems) != 2 {
		t.Error(got, problems)
	}
}

// The manifest's hooks beside hooks/hooks.json: a path, a map of events, a list
// of both (claude-code#88650); what is wrong costs that entry.
func TestManifestHooks(t *testing.T) {
	const standard = "plugin:std "
	for _, c := range []struct{ name, hooks, want, problem string }{
		{"none", ``, "plugin:std", ""},
		{"null", `,"hooks":null`, "plugin:std", ""},
		{"a path", `,"hooks":"./config/more.json"`, standard + "plugin:more", ""},
		{"a map", `,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"in"}]}]}`, standard + "plugin:in", ""},
		{"a list", `,"hooks":["./config/more.json",{"Stop":[{"hooks":[{"type":"command","command":"in"}]}]},{"Stop":[{"hooks":[{"type":"command","command":"in2"}]}]}]`, standard + "plugin:more plugin:in plugin:in2", ""},
		{"the standard file again (claude-code#10871)", `,"hooks":"./hooks/hooks.json"`, "plugin:std", "is read already"},
		{"out of the plugin", `,"hooks":"./../x.json"`, "plugin:std", "leads out of the plugin"},
		{"no ./", `,"hooks":"config/more.json"`, "plugin:std", "must begin with ./"},
		{"not there", `,"hooks":"./config/none.json"`, "plugin:std", "cannot be read"},
		{"wrapped", `,"hooks":{"hooks":{"Stop":[]}}`, "plugin:std", "in a manifest the events stand directly in it"},
		{"unwrapped file", `,"hooks":"./config/bare.json"`, "plugin:std", "put it inside"},
		{"a list in a list", `,"hooks":[["./config/more.json"]]`, "plugin:std", "must be an object of events"},
		{"a number", `,"hooks":1`, "plugin:std", "must be an object of events"},
		{"broken manifest", `,`, "", "the manifest cannot be used"},
		{"an unknown event inside", `,"hooks":{"AfterTool":[]}`, "plugin:std", "hooks.AfterTool: there is no event of this name"},
	} {
		m := newMachine(t)
		m.install("p@m", "", map[string]string{
			"hooks/hooks.json":           one("Stop", "std"),
			"config/more.json":           one("Stop", "more"),
			"config/bare.json":           `{"Stop":[]}`,
			".claude-plugin/plugin.json": `{"name":"p"` + c.hooks + `}`,
		})
		write(t, m.config("settings.json"), enable("p@m", true))
		got, problems := m.states()
		all := fmt.Sprint(problems)
		if got != c.want || c.problem == "" && len(problems) > 0 || !strings.Contains(all, c.problem) {
			t.Errorf("%s: %q, want %q; %s", c.name, got, c.want, all)
		}
		// Trust and messages name a handler by its place: each has its own.
		files, _ := Discover(m.opts)
		places := map[hooks.Place]bool{}
		for _, f := range files {
			for _, h := range f.Handlers {
				if places[h.Place] {
					t.Errorf("%s: two handlers at %+v", c.name, h.Place)
				}
				places[h.Place] = true
			}
		}
	}
}

// Plugins that are not installed: in a skills directory, and those that
// CLAUDE_CODE_PLUGIN_DIRS names.
func TestLoosePlugins(t *testing.T) {
	m := newMachine(t)
	loose := func(dir, name, cmd, more string) {
		write(t, filepath.Join(dir, ".claude-plugin", "plugin.json"), fmt.Sprintf(`{"name":%q%s}`, name, more))
		write(t, filepath.Join(dir, "hooks", "hooks.json"), one("Stop", cmd))
	}
	loose(m.config("skills/mine"), "mine", "mine", "")
	loose(m.config("skills/asleep"), "asleep", "asleep", `,"defaultEnabled":false`)
	loose(m.config("skills/off"), "off", "off", "")
	write(t, filepath.Join(m.config("skills/plain"), "SKILL.md"), "no plugin")
	loose(filepath.Join(m.cwd, ".claude", "skills", "theirs"), "theirs", "theirs", "")
	loose(filepath.Join(m.root, "dev"), "dev", "dev", "")
	loose(filepath.Join(m.root, "dev2"), "dev2", "dev2", "")
	loose(filepath.Join(m.cwd, "evil"), "evil", "evil", "")
	write(t, m.config("settings.json"), enable("off@skills-dir", false))
	m.opts.Env = m.opts.Env.Set("CLAUDE_CODE_PLUGIN_DIRS", filepath.Join(m.root, "dev"))
	const want = "plugin:dev plugin:mine project-plugin:theirs/held"
	if got, problems := m.states(); got != want || len(problems) > 0 {
		t.Errorf("%s %v", got, problems)
	}
	// The person's settings may name them; a repository's may not.
	write(t, m.config("settings.json"), fmt.Sprintf(`{"env":{"CLAUDE_CODE_PLUGIN_DIRS":%q},"enabledPlugins":{"off@skills-dir":false}}`, filepath.Join(m.root, "dev2")))
	write(t, filepath.Join(m.cwd, ".claude", "settings.json"), fmt.Sprintf(`{"env":{"CLAUDE_CODE_PLUGIN_DIRS":%q},"enabledPlugins":{"theirs@skills-dir":true,"mine@skills-dir":false}}`, filepath.Join(m.cwd, "evil")))
	if got, _ := m.states(); got != "plugin:dev2 plugin:mine/offered-off project-plugin:theirs/held switch:enabledPlugins.mine@skills-dir:" {
		t.Errorf("%s", got)
	}
}

// What a plugin's hook finds: its own files, the data directory that Claude Code
// gives it, and the person's options in both forms.
func TestPluginEnvironment(t *testing.T) {
	m := newMachine(t)
	const shell = `printf '%s|%s|%s|%s|%s' "$CLAUDE_PLUGIN_ROOT" "$CLAUDE_PLUGIN_DATA" "$CLAUDE_PLUGIN_OPTION_API_URL" "$CLAUDE_PLUGIN_OPTION_LEVEL" "$CLAUDE_PLUGIN_OPTION_LIST" >&2; test -d "$CLAUDE_PLUGIN_DATA" && exit 2`
	script := `#!/bin/sh
printf '%s|%s' "$1" "$2" >&2; exit 2`
	hooksJSON := func(handlers ...map[string]any) string {
		b, _ := json.Marshal(map[string]any{"hooks": map[string]any{"Stop": []any{map[string]any{"hooks": handlers}}}})
		return string(b)
	}
	dir := m.install("my.tool@acme", "", map[string]string{
		".claude-plugin/plugin.json": `{"name":"my.tool","userConfig":{"api_url":{"default":"http://d"},"level":{"default":3},"secret":{"sensitive":true}}}`,
		"run.sh":                     script,
		"hooks/hooks.json": hooksJSON(
			map[string]any{"type": "command", "command": shell},
			map[string]any{"type": "command", "command": "sh", "args": []string{"${CLAUDE_PLUGIN_ROOT}/run.sh", "${user_config.api_url}/x y", "${user_config.level}"}},
			map[string]any{"type": "command", "command": "echo ${user_config.api_url}"},
			map[string]any{"type": "command", "command": "sh", "args": []string{"-c", "${user_config.secret}"}},
		),
	})
	write(t, m.config("settings.json"), `{"enabledPlugins":{"my.tool@acme":true},"pluginConfigs":{"my.tool@acme":{"options":{"api_url":"http://u","list":["a","b"]}}}}`)
	// A repository has no say in them.
	write(t, filepath.Join(m.cwd, ".claude", "settings.json"), `{"pluginConfigs":{"my.tool@acme":{"options":{"api_url":"http://evil"}}}}`)
	files, problems := Discover(m.opts)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: files, Env: m.opts.Env, Home: m.home})}})
	defer s.Close()
	out := s.Match(&hooks.Call{Event: hooks.Stop, Cwd: m.cwd, ProjectDir: m.cwd}).Run(t.Context())
	data := filepath.Join(m.config("plugins"), "data", "my-tool-acme")
	want := []string{dir + "|" + data + `|http://u|3|["a","b"]`, "http://u/x y|3"}
	var got []string
	for _, r := range out.Reasons {
		got = append(got, r.Text)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nwant %q", got, want)
	}
	notices := fmt.Sprint(out.Notices)
	if len(out.Notices) != 2 || !strings.Contains(notices, "in the exec form only") || !strings.Contains(notices, "${user_config.secret} has no value") {
		t.Errorf("%s", notices)
	}
}

// Two plugins with the same text run other commands: trust in the one is none in
// the other.
func TestOfferedPluginsAreTrustedApart(t *testing.T) {
	m := newMachine(t)
	m.install("a@m", "", map[string]string{"hooks/hooks.json": one("Stop", "$CLAUDE_PLUGIN_ROOT/run.sh")})
	m.install("b@m", "", map[string]string{"hooks/hooks.json": one("Stop", "$CLAUDE_PLUGIN_ROOT/run.sh")})
	write(t, filepath.Join(m.cwd, ".claude", "settings.json"), enable("a@m", true, "b@m", true))
	store := hooks.OpenTrust(filepath.Join(m.root, "state"))
	files, _ := Discover(m.opts)
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: files, Env: m.opts.Env, Home: m.home})}, ProjectDir: m.cwd, Trust: store})
	defer s.Close()
	held := s.Held()
	if len(held) != 2 {
		t.Fatalf("%+v", held)
	}
	if err := s.Approve([]string{held[0].ID()}, true); err != nil {
		t.Fatal(err)
	}
	if left := s.Held(); len(left) != 1 || left[0].Place.File != held[1].Place.File {
		t.Errorf("%+v", left)
	}
}

// Who works on their own ~/.claude, or on the repository that it is a link into,
// has the plugins that they have elsewhere.
func TestOwnConfigDirIsARepository(t *testing.T) {
	for _, linked := range []bool{false, true} {
		m := newMachine(t)
		if m.opts.Cwd = filepath.Join(m.home, ".claude"); linked {
			m.opts.Cwd = filepath.Join(m.root, "dotfiles")
			if err := os.MkdirAll(filepath.Join(m.opts.Cwd, "claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(m.home, ".claude")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(m.opts.Cwd, "claude"), filepath.Join(m.home, ".claude")); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
		}
		write(t, filepath.Join(m.opts.Cwd, ".git", "HEAD"), "")
		m.install("guard@acme", "", map[string]string{"hooks/hooks.json": one("Stop", "guard")})
		write(t, m.config("settings.json"), enable("guard@acme", true))
		if got, _ := m.states(); got != "plugin:guard" {
			t.Errorf("linked %v: %s", linked, got)
		}
	}
}

// Where plugins lie may be written down in the repository itself, moved there by a
// variable: then also the plugin that the person or the administrator has switched
// on by name has what the repository says it has.
func TestPluginsRootInRepository(t *testing.T) {
	for _, by := range []string{"user", "managed"} {
		for _, moved := range []string{"CLAUDE_CODE_PLUGIN_CACHE_DIR", "CLAUDE_CONFIG_DIR"} {
			if by == "user" && moved == "CLAUDE_CONFIG_DIR" {
				continue // then there is no word of the person's
			}
			m := newMachine(t)
			theirs := filepath.Join(m.cwd, "conf")
			root := theirs
			if moved == "CLAUDE_CONFIG_DIR" {
				root = filepath.Join(theirs, "plugins")
			}
			elsewhere := filepath.Join(m.root, "downloads", "guard")
			write(t, filepath.Join(elsewhere, "hooks", "hooks.json"), one("Stop", "evil"))
			write(t, filepath.Join(root, "installed_plugins.json"), fmt.Sprintf(`{"plugins":{"guard@acme":[{"scope":"user","installPath":%q}]}}`, elsewhere))
			if by == "user" {
				write(t, m.config("settings.json"), enable("guard@acme", true))
			} else {
				write(t, filepath.Join(m.opts.ManagedDir, "managed-settings.json"), enable("guard@acme", true))
			}
			m.opts.Env = m.opts.Env.Set(moved, theirs)
			if got, _ := m.states(); got != "project-plugin:evil/held" {
				t.Errorf("%s, %s: %s", by, moved, got)
			}
		}
	}
}

// Editors of Windows put a byte order mark before what they save.
func TestPluginsWithAByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	m := newMachine(t)
	m.install("guard@acme", "", map[string]string{".claude-plugin/plugin.json": mark + `{"name":"guard"}`, "hooks/hooks.json": mark + one("Stop", "g")})
	records := filepath.Join(m.config("plugins"), "installed_plugins.json")
	b, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	write(t, records, mark+string(b))
	write(t, m.config("settings.json"), mark+enable("guard@acme", true))
	if got, problems := m.states(); got != "plugin:g" || len(problems) > 0 {
		t.Errorf("%s, %v", got, problems)
	}
}
