// Package session is the domain's vocabulary and its log: what a message, a
// content block and an event are, how a log of events folds into a State, and
// what of it the model sees (the Transcript).
//
// Everything here is pure. A State is a fold over events and nothing else; the
// messages that a model is sent are a pure function of the log, so that resume,
// load, replay, audit and crash repair are one mechanism. Injected content
// (user, steering and context messages) is projected by one branch that hands
// the content blocks on unchanged: no layer wraps, trims, joins or labels them.
//
// The event names and fields are those of the reference system's recordings
// where it has the same event, so that the payloads of its session.jsonl files
// decode with this package as they are (DecodeData).
//
// It is not a store (session/jsonl is) and knows nothing of ACP, hooks or any
// provider's wire.
package session
