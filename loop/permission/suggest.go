package permission

import (
	"strings"
)

// Suggestion is what an "always" answer would remember. Rule allows, Deny
// rejects; the labels finish the sentences "Always allow …", "Always reject …".
type Suggestion struct{ Rule, Label, Deny, DenyLabel string }

// Suggest says what an "always" answer to the call would remember: a tool, for a
// page of the web its host, or for a command the words that say what it does, such
// as go test. A line that is
// more than simple commands of the same kind is remembered as it is, to the
// letter, and nothing beside it.
func (r *Rules) Suggest(c Call) Suggestion {
	if host := hostOf(newSubject(c).arg("url")); c.Name == "web_fetch" && host != "" {
		rule, label := "web_fetch(domain:"+host+")", "pages of "+host
		return Suggestion{Rule: rule, Label: label, Deny: rule, DenyLabel: label}
	}
	if c.Name != "bash" {
		label := "all calls of " + c.Name
		return Suggestion{Rule: c.Name, Label: label, Deny: c.Name, DenyLabel: label}
	}
	s := newSubject(c).script()
	exact := Suggestion{Rule: "bash(" + escapePattern(s.source) + ")", Label: "this exact command"}
	exact.Deny, exact.DenyLabel = exact.Rule, exact.Label
	if s.source == "" {
		return Suggestion{Rule: "bash", Label: "all calls of bash", Deny: "bash", DenyLabel: "all calls of bash"}
	}
	if !s.plain {
		return exact
	}
	prefix := ""
	for _, cmd := range s.commands {
		p := safePrefix(cmd.words)
		if p == "" || prefix != "" && p != prefix {
			return exact
		}
		prefix = p
	}
	rule, label := "bash("+escapePattern(prefix)+":*)", "commands that start with "+prefix
	return Suggestion{Rule: rule, Label: label, Deny: rule, DenyLabel: label}
}

// subcommands are programs whose second word says what they do, with those
// second words that may be allowed for good. What is there to run something else
// (go run, npm exec, git config, git rebase --exec) is not among them.
var subcommands = map[string]string{
	"go":        "build test vet fmt list doc mod version",
	"git":       "add blame branch checkout commit describe diff fetch log merge pull push reset restore rev-parse show stash status switch tag",
	"cargo":     "build check clippy doc fmt test tree",
	"npm":       "ci install ls outdated test view",
	"pnpm":      "install list outdated test",
	"yarn":      "install list outdated test",
	"bun":       "install test",
	"deno":      "check fmt lint test",
	"dotnet":    "build format restore test",
	"gradle":    "build check test",
	"mvn":       "compile package test verify",
	"docker":    "images inspect logs ps",
	"kubectl":   "describe get logs",
	"gh":        "issue pr repo run search",
	"pip":       "install list show",
	"uv":        "lock pip sync",
	"terraform": "fmt plan validate",
}

// scripts are programs that run the script a third word names.
var scripts = map[string]bool{"npm": true, "pnpm": true, "yarn": true, "bun": true}

// readers only show things.
var readers = words("basename cat cmp cut df diff dirname du echo grep head jq ls md5sum nl printf pwd readlink realpath sha256sum stat tail tr true uname wc")

// checkers run a project's own tests and linters.
var checkers = words("eslint gofmt golangci-lint jest mypy pylint pytest ruff shellcheck staticcheck tsc vitest")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// safePrefix returns the words of a command that say what it does, empty where
// the rest of it could make it anything.
func safePrefix(cmd []string) string {
	program := cmd[0]
	if readers[program] || checkers[program] {
		return program
	}
	if len(cmd) < 2 {
		return ""
	}
	for _, sub := range strings.Fields(subcommands[program]) {
		if sub == cmd[1] {
			return program + " " + sub
		}
	}
	if scripts[program] && cmd[1] == "run" && len(cmd) > 2 && plainWord(cmd[2]) {
		return program + " run " + cmd[2]
	}
	return ""
}

func plainWord(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-") == ""
}
