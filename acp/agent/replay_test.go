package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/stdio"
)

func mustJSON(v any) json.RawMessage {
	b, err := acp.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// conversation is what a client shows of a stream of updates: messages with
// their chunks joined, tool calls in their last state where they began, the last
// plan where it came last, compactions.
func conversation(updates []acp.SessionUpdate) []string {
	type item struct {
		kind, id, text string
		call           map[string]any
	}
	var items []*item
	text := func(kind string, c *acp.ContentChunk) {
		raw := string(mustJSON(c.Content))
		id := c.MessageID
		if kind == "user" { // the live stream has none: the person typed it
			id = ""
		}
		if n := len(items); n > 0 && c.Content.Text != nil && items[n-1].kind == kind && items[n-1].id == id && items[n-1].text != "" {
			items[n-1].text += c.Content.Text.Text
			return
		}
		it := &item{kind: kind, id: id}
		if c.Content.Text != nil {
			it.text = c.Content.Text.Text
		} else {
			it.id += raw
		}
		items = append(items, it)
	}
	patch := func(u any) {
		var m map[string]any
		_ = json.Unmarshal(mustJSON(u), &m)
		id := m["toolCallId"].(string)
		for _, it := range items {
			if it.kind == "call" && it.id == id {
				for k, v := range m {
					it.call[k] = v
				}
				return
			}
		}
		items = append(items, &item{kind: "call", id: id, call: m})
	}
	drop := func(kind string) {
		for i, it := range items {
			if it.kind == kind {
				items = append(items[:i:i], items[i+1:]...)
				return
			}
		}
	}
	for _, u := range updates {
		switch {
		case u.UserMessageChunk != nil:
			text("user", u.UserMessageChunk)
		case u.AgentMessageChunk != nil:
			if u.AgentMessageChunk.Meta == nil { // a marked one is a notice
				text("agent", u.AgentMessageChunk)
			}
		case u.AgentThoughtChunk != nil:
			text("thought", u.AgentThoughtChunk)
		case u.ToolCall != nil:
			patch(u.ToolCall)
		case u.ToolCallUpdate != nil:
			patch(u.ToolCallUpdate)
		case u.Plan != nil:
			drop("plan")
			items = append(items, &item{kind: "plan", text: string(mustJSON(u.Plan))})
		case u.PlanUpdate != nil:
			drop("plan")
			items = append(items, &item{kind: "plan", text: string(mustJSON(u.PlanUpdate))})
		case u.CompactionUpdate != nil && u.CompactionUpdate.Status != acp.CompactionStatusInProgress:
			items = append(items, &item{kind: "compaction", text: string(mustJSON(u.CompactionUpdate))})
		}
	}
	var out []string
	for _, it := range items {
		if it.call != nil {
			raw, _ := json.Marshal(it.call)
			it.text = string(raw)
		}
		out = append(out, fmt.Sprintf("%s %s %s", it.kind, it.id, it.text))
	}
	return out
}

// C4 and line 44: what a load shows is what was shown live.
func replayEqualsLive(t *testing.T) {
	caps := acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Compaction: &acp.CompactionCapabilities{}}}
	for _, plans := range []bool{false, true} {
		if plans {
			caps.Plan = &acp.PlanCapabilities{}
		}
		bubble(t, options{caps: caps, rules: [3][]string{nil, nil, {"bash(rm:*)"}}}, func(r *rig) {
			r.write("a.txt", "one\ntwo\nthree\n")
			id := r.open()
			r.permissions(acp.PermissionOptionKindAllowOnce)
			todos := func(status string) string {
				return args("todos", []any{map[string]any{"content": "x", "status": status}, map[string]any{"content": "y", "status": "pending"}})
			}
			r.model.add(
				thinks("hm", "I look."),
				calls("Editing.", toolCall{"c1", "read", args("file_path", "a.txt")}, toolCall{"c2", "edit", args("file_path", "a.txt", "old_string", "two", "new_string", "2")}),
				calls("", toolCall{"c3", "bash", args("command", "echo out; exit 3")}, toolCall{"c4", "bash", args("command", "rm -rf x")}, toolCall{"t1", "todo_write", todos("in_progress")}),
				calls("More.", toolCall{"c1", "no_such_tool", "{}"}, toolCall{"c5", "read", `{"file`}, toolCall{"c6", "read", args("file_path", "none.txt")}, toolCall{"t2", "todo_write", todos("completed")}),
				calls("", toolCall{"c7", "write", args("file_path", "new.txt", "content", "hello\n")}, toolCall{"c8", "grep", args("pattern", "three")}),
				says("All ", "done."),
			)
			prompts := []string{"look", "now edit"}
			var live []acp.SessionUpdate
			for _, p := range prompts {
				live = append(live, acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(p)}})
				n := len(r.Updates(id))
				r.say(id, p, acp.StopReasonEndTurn)
				live = append(live, r.Updates(id)[n:]...)
			}
			r.close(id)
			n := len(r.Updates(id))
			r.load(id)
			shown := 0
			for _, u := range r.Updates(id)[n:] {
				if u.Plan != nil || u.PlanUpdate != nil {
					shown++
				}
			}
			if shown != 1 {
				t.Errorf("a load shows %d plans, want the last alone", shown)
			}
			want, got := conversation(live), conversation(r.Updates(id)[n:])
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("a load differs from what was live (-live +load):\n%s", diff)
			}
			if len(want) < 15 {
				t.Errorf("only %d items: the turn did not do its work:\n%s", len(want), strings.Join(want, "\n"))
			}
		})
	}
}

// A terminal is the client's that ran the command. Another client, and the same
// one later, has none of that id: a load shows what was in it.
func TestReplayShowsTextForTerminals(t *testing.T) {
	bubble(t, options{caps: terminalCaps()}, func(r *rig) {
		serve(r, terminalCaps())
		id := r.open()
		r.permissions(acp.PermissionOptionKindAllowOnce)
		r.model.add(calls("", toolCall{"c", "bash", args("command", "make")}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		r.close(id)
		n := len(r.Updates(id))
		r.load(id)
		shown := false
		for _, u := range r.Updates(id)[n:] {
			if u.ToolCall == nil {
				continue
			}
			for _, c := range u.ToolCall.Content {
				if c.Terminal != nil {
					t.Errorf("a load shows the terminal %s", c.Terminal.TerminalID)
				}
				shown = shown || c.Content != nil && c.Content.Content.Text != nil && strings.Contains(c.Content.Content.Text.Text, "from the terminal")
			}
		}
		if !shown {
			t.Error("a load does not show what was in the terminal")
		}
	})
}

// C5: a process that died in a tool leaves a call that the load closes.
func TestC5CutSession(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(calls("Running.", toolCall{"c1", "todo_write", args("todos", []any{})}), says("done"))
		r.say(id, "go", acp.StopReasonEndTurn)
		r.close(id)
		// Cut the log after the call was announced, as kill -9 would.
		path := filepath.Join(r.state, id+".jsonl")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(data), `"type":"tool/result"`)
		cut := strings.LastIndex(string(data[:at]), "\n") + 1
		if err := os.WriteFile(path, data[:cut+20], 0o600); err != nil {
			t.Fatal(err)
		}
		n := len(r.Updates(id))
		r.load(id)
		var began, ended bool
		for _, u := range r.Updates(id)[n:] {
			switch {
			case u.ToolCall != nil && u.ToolCall.ToolCallID == "c1":
				began, ended = true, u.ToolCall.Status == acp.ToolCallStatusFailed
			case u.ToolCallUpdate != nil && !began:
				t.Error("an update before its call")
			}
		}
		if !began || !ended {
			t.Errorf("the cut call: began %v, ended as failed %v", began, ended)
		}
		r.say(id, "go on", acp.StopReasonEndTurn)
		if res := results(r.model.request(t, -1)); res["c1"] == "" {
			t.Error("the request after it has no result for the call")
		}
	})
}

// A load that is taken back while the client does not read ends: it is answered as
// cancelled, and the session is not open. What is being loaded takes no prompt.
func TestLoadIsTakenBack(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(says("a"), says("b"), says("c"))
		long := strings.Repeat("x", stdio.DefaultBudget) // the client reads one of these, the other waits for it
		r.prompt(textPrompt(id, long), acp.StopReasonEndTurn)
		r.prompt(textPrompt(id, long), acp.StopReasonEndTurn)
		r.close(id)
		resume := r.Pause()
		load := r.Go(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir})
		synctest.Wait()
		prompt := r.Go(acp.MethodSessionPrompt, textPrompt(id, "now"))
		r.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: load.ID})
		synctest.Wait()
		resume()
		for p, code := range map[*acptest.Pending]acp.ErrorCode{load: acp.CodeRequestCancelled, prompt: acp.CodeInvalidRequest} {
			var e *acp.Error
			if err := p.Wait(r.t.Context(), nil); !errors.As(err, &e) || e.Code != code {
				t.Errorf("%s: %v, want code %d", p.Method, err, code)
			}
		}
		r.refused(acp.MethodSessionPrompt, textPrompt(id, "now"), -32002)
		r.load(id)
		r.prompt(textPrompt(id, "now"), acp.StopReasonEndTurn)
	})
}

// A replay does not wait for MCP servers, and may be without them: their calls have
// the title that they had.
func TestReplayedCallsOfServersKeepTheirTitles(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.model.add(calls("", toolCall{"1", "mcp__jira__find", args("key", "A-1")}, toolCall{"2", "mcp____x", args("key", "A-1")}), says("ok"))
		r.say(id, "go", acp.StopReasonEndTurn)
		r.close(id)
		r.load(id)
		one, two := 0, 0
		for _, f := range r.Frames() {
			one += strings.Count(f.Raw, `"title":"jira: find (key: \"A-1\")"`)
			two += strings.Count(f.Raw, `"title":"mcp____x"`)
		}
		if one < 2 || two < 2 {
			t.Errorf("shown by its title %d times, by its name %d times", one, two)
		}
	})
}

// What the opening of a log has found is said once, behind the answer, by a load and
// by a resume, which shows nothing of the conversation.
func TestBrokenLogIsSaid(t *testing.T) {
	for _, method := range []string{acp.MethodSessionLoad, acp.MethodSessionResume} {
		t.Run(method, func(t *testing.T) { brokenLogIsSaid(t, method) })
	}
}

func brokenLogIsSaid(t *testing.T, method string) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.say(id, "hello", acp.StopReasonEndTurn)
		r.close(id)
		f, err := os.OpenFile(filepath.Join(r.state, id+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(`{"seq":99,"ts"`); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{1, 0} {
			from := len(r.Frames())
			r.call(method, map[string]any{"sessionId": id, "cwd": r.dir, "mcpServers": []any{}}, nil)
			settle(r)
			said, shown := 0, false
			for _, f := range r.Frames()[from:] {
				if strings.Contains(f.Raw, "ended in a broken line") {
					said++
				}
				shown = shown || strings.Contains(f.Raw, "user_message_chunk")
			}
			if said != want || shown != (method == acp.MethodSessionLoad) {
				t.Errorf("said %d times, want %d; the conversation was shown: %v", said, want, shown)
			}
			r.close(id)
		}
	})
}
