package snapshots

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// normaliser replaces what differs from run to run by tokens that do not:
// paths, ids by first appearance, times, durations. One serves all files of a
// run, in a fixed order, so that an id has the same token in all of them.
type normaliser struct {
	roots   []spelling
	tokens  map[string]string
	counts  map[string]int
	version string
	// agentIDs maps the ids of the agent's own requests. They are kept apart
	// from the client's, which count from 1 and stay as they are: the two sides
	// number independently and may use the same number for different things.
	agentIDs map[string]*value
}

type spelling struct{ path, token string }

var (
	uuidPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
	})
	outputPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`acp-agent-output-[0-9]+`) })
	digestPattern  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`sha256:[0-9a-f]{64}`) })
	rolloutPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\d{4}/\d{2}/\d{2}/rollout-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}`)
	})
	notNamePart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9]`) })
)

// zeroTime is a time that every reader of the log still accepts.
const zeroTime = "1970-01-01T00:00:00.000Z"

func newNormaliser(p place) *normaliser {
	n := &normaliser{tokens: map[string]string{}, counts: map[string]int{}, agentIDs: map[string]*value{}}
	for _, s := range []spelling{
		{p.cwd, "{{cwd}}"},
		{p.state, "{{state}}"},
		{p.home, "{{home}}"},
		{p.tmp, "{{tmp}}"},
		{p.scenario, "{{scenario}}"},
		{p.exe, "{{agent}}"},
		{p.root, "{{root}}"},
	} {
		if s.path == "" {
			continue
		}
		n.roots = append(n.roots, s)
		// macOS and a few tools name /tmp and /var by their target.
		if !strings.HasPrefix(s.path, "/private/") {
			n.roots = append(n.roots, spelling{"/private" + s.path, s.token})
		}
		// Claude Code folds a project's path into a directory name.
		n.roots = append(n.roots, spelling{notNamePart().ReplaceAllString(s.path, "-"), strings.TrimSuffix(s.token, "}}") + ":folded}}"})
		if back := strings.ReplaceAll(s.path, "/", `\`); back != s.path {
			n.roots = append(n.roots, spelling{back, s.token})
		}
	}
	slices.SortStableFunc(n.roots, func(a, b spelling) int { return len(b.path) - len(a.path) })
	return n
}

// token returns the token of an id, a new one at its first appearance.
func (n *normaliser) token(kind, id string) string {
	if t, ok := n.tokens[id]; ok {
		return t
	}
	n.counts[kind]++
	t := fmt.Sprintf("{{%s:%d}}", kind, n.counts[kind])
	n.tokens[id] = t
	return t
}

// scrub replaces paths and ids inside a string. kind names the ids that are
// new.
func (n *normaliser) scrub(s, kind string) string {
	for _, r := range n.roots {
		s = strings.ReplaceAll(s, r.path, r.token)
	}
	// Codex names a transcript by the time at which its session began.
	s = rolloutPattern().ReplaceAllString(s, "{{date}}/rollout-{{time}}")
	// Where long output of commands is kept.
	s = outputPattern().ReplaceAllStringFunc(s, func(dir string) string { return n.token("output", dir) })
	for id, t := range n.tokens {
		if len(id) >= 8 {
			s = strings.ReplaceAll(s, id, t)
		}
	}
	s = uuidPattern().ReplaceAllStringFunc(s, func(id string) string { return n.token(kind, strings.ToLower(id)) })
	return digestPattern().ReplaceAllStringFunc(s, func(d string) string { return n.token("digest", d) })
}

// walk normalises a value in place. key is the member it stands under.
func (n *normaliser) walk(v *value, key string) {
	switch key {
	case "durationMs", "duration_ms", "durationSeconds", "delayMs":
		if v.kind == numberValue {
			v.str = "0"
		}
	case "ts", "time", "createdAt", "updatedAt":
		switch v.kind {
		case numberValue:
			v.str = "0"
		case stringValue:
			v.str = zeroTime
		}
	case "dt":
		for _, item := range v.items {
			item.str = "0"
		}
	}
	switch v.kind {
	case stringValue:
		v.str = n.scrub(v.str, idKind(key))
	case arrayValue:
		for _, item := range v.items {
			n.walk(item, key)
		}
	case objectValue:
		if key == "meta" {
			v.remove("durationMs") // written only when it is not 0
		}
		for i := range v.members {
			m := &v.members[i]
			if m.key == "rawInput" || m.key == "input" {
				n.strings(m.val) // the model's own: a "time" there is content
				continue
			}
			n.walk(m.val, m.key)
			m.key = n.scrub(m.key, "uuid")
		}
	}
}

func (n *normaliser) strings(v *value) {
	if v.kind == stringValue {
		v.str = n.scrub(v.str, "uuid")
	}
	for _, item := range v.items {
		n.strings(item)
	}
	for i := range v.members {
		n.strings(v.members[i].val)
	}
}

func idKind(key string) string {
	switch key {
	case "messageId", "id":
		return "message"
	case "terminalId":
		return "terminal"
	case "sessionId":
		return "session"
	}
	return "uuid"
}

// wire normalises the agent's frames. Unless exact, adjacent text chunks of one
// message are joined, previews of a running tool's output are left out and tools
// that start side by side start in their order: how a stream is cut into frames
// and what runs first depends on timing, what is said in the end does not.
func (n *normaliser) wire(frames []record, exact, pin bool, opened func(record) string) []record {
	frames = hoistOpening(frames, opened)
	if !exact {
		frames = joinChunks(sortStarts(dropPreviews(frames)))
	}
	for _, f := range frames {
		if !pin {
			shortenOffers(f)
		}
		if info := f.get("result", "agentInfo"); info != nil && info.text("version") != "" {
			n.version = info.text("version")
			info.set("version", text("{{version}}"))
		}
		if id := f.get("id"); id != nil && f.get("method") != nil {
			f.set("id", n.agentID(id))
		}
		if f.text("method") == "$/cancel_request" {
			if id := f.get("params", "requestId"); id != nil {
				f.get("params").set("requestId", n.agentID(id))
			}
		}
		for i := range f.members {
			if f.members[i].key != "id" {
				n.walk(f.members[i].val, f.members[i].key)
			}
		}
	}
	return frames
}

// shortenOffers replaces what the agent offers, which is the same in every
// scenario, by tokens; what is chosen of it stays. The scenarios that pin have
// it whole.
func shortenOffers(f record) {
	for _, path := range [][2]string{{"result", "agentCapabilities"}, {"result", "authMethods"}} {
		if v := f.get(path[0], path[1]); v != nil {
			f.get(path[0]).set(path[1], text("{{"+path[1]+"}}"))
		}
	}
	if v := f.get("result", "modes"); v.get("availableModes") != nil {
		v.set("availableModes", text("{{availableModes}}"))
	}
	if v := f.get("params", "update"); v.get("availableCommands") != nil {
		v.set("availableCommands", text("{{availableCommands}}"))
	}
	for _, v := range []*value{f.get("result", "configOptions"), f.get("params", "update", "configOptions")} {
		if v == nil {
			continue
		}
		for _, o := range v.items {
			for _, key := range []string{"type", "options", "name", "description", "category"} {
				o.remove(key)
			}
		}
	}
}

func (n *normaliser) agentID(id *value) *value {
	key := id.String()
	if n.agentIDs[key] == nil {
		n.agentIDs[key] = text(fmt.Sprintf("{{request:%d}}", len(n.agentIDs)+1))
	}
	return n.agentIDs[key]
}

// hoistOpening moves the first command list of a session, and how full its context
// is, to the answer that opened it. The agent sends them once the answer is out,
// while the client may already prompt: what comes first is timing.
func hoistOpening(frames []record, opened func(record) string) []record {
	shows := func(f record, id, kind string) bool {
		return f != nil && f.text("params", "update", "sessionUpdate") == kind && f.text("params", "sessionId") == id
	}
	rest := slices.Clone(frames)
	var out []record
	for i, f := range rest {
		if f == nil {
			continue // moved
		}
		out = append(out, f)
		id := opened(f)
		if id == "" {
			continue
		}
		for _, kind := range []string{"available_commands_update", "usage_update"} {
			for j := i + 1; j < len(rest); j++ {
				if shows(rest[j], id, kind) {
					out = append(out, rest[j])
					rest[j] = nil
					break
				}
			}
		}
	}
	return out
}

// dropPreviews leaves out updates that show the output of a tool that still
// runs: content and nothing else. The update that ends the call holds it all.
func dropPreviews(frames []record) []record {
	var out []record
	for _, f := range frames {
		u := f.get("params", "update")
		if u.text("sessionUpdate") == "tool_call_update" && u.get("content") != nil && len(u.members) == 3 {
			continue
		}
		out = append(out, f)
	}
	return out
}

// sortStarts puts adjacent updates that say no more than that a tool now runs
// into the order in which the calls were announced.
func sortStarts(frames []record) []record {
	announced := map[string]int{}
	for i, f := range frames {
		if f.text("params", "update", "sessionUpdate") == "tool_call" {
			announced[f.text("params", "sessionId")+" "+f.text("params", "update", "toolCallId")] = i
		}
	}
	starts := func(f record) bool {
		u := f.get("params", "update")
		return u.text("sessionUpdate") == "tool_call_update" && u.text("status") == "in_progress" && len(u.members) == 3
	}
	out := slices.Clone(frames)
	for i := 0; i < len(out); i++ {
		j := i
		for j < len(out) && starts(out[j]) {
			j++
		}
		slices.SortStableFunc(out[i:j], func(a, b record) int {
			key := func(f record) int {
				return announced[f.text("params", "sessionId")+" "+f.text("params", "update", "toolCallId")]
			}
			return key(a) - key(b)
		})
		i = max(i, j)
	}
	return out
}

// joinChunks joins adjacent agent_message_chunk and agent_thought_chunk frames
// that differ in their text alone.
func joinChunks(frames []record) []record {
	var out []record
	for _, f := range frames {
		if len(out) > 0 && joins(out[len(out)-1], f) {
			last := out[len(out)-1].get("params", "update", "content")
			last.set("text", text(last.text("text")+f.text("params", "update", "content", "text")))
			continue
		}
		out = append(out, f)
	}
	return out
}

func joins(a, b record) bool {
	switch a.text("params", "update", "sessionUpdate") {
	case "agent_message_chunk", "agent_thought_chunk":
	default:
		return false
	}
	was := b.get("params", "update", "content", "text")
	mine := a.get("params", "update", "content", "text")
	if was == nil || mine == nil || was.kind != stringValue || mine.kind != stringValue {
		return false
	}
	keep := was.str
	was.str = mine.str
	same := equal(a, b)
	was.str = keep
	return same
}
