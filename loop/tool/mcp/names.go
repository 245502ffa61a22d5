package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// maxName is what all providers take.
	maxName = 64
	// hashLen is how many hex digits tell two names apart that would be one.
	hashLen = 8
)

// origin is a tool by the names that its server gives.
type origin struct{ server, tool string }

// plain maps the names into those that providers take. lossless: nothing was
// replaced, so that no other origin has a better right to the name, other than
// by where its "__" stands.
func (o origin) plain() (name string, lossless bool) {
	given := "mcp__" + o.server + "__" + o.tool
	name = clean(given)
	return name, name == given
}

// hashed is the mapped name, cut where need be, with a short hash of the whole.
func (o origin) hashed() string {
	name, _ := o.plain()
	sum := sha256.Sum256([]byte(o.server + "\x00" + o.tool))
	name = name[:min(len(name), maxName-hashLen-1)]
	return strings.TrimRight(name, "_") + "_" + hex.EncodeToString(sum[:])[:hashLen]
}

// clean replaces each character that is not a letter, a digit, _ or - of ASCII.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// toolNames gives each origin a name of its own that providers take:
// mcp__server__tool where that fits and is free. Of several that would have the
// same name, the first that needed no change keeps it, or else the first of all;
// the others carry a hash, as do names that are too long. The origins must
// differ; the same list always gives the same names.
func toolNames(all []origin) []string {
	names := make([]string, len(all))
	owner := map[string]int{}
	for i, o := range all {
		name, lossless := o.plain()
		if len(name) > maxName {
			continue
		}
		names[i] = name
		j, taken := owner[name]
		if !taken {
			owner[name] = i
			continue
		}
		if _, fits := all[j].plain(); lossless && !fits {
			owner[name] = i
		}
	}
	taken := map[string]bool{}
	for name := range owner {
		taken[name] = true
	}
	for i, o := range all {
		if j, ok := owner[names[i]]; ok && j == i {
			continue
		}
		name := o.hashed()
		// A name that looks like another's hashed one: hash on.
		for next := o; taken[name]; name = next.hashed() {
			next.tool += "\x00"
		}
		names[i], taken[name] = name, true
	}
	return names
}
