package snapshots

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"acp-agent/session"
)

// fakeAgent is a small ACP agent with a log of this project's format. mode adds
// one fault.
func fakeAgent(mode string, args []string) int {
	f := &fake{mode: mode, turns: map[string]int{}, states: map[string]*session.State{}}
	if i := slices.Index(args, "--state-dir"); i >= 0 {
		f.dir = filepath.Join(args[i+1], "sessions")
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				SessionID string `json:"sessionId"`
				Cwd       string `json:"cwd"`
				Prompt    []struct {
					Text string `json:"text"`
				} `json:"prompt"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`)
			continue
		}
		switch m.Method {
		case "initialize":
			f.answer(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"fake","version":"9.8.7"}}`)
		case "session/new":
			f.create(m.ID, m.Params.Cwd)
		case "session/prompt":
			f.prompt(m.ID, m.Params.SessionID, m.Params.Prompt[0].Text)
		case "session/cancel":
			if f.hanging != nil {
				f.answer(f.hanging, `{"stopReason":"cancelled"}`)
			}
		}
	}
	switch mode {
	case "stays":
		never := make(chan os.Signal, 1)
		signal.Notify(never, os.Interrupt)
		<-never // until the harness kills it, by what no program can catch
	case "exit-1":
		fmt.Fprintln(os.Stderr, "one recorded call was not used")
		return 1
	}
	return 0
}

type fake struct {
	mode, dir string
	n         int
	turns     map[string]int
	states    map[string]*session.State
	hanging   json.RawMessage
}

func (f *fake) answer(id json.RawMessage, result string) {
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
}

func (f *fake) update(id, kind, text string) {
	fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":%q,"content":{"type":"text","text":%q}}}}`+"\n", id, kind, text)
}

func (f *fake) create(id json.RawMessage, cwd string) {
	f.n++
	sid := fmt.Sprintf("%08x-0000-7000-8000-%012x", os.Getpid(), f.n)
	f.states[sid] = session.NewState(session.Header{Version: session.Version, ID: sid, CreatedAt: time.Now(), Cwd: cwd, Agent: "fake/9.8.7"})
	os.MkdirAll(f.dir, 0o755)
	line, _ := session.AppendHeader(nil, &f.states[sid].Header)
	os.WriteFile(filepath.Join(f.dir, sid+".jsonl"), line, 0o644)
	f.answer(id, `{"sessionId":"`+sid+`"}`)
}

func (f *fake) log(sid string, data ...session.Data) {
	s := f.states[sid]
	file, _ := os.OpenFile(filepath.Join(f.dir, sid+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	defer file.Close()
	for _, d := range data {
		ev := session.Event{Seq: s.Seq + 1, Time: time.Now(), Data: d}
		if err := s.Apply(ev); err != nil {
			panic(err)
		}
		line, _ := session.AppendEvent(nil, &ev)
		file.Write(line)
	}
}

// request writes what a model would be sent, where the harness looks for it.
func (f *fake) request(turn int, messages []session.Message) {
	file, err := os.OpenFile(filepath.Join(f.dir, "..", "..", "requests.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if f.mode == "unlogged" {
		messages = append(messages, session.Message{Role: session.RoleUser, Content: []session.Block{session.Text("psst")}})
	}
	json.NewEncoder(file).Encode(map[string]any{"session": 1, "turn": turn, "step": 1, "attempt": 1, "head": map[string]any{}, "messages": messages})
}

func (f *fake) prompt(id json.RawMessage, sid, text string) {
	f.turns[sid]++
	n := f.turns[sid]
	f.log(sid, &session.TurnStart{Turn: n},
		&session.UserMessage{Content: []session.Block{session.Text(text)}, Source: session.Source{Kind: session.SourceUser}},
		&session.StepStart{Turn: n, Step: 1})
	digest, _ := f.states[sid].Digest()
	if f.mode == "wrong-digest" {
		digest = "sha256:0"
	}
	f.log(sid, &session.RequestSent{Turn: n, Step: 1, Attempt: 1, Digest: digest})
	f.request(n, f.states[sid].Messages)
	for _, part := range []string{"he", "llo"} {
		f.log(sid, &session.AssistantChunk{Turn: n, Step: 1, Chunk: session.Chunk{Type: session.ChunkText, Text: part}})
		f.update(sid, "agent_message_chunk", part)
	}
	if f.mode == "hangs" && n == 1 {
		f.hanging = id
		return
	}
	f.log(sid, &session.AssistantChunk{Turn: n, Step: 1, Chunk: session.Chunk{Type: session.ChunkFinish, Finish: session.FinishStop}},
		&session.AssistantMessage{Turn: n, Step: 1, Stop: session.FinishStop, Message: session.LoggedMessage{
			Role: session.RoleAssistant, Content: []session.Block{session.Text("hello")}, Source: session.Source{Kind: session.SourceModel},
		}},
		&session.StepEnd{Turn: n, Step: 1})
	switch f.mode {
	case "impure":
		fmt.Println("warning: this is not a frame")
	case "asks":
		fmt.Printf(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":%q,"toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}`+"\n", sid)
	case "writes":
		os.WriteFile("written.txt", []byte("session "+sid+"\n"), 0o644)
	}
	if f.mode != "open-turn" {
		f.log(sid, &session.TurnEnd{Turn: n, Reason: session.EndReason{Kind: session.EndCompleted}})
	}
	f.answer(id, `{"stopReason":"end_turn"}`)
	if f.mode == "late" {
		f.update(sid, "agent_message_chunk", "too late")
	}
}
