package wiretest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/session"
)

var toolSets = [][]session.ToolSchema{
	nil, Conversation("", "").Head.Tools, Conversation("", "").Head.Tools[:1],
	{{Name: "read", Description: "Reads a file.", Parameters: []byte(`{"type":"object"}`)}},
}

// message is any message that a conversation may go on with.
func (w *Wire) message(r *rand.Rand, n int) session.Message {
	text := session.Text(fmt.Sprintf("text %d \"quoted\"\n", n))
	call := fmt.Sprintf("call_%d", n)
	failed := ToolResult(call, text, PNG)
	failed.Content[0].IsError = true
	name := w.Models[r.IntN(len(w.Models))]
	thought := Reasoning("hm", "sig", []string{"", "sealed"}[r.IntN(2)])
	switch r.IntN(12) {
	case 0:
		return User(fmt.Sprint("first ", n), fmt.Sprint("second ", n))
	case 1:
		return session.Message{Role: session.RoleUser, Content: []session.Block{text, PNG}}
	case 2, 3:
		return Assistant(w.Provider, name, thought, text, Call(call, "read", `{"a":1}`))
	case 4:
		return Assistant("another", "foreign-model", thought, text)
	case 5: // cut before it said anything
		return Assistant(w.Provider, name, thought)
	case 6:
		return Assistant(w.Provider, name)
	case 7:
		return ToolResult(call, text)
	case 8:
		return ToolResult(call, text, PNG)
	case 9:
		return failed
	case 10:
		return session.Message{Role: session.RoleTool}
	}
	return User(" \n")
}

// Writing writes the requests of one client. Next goes on from what the client has
// kept and returns the parts of the body; Anew knows of no request before it.
type Writing struct {
	Next func(req *model.Request) ([][]byte, error)
	Anew func(req *model.Request) ([]byte, error)
}

// Histories holds that what a client keeps of a conversation changes no byte of
// any request, whatever comes between two requests; and that a request that is
// still being sent is not touched. start makes a fresh client.
func (w *Wire) Histories(t *testing.T, start func() Writing) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		write := start()
		type sent struct {
			parts [][]byte
			want  []byte
		}
		var all []sent
		req := &model.Request{Head: session.RequestHead{Config: session.Params{Model: w.Models[0]}, System: "be brief"}, SessionID: "s"}
		for n := range 60 {
			ms := req.Messages
			switch r.IntN(17) {
			case 0: // compacted
				req.Messages = append([]session.Message{w.message(r, n)}, ms[len(ms)/2:]...)
			case 1:
				req.Head.Config.ReasoningEffort = []string{"off", "high", ""}[r.IntN(3)]
			case 2:
				req.Head.System = []string{"", "be brief"}[r.IntN(2)]
			case 3:
				req.SessionID = []string{"s", "t", ""}[r.IntN(3)]
			case 4: // a summary's request, and back
				req.Messages = ms[: len(ms)/2 : len(ms)/2]
			case 5:
				req.Head.Config.Model = w.Models[r.IntN(len(w.Models))]
			case 6: // edited
				req.Messages = slices.Clone(ms)
				for i := range req.Messages {
					if r.IntN(8) == 0 {
						req.Messages[i] = w.message(r, n)
					}
				}
			case 7: // the array has moved
				req.Messages = slices.Clone(ms)
			case 8: // sent again
			case 16:
				req.Head.Tools = toolSets[r.IntN(len(toolSets))]
			case 9: // in place, as a session does
				req.Messages = append(ms, w.message(r, n))
			default:
				for range r.IntN(4) {
					req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], w.message(r, n))
				}
			}
			parts, err := write.Next(req)
			if err != nil {
				t.Fatal(err)
			}
			want, err := write.Anew(req)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sent{parts, want})
		}
		for i, s := range all {
			if got := bytes.Join(s.parts, nil); !bytes.Equal(got, s.want) {
				t.Fatalf("seed %d, request %d:\n%s\nwant\n%s", seed, i, got, s.want)
			}
		}
	}
}

// BenchmarkEncode writes the request of a long session: 2 MB in 400 messages.
func (w *Wire) BenchmarkEncode(b *testing.B, write Writing) {
	req := &model.Request{Head: session.RequestHead{Config: session.Params{Model: w.Models[0]}, System: strings.Repeat("rule\n", 1000)}}
	for i := range 200 {
		id := fmt.Sprint("call", i)
		req.Messages = append(req.Messages,
			Assistant(w.Provider, w.Models[0], Reasoning(strings.Repeat("I think. ", 50), "sig", "sealed"), Call(id, "read", `{"file_path":"/w/a.go"}`)),
			ToolResult(id, session.Text(strings.Repeat("12: func main() {\t// \"x\"\n", 400))))
	}
	b.ReportAllocs()
	for b.Loop() {
		body, err := write.Anew(req)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(body)))
	}
}

// BenchmarkEncodeNext writes the next request of a short and of a long conversation; what
// writes all of it is not timed. start makes a fresh client.
func (w *Wire) BenchmarkEncodeNext(b *testing.B, start func() Writing) {
	for _, turns := range []int{20, 2000} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			req := &model.Request{SessionID: "s", Head: session.RequestHead{Config: session.Params{Model: w.Models[0]}}}
			for i := range 15 {
				req.Head.Tools = append(req.Head.Tools, session.ToolSchema{
					Name: fmt.Sprint("tool", i), Description: "A tool like many others.",
					Parameters: fmt.Appendf(nil, `{"type":"object","properties":{"a":{"type":"string","description":%q}}}`, strings.Repeat("Words. ", 140)),
				})
			}
			turn := func() {
				req.Messages = append(req.Messages, User("A turn like many others in a long session."),
					Assistant(w.Provider, w.Models[0], session.Text("An answer like many others, of some length, in a long session.")))
			}
			for range turns {
				turn()
			}
			base := req.Messages[:len(req.Messages):len(req.Messages)]
			write := start()
			next := func() {
				if _, err := write.Next(req); err != nil {
					b.Fatal(err)
				}
			}
			next()
			b.ReportAllocs()
			for b.Loop() {
				if len(req.Messages) > len(base)+1000 {
					b.StopTimer()
					req.Messages, write = base, start()
					next()
					b.StartTimer()
				}
				turn()
				next()
			}
		})
	}
}
