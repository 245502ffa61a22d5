package wire

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
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
