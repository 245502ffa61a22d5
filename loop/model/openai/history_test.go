package openai

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// randomMessage is any message that a conversation may go on with.
func randomMessage(r *rand.Rand, n int) session.Message {
	text := session.Text(fmt.Sprintf("text %d \"quoted\"\n", n))
	image := session.Block{Type: session.BlockImage, MimeType: "image/png", Data: "aGk="}
	call := fmt.Sprintf("call_%d", n)
	switch r.IntN(5) {
	case 0:
		return session.Message{Role: session.RoleUser, Content: []session.Block{text, image}}
	case 1:
		return session.Message{Role: session.RoleAssistant, Provider: "deepseek", Content: []session.Block{
			{Type: session.BlockReasoning, Text: "hm"}, text, {Type: session.BlockToolCall, ID: call, Name: "read", Arguments: `{"a":1}`},
		}}
	case 2:
		return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: call, Content: []session.Block{text, image}}}}
	case 3:
		return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: call, Content: []session.Block{text}}}}
	}
	return session.Message{Role: session.RoleUser, Content: []session.Block{text}}
}

// What is kept of a conversation changes no byte of any request, whatever comes
// between two requests; and a request that is still being sent is not touched.
func TestHistoryChangesNothing(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, err := New(Config{Provider: "deepseek", APIKey: "sk-test", Model: "deepseek-v4-flash"})
		if err != nil {
			t.Fatal(err)
		}
		type sent struct{ head, messages, want []byte }
		var all []sent
		req := &model.Request{Head: session.RequestHead{System: "be brief"}, SessionID: "s"}
		for n := range 40 {
			switch r.IntN(12) {
			case 0: // compacted
				req.Messages = append([]session.Message{randomMessage(r, n)}, req.Messages[len(req.Messages)/2:]...)
			case 1:
				req.Head.Config.ReasoningEffort = []string{"off", "high", ""}[r.IntN(3)]
			case 2:
				req.Head.System = []string{"", "be brief"}[r.IntN(2)]
			case 3:
				req.SessionID = []string{"s", "t", ""}[r.IntN(3)]
			case 4: // a summary's request, and back
				req.Messages = req.Messages[:len(req.Messages)/2]
			default:
				for range r.IntN(3) {
					req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], randomMessage(r, n))
				}
			}
			known := c.history.take(req.SessionID)
			head, messages, err := c.write(req, known)
			if err != nil {
				t.Fatal(err)
			}
			c.history.keep(known)
			want, err := c.encode(req)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sent{head, messages, want})
		}
		for i, s := range all {
			if got := bytes.Join([][]byte{s.head, s.messages, bodyEnd}, nil); !bytes.Equal(got, s.want) {
				t.Fatalf("seed %d, request %d:\n%s\nwant\n%s", seed, i, got, s.want)
			}
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var h history
	for i := range 3 * maxKept {
		h.keep(&written{session: fmt.Sprint(i)})
	}
	h.keep(&written{session: "long", buf: make([]byte, maxKeptBytes+1)})
	h.keep(&written{})
	if len(h.kept) != maxKept || h.kept[0].session != fmt.Sprint(2*maxKept) {
		t.Errorf("%d are kept, the first is %s", len(h.kept), h.kept[0].session)
	}
}

// BenchmarkEncodeNext writes the next request of a long conversation; in one of a
// thousand rounds all of it.
func BenchmarkEncodeNext(b *testing.B) {
	for _, turns := range []int{20, 2000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			c, err := New(Config{Provider: "deepseek", APIKey: "sk-test", Model: "deepseek-v4-flash"})
			if err != nil {
				b.Fatal(err)
			}
			req := &model.Request{SessionID: "s"}
			for range turns {
				req.Messages = append(req.Messages,
					session.Message{Role: session.RoleUser, Content: []session.Block{session.Text("A turn like many others in a long session.")}},
					session.Message{Role: session.RoleAssistant, Provider: "deepseek", Content: []session.Block{session.Text("An answer like many others, of some length, in a long session.")}})
			}
			base := req.Messages[:len(req.Messages):len(req.Messages)]
			b.ReportAllocs()
			for b.Loop() {
				if len(req.Messages) > len(base)+1000 {
					req.Messages, c.history.kept = base, nil
				}
				req.Messages = append(req.Messages, session.Message{Role: session.RoleUser, Content: []session.Block{session.Text("next")}})
				known := c.history.take("s")
				if _, _, err := c.write(req, known); err != nil {
					b.Fatal(err)
				}
				c.history.keep(known)
			}
		})
	}
}
