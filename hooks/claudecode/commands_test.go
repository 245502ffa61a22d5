package claudecode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-agent/hooks"
)

func TestFrontHooks(t *testing.T) {
	const want = `{"hooks":{"Stop":[{"hooks":[{"command":"echo \"done\"","timeout":5,"type":"command"}]}]}}`
	const front = "description: x\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: echo \"done\"\n          timeout: 5\n"
	for in, want := range map[string]string{
		"---\n" + front + "---\nPrompt":                                       want,
		"\ufeff---\r\n" + strings.ReplaceAll(front, "\n", "\r\n") + "---\r\n": want,
		"---  \n" + front + "---":                                             want,
		"---\nhooks: {Stop: []}\n---\n---\nhooks: x\n---\n":                   `{"hooks":{"Stop":[]}}`,
		"---\nhooks: nonsense\n---\n":                                         `{"hooks":"nonsense"}`,
		"---\nhooks:\n---\n":                                                  "",
		"---\ndescription: about hooks\n---\nhooks: {Stop: []}":               "",
		"---\n---\nhooks: {Stop: []}\n---\n":                                  "",
		front:                                                                 "",
		"x\n---\n" + front + "---\n":                                          "",
		"---\n" + front:                                                       "",
		"":                                                                    "",
		"---\ndescription: [\n---\n":                                          "",
		"---\nhooks: [\n---\n":                                                "error",
		"---\nhooks: {1: [], a: .nan}\n---\n":                                 "error",
		"---\nhooks: &a [*a]\n---\n":                                          "error",
		"---\n- hooks\n---\n":                                                 "error",
	} {
		got, err := frontHooks([]byte(in))
		text := string(got)
		if err != nil {
			text = "error"
		}
		if text != want {
			t.Errorf("%q: %s %v, want %s", in, got, err, want)
		}
	}
}

// The hooks of a command file are the person's or the repository's, by where the
// file is called from, and are as those of a settings file but for once.
func TestCommandFiles(t *testing.T) {
	front := func(command string) string {
		return "---\nhooks:\n  Stop:\n    - hooks:\n        - {type: command, command: " + command + ", once: true}\n---\nDo it.\n"
	}
	p := newPlaces(t)
	mine := write(t, filepath.Join(p.home, ".claude", "commands", "mine.md"), front("mine"))
	theirs := write(t, filepath.Join(p.cwd, ".claude", "commands", "sub", "theirs.md"), front("theirs"))
	link := filepath.Join(p.cwd, ".claude", "commands", "link.md")
	if err := os.Symlink(write(t, filepath.Join(p.root, "elsewhere.md"), front("linked")), link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	broken := write(t, filepath.Join(p.home, ".claude", "commands", "broken.md"), "---\nhooks: [\n---\n")
	plain := write(t, filepath.Join(p.home, ".claude", "commands", "plain.md"), "Do it.")
	p.opts.Commands = []CommandFile{{"mine", mine}, {"sub:theirs", theirs}, {"link", link}, {"broken", broken}, {"plain", plain}, {"gone", plain + "x"}}
	states := func() string {
		files, problems := Discover(p.opts)
		if len(problems) != 1 || problems[0].File != broken || !strings.Contains(problems[0].Text, "front matter cannot be read") {
			t.Errorf("%v", problems)
		}
		s := hooks.NewEngine(hooks.Options{Dialects: []hooks.Dialect{New(Config{Files: files, Home: p.home})}})
		defer s.Close()
		var out []string
		for _, h := range s.Handlers() {
			text := string(h.Place.Layer) + " " + h.After + " " + h.Command
			if !h.Once {
				text += " often"
			}
			if !h.Trust.Runs() {
				text += " held"
			}
			if h.Why != "" {
				text += " off"
			}
			out = append(out, text)
		}
		return strings.Join(out, ", ")
	}
	if got := states(); got != "command /mine mine, project-command /sub:theirs theirs held, project-command /link linked held" {
		t.Error(got)
	}
	// As every hook that is not an administrator's or a plugin's.
	for _, policy := range []string{`{"allowManagedHooksOnly":true}`, `{"strictPluginOnlyCustomization":true}`, `{"disableAllHooks":true}`} {
		write(t, filepath.Join(p.opts.ManagedDir, "managed-settings.json"), policy)
		if got := states(); strings.Count(got, "off") != 3 {
			t.Errorf("%s: %s", policy, got)
		}
	}
	for path, want := range map[string]bool{mine: true, theirs: true, broken: true, plain: false, plain + "x": false, p.home: false} {
		if BringsHooks(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
