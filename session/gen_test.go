package session_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"acp-agent/session"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)

func header() session.Header {
	return session.Header{Version: 1, ID: "s1", CreatedAt: t0, Cwd: "/w"}
}

// number makes events of payloads.
func number(data ...session.Data) []session.Event {
	out := make([]session.Event, len(data))
	for i, d := range data {
		out[i] = session.Event{Seq: uint64(i + 1), Time: t0.Add(time.Duration(i) * time.Millisecond), Data: d}
	}
	return out
}

func fold(t testing.TB, events []session.Event) *session.State {
	t.Helper()
	s, err := session.Fold(header(), events)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// texts are the contents that a layer which meddles would change.
var texts = []string{
	"", " ", "\n", "\r\n", "a", "  leading and trailing  \n\n", "<system-reminder>x</system-reminder>", `<steering source="hook">`,
	"a\u2028b\u2029c", "emoji 👩‍👩‍👧 and \u0000 nul", `quotes " and \ and \u0041`, "tab\tcontrol\x01\x1f\x7f", "&amp; <b> >", "\ufeffbom", "\ufffd", "ünï",
}

// generator makes logs as the loop would write them, from a seed.
type generator struct {
	r     *rand.Rand
	state *session.State
	data  []session.Data
	ids   int
}

// generate returns the payloads of a valid log of some turns, all closed.
func generate(seed uint64, turns int) []session.Data {
	g := &generator{r: rand.New(rand.NewPCG(seed, 1)), state: session.NewState(header())}
	for n := 1; n <= turns; n++ {
		g.turn(n)
	}
	return g.data
}

func (g *generator) add(data ...session.Data) {
	for _, d := range data {
		g.data = append(g.data, d)
		if err := g.state.Apply(session.Event{Seq: g.state.Seq + 1, Time: t0, Data: d}); err != nil {
			panic(err)
		}
	}
}

func (g *generator) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) text() string { return texts[g.r.IntN(len(texts))] }

func (g *generator) blocks() []session.Block {
	out := []session.Block{session.Text(g.text())}
	for g.chance(3) {
		out = append(out, allBlocks()[g.r.IntN(len(allBlocks()))])
	}
	return out
}

func (g *generator) turn(n int) {
	g.add(&session.TurnStart{Turn: n})
	defer func() { g.add(&session.TurnEnd{Turn: n, Reason: session.EndReason{Kind: session.EndCompleted}}) }()
	if g.chance(8) {
		return // a blocked prompt
	}
	g.add(&session.UserMessage{Content: g.blocks(), Source: session.Source{Kind: session.SourceUser}})
	if g.chance(3) {
		g.add(&session.ContextMessage{Content: g.blocks(), Source: session.Source{Kind: session.SourceHook, Name: "codex"}, Meta: json.RawMessage(`{"a":[1]}`)})
	}
	if n == 1 || g.chance(6) {
		g.add(&session.RequestHeader{Reason: "initial", Header: session.RequestHead{
			Config: session.Params{Provider: "p", Model: "m"}, System: g.text(),
			Tools: []session.ToolSchema{{Name: "bash", Description: g.text(), Parameters: json.RawMessage(`{"type":"object"}`)}},
		}})
	}
	for step := 1; ; step++ {
		calls := g.step(n, step)
		if calls == 0 && g.chance(3) {
			stop := session.Source{Kind: session.SourceHook, Event: "Stop"}
			g.add(&session.SteeringMessage{Turn: n, Content: g.blocks(), Source: stop})
		} else if calls == 0 {
			return
		}
		if g.chance(10) {
			g.add(&session.Compaction{ID: "c", Trigger: "auto", Status: "completed", Through: g.state.Seq - uint64(g.r.IntN(10)), Content: g.blocks()})
		}
	}
}

// step is a request and its tools; it returns how many calls the model made.
func (g *generator) step(turn, step int) int {
	g.add(&session.StepStart{Turn: turn, Step: step})
	attempt := 1
	g.request(turn, step, attempt)
	if g.chance(6) {
		g.stream(turn, step, 1)
		g.add(&session.ModelRetry{Turn: turn, Step: step, Retry: 1, Max: 3, Failure: session.TurnError{Kind: "network", Message: "cut"}})
		g.request(turn, step, attempt+1)
	}
	n := max(0, g.r.IntN(6)-2)
	g.stream(turn, step, n)
	m := &session.AssistantMessage{Turn: turn, Step: step, Stop: session.FinishStop, Message: session.LoggedMessage{
		Role: session.RoleAssistant, Content: []session.Block{}, Source: session.Source{Kind: session.SourceModel, Provider: "p", Model: "m"},
	}}
	if g.chance(2) {
		m.Message.Content = append(m.Message.Content, session.Block{Type: session.BlockReasoning, Text: g.text(), Signature: "sig"})
	}
	if g.chance(2) {
		m.Message.Content = append(m.Message.Content, session.Text(g.text()))
	}
	var ids []string
	for range n {
		g.ids++
		ids = append(ids, fmt.Sprintf("call_%d", g.ids))
		m.Message.Content = append(m.Message.Content, session.Block{Type: session.BlockToolCall, ID: ids[len(ids)-1], Name: "bash", Arguments: `{"command":"ls"}`})
		m.Stop = session.FinishToolCalls
	}
	g.add(m)
	g.tools(turn, step, ids)
	g.add(&session.StepEnd{Turn: turn, Step: step})
	return n
}

func (g *generator) request(turn, step, attempt int) {
	digest, err := g.state.Digest()
	if err != nil {
		panic(err)
	}
	g.add(&session.RequestSent{Turn: turn, Step: step, Attempt: attempt, Digest: digest})
}

func (g *generator) stream(turn, step, calls int) {
	chunk := func(c session.Chunk) { g.add(&session.AssistantChunk{Turn: turn, Step: step, Chunk: c}) }
	chunk(session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockText})
	chunk(session.Chunk{Type: session.ChunkPackedText, Texts: []string{g.text(), g.text()}, Dt: []int64{0, 3}})
	for i := range calls {
		chunk(session.Chunk{Type: session.ChunkToolCall, Index: i + 1, ID: "x", Name: "bash", Text: `{"com`})
	}
}

// tools answers calls: side by side (all announced first) or one by one, some
// after a question.
func (g *generator) tools(turn, step int, ids []string) {
	together := g.chance(2)
	call := func(id string) {
		g.add(&session.ToolCall{Turn: turn, Step: step, CallID: id, Name: "bash", Arguments: `{"command":"ls"}`})
	}
	if together {
		for _, id := range ids {
			call(id)
		}
	}
	for _, id := range ids {
		if !together {
			call(id)
		}
		var meta *session.ToolMeta
		if g.chance(3) {
			g.add(&session.PermissionAsked{Turn: turn, CallID: id, Options: []session.PermissionOption{}})
			g.add(&session.PermissionAnswered{Turn: turn, CallID: id, Outcome: "reject_once"})
			meta = &session.ToolMeta{NotRun: "rejected"}
		}
		g.add(session.NewToolResult(turn, step, id, g.blocks(), meta != nil, meta))
		if g.chance(4) {
			g.add(&session.ContextMessage{Content: g.blocks(), Source: session.Source{Kind: session.SourceHook, Event: "PostToolUse"}})
		}
	}
}

// allBlocks is one block of each type, all fields set.
func allBlocks() []session.Block {
	return []session.Block{
		session.Text("text <&> \u2028 👍"),
		{Type: session.BlockReasoning, Text: "", Signature: "s", Redacted: "r"},
		{Type: session.BlockImage, Data: "aGk=", MimeType: "image/png", URI: "file:///a"},
		{Type: session.BlockAudio, Data: "aGk=", MimeType: "audio/wav"},
		{Type: session.BlockResourceLink, URI: "file:///a", Name: "a", Title: "t", Description: "d", MimeType: "text/plain", Size: 12},
		{Type: session.BlockResource, URI: "file:///a", MimeType: "text/plain", Text: "content"},
		{Type: session.BlockResource, URI: "file:///b", MimeType: "application/octet-stream", Data: "aGk="},
	}
}

// allData is one payload of each type, as many fields set as can be at once,
// and some of them twice.
func allData() []session.Data {
	src := session.Source{Kind: session.SourceHook, Name: "codex", Event: "Stop", Handler: "h", CallID: "c", Provider: "p", Model: "m"}
	calls := append(allBlocks(), session.Block{Type: session.BlockToolCall, ID: "c", Name: "bash", Arguments: "{not json"},
		session.Block{Type: session.BlockToolCall, ID: "d", Name: "bash", Arguments: "{}", Signature: `{"extra_content":{}}`})
	usage := &session.Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5}
	failure := session.TurnError{Kind: "rate", Message: "slow", Status: 429, Retryable: true, RetryAfterMs: 5}
	code, old := 3, "old"
	out := []session.Data{
		&session.TurnStart{Turn: 1}, &session.TurnStart{Turn: 1, ID: "t", Cwd: "/other"},
		&session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.EndError, Error: &failure, Message: "m"}},
		&session.StepStart{Turn: 1, Step: 2}, &session.StepEnd{Turn: 1, Step: 2},
		&session.UserMessage{ID: "u", Content: allBlocks(), Source: src},
		&session.UserMessage{Content: []session.Block{}, Source: session.Source{Kind: "plugin"}},
		&session.SteeringMessage{Turn: 1, Content: allBlocks(), Source: src, Sources: []session.Source{src, {Kind: "user"}}},
		&session.SteeringMessage{Turn: 1, Content: allBlocks(), Source: src},
		&session.ContextMessage{Content: allBlocks(), Source: src, Meta: json.RawMessage(`{"k":[1,null,"<"]}`)},
		&session.ContextMessage{Content: allBlocks(), Source: src},
		&session.RequestHeader{Reason: "change", Header: session.RequestHead{
			Config: session.Params{Provider: "p", Model: "m", ReasoningEffort: "high", MaxTokens: 9}, System: "s <&>\u2028",
			Tools: []session.ToolSchema{{Name: "n", Description: "d", Parameters: json.RawMessage(`{}`)}},
		}},
		&session.RequestSent{Turn: 1, Step: 2, Attempt: 3, Digest: "sha256:00"},
		&session.AssistantMessage{Turn: 1, Step: 2, Usage: usage, Stop: session.FinishStop, Interrupted: true, Message: session.LoggedMessage{ID: "a", Role: session.RoleAssistant, Content: calls, Source: src}},
		&session.AssistantMessage{Message: session.LoggedMessage{Role: session.RoleAssistant, Content: []session.Block{}, Source: src}},
		&session.ToolCall{Turn: 1, Step: 2, CallID: "c", Name: "bash", Arguments: "{\n", Input: json.RawMessage(`{"a":1}`)},
		&session.ToolCall{Turn: 1, Step: 2, CallID: "c", Name: "bash", Arguments: "{\n"},
		session.NewToolResult(1, 2, "c", allBlocks(), true, &session.ToolMeta{
			Diffs: []session.Diff{{Path: "/a", OldText: &old, NewText: "n", Line: 4}, {Path: "/b", NewText: ""}}, Locations: []session.Location{{Path: "/a", Line: 1}},
			ExitCode: &code, DurationMs: 5, Response: json.RawMessage(`[1]`), TerminalID: "t", NotRun: "denied",
		}),
		session.NewToolResult(1, 2, "c", nil, false, nil),
		&session.HookInvoked{Turn: 1, Point: "Stop", Dialect: "codex", Matcher: ".*", HandlerID: "h", CallID: "c", StatusMessage: "m"},
		&session.HookRequest{Turn: 1, Point: "Stop", HandlerID: "h", Round: 1, Attempt: 1, Digest: "sha256:00", Header: &session.RequestHead{
			Config: session.Params{Provider: "p", Model: "m"}, System: "s <&>\u2028", Tools: []session.ToolSchema{{Name: "n", Description: "d", Parameters: json.RawMessage(`{}`)}},
		}, Messages: []session.Message{{Role: session.RoleUser, Content: allBlocks()}, {Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: "c", Content: allBlocks()}}}}},
		&session.HookAnswer{Turn: 1, Point: "Stop", HandlerID: "h", Round: 1, Attempt: 1, Usage: usage, Stop: session.FinishStop, Cost: 0.5, Currency: "USD", Message: &session.LoggedMessage{ID: "a", Role: session.RoleAssistant, Content: calls, Source: src}},
		&session.HookAnswer{Turn: 1, Point: "Stop", HandlerID: "h", Round: 1, Attempt: 2, Error: &failure},
		&session.HookResult{Turn: 1, Point: "Stop", HandlerID: "h", Decision: "block", ExitCode: &code, StderrSummary: "e", DurationMs: 1.5, Reason: "r", Injected: []session.Type{session.TypeSteeringMessage}, CallID: "c"},
		&session.PermissionAsked{Turn: 1, CallID: "c", Title: "t", Options: []session.PermissionOption{{ID: "a", Name: "Allow", Kind: "allow_once"}}},
		&session.PermissionAnswered{Turn: 1, CallID: "c", Outcome: "allow_once", Scope: "session", Rule: "r"},
		&session.ElicitAsked{Turn: 1, CallID: "c", ID: "i", Server: "s", Mode: "form", Message: "m <", Schema: json.RawMessage(`{"type":"object"}`)},
		&session.ElicitAsked{Turn: 1, ID: "i", Server: "s", Mode: "url", Message: "m", URL: "https://a.example/?b=1&c", ElicitationID: "e"},
		&session.ElicitAnswered{Turn: 1, CallID: "c", ID: "i", Action: "accept", Content: json.RawMessage(`{"a":[1,"<"]}`), Reason: "r", Source: src},
		&session.Notice{Severity: "info", Text: "t", Detail: "d", Source: src},
		&session.ModelRetry{Turn: 1, Step: 2, Retry: 1, Max: 3, DelayMs: 100, Failure: failure},
		&session.ModeSet{Mode: "plan", Source: src}, &session.ConfigSet{ID: "i", Value: "v", Source: src},
		&session.SessionTitle{Title: "t", Source: src},
		&session.UsageReport{Turn: 1, Step: 2, Usage: *usage, Window: 128000, Output: 32000, Cost: 0.25, Currency: "USD"},
		&session.UsageReport{Turn: 1, Step: 2, Usage: session.Usage{}, Window: 1 << 40, Output: 7},
		&session.Compaction{ID: "i", Trigger: "auto", Status: "completed", Through: 7, Content: allBlocks(), Error: "e", Usage: usage},
		&session.TodoWrite{Todos: []session.Todo{{Content: "c", Status: "pending"}}},
		&session.Unknown{Kind: "future/thing", Raw: json.RawMessage(`{"a":[1,2,{"b":null}]}`)},
	}
	for _, c := range allChunks() {
		out = append(out, &session.AssistantChunk{Turn: 1, Step: 2, Chunk: c})
	}
	return out
}

func allChunks() []session.Chunk {
	return []session.Chunk{
		{Type: session.ChunkBlockStart, Index: 3, BlockType: session.BlockReasoning},
		{Type: session.ChunkText, Index: 3, Text: "a\nb"},
		{Type: session.ChunkReasoning, Text: ""},
		{Type: session.ChunkToolCall, Index: 1, ID: "c", Name: "bash", Text: `{"`},
		{Type: session.ChunkToolCall, Index: 1, Text: `{"`},
		{Type: session.ChunkBlockEnd, Index: 1},
		{Type: session.ChunkBlockEnd, Index: 1, Block: &session.Block{Type: session.BlockReasoning, Text: "t", Signature: "s"}},
		{Type: session.ChunkBlockEnd, Index: 1, Block: &session.Block{Type: session.BlockToolCall, ID: "c", Name: "bash", Arguments: "{}", Signature: `{"extra_content":{}}`}},
		{Type: session.ChunkUsage, Usage: &session.Usage{InputTokens: 1, OutputTokens: 2}},
		{Type: session.ChunkFinish, Finish: session.FinishToolCalls},
		{Type: session.ChunkFinish, Finish: session.FinishError, Failure: &session.ChunkFailure{Message: "m", Code: "c"}},
		{Type: session.ChunkPackedText, Index: 1, Texts: []string{"a", "", "ü\u2028"}, Dt: []int64{0, 1, 20}},
		{Type: session.ChunkPackedReasoning, Index: 1, Texts: []string{}, Dt: []int64{}},
		{Type: session.ChunkPackedToolCall, Index: 1, ID: "c", Name: "bash", Texts: []string{"{", "}"}, Dt: []int64{0, -1}},
	}
}
