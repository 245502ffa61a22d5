package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

// The test binary is also the servers of the tests: kindVar says which.
const (
	kindVar = "MCP_TEST_KIND"
	pidsVar = "MCP_TEST_PIDS" // a directory where each process leaves its pid
	gateVar = "MCP_TEST_GATE" // an address to read a byte from before anything else
)

func TestMain(m *testing.M) {
	if kind := os.Getenv(kindVar); kind != "" {
		os.Exit(serve(kind))
	}
	os.Exit(m.Run())
}

func leavePid(pid int) {
	if dir := os.Getenv(pidsVar); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(pid)), nil, 0o600)
	}
}

func serve(kind string) int {
	leavePid(os.Getpid())
	if gate := os.Getenv(gateVar); gate != "" {
		c, err := net.Dial("tcp", gate)
		if err != nil {
			return 9
		}
		_, _ = c.Read(make([]byte, 1))
		c.Close()
	}
	switch kind {
	case "never":
		for in := bufio.NewReader(os.Stdin); ; {
			if _, err := in.ReadString('\n'); err != nil {
				return 0
			}
		}
	case "deaf": // answers the handshake and reads no more
		if err := newTestServer("x").Run(context.Background(), &sdk.IOTransport{Reader: &firstLines{os.Stdin, 3}, Writer: os.Stdout}); err != nil {
			return 1
		}
		select {}
	case "garbage":
		fmt.Println("Hello, I am no MCP server.")
		fmt.Println(`{"level":"info"}`)
		return 0
	case "mute": // lives on without a stdout
		os.Stdout.Close()
		select {}
	case "shapeless": // answers a call with what is no result
		return answer(func(method string) (result, fault string) {
			switch method {
			case "tools/list":
				return `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, ""
			case "tools/call":
				return `{"content":"text"}`, ""
			}
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`, ""
		})
	case "flood":
		for {
			if _, err := fmt.Println("noise"); err != nil {
				return 1
			}
		}
	case "exit":
		fmt.Fprintln(os.Stderr, "first line\nError: no token given")
		return 7
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		grandchild()
		_ = newTestServer("stubborn").Run(context.Background(), &sdk.StdioTransport{})
		select {}
	case "orphan": // ends as it should, but for a child that it forgets
		grandchild()
	case "host": // an agent with a server
		self := Server{Name: "s", Command: os.Args[0], Env: []string{kindVar + "=stubborn"}}
		_, failures, _ := Start(context.Background(), []Server{self}, Options{Environ: os.Environ()}).Tools(context.Background())
		fmt.Println("ready", failures)
		select {}
	case "sleeper":
		select {}
	case "discover":
		return discover()
	case "hostile":
		return hostile()
	case "listfail":
		return handshakeOnly()
	case "circle": // ignores the cursor, and has another for each page
		return pages(func(n int) string { return `{"name":"same","inputSchema":{"type":"object"}}` })
	case "legion":
		return pages(func(n int) string {
			all := make([]string, 500)
			for i := range all {
				all[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, n*len(all)+i)
			}
			return strings.Join(all, ",")
		})
	case "banner":
		fmt.Println("Server 1.0 running on stdio")
	}
	fmt.Fprintln(os.Stderr, "ready: "+kind)
	if err := newTestServer(kind).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// grandchild starts a process that outlives its parent.
func grandchild() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), kindVar+"=sleeper", gateVar+"=")
	if cmd.Start() == nil {
		leavePid(cmd.Process.Pid)
	}
}

// firstLines is stdin that yields a few lines and then nothing.
type firstLines struct {
	f *os.File
	n int
}

func (l *firstLines) Read(p []byte) (int, error) {
	if l.n <= 0 {
		select {}
	}
	n, err := l.f.Read(p[:1])
	if n == 1 && p[0] == '\n' {
		l.n--
	}
	return n, err
}

func (*firstLines) Close() error { return nil }

// discover is a server of the protocol without a handshake.
func discover() int {
	return answer(func(method string) (result, fault string) {
		switch method {
		case "server/discover":
			return `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`, ""
		case "tools/list":
			return `{"tools":[{"name":"new","inputSchema":{"type":"object"}}],"resultType":"complete"}`, ""
		}
		return "", `{"code":-32601,"message":"no such method"}`
	})
}

func handshakeOnly() int {
	return answer(func(method string) (result, fault string) {
		if method == "initialize" {
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`, ""
		}
		return "", `{"code":-32603,"message":"the list is on fire"}`
	})
}

// pages is a server whose list of tools has no end.
func pages(page func(n int) string) int {
	n := 0
	return answer(func(method string) (result, fault string) {
		if method != "tools/list" {
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`, ""
		}
		n++
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, page(n-1), n), ""
	})
}

func answer(f func(method string) (result, fault string)) int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if result, fault := f(m.Method); fault == "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		} else {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":%s}`+"\n", m.ID, fault)
		}
	}
	return 0
}

// text is a tool's answer.
func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// newTestServer is a server with a tool for each thing that is tested.
func newTestServer(name string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	add := func(name string, f func(ctx context.Context, r *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"a < b"}}}`)},
			func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				args := map[string]any{}
				if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
					return nil, err
				}
				return f(ctx, r, args)
			})
	}
	add("echo", func(_ context.Context, _ *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		return text(fmt.Sprint(a["text"])), nil
	})
	add("where", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		dir, err := os.Getwd()
		return text(dir), err
	})
	add("pid", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return text(strconv.Itoa(os.Getpid())), nil
	})
	add("getenv", func(_ context.Context, _ *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		return text(os.Getenv(fmt.Sprint(a["text"]))), nil
	})
	add("meta", func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		raw, err := json.Marshal(r.Params.Meta)
		return text(string(raw)), err
	})
	add("fail", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := text("it went wrong")
		r.IsError = true
		return r, nil
	})
	add("refuse", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("refused")
	})
	add("crash", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	add("more", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{Name: "added", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return text("new"), nil })
		return text("ok"), nil
	})
	add("steps", func(ctx context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		for i := range 3 {
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: "step",
			})
		}
		return text("done"), nil
	})
	// block waits until it is cancelled and leaves that as a file.
	add("block", func(ctx context.Context, r *sdk.CallToolRequest, a map[string]any) (*sdk.CallToolResult, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "started"})
		<-ctx.Done()
		if file, ok := a["text"].(string); ok {
			_ = os.WriteFile(file, nil, 0o600)
		}
		return nil, ctx.Err()
	})
	add("everything", func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		size := int64(7)
		return &sdk.CallToolResult{
			Content: []sdk.Content{
				&sdk.TextContent{Text: "<text>"},
				&sdk.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
				&sdk.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain", Size: &size},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "b"}},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", Blob: []byte("c")}},
				&sdk.AudioContent{Data: []byte("beep"), MIMEType: "audio/wav"},
			},
			StructuredContent: map[string]any{"n": 1},
		}, nil
	})
	addAsking(s, add)
	s.AddTool(&sdk.Tool{
		Name: "look.up", InputSchema: json.RawMessage(`{"type":"object"}`), Title: "Look up",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"found": true}}, nil
	})
	return s
}

// stdio is a server of that kind.
func stdio(t testing.TB, name, kind string, env ...string) Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Command: self, Env: append([]string{kindVar + "=" + kind}, env...)}
}

// start starts a set that the test's end closes.
func start(t testing.TB, o Options, servers ...Server) *Set {
	t.Helper()
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Cwd == "" {
		o.Cwd = t.TempDir()
	}
	s := Start(context.Background(), servers, o)
	t.Cleanup(s.Close)
	return s
}

// patience is for what happens soon on any machine; it is never used up in a
// test that passes.
const patience = 2 * time.Minute

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// settled returns the tools by name and the failures.
func settled(t testing.TB, s *Set) (map[string]tool.Tool, []string) {
	t.Helper()
	ctx := soon(t)
	tools, failures, late := s.Tools(ctx)
	if late != nil || ctx.Err() != nil {
		t.Fatal("the servers did not settle")
	}
	return byName(tools), failures
}

func byName(tools []tool.Tool) map[string]tool.Tool {
	m := map[string]tool.Tool{}
	for _, tl := range tools {
		m[tl.Spec().Name] = tl
	}
	return m
}

// until waits for a state of the set.
func until(t testing.TB, s *Set, cond func() bool) {
	t.Helper()
	ctx := soon(t)
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the state did not come")
		}
	}
}

// run calls a tool and returns its text.
func run(t testing.TB, tools map[string]tool.Tool, name string, args ...any) (string, tool.Result) {
	t.Helper()
	tl, ok := tools[name]
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	res, err := tl.Run(soon(t), tooltest.Env(t, t.TempDir()), tooltest.Args(args...))
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Text(res), res
}

func contains(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q does not say %q", got, w)
		}
	}
}
