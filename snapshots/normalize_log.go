package snapshots

import (
	"slices"
	"strconv"
	"strings"
)

// log normalises a session log. It drops seq and ts, which the line's place says
// better (so does the line's number where another line names a seq), joins streamed
// deltas into the packed form with their token borders kept, and leaves the system
// prompt and the tool schemas to the scenarios that pin them.
func (n *normaliser) log(lines []record) []record {
	lines = n.repack(lines)
	places := map[string]string{}
	for i, l := range lines {
		if seq := l.get("seq"); seq != nil {
			places[seq.str] = strconv.Itoa(i + 1)
		}
		if i == 0 && l.text("type") == "session" {
			if id := l.get("id"); id != nil {
				l.set("id", text(n.token("session", id.str)))
			}
			if a := l.get("agent"); a != nil && n.version != "" {
				a.str = strings.ReplaceAll(a.str, n.version, "{{version}}")
			}
		}
		l.remove("seq")
		l.remove("ts")
		switch l.text("type") {
		case "request/header":
			tokenHead(l.get("data", "header"))
		case "hook/request":
			tokenTools(l.get("data", "header"))
		case "compaction":
			if through := l.get("data", "through"); through != nil {
				through.str = places[through.str]
			}
		}
		n.walk(l, "")
	}
	return lines
}

// requests normalises the requests that the model was sent.
func (n *normaliser) requests(lines []record) []record {
	for _, l := range lines {
		if l.get("handler") != nil {
			tokenTools(l.get("head")) // its system prompt is short, and the hook's own
		} else {
			tokenHead(l.get("head"))
		}
		l.remove("sessionId") // "session" says as much
		n.walk(l, "")
	}
	return lines
}

// tokenHead replaces the system prompt, the descriptions and the schemas of a
// request's head; the tools' names stay.
func tokenHead(head *value) {
	if head == nil {
		return
	}
	if s := head.get("system"); s != nil && s.kind == stringValue && s.str != "" {
		s.str = "{{system}}"
	}
	tokenTools(head)
}

func tokenTools(head *value) {
	tools := head.get("tools")
	if tools == nil {
		return
	}
	for _, t := range tools.items {
		if t.get("description") != nil {
			t.set("description", text("{{description}}"))
		}
		if t.get("parameters") != nil {
			t.set("parameters", text("{{parameters}}"))
		}
	}
}

// packedForm says which packed chunk a delta joins, and under which member its
// text stands alone and packed.
var packedForm = map[string]struct{ packed, single, member, members string }{
	"text-delta":       {"text-chunks", "text-delta", "text", "texts"},
	"text-chunks":      {"text-chunks", "text-delta", "text", "texts"},
	"reasoning-delta":  {"reasoning-chunks", "reasoning-delta", "text", "texts"},
	"reasoning-chunks": {"reasoning-chunks", "reasoning-delta", "text", "texts"},
	"tool-call-delta":  {"tool-call-chunks", "tool-call-delta", "argumentsDelta", "args"},
	"tool-call-chunks": {"tool-call-chunks", "tool-call-delta", "argumentsDelta", "args"},
}

// repack joins the consecutive deltas of one block into one line. When a batch
// of deltas is written depends on timing; the deltas themselves do not.
// Only a path that is replaced is not cut: a token stands in one delta.
func (n *normaliser) repack(lines []record) []record {
	var out []record
	var open *value // the packed chunk that the last line of out holds
	for _, l := range lines {
		chunk := l.get("data", "chunk")
		form, delta := packedForm[chunk.text("type")]
		if l.text("type") != "assistant/chunk" || !delta {
			open = nil
			out = append(out, l)
			continue
		}
		texts := deltas(chunk, form.member, form.members)
		if open != nil && sameBlock(open, chunk, out[len(out)-1], l, form.packed) {
			open.get(form.members).items = append(open.get(form.members).items, texts...)
		} else {
			open = &value{kind: objectValue}
			open.set("type", text(form.packed))
			for _, key := range []string{"index", "id", "name"} {
				if v := chunk.get(key); v != nil {
					open.set(key, v)
				}
			}
			open.set(form.members, &value{kind: arrayValue, items: texts})
			l.get("data").set("chunk", open)
			out = append(out, l)
		}
	}
	for _, l := range out {
		chunk := l.get("data", "chunk")
		if many := chunk.get(packedForm[chunk.text("type")].members); many != nil {
			many.items = n.mend(many.items)
		}
		settlePack(l)
	}
	return out
}

// mend joins the deltas over which a path is spread.
func (n *normaliser) mend(deltas []*value) []*value {
	var joined strings.Builder
	for _, d := range deltas {
		joined.WriteString(d.str)
	}
	all := joined.String()
	var spans [][2]int
	for _, r := range n.roots {
		for at := 0; ; {
			i := strings.Index(all[at:], r.path)
			if i < 0 {
				break
			}
			spans = append(spans, [2]int{at + i, at + i + len(r.path)})
			at += i + len(r.path)
		}
	}
	if len(spans) == 0 {
		return deltas
	}
	out := deltas[:1]
	border := len(deltas[0].str)
	for _, d := range deltas[1:] {
		if slices.ContainsFunc(spans, func(s [2]int) bool { return s[0] < border && border < s[1] }) {
			out[len(out)-1].str += d.str
		} else {
			out = append(out, d)
		}
		border += len(d.str)
	}
	return out
}

func deltas(chunk *value, member, members string) []*value {
	if many := chunk.get(members); many != nil {
		return many.items
	}
	if one := chunk.get(member); one != nil {
		return []*value{one}
	}
	return []*value{text("")}
}

func sameBlock(open, chunk *value, line, next record, packed string) bool {
	if open.text("type") != packed || chunk.get("index").String() != open.get("index").String() ||
		line.get("data", "turn").String() != next.get("data", "turn").String() ||
		line.get("data", "step").String() != next.get("data", "step").String() {
		return false
	}
	id, name := chunk.text("id"), chunk.text("name")
	return (id == "" || id == open.text("id")) && (name == "" || name == open.text("name"))
}

// settlePack writes a pack of one as the single delta and gives the others
// their dt, one zero a delta.
func settlePack(l record) {
	chunk := l.get("data", "chunk")
	form, delta := packedForm[chunk.text("type")]
	if !delta {
		return
	}
	many := chunk.get(form.members)
	if many == nil {
		return
	}
	if len(many.items) == 1 {
		chunk.remove(form.members)
		chunk.set("type", text(form.single))
		chunk.set(form.member, many.items[0])
		return
	}
	dt := &value{kind: arrayValue}
	for range many.items {
		dt.items = append(dt.items, number("0"))
	}
	chunk.remove(form.members)
	chunk.set("dt", dt)
	chunk.set(form.members, many)
}
