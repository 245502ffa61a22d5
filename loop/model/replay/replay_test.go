package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// play asks for one stream and writes what came, one line a block.
func play(ctx context.Context, r *Replay, req *model.Request) string {
	var a session.Assembler
	var out strings.Builder
	var err error
	for c, e := range r.Stream(ctx, req) {
		if e != nil {
			err = e
			continue
		}
		if c.Packed() {
			fmt.Fprintf(&out, "packed chunk %s\n", c.Type)
		}
		a.Add(&c)
	}
	for _, b := range a.Blocks(true) {
		if b.Type == session.BlockToolCall {
			fmt.Fprintf(&out, "call %s %s %s\n", b.ID, b.Name, b.Arguments)
		} else {
			fmt.Fprintf(&out, "%s %q\n", b.Type, b.Text)
		}
	}
	if u := a.Usage(); u != nil {
		fmt.Fprintf(&out, "usage %d %d\n", u.InputTokens, u.OutputTokens)
	}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		fmt.Fprintf(&out, "error %s %d %s retryable=%v %q\n", e.Kind, e.Status, e.RetryAfter, e.Retryable, e.Message)
	case err != nil:
		fmt.Fprintf(&out, "error %v\n", err)
	default:
		fmt.Fprintf(&out, "finish %s\n", a.Finish())
	}
	return out.String()
}

// record writes a log of our own format.
func record(t *testing.T, dir string, data ...session.Data) string {
	t.Helper()
	h := &session.Header{Version: session.Version, ID: "s", CreatedAt: time.Unix(0, 0), Cwd: "/w"}
	out, err := session.AppendHeader(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range data {
		if out, err = session.AppendEvent(out, &session.Event{Seq: uint64(i + 1), Time: time.Unix(0, 0), Data: d}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "log.jsonl")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *Replay {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sent(attempt int) session.Data {
	return &session.RequestSent{Turn: 1, Step: 1, Attempt: attempt, Digest: "sha256:"}
}

func chunk(c session.Chunk) session.Data {
	return &session.AssistantChunk{Turn: 1, Step: 1, Chunk: c}
}

func text(s string) session.Data {
	return chunk(session.Chunk{Type: session.ChunkText, Text: s})
}

func finish(k session.FinishKind) session.Data {
	return chunk(session.Chunk{Type: session.ChunkFinish, Finish: k})
}

func message(stop session.FinishKind, usage *session.Usage, blocks ...session.Block) session.Data {
	return &session.AssistantMessage{Turn: 1, Step: 1, Stop: stop, Usage: usage, Message: session.LoggedMessage{Role: session.RoleAssistant, Content: blocks}}
}

func end(kind session.EndKind, err *session.TurnError) session.Data {
	return &session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: kind, Error: err}}
}

func TestOwnLogs(t *testing.T) {
	start := []session.Data{&session.TurnStart{Turn: 1}, &session.StepStart{Turn: 1, Step: 1}}
	call := session.Block{Type: session.BlockToolCall, ID: "c", Name: "bash", Arguments: `{"command":"ls"}`}
	tests := []struct {
		name string
		data []session.Data
		want []string
	}{
		{"packed chunks", []session.Data{
			sent(1), chunk(session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockText}),
			chunk(session.Chunk{Type: session.ChunkPackedText, Texts: []string{"a", "b", " c"}, Dt: []int64{0, 1, 2}}),
			chunk(session.Chunk{Type: session.ChunkUsage, Usage: &session.Usage{InputTokens: 3, OutputTokens: 2}}), finish(session.FinishStop),
			message(session.FinishStop, nil, session.Text("ab c")), end(session.EndCompleted, nil),
		}, []string{"text \"ab c\"\nusage 3 2\nfinish stop\n"}},
		{"retried attempts", []session.Data{
			sent(1), &session.ModelRetry{Turn: 1, Step: 1, Retry: 1, Failure: session.TurnError{Kind: "rate_limit", Message: "slow down", Status: 429, Retryable: true, RetryAfterMs: 1500}},
			sent(2), chunk(session.Chunk{Type: session.ChunkReasoning, Text: "hm"}), &session.ModelRetry{Turn: 1, Step: 1, Retry: 2, Failure: session.TurnError{Kind: "stream_closed", Message: "cut"}},
			sent(3), text("ok"), finish(session.FinishStop), message(session.FinishStop, nil, session.Text("ok")), end(session.EndCompleted, nil),
		}, []string{
			"error rate_limit 429 1.5s retryable=true \"slow down\"\n",
			"reasoning \"hm\"\nerror stream_closed 0 0s retryable=true \"cut\"\n",
			"text \"ok\"\nfinish stop\n",
		}},
		{
			"failed turn",
			[]session.Data{sent(1), end(session.EndError, &session.TurnError{Kind: "auth", Message: "bad key", Status: 401})},
			[]string{"error auth 401 0s retryable=false \"bad key\"\n"},
		},
		{"retries used up", []session.Data{
			sent(1), &session.ModelRetry{Turn: 1, Step: 1, Retry: 1, Failure: session.TurnError{Kind: "server", Message: "500", Status: 500, Retryable: true}},
			sent(2), end(session.EndError, &session.TurnError{Kind: "server", Message: "500", Status: 500, Retryable: true}),
		}, []string{"error server 500 0s retryable=true \"500\"\n", "error server 500 0s retryable=true \"500\"\n"}},
		{"error finish, then more is said of it", []session.Data{
			sent(1), text("x"), chunk(session.Chunk{Type: session.ChunkFinish, Finish: session.FinishError, Failure: &session.ChunkFailure{Message: "m", Code: "RATE_LIMIT"}}),
			end(session.EndError, &session.TurnError{Kind: "rate_limit", Message: "m", Status: 429, Retryable: true}),
		}, []string{"text \"x\"\nerror rate_limit 429 0s retryable=true \"m\"\n"}},
		{"failure that is not the model's", []session.Data{
			sent(1), text("x"), finish(session.FinishStop), message(session.FinishStop, nil, session.Text("x")), end(session.EndError, &session.TurnError{Kind: "internal", Message: "disk"}),
		}, []string{"text \"x\"\nfinish stop\n"}},
		{
			"cancelled mid-stream",
			[]session.Data{sent(1), text("x"), message("", nil, session.Text("x")), end(session.EndCancelled, nil)},
			[]string{"text \"x\"\nfinish stop\n"},
		},
		{
			"cancelled, partial committed",
			[]session.Data{sent(1), text("x"), &session.AssistantMessage{Turn: 1, Step: 1, Interrupted: true}, end(session.EndCancelled, nil)},
			[]string{"text \"x\"\nerror context canceled\n"},
		},
		{"cancelled before the first byte", []session.Data{sent(1), end(session.EndCancelled, nil)}, []string{"error context canceled\n"}},
		{"killed", []session.Data{sent(1), text("x")}, []string{"text \"x\"\nerror stream_closed 0 0s retryable=false \"the recorded stream ends here\"\n"}},
		{
			"repaired after a crash",
			[]session.Data{sent(1), text("x"), &session.AssistantMessage{Turn: 1, Step: 1, Interrupted: true}, end(session.EndInterrupted, nil)},
			[]string{"text \"x\"\nerror stream_closed 0 0s retryable=false \"the recorded stream ends here\"\n"},
		},
		{"log without chunks", []session.Data{
			sent(1), message(session.FinishToolCalls, &session.Usage{InputTokens: 1, OutputTokens: 2}, session.Block{Type: session.BlockReasoning}, session.Text("t"), call),
			sent(1), message(session.FinishStop, nil, session.Text("done")), end(session.EndCompleted, nil),
		}, []string{"reasoning \"\"\ntext \"t\"\ncall c bash {\"command\":\"ls\"}\nusage 1 2\nfinish tool-calls\n", "text \"done\"\nfinish stop\n"}},
		{"neither requests nor chunks", []session.Data{
			message("", nil, call), message("", nil, session.Text("done")), end(session.EndCompleted, nil),
		}, []string{"call c bash {\"command\":\"ls\"}\nfinish tool-calls\n", "text \"done\"\nfinish stop\n"}},
		{"compaction by a model", []session.Data{
			&session.Compaction{ID: "1", Status: "completed", Content: []session.Block{session.Text("sum")}, Usage: &session.Usage{InputTokens: 9}},
			&session.Compaction{ID: "2", Status: "completed", Content: []session.Block{session.Text("cut")}},
		}, []string{"text \"sum\"\nusage 9 0\nfinish stop\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := open(t, record(t, t.TempDir(), append(append([]session.Data{}, start...), tt.data...)...))
			var got []string
			rest(t, r, func(ctx context.Context) { got = append(got, play(ctx, r, &model.Request{})) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// rest makes all calls that are left, each with a context that ends when the call
// hangs.
func rest(t *testing.T, r *Replay, call func(context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		for r.Leftover() > 0 {
			ctx, cancel := context.WithCancel(t.Context())
			if r.hangs() {
				go func() { // ends when all else waits
					synctest.Wait()
					cancel()
				}()
			}
			call(ctx)
			cancel()
		}
	})
}

// hangs reports whether the next call of the first script hangs.
func (r *Replay) hangs() bool {
	s := r.scripts[0]
	return s.calls[s.next].end == endHang
}

func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	path := record(t, dir, sent(1), text("x"), finish(session.FinishStop))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	firstLine := strings.IndexByte(string(data), '\n') + 1
	for i := firstLine; i <= len(data); i++ {
		if err := os.WriteFile(path, data[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, body := range map[string]string{
		"empty":           "",
		"not JSON":        "hello\n",
		"no header":       `{"type":"turn/start","data":{"turn":1}}` + "\n",
		"newer version":   `{"type":"session","version":7}` + "\n",
		"bad line inside": `{"type":"session","version":1}` + "\n{oops\n" + `{"type":"turn/start","data":{"turn":1}}` + "\n",
		"unknown chunk":   `{"type":"session","version":1}` + "\n" + `{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delt","index":0}}}` + "\n",
		"bad chunk":       `{"type":"session","version":0}` + "\n" + `{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish"}}}` + "\n\n",
	} {
		path := filepath.Join(dir, "x.jsonl")
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "x.jsonl") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

// scenario writes a reference scenario folder.
func scenario(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const refHeader = `{"type":"session","version":0,"id":"{{sessionId}}","createdAt":0,"cwd":"{{cwd}}","delegationDepth":0}` + "\n"

func refText(turn int, s string) string {
	return fmt.Sprintf(`{"type":"assistant/chunk","data":{"turn":%[1]d,"step":1,"chunk":{"type":"text-delta","index":0,"text":%[2]q}}}
{"type":"assistant/chunk","data":{"turn":%[1]d,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
`, turn, s)
}

func TestPackedRowsOfTheReference(t *testing.T) {
	r := open(t, scenario(t, map[string]string{"session.jsonl": refHeader +
		`{"type":"reasoning-chunks","seq0":1,"time0":0,"data":{"turn":1,"step":1,"index":0,"dt":[0,1],"texts":["a","b","c"]}}` + "\n" +
		`{"type":"text-chunks","seq0":4,"time0":0,"data":{"turn":1,"step":1,"index":1,"dt":[0,1],"texts":["d","e","f"]}}` + "\n" +
		`{"type":"tool-call-chunks","seq0":7,"time0":0,"data":{"turn":1,"step":1,"index":2,"id":"c","name":"bash","dt":[0,1],"args":["{","\"a\":1","}"]}}` + "\n" +
		`{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"tool-calls"}}}}` + "\n"}))
	want := "reasoning \"abc\"\ntext \"def\"\ncall c bash {\"a\":1}\nfinish tool-calls\n"
	if diff := cmp.Diff(want, play(t.Context(), r, &model.Request{})); diff != "" {
		t.Error(diff)
	}
}

func TestSeveralSessions(t *testing.T) {
	dir := scenario(t, map[string]string{
		"session.jsonl":   refHeader + refText(1, "parent 1") + refText(2, "parent 2"),
		"session.1.jsonl": refHeader + refText(1, "child"),
	})
	for _, path := range []string{dir, filepath.Join(dir, "session.jsonl")} {
		r := open(t, path)
		ask := func(id string) string { return play(t.Context(), r, &model.Request{SessionID: id}) }
		if r.Calls() != 3 || r.Leftover() != 3 {
			t.Errorf("%d calls, %d left", r.Calls(), r.Leftover())
		}
		got := ask("live-a") + ask("live-b") + ask("live-a")
		want := "text \"parent 1\"\nfinish stop\ntext \"child\"\nfinish stop\ntext \"parent 2\"\nfinish stop\n"
		if got != want {
			t.Error(cmp.Diff(want, got))
		}
		if err := r.Check(); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"live-a", "live-c"} {
			if s := ask(id); !strings.HasPrefix(s, "error replay 0 0s retryable=false") {
				t.Errorf("session %s after the end: %s", id, s)
			}
		}
	}
	r := open(t, dir)
	play(t.Context(), r, &model.Request{})
	err := r.Check()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.KindReplay || !strings.Contains(err.Error(), "2 recorded model calls") || !strings.Contains(err.Error(), "call 2 of session.jsonl") {
		t.Errorf("unused calls: %v", err)
	}
}

func TestOverride(t *testing.T) {
	log := refHeader + refText(1, "one") + refText(2, "two")
	tests := []struct {
		name, override string
		want           []string
		err            string
	}{
		{"replace", `[{"kind":"chunks","chunks":[{"type":"text-delta","index":0,"text":"x"},{"type":"finish","reason":{"kind":"stop"}}]}]`, []string{"text \"x\"\nfinish stop\n"}, ""},
		{
			"throw", `[{"kind":"throw","chunks":[],"message":"m (HTTP 401)","code":"AUTH"},{"kind":"throw","chunks":[{"type":"text-delta","index":0,"text":"x"}],"message":"m","code":"RATE_LIMIT"}]`,
			[]string{"error auth 0 0s retryable=false \"m (HTTP 401)\"\n", "text \"x\"\nerror rate_limit 0 0s retryable=true \"m\"\n"},
			"",
		},
		{"no finish", `[{"kind":"chunks","chunks":[{"type":"text-delta","index":0,"text":"x"}]}]`, []string{"text \"x\"\nerror stream_closed 0 0s retryable=true \"the recorded stream ends here\"\n"}, ""},
		{"error finish", `[{"kind":"chunks","chunks":[{"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"EMPTY_RESPONSE"}}}]}]`, []string{"error empty_response 0 0s retryable=true \"m\"\n"}, ""},
		{
			"patch", `{"patches":[{"at":0,"entry":{"kind":"throw","message":"m","code":"SERVER"}},{"at":2,"entry":{"kind":"throw","message":"n","code":"QUOTA"}}]}`,
			[]string{"error server 0 0s retryable=true \"m\"\n", "text \"two\"\nfinish stop\n", "error quota 0 0s retryable=false \"n\"\n"},
			"",
		},
		{"patch out of range", `{"patches":[{"at":3,"entry":{"kind":"hang"}}]}`, nil, "at must be from 0 to 2"},
		{"patched twice", `{"patches":[{"at":0,"entry":{"kind":"hang"}},{"at":0,"entry":{"kind":"hang"}}]}`, nil, "patched twice"},
		{"unknown kind", `[{"kind":"dance"}]`, nil, `unknown kind "dance"`},
		{"unknown chunk", `[{"kind":"chunks","chunks":[{"type":"text-delt","index":0}]}]`, nil, `unknown type "text-delt"`},
		{"neither", `{}`, nil, "neither an array"},
		{"not JSON", `[`, nil, "replay.override.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Open(scenario(t, map[string]string{"session.jsonl": log, "replay.override.json": tt.override}))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for r.Leftover() > 0 {
				got = append(got, play(t.Context(), r, &model.Request{}))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHangWritesTheReadyFileAndWaits(t *testing.T) {
	r := open(t, scenario(t, map[string]string{"session.jsonl": refHeader, "replay.override.json": `[{"kind":"hang","readyFile":".ready"},{"kind":"hang","readyFile":"../out"}]`}))
	cwd := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := make(chan string, 1)
		go func() { got <- play(ctx, r, &model.Request{Cwd: cwd}) }() // ends with ctx
		synctest.Wait()
		if _, err := os.Stat(filepath.Join(cwd, ".ready")); err != nil || len(got) > 0 {
			t.Errorf("it did not wait: %v", err)
		}
		cancel()
		if s := <-got; s != "text \"partial\"\nerror context canceled\n" {
			t.Error(s)
		}
	})
	if s := play(t.Context(), r, &model.Request{Cwd: cwd}); !strings.Contains(s, "error replay") {
		t.Errorf("a ready file outside: %s", s)
	}
}

// How much of an answer a cancel lets through is the recording's, not a matter of
// how soon this run's cancel comes.
func TestCancelCutsWhereItWasRecorded(t *testing.T) {
	r := open(t, record(t, t.TempDir(), sent(1), text("a"), text("b"), end(session.EndCancelled, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := play(ctx, r, &model.Request{}); s != "text \"ab\"\nerror context canceled\n" {
		t.Error(s)
	}
}

func TestPlaceholders(t *testing.T) {
	req := &model.Request{Head: session.RequestHead{System: "goal g-0000"}, Messages: []session.Message{
		{Role: session.RoleUser, Content: []session.Block{session.Text("goal g-1a2b"), session.Text(`path "C:\x" end`)}},
		{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: "c", Content: []session.Block{session.Text("goal g-9f9f now")}}}},
	}}
	tests := []struct{ in, want, err string }{
		{"plain", "plain", ""},
		{"id {{fromRequest:goal (g-[0-9a-f]{4})}}.", "id g-9f9f.", ""},
		{"{{fromRequest:g-[0-9a-f]{4}}} {{fromRequest:end}}", "g-9f9f end", ""},
		{"{{fromRequest:nothing like it}}", "", "matches nothing"},
		{"{{fromRequest:(}}", "", "pattern"},
		{"{{fromRequest:x", "", "not closed"},
	}
	for _, tt := range tests {
		in, _ := json.Marshal(tt.in)
		r := open(t, scenario(t, map[string]string{"session.jsonl": refHeader + fmt.Sprintf(`{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":%[1]s}}}
{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[0],"texts":["|",%[1]s]}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
`, in)}))
		got := play(t.Context(), r, req)
		if tt.err == "" && got != fmt.Sprintf("text %q\nfinish stop\n", tt.want+"|"+tt.want) || tt.err != "" && (!strings.Contains(got, "error replay") || !strings.Contains(got, tt.err)) {
			t.Errorf("%s: %s", tt.in, got)
		}
	}
	// In arguments, what comes in is escaped as JSON text.
	if got, err := substitute(`{"p":"{{fromRequest:path "(.*)" end}}"}`, requestText(req), true); err != nil || got != `{"p":"C:\\x"}` {
		t.Errorf("arguments: %s, %v", got, err)
	}
}

// TestDirectoryToken: a model that names files by absolute paths named those of a
// run that is gone; a scenario has a token there, any other log has what was said.
func TestDirectoryToken(t *testing.T) {
	req := &model.Request{Cwd: `C:\run "2"`}
	rows := `{"type":"text-chunks","data":{"turn":1,"step":1,"index":0,"dt":[0],"texts":["in {{cwd}}/a","."]}}
{"type":"tool-call-chunks","data":{"turn":1,"step":1,"index":1,"dt":[0],"id":"c1","name":"read","args":["{\"p\":\"","{{cwd}}/a\"}"]}}
{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"tool-calls"}}}}
`
	for header, want := range map[string]string{
		refHeader: fmt.Sprintf("text %q\ncall c1 read %s\n", "in "+req.Cwd+"/a.", `{"p":"C:\\run \"2\"/a"}`),
		strings.ReplaceAll(refHeader, "{{cwd}}", "/home/me"): fmt.Sprintf("text %q\ncall c1 read %s\n", "in {{cwd}}/a.", `{"p":"{{cwd}}/a"}`),
	} {
		got := play(t.Context(), open(t, scenario(t, map[string]string{"session.jsonl": header + rows})), req)
		if want += "finish tool-calls\n"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestEachCodeHasItsKind pins the map of the reference's error codes.
func TestEachCodeHasItsKind(t *testing.T) {
	for code, kind := range map[string]model.Kind{
		"AUTH": model.KindAuth, "MISSING_CREDENTIAL": model.KindAuth, "QUOTA": model.KindQuota, "RATE_LIMIT": model.KindRateLimit,
		"CONTEXT_WINDOW_EXCEEDED": model.KindContextOverflow, "INVALID_REQUEST": model.KindInvalidRequest, "SERVER": model.KindServer,
		"TIMEOUT": model.KindTimeout, "TRANSPORT": model.KindTransport, "STREAM_CLOSED": model.KindStreamClosed,
		"MALFORMED_RESPONSE": model.KindMalformed, "EMPTY_RESPONSE": model.KindEmpty, "HTTP_404": model.KindNotFound, "HTTP_418": model.KindInvalidRequest,
		"HTTP_599": model.KindServer, "CONTENT_FILTER": model.KindServer,
	} {
		if got := kindOf(code); got != kind {
			t.Errorf("%s is %s, want %s", code, got, kind)
		}
	}
}

// A summary that was asked for is a call, whatever came of it; one that was asked
// for in the middle of a call says that this did not fit.
func TestSummaryCalls(t *testing.T) {
	begin := &session.Compaction{ID: "1", Status: "in_progress", Digest: "sha256:"}
	failed := &session.Compaction{ID: "1", Status: "failed", Error: "HTTP 503"}
	done := &session.Compaction{ID: "1", Status: "completed", Content: []session.Block{session.Text("s")}}
	turn := &session.StepStart{Turn: 1, Step: 1}
	for name, tt := range map[string]struct {
		data []session.Data
		want []string
	}{
		"failed at once":  {[]session.Data{turn, begin, failed, end(session.EndCompleted, nil), sent(1), text("a"), finish(session.FinishStop)}, []string{"error server 0 0s retryable=false \"HTTP 503\"\n", "text \"a\"\nfinish stop\n"}},
		"failed midway":   {[]session.Data{turn, begin, text("ha"), failed, end(session.EndCompleted, nil)}, []string{"text \"ha\"\nerror server 0 0s retryable=false \"HTTP 503\"\n"}},
		"did not fit":     {[]session.Data{turn, sent(1), begin, text("s"), finish(session.FinishStop), done, sent(1), text("a"), finish(session.FinishStop)}, []string{"error context_overflow 0 0s retryable=false \"the recorded request did not fit\"\n", "text \"s\"\nfinish stop\n", "text \"a\"\nfinish stop\n"}},
		"without streams": {[]session.Data{turn, begin, done}, []string{"text \"s\"\nfinish stop\n"}},
	} {
		r := open(t, record(t, t.TempDir(), tt.data...))
		if r.Calls() != len(tt.want) {
			t.Errorf("%s: %d calls", name, r.Calls())
			continue
		}
		for i, want := range tt.want {
			if got := play(t.Context(), r, &model.Request{}); got != want {
				t.Errorf("%s, call %d: %q, want %q", name, i+1, got, want)
			}
		}
	}
	r := open(t, record(t, t.TempDir(), &session.UsageReport{}, &session.UsageReport{Window: 100, Output: 9}, &session.UsageReport{Window: 7}))
	if w, o := r.Window(); w != 100 || o != 9 {
		t.Errorf("window %d, output %d", w, o)
	}
}
