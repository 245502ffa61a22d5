package codex

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"

	"acp-agent/hooks"
)

// Codex keeps its own trust in the user's config.toml, one table a handler:
//
//	[hooks.state."/home/u/p/.codex/hooks.json:pre_tool_use:0:0"]
//	trusted_hash = "sha256:…"
//
// A person who has trusted a handler there has read exactly this content, so
// it counts here as well (Codex 0.171.0, config and trust). Both, key and hash, are Codex's:
// TestHash holds hashes that 0.171.0 reported.

// codexHash is the hash that Codex gives the handler: of the compact JSON, keys
// sorted, of {event_name, matcher, hooks: [the handler with its defaults
// filled in]}. Keys without a value are left out, and a matcher that does not
// count is without one.
func codexHash(g *group, h *handler, goos string) string {
	w := hooks.NewObject(nil)
	w.Str("event_name", events[g.event])
	in := hooks.NewObject([]byte{'['})
	if h.contextLimit != nil && *h.contextLimit != defaultContextLimit {
		in.Raw("additionalContextLimit", strconv.AppendUint(nil, *h.contextLimit, 10))
	}
	if h.kind == commandHandler {
		in.Bool("async", h.async)
		in.Str("command", h.effective(goos))
	} else {
		input := &node{kind: objectNode}
		if h.input != nil {
			input = h.input.hashed()
		}
		in.Raw("input", input.json())
		in.Str("server", h.server)
	}
	if h.statusMessage != nil {
		in.Str("statusMessage", *h.statusMessage)
	}
	in.Int("timeout", int64(h.seconds(g.event)))
	if h.kind != commandHandler {
		in.Str("tool", h.tool)
	}
	in.Str("type", string(h.kind))
	w.Raw("hooks", append(in.Close(), ']'))
	if g.matcherWritten && hasSubject(g.event) {
		w.Str("matcher", g.matcher)
	}
	sum := sha256.Sum256(w.Close())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hashed is the value as Codex hashes it: every object's keys in order, and a
// number in the object that serde_json puts one into on its way through TOML.
func (n *node) hashed() *node {
	if n.kind == numberNode {
		return &node{kind: objectNode, members: []member{
			{key: "$serde_json::private::Number", value: &node{kind: stringNode, text: n.text}},
		}}
	}
	out := *n
	out.elems, out.members = nil, nil
	for _, e := range n.elems {
		out.elems = append(out.elems, e.hashed())
	}
	for _, m := range n.members {
		out.members = append(out.members, member{key: m.key, value: m.value.hashed()})
	}
	sort.SliceStable(out.members, func(i, j int) bool { return out.members[i].key < out.members[j].key })
	return &out
}

// stateOf finds Codex's record of a handler. Codex writes the path as it went
// to it, which may be the real one or one through a link; a plugin's is its id
// and the path inside.
func stateOf(states map[string]hookState, file *File, g *group, h *handler) (hookState, bool) {
	names := []string{file.keySource}
	if file.keySource == "" {
		names[0] = file.Path
		if real, err := filepath.EvalSymlinks(file.Path); err == nil && real != file.Path {
			names = append(names, real)
		}
	}
	for _, f := range names {
		if s, ok := states[fmt.Sprintf("%s:%s:%d:%d", f, events[g.event], g.index, h.index)]; ok {
			return s, true
		}
	}
	return hookState{}, false
}
