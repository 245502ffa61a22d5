package claudecode

import (
	"encoding/json"
	"net/http"
	"strings"

	"acp-agent/hooks"
)

// toolFailed says whether the tool's end is PostToolUseFailure: it reported an
// error, or a command exited with other than 0 (Claude Code hooks reference, events).
func toolFailed(t *hooks.Tool) bool {
	return t.Failed || t.NotRun || t.ExitCode != nil && *t.ExitCode != 0
}

// ToolResponse is the vendor's tool_response for a tool that has run
// (Claude Code sdk-tools.d.ts). Tools that the vendor does not have, MCP ones first, give their
// own structured answer, or else their text.
func ToolResponse(t *hooks.Tool, cwd string) json.RawMessage {
	var ok bool
	var out json.RawMessage
	switch t.Name {
	case "bash":
		out, ok = bashResponse(t)
	case "read":
		out, ok = readResponse(t)
	case "write":
		out, ok = writeResponse(t)
	case "edit":
		out, ok = editResponse(t)
	case "glob":
		out, ok = globResponse(t)
	case "grep":
		out, ok = grepResponse(t)
	case "web_fetch":
		out, ok = fetchResponse(t)
	case "todo_write":
		out, ok = todoResponse(t)
	}
	switch {
	case ok:
		return out
	case json.Valid(t.Response):
		return t.Response
	}
	return hooks.AppendString(nil, t.Output)
}

// decodeResponse reads the agent's structured answer, if there is one.
func decodeResponse(t *hooks.Tool, v any) bool {
	return len(t.Response) > 0 && json.Unmarshal(t.Response, v) == nil
}

func bashResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.BashResponse
	if !decodeResponse(t, &r) {
		r = hooks.BashResponse{Stdout: t.Output, Interrupted: t.Interrupted}
	}
	if r.JobID != "" {
		r.Stdout = "" // the vendor has the id alone
	}
	w := hooks.NewObject(nil)
	w.Str("stdout", r.Stdout)
	w.Str("stderr", r.Stderr)
	w.Bool("interrupted", r.Interrupted)
	w.Bool("isImage", false)
	if r.TimedOutMs > 0 {
		w.Int("timedOutAfterMs", r.TimedOutMs)
	}
	w.OptStr("backgroundTaskId", r.JobID)
	return w.Close(), true
}

func readResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.ReadResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	w.Str("type", "text")
	w.Object("file", func(w *hooks.ObjectWriter) {
		w.Str("filePath", r.Path)
		w.Str("content", r.Content)
		w.Int("numLines", int64(r.NumLines))
		w.Int("startLine", int64(r.StartLine))
		w.Int("totalLines", int64(r.TotalLines))
	})
	return w.Close(), true
}

func writeResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.WriteResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	if r.Created {
		w.Str("type", "create")
	} else {
		w.Str("type", "update")
	}
	w.Str("filePath", r.Path)
	w.Str("content", r.Content)
	old := ""
	if r.Original != nil {
		old = *r.Original
	}
	if r.Created || r.Original == nil {
		// The vendor's patch of a new file is empty.
		w.Raw("structuredPatch", json.RawMessage("[]"))
	} else {
		w.Raw("structuredPatch", structuredPatch(old, r.Content))
	}
	original(w, r.Original)
	return w.Close(), true
}

func original(w *hooks.ObjectWriter, text *string) {
	if text == nil {
		w.Null("originalFile")
	} else {
		w.Str("originalFile", *text)
	}
}

func editResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.EditResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	w.Str("filePath", r.Path)
	w.Str("oldString", r.OldString)
	w.Str("newString", r.NewString)
	original(w, r.Original)
	patch := json.RawMessage("[]")
	if r.Original != nil {
		n := 1
		if r.ReplaceAll {
			n = -1
		}
		patch = structuredPatch(*r.Original, strings.Replace(*r.Original, r.OldString, r.NewString, n))
	}
	w.Raw("structuredPatch", patch)
	w.Bool("userModified", false)
	w.Bool("replaceAll", r.ReplaceAll)
	return w.Close(), true
}

func globResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.GlobResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	w.Int("durationMs", r.DurationMs)
	w.Int("numFiles", int64(len(r.Files)))
	w.Value("filenames", nonNil(r.Files))
	w.Bool("truncated", r.Truncated)
	return w.Close(), true
}

func fetchResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.FetchResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	w.Int("bytes", int64(r.Bytes))
	w.Int("code", int64(r.Status))
	w.Str("codeText", http.StatusText(r.Status))
	w.Str("result", r.Content)
	w.Int("durationMs", r.DurationMs)
	w.Str("url", r.URL)
	return w.Close(), true
}

func grepResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.GrepResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	w := hooks.NewObject(nil)
	w.Str("mode", "content")
	w.Int("numFiles", int64(len(r.Files)))
	w.Value("filenames", nonNil(r.Files))
	w.Str("content", r.Content)
	w.Int("numLines", int64(len(lines(r.Content))))
	w.Int("numMatches", int64(r.Matches))
	return w.Close(), true
}

func todoResponse(t *hooks.Tool) (json.RawMessage, bool) {
	var r hooks.TodoResponse
	if !decodeResponse(t, &r) {
		return nil, false
	}
	list := func(todos json.RawMessage) json.RawMessage {
		if len(todos) == 0 || string(todos) == "null" {
			return json.RawMessage("[]")
		}
		return withActiveForm(todos)
	}
	w := hooks.NewObject(nil)
	w.Raw("oldTodos", list(r.Old))
	w.Raw("newTodos", list(r.New))
	return w.Close(), true
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// structuredPatch is the change from one text to another as hunks. It is one
// hunk, from the first line that differs to the last, with three lines round
// it: right, if not the shortest for changes in several places.
func structuredPatch(before, after string) json.RawMessage {
	a, b := lines(before), lines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if head == len(a) && head == len(b) {
		return json.RawMessage("[]")
	}
	const around = 3
	from := max(0, head-around)
	endA, endB := min(len(a), len(a)-tail+around), min(len(b), len(b)-tail+around)
	var out []string
	add := func(mark string, ls []string) {
		for _, l := range ls {
			out = append(out, mark+strings.TrimSuffix(l, "\n"))
			if !strings.HasSuffix(l, "\n") {
				out = append(out, `\ No newline at end of file`)
			}
		}
	}
	add(" ", a[from:head])
	add("-", a[head:len(a)-tail])
	add("+", b[head:len(b)-tail])
	add(" ", a[len(a)-tail:endA])
	// An empty range stands before its line, so it counts one less.
	start := func(n int) int64 {
		if n == 0 {
			return int64(from)
		}
		return int64(from + 1)
	}
	w := hooks.NewObject([]byte{'['})
	w.Int("oldStart", start(endA-from))
	w.Int("oldLines", int64(endA-from))
	w.Int("newStart", start(endB-from))
	w.Int("newLines", int64(endB-from))
	w.Value("lines", out)
	return append(w.Close(), ']')
}

// lines splits a text into its lines, line ends kept.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	ls := strings.SplitAfter(s, "\n")
	if ls[len(ls)-1] == "" {
		ls = ls[:len(ls)-1]
	}
	return ls
}

// failureError is PostToolUseFailure's error: for a command its exit code and
// what it wrote, cut in the middle above 10,000 characters (Claude Code hooks reference, events).
func failureError(t *hooks.Tool) string {
	text := t.Output
	if t.ExitCode != nil && *t.ExitCode != 0 {
		text = "Exit code " + itoa(*t.ExitCode)
		var r hooks.BashResponse
		if decodeResponse(t, &r) {
			for _, s := range []string{r.Stdout, r.Stderr} {
				if s = strings.TrimRight(s, "\n"); s != "" {
					text += "\n" + s
				}
			}
		} else if t.Output != "" {
			text += "\n" + t.Output
		}
	}
	return cutMiddle(text, 10_000)
}

// cutMiddle keeps the first and the last half of a text that has more than
// limit characters.
func cutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	half := limit / 2
	return string(r[:half]) + "\n\n… " + itoa(len(r)-2*half) + " characters cut …\n\n" + string(r[len(r)-half:])
}
