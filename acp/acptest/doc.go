// Package acptest is a fake ACP client for tests of an agent: over an in-memory pipe, inside a
// testing/synctest bubble or not, and over the pipes of a child process.
//
// Every frame that the agent sends is recorded in order and checked against the published schema
// (acp/schema), by the method it belongs to; a frame that does not fit fails the test. Waiting is by
// condition on what was recorded, never by time.
//
// It is for tests only, and plays the client badly enough to be one: it believes what the test says.
package acptest
