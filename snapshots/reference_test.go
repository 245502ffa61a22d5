package snapshots

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// recording writes a recording as the reference system does, as far as this
// project reads it.
type recording struct {
	log, wire strings.Builder
	steps     []string
	turn      int
}

func newRecording() *recording {
	r := &recording{steps: []string{`{"op":"initialize"}`, `{"op":"newSession"}`}}
	r.log.WriteString(`{"type":"session","version":0,"id":"{{sessionId}}","createdAt":0,"cwd":"{{cwd}}","delegationDepth":0}` + "\n")
	r.wire.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"result":{"sessionId":"{{sessionId}}"}}` + "\n")
	return r
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func (r *recording) row(typ, format string, args ...any) *recording {
	fmt.Fprintf(&r.log, `{"type":%q,"data":{"turn":%d,"step":1,%s}}`+"\n", typ, r.turn, fmt.Sprintf(format, args...))
	return r
}

func (r *recording) prompt(text string) *recording {
	r.turn++
	r.steps = append(r.steps, `{"op":"prompt","text":`+quote(text)+`}`)
	return r.row("turn/start", `"x":0`)
}

func (r *recording) user(text, plugin string) *recording {
	source := `{"kind":"user"}`
	if plugin != "" {
		source = `{"kind":"plugin","plugin":"` + plugin + `"}`
	}
	return r.row("user/message", `"content":[{"type":"text","text":%s}],"source":%s,"role":"user"`, quote(text), source)
}

func (r *recording) says(text string) *recording {
	fmt.Fprintf(&r.wire, `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}}}`+"\n", quote(text))
	return r.row("assistant/message", `"message":{"role":"assistant","content":[{"type":"text","text":%s}]}`, quote(text))
}

func (r *recording) cut(text string) *recording {
	r.row("assistant/chunk", `"chunk":{"type":"block-start","index":0,"blockType":"text"}`)
	r.row("assistant/chunk", `"chunk":{"type":"text-delta","index":0,"text":%s}`, quote(text))
	r.row("assistant/chunk", `"chunk":{"type":"finish","reason":{"kind":"max-tokens"}}`)
	return r.says(text).end("max-tokens", "end_turn")
}

func (r *recording) calls(id, tool, args string) *recording {
	r.row("assistant/message", `"message":{"role":"assistant","content":[{"type":"tool-call","id":%q,"name":%q,"arguments":%s}]}`, id, tool, quote(args))
	return r.row("tool/call", `"callId":%q,"name":%q,"arguments":%s`, id, tool, quote(args))
}

func (r *recording) result(id, text string, failed bool) *recording {
	return r.row("tool/result", `"message":{"source":{"kind":"tool","callId":%q},"content":[{"type":"tool-result","toolCallId":%q,"content":[{"type":"text","text":%s}],"isError":%v}]}`, id, id, quote(text), failed)
}

func (r *recording) hook(dialect, point, decision string, exit int, stderr string) *recording {
	id := dialect + ":" + point + ":1"
	r.row("hook/invoked", `"point":%q,"dialect":%q,"handlerId":%q`, point, dialect, id)
	if stderr != "" {
		stderr = `,"stderrSummary":` + quote(stderr)
	}
	return r.row("hook/result", `"point":%q,"handlerId":%q,"decision":%q,"exitCode":%d%s`, point, id, decision, exit, stderr)
}

func (r *recording) asks(id string) *recording {
	return r.row("approval/asked", `"callId":%q`, id)
}

func (r *recording) end(kind, stop string) *recording {
	fmt.Fprintf(&r.wire, `{"jsonrpc":"2.0","id":%d,"result":{"stopReason":%q}}`+"\n", r.turn+2, stop)
	return r.row("turn/end", `"reason":{"kind":%q}`, kind)
}

func (r *recording) files(answers string, workspace map[string]string) map[string]string {
	input := `{"steps":[` + strings.Join(r.steps, ",") + `]`
	if answers != "" {
		input += `,"permissionAnswers":[{"kind":"` + answers + `"}]`
	}
	files := map[string]string{inputFile: input + "}", logFile: r.log.String(), wireFile: r.wire.String()}
	for name, text := range workspace {
		files[workspaceDir+"/"+name] = text
	}
	return files
}

func commandHook(event, matcher, command string) string {
	return `{"hooks":{"` + event + `":[{"matcher":` + quote(matcher) + `,"hooks":[{"type":"command","command":` + quote(command) + `}]}]}}`
}

type referenceCase struct {
	r         *recording
	answers   string
	workspace map[string]string
	note      string
	fails     string
}

func referenceCases() map[string]referenceCase {
	const echo = `{"command":"echo HI","description":"x"}`
	blocks := func(r *recording) *recording { r.prompt("forbidden").end("blocked", "end_turn"); return r }
	headerOnly := blocks(newRecording())
	log, _, _ := strings.Cut(headerOnly.log.String(), "\n")
	headerOnly.log.Reset()
	headerOnly.log.WriteString(log + "\n")
	post := func(dialect string) *recording {
		return newRecording().prompt("go").user("go", "").calls("c1", "bash", echo).hook(dialect, "PostToolUse", "block", 2, "bad output").
			result("c1", "bad output", true).says("no").end("completed", "end_turn")
	}
	twoReasons := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"[ -f .a ] && exit 0; touch .a; echo A >&2; exit 2"},{"type":"command","command":"[ -f .b ] && exit 0; touch .b; echo B >&2; exit 2"}]}]}}`
	return map[string]referenceCase{
		"cut at the limit": {r: newRecording().prompt("cut").user("cut", "").cut("Start"), note: whyMaxTokens},
		"blocked, the header alone is recorded": {
			r: headerOnly, workspace: map[string]string{claudeHooksFile: commandHook("UserPromptSubmit", "ba(", "echo no >&2; exit 2")},
		},
		"blocked": {
			r:         newRecording().prompt("forbidden").hook("codex", "UserPromptSubmit", "block", 2, "no").end("blocked", "end_turn"),
			workspace: map[string]string{codexHooksFile: commandHook("UserPromptSubmit", "", "echo no >&2; exit 2")},
		},
		"a matcher in pieces": {
			r:         newRecording().prompt("go").user("go", "").says("done").end("completed", "end_turn"),
			workspace: map[string]string{claudeHooksFile: `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"exit 0"}]}],"PreToolUse":[{"matcher":"ba(","hooks":[{"type":"command","command":"exit 2"}]}]}}`},
			note:      whyMatcher,
		},
		"feedback, Claude Code": {r: post("claude-code"), workspace: map[string]string{claudeHooksFile: commandHook("PostToolUse", "bash", "echo bad output >&2; exit 2")}, note: whyFeedback},
		"feedback, Codex":       {r: post("codex"), workspace: map[string]string{codexHooksFile: commandHook("PostToolUse", "bash", "echo bad output >&2; exit 2")}, note: whyReplaced},
		"feedback that does not come": {
			r: post("claude-code"), workspace: map[string]string{claudeHooksFile: commandHook("PostToolUse", "bash", "exit 0")}, note: whyFeedback, fails: "bad output",
		},
		"a hook asks, nobody may be asked": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "bash", echo).hook("claude-code", "PreToolUse", "ask", 0, "").
				result("c1", "Error: The user rejected it.", true).says("no").end("completed", "end_turn"),
			workspace: map[string]string{claudeHooksFile: commandHook("PreToolUse", "bash", `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}'`)},
		},
		"the answer is for the call that asked": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "bash", echo).result("c1", "HI\n", false).
				calls("c2", "bash", echo).asks("c2").result("c2", "Error: The user rejected it.", true).says("no").end("completed", "end_turn"),
			answers: "reject_once",
		},
		"a file elsewhere, allowed": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "write", `{"file_path":"/nonexistent/x.txt","content":"x"}`).asks("c1").
				result("c1", "The file was created.", false).says("ok").end("completed", "end_turn"),
			answers: "allow_once", note: whyOutside,
		},
		"an answer that nobody asks for": {
			r: newRecording().prompt("go").user("go", "").says("ok").end("completed", "end_turn"), answers: "allow_once", fails: "never asked",
		},
		"a tool's own words for a failure": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "read", `{"file_path":"none.txt"}`).result("c1", "Error: File not found", true).says("ok").end("completed", "end_turn"),
		},
		"a hook's words for a failure": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "bash", echo).hook("claude-code", "PreToolUse", "block", 2, "other words").
				result("c1", "Error: other words", true).says("ok").end("completed", "end_turn"),
			workspace: map[string]string{claudeHooksFile: commandHook("PreToolUse", "bash", "echo words >&2; exit 2")}, fails: "other words",
		},
		"a file that a command removes": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "write", `{"file_path":"b.txt","content":"x"}`).result("c1", "The file was created.", false).
				calls("c2", "bash", `{"command":"rm b.txt","description":"x"}`).result("c2", "(no output)", false).says("ok").end("completed", "end_turn"),
		},
		"every place is edited": {
			r: newRecording().prompt("go").user("go", "").calls("c1", "read", `{"file_path":"a.txt"}`).result("c1", "<path>a.txt</path>\n1: aXa", false).
				calls("c2", "edit", `{"file_path":"a.txt","old_string":"a","new_string":"b","replace_all":true}`).result("c2", "The file was edited.", false).says("ok").end("completed", "end_turn"),
			workspace: map[string]string{"a.txt": "aXa"},
		},
		"instructions in each system's words": {
			r:         newRecording().prompt("go").user("go", "").user("<system-reminder>Be terse.</system-reminder>", "agent-instructions").says("ok").end("completed", "end_turn"),
			workspace: map[string]string{"AGENTS.md": "Be terse.\n"},
		},
		"both dialects go on": {
			r: newRecording().prompt("go").user("go", "").says("1").hook("claude-code", "Stop", "block", 2, "é A").hook("codex", "Stop", "block", 2, "B").
				user("é A", "hooks-claude-code").user("B", "hooks-codex").says("2").hook("claude-code", "Stop", "pass", 0, "").hook("codex", "Stop", "pass", 0, "").end("completed", "end_turn"),
			workspace: map[string]string{
				claudeHooksFile: commandHook("Stop", "", "[ -f .a ] && exit 0; touch .a; echo é A >&2; exit 2"),
				codexHooksFile:  commandHook("Stop", "", "[ -f .b ] && exit 0; touch .b; echo B >&2; exit 2"),
			},
		},
		"a hook that fails": {
			r:         newRecording().prompt("go").user("go", "").says("1").hook("claude-code", "Stop", "pass", 1, "oops").end("completed", "end_turn"),
			workspace: map[string]string{claudeHooksFile: commandHook("Stop", "", "echo oops >&2; exit 1")},
		},
		"two reasons of one dialect": {
			r: newRecording().prompt("go").user("go", "").says("1").hook("claude-code", "Stop", "block", 2, "A").hook("claude-code", "Stop", "block", 2, "B").
				user("A\n\nB", "hooks-claude-code").says("2").hook("claude-code", "Stop", "pass", 0, "").hook("claude-code", "Stop", "pass", 0, "").end("completed", "end_turn"),
			workspace: map[string]string{claudeHooksFile: twoReasons}, note: whyJoined,
		},
		"more was said": {r: newRecording().prompt("go").user("go", "").user("and this", "hooks-codex").says("ok").end("completed", "end_turn"), fails: "and this"},
	}
}

// TestReferenceRecordings runs recordings whose names nothing knows: what the two
// systems do otherwise on purpose is told by what was recorded, and anything else
// fails.
func TestReferenceRecordings(t *testing.T) {
	for name, c := range referenceCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := newScenario(t, c.r.files(c.answers, c.workspace))
			rep, err := Run(t.Context(), Options{Dirs: []string{dir}, Agent: []string{buildAgent(t)}})
			if err != nil {
				t.Fatal(err)
			}
			checkReference(t, &rep.Results[0], c.note, c.fails)
		})
	}
}

func checkReference(t *testing.T, res *Result, note, fails string) {
	t.Helper()
	switch {
	case fails == "" && !res.OK():
		t.Error(res)
	case fails != "" && (res.OK() || !strings.Contains(res.String(), fails)):
		t.Errorf("%q is not in %q", fails, res)
	}
	if got := strings.Join(res.Notes, "; "); got != note {
		t.Errorf("notes: got %q, want %q", got, note)
	}
}

// TestReferenceRefusesDirectories: what the reference refuses and this project
// takes is noted, and its answer is not taken for a prompt's.
func TestReferenceRefusesDirectories(t *testing.T) {
	r := newRecording()
	wire := strings.SplitAfter(r.wire.String(), "\n")[0] + `{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no"}}` + "\n"
	for dir, note := range map[string]string{"/": whyDirectories, "relative": ""} { // the latter nobody takes
		dir := newScenario(t, map[string]string{
			inputFile: `{"steps":[{"op":"initialize"},{"op":"newSessionExpectError","additionalDirectories":["` + dir + `"]}]}`,
			logFile:   r.log.String(), wireFile: wire,
		})
		rep, err := Run(t.Context(), Options{Dirs: []string{dir}, Agent: []string{buildAgent(t)}})
		if err != nil {
			t.Fatal(err)
		}
		checkReference(t, &rep.Results[0], note, "")
	}
}
