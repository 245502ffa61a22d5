package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/session"
)

// DeepSeek's models write a tool call as markup, which the server turns into
// tool_calls. Now and then a server does not, and the markup comes as the
// answer's text, with finish_reason stop: the person reads it, nothing runs,
// and the turn looks like a success (TokenRhythm/opensquilla#985). The shapes, as public reports
// show them:
//
//	<｜DSML｜tool_calls>                                    V4; function_calls in V3.2
//	<｜DSML｜invoke name="read">
//	<｜DSML｜parameter name="path" string="true">a.txt</｜DSML｜parameter>
//	<｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>
//	</｜DSML｜invoke>
//	</｜DSML｜tool_calls>
//
// with a JSON object in place of the parameters (sgl-project/sglang,
// deepseekv32_detector.py), without the outer tag (sglang#40236), with ASCII or
// doubled bars, and with blanks between (AgentFlocks/flocks#687,
// lsdefine/GenericAgent#804, TokenRhythm/opensquilla#985). string="false" says
// that the value is JSON. Older models use tokens instead (vLLM's deepseek_v3
// and deepseek_v31 parsers):
//
//	<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read
//	```json
//	{"path":"a.txt"}
//	```<｜tool▁call▁end｜><｜tool▁calls▁end｜>                V3, R1
//	<｜tool▁call▁begin｜>read<｜tool▁sep｜>{"path":"a.txt"}<｜tool▁call▁end｜>   V3.1
//
// Markup that is whole and calls a tool there is becomes calls. Anything else,
// markup that is cut, broken or calls an unknown tool, fails the request: what
// half a call meant is not guessed at, since it would run. Neither is shown.
// Markup inside a code span or block of the answer is quoted, and stays text.

// markupFilter takes tool calls that were written as text out of an answer's
// text. Text is held back only while it may be the beginning of a marker.
type markupFilter struct {
	provider string
	tools    []session.ToolSchema
	// code follows the text that was passed on.
	code codeTracker
	// buf is what is not decided yet: the beginning of a marker, or, while
	// parse is set, the markup from where the parser stands.
	buf []byte
	// parse is the step of the markup's parser that comes next, nil in text.
	parse func(m *markup, s []byte) step
	at    markup
	// eat: blanks after the markup belong to it.
	eat bool
	// stray: a closing tag came that closes nothing.
	stray bool
}

// markup is the state of the parser in one run of markup.
type markup struct {
	f *markupFilter
	// outer: the outer tag was opened.
	outer bool
	calls []writtenCall
	// call is the one being read; param is its parameter.
	call  writtenCall
	names []string
	param string
	isRaw bool
	// seen is how much of the input holds no end of the value.
	seen int
}

// writtenCall is a tool call as the markup has it.
type writtenCall struct {
	name string
	args []byte
}

// step is what a parser's step did: it took n bytes, then needs more, goes on
// with next, is done with the markup, or has failed with a reason.
type step struct {
	n    int
	next func(m *markup, s []byte) step
	done bool
	fail string
}

// wait is the step that needs more input.
var wait = step{}

func newMarkupFilter(provider string, tools []session.ToolSchema) *markupFilter {
	return &markupFilter{provider: provider, tools: tools}
}

// text takes a delta of the answer's text. It passes on text by translator.say, and
// calls by translator.addCall.
func (f *markupFilter) text(t *translator, s string) {
	if len(f.buf) == 0 && f.parse == nil && !f.eat && strings.IndexByte(s, '<') < 0 {
		f.code.text(s)
		t.say(s)
		return
	}
	f.buf = append(f.buf, s...)
	for t.broken == nil {
		if f.parse != nil {
			if !f.run(t) {
				return
			}
			continue
		}
		n, found := f.plain()
		if n > 0 {
			t.say(string(f.buf[:n]))
			f.buf = append(f.buf[:0], f.buf[n:]...)
		}
		if !found {
			return
		}
		f.begin()
	}
}

// plain returns how much of the buffer is text, and whether markup follows.
func (f *markupFilter) plain() (n int, found bool) {
	if f.eat {
		f.buf = trimLeft(f.buf)
		f.eat = len(f.buf) == 0
	}
	for i := 0; i < len(f.buf); i++ {
		c := f.buf[i]
		if c == '<' && !f.code.inside() {
			switch isMarkup(f.buf[i:]) {
			case unsure:
				return i, false
			case yes:
				return i, true
			}
		}
		f.code.add(c)
	}
	return len(f.buf), false
}

// begin enters the markup that the buffer begins with.
func (f *markupFilter) begin() {
	f.at = markup{f: f}
	f.parse = between
	if tg, _, _ := readTag(f.buf); tg.old {
		f.parse = betweenOld
	}
}

// run lets the parser work; false means that it needs more.
func (f *markupFilter) run(t *translator) bool {
	st := f.parse(&f.at, f.buf)
	f.buf = append(f.buf[:0], f.buf[st.n:]...)
	switch {
	case st.fail != "":
		t.broken = f.failure(st.fail)
		return false
	case st.done:
		f.parse, f.eat = nil, true
		f.code = codeTracker{}
		for _, c := range f.at.calls {
			t.addCall(c.name, string(c.args))
		}
		return true
	case st.next == nil:
		return false
	}
	f.parse = st.next
	return true
}

// end deals with what is held when the answer has ended. Markup that the output
// limit cut is dropped, as a tool call so cut is.
func (f *markupFilter) end(t *translator) {
	cut := t.finish == "length" || t.finish == "max_tokens"
	switch {
	case t.broken != nil:
	case f.parse != nil || f.stray && len(t.calls) == 0 || begun(f.buf):
		if !cut {
			t.broken = f.failure("which does not end")
		}
	case len(f.buf) > 0:
		t.say(string(f.buf))
	}
	f.buf = nil
}

func (f *markupFilter) failure(why string) *model.Error {
	return model.Errorf(model.KindMalformed, "%s wrote a tool call as text, %s: nothing of it was run; send the prompt again, or use another model if it happens often", f.provider, why)
}

func (f *markupFilter) known(name string) bool {
	return slices.ContainsFunc(f.tools, func(t session.ToolSchema) bool { return t.Name == name })
}

func (m *markup) open(name string) string {
	if !m.f.known(name) {
		return "of a tool that there is not (" + wire.Clip(name, 60) + ")"
	}
	m.call = writtenCall{name: name}
	m.names = m.names[:0]
	return ""
}

// close ends a call; without an outer tag the markup ends with it.
func (m *markup) close(n int, next func(*markup, []byte) step) step {
	m.calls = append(m.calls, m.call)
	return step{n: n, next: next, done: !m.outer}
}

const broken = "which is broken"

// between reads between the calls.
func between(m *markup, s []byte) step {
	n := len(s) - len(trimLeft(s))
	tg, size, v := readTag(s[n:])
	switch {
	case v == unsure && len(s)-n < maxTag:
		return wait
	case v != yes || tg.old:
		return step{fail: broken}
	}
	n += size
	switch {
	case !tg.closes && tg.word == "invoke" && tg.attrs["name"] != "" && !tg.empty:
		if why := m.open(tg.attrs["name"]); why != "" {
			return step{fail: why}
		}
		return step{n: n, next: params}
	case isOuter(tg.word) && !tg.closes && !m.outer && len(m.calls) == 0:
		m.outer = true
		return step{n: n, next: between}
	case isOuter(tg.word) && tg.closes && m.outer:
		return step{n: n, done: true}
	case tg.closes && !m.outer && len(m.calls) == 0:
		// What it closes was parsed by the server, or was lost.
		m.f.stray = true
		return step{n: n, done: true}
	}
	return step{fail: broken}
}

// params reads between the parameters of a call.
func params(m *markup, s []byte) step {
	n := len(s) - len(trimLeft(s))
	if n < len(s) && s[n] == '{' && len(m.names) == 0 {
		return step{n: n, next: object}
	}
	tg, size, v := readTag(s[n:])
	switch {
	case v == unsure && len(s)-n < maxTag:
		return wait
	case v != yes || tg.old:
		return step{fail: broken}
	}
	n += size
	switch name, kind := tg.attrs["name"], tg.attrs["string"]; {
	case tg.closes && tg.word == "invoke":
		if len(m.names) == 0 {
			m.call.args = append(m.call.args, '{')
		}
		m.call.args = append(m.call.args, '}')
		return m.close(n, between)
	case !tg.closes && tg.word == "parameter" && name != "" && !tg.empty && (kind == "true" || kind == "false"):
		if slices.Contains(m.names, name) {
			return step{fail: "which gives " + wire.Clip(name, 60) + " twice"}
		}
		lead := byte(',')
		if len(m.names) == 0 {
			lead = '{'
		}
		m.names = append(m.names, name)
		m.call.args = append(session.AppendString(append(m.call.args, lead), name), ':')
		m.param, m.isRaw, m.seen = name, kind == "false", 0
		return step{n: n, next: value}
	}
	return step{fail: broken}
}

// value reads a parameter's value. Nothing of it is trimmed.
func value(m *markup, s []byte) step {
	at, size := m.find(s, "parameter")
	if at < 0 {
		return wait
	}
	if !m.isRaw {
		m.call.args = session.AppendString(m.call.args, string(s[:at]))
		return step{n: at + size, next: params}
	}
	if !json.Valid(s[:at]) {
		return step{fail: "whose " + wire.Clip(m.param, 60) + " is not JSON"}
	}
	m.call.args = append(m.call.args, trim(s[:at])...)
	return step{n: at + size, next: params}
}

// object reads arguments that are one JSON object.
func object(m *markup, s []byte) step {
	at, size := m.find(s, "invoke")
	if at < 0 {
		return wait
	}
	m.seen = 0
	if m.call.args = append(m.call.args, trim(s[:at])...); !json.Valid(m.call.args) {
		return step{fail: "whose arguments are not JSON"}
	}
	return m.close(at+size, between)
}

// find looks for the closing tag of a word, -1 while there is none. It goes on
// where it stopped: a file's content comes in thousands of pieces.
func (m *markup) find(s []byte, word string) (at, size int) {
	for i := m.seen; i < len(s); i++ {
		if s[i] != '<' {
			continue
		}
		switch tg, n, v := readTag(s[i:]); {
		case v == unsure && len(s)-i < maxTag:
			m.seen = i
			return -1, 0
		case v == yes && tg.closes && tg.word == word:
			m.seen = 0
			return i, n
		}
	}
	m.seen = len(s)
	return -1, 0
}

// betweenOld reads between the calls of the older markup.
func betweenOld(m *markup, s []byte) step {
	n := len(s) - len(trimLeft(s))
	tg, size, v := readTag(s[n:])
	switch {
	case v == unsure && len(s)-n < maxTag:
		return wait
	case v != yes || !tg.old:
		return step{fail: broken}
	}
	n += size
	switch tg.word {
	case "tool_calls_begin":
		if !m.outer && len(m.calls) == 0 {
			m.outer = true
			return step{n: n, next: betweenOld}
		}
	case "tool_call_begin":
		m.seen = 0
		return step{n: n, next: oldCall}
	case "tool_calls_end":
		if m.outer {
			return step{n: n, done: true}
		}
		m.f.stray = true
		return step{n: n, done: true}
	}
	return step{fail: broken}
}

// oldCall reads one call of the older markup, up to its end.
func oldCall(m *markup, s []byte) step {
	at, size := m.find(s, "tool_call_end")
	if at < 0 {
		return wait
	}
	head, rest, ok := cutTag(s[:at], "tool_sep")
	if !ok {
		return step{fail: broken}
	}
	name, args := string(trim(head)), trim(rest)
	if len(args) == 0 || args[0] != '{' {
		// V3: the type, then the name, then the arguments in a code block.
		line, block, _ := strings.Cut(string(args), "\n")
		name = strings.TrimSpace(line)
		block = strings.TrimPrefix(strings.TrimSpace(block), "```json")
		args = []byte(strings.TrimSpace(strings.Trim(strings.TrimSpace(block), "`")))
	}
	if why := m.open(name); why != "" {
		return step{fail: why}
	}
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return step{fail: "whose arguments are not JSON"}
	}
	m.call.args = slices.Clone(args) // the buffer moves on
	return m.close(at+size, betweenOld)
}
