package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/loop"
	"acp-agent/loop/tool"
)

// F8: the question shows what an edit would do, as a standard diff.
func TestF8DiffInTheQuestion(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		path := r.write("a.txt", "one\ntwo\n")
		id := r.open()
		asks := r.permissions(acp.PermissionOptionKindRejectOnce)
		r.model.add(calls("", toolCall{"c", "edit", args("file_path", "a.txt", "old_string", "two", "new_string", "2")}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		q := asks.reqs[0].ToolCall
		if len(q.Content) != 1 || q.Content[0].Diff == nil {
			t.Fatalf("content %s", mustJSON(q.Content))
		}
		d := q.Content[0].Diff
		if d.Path != path || d.OldText == nil || !strings.Contains(*d.OldText, "two") || !strings.Contains(d.NewText, "2") || q.Kind != acp.ToolKindEdit || q.Name != "edit" {
			t.Errorf("question %s", mustJSON(q))
		}
	})
}

// F10: an answer counts by its id alone, and once.
func TestF10AnswersByID(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		asked := make(chan struct{})
		never := make(chan struct{})
		acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			close(asked)
			<-never // the answers below are written by hand
			return selects("allow_once")()
		})
		r.model.add(calls("", toolCall{"c", "write", args("file_path", "x.txt", "content", "x")}), says("ok"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		<-asked
		f := r.WaitFrame(r.t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodSessionRequestPermission })
		reply := func(rpcID, option string) {
			r.SendLine(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, rpcID, option))
		}
		reply(`"`+string(f.Msg.ID)+`"`, "allow_once") // a string is another id
		reply("4711", "allow_once")
		settle(r)
		r.holds(filepath.Join(r.dir, "x.txt"), "")
		reply(string(f.Msg.ID), "reject_once")
		reply(string(f.Msg.ID), "allow_once") // too late
		r.stops(p, acp.StopReasonEndTurn)
		r.holds(filepath.Join(r.dir, "x.txt"), "")
		close(never)
	})
}

// G2, G5: a one-line edit of a large file is a small update, sent once.
func TestG2SmallDiffs(t *testing.T) {
	bubble(t, options{rules: [3][]string{{"edit"}}}, func(r *rig) {
		var b strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&b, "line %d\r\n", i)
		}
		path := r.write("big.txt", b.String())
		id := r.open()
		r.model.add(calls("", toolCall{"r", "read", args("file_path", "big.txt", "offset", 2500, "limit", 5)}),
			calls("", toolCall{"c", "edit", args("file_path", "big.txt", "old_string", "line 2500\n", "new_string", "changed\n")}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		diffs := 0
		for _, f := range r.Frames() {
			if f.Update == nil || f.Update.Update.ToolCallUpdate == nil || f.Update.Update.ToolCallUpdate.ToolCallID != "c" {
				continue
			}
			if len(f.Raw) > 4096 {
				t.Errorf("an update of %d bytes", len(f.Raw))
			}
			u := f.Update.Update.ToolCallUpdate
			for _, c := range u.Content {
				if c.Diff == nil {
					continue
				}
				diffs++
				if strings.Count(*c.Diff.OldText, "\n") > 10 || strings.Contains(*c.Diff.OldText, "\r") != strings.Contains(c.Diff.NewText, "\r") {
					t.Errorf("diff %q → %q", *c.Diff.OldText, c.Diff.NewText)
				}
				if len(u.Locations) == 0 || u.Locations[0].Path != path || u.Locations[0].Line == nil || *u.Locations[0].Line < 2490 {
					t.Errorf("locations %s", mustJSON(u.Locations))
				}
			}
		}
		if diffs != 1 {
			t.Errorf("%d diffs were sent", diffs)
		}
		r.holds(path, strings.Replace(b.String(), "line 2500\r\n", "changed\r\n", 1))
	})
}

// chatter is a tool that puts out a kilobyte each 10 ms, of the bubble's clock,
// for two seconds.
type chatter struct{ panics }

func (chatter) Spec() tool.Spec {
	return tool.Spec{Name: "chatter", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true, Kind: tool.KindExecute}
}

func (chatter) Run(ctx context.Context, env *tool.Env, _ json.RawMessage) (tool.Result, error) {
	for i := range 200 {
		env.Progress(tool.Progress{Output: fmt.Sprintf("%d %s\n", i, strings.Repeat("é", 500))})
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	return tool.Text("done"), nil
}

// G7: live output is shown while it comes, and what it costs on the wire does
// not grow with what is put out.
func TestG7LiveOutputIsBounded(t *testing.T) {
	bubble(t, options{tools: []tool.Tool{chatter{}}}, func(r *rig) {
		id := r.open()
		r.model.add(calls("", toolCall{"c", "chatter", "{}"}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		live, size := 0, 0
		for _, f := range r.Frames() {
			if f.Update == nil || f.Update.Update.ToolCallUpdate == nil || f.Update.Update.ToolCallUpdate.Status != "" {
				continue
			}
			live++
			size += len(f.Raw)
			if !utf8.ValidString(f.Raw) || strings.Contains(f.Raw, "\ufffd") || len(f.Raw) > 10<<10 {
				t.Errorf("a live update of %d bytes", len(f.Raw))
			}
		}
		if live < 9 || live > 11 { // one at once, then each 200 ms
			t.Errorf("%d live updates in two seconds, %d bytes", live, size)
		}
		endedCalls(t, r, id)
		<-time.After(time.Hour) // the bubble's
		endedCalls(t, r, id)    // nothing of a call follows its result
	})
}

// G14: titles are one plain line, bounded.
func TestG14PlainTitles(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		asks := r.permissions(acp.PermissionOptionKindRejectOnce)
		command := "echo ```x```\necho two; " + strings.Repeat("y", 5000) + "\u202e\x1b[31m"
		r.model.add(calls("", toolCall{"c", "bash", args("command", command)}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		call := last(r, id, func(u acp.SessionUpdate) *acp.ToolCall { return u.ToolCall })
		for _, title := range []string{call.Title, asks.reqs[0].ToolCall.Title} {
			if title == "" || utf8.RuneCountInString(title) > 200 || strings.ContainsAny(title, "\n\r\x1b\u202e") || strings.Contains(title, "```") {
				t.Errorf("title %q", title)
			}
		}
	})
}

// H1: after a command changed a file, the editor's stale buffer is not believed.
func TestH1StaleBuffer(t *testing.T) {
	bubble(t, options{caps: fsCaps()}, func(r *rig) {
		s := serve(r, fsCaps())
		path := r.write("a.txt", "old line\nrest\n")
		s.buffers[path] = "old line\nrest\n"
		id := r.open()
		r.permissions(acp.PermissionOptionKindAllowOnce)
		r.model.add(
			calls("", toolCall{"1", "read", args("file_path", "a.txt")}),
			calls("", toolCall{"2", "bash", args("command", "printf 'new line\\nrest\\nmore\\n' > a.txt")}),
			calls("", toolCall{"3", "read", args("file_path", "a.txt")}),
			calls("", toolCall{"4", "edit", args("file_path", "a.txt", "old_string", "new line", "new_string", "newer line")}),
			says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		res := results(r.model.request(t, -1))
		if !strings.Contains(res["1"], "old line") || !strings.Contains(res["3"], "new line") {
			t.Errorf("reads: %q, then %q", res["1"], res["3"])
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "newer line\nrest\nmore\n" {
			t.Errorf("the file holds %q, %v", data, err)
		}
	})
}

// J5: plan mode is held by the tools, whatever else allows.
func TestJ5PlanMode(t *testing.T) {
	bubble(t, options{rules: [3][]string{{"bash", "write"}}}, func(r *rig) {
		r.write("a.txt", "text")
		id := r.open()
		asks := r.permissions(acp.PermissionOptionKindAllowAlways)
		r.set(id, "mode", "plan")
		r.model.add(calls("", toolCall{"w", "write", args("file_path", "x.txt", "content", "x")}, toolCall{"b", "bash", args("command", "touch y.txt")}, toolCall{"r", "read", args("file_path", "a.txt")}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		res := results(r.model.request(t, -1))
		if !strings.Contains(res["w"], "plan mode") || !strings.Contains(res["b"], "plan mode") || !strings.Contains(res["r"], "text") || asks.count() != 0 {
			t.Errorf("asked %d times; results %q", asks.count(), res)
		}
		r.holds(filepath.Join(r.dir, "x.txt"), "")
		if _, err := os.Stat(filepath.Join(r.dir, "y.txt")); err == nil {
			t.Error("the command ran")
		}
	})
}

// Where answers are for the project they are kept for it, and the log says so;
// where that fails they hold for the session and the person is told.
func TestAlwaysForTheProject(t *testing.T) {
	for _, fails := range []error{nil, errors.New("disk full")} {
		var kept []string
		o := options{hold: func(c loop.Config) loop.Config {
			c.Remember = func(rule string, allow bool) error {
				kept = append(kept, fmt.Sprint(rule, allow))
				return fails
			}
			return c
		}}
		bubble(t, o, func(r *rig) {
			id := r.open()
			asks := r.permissions(acp.PermissionOptionKindAllowAlways)
			write := func(n string) answer {
				return calls("", toolCall{n, "write", args("file_path", n, "content", n)})
			}
			r.model.add(write("1"), write("2"), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if asks.count() != 1 || len(kept) != 1 || kept[0] != "writetrue" {
				t.Errorf("asked %d times, kept %v", asks.count(), kept)
			}
			log, err := os.ReadFile(filepath.Join(r.state, id+".jsonl"))
			if err != nil || strings.Contains(string(log), `"scope":"project"`) != (fails == nil) {
				t.Errorf("the log's scope is wrong: %v", err)
			}
			if told := strings.Contains(r.Text(id), "this session only"); told != (fails != nil) {
				t.Errorf("told %v: %s", told, r.Text(id))
			}
		})
	}
}

// Some clients lose a whole message over a NUL or half a surrogate pair in it: the
// calls that they are shown have none, live, in the question and in a replay. The
// model sees what was put out.
func TestCallsAreShownMildly(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.permissions(acp.PermissionOptionKindAllowOnce)
		// As a model may write it, and no encoder of ours would.
		input := `{"command":"printf 'a\\0b\\\\u0000c'","description":"\u0000 \ud83d \ude00\ud83d \ud83d\ude00 \\ud83d \ud83d\\ude00"}`
		r.model.add(calls("", toolCall{"1", "bash", input}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		if got := results(r.model.request(t, -1))["1"]; got != "a\x00b\\u0000c" {
			t.Errorf("the model reads %q", got)
		}
		r.close(id)
		r.load(id)
		inputs, outputs := 0, 0
		for _, f := range r.Frames() {
			if strings.Contains(f.Raw, `"rawInput"`) {
				inputs++
				if !strings.Contains(f.Raw, `\ufffd \ufffd \ufffd\ufffd \ud83d\ude00 \\ud83d \ufffd\\ude00`) {
					t.Errorf("shown: %s", f.Raw)
				}
			}
			if strings.Contains(f.Raw, `a\ufffdb\\u0000c`) {
				outputs++
			} else if strings.Contains(f.Raw, `a\u0000b`) {
				t.Errorf("shown: %s", f.Raw)
			}
		}
		if inputs < 3 || outputs < 2 {
			t.Errorf("the input was shown %d times, the output %d times", inputs, outputs)
		}
	})
}

// Some clients lose a whole frame over JSON that is deep, or over a number that no
// double holds: such arguments are shown as a string, live, in the question and in a
// replay. The call runs as the model wrote it.
func TestCallsAreShownFlat(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n) + `"]}"` + strings.Repeat(`]}`, n) }
	for _, tc := range []struct {
		more string
		flat bool
	}{
		{nested(20), false},
		{nested(30), true},
		{nested(3000), true},
		{`[1e308,-1.5E+2,0,"1e999 \" [ \\"]`, false},
		{`[1e999]`, true},
		{`{"x":-1E+400}`, true},
		{strings.Repeat("9", 400), true},
	} {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			input := `{"command":"echo ran","more":` + tc.more + `}`
			r.model.add(calls("", toolCall{"1", "bash", input}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			if got := results(r.model.request(t, -1))["1"]; got != "ran\n" {
				t.Errorf("the model reads %q", got)
			}
			r.close(id)
			r.load(id)
			shown := 0
			for _, f := range r.Frames() {
				if !strings.Contains(f.Raw, `"rawInput"`) {
					continue
				}
				shown++
				if strings.Contains(f.Raw, `"rawInput":"`) != tc.flat {
					t.Errorf("%.60s is shown as %.300s", tc.more, f.Raw)
				}
			}
			if shown < 3 {
				t.Errorf("%.60s was shown %d times", tc.more, shown)
			}
		})
	}
}

// H8: a client's no to a write stands where the client was not asked before; what
// it cannot do, or has just allowed itself, is done on the disk.
func TestH8RefusedWrites(t *testing.T) {
	no := &acp.Error{Code: -32603, Message: "Internal error", Data: map[string]any{"details": "Permission denied for fs/write_text_file"}}
	for _, tc := range []struct {
		mode    string
		err     *acp.Error
		written bool
	}{
		{"bypassPermissions", no, false},
		{"acceptEdits", no, false},
		{"default", no, true},
		{"bypassPermissions", &acp.Error{Code: -32601, Message: "Method not found"}, true},
		{"bypassPermissions", &acp.Error{Code: -32002, Message: "no such file"}, true},
		{"bypassPermissions", &acp.Error{Code: -32603, Message: "Internal error", Data: "Invalid path"}, true},
	} {
		var caps acp.ClientCapabilities
		caps.FS.WriteTextFile = true
		bubble(t, options{caps: caps}, func(r *rig) {
			acptest.Handle(r.Client, acp.MethodFSWriteTextFile, func(context.Context, *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
				return nil, tc.err
			})
			r.permissions(acp.PermissionOptionKindAllowOnce)
			id := r.open()
			r.call(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: id, ModeID: tc.mode}, nil)
			r.model.add(calls("", toolCall{"c", "write", args("file_path", "new.txt", "content", "x")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			_, err := os.Stat(filepath.Join(r.dir, "new.txt"))
			got := results(r.model.request(t, -1))["c"]
			if (err == nil) != tc.written || strings.Contains(got, "refused") == tc.written {
				t.Errorf("%s, %d %v: written %v; the model reads %q", tc.mode, tc.err.Code, tc.err.Data, err == nil, got)
			}
		})
	}
}
