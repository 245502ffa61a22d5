package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop/model"
	"acp-agent/loop/model/list"
)

// askLimit bounds the doctor's wait for the providers, which it asks all at
// once. Someone waits at the terminal, and without a network nothing answers.
const askLimit = 5 * time.Second

// showModels is how many models of a provider the doctor names. Gateways have
// hundreds.
const showModels = 12

// checkServed asks each provider that has a key, or needs none, which models it
// serves. One that does not say is a note: many compatible servers have no such
// list. A refused key of the provider in use is a fault.
func checkServed(ctx context.Context, cfg *config.Config) []finding {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	use, _ := cfg.ResolveModel()
	names := cfg.ProviderNames()
	found := make([]*finding, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		p, err := cfg.Provider(name)
		if err != nil {
			continue
		}
		key, err := cfg.Key(name)
		if err != nil {
			continue // checkModels has said so
		}
		wg.Go(func() { // ends with ctx
			f := askModels(ctx, cfg, p, key, use)
			found[i] = &f
		})
	}
	wg.Wait()
	var out []finding
	for _, f := range found {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

func askModels(ctx context.Context, cfg *config.Config, p config.Provider, key string, use config.ModelRef) finding {
	served, err := list.Names(ctx, model.Config{
		Provider: p.Name, KeyName: p.KeyEnv, BaseURL: p.BaseURL, APIKey: key, Headers: p.Headers,
		UserAgent: agentName + "/" + version(), Bearer: p.Bearer,
	}, p.Wire == config.WireMessages)
	var e *model.Error
	switch {
	case errors.As(err, &e) && e.Kind == model.KindAuth && use.Provider == p.Name:
		return finding{"miss", "models", err.Error()}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return finding{"note", "models", fmt.Sprintf("%s did not say within %s which models it serves (%s): check the network and the proxy", p.Name, askLimit, p.Address())}
	case err != nil:
		return finding{"note", "models", fmt.Sprintf("%s does not say which models it serves: %v", p.Name, err)}
	case use.Provider == p.Name && use.Name != "" && !slices.Contains(served, strings.TrimPrefix(use.Name, "models/")):
		return finding{"note", "models", fmt.Sprintf("%s does not list the model in use, %s; it lists %s", p.Name, use.Name, some(served))}
	}
	return finding{"ok", "models", fmt.Sprintf("%s serves %d: %s", p.Name, len(served), some(served))}
}

// some names the first of many.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - showModels; more > 0 {
		return strings.Join(names[:showModels], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
