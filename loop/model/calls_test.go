package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/session"
)

func TestNameCalls(t *testing.T) {
	call := func(id string) session.Block { return session.Block{Type: session.BlockToolCall, ID: id} }
	blocks := []session.Block{call("a"), session.Text("x"), call(""), call("a"), call("old"), call("")}
	NameCalls(blocks, "call_1", func(id string) bool { return id == "old" || id == "call_1_5" })
	var got []string
	for _, b := range blocks {
		got = append(got, b.ID)
	}
	if diff := cmp.Diff([]string{"a", "", "call_1_2", "a_2", "old_2", "call_1_5_2"}, got); diff != "" {
		t.Error(diff)
	}
}

// A hook's requests do not drive out what is kept of the session's conversation.
func TestConversation(t *testing.T) {
	if c := (&Request{SessionID: "s"}).Conversation(); c != "s" {
		t.Error(c)
	}
	if c := (&Request{SessionID: "s", Handler: "h"}).Conversation(); c != "" {
		t.Error(c)
	}
}
