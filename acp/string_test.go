package acp

import (
	"testing"
)

func FuzzAppendTextChunk(f *testing.F) {
	f.Add("s", "m", "hello\nworld")
	f.Add("\xff", "", "")
	f.Fuzz(func(t *testing.T, session, id, text string) {
		line := AppendTextChunk(nil, session, "agent_message_chunk", id, text)
		m, bad := ParseMessage(line)
		if bad != nil || line[len(line)-1] != '\n' || m.Method != MethodSessionUpdate {
			t.Fatalf("%q: %v", line, bad)
		}
		want, err := Marshal(SessionNotification{SessionID: session, Update: SessionUpdate{
			AgentMessageChunk: &ContentChunk{Content: TextBlock(text), MessageID: id},
		}})
		if err != nil || string(want) != string(m.Params) {
			t.Fatalf("hand-made %s\ncodec     %s, %v", m.Params, want, err)
		}
	})
}

func BenchmarkAppendTextChunk(b *testing.B) {
	buf := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendTextChunk(buf[:0], "0194d50a-8990-7000-8000-000000000000", "agent_message_chunk", "m-1", "Now the test passes, ")
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkMarshalUpdate(b *testing.B) {
	n := SessionNotification{SessionID: "0194d50a-8990-7000-8000-000000000000", Update: SessionUpdate{
		ToolCallUpdate: &ToolCallUpdate{
			ToolCallID: "call-1", Status: ToolCallStatusCompleted,
			Content: []ToolCallContent{ToolContent(TextBlock("done"))},
		},
	}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Append(buf[:0], n); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnmarshalPrompt(b *testing.B) {
	in := []byte(`{"sessionId":"0194d50a","prompt":[{"type":"text","text":"make the test pass"},{"type":"resource_link","uri":"file:///a.go","name":"a.go"}]}`)
	b.ReportAllocs()
	for b.Loop() {
		var p PromptRequest
		if err := unmarshalValid(in, &p); err != nil {
			b.Fatal(err)
		}
	}
}
