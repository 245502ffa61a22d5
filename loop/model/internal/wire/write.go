package wire

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"acp-agent/session"
)

// SafeName makes an id or a name fit ^[a-zA-Z0-9_-]+$ and a length, which other
// providers' ids ("functions.bash:0") and invented tool names do not keep. What
// fits is not touched; what does not gets a mark that keeps it apart from its
// neighbours. A call and its result come out alike.
func SafeName(s string, most int) string {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0 {
		return s
	}
	h := fnv.New32a()
	h.Write([]byte(s))
	mark := "_" + strconv.FormatUint(uint64(h.Sum32()), 16)
	out := strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, s)
	return out[:min(len(out), most-len(mark))] + mark
}

// Arguments returns a call's arguments as strict servers take them, an object. A
// call that was cut, or that the model botched, stays in the log as it came; its
// history gets an empty object, since one bad string would have every later
// request refused (NousResearch/hermes-agent#25399). The error result tells the model what happened.
func Arguments(s string) string {
	if strings.HasPrefix(strings.TrimLeft(s, " \t\r\n"), "{") && json.Valid([]byte(s)) {
		return s
	}
	return "{}"
}

// Asked is the message whose calls the results behind msgs are of.
func Asked(msgs []session.Message) *session.Message {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == session.RoleAssistant {
			return &msgs[i]
		}
	}
	return new(session.Message)
}

// Parts reports whether what is redacted of a reasoning block are the parts that
// chat completions have, which the other wires cannot read: a provider that is
// asked on another wire than before.
func Parts(b *session.Block) bool { return strings.HasPrefix(b.Redacted, "[") }

// Body is the body of a request that is being written: the parts that are written,
// and the one at hand.
type Body struct {
	Parts [][]byte
	Dst   []byte
}

// Raw writes s as it is.
func (b *Body) Raw(s string) { b.Dst = append(b.Dst, s...) }

// Str writes s as a JSON string.
func (b *Body) Str(s string) { b.Dst = session.AppendString(b.Dst, s) }

// Int writes a number.
func (b *Body) Int(n int64) { b.Dst = strconv.AppendInt(b.Dst, n, 10) }

// Part ends the part at hand.
func (b *Body) Part() { b.Parts, b.Dst = append(b.Parts, b.Dst), nil }

// Schema writes what a tool takes.
func (b *Body) Schema(t *session.ToolSchema) error {
	switch {
	case len(t.Parameters) == 0:
		b.Raw(`{"type":"object","properties":{}}`)
	case !json.Valid(t.Parameters):
		return fmt.Errorf("the schema of tool %s is not JSON", t.Name)
	default:
		b.Dst = append(b.Dst, t.Parameters...)
	}
	return nil
}

// Effort picks the level of OpenAI's wires for one of ours: itself where the model
// has it, else the nearest. Models that are not known get the common levels.
func Effort(effort string, levels []string) string {
	if effort == "off" {
		effort = "none"
	}
	if len(levels) == 0 {
		levels = []string{"none", "low", "medium", "high", "xhigh"}
	}
	if slices.Contains(levels, effort) {
		return effort
	}
	switch effort {
	case "none", "minimal":
		return levels[0]
	case "max", "xhigh":
		return levels[len(levels)-1]
	}
	return effort
}
