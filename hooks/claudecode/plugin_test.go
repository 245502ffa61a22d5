package claudecode

import (
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

// A plugin that the person names, by its directory or by its hooks file, finds
// its own scripts and a place for its data.
func TestNamedPlugin(t *testing.T) {
	p := newPlaces(t)
	root := filepath.Join(p.root, "my plugin")
	file := write(t, filepath.Join(root, "hooks", "hooks.json"), `{"description":"x","hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo \"$CLAUDE_PLUGIN_ROOT|$CLAUDE_PLUGIN_DATA|$CLAUDE_ENV_FILE\" >&2; test -d \"$CLAUDE_PLUGIN_DATA\" && exit 2"}]}]}}`)
	p.opts.DataDir = filepath.Join(p.root, "data")
	// What the agent inherits from a session of Claude Code is not this hook's.
	p.opts.Env = p.opts.Env.Set("CLAUDE_PLUGIN_ROOT", "/elsewhere").Set("CLAUDE_ENV_FILE", "/elsewhere")
	want := root + "|" + hooks.PluginData(p.opts.DataDir, root) + "|"
	for _, name := range []string{root, file, filepath.Join("..", "my plugin")} {
		p.opts.Extra = []string{name}
		if name == filepath.Join("..", "my plugin") {
			rel, err := filepath.Rel(p.cwd, root)
			if err != nil {
				t.Fatal(err)
			}
			p.opts.Extra = []string{rel}
		}
		files, problems := Discover(p.opts)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		d := New(Config{Files: files, Env: p.opts.Env, Home: p.home})
		s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
		out := s.Match(&hooks.Call{Event: hooks.Stop, Cwd: p.cwd, ProjectDir: p.cwd}).Run(t.Context())
		s.Close()
		if len(out.Reasons) != 1 || out.Reasons[0].Text != want {
			t.Errorf("%s: %+v %+v", name, out.Reasons, out.Runs)
		}
	}
	p.opts.Extra = []string{filepath.Join(p.root, "none", "hooks", "hooks.json"), p.home}
	_, problems := Discover(p.opts)
	if len(problems) != 2 || !strings.Contains(problems[1].Text, "it is a directory") {
		t.Errorf("%v", problems)
	}
}
