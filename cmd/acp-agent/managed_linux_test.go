package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/acp"
)

// ownEtc returns a directory that is /etc for a command started by inEtc. There
// is no variable or key that moves the administrator's files: what could move
// them for a test could move them for a repository.
func ownEtc(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("unshare", "-rm", "mount", "--bind", t.TempDir(), "/etc").CombinedOutput(); err != nil {
		t.Skipf("no mount namespaces for users here, so /etc cannot be another: %v %s", err, out)
	}
	etc := t.TempDir()
	for _, name := range []string{"passwd", "hosts", "ld.so.cache", "alternatives"} {
		if _, err := os.Stat(filepath.Join("/etc", name)); err == nil {
			if out, err := exec.Command("cp", "-r", filepath.Join("/etc", name), etc).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
	}
	return etc
}

func inEtc(etc string, args ...string) *exec.Cmd {
	return exec.Command("unshare", append([]string{"-rm", "sh", "-c", `mount --bind "$0" /etc && exec acp-agent "$@"`, etc}, args...)...)
}

// machine is a home, a project and an /etc, whose Stop hooks write their names
// into a file.
type machine struct {
	t                       *testing.T
	etc, home, project, log string
}

func (m *machine) put(path, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) json(name string) string {
	return `"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo ` + name + ` >> ` + m.log + `"}]}]}`
}

func (m *machine) toml(name string) string {
	return "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"echo " + name + " >> " + m.log + "\"\n"
}

// ran is which hooks have run since it was asked last.
func (m *machine) ran() string {
	m.t.Helper()
	data, err := os.ReadFile(m.log)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := os.Remove(m.log); err != nil {
		m.t.Fatal(err)
	}
	names := strings.Fields(string(data))
	slices.Sort(names)
	return strings.Join(names, " ")
}

// The administrator's layers of both vendors, in the places where they are:
// their hooks run unasked, their switches hold, and what appears, changes or
// vanishes while a session runs counts with the next prompt.
func TestManagedLayers(t *testing.T) {
	etc := ownEtc(t)
	m := &machine{t: t, etc: etc, home: t.TempDir(), project: t.TempDir(), log: filepath.Join(t.TempDir(), "log")}
	cc, cx := filepath.Join(etc, "claude-code"), filepath.Join(etc, "codex")
	requirements := func(more string) string {
		return more + "[hooks]\nmanaged_dir = \"/etc/codex\"\n" + m.toml("req")
	}
	m.put(filepath.Join(cc, "managed-settings.json"), `{`+m.json("managed")+`}`)
	m.put(filepath.Join(cx, "requirements.toml"), requirements(""))
	m.put(filepath.Join(cx, "hooks.json"), `{`+m.json("system")+`}`)
	m.put(filepath.Join(cx, "managed_config.toml"), m.toml("legacy"))
	m.put(filepath.Join(m.home, ".claude", "settings.json"), `{`+m.json("user")+`}`)
	m.put(filepath.Join(m.home, ".codex", "hooks.json"), `{`+m.json("codexuser")+`}`)
	m.put(filepath.Join(m.project, ".claude", "settings.json"), `{"disableAllHooks":true,`+m.json("project")+`}`)
	server := newModelServer(t, "1", "2", "3", "4", "5", "6")
	cmd := inEtc(etc, "serve", "--model", "deepseek/test", "--state-dir", t.TempDir())
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "DEEPSEEK_API_KEY=k", "DEEPSEEK_BASE_URL=" + server.URL}
	cmd.Stderr = t.Output()
	c := talkTo(t, cmd)
	c.HandlePermission(acp.PermissionOptionKindRejectOnce) // the project's
	call(t, c, acp.MethodInitialize, map[string]any{"protocolVersion": 1}, nil)
	var made acp.NewSessionResponse
	call(t, c, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: m.project}, &made)
	step := func(what, want string) {
		t.Helper()
		call(t, c, acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: made.SessionID, Prompt: []acp.ContentBlock{acp.TextBlock(what)}}, nil)
		if got := m.ran(); got != want {
			t.Errorf("%s: %s ran, want %s", what, got, want)
		}
	}
	step("as it is", "codexuser legacy managed req system user")

	// A new file in a directory that was not there at the start.
	drop := filepath.Join(cc, "managed-settings.d", "10-policy.json")
	m.put(drop, `{"allowManagedHooksOnly":true,`+m.json("drop")+`}`)
	step("a drop-in appears", "codexuser drop legacy managed req system")

	m.put(drop, `{"allowManagedHooksOnly":true,`)
	step("it is in pieces", "codexuser drop legacy managed req system")

	m.put(filepath.Join(cx, "requirements.toml"), requirements("allow_managed_hooks_only = true\n"))
	step("Codex's managed hooks only", "drop legacy managed req system")

	next := filepath.Join(cc, "next")
	m.put(next, `{"disableAllHooks":true}`)
	if err := os.Rename(next, filepath.Join(cc, "managed-settings.json")); err != nil {
		t.Fatal(err)
	}
	step("replaced by rename", "legacy req system")

	for _, name := range []string{drop, filepath.Join(cc, "managed-settings.json"), filepath.Join(cx, "requirements.toml")} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	step("gone", "codexuser legacy system user")
	c.Finish()
}

// hooks list names the layers, and a repository cannot name any of them.
func TestManagedLayersAreListed(t *testing.T) {
	etc := ownEtc(t)
	m := &machine{t: t, etc: etc, home: t.TempDir(), project: t.TempDir(), log: "/dev/null"}
	m.put(filepath.Join(etc, "claude-code", "managed-settings.json"), `{`+m.json("managed")+`}`)
	m.put(filepath.Join(etc, "codex", "config.toml"), m.toml("system"))
	cmd := inEtc(etc, "hooks", "list", "-C", m.project)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home}
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"/etc/claude-code/managed-settings.json (claude-code, managed)", "/etc/codex/config.toml (codex, system)"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: no %q in\n%s", err, want, out)
		}
	}
}
