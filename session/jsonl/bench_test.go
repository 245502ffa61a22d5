package jsonl_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// longTurn is a turn as a real one looks: a prompt, two model calls with
// streamed and packed output, a tool call with 2 KB of result between them.
func longTurn(n int) []session.Data {
	var texts []string
	var dt []int64
	for i := range 60 {
		texts = append(texts, fmt.Sprintf(" word%d", i))
		dt = append(dt, int64(i%9))
	}
	said := strings.Join(texts, "")
	model := session.Source{Kind: session.SourceModel, Provider: "deepseek", Model: "deepseek-v4"}
	id := fmt.Sprintf("call_%06d", n)
	usage := &session.Usage{InputTokens: 12000, OutputTokens: 300, CacheReadTokens: 9000}
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	stream := func(step int, typ session.ChunkType) []session.Data {
		return []session.Data{
			&session.RequestSent{Turn: n, Step: step, Attempt: 1, Digest: digest},
			&session.AssistantChunk{Turn: n, Step: step, Chunk: session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockText}},
			&session.AssistantChunk{Turn: n, Step: step, Chunk: session.Chunk{Type: typ, Texts: texts, Dt: dt}},
			&session.AssistantChunk{Turn: n, Step: step, Chunk: session.Chunk{Type: session.ChunkUsage, Usage: usage}},
			&session.AssistantChunk{Turn: n, Step: step, Chunk: session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}},
		}
	}
	out := []session.Data{
		&session.TurnStart{Turn: n},
		&session.UserMessage{Content: text("Please look at this: " + said), Source: session.Source{Kind: session.SourceUser}},
		&session.StepStart{Turn: n, Step: 1},
	}
	out = append(out, stream(1, session.ChunkPackedReasoning)...)
	out = append(
		out,
		&session.AssistantMessage{Turn: n, Step: 1, Stop: session.FinishToolCalls, Usage: usage, Message: session.LoggedMessage{
			Role: session.RoleAssistant, Source: model,
			Content: []session.Block{{Type: session.BlockReasoning, Text: said}, {Type: session.BlockToolCall, ID: id, Name: "bash", Arguments: `{"command":"go test ./..."}`}},
		}},
		&session.UsageReport{Turn: n, Step: 1, Usage: *usage, Window: 128000},
		&session.ToolCall{Turn: n, Step: 1, CallID: id, Name: "bash", Arguments: `{"command":"go test ./..."}`},
		&session.HookInvoked{Turn: n, Point: "PreToolUse", Dialect: "claudecode", HandlerID: "h1", CallID: id},
		&session.HookResult{Turn: n, Point: "PreToolUse", HandlerID: "h1", Decision: "pass", DurationMs: 12.5, CallID: id},
		session.NewToolResult(n, 1, id, text(strings.Repeat("ok  \tacp-agent/session\t0.123s\n", 70)), false, &session.ToolMeta{DurationMs: 40}),
		&session.StepEnd{Turn: n, Step: 1},
		&session.StepStart{Turn: n, Step: 2},
	)
	out = append(out, stream(2, session.ChunkPackedText)...)
	return append(
		out,
		&session.AssistantMessage{Turn: n, Step: 2, Stop: session.FinishStop, Usage: usage, Message: session.LoggedMessage{Role: session.RoleAssistant, Source: model, Content: text(said)}},
		&session.UsageReport{Turn: n, Step: 2, Usage: *usage, Window: 128000},
		&session.StepEnd{Turn: n, Step: 2},
		&session.TurnEnd{Turn: n, Reason: session.EndReason{Kind: session.EndCompleted}},
	)
}

func BenchmarkCreate(b *testing.B) {
	s := newStore(b)
	for i := 0; b.Loop(); i++ {
		l, err := s.Create(b.Context(), header(fmt.Sprintf("s%d", i)))
		check(b, err)
		b.StopTimer()
		check(b, l.Close())
		b.StartTimer()
	}
}

func BenchmarkAppendSync(b *testing.B) {
	l := create(b, newStore(b), "a")
	d := &session.UserMessage{Content: text(strings.Repeat("word ", 50)), Source: session.Source{Kind: session.SourceUser}}
	b.ReportAllocs()
	for b.Loop() {
		appendAll(b, l, d)
		check(b, l.Sync())
	}
	check(b, l.Close())
}

// BenchmarkAppendPack is the cost of a packed delta: Append and Flush.
func BenchmarkAppendPack(b *testing.B) {
	l := create(b, newStore(b), "a")
	var d session.Data
	for _, x := range longTurn(1) {
		if c, ok := x.(*session.AssistantChunk); ok && c.Chunk.Packed() {
			d = x
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		appendAll(b, l, d)
		check(b, l.Flush())
	}
	check(b, l.Close())
}

func BenchmarkOpen2000Turns(b *testing.B) {
	s := newStore(b)
	l := create(b, s, "a")
	for n := 1; n <= 2000; n++ {
		appendAll(b, l, longTurn(n)...)
	}
	check(b, l.Close())
	fi, err := os.Stat(path(s, "a"))
	check(b, err)
	b.SetBytes(fi.Size())
	b.ReportAllocs()
	for b.Loop() {
		l, _, err := s.Open(b.Context(), "a", nil)
		check(b, err)
		check(b, l.Close())
	}
}

func benchmarkList(b *testing.B, fresh bool) {
	s := newStore(b)
	for i := range 1000 {
		l := create(b, s, fmt.Sprintf("s%04d", i))
		for n := 1; n <= 20; n++ {
			appendAll(b, l, longTurn(n)...)
			if n == 1 {
				appendAll(b, l, &session.SessionTitle{Title: "what it is about", Source: session.Source{Kind: session.SourceAgent}})
			}
		}
		check(b, l.Close())
	}
	b.ReportAllocs()
	for b.Loop() {
		if fresh {
			s = openStore(b, s.Dir(), jsonl.OS{})
		}
		if got, err := s.List(b.Context()); err != nil || len(got) != 1000 || got[7].Title == "" || got[7].Err != nil {
			b.Fatalf("%d sessions, %v, %+v", len(got), err, got[7])
		}
	}
}

func BenchmarkList1000Fresh(b *testing.B) { benchmarkList(b, true) }
func BenchmarkList1000Again(b *testing.B) { benchmarkList(b, false) }
