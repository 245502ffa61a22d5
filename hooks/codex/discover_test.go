package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

func command(name string) string {
	return fmt.Sprintf(`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":%q}]}]}}`, name)
}

func tomlCommand(name string) string {
	return fmt.Sprintf("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = %q\n", name)
}

// tree is a machine with all layers on it.
func tree(t *testing.T, files map[string]string) (root string, o DiscoverOptions) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(root, filepath.FromSlash(name)), strings.ReplaceAll(text, "{{root}}", root))
	}
	return root, DiscoverOptions{
		Cwd: filepath.Join(root, "repo", "sub"), Home: filepath.Join(root, "home"), SystemDir: filepath.Join(root, "etc"),
	}
}

// list spells the handlers in order: command, layer, and what keeps it.
func list(t *testing.T, o DiscoverOptions) (string, []hooks.Problem) {
	t.Helper()
	files, problems := Discover(o)
	d, more := New(Options{Files: files, GOOS: "linux"})
	set := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	defer set.Close()
	var out []string
	for _, h := range set.Handlers() {
		s := h.Command + "/" + string(h.Place.Layer)
		if h.Why != "" {
			s += "/off"
		} else if !h.Trust.Runs() {
			s += "/" + string(h.Trust)
		}
		out = append(out, s)
	}
	return strings.Join(out, " "), append(problems, more...)
}

// TestDiscoverLayers: the order of the layers, both forms in one, and the
// project's directories from the root down.
func TestDiscoverLayers(t *testing.T) {
	_, o := tree(t, map[string]string{
		"etc/requirements.toml":        "[hooks]\nmanaged_dir = \"{{root}}/etc\"\n" + tomlCommand("req"),
		"etc/hooks.json":               command("sysjson"),
		"etc/config.toml":              tomlCommand("systoml"),
		"etc/managed_config.toml":      tomlCommand("legacy"),
		"home/.codex/hooks.json":       command("userjson"),
		"home/.codex/config.toml":      "model = \"m\"\n" + tomlCommand("usertoml"),
		"repo/.git/HEAD":               "",
		"repo/.codex/hooks.json":       command("rootjson"),
		"repo/sub/.codex/config.toml":  tomlCommand("subtoml"),
		"repo/other/.codex/hooks.json": command("never"),
		".codex/hooks.json":            command("above"),
		"extra.json":                   command("extra"),
		"extra.toml":                   tomlCommand("extratoml"),
	})
	o.Extra = []string{"../../extra.json", filepath.Join(filepath.Dir(filepath.Dir(o.Cwd)), "extra.toml"), "../../extra.json", "gone.json"}
	got, problems := list(t, o)
	want := "req/managed sysjson/system systoml/system userjson/user usertoml/user " +
		"rootjson/project/untrusted subtoml/project/untrusted legacy/managed extra/explicit extratoml/explicit"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all := fmt.Sprint(problems)
	if strings.Count(all, "keep a layer's hooks in one of the two") != 2 || !strings.Contains(all, "gone.json: there is no such file") || len(problems) != 3 {
		t.Errorf("problems: %s", all)
	}
	o.Watch = hooks.NewWatch(nil)
	Discover(o)
	watched := strings.Join(o.Watch.Paths(), "\n")
	for _, f := range []string{"sub/.codex/hooks.json", "repo/.codex/config.toml", "gone.json"} {
		if !strings.Contains(watched, filepath.FromSlash(f)) {
			t.Errorf("%s is not watched", f)
		}
	}
}

// TestDiscoverOnce: a file that two layers reach is loaded once, as the first.
func TestDiscoverOnce(t *testing.T) {
	root, o := tree(t, map[string]string{"home/.codex/hooks.json": command("one"), "home/.git/HEAD": ""})
	o.Cwd = filepath.Join(root, "home")
	if got, _ := list(t, o); got != "one/user" {
		t.Errorf("in the home directory: %s", got)
	}
	if err := os.MkdirAll(filepath.Join(root, "repo"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "home", ".codex"), filepath.Join(root, "repo", ".codex")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	o.Cwd = filepath.Join(root, "repo")
	if got, _ := list(t, o); got != "one/user" {
		t.Errorf("through a link: %s", got)
	}
}

// TestWorktree: a linked worktree gets its hooks from the root checkout, not
// from the branch that it has checked out; a submodule is its own root.
func TestWorktree(t *testing.T) {
	root, o := tree(t, map[string]string{
		"main/.git/HEAD":                  "",
		"main/.git/worktrees/w/commondir": "../..\n",
		"main/.codex/hooks.json":          command("main"),
		"main/sub/.codex/hooks.json":      command("mainsub"),
		"w/.git":                          "gitdir: {{root}}/main/.git/worktrees/w\n",
		"w/.codex/hooks.json":             command("branch"),
		"w/sub/.codex/hooks.json":         command("branchsub"),
		"main/.git/modules/m/HEAD":        "",
		"main/m/.git":                     "gitdir: ../.git/modules/m\n",
		"main/m/.codex/hooks.json":        command("module"),
		"bare/commondir":                  "/nowhere/repo.bare",
		"b/.git":                          "gitdir: ../bare",
		"b/.codex/hooks.json":             command("bareworktree"),
		"plain/dir/.codex/hooks.json":     command("plain"),
		"plain/.codex/hooks.json":         command("never"),
	})
	for cwd, want := range map[string]string{
		"w/sub":     "main/project/untrusted mainsub/project/untrusted",
		"main/m":    "module/project/untrusted",
		"b":         "bareworktree/project/untrusted",
		"plain/dir": "plain/project/untrusted",
	} {
		o.Cwd = filepath.Join(root, filepath.FromSlash(cwd))
		if got, problems := list(t, o); got != want || len(problems) > 0 {
			t.Errorf("%s: %s %v, want %s", cwd, got, problems, want)
		}
	}
}

// TestSwitches: [features] and allow_managed_hooks_only, who may say so, and
// that what is off is still listed with the reason.
func TestSwitches(t *testing.T) {
	const off = "[features]\nhooks = false\n"
	base := map[string]string{
		"etc/hooks.json": command("sys"), "home/.codex/hooks.json": command("user"),
		"repo/.git/HEAD": "", "repo/.codex/hooks.json": command("proj"), "extra.json": command("extra"),
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing said", nil, "sys/system user/user proj/project/untrusted extra/explicit"},
		{"user off", map[string]string{"home/.codex/config.toml": off}, "sys/system/off user/user/off proj/project/off extra/explicit"},
		{"old name", map[string]string{"home/.codex/config.toml": "[features]\ncodex_hooks = false\n"}, "sys/system/off user/user/off proj/project/off extra/explicit"},
		{"new name wins", map[string]string{"home/.codex/config.toml": "[features]\ncodex_hooks = false\nhooks = true\n"}, "sys/system user/user proj/project/untrusted extra/explicit"},
		{"user over system", map[string]string{"etc/config.toml": off, "home/.codex/config.toml": "[features]\nhooks = true\n"}, "sys/system user/user proj/project/untrusted extra/explicit"},
		{"requirements over user", map[string]string{"etc/requirements.toml": off, "home/.codex/config.toml": "[features]\nhooks = true\n"}, "sys/system/off user/user/off proj/project/off extra/explicit"},
		{"a project, its own only", map[string]string{"repo/.codex/config.toml": off}, "sys/system user/user proj/project/off extra/explicit"},
		{"managed only", map[string]string{"etc/requirements.toml": "allow_managed_hooks_only = true\n"}, "sys/system user/user/off proj/project/off extra/explicit/off"},
	} {
		files := map[string]string{}
		for _, m := range []map[string]string{base, c.files} {
			for k, v := range m {
				files[k] = v
			}
		}
		_, o := tree(t, files)
		o.Extra = []string{"../../extra.json"}
		if got, problems := list(t, o); got != c.want || len(problems) > 0 {
			t.Errorf("%s: %s %v\nwant %s", c.name, got, problems, c.want)
		}
	}
}

// TestTOMLFaults: a broken file and broken hooks, with line and column or path.
func TestTOMLFaults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "a = 1\nb = = 2\n", "line 2 column 5"},
		{"float", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\ntimeout = 1.0\n", "hooks.Stop[0].hooks[0].timeout: 1.0 is not a whole number"},
		{"type", "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"http\"\n", `hooks.Stop[0].hooks[0].type: unknown handler type "http"`},
		{"table", "hooks = 1\n", "hooks: a number where a table was expected"},
	} {
		_, o := tree(t, map[string]string{"home/.codex/config.toml": c.text})
		got, problems := list(t, o)
		if got != "" || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %q, %v; want %q", c.name, got, problems, c.want)
		}
	}
	for _, text := range []string{"", "managed_dir = \"relative\"\n", "managed_dir = \"/no/such/dir\"\n"} {
		_, o := tree(t, map[string]string{"etc/requirements.toml": "[hooks]\n" + text + tomlCommand("req")})
		got, problems := list(t, o)
		if got != "" || len(problems) != 1 || !strings.Contains(problems[0].Text, "managed_dir") {
			t.Errorf("requirements with %q: %q, %v", text, got, problems)
		}
	}
}

// TestCodexTrust: Codex's own records of trust, disabled handlers, and projects
// that the person has called untrusted.
func TestCodexTrust(t *testing.T) {
	c, err := parseHooksJSON([]byte(command("proj")))
	if err != nil {
		t.Fatal(err)
	}
	hash := codexHash(&c.groups[0], &c.groups[0].handlers[0], "linux")
	state := func(file, rest string) string {
		return fmt.Sprintf("[hooks.state.\"{{root}}/%s:stop:0:0\"]\n%s\n", file, rest)
	}
	trusted := fmt.Sprintf("trusted_hash = %q", hash)
	const proj, user = "repo/.codex/hooks.json", "home/.codex/hooks.json"
	for _, k := range []struct{ name, config, want string }{
		{"no record", "", "user/user proj/project/untrusted"},
		{"trusted", state(proj, trusted), "user/user proj/project"},
		{"other hash", state(proj, `trusted_hash = "sha256:00"`), "user/user proj/project/untrusted"},
		{"other place", state("repo/.codex/config.toml", trusted), "user/user proj/project/untrusted"},
		{"trusted and disabled", state(proj, trusted+"\nenabled = false"), "user/user proj/project/off"},
		{"user disabled", state(user, "enabled = false"), "user/user/off proj/project/untrusted"},
		{"user modified", state(user, `trusted_hash = "sha256:00"`), "user/user proj/project/untrusted"},
		{"untrusted project", state(proj, trusted) + "[projects.\"{{root}}/repo\"]\ntrust_level = \"untrusted\"\n", "user/user proj/project/untrusted"},
		{"trusted project", "[projects.\"{{root}}/repo\"]\ntrust_level = \"trusted\"\n", "user/user proj/project/untrusted"},
	} {
		_, o := tree(t, map[string]string{
			"home/.codex/config.toml": k.config, user: command("user"), "repo/.git/HEAD": "", proj: command("proj"),
			// A repository cannot vouch for itself.
			"repo/.codex/config.toml": state(proj, trusted),
		})
		if got, problems := list(t, o); got != k.want || len(problems) > 0 {
			t.Errorf("%s: %s %v, want %s", k.name, got, problems, k.want)
		}
	}
}
