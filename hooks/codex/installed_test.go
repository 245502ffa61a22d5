package codex

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// Plugins that the user's config.toml switches on, in the version that Codex
// would take; a repository has no say in them.
func TestInstalledPlugins(t *testing.T) {
	const cache = "home/.codex/plugins/cache/"
	manifest := `{"name":"x"}`
	files := map[string]string{
		"home/.codex/config.toml": `
[plugins."one@m"]
enabled = true
[plugins."two@m"]
[plugins."off@m"]
enabled = false
[plugins."gone@m"]
[plugins."bare@m"]
[plugins."../up@m"]
[plugins."loc@m"]
`,
		"repo/.git/HEAD":                                  "",
		"repo/.codex/config.toml":                         "[plugins.\"off@m\"]\nenabled = true\n",
		cache + "m/one/1.9.0/.codex-plugin/plugin.json":   manifest,
		cache + "m/one/1.9.0/hooks/hooks.json":            command("one-1.9"),
		cache + "m/one/1.10.0/.claude-plugin/plugin.json": manifest,
		cache + "m/one/1.10.0/hooks/hooks.json":           command("one-1.10"),
		cache + "m/one/1.10.0-rc1/hooks/hooks.json":       command("one-rc"),
		cache + "m/two/a1b2/.codex-plugin/plugin.json":    manifest,
		cache + "m/two/a1b2/hooks/hooks.json":             command("two"),
		cache + "m/off/1.0.0/.codex-plugin/plugin.json":   manifest,
		cache + "m/off/1.0.0/hooks/hooks.json":            command("off"),
		cache + "m/bare/1.0.0/hooks/hooks.json":           command("bare"),
		cache + "m/loc/9.0.0/.codex-plugin/plugin.json":   manifest,
		cache + "m/loc/9.0.0/hooks/hooks.json":            command("loc-9"),
		cache + "m/loc/local/.codex-plugin/plugin.json":   manifest,
		cache + "m/loc/local/hooks/hooks.json":            command("loc-local"),
		"home/.codex/plugins/up/1.0.0/hooks/hooks.json":   command("up"),
	}
	_, o := tree(t, files)
	got, problems := list(t, o)
	if got != "loc-local/plugin one-1.10/plugin two/plugin" {
		t.Error(got)
	}
	var minor []string
	for _, p := range problems {
		if !p.Minor {
			t.Errorf("said: %s", p)
		}
		minor = append(minor, p.Text)
	}
	all := strings.Join(minor, "; ")
	if len(minor) != 3 || !strings.Contains(all, "not installed it here") || !strings.Contains(all, "no plugin.json") || !strings.Contains(all, "no name@marketplace") {
		t.Errorf("%s", all)
	}
	files["home/.codex/config.toml"] += "[features]\nplugins = false\n"
	_, o = tree(t, files)
	if got, _ := list(t, o); got != "" {
		t.Errorf("plugins are off: %s", got)
	}
}

// The manifest's hooks stand in the place of hooks/hooks.json: a path, paths, an
// object as hooks.json has it, or several.
func TestManifestHooks(t *testing.T) {
	more := func(name string) string { return command(name) }
	for _, c := range []struct{ name, hooks, want, problem string }{
		{"none", ``, "std", ""},
		{"null", `,"hooks":null`, "std", ""},
		{"a path", `,"hooks":"./more.json"`, "more", ""},
		{"paths", `,"hooks":["./more.json","./hooks/hooks.json"]`, "more std", ""},
		{"an object", `,"hooks":` + more("in"), "in", ""},
		{"objects", `,"hooks":[` + more("in1") + `,` + more("in2") + `]`, "in1 in2", ""},
		{"mixed", `,"hooks":["./more.json",` + more("in") + `]`, "", "all paths or all objects"},
		{"a number", `,"hooks":5`, "", "all paths or all objects"},
		{"a bare map", `,"hooks":{"Stop":[]}`, "", `unknown top-level key "Stop"`},
		{"an http handler", `,"hooks":{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://x"}]}]}}`, "", `unknown handler type "http"`},
		{"out of the plugin", `,"hooks":"./../more.json"`, "", "leads out of the plugin"},
		{"broken", `,`, "", "drops the whole file"},
	} {
		const dir = "home/.codex/plugins/cache/m/p/1.0.0/"
		_, o := tree(t, map[string]string{
			"home/.codex/config.toml":          "[plugins.\"p@m\"]\n",
			dir + ".codex-plugin/plugin.json":  `{"name":"p"` + c.hooks + `}`,
			dir + ".claude-plugin/plugin.json": `{"name":"p","hooks":` + command("the second manifest") + `}`,
			dir + "hooks/hooks.json":           command("std"),
			dir + "more.json":                  command("more"),
		})
		got, problems := list(t, o)
		got = strings.ReplaceAll(got, "/plugin", "")
		all := fmt.Sprint(problems)
		if got != c.want || c.problem == "" && len(problems) > 0 || !strings.Contains(all, c.problem) {
			t.Errorf("%s: %q, want %q; %s", c.name, got, c.want, all)
		}
	}
}

// A plugin's hook finds its own files and data, and Codex's record about it is
// kept under its id.
func TestPluginEnvironmentAndState(t *testing.T) {
	const dir = "home/.codex/plugins/cache/m/p/1.0.0/"
	stop := `{"hooks":{"Stop":[{"hooks":[
		{"type":"command","command":"printf '%s|%s|%s|%s|' \"$PLUGIN_ROOT\" \"$CLAUDE_PLUGIN_ROOT\" \"$PLUGIN_DATA\" '${PLUGIN_DATA}' >&2; test -d \"$PLUGIN_DATA\" && exit 2"},
		{"type":"command","command":"never"}]}]}}`
	root, o := tree(t, map[string]string{
		"home/.codex/config.toml":         "[plugins.\"p@m\"]\n[hooks.state.\"p@m:hooks/hooks.json:stop:0:1\"]\nenabled = false\n",
		dir + ".codex-plugin/plugin.json": `{"name":"p"}`,
		dir + "hooks/hooks.json":          stop,
	})
	files, problems := Discover(o)
	d, more := New(Options{Files: files, GOOS: "linux", Env: hooks.Environ{"PATH=/usr/bin:/bin"}})
	if len(problems)+len(more) > 0 {
		t.Fatal(problems, more)
	}
	s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	defer s.Close()
	out := s.Match(&hooks.Call{Event: hooks.Stop, Cwd: root, ProjectDir: root}).Run(t.Context())
	at, data := filepath.Join(root, filepath.FromSlash(dir)), filepath.Join(root, "home/.codex/plugins/data/p-m")
	want := strings.Join([]string{at, at, data, data, ""}, "|")
	if len(out.Runs) != 1 || len(out.Reasons) != 1 || out.Reasons[0].Text != want {
		t.Errorf("%+v %+v\nwant %s", out.Reasons, out.Runs, want)
	}
}

// CODEX_HOME inside the project is the repository's word: it needs the project's
// trust, cannot vouch for itself, and has no plugins.
func TestCodexHomeInRepository(t *testing.T) {
	c, err := parseHooksJSON([]byte(command("theirs")))
	if err != nil {
		t.Fatal(err)
	}
	hash := codexHash(&c.groups[0], &c.groups[0].handlers[0], "linux")
	root, o := tree(t, map[string]string{
		"repo/.git/HEAD":        "",
		"repo/conf/hooks.json":  command("theirs"),
		"repo/conf/config.toml": fmt.Sprintf("[hooks.state.\"{{root}}/repo/conf/hooks.json:stop:0:0\"]\ntrusted_hash = %q\n[features]\nhooks = false\n[plugins.\"p@m\"]\n", hash),
		"repo/conf/plugins/cache/m/p/1.0.0/.codex-plugin/plugin.json": `{"name":"p"}`,
		"repo/conf/plugins/cache/m/p/1.0.0/hooks/hooks.json":          command("plugged"),
		"extra.json": command("extra"),
	})
	t.Chdir(filepath.Join(root, "repo"))
	o.Extra = []string{"../../extra.json"}
	for _, home := range []string{filepath.Join(root, "repo", "conf"), "conf", "./conf/"} {
		o.CodexHome = home
		got, problems := list(t, o)
		if got != "theirs/project/off extra/explicit" || len(problems) != 1 || !strings.Contains(problems[0].Text, "CODEX_HOME leads into this project") {
			t.Errorf("%s: %s %v", home, got, problems)
		}
	}
	o.Cwd, o.Extra = filepath.Join(root, "home"), nil
	if got, _ := list(t, o); got != "theirs/user/off plugged/plugin/off" {
		t.Errorf("elsewhere: %s", got)
	}
}

// A file that is in pieces for a moment keeps what it said; one that is whole
// and that Codex drops does not.
func TestFileInPieces(t *testing.T) {
	root, o := tree(t, map[string]string{
		"home/.codex/hooks.json":  command("json"),
		"home/.codex/config.toml": tomlCommand("toml"),
	})
	o.Watch = hooks.NewWatch(nil)
	step := func(want, problem string) {
		t.Helper()
		o.Watch = hooks.NewWatch(o.Watch)
		got, problems := list(t, o)
		if got != want || !strings.Contains(fmt.Sprint(problems), problem) {
			t.Errorf("%s %v, want %s", got, problems, want)
		}
	}
	const both = "json/user toml/user"
	hooksJSON, config := filepath.Join(root, "home/.codex/hooks.json"), filepath.Join(root, "home/.codex/config.toml")
	step(both, "")
	for range 2 {
		write(t, hooksJSON, command("json")[:20])
		step(both, "in pieces")
	}
	write(t, hooksJSON, "")
	step(both, "in pieces")
	write(t, config, "[[hooks.Stop")
	step(both, "in pieces")
	write(t, hooksJSON, `{"hooks":{"Stop":[{"hooks":[{"type":"http"}]}]}}`)
	step("toml/user", "drops the whole file")
	write(t, hooksJSON, command("mended"))
	write(t, config, tomlCommand("mended too"))
	step("mended/user mended too/user", "")
}
