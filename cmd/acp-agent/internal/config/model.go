package config

import (
	"errors"
	"fmt"
	"strings"
)

// Replay is the provider of recorded streams. Its model name is a path.
const Replay = "replay"

// ModelRef names a model as people give it: provider/name, or replay:PATH.
type ModelRef struct {
	Provider string
	// Name is the provider's model name, or the recording's path.
	Name string
}

// IsZero reports whether no model is named.
func (r ModelRef) IsZero() bool { return r == ModelRef{} }

func (r ModelRef) String() string {
	switch {
	case r.IsZero():
		return ""
	case r.Provider == Replay:
		return Replay + ":" + r.Name
	}
	return r.Provider + "/" + r.Name
}

// ParseModel reads a model reference. Everything after the first slash is the
// name: gateways use names that hold slashes themselves.
func ParseModel(s string) (ModelRef, error) {
	if path, ok := strings.CutPrefix(s, Replay+":"); ok {
		if path == "" {
			return ModelRef{}, errors.New("replay: needs the path of a recording")
		}
		return ModelRef{Provider: Replay, Name: path}, nil
	}
	provider, name, ok := strings.Cut(s, "/")
	if !ok || provider == "" || name == "" {
		return ModelRef{}, fmt.Errorf("%q is not a model reference", s)
	}
	return ModelRef{Provider: provider, Name: name}, nil
}

func (c *Config) modelHelp() string {
	return "write PROVIDER/NAME with one of " + strings.Join(c.ProviderNames(), ", ") + ", or replay:PATH"
}

// ResolveModel returns the model to use: the one that was asked for, or the
// default of the first provider that has a key. Without any key the error has
// Auth set and says which variable or file would do. It is asked when a session
// is made, not at the start, so that a key which appears later is found.
func (c *Config) ResolveModel() (ModelRef, error) {
	if !c.Model.IsZero() {
		return c.Model, nil
	}
	for _, name := range c.ProviderNames() {
		p, _ := c.provider(name)
		if len(p.Models) == 0 {
			continue
		}
		if p.KeyEnv == "" {
			return ModelRef{name, p.Models[0]}, nil
		}
		key, err := c.Key(name)
		var bad *Error
		switch {
		case err == nil && key != "":
			return ModelRef{name, p.Models[0]}, nil
		case errors.As(err, &bad) && !bad.Auth:
			return ModelRef{}, err // there may be a key, in a file that cannot be read
		}
	}
	return ModelRef{}, &Error{
		What: "no model is set and no provider has a key",
		Do:   "set " + strings.Join(c.keyVariables(), " or ") + ", or run `acp-agent login`" + c.credentialsHint(),
		Auth: true,
	}
}
