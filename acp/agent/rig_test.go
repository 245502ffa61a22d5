package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/agent"
	"acp-agent/acp/stdio"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/file"
	"acp-agent/loop/tool/search"
	"acp-agent/loop/tool/shell"
	"acp-agent/loop/tool/todo"
	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// answer plays one model answer.
type answer func(ctx context.Context, req *model.Request, yield func(session.Chunk, error) bool)

// script is a model: request n of a session gets answer n, later ones "ok".
type script struct {
	mu       sync.Mutex
	answers  []answer
	requests []*model.Request
}

// Stream implements model.Client.
func (m *script) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	m.mu.Lock()
	n := len(m.requests)
	cp := *req
	cp.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, &cp)
	a := says("ok")
	if n < len(m.answers) {
		a = m.answers[n]
	}
	m.mu.Unlock()
	return func(yield func(session.Chunk, error) bool) { a(ctx, req, yield) }
}

// add appends answers.
func (m *script) add(as ...answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.answers) < len(m.requests) {
		m.answers = append(m.answers, says("ok"))
	}
	m.answers = append(m.answers[:len(m.requests)], as...)
}

// request returns the request of that number, counted from the end when it is
// negative.
func (m *script) request(t *testing.T, n int) *model.Request {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < 0 {
		n += len(m.requests)
	}
	if n < 0 || n >= len(m.requests) {
		t.Fatalf("the model was asked %d times; request %d was wanted", len(m.requests), n)
	}
	return m.requests[n]
}

func (m *script) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func chunks(cs ...session.Chunk) answer {
	return func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func textChunks(words ...string) []session.Chunk {
	cs := []session.Chunk{{Type: session.ChunkBlockStart, BlockType: session.BlockText}}
	for _, w := range words {
		cs = append(cs, session.Chunk{Type: session.ChunkText, Text: w})
	}
	return cs
}

func finish(kind session.FinishKind) session.Chunk {
	return session.Chunk{Type: session.ChunkFinish, Finish: kind}
}

func says(words ...string) answer {
	return chunks(append(textChunks(words...), finish(session.FinishStop))...)
}

// ends answers with a text and a finish kind.
func ends(kind session.FinishKind, words ...string) answer {
	return chunks(append(textChunks(words...), finish(kind))...)
}

// usage answers with a text and a usage report.
func usage(u session.Usage, words ...string) answer {
	return chunks(append(textChunks(words...), session.Chunk{Type: session.ChunkUsage, Usage: &u}, finish(session.FinishStop))...)
}

func thinks(thought, text string) answer {
	return chunks(
		session.Chunk{Type: session.ChunkBlockStart, BlockType: session.BlockReasoning},
		session.Chunk{Type: session.ChunkReasoning, Text: thought},
		session.Chunk{Type: session.ChunkBlockStart, Index: 1, BlockType: session.BlockText},
		session.Chunk{Type: session.ChunkText, Index: 1, Text: text},
		finish(session.FinishStop))
}

type toolCall struct{ id, name, args string }

// args makes a call's arguments.
func args(kv ...any) string {
	m := map[string]any{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, _ := json.Marshal(m)
	return string(b)
}

// calls answers with a text, if it is not empty, and tool calls.
func calls(text string, cs ...toolCall) answer {
	var out []session.Chunk
	n := 0
	if text != "" {
		out, n = textChunks(text), 1
	}
	for i, c := range cs {
		out = append(out,
			session.Chunk{Type: session.ChunkBlockStart, Index: n + i, BlockType: session.BlockToolCall},
			session.Chunk{Type: session.ChunkToolCall, Index: n + i, ID: c.id, Name: c.name, Text: c.args})
	}
	return chunks(append(out, finish(session.FinishToolCalls))...)
}

func fails(err error, words ...string) answer {
	return func(_ context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range textChunks(words...)[:min(1, len(words))*(len(words)+1)] {
			if !yield(c, nil) {
				return
			}
		}
		yield(session.Chunk{}, err)
	}
}

// hangs says the words and waits for the cancel.
func hangs(words ...string) answer {
	return func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
		for _, c := range textChunks(words...) {
			if !yield(c, nil) {
				return
			}
		}
		<-ctx.Done()
		yield(session.Chunk{}, ctx.Err())
	}
}

// rig is an agent with its store, its model and a client.
type rig struct {
	*acptest.Client
	t     *testing.T
	dir   string // a session's working directory
	state string // the store's
	store *jsonl.Store
	model *script
	agent *agent.Agent
	build *builder
}

// options adjusts a rig before it starts.
type options struct {
	caps     acp.ClientCapabilities
	rules    [3][]string // allow, ask, deny
	models   []model.Info
	tools    []tool.Tool
	servers  loop.Servers
	hold     func(loop.Config) loop.Config
	config   func(*agent.Config)
	notices  []session.Notice
	dir      string
	state    string
	commands string
	raw      bool // no initialize
}

// builder makes session configurations as the program does, with the script
// for a model.
type builder struct {
	r  *rig
	o  options
	mu sync.Mutex
	// params of the sessions that were built, in order.
	params []*agent.SessionParams
	fail   error
	closed int
}

var testModels = []model.Info{
	{Ref: "test/big", Window: 100_000, Images: true, Efforts: []string{"low", "high"}, Price: &model.Price{Input: 1, Output: 2}},
	{Ref: "test/small", Window: 8_000},
}

// Client implements loop.Models.
func (b *builder) Client(ref string) (model.Client, model.Info, error) {
	for _, m := range b.o.models {
		if m.Ref == ref {
			return b.r.model, m, nil
		}
	}
	return nil, model.Info{}, &model.Error{Kind: model.KindNotFound, Message: "there is no model " + ref}
}

// Session implements agent.Builder.
func (b *builder) Session(_ context.Context, p *agent.SessionParams) (loop.Config, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return loop.Config{}, b.fail
	}
	b.params = append(b.params, p)
	sh := shell.New(shell.Options{Timeout: time.Minute})
	all := append(sh.Tools(), file.Tools()...)
	all = append(all, search.Tools()...)
	all = append(all, todo.New(nil))
	all = append(all, b.o.tools...)
	all = append(all, extraTools(p)...)
	reg, err := tool.NewRegistry(all...)
	if err != nil {
		return loop.Config{}, err
	}
	rules, err := permission.NewRules("", b.o.rules[0], b.o.rules[1], b.o.rules[2])
	if err != nil {
		return loop.Config{}, err
	}
	var files tool.Files = file.Disk(p.Roots)
	if p.Read != nil || p.Write != nil {
		files = file.Guard(p.Read, p.Write, file.Disk(p.Roots))
	}
	cfg := loop.Config{
		Models: b, ModelRef: b.o.models[0].Ref, Tools: reg, Rules: rules, System: "system" + p.System,
		Environ: os.Environ(), Files: files, Terminal: p.Terminal, Roots: p.Roots,
		Limits: loop.Limits{Steps: 20, Continuations: 8}, Servers: b.o.servers, Notices: slices.Clone(b.o.notices),
		Retry: loop.RetryPolicy{Max: 2, Base: time.Second, Cap: time.Minute, MaxAfter: time.Minute},
		NewID: newID, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		OnClose: func() {
			_ = sh.Close()
			b.mu.Lock()
			b.closed++
			b.mu.Unlock()
		},
	}
	wire(&cfg, p)
	if b.o.hold != nil {
		cfg = b.o.hold(cfg)
	}
	return cfg, nil
}

var ids struct {
	sync.Mutex
	n int
}

func newID() string {
	ids.Lock()
	defer ids.Unlock()
	ids.n++
	return fmt.Sprintf("id-%06d", ids.n)
}

func start(t *testing.T, o options) *rig {
	t.Helper()
	if o.models == nil {
		o.models = testModels
	}
	r := &rig{t: t, dir: o.dir, state: o.state, model: &script{}}
	if r.dir == "" {
		r.dir = realDir(t)
	}
	if r.state == "" {
		r.state = realDir(t)
	}
	var err error
	if r.store, err = jsonl.Open(r.state, jsonl.Options{}); err != nil {
		t.Fatal(err)
	}
	r.build = &builder{r: r, o: o}
	cfg := agent.Config{
		Context: t.Context(), Store: r.store, Catalog: r.store, Builder: r.build,
		Models:        func() []model.Info { return o.models },
		CommandDirs:   func(cwd string) []string { return []string{filepath.Join(cwd, ".commands"), o.commands} },
		DescribeHooks: func(string, string) string { return "no hooks" },
		Info:          acp.Implementation{Name: "test-agent", Version: "1.2.3"},
		AuthMethods: []acp.AuthMethod{
			{Agent: &acp.AuthMethodAgent{ID: "key", Name: "Key"}},
			{Terminal: &acp.AuthMethodTerminal{ID: "login", Name: "Log in", Args: []string{"login"}}},
		},
		Authenticate: func(context.Context, string) error { return nil },
		NewID:        newID, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if o.config != nil {
		o.config(&cfg)
	}
	r.agent = agent.New(cfg)
	r.Client = acptest.Start(t, func(ctx context.Context, s *stdio.Stream) error {
		var mux acp.Mux
		r.agent.Register(&mux)
		err := acp.Serve(ctx, s, &mux, acp.ServeOptions{OnConn: r.agent.Attach})
		return errors.Join(err, r.agent.Shutdown(context.WithoutCancel(ctx)))
	})
	if !o.raw {
		r.call(acp.MethodInitialize, &acp.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: o.caps}, nil)
	}
	return r
}

// bubble runs a test with a rig inside a synctest bubble: time is fake, and a
// wait that nothing can end fails the test.
func bubble(t *testing.T, o options, fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(start(t, o)) })
}

// realDir is a temporary directory with symlinks resolved.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// call makes a request that must succeed.
func (r *rig) call(method string, params, result any) {
	r.t.Helper()
	if err := r.Call(r.t.Context(), method, params, result); err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
}

// refused makes a request that must fail with that code, and returns the error.
func (r *rig) refused(method string, params any, code int) *acp.Error {
	r.t.Helper()
	err := r.Call(r.t.Context(), method, params, nil)
	var e *acp.Error
	if !errors.As(err, &e) || int(e.Code) != code {
		r.t.Fatalf("%s %+v: error %v, want code %d", method, params, err, code)
	}
	return e
}

// open makes a session.
func (r *rig) open() string {
	r.t.Helper()
	return r.opened().SessionID
}

func (r *rig) opened() *acp.NewSessionResponse {
	r.t.Helper()
	var res acp.NewSessionResponse
	r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}, &res)
	return &res
}

func textPrompt(id, text string) *acp.PromptRequest {
	return &acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}}
}

// say prompts and wants a stop reason.
func (r *rig) say(id, text string, want acp.StopReason) {
	r.t.Helper()
	r.prompt(textPrompt(id, text), want)
}

func (r *rig) prompt(p *acp.PromptRequest, want acp.StopReason) {
	r.t.Helper()
	var res acp.PromptResponse
	r.call(acp.MethodSessionPrompt, p, &res)
	if res.StopReason != want {
		r.t.Fatalf("the prompt ended with %q, want %q", res.StopReason, want)
	}
}

// stops waits for a prompt's answer and wants a stop reason.
func (r *rig) stops(p *acptest.Pending, want acp.StopReason) {
	r.t.Helper()
	var res acp.PromptResponse
	if err := p.Wait(r.t.Context(), &res); err != nil || res.StopReason != want {
		r.t.Fatalf("the prompt ended with %q, %v, want %q", res.StopReason, err, want)
	}
}

// seen waits until an update of the session fits.
func (r *rig) seen(id string, match func(acp.SessionUpdate) bool) acptest.Frame {
	r.t.Helper()
	return r.WaitFrame(r.t.Context(), 0, func(f acptest.Frame) bool {
		return f.Update != nil && f.Update.SessionID == id && match(f.Update.Update)
	})
}

// runs has the model run a command without end, and returns the prompt when the
// command's output is there. gone checks that the command is not.
func (r *rig) runs(id string) (p *acptest.Pending, gone func()) {
	r.t.Helper()
	r.permissions(acp.PermissionOptionKindAllowOnce)
	r.model.add(calls("", toolCall{"c", "bash", args("command", "echo pid $$; sleep 1000")}))
	p = r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
	var pid string
	r.seen(id, func(u acp.SessionUpdate) bool {
		if u.ToolCallUpdate == nil || len(u.ToolCallUpdate.Content) == 0 || u.ToolCallUpdate.Content[0].Content == nil {
			return false
		}
		_, rest, _ := strings.Cut(u.ToolCallUpdate.Content[0].Content.Content.Text.Text, "pid ")
		pid, _, _ = strings.Cut(rest, "\n")
		return pid != ""
	})
	return p, func() {
		r.t.Helper()
		if _, err := os.Stat("/proc/" + pid); err == nil {
			r.t.Errorf("process %s is still there", pid)
		}
	}
}

// seenText waits for message text.
func (r *rig) seenText(id, text string) {
	r.t.Helper()
	r.seen(id, func(u acp.SessionUpdate) bool {
		return u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil && strings.Contains(u.AgentMessageChunk.Content.Text.Text, text)
	})
}

// last returns the last update of a kind.
func last[T any](r *rig, id string, pick func(acp.SessionUpdate) *T) *T {
	var out *T
	for _, u := range r.Updates(id) {
		if v := pick(u); v != nil {
			out = v
		}
	}
	return out
}

// load loads a session in the rig's directory.
func (r *rig) load(id string) *acp.LoadSessionResponse {
	r.t.Helper()
	var res acp.LoadSessionResponse
	r.call(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}, &res)
	return &res
}

func (r *rig) close(id string) {
	r.t.Helper()
	r.call(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id}, nil)
}

// write makes a file below the working directory and returns its path.
func (r *rig) write(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// holds checks a file's content; "" stands for a file that is not there.
func (r *rig) holds(path, want string) {
	r.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	if string(got) != want {
		r.t.Errorf("%s holds %q, want %q", path, got, want)
	}
}

// permissions records what is asked and answers by kind; "" cancels.
func (r *rig) permissions(kind acp.PermissionOptionKind) *asked {
	a := &asked{}
	acptest.Handle(r.Client, acp.MethodSessionRequestPermission, func(_ context.Context, p *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		a.add(p)
		for _, o := range p.Options {
			if o.Kind == kind {
				return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: o.OptionID}}, nil
			}
		}
		return &acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
	})
	return a
}

// asked are the permission requests so far.
type asked struct {
	mu   sync.Mutex
	reqs []*acp.RequestPermissionRequest
}

func (a *asked) add(p *acp.RequestPermissionRequest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reqs = append(a.reqs, p)
}

func (a *asked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.reqs)
}

// settle waits until nothing but time, or a message, moves anything.
func settle(r *rig) {
	// The list's answer shows that what was sent before has been admitted; then
	// the bubble is still.
	r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, nil)
	synctest.Wait()
}
