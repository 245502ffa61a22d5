package claudecode

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"acp-agent/hooks"
)

// termGrace is how long a hook has after SIGTERM at its time limit.
const termGrace = 500 * time.Millisecond

// process says how a command handler is started (Claude Code hooks reference, execution).
func (d *Dialect) process(job *hooks.Job) (*hooks.Process, error) {
	h, c := job.Handler, job.Call
	x := extOf(h)
	if x.plugin != nil && x.plugin.Data != "" {
		// A plugin that finds it missing says so better than this could.
		_ = os.MkdirAll(x.plugin.Data, 0o700)
	}
	p := &hooks.Process{
		Env: d.environ(h, c), Dir: c.Cwd, Fallbacks: fallbacks(c.ProjectDir, d.cfg.Home, os.TempDir()),
		Stdin: job.Payload, Timeout: h.Timeout, TermGrace: termGrace,
	}
	if !h.Async {
		p.Detach = detach
		if c.Event == hooks.SessionEnd {
			p.Detach = func(line []byte) (time.Duration, bool) {
				_, ok := detach(line)
				return h.Timeout, ok
			}
		}
	}
	if h.ExecForm {
		values := placeholders(x, c)
		for name, v := range options(x) {
			values["user_config."+name] = v
		}
		for _, a := range append([]string{h.Command}, h.Args...) {
			for _, ref := range option().FindAllString(a, -1) {
				if _, ok := values[ref[2:len(ref)-1]]; !ok {
					return nil, fmt.Errorf("%s has no value: the plugin's options are pluginConfigs in your settings", ref)
				}
			}
			p.Argv = append(p.Argv, substitute(a, values))
		}
		return p, nil
	}
	if strings.Contains(h.Command, "${user_config.") {
		return nil, fmt.Errorf("${user_config.…} is replaced in the exec form only: give args")
	}
	argv, err := shellCommand(h.Shell, h.Command, p.Env)
	p.Argv = argv
	return p, err
}

// fallbacks are where a hook runs when the working directory was deleted
// (2.1.239, openai/codex#45293).
func fallbacks(dirs ...string) []string {
	var out []string
	for _, d := range dirs {
		if d != "" {
			out = append(out, d)
		}
	}
	return out
}

// placeholders are replaced in the exec form; in the shell form the shell does
// it, from the environment.
func placeholders(x *ext, c *hooks.Call) map[string]string {
	m := map[string]string{"CLAUDE_PROJECT_DIR": c.ProjectDir}
	if x.plugin != nil {
		m["CLAUDE_PLUGIN_ROOT"] = x.plugin.Root
		if x.plugin.Data != "" {
			m["CLAUDE_PLUGIN_DATA"] = x.plugin.Data
		}
	}
	return m
}

func options(x *ext) map[string]string {
	if x.plugin == nil {
		return nil
	}
	return x.plugin.Options
}

// option is the placeholder of a plugin's option.
var option = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{user_config\.[^}]*\}`) })

// substitute puts the values in the places of their names, in one pass: a value that
// looks like a placeholder is none.
func substitute(s string, values map[string]string) string {
	pairs := make([]string, 0, 2*len(values))
	for k, v := range values {
		pairs = append(pairs, "${"+k+"}", v)
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// shellCommand wraps a shell-form command. The vendor says sh, but people write
// bash, and sh may be dash: bash where there is one (public configs). Never a login
// or an interactive shell, whose profile could print (claude-code#21992).
func shellCommand(shell, command string, env hooks.Environ) ([]string, error) {
	if prefix, ok := env.Get("CLAUDE_CODE_SHELL_PREFIX"); ok && prefix != "" && shell != "powershell" {
		command = prefix + " " + quote(command)
	}
	if shell == "powershell" {
		return powershell(command, env)
	}
	if bash, ok := env.LookPath("bash"); ok {
		return []string{bash, "-c", command}, nil
	}
	if shell == "bash" {
		return nil, fmt.Errorf("there is no bash in PATH")
	}
	if runtime.GOOS == "windows" {
		return powershell(command, env)
	}
	sh, ok := env.LookPath("sh")
	if !ok {
		sh = "/bin/sh"
	}
	return []string{sh, "-c", command}, nil
}

var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_ROOT|CLAUDE_PLUGIN_DATA)\}`)
})

// powershell runs the command in PowerShell, where the placeholders are spelt
// otherwise (Claude Code hooks reference, execution).
func powershell(command string, env hooks.Environ) ([]string, error) {
	for _, name := range []string{"pwsh", "powershell"} {
		if path, ok := env.LookPath(name); ok {
			command = placeholder().ReplaceAllString(command, "${env:$1}")
			return []string{path, "-NoProfile", "-NonInteractive", "-Command", command}, nil
		}
	}
	return nil, fmt.Errorf("there is no pwsh or powershell in PATH")
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// environ is a hook's environment (Claude Code hooks reference, execution).
func (d *Dialect) environ(h *hooks.Handler, c *hooks.Call) hooks.Environ {
	x := extOf(h)
	env := d.env.Without(func(string) bool { return false }).WithShellLevel()
	for _, k := range sortedKeys(x.env) {
		env = env.Set(k, x.env[k])
	}
	set := map[string]string{
		"CLAUDE_PROJECT_DIR":        c.ProjectDir,
		"CLAUDECODE":                "1",
		"CLAUDE_CODE_SESSION_ID":    c.SessionID,
		"CLAUDE_CODE_CHILD_SESSION": "1",
	}
	if d.cfg.PID > 0 {
		set["CLAUDE_PID"] = strconv.Itoa(d.cfg.PID)
	}
	if c.Effort != "" {
		set["CLAUDE_EFFORT"] = c.Effort
	}
	maps.Copy(set, placeholders(x, c))
	for name, v := range options(x) {
		set[optionPrefix+strings.ToUpper(name)] = v
	}
	if d.cfg.EnvFile != nil && (c.Event == hooks.SessionStart || c.Event == hooks.CwdChanged || c.Event == hooks.FileChanged) {
		if path := d.cfg.EnvFile(c.SessionID); path != "" {
			set["CLAUDE_ENV_FILE"] = path
		}
	}
	for _, k := range sortedKeys(set) {
		v := set[k]
		if h.Shell != "powershell" && slices.Contains([]string{"CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"}, k) {
			// On Windows: Git Bash eats backslashes in what it expands unquoted (claude-code#21878).
			v = filepath.ToSlash(v)
		}
		env = env.Set(k, v)
	}
	return env
}

// detach recognises the first line by which a hook puts itself in the
// background: {"async":true,"asyncTimeout":ms} (Claude Code hooks reference, handlers).
func detach(line []byte) (time.Duration, bool) {
	var v struct {
		Async        bool    `json:"async"`
		AsyncTimeout float64 `json:"asyncTimeout"`
	}
	if json.Unmarshal(hooks.TrimForTest(line), &v) != nil || !v.Async {
		return 0, false
	}
	if v.AsyncTimeout <= 0 {
		return 600 * time.Second, true
	}
	return seconds(v.AsyncTimeout / 1000), true
}
