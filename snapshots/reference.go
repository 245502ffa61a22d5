package snapshots

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Why this project does otherwise than the reference system (deepseek-harness
// 0.1.1-rc.2) on purpose. A difference that has such a reason is noted; one that
// has none fails.
const (
	whyMaxTokens   = "an answer cut at the output limit is reported as such"
	whyMatcher     = "one bad matcher loses its own group, not the whole file"
	whyFeedback    = "in Claude Code's dialect the result stays and a PostToolUse hook's feedback stands behind it"
	whyReplaced    = "in Codex's dialect a PostToolUse hook's feedback replaces the result, which has not failed for that"
	whyOutside     = "file tools stay inside the session's directories, whatever is answered"
	whyDirectories = "additional directories and MCP servers are taken"
	whyJoined      = "reasons of several hooks are not joined"
)

// essence is what a reference recording and this project's log of the same run
// share: what was said in which order, how the tools answered, what the hooks
// decided, how the turns ended. Ids, times, the runtime context that the
// reference adds, and the wording of tools are each system's own.
type essence struct {
	transcript []entry
	// hooks are their decisions by dialect.
	hooks map[string][]string
	ends  []string
	// notes say where the recording is not what this project does, and why.
	notes []string
}

// entry is one message of the transcript.
type entry struct {
	role string
	text string
	// failed is a tool result's isError.
	failed bool
	// hook: it is a hook's text. loose says how much of a reference tool result
	// counts.
	hook  bool
	loose looseness
}

type looseness int

const (
	strict  looseness = iota
	wording           // not what it says: a tool's own words for a failure
	verdict           // not whether it failed
	present           // only that there is one
)

// reader reads either log.
type reader struct {
	essence
	reference bool
	dialects  map[string]string
	// call is the last tool call, calls are all by id; ruled are those that a hook
	// has denied; feedback is the dialect whose PostToolUse hook has blocked the
	// next result.
	call     string
	calls    map[string]*value
	ruled    map[string]bool
	feedback string
}

func readEssence(lines []record, reference bool) essence {
	r := reader{reference: reference, dialects: map[string]string{}, calls: map[string]*value{}, ruled: map[string]bool{}}
	r.hooks = map[string][]string{}
	for _, l := range lines {
		r.line(l.text("type"), l.get("data"))
	}
	r.transcript = resultsFirst(r.transcript)
	return r.essence
}

func (r *reader) line(typ string, data *value) {
	switch typ {
	case "user/message", "steering/message", "context/message":
		if content := data.get("content"); content != nil && !foreignContext(data) {
			for _, c := range content.items {
				r.transcript = append(r.transcript, entry{role: "user", text: c.text("text"), hook: data.text("source", "kind") != "user"})
			}
		}
	case "assistant/message":
		if t := assistantText(data.get("message", "content")); t != "" {
			r.transcript = append(r.transcript, entry{role: "assistant", text: t})
		}
	case "tool/call":
		r.call = data.text("callId")
		r.calls[r.call] = data
	case "tool/result":
		r.result(data)
	case "hook/invoked":
		r.dialects[data.text("handlerId")] = data.text("dialect")
	case "hook/result":
		r.hook(data)
	case "turn/end":
		r.ends = append(r.ends, endKind(data.text("reason", "kind")))
	}
}

func (r *reader) hook(data *value) {
	dialect, point := r.dialects[data.text("handlerId")], data.text("point")
	switch point {
	case "UserPromptSubmit", "Stop":
	case "PreToolUse":
		if d := data.text("decision"); d == "block" || d == "deny" {
			r.ruled[r.call] = true
		}
	case "PostToolUse":
		if data.text("decision") == "block" {
			r.feedback = dialect
		}
	default:
		return // the reference does not have the event, or leaves no record of it
	}
	r.hooks[dialect] = append(r.hooks[dialect], hookLine(dialect, data))
}

func (r *reader) result(data *value) {
	e := toolEntry(data)
	feedback := r.feedback
	r.feedback = ""
	if !r.reference {
		r.transcript = append(r.transcript, e)
		return
	}
	id := data.text("message", "source", "callId")
	switch {
	case feedback == "claude-code":
		r.notes = append(r.notes, whyFeedback)
		e.loose = present
		r.transcript = append(r.transcript, e, entry{role: "user", text: strings.TrimPrefix(e.text, "Error: "), hook: true})
		return
	case feedback == "codex":
		r.notes = append(r.notes, whyReplaced)
		e.loose = verdict
	case !e.failed && outside(r.calls[id]):
		r.notes = append(r.notes, whyOutside)
		e.loose = present
	case e.failed && !r.ruled[id]:
		e.loose = wording
	}
	r.transcript = append(r.transcript, e)
}

// outside reports whether a call is that of a file tool on a file that is not in
// the working directory.
func outside(call *value) bool {
	path := argument(call, "file_path")
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "../")
}

func argument(call *value, name string) string {
	args, err := parseValue([]byte(call.text("arguments")))
	if err != nil {
		return ""
	}
	return args.text(name)
}

// resultsFirst puts the results of a step before what hooks said of them: the
// reference holds such contexts back until all calls of the step have ended.
func resultsFirst(all []entry) []entry {
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].role != "assistant" {
			to++
		}
		slices.SortStableFunc(all[from:to], func(a, b entry) int {
			return cmp.Compare(a.rank(), b.rank())
		})
		from = to + 1
	}
	return all
}

func (e entry) rank() int {
	if e.role == "tool" {
		return 0
	}
	return 1
}

// foreignContext reports whether a message was added by a part of the reference
// system that this project does not have, or does in its own words: only its
// hook bridges are shared.
func foreignContext(data *value) bool {
	switch data.text("source", "kind") {
	case "agent":
		return true
	case "plugin":
		name := data.text("source", "plugin")
		return !strings.HasPrefix(name, "hooks-") && !strings.Contains(name, "/dsh-hooks-")
	}
	return false
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
	switch decision {
	case "deny":
		decision = "block" // the reference has one word for both
	case "error", "timeout":
		decision = "pass" // and none for a hook that has failed
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

var numberedLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\d+: (.*)$`) })

// essentialLines returns what of a reference tool result every result must
// carry, however it is worded: a file's lines, a command's output, a hook's
// reason. The rest (envelopes, confirmations, counts) is wording.
func essentialLines(text string) []string {
	switch {
	case strings.HasPrefix(text, "<path>"):
		var out []string
		for _, m := range numberedLine().FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	case strings.HasPrefix(text, "The file "), strings.HasPrefix(text, "Updated todo list"):
		return nil
	}
	text = strings.TrimPrefix(text, "Error: ")
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
	want, have := readEssence(script, true), readEssence(own, false)
	note := func(why ...string) { res.Notes = append(res.Notes, why...) }
	note(want.notes...)
	if left := g.unasked; left > 0 && !slices.Contains(want.notes, whyOutside) {
		res.Faults = append(res.Faults, unasked(left, s.Input))
	}
	var diffs []Difference
	if len(want.ends) > 0 { // else its log is the header alone, and was not compared there either
		var joined bool
		if have.transcript, joined = rejoin(want.transcript, have.transcript); joined {
			note(whyJoined)
		}
		diffs = append(diffs, compareEntries(want.transcript, have.transcript)...)
		for _, x := range []struct{ dialect, file string }{{"claude-code", claudeHooksFile}, {"codex", codexHooksFile}} {
			if len(want.hooks[x.dialect]) == 0 && len(have.hooks[x.dialect]) > 0 && badMatcher(filepath.Join(s.Dir, workspaceDir, x.file)) {
				note(whyMatcher)
				continue
			}
			diffs = append(diffs, compareStrings("hooks", want.hooks[x.dialect], have.hooks[x.dialect])...)
		}
		diffs = append(diffs, compareStrings("turn ends", want.ends, have.ends)...)
	}
	if wire, err := parseLines(wireFile, s.expected[wireFile]); err == nil {
		recorded, turns := turnResults(wire, recordedPrompts(s.Input)), turnResults(g.frames, g.promptOf)
		for i := range recorded {
			recorded[i].answer = anyCode(recorded[i].answer)
			if i < len(turns) && recorded[i].answer == "end_turn" && turns[i].answer == "max_tokens" && slices.Contains(want.ends, "max_tokens") {
				recorded[i].answer = "max_tokens"
				note(whyMaxTokens)
			}
		}
		for i := range turns {
			turns[i].answer = anyCode(turns[i].answer)
		}
		diffs = append(diffs, compareTurns(recorded, turns)...)
	}
	diffs = append(diffs, compareWritten(script, s, g)...)
	res.Differences = append(res.Differences, diffs...)
	slices.Sort(res.Notes)
	res.Notes = slices.Compact(res.Notes)
}

// recordedPrompts tells the recorded answers of session/prompt by the requests
// that the steps make: the reference's client numbers them from 1.
func recordedPrompts(in *Input) func(string, record) bool {
	ids := map[string]bool{}
	n := 0
	for _, s := range in.Steps {
		switch {
		case strings.HasPrefix(s.Op, "prompt"):
			n++
			ids[strconv.Itoa(n)] = true
		case s.Op == "initialize", strings.HasPrefix(s.Op, "newSession"):
			n++
		}
	}
	return func(id string, _ record) bool { return ids[id] }
}

// badMatcher reports whether a hooks file has a matcher that is no regular
// expression, for which the reference reads none of the file.
func badMatcher(file string) bool {
	data, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	doc, err := parseValue(data)
	if err != nil {
		return false
	}
	events := doc.get("hooks")
	if events == nil {
		return false
	}
	for _, event := range events.members {
		for _, group := range event.val.items {
			if _, err := regexp.Compile(group.text("matcher")); err != nil {
				return true
			}
		}
	}
	return false
}

// rejoin joins hooks' messages where the reference has joined them with a blank
// line, and says whether it did.
func rejoin(want, have []entry) ([]entry, bool) {
	joined := false
	for i := 0; i < min(len(want), len(have)); i++ {
		if !want[i].hook || want[i].text == have[i].text {
			continue
		}
		text := have[i].text
		for j := i + 1; j < len(have) && have[j].hook && text != want[i].text; j++ {
			if text += "\n\n" + have[j].text; text == want[i].text {
				have = slices.Concat(have[:i], []entry{want[i]}, have[j+1:])
				joined = true
				break
			}
		}
	}
	return have, joined
}

// recordedAnswer is how the recording answers a question about a call, where
// permissionAnswers say nothing: the reference asks for escalations alone, and
// rejects what a hook wants asked where nobody may be.
func recordedAnswers(log []byte) (func(callID string) (kind string, listed bool), error) {
	lines, err := parseLines(logFile, log)
	if err != nil {
		return nil, err
	}
	var call string
	asked, hooked, failed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, l := range lines {
		data := l.get("data")
		switch l.text("type") {
		case "tool/call":
			call = data.text("callId")
		case "approval/asked":
			asked[data.text("callId")] = true
		case "hook/result":
			if data.text("decision") == "ask" {
				hooked[call] = true
			}
		case "tool/result":
			failed[data.text("message", "source", "callId")] = toolEntry(data).failed
		}
	}
	return func(id string) (string, bool) {
		if failed[id] && (asked[id] || hooked[id]) {
			return "reject_once", asked[id]
		}
		return "allow_once", asked[id]
	}, nil
}

// anyCode drops the code of an error: the reference has one for all.
func anyCode(answer string) string {
	if strings.HasPrefix(answer, "error ") {
		return "error"
	}
	return answer
}

func compareEntries(want, have []entry) []Difference {
	for i := range max(len(want), len(have)) {
		at := fmt.Sprintf("transcript message %d", i+1)
		switch {
		case i >= len(want):
			return []Difference{{logFile, at, "the end of the transcript", have[i].role + ": " + have[i].text}}
		case i >= len(have):
			return []Difference{{logFile, at, want[i].role + ": " + want[i].text, "the end of the transcript"}}
		case want[i].role != have[i].role || want[i].loose < verdict && want[i].failed != have[i].failed || !sameText(want[i], have[i]):
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
	switch {
	case want.role != "tool":
		return want.text == have.text
	case want.loose == wording || want.loose == present:
		return true
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
	want, unknown := map[string]string{}, map[string]bool{}
	for _, l := range script {
		call := l.get("data")
		if l.text("type") != "tool/call" || !succeeded[call.text("callId")] || outside(call) {
			continue
		}
		path := strings.TrimPrefix(argument(call, "file_path"), "{{cwd}}/")
		switch call.text("name") {
		case "bash": // what a command has made of a file is not known
			command := argument(call, "command")
			for p := range want {
				if strings.Contains(command, filepath.Base(p)) {
					delete(want, p)
				}
			}
			for p := range files {
				if strings.Contains(command, filepath.Base(p)) {
					unknown[p] = true
				}
			}
		case "write":
			want[path] = argument(call, "content")
			delete(unknown, path)
		case "edit":
			if unknown[path] {
				continue
			}
			if _, ok := want[path]; !ok {
				want[path] = string(files[path].data)
			}
			n := 1
			if args, err := parseValue([]byte(call.text("arguments"))); err == nil && args.get("replace_all") != nil && args.get("replace_all").truth {
				n = -1
			}
			want[path] = strings.Replace(want[path], argument(call, "old_string"), argument(call, "new_string"), n)
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
