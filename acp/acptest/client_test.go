package acptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/stdio"
)

// childEnv makes the test binary be an agent, for the test with a child process.
const childEnv = "ACPTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := agent(context.Background(), stdio.NewStream(os.Stdin, os.Stdout, stdio.Options{})); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func agent(ctx context.Context, s *stdio.Stream) error {
	var mux acp.Mux
	acp.HandleRequest(&mux, acp.MethodInitialize, func(context.Context, *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
		return func() (*acp.InitializeResponse, error) { return &acp.InitializeResponse{ProtocolVersion: 1}, nil }, nil
	})
	return acp.Serve(ctx, s, &mux, acp.ServeOptions{})
}

func TestInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := acptest.Start(t, agent)
		if err := c.Call(t.Context(), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestChildProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := acptest.NewClient(t, out, in)
	var r acp.InitializeResponse
	if err := c.Call(t.Context(), acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1}, &r); err != nil || r.ProtocolVersion != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	c.Finish()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the agent did not end well on a hang-up: %v", err)
	}
}

// script plays an agent that sends the given lines and then hangs up, once it has read one line.
func script(t *testing.T, lines ...string) *acptest.Client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { // ends with the client's hanging up
		defer outW.Close()
		br := bufio.NewReader(inR)
		_, _ = br.ReadString('\n')
		for _, l := range lines {
			_, _ = io.WriteString(outW, l)
		}
		_, _ = io.Copy(io.Discard, br)
	}()
	return acptest.NewClient(t, outR, inW)
}

// The checks must be able to fail: each of these lines breaks one rule.
func TestProblems(t *testing.T) {
	update := func(u string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}` + "\n"
	}
	for name, tc := range map[string]struct{ line, want string }{
		"fine":               {update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`), ""},
		"fine, newest kind":  {update(`{"sessionUpdate":"plan_removed","planId":"p"}`), ""},
		"fine, extension":    {`{"jsonrpc":"2.0","method":"_x/y"}` + "\n", ""},
		"log line":           {"starting…\n", "no message"},
		"no newline":         {`{"jsonrpc":"2.0","method":"_x/y"}`, "no newline"},
		"unknown kind":       {update(`{"sessionUpdate":"dance"}`), "does not fit"},
		"missing member":     {update(`{"sessionUpdate":"agent_message_chunk"}`), "does not fit"},
		"wrong status":       {update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"","status":"cancelled"}`), "does not fit"},
		"unknown member":     {update(`{"sessionUpdate":"plan","entries":[],"extra":1}`), `"extra"`},
		"docs' spelling":     {update(`{"sessionUpdate":"current_mode_update","modeId":"m"}`), "does not fit"},
		"unknown method":     {`{"jsonrpc":"2.0","method":"session/dance","params":{}}` + "\n", "no method of the client"},
		"the agent's method": {`{"jsonrpc":"2.0","id":9,"method":"session/new","params":{}}` + "\n", "no method of the client"},
		"option kind":        {`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"o","name":"n","kind":"allow_persistent"}]}}` + "\n", "does not fit"},
		"bad result":         {`{"jsonrpc":"2.0","id":1,"result":{"stopReason":"tired"}}` + "\n", "does not fit"},
		"id of another type": {`{"jsonrpc":"2.0","id":null,"result":{}}` + "\n", "no message"},
	} {
		t.Run(name, func(t *testing.T) {
			c := script(t, tc.line)
			p := c.Go(acp.MethodSessionPrompt, &acp.PromptRequest{SessionID: "s"})
			c.Hangup()
			c.WaitEnd(t.Context())
			<-p.Done()
			got := c.Problems()
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("got %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want one with %q", got, tc.want)
			}
		})
	}
}

// What the codec writes fits the schema, for all the kinds of update.
func TestCheckUpdates(t *testing.T) {
	old := "a"
	for _, u := range []acp.SessionUpdate{
		{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock("x"), MessageID: "m"}},
		{AgentThoughtChunk: &acp.ContentChunk{Content: acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: "n", URI: "u"}}}},
		{ToolCall: &acp.ToolCall{
			ToolCallID: "t", Title: "T", Kind: acp.ToolKindEdit, Status: acp.ToolCallStatusPending,
			Content:   []acp.ToolCallContent{acp.ToolContent(acp.TextBlock("x")), {Diff: &acp.Diff{Path: "/a", OldText: &old}}, {Terminal: &acp.Terminal{TerminalID: "t"}}},
			Locations: []acp.ToolCallLocation{{Path: "/a"}}, RawInput: json.RawMessage(`{"a":1}`),
		}},
		{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "t", Content: []acp.ToolCallContent{{Diff: &acp.Diff{Path: "/new", NewText: "b"}}}}},
		{Plan: &acp.Plan{Entries: []acp.PlanEntry{{Content: "c", Priority: acp.PlanEntryPriorityHigh, Status: acp.PlanEntryStatusInProgress}}}},
		{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "n", Description: "d", Input: &acp.AvailableCommandInput{Hint: "h"}}}}},
		{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "m"}},
		{ConfigOptionUpdate: &acp.ConfigOptionUpdate{ConfigOptions: []acp.SessionConfigOption{{ID: "i", Name: "n", Select: &acp.SessionConfigSelect{
			CurrentValue: "v",
			Options:      acp.SessionConfigSelectOptions{Ungrouped: []acp.SessionConfigSelectOption{{Value: "v", Name: "V"}}},
		}}}}},
		{SessionInfoUpdate: &acp.SessionInfoUpdate{Title: acp.Set("t"), UpdatedAt: acp.Patch[string]{Null: true}}},
		{UsageUpdate: &acp.UsageUpdate{Used: 1, Size: 2, Cost: &acp.Cost{Amount: 0.1, Currency: "USD"}}},
		{Notice: &acp.Notice{Severity: acp.NoticeSeverityInfo, Title: "t"}},
		{CompactionUpdate: &acp.CompactionUpdate{CompactionID: "c", Status: acp.CompactionStatusCompleted, Summary: []acp.ContentBlock{acp.TextBlock("s")}}},
		{CompactionSummaryChunk: &acp.CompactionSummaryChunk{CompactionID: "c", Content: acp.TextBlock("s")}},
		{PlanUpdate: &acp.PlanUpdate{Plan: acp.PlanUpdateContent{Markdown: &acp.PlanMarkdown{PlanID: "p", Content: "c"}}}},
		{PlanRemoved: &acp.PlanRemoved{PlanID: "p"}},
		{SubagentUpdate: &acp.SubagentUpdate{SessionID: "s", Title: acp.Set("t"), State: &acp.StateUpdate{Idle: &acp.IdleStateUpdate{StopReason: acp.StopReasonEndTurn}}}},
		{SessionMessage: &acp.SessionMessage{MessageID: "m", SenderSessionID: acp.Set("s"), Content: []acp.ContentBlock{acp.TextBlock("x")}}},
		{SessionMessageChunk: &acp.SessionMessageChunk{MessageID: "m", Content: acp.TextBlock("x")}},
	} {
		raw, err := acp.Marshal(acp.SessionNotification{SessionID: "s", Update: u})
		if err != nil {
			t.Errorf("%+v: %v", u, err)
			continue
		}
		if err := acptest.CheckParams(acp.MethodSessionUpdate, raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
