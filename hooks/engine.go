package hooks

import (
	"context"
	"time"
)

// Options make an engine.
type Options struct {
	// Dialects in merge order: claude-code, then codex.
	Dialects []Dialect
	// ProjectDir keys trust: where the session started.
	ProjectDir string
	// Trust is the store of what the person has trusted; nil trusts nothing that
	// needs trust.
	Trust *Trust
	// SpillDir is a private directory for texts that are over a dialect's cap; it
	// is made when needed. Empty: such texts are cut.
	SpillDir string
	// Deliver is called with what async handlers say, from any goroutine, at any
	// time until Close. rewake: an idle session should wake up for it. Nil drops
	// it.
	Deliver func(t Text, rewake bool)
	// Now is the clock for durations; nil is time.Now.
	Now func() time.Time
	// Background is the life of async handlers; nil is context.Background. Close
	// ends them too.
	Background context.Context
}
