package codex

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// setups is what the recorded runs had beside their hooks.json.
var setups = map[string]setup{
	"as_async":        {turns: 2},
	"cf_both":         {userTOML: "[[hooks.UserPromptSubmit]]\n[[hooks.UserPromptSubmit.hooks]]\ntype = \"command\"\ncommand = \"echo fromtoml\"\n"},
	"ft_off":          {userTOML: "[features]\nhooks = false\n"},
	"ir1":             {interrupt: true},
	"ir3":             {interrupt: true},
	"pj_trusted":      {projectJSON: projHooks, approve: true},
	"pj_untrusted":    {projectJSON: projHooks},
	"ss_cont2":        {turns: 2},
	"sh__usr_bin_zsh": {},
}

const projHooks = `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command","command":"echo proj"}]}]}}`

// differences are the rows that do not come out as Codex's, each with what is
// done to the recording before it is compared, and the reason. Every other row
// must be equal.
var differences = map[string]struct {
	reason string
	adapt  func(*row)
}{
	"p_deny":         {verbatimDenial, plainDenials},
	"p_exit2_json":   {verbatimDenial, plainDenials},
	"p_legacy_block": {verbatimDenial, plainDenials},
	"st_once":        {verbatimStop, plainStops},
	"st_loop":        {verbatimStop + "; the cap on repeated stops is the loop's, not the engine's", plainStops},
	"bg_pipe_to": {
		"a hook that has printed a whole answer and exited is not waited for because a child holds its stdout, so its block counts (claude-remember#646)",
		func(r *row) { r.LastRequestItems[2].Output = "b" },
	},
	"tr_none": {
		"the user's own hooks run without a review: only a repository's need trust (README, Security)",
		func(r *row) {
			r.LastRequestItems = append(r.LastRequestItems, item{Role: "developer", Text: []string{"untrustedhook"}})
		},
	},
	"spill": {
		"the recording lacks the developer message with the shortened text (it holds none that long); ours has it",
		func(r *row) {
			r.LastRequestItems = append(r.LastRequestItems, item{Role: "developer", Text: []string{"Warning: truncated output (original token count: 15000)\nTotal output lines: 1\n\nZ…N tokens truncated…Z\n\n"}})
		},
	},
	"cf_extrahandler": {"keys that Codex ignores in silence are said", func(r *row) { r.UserVisibleErrors = []string{"Codex ignores this key"} }},
	"u_plain":         {"a matcher that Codex ignores in silence is said", func(r *row) { r.UserVisibleErrors = []string{"Codex ignores a matcher"} }},
	"as2":             {"event names that Codex does not know are said", func(r *row) { r.UserVisibleErrors = []string{"Codex has no event of this name"} }},
}

const (
	verbatimDenial = "a denial's reason is the tool's result as it is, without \"Command blocked by PreToolUse hook\" round it (README, What differs from the vendors)"
	verbatimStop   = "a stop reason is the instruction as it is, without <hook_prompt> round it (README, What differs from the vendors)"
)

var (
	denial     = regexp.MustCompile(`(?s)^Command blocked by PreToolUse hook: (.*)\. Command: .*$`)
	hookPrompt = regexp.MustCompile(`^<hook_prompt hook_run_id="[^"]*">(.*)</hook_prompt>$`)
	unescape   = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

func plainDenials(r *row) {
	for i := range r.LastRequestItems {
		it := &r.LastRequestItems[i]
		it.Output = denial.ReplaceAllString(it.Output, "$1")
	}
}

func plainStops(r *row) {
	for i := range r.LastRequestItems {
		for j, s := range r.LastRequestItems[i].Text {
			if m := hookPrompt.FindStringSubmatch(s); m != nil {
				r.LastRequestItems[i].Text[j] = unescape.Replace(m[1])
			}
		}
	}
}

// TestObserved replays all recorded runs of the real Codex: the same hooks.json,
// the same tool calls, the real hook commands; then the same number of model
// requests, the same last request, the same payloads and files, the same
// complaints.
func TestObserved(t *testing.T) {
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("the recorded hooks were written for bash, which is not here")
	}
	f, err := os.Open("testdata/observed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	n := 0
	unused := map[string]bool{}
	for name := range differences {
		unused[name] = true
	}
	for sc.Scan() {
		r := &row{}
		if err := json.Unmarshal(sc.Bytes(), r); err != nil {
			t.Fatal(err)
		}
		n++
		delete(unused, r.Name)
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if d, ok := differences[r.Name]; ok {
				d.adapt(r)
			}
			p := newReplay(t, r, setups[r.Name])
			p.run()
			p.compare()
		})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	if n != 68 || len(unused) > 0 {
		t.Errorf("%d rows, want 68; differences without a row: %v", n, unused)
	}
}

func (p *replay) compare() {
	t := p.t
	if p.requests != p.row.Requests {
		t.Errorf("%d model requests, Codex made %d", p.requests, p.row.Requests)
	}
	if got, want := p.lines(p.last), p.lines(p.row.LastRequestItems); got != want {
		t.Errorf("last request\n%s\nCodex sent\n%s", got, want)
	}
	p.compareFiles()
	if p.quiet {
		return
	}
	all := fmt.Sprint(p.problems)
	if len(p.row.UserVisibleErrors) == 0 && len(p.problems) > 0 {
		t.Errorf("Codex says nothing of the config, we say %s", all)
	}
	for _, e := range p.row.UserVisibleErrors {
		if want := essence(e); !strings.Contains(all, want) {
			t.Errorf("Codex says %q, so we should say something with %q; we say %s", e, want, all)
		}
	}
}

// essence is the part of a complaint of Codex that ours must have.
func essence(e string) string {
	for _, known := range []struct{ theirs, ours string }{
		{"unknown field `UserPromptSubmit`", "put the events inside a top-level"},
		{"loading hooks from both", "hooks are loaded from this file and from"},
		{"unknown variant `http`", `(hooks.UserPromptSubmit[0].hooks[0].type): unknown handler type "http"`},
		{"key must be a string at line 1 column 3", "line 1 column 3"},
		{"skipping prompt hook", "Codex does not support prompt hooks"},
		{"skipping agent hook", "Codex does not support agent hooks"},
		{"invalid value: integer `-1`", "-1 is negative"},
		{"unknown field `permissions`", `unknown top-level key "permissions"`},
	} {
		if strings.Contains(e, known.theirs) {
			return known.ours
		}
	}
	return e
}

var execHeader = regexp.MustCompile(`(?s)^Chunk ID: .*?\nOutput:\n`)

// lines spells items for comparing: without the header that Codex puts before
// a command's output, which is its own business.
func (p *replay) lines(items []item) string {
	var b strings.Builder
	for _, it := range items {
		it.Output = execHeader.ReplaceAllString(it.Output, "")
		for i, s := range it.Text {
			if strings.Contains(s, "tokens truncated…") && strings.Contains(s, "zzz") {
				it.Text[i] = p.checkSpill(s)
			}
		}
		b.WriteString(it.String() + "\n")
	}
	return strings.ReplaceAll(b.String(), "{{root}}", p.root)
}

var (
	manyZ     = regexp.MustCompile(`z{100,}`)
	truncated = regexp.MustCompile(`…\d+ tokens truncated…`)
)

// checkSpill checks a shortened text's size and file and returns the text
// without what depends on the length of the file's name.
func (p *replay) checkSpill(s string) string {
	s, path, ok := strings.Cut(s, "Full hook output saved to: ")
	if !ok {
		return s // the recording's
	}
	if n := tokens(s); n < defaultContextLimit-100 || n > defaultContextLimit+50 {
		p.t.Errorf("a shortened text of %d tokens", n)
	}
	if strings.HasPrefix(path, p.root) {
		fi, err := os.Stat(path)
		if err != nil {
			p.t.Fatal(err)
		}
		if fi.Size() != 60000 || fi.Mode().Perm() != 0o600 {
			p.t.Errorf("the spilled file has %d bytes and mode %o, want 60000 and 600", fi.Size(), fi.Mode().Perm())
		}
	}
	return truncated.ReplaceAllString(manyZ.ReplaceAllString(s, "Z"), "…N tokens truncated…")
}

// compareFiles compares what the hooks left in the project. A name with a clock
// in it is compared by its place in the order.
func (p *replay) compareFiles() {
	got := map[string]string{}
	err := filepath.WalkDir(p.proj(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		b, err := os.ReadFile(path)
		got[filepath.Base(path)] = string(b)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	g, w := p.files(got), p.files(p.row.ProjectFilesAfter)
	if g != w {
		p.t.Errorf("files\n%s\nCodex's hooks left\n%s", g, w)
	}
}

var (
	clock = regexp.MustCompile(`\d{19}`)
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}`)
	days  = regexp.MustCompile(`sessions/\d{4}/\d{2}/\d{2}/`)
	reqID = regexp.MustCompile(`"(request_id|response_id)":"[^"]*"`)
)

func (p *replay) files(m map[string]string) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names) // the clocks put the numbered ones in order
	var b strings.Builder
	for _, n := range names {
		text := strings.ReplaceAll(m[n], p.root, "{{root}}")
		switch n {
		case "cl":
			text = shellFacts(text)
		case "child.log":
			// How far the killed child came is the machine's; that it did not finish is
			// ours.
			text = fmt.Sprintf("finished %t", strings.Contains(text, "8"))
		}
		text = reqID.ReplaceAllString(text, `"$1":"R"`)
		text = uuids.ReplaceAllString(text, "U")
		text = times.ReplaceAllString(text, "T")
		text = days.ReplaceAllString(text, "sessions/D/")
		fmt.Fprintf(&b, "%s: %q\n", clock.ReplaceAllString(n, "N"), text)
	}
	return b.String()
}

var stream = regexp.MustCompile(` [012] -> (\w+):`)

// shellFacts keeps of the sh_* rows how the shell was called, that it leads its
// session and group, that its streams are pipes and that it has no terminal.
func shellFacts(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 {
		return text
	}
	f := strings.Fields(lines[1])
	leads := len(f) > 6 && f[0] == f[4] && f[0] == f[5]
	pipes := 0
	for _, l := range lines {
		// Higher ones may be what this test itself has inherited.
		if m := stream.FindStringSubmatch(l); m != nil && m[1] == "pipe" {
			pipes++
		}
	}
	return fmt.Sprintf("%s leads=%t pipes=%d tty=%t", lines[0], leads, pipes, !strings.Contains(text, "not a tty"))
}
