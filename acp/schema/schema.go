// Package schema holds the published JSON schemas of the protocol, for tests that check messages and
// types against them. See README.md for where they come from. No product code needs them.
package schema

import _ "embed"

// Stable is the schema of protocol version 1.
//
//go:embed schema.json
var Stable []byte

// Unstable is Stable with the drafts, some of which have become stable upstream since.
//
//go:embed schema.unstable.json
var Unstable []byte
