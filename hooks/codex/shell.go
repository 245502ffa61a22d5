package codex

import "strings"

// PasswdShell finds a user's shell in the text of a passwd file, for
// Options.Shell; "" when it is not there or no shell to run commands in (as
// that of service accounts). Codex takes the shell from there and not from
// $SHELL (Codex 0.171.0, execution).
func PasswdShell(passwd, uid string) string {
	for line := range strings.Lines(passwd) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		if len(f) != 7 || f[2] != uid {
			continue
		}
		switch shell := f[6]; {
		case !strings.HasPrefix(shell, "/"), strings.HasSuffix(shell, "/nologin"), strings.HasSuffix(shell, "/false"):
			return ""
		default:
			return shell
		}
	}
	return ""
}
