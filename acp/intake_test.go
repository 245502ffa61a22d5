package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"acp-agent/acp"
	"acp-agent/acp/stdio"
)

// mostDone is how many requests a client that reads nothing gets done: as many as run at once (128) may
// find room before any has taken it, as many follow them, and some answers fit into the room.
const mostDone = 2*128 + 8

// flooded is an echo agent behind a client that writes and does not read.
type flooded struct {
	*echoAgent
	listed atomic.Int64 // how many session/list have run
	in     io.Writer
	out    io.Reader
	served chan error
}

// flood starts an agent whose answers to session/list are 16 KiB each, and makes it
// known to that many of them.
func flood(t *testing.T, ctx context.Context, requests int) *flooded {
	a := &flooded{echoAgent: &echoAgent{turns: map[string]context.CancelFunc{}}, served: make(chan error, 1)}
	acp.HandleRequest(&a.mux, acp.MethodInitialize, func(context.Context, *acp.InitializeRequest) (func() (*acp.InitializeResponse, error), error) {
		return nil, nil
	})
	acp.HandleRequest(&a.mux, acp.MethodSessionPrompt, a.prompt)
	acp.HandleNotification(&a.mux, acp.MethodSessionCancel, func(_ context.Context, p *acp.CancelNotification) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if cancel := a.turns[p.SessionID]; cancel != nil {
			cancel()
		}
	})
	long := strings.Repeat("x", 16<<10)
	acp.HandleRequest(&a.mux, acp.MethodSessionList, func(context.Context, *acp.ListSessionsRequest) (func() (*acp.ListSessionsResponse, error), error) {
		return func() (*acp.ListSessionsResponse, error) {
			a.listed.Add(1)
			return &acp.ListSessionsResponse{NextCursor: long}, nil
		}, nil
	})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	t.Cleanup(func() {
		inW.Close()
		outR.Close()
		<-a.served
	})
	a.in, a.out = inW, outR
	s := stdio.NewStream(inR, outW, stdio.Options{Budget: 64 << 10})
	go func() { a.served <- a.serve(ctx, s) }()
	a.write(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}`)
	a.write(`{"jsonrpc":"2.0","id":"ask","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"ask"}]}}`)
	a.write(`{"jsonrpc":"2.0","id":"wait","method":"session/prompt","params":{"sessionId":"s2","prompt":[{"type":"text","text":"wait"}]}}`)
	synctest.Wait()
	for i := range requests {
		a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/list"}`, i))
	}
	synctest.Wait()
	return a
}

func (a *flooded) write(line string) { _, _ = io.WriteString(a.in, line+"\n") }

// answers reads n answers, by the ids of their requests.
func (a *flooded) answers(t *testing.T, n int) map[string]acp.Message {
	t.Helper()
	got := map[string]acp.Message{}
	for r := bufio.NewReader(a.out); len(got) < n; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %d answers: %v", len(got), err)
		}
		m, bad := acp.ParseMessage(line)
		if bad != nil {
			t.Fatalf("%v: %s", bad, line)
		}
		if m.Method != "" {
			continue
		}
		if _, twice := got[string(m.ID)]; twice {
			t.Fatalf("%s was answered twice", m.ID)
		}
		got[string(m.ID)] = m
	}
	return got
}

// A client that writes requests and reads no answers makes the agent do a bounded number of them. Its
// answers to the agent's calls and its cancels are taken meanwhile, what it writes is read to the end, and
// all of it is answered once it reads.
func TestRequestsWaitForAClientThatDoesNotRead(t *testing.T) {
	const requests = 2000
	synctest.Test(t, func(t *testing.T) {
		a := flood(t, t.Context(), requests)
		if n := a.listed.Load(); n > mostDone {
			t.Errorf("%d requests were done for a client that reads nothing", n)
		}
		// Behind all of them: a prompt and its cancel, a cancel of what runs, and an answer.
		a.write(`{"jsonrpc":"2.0","id":"late","method":"session/prompt","params":{"sessionId":"s3","prompt":[{"type":"text","text":"wait"}]}}`)
		a.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s3"}}`)
		a.write(`{"jsonrpc":"2.0","id":"later","method":"session/prompt","params":{"sessionId":"s4","prompt":[{"type":"text","text":"until cancelled"}]}}`)
		a.write(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"later"}}`)
		a.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`)
		a.write(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}`)
		synctest.Wait()
		if n := a.listed.Load(); n > mostDone {
			t.Errorf("%d requests were done for a client that reads nothing", n)
		}
		if a.conn.Serving() > 200 {
			t.Errorf("%d requests are open", a.conn.Serving())
		}
		for _, id := range []string{`"ask"`, `"wait"`} {
			if a.conn.Open(id) {
				t.Errorf("the prompt %s did not end while nothing was read", id)
			}
		}
		got := a.answers(t, requests+5)
		for id, want := range map[string]string{`"ask"`: "end_turn", `"wait"`: "cancelled", `"late"`: "cancelled"} {
			var r acp.PromptResponse
			if err := json.Unmarshal(got[id].Result, &r); err != nil || string(r.StopReason) != want {
				t.Errorf("%s: got %+v %v, want %s", id, r, got[id].Error, want)
			}
		}
		if e := got[`"later"`].Error; e == nil || e.Code != acp.CodeRequestCancelled {
			t.Errorf("a request that was cancelled while it waited: %+v", got[`"later"`])
		}
	})
}

// What waits when the process ends is refused, not forgotten.
func TestWaitingRequestsAreRefusedAtTheEnd(t *testing.T) {
	const requests = 500
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		a := flood(t, ctx, requests)
		cancel()
		got := a.answers(t, requests+3)
		refused := 0
		for _, m := range got {
			if m.Error != nil {
				refused++
			}
		}
		if done := int(a.listed.Load()); refused < requests-done || done > mostDone {
			t.Errorf("%d requests were refused, %d done", refused, done)
		}
	})
}

// Requests of one that reads run no more than so many at once either, and a cancel finds its prompt.
func TestWaitingKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := flood(t, t.Context(), 0)
		lines := 0
		for i := range 300 {
			a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/list"}`, i))
			a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"session/prompt","params":{"sessionId":"p%d","prompt":[{"type":"text","text":"wait"}]}}`, i, i))
			a.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"p%d"}}`, i))
			lines += 2
		}
		for id, m := range a.answers(t, lines+1) {
			if strings.HasPrefix(id, `"p`) && string(m.Result) != `{"stopReason":"cancelled"}` {
				t.Errorf("%s: %s %v", id, m.Result, m.Error)
			}
		}
	})
}

// What waits is bounded as well: reading stops, and goes on with the client's.
func TestReadingStopsForAClientThatDoesNotRead(t *testing.T) {
	const requests, size = 24, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		a := flood(t, t.Context(), 200) // as many as run, and more
		pad := strings.Repeat(" ", size)
		var written atomic.Int64
		go func() { // ends when all is written, or with the pipe
			for i := range requests {
				a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"session/list","params":{%s}}`, i, pad))
				written.Add(1)
			}
		}()
		synctest.Wait()
		if n := written.Load(); n < requests*3/4 || n >= requests {
			t.Errorf("%d of %d requests were read of a client that does not read", n, requests)
		}
		a.answers(t, 200+requests+1)
	})
}

// So are the errors for lines that are no requests, however they are wrong. No line is lost, and what
// comes behind them is taken.
func TestErrorsWaitForAClientThatDoesNotRead(t *testing.T) {
	const blocks, lines = 60, 1000
	for name, line := range map[string]string{"no JSON": "x", "a batch": "[1]", "hollow": `{"jsonrpc":"2.0","id":7}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := flood(t, t.Context(), 0)
				block := strings.Repeat(line+"\n", lines)
				var written atomic.Int64
				go func() { // ends when all is written, or with the pipe
					for range blocks {
						_, _ = io.WriteString(a.in, block)
						written.Add(1)
					}
					a.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s2"}}`)
				}()
				synctest.Wait()
				if n := written.Load(); n == 0 || n >= blocks*3/4 {
					t.Errorf("%d of %d lines were read of a client that does not read", n*lines, blocks*lines)
				}
				errs, cancelled := 0, false
				for r := bufio.NewReader(a.out); errs < blocks*lines || !cancelled; {
					got, err := r.ReadString('\n')
					if err != nil {
						t.Fatalf("after %d errors: %v", errs, err)
					}
					if strings.Contains(got, `"error":`) {
						errs++
					}
					cancelled = cancelled || strings.Contains(got, `"id":"wait","result":{"stopReason":"cancelled"}`)
				}
				if errs != blocks*lines {
					t.Errorf("%d lines got %d errors", blocks*lines, errs)
				}
			})
		})
	}
}
