package snapshots

import (
	"fmt"
	"strings"
	"testing"
)

func lines(t *testing.T, s string) []record {
	t.Helper()
	out, err := parseLines("test", []byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var testPlace = place{
	root: "/tmp/run1", cwd: "/tmp/run1/work", state: "/tmp/run1/state", home: "/tmp/run1/home", tmp: "/tmp/run1/tmp",
	scenario: "/src/scenario",
}

func TestScrub(t *testing.T) {
	const id = "0198c2f4-7a11-7c22-8d33-94e5f6a7b8c9"
	for in, want := range map[string]string{
		"/tmp/run1/work/a.txt":                  "{{cwd}}/a.txt",
		"file:///tmp/run1/work":                 "file://{{cwd}}",
		"/private/tmp/run1/work/a":              "{{cwd}}/a",
		"/tmp/run1/home/.claude/-tmp-run1-work": "{{home}}/.claude/{{cwd:folded}}",
		"/tmp/run1":                             "{{root}}",
		id + " and " + strings.ToUpper(id):      "{{uuid:1}} and {{uuid:1}}",
		"sha256:" + strings.Repeat("0a", 32):    "{{digest:1}}",
		"nothing of 2026-01-01 is touched":      "nothing of 2026-01-01 is touched",
	} {
		if got := newNormaliser(testPlace).scrub(in, "uuid"); got != want {
			t.Errorf("scrub(%q) = %q, want %q", in, got, want)
		}
	}
}

// The two sides number their requests on their own, so equal numbers are not
// the same request.
func TestWireIDs(t *testing.T) {
	n := newNormaliser(testPlace)
	got := n.wire(lines(t, `{"jsonrpc":"2.0","id":1,"result":{}}
{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s"}}
{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}
{"jsonrpc":"2.0","id":"1","method":"fs/read_text_file","params":{}}
`), false, false, nothingOpened)
	for i, want := range []string{`"id":1,`, `"id":"{{request:1}}"`, `"requestId":"{{request:1}}"`, `"id":"{{request:2}}"`} {
		if s := got[i].String(); !strings.Contains(s, want) {
			t.Errorf("frame %d is %s, want %s", i+1, s, want)
		}
	}
}

func TestChunksJoinOnTheWire(t *testing.T) {
	const frame = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"KIND","content":{"type":"text","text":"TEXT"},"messageId":"ID"}}}` + "\n"
	say := func(kind, text, id string) string {
		return strings.NewReplacer("KIND", kind, "TEXT", text, "ID", id).Replace(frame)
	}
	in := say("agent_message_chunk", "a", "m1") + say("agent_message_chunk", "b", "m1") + say("agent_message_chunk", "c", "m2") +
		say("agent_thought_chunk", "d", "m2") + say("agent_thought_chunk", "e", "m2")
	var texts []string
	for _, f := range newNormaliser(testPlace).wire(lines(t, in), false, false, nothingOpened) {
		texts = append(texts, f.text("params", "update", "content", "text"))
	}
	if got := strings.Join(texts, "|"); got != "ab|c|de" {
		t.Errorf("joined to %s", got)
	}
	if got := newNormaliser(testPlace).wire(lines(t, in), true, false, nothingOpened); len(got) != 5 {
		t.Errorf("exact chunks were joined to %d", len(got))
	}
}

func nothingOpened(record) string { return "" }

// The command list, and how full the context is, may come before or after the first
// update of a turn.
func TestOpeningIsHoisted(t *testing.T) {
	const (
		opened   = `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}` + "\n"
		commands = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}` + "\n"
		usage    = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":0,"size":9}}}` + "\n"
		title    = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update","title":"t"}}}` + "\n"
	)
	open := func(f record) string { return f.text("result", "sessionId") }
	a := newNormaliser(testPlace).wire(lines(t, opened+commands+usage+title+commands), false, false, open)
	b := newNormaliser(testPlace).wire(lines(t, opened+title+usage+commands+commands), false, false, open)
	if x, y := string(formatLines(a)), string(formatLines(b)); x != y || strings.Count(x, "available_commands_update") != 2 {
		t.Errorf("the same frames in another order give\n%s\n%s", x, y)
	}
}

// However deltas were batched, they are packed the same way, with their borders.
func TestRepack(t *testing.T) {
	chunk := func(c string) string {
		return `{"seq":9,"ts":"x","type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":` + c + "}}\n"
	}
	single := chunk(`{"type":"text-delta","index":0,"text":"a"}`) + chunk(`{"type":"text-delta","index":0,"text":"b"}`) +
		chunk(`{"type":"text-delta","index":0,"text":"c"}`) + chunk(`{"type":"tool-call-delta","index":1,"id":"c1","name":"read","argumentsDelta":"{"}`) +
		chunk(`{"type":"tool-call-delta","index":1,"argumentsDelta":"}"}`) + chunk(`{"type":"reasoning-delta","index":2,"text":"r"}`)
	packed := chunk(`{"type":"text-delta","index":0,"text":"a"}`) + chunk(`{"type":"text-chunks","index":0,"dt":[3,7],"texts":["b","c"]}`) +
		chunk(`{"type":"tool-call-chunks","index":1,"id":"c1","name":"read","dt":[0,5],"args":["{","}"]}`) + chunk(`{"type":"reasoning-delta","index":2,"text":"r"}`)
	a := string(formatLines(newNormaliser(testPlace).log(lines(t, single))))
	b := string(formatLines(newNormaliser(testPlace).log(lines(t, packed))))
	if a != b {
		t.Errorf("the same deltas give\n%s\n%s", a, b)
	}
	for _, want := range []string{`"type":"text-chunks","index":0,"dt":[0,0,0],"texts":["a","b","c"]`, `"id":"c1","name":"read","dt":[0,0],"args":["{","}"]`, `{"type":"reasoning-delta","index":2,"text":"r"}`} {
		if !strings.Contains(a, want) {
			t.Errorf("%s is not in\n%s", want, a)
		}
	}
}

// The event that a compaction reaches to is named by its line, which does not
// depend on how deltas were batched before it.
func TestSeqBecomesTheLine(t *testing.T) {
	const delta = `{"seq":%d,"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}}}` + "\n"
	for _, batches := range []int{1, 3} {
		var log strings.Builder
		for seq := range batches {
			fmt.Fprintf(&log, delta, seq+1)
		}
		fmt.Fprintf(&log, `{"seq":%d,"type":"assistant/message","data":{}}`+"\n"+`{"seq":%d,"type":"compaction","data":{"through":%d}}`+"\n", batches+1, batches+2, batches+1)
		got := newNormaliser(testPlace).log(lines(t, log.String()))
		if last := got[len(got)-1].String(); last != `{"type":"compaction","data":{"through":2}}` {
			t.Errorf("%d batches: %s", batches, last)
		}
	}
}

// A path that a stream spreads over deltas is replaced all the same, and no other
// border is lost.
func TestPathsAreNotCut(t *testing.T) {
	const row = `{"seq":9,"ts":"x","type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"tool-call-chunks","index":0,"id":"c1","name":"read","dt":[0],"args":%s}}}` + "\n"
	for in, want := range map[string]string{
		`["{","\"p\":\"","/tm","p/run","1/wo","rk/a",".t","xt\"}"]`: `["{","\"p\":\"","{{cwd}}/a",".t","xt\"}"]`,
		`["/tmp/ru","n1/work /tm","p/run1/work","/x"]`:              `["{{cwd}} {{cwd}}","/x"]`,
		`["/tmp/run1/work","/x"]`:                                   `["{{cwd}}","/x"]`,
		`["/tmp/ru","n2"]`:                                          `["/tmp/ru","n2"]`,
	} {
		got := string(formatLines(newNormaliser(testPlace).log(lines(t, fmt.Sprintf(row, in)))))
		if !strings.Contains(got, `"args":`+want+`}`) {
			t.Errorf("%s gives %s", in, got)
		}
	}
}

func TestValueRoundTrip(t *testing.T) {
	const in = `{"b":1.50e3,"a":[null,true,"\u2028<&>"],"c":{}}`
	v, err := parseValue([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if v.String() != in {
		t.Errorf("%s became %s", in, v)
	}
	for _, bad := range []string{"", "{", `{"a":1} 2`, "nope"} {
		if _, err := parseValue([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
