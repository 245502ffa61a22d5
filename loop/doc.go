// Package loop is the agent loop: what happens next in a turn (Next, a pure
// function of the session's state) and who makes it happen (Session).
//
// A Session owns one log. Whoever holds its ownership, the goroutine of the
// running turn or, between turns, a short operation, is the only one that
// appends and the only one that reads the state; there is no lock on either.
// While the owner waits for what can block (a model's stream, a tool, a hook, a
// question to the client), it lends the state to short operations (a mode change,
// a steering message), so that they never wait for a person.
//
// Events are durable before the Observer hears of them; text deltas are the
// named exception: they are shown as they stream and written in batches. What
// leads to a model request is written before it is sent and durable before
// anything of its answer is shown.
//
// A hook that asks a model does so beside the owner, too (Session.Judge): its
// conversation is logged through short operations.
//
// The package knows nothing of ACP: acp/agent projects its events to the wire.
package loop
