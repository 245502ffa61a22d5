package snapshots

import (
	"fmt"
	"regexp"
	"strings"
)

// deliberate lists where this project does otherwise than the reference system
// on purpose. A difference that stands here is noted; one that does not fails.
var deliberate = []struct {
	scenario, path, want, got string
	why                       string
}{
	{
		"max-tokens-continue", "prompt 1 answer", "end_turn", "max_tokens",
		"an answer cut at the output limit is reported as such (reference public reports)",
	},
	{
		"hook-cc-promptsubmit-block", "prompt 1 text", `""`, "",
		"a blocked prompt tells the person why (reference deepseek-harness 0.1.1-rc.2, measured faults)",
	},
	{
		"hook-codex-promptsubmit-block", "prompt 1 text", `""`, "",
		"a blocked prompt tells the person why (reference deepseek-harness 0.1.1-rc.2, measured faults)",
	},
	{
		"hook-cc-invalid-matcher", "hooks", "", "",
		"one bad matcher loses its own group, not the whole file (reference deepseek-harness 0.1.1-rc.2, scenarios b)",
	},
	{
		"hook-codex-invalid-matcher", "hooks", "", "",
		"one bad matcher loses its own group, not the whole file (reference deepseek-harness 0.1.1-rc.2, scenarios b)",
	},
	{
		"hook-cc-posttool-block", "transcript", "", "",
		"in Claude Code's dialect the result stays and the feedback stands behind it (hook deepseek-harness 0.1.1-rc.2, hook bridges)",
	},
}

// essence is what a reference recording and this project's log of the same run
// share: what was said in which order, how the tools answered, what the hooks
// decided, how the turns ended. Ids, times, the runtime context that the
// reference adds, and the wording of tools are each system's own.
type essence struct {
	transcript []entry
	hooks      []string
	ends       []string
}

// entry is one message of the transcript.
type entry struct {
	role string
	text string
	// failed is a tool result's isError.
	failed bool
}

// readEssence reads either log.
func readEssence(lines []record) essence {
	var e essence
	dialects := map[string]string{}
	for _, l := range lines {
		data := l.get("data")
		switch l.text("type") {
		case "user/message", "steering/message", "context/message":
			if foreignContext(data) {
				continue
			}
			e.transcript = append(e.transcript, entry{role: "user", text: joinTexts(data.get("content"))})
		case "assistant/message":
			if t := assistantText(data.get("message", "content")); t != "" {
				e.transcript = append(e.transcript, entry{role: "assistant", text: t})
			}
		case "tool/result":
			e.transcript = append(e.transcript, toolEntry(data))
		case "hook/invoked":
			dialects[data.text("handlerId")] = data.text("dialect")
		case "hook/result":
			if data.text("point") == "SessionStart" {
				continue // the reference leaves no record of it
			}
			e.hooks = append(e.hooks, hookLine(dialects[data.text("handlerId")], data))
		case "turn/end":
			e.ends = append(e.ends, endKind(data.text("reason", "kind")))
		}
	}
	return e
}

// foreignContext reports whether a message was added by a part of the reference
// system that this project does not have: only its hook bridges are shared.
func foreignContext(data *value) bool {
	return data.text("source", "kind") == "plugin" && !strings.HasPrefix(data.text("source", "plugin"), "hooks-") &&
		!strings.Contains(data.text("source", "plugin"), "/dsh-hooks-")
}

func joinTexts(content *value) string {
	var b strings.Builder
	if content != nil {
		for _, c := range content.items {
			b.WriteString(c.text("text"))
		}
	}
	return b.String()
}

func assistantText(content *value) string {
	var b strings.Builder
	if content == nil {
		return ""
	}
	for _, c := range content.items {
		switch c.text("type") {
		case "tool-call":
			fmt.Fprintf(&b, "[call %s %s %s]", c.text("id"), c.text("name"), c.text("arguments"))
		default:
			fmt.Fprintf(&b, "[%s %s]", c.text("type"), c.text("text"))
		}
	}
	return b.String()
}

func toolEntry(data *value) entry {
	content := data.get("message", "content")
	if content == nil || len(content.items) == 0 {
		return entry{role: "tool"}
	}
	block := content.items[0]
	failed := block.get("isError")
	return entry{role: "tool", text: joinTexts(block.get("content")), failed: failed != nil && failed.truth}
}

func hookLine(dialect string, data *value) string {
	decision := data.text("decision")
	if decision == "deny" {
		decision = "block" // the reference has one word for both
	}
	return fmt.Sprintf("%s %s: %s, exit %s, stderr %q", dialect, data.text("point"), decision, data.get("exitCode"), data.text("stderrSummary"))
}

func endKind(kind string) string {
	switch kind {
	case "max-tokens":
		return "max_tokens"
	case "aborted":
		return "cancelled"
	}
	return kind
}

var numberedLine = regexp.MustCompile(`(?m)^\d+: (.*)$`)

// essentialLines returns what of a reference tool result every result must
// carry, however it is worded: a file's lines, a command's output, a hook's
// reason. The rest (envelopes, confirmations, counts) is wording.
func essentialLines(text string) []string {
	switch {
	case strings.HasPrefix(text, "<path>"):
		var out []string
		for _, m := range numberedLine.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	case strings.HasPrefix(text, "The file "), strings.HasPrefix(text, "Updated todo list"):
		return nil
	}
	text = strings.TrimPrefix(text, "Error: ")
	if strings.Contains(text, "aborted") || strings.Contains(text, "ancelled") {
		return nil
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

// compareReference compares a run of a reference recording with it.
func (r *runner) compareReference(s *Scenario, g *got, res *Result) {
	script, err := parseLines(logFile, s.expected[logFile])
	if err != nil {
		res.Err = err
		return
	}
	own, err := parseLines(logFile, g.files[logFile])
	if err != nil {
		res.Err = err
		return
	}
	want, have := readEssence(script), readEssence(own)
	var diffs []Difference
	diffs = append(diffs, compareEntries(want.transcript, have.transcript)...)
	diffs = append(diffs, compareStrings("hooks", want.hooks, have.hooks)...)
	diffs = append(diffs, compareStrings("turn ends", want.ends, have.ends)...)
	if wire, err := parseLines(wireFile, s.expected[wireFile]); err == nil {
		isPrompt := func(_ string, f record) bool { return f.get("error") != nil || f.get("result", "stopReason") != nil }
		turns := turnResults(g.frames, g.promptOf)
		recorded := turnResults(wire, isPrompt)
		for i := range turns {
			turns[i].answer = anyCode(turns[i].answer)
		}
		for i := range recorded {
			recorded[i].answer = anyCode(recorded[i].answer)
		}
		diffs = append(diffs, compareTurns(recorded, turns)...)
	}
	diffs = append(diffs, compareWritten(script, s, g)...)
	for _, d := range diffs {
		if why := isDeliberate(s.Name, d); why != "" {
			res.Notes = append(res.Notes, d.Path+": "+why)
		} else {
			res.Differences = append(res.Differences, d)
		}
	}
}

// anyCode drops the code of an error: the reference has one for all.
func anyCode(answer string) string {
	if strings.HasPrefix(answer, "error ") {
		return "error"
	}
	return answer
}

func isDeliberate(scenario string, d Difference) string {
	for _, x := range deliberate {
		if x.scenario == scenario && strings.HasPrefix(d.Path, x.path) &&
			(x.want == "" || x.want == d.Want) && (x.got == "" || x.got == d.Got) {
			return x.why
		}
	}
	return ""
}

func compareEntries(want, have []entry) []Difference {
	for i := range max(len(want), len(have)) {
		at := fmt.Sprintf("transcript message %d", i+1)
		switch {
		case i >= len(want):
			return []Difference{{logFile, at, "the end of the transcript", have[i].role + ": " + have[i].text}}
		case i >= len(have):
			return []Difference{{logFile, at, want[i].role + ": " + want[i].text, "the end of the transcript"}}
		case want[i].role != have[i].role || want[i].failed != have[i].failed || !sameText(want[i], have[i]):
			return []Difference{{logFile, at, want[i].String(), have[i].String()}}
		}
	}
	return nil
}

func (e entry) String() string {
	if e.failed {
		return e.role + " (failed): " + e.text
	}
	return e.role + ": " + e.text
}

func sameText(want, have entry) bool {
	if want.role != "tool" {
		return want.text == have.text
	}
	for _, line := range essentialLines(want.text) {
		if !strings.Contains(have.text, line) {
			return false
		}
	}
	return true
}

func compareStrings(what string, want, have []string) []Difference {
	for i := range max(len(want), len(have)) {
		at := fmt.Sprintf("%s %d", what, i+1)
		switch {
		case i >= len(want):
			return []Difference{{logFile, at, "nothing", have[i]}}
		case i >= len(have):
			return []Difference{{logFile, at, want[i], "nothing"}}
		case want[i] != have[i]:
			return []Difference{{logFile, at, want[i], have[i]}}
		}
	}
	return nil
}

// compareWritten checks the files that the recorded write and edit calls must
// have left: the recording itself holds no files after the run.
func compareWritten(script []record, s *Scenario, g *got) []Difference {
	files, err := readTree(s.Dir + "/" + workspaceDir)
	if err != nil {
		files = tree{}
	}
	succeeded := map[string]bool{}
	for _, l := range script {
		if l.text("type") == "tool/result" {
			e := toolEntry(l.get("data"))
			succeeded[l.text("data", "message", "source", "callId")] = !e.failed
		}
	}
	want := map[string]string{}
	for _, l := range script {
		if l.text("type") != "tool/call" || !succeeded[l.text("data", "callId")] {
			continue
		}
		args, err := parseValue([]byte(l.text("data", "arguments")))
		if err != nil {
			continue
		}
		path := strings.TrimPrefix(args.text("file_path"), "{{cwd}}/")
		switch l.text("data", "name") {
		case "write":
			want[path] = args.text("content")
		case "edit":
			if _, ok := want[path]; !ok {
				want[path] = string(files[path].data)
			}
			want[path] = strings.Replace(want[path], args.text("old_string"), args.text("new_string"), 1)
		}
	}
	var out []Difference
	for path, content := range want {
		if have := string(g.after[path].data); have != content {
			out = append(out, Difference{"files", path, fmt.Sprintf("%q", content), fmt.Sprintf("%q", have)})
		}
	}
	return out
}
