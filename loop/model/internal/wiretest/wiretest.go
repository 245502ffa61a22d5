// Package wiretest holds what the tests of the wires have in common: the
// conversations that they write, the streams that they read, the servers that they
// talk to, and what must hold on each of them. What one wire does otherwise is in
// its own tests.
package wiretest

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Wire is a wire under test.
type Wire struct {
	// Provider has the wire's own address and KeyName; Models are some of its.
	Provider, KeyName string
	Models            []string
	// New makes a client. Without a Provider it is the wire's own, without a BaseURL
	// that provider's.
	New func(model.Config) (model.Client, error)
	// Decode reads a body without HTTP.
	Decode func(io.Reader) iter.Seq2[session.Chunk, error]
	// Streams are bodies and what they mean.
	Streams []Stream
	// Begun and Ended are the two parts of the stream of an answer, which says x at
	// the end of the first. Answer is what a Result of both is as a string.
	Begun, Ended, Answer string
	// Failure is the body of a failure that says so.
	Failure func(message string) string
}

// Stream is a body and what it means, as a Result says it.
type Stream = struct{ Name, Body, Want string }

// With is the wire with more streams.
func (w *Wire) With(more ...Stream) *Wire {
	all := *w
	all.Streams = slices.Concat(w.Streams, more)
	return &all
}

// Captured is the stream in testdata/sse/NAME.sse and what it means.
func Captured(t testing.TB, name, want string) Stream {
	t.Helper()
	b, err := os.ReadFile("testdata/sse/" + name + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	return Stream{Name: name, Body: string(b), Want: want}
}

// Hello is a request.
func (w *Wire) Hello() *model.Request {
	return &model.Request{
		SessionID: "s1",
		Head:      session.RequestHead{Config: session.Params{Provider: w.Provider, Model: w.Models[0], ReasoningEffort: "low"}},
		Messages:  []session.Message{User("hi")},
	}
}

func (w *Wire) client(t testing.TB, s model.Config) model.Client {
	t.Helper()
	c, err := w.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// User is a message of a user, with a block for each text.
func User(texts ...string) session.Message {
	m := session.Message{Role: session.RoleUser}
	for _, s := range texts {
		m.Content = append(m.Content, session.Text(s))
	}
	return m
}

// Assistant is a message of a provider's model.
func Assistant(provider, name string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleAssistant, Provider: provider, Model: name, Content: blocks}
}

// Call is a tool call.
func Call(id, name, args string) session.Block {
	return session.Block{Type: session.BlockToolCall, ID: id, Name: name, Arguments: args}
}

// Reasoning is reasoning with its signature and what seals it.
func Reasoning(text, signature, redacted string) session.Block {
	return session.Block{Type: session.BlockReasoning, Text: text, Signature: signature, Redacted: redacted}
}

// ToolResult is a message with the result of a call.
func ToolResult(id string, blocks ...session.Block) session.Message {
	return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: id, Content: blocks}}}
}

// PNG is an image.
var PNG = session.Block{Type: session.BlockImage, Data: "aGVsbG8=", MimeType: "image/png"}

// Everything is a message with one block of each kind that a user may send.
var Everything = session.Message{Role: session.RoleUser, Content: []session.Block{
	session.Text("See"), PNG,
	{Type: session.BlockResourceLink, URI: "file:///w/a%20b.txt#L3-5", Name: "a b.txt", Description: "notes"},
	{Type: session.BlockResource, URI: "file:///w/c.txt", MimeType: "text/plain", Text: "  verbatim\n"},
	{Type: session.BlockResource, URI: "file:///w/d.bin", MimeType: "application/octet-stream", Data: "AAEC"},
	{Type: session.BlockAudio, MimeType: "audio/wav", Data: "AAEC"},
}}

// Steering is a text with all that a careless writer would change.
const Steering = "<steering source=\"hook\">\n  Don't stop.\u2028 Run & check </steering>\n\n"

// Conversation is a request with the messages, a system prompt and two tools.
func Conversation(provider, name string, messages ...session.Message) *model.Request {
	return &model.Request{
		SessionID: "0193-session",
		Head: session.RequestHead{
			Config: session.Params{Provider: provider, Model: name, ReasoningEffort: "high"},
			System: "You are an agent.\n<rules>&</rules>",
			Tools: []session.ToolSchema{
				{Name: "read", Description: "Reads a file.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number","maximum":9007199254740993},"a":{"type":"string"}}}`)},
				{Name: "noop", Description: "Does nothing."},
			},
		},
		Messages: messages,
	}
}

// Golden holds a body to testdata/NAME.json, which it writes with update. With the
// build tag sdk the provider's own types are held to that file (ReadGoldens).
func Golden(t *testing.T, name string, update bool, encode func() ([]byte, error)) {
	t.Helper()
	body, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := encode(); err != nil || !bytes.Equal(body, again) {
		t.Errorf("two writings differ: %v", err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, body, "", "  "); err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	pretty.WriteByte('\n')
	file := "testdata/" + name + ".json"
	if update {
		if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := pretty.Bytes(); !bytes.Equal(want, got) {
		at := 0
		for at < min(len(want), len(got)) && want[at] == got[at] {
			at++
		}
		t.Errorf("differs from %s at byte %d (run with -update if it is meant):\n%.300s\nwant\n%.300s", file, at, got[at:], want[at:])
	}
}

// ReadGoldens has the provider's own types read each body that Golden holds. read
// gives what is wrong with what they find.
func ReadGoldens[T any](t *testing.T, read func(params *T) string) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d bodies, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var params T
		if err := json.Unmarshal(body, &params); err != nil {
			t.Errorf("%s: the SDK cannot read it: %v", file, err)
		} else if wrong := read(&params); wrong != "" {
			t.Errorf("%s: the SDK reads %s", file, wrong)
		}
	}
}

// PrefixIsStable holds that what was sent stays the same bytes when more follows,
// as providers cache by prefix. encode writes a body up to the end of its last
// message; ends reports whether a request may end before a message.
func PrefixIsStable(t *testing.T, full *model.Request, ends func(next *session.Message) bool, encode func(*model.Request) string) {
	t.Helper()
	whole := encode(full)
	for n := range full.Messages {
		if !ends(&full.Messages[n]) {
			continue
		}
		part := *full
		part.Messages = full.Messages[:n]
		if body := encode(&part); !strings.HasPrefix(whole, body) {
			t.Errorf("%s: the request of %d messages is no prefix:\n%s", full.Head.Config.Provider, n, body)
		}
	}
}

// Texts are what must come through as they are.
func Texts() []string {
	return []string{
		"\n\n lead and trail \t\r\n", Steering, "a & b < c > d", "\u2028\u2029\ufeff.", "😀 👩‍👩‍👧 e\u0301", "\x00\x01\x1f.",
		`"quoted" \back\slash {"json":1}`, "{{fromRequest:x}}", strings.Repeat("0123456789abcde\n", 1<<16),
	}
}

// Refuses holds that no body is written of what is no request.
func Refuses(t *testing.T, encode func(*model.Request) ([]byte, error)) {
	t.Helper()
	for name, req := range map[string]*model.Request{
		"no model":   {},
		"bad schema": {Head: session.RequestHead{Config: session.Params{Model: "m"}, Tools: []session.ToolSchema{{Name: "f", Parameters: json.RawMessage(`{`)}}}},
		"bad role":   {Head: session.RequestHead{Config: session.Params{Model: "m"}}, Messages: []session.Message{{Role: "system"}}},
	} {
		if _, err := encode(req); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
