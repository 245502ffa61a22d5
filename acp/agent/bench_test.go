package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/acp/stdio"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/model/openai"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session/jsonl"
)

// canned is a provider that answers every request with the same stream.
type canned []byte

// RoundTrip implements http.RoundTripper.
func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(c)),
	}, nil
}

// stream is an answer of n deltas as DeepSeek sends it.
func stream(n int) canned {
	var out bytes.Buffer
	for range n {
		out.WriteString(`data: {"id":"0b7c5f7e","object":"chat.completion.chunk","created":1784522140,"model":"deepseek-v4-flash","choices":[{"index":0,"delta":{"content":" answer\n"},"finish_reason":null}]}` + "\n\n")
	}
	out.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	return out.Bytes()
}

// benchModels has one model.
type benchModels struct{ client model.Client }

// Client implements loop.Models.
func (m benchModels) Client(ref string) (model.Client, model.Info, error) {
	return m.client, model.Info{Ref: ref}, nil
}

// Session implements agent.Builder.
func (m benchModels) Session(_ context.Context, p *agent.SessionParams) (loop.Config, error) {
	tools, err := tool.NewRegistry()
	if err != nil {
		return loop.Config{}, err
	}
	rules, err := permission.NewRules("", nil, nil, nil)
	return loop.Config{
		Models: m, ModelRef: "deepseek/deepseek-v4-flash", Tools: tools, Rules: rules, System: "system", Roots: p.Roots,
		Limits: loop.Limits{Steps: 20}, NewID: newID, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}, err
}

// BenchmarkDelta is a delta's whole way within the process: event stream →
// decoder → log on disk → frame → pipe. One iteration is an answer of n deltas
// in a new session.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{2000, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkDelta(b, n) })
	}
}

func benchmarkDelta(b *testing.B, n int) {
	c, err := openai.New(model.Config{Provider: "deepseek", APIKey: "sk-bench", HTTPClient: &http.Client{Transport: stream(n)}})
	if err != nil {
		b.Fatal(err)
	}
	store, err := jsonl.Open(b.TempDir(), jsonl.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ag := agent.New(agent.Config{
		Context: b.Context(), Store: store, Catalog: store, Builder: benchModels{c},
		Models: func() []model.Info { return nil }, CommandDirs: func(string) []string { return nil },
		DescribeHooks: func(string, string) string { return "" }, Info: acp.Implementation{Name: "bench", Version: "0"},
		Authenticate: func(context.Context, string) error { return nil },
		NewID:        newID, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	var mux acp.Mux
	ag.Register(&mux)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := acp.Serve(context.Background(), stdio.NewStream(inR, outW, stdio.Options{}), &mux, acp.ServeOptions{OnConn: ag.Attach})
		served <- errors.Join(err, ag.Shutdown(context.Background()))
	}()
	out := bufio.NewReaderSize(outR, 1<<20)
	call := func(id int, method, params string) []byte {
		fmt.Fprintf(inW, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		want := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`, id)
		for {
			line, err := out.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if bytes.HasPrefix(line, want) {
				return line
			}
		}
	}
	call(1, "initialize", `{"protocolVersion":1}`)
	dir := b.TempDir()
	b.ReportAllocs()
	for i := 2; b.Loop(); i += 3 {
		m, bad := acp.ParseMessage(bytes.TrimSpace(call(i, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))))
		if bad != nil || m.Error != nil {
			b.Fatal(bad, m.Error)
		}
		_, id, _ := strings.Cut(string(m.Result), `"sessionId":"`)
		id, _, _ = strings.Cut(id, `"`)
		if res := call(i+1, "session/prompt", fmt.Sprintf(`{"sessionId":"%s","prompt":[{"type":"text","text":"go"}]}`, id)); !bytes.Contains(res, []byte("end_turn")) {
			b.Fatalf("%s", res)
		}
		call(i+2, "session/close", fmt.Sprintf(`{"sessionId":"%s"}`, id))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
	inW.Close()
	go func() { _, _ = io.Copy(io.Discard, outR) }()
	if err := <-served; err != nil {
		b.Fatal(err)
	}
}
