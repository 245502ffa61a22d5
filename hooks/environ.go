package hooks

import (
	"strconv"
	"strings"

	"acp-agent/internal/lookpath"
)

// Environ is an environment as a list of KEY=value, in order, each key once.
// There is no reading of the process's own environment here: it is injected.
type Environ []string

// Get returns the variable's value and whether it is set.
func (e Environ) Get(key string) (string, bool) { return lookpath.Get(e, key) }

// Without returns a copy without the variables for which drop says true.
func (e Environ) Without(drop func(key string) bool) Environ {
	out := make(Environ, 0, len(e)+12)
	for _, kv := range e {
		// The names with a leading = are Windows' own (=C:).
		k, _, ok := strings.Cut(kv, "=")
		if ok && k != "" && drop(k) {
			continue
		}
		out = append(out, kv)
	}
	return out
}

// Set returns the environment with the variable set. It may change e's backing
// array: use it on a copy (Without).
func (e Environ) Set(key, value string) Environ {
	for i, kv := range e {
		if k, _, ok := strings.Cut(kv, "="); ok && lookpath.SameKey(k, key) {
			e[i] = key + "=" + value
			return e
		}
	}
	return append(e, key+"="+value)
}

// WithShellLevel sets SHLVL to at least 1. A bash that finds itself at level 1
// and its stdin a socket, or (Debian's) SSH_CLIENT set, takes itself for a
// remote login and reads ~/.bashrc, whose output would spoil the hook's stdout.
func (e Environ) WithShellLevel() Environ {
	if v, ok := e.Get("SHLVL"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 1 {
			return e
		}
	}
	return e.Set("SHLVL", "1")
}

// IsOTel reports whether a variable configures OpenTelemetry, which both the
// agent and its children would answer to.
func IsOTel(key string) bool { return strings.HasPrefix(key, "OTEL_") }

// LookPath finds a program in the environment's PATH, or the path itself when
// it has a separator.
func (e Environ) LookPath(name string) (string, bool) { return lookpath.In(e, name) }
