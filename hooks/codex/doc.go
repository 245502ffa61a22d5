// Package codex runs hooks that a person has written for OpenAI's Codex CLI:
// it reads their hooks.json and config.toml, matches their groups, writes the
// stdin payload that they expect and reads their answer, all as Codex 0.171.0
// does it. Everything that is not of the dialect (processes, merging, trust
// store, logging) is package hooks'.
//
// # Where the rules come from
//
// The rules were taken from three places, in this order: black-box runs of the
// released 0.171.0 binary (testdata/observed.jsonl holds 68 of them, and
// TestObserved replays every one), the JSON schemas which that binary carries
// (testdata/schemas), and the public source of August 2026 where the first two
// are silent. A comment that says "Codex 0.171.0, output" stands for what was
// found in them about that subject; "public configs" for what is common in the
// hook files that people have published.
//
//	events            payload.go; the order of keys is that of observed payloads
//	matchers          matcher.go
//	handlers          config.go, toml.go, node.go
//	config and trust  discover.go, layers.go, trust.go
//	output            decode.go, wire.go, spill.go
//	execution         dialect.go
//	public configs    tools.go, patch.go
//
// # What differs from the vendor on purpose
//
//   - A stop hook's reason reaches the model as it is, not in a <hook_prompt>
//     element with an id; a denial's reason is the tool's result as it is, not
//     "Command blocked by PreToolUse hook: …". What a hook says is the hook's.
//   - A text taken from a stream loses one line end, where Codex trims every
//     blank at both ends. A JSON text loses nothing, where Codex trims reasons.
//   - Stop reasons are never shortened: a stop hook's reason is an instruction,
//     and half an instruction is worse than none. Contexts are (see spill.go),
//     into files that only their owner can read; Codex leaves them readable.
//   - What Codex skips in silence (an untrusted handler in exec mode, a key that
//     it does not know, an event that it does not have) is said.
//   - The native tool names (bash, edit, write, …) match in an exact-name list
//     beside Codex's own, since this agent's tools go by those names.
package codex

// Name is the dialect's name in handler ids, logs and Texts.
const Name = "codex"
