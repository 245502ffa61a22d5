package codex

import (
	"path/filepath"
	"testing"

	"acp-agent/hooks"
)

// A plugin's variables are in the environment of its hooks and are put into
// their commands (Codex 0.171.0, execution); other files' hooks do not have them.
func TestNamedPlugin(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "plug")
	write(t, filepath.Join(root, "hooks", "hooks.json"), `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo '${PLUGIN_ROOT}' \"$CLAUDE_PLUGIN_ROOT\" >&2; test -d \"$PLUGIN_DATA\" && exit 2"}]}]}}`)
	other := filepath.Join(dir, "other.json")
	write(t, other, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo \"[$PLUGIN_ROOT]\" >&2; exit 2"}]}]}}`)
	files, problems := Discover(DiscoverOptions{Extra: []string{root, other}, DataDir: filepath.Join(dir, "data")})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d, _ := New(Options{Files: files, Env: hooks.Environ{"PATH=/usr/bin:/bin"}})
	set := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{d}})
	defer set.Close()
	out := set.Match(&hooks.Call{Event: hooks.Stop, Cwd: dir}).Run(t.Context())
	if len(out.Reasons) != 2 || out.Reasons[0].Text != root+" "+root || out.Reasons[1].Text != "[]" {
		t.Errorf("%+v %+v", out.Reasons, out.Runs)
	}
}
