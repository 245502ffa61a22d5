package snapshots

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Record runs scenarios against a live model and writes session.jsonl, which is
// from then on the model's script: what came over the wire, delta by delta. The
// expectations come of a replay of it, without the model, and must repeat. The
// input is written by hand before; Options.Env holds the provider's key.
func Record(ctx context.Context, o Options) (Report, error) {
	switch {
	case o.Model == "" || strings.HasPrefix(o.Model, "replay:"):
		return Report{}, errors.New("recording needs a live model: give --model provider/NAME")
	case o.Foreign:
		return Report{}, errors.New("only this project's agent writes a log that can be replayed")
	}
	o.Update = true
	o.Parallel = 1 // one at a time: providers limit rates
	return Run(ctx, o)
}

// secrets returns the values of environment entries whose name says that they
// are secret. A recording that holds one must not be written.
func secrets(env []string) []string {
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		if len(value) < 8 {
			continue
		}
		for _, mark := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD"} {
			if strings.Contains(name, mark) {
				out = append(out, value)
				break
			}
		}
	}
	return out
}

// checkSecrets refuses files that hold a secret of the environment.
func checkSecrets(env []string, files map[string][]byte) error {
	for _, secret := range secrets(env) {
		for name, data := range files {
			if strings.Contains(string(data), secret) {
				return fmt.Errorf("%s would hold a secret from the environment: nothing was written", name)
			}
		}
	}
	return nil
}
