package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EnvStart is the file that has a command's shell read an EnvFile, beside it.
func EnvStart(envFile string) string { return strings.TrimSuffix(envFile, ".sh") + ".start.sh" }

// environ is the environment of a tool's children: once hooks have exported
// something, bash reads it before each command.
func (s *Session) environ() []string {
	if s.cfg.EnvFile == "" {
		return s.cfg.Environ
	}
	if st, err := os.Stat(s.cfg.EnvFile); err != nil || st.Size() == 0 {
		return s.cfg.Environ
	}
	s.envStart.Do(func() { s.envStartErr = writeEnvStart(s.cfg.EnvFile, s.cfg.Environ) })
	if s.envStartErr != nil {
		s.cfg.Log.Error("commands do without what hooks have exported", "error", s.envStartErr)
		return s.cfg.Environ
	}
	return append(slices.Clip(s.cfg.Environ), "BASH_ENV="+EnvStart(s.cfg.EnvFile))
}

// writeEnvStart writes what BASH_ENV names. Every bash reads that, and so scripts
// that a command starts would read the exports anew, over what the command has set
// for them: the file puts BASH_ENV back as it was, and reads what that names, too.
func writeEnvStart(envFile string, environ []string) error {
	text := "unset BASH_ENV\n"
	for _, kv := range environ {
		if old, ok := strings.CutPrefix(kv, "BASH_ENV="); ok && old != "" {
			text = "export BASH_ENV=" + shellQuote(old) + "\n[ ! -r \"$BASH_ENV\" ] || . \"$BASH_ENV\"\n"
		}
	}
	text += ". " + shellQuote(filepath.ToSlash(envFile)) + "\n"
	if err := os.WriteFile(EnvStart(envFile), []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the file that reads %s: %w", envFile, err)
	}
	return nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
