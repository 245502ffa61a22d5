package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// wireModels are the models of the fake server, by provider.
var wireModels = []string{"deepseek/deepseek-v4-flash", "openai/gpt-5.5", "anthropic/claude-sonnet-5-5", "gpt/gpt-5.5"}

// lookTool is a tool that reads something. It counts what it was asked.
type lookTool struct {
	mu   sync.Mutex
	seen map[string]int
	// on is called in each run.
	on func(at string)
}

func (l *lookTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "look", Description: "Looks at something.", ReadOnly: true, Kind: tool.KindRead,
		Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`),
	}
}
func (l *lookTool) View(*tool.Env, json.RawMessage) tool.View { return tool.View{Title: "look"} }
func (l *lookTool) Run(_ context.Context, _ *tool.Env, input json.RawMessage) (tool.Result, error) {
	var in struct{ At string }
	if err := json.Unmarshal(input, &in); err != nil {
		return tool.Result{}, err
	}
	l.mu.Lock()
	l.seen[in.At]++
	l.mu.Unlock()
	if l.on != nil {
		l.on(in.At)
	}
	return tool.Result{Content: []session.Block{session.Text("seen " + in.At)}}, nil
}

// wireRig is a session on a real store, with the program's own model clients.
type wireRig struct {
	*loop.Session
	t     *testing.T
	fake  *fakeModels
	cfg   loop.Config
	store *jsonl.Store
	look  *lookTool

	mu sync.Mutex
	// shown is the text that was streamed of each message, kept what was
	// committed of it.
	shown, kept map[string]string
	// said is the answers' text in the order in which it was shown.
	said strings.Builder
}

// newWireRig starts a session with a model.
func newWireRig(t *testing.T, f *fakeModels, ref string) *wireRig {
	t.Helper()
	r := &wireRig{t: t, fake: f, look: &lookTool{seen: map[string]int{}}, shown: map[string]string{}, kept: map[string]string{}}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	toml := fmt.Sprintf("[providers.gpt]\nbase_url = %q\napi_key_env = \"GPT_API_KEY\"\nwire = \"responses\"\nmodels = [\"gpt-5.5\"]\n", f.url+"/gpt/v1")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + dir, "GPT_API_KEY=sk-fake-0123456789"}
	for _, name := range []string{"deepseek", "openai", "anthropic"} {
		up := strings.ToUpper(name)
		env = append(env, up+"_API_KEY=sk-fake-0123456789", up+"_BASE_URL="+f.url+"/"+name)
	}
	cfg, err := config.Load(config.Flags{ConfigFile: file, StateDir: dir}, config.NewEnv(env))
	if err != nil {
		t.Fatal(err)
	}
	ms, err := newModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tool.NewRegistry(r.look)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := permission.NewRules("", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	r.cfg = loop.Config{
		Models: ms, ModelRef: ref, Tools: reg, Rules: rules, Asker: r, Observer: r, System: "You are tested.\nLook when you are told to.",
		Limits: loop.Limits{Steps: 50, Continuations: 8},
		Retry:  loop.RetryPolicy{Max: 5, Base: time.Microsecond, Cap: time.Microsecond, MaxAfter: time.Minute},
		NewID:  func() string { n++; return fmt.Sprintf("id-%d", n) }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	}
	if r.store, err = jsonl.Open(filepath.Join(dir, "sessions"), jsonl.Options{}); err != nil {
		t.Fatal(err)
	}
	h := session.Header{Version: session.Version, ID: "s-wires", Cwd: dir, CreatedAt: time.Now().UTC()}
	log, err := r.store.Create(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	r.start(log, session.NewState(h), "startup")
	return r
}

func (r *wireRig) start(log session.Log, st *session.State, source string) {
	r.t.Helper()
	var err error
	if r.Session, err = loop.New(r.cfg, log, st, source); err != nil {
		r.t.Fatal(err)
	}
}

// reopen closes the session and loads it from its file.
func (r *wireRig) reopen() {
	r.t.Helper()
	if err := r.Close(context.Background(), "other"); err != nil {
		r.t.Fatal(err)
	}
	log, st, err := r.store.Open(r.t.Context(), "s-wires", func(session.Event) error { return nil })
	if err != nil {
		r.t.Fatal(err)
	}
	r.start(log, st, "resume")
}

// Events implements loop.Observer.
func (r *wireRig) Events(_ context.Context, evs []session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range evs {
		m, ok := ev.Data.(*session.AssistantMessage)
		if !ok {
			continue
		}
		for _, b := range m.Message.Content {
			if b.Type == session.BlockText || b.Type == session.BlockReasoning {
				r.kept[m.Message.ID] += b.Text
			}
		}
	}
}

// Delta implements loop.Observer.
func (r *wireRig) Delta(_ context.Context, id string, c *session.Chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown[id] += c.Text
	if c.Type == session.ChunkText {
		r.said.WriteString(c.Text)
	}
}

// Progress implements loop.Observer.
func (r *wireRig) Progress(context.Context, string, tool.Progress) {}

// Ask implements loop.Asker.
func (r *wireRig) Ask(context.Context, *loop.Question) (string, error) { return "allow_once", nil }

// prompt runs a turn.
func (r *wireRig) prompt(text string) error {
	r.t.Helper()
	slot, err := r.Admit(r.t.Context())
	if err != nil {
		r.t.Fatalf("the session takes no prompt: %v", err)
	}
	reason, err := slot.Prompt([]session.Block{session.Text(text)}, session.Source{Kind: session.SourceUser})
	if err == nil && reason.Kind != session.EndCompleted {
		r.t.Errorf("%q ended %s: %s", text, reason.Kind, reason.Message)
	}
	return err
}

// lastText is the text of the log's last message of the model.
func (r *wireRig) lastText() string {
	r.t.Helper()
	var out string
	err := r.Do(r.t.Context(), func(st *session.State) error {
		for _, m := range st.Messages {
			if m.Role != session.RoleAssistant {
				continue
			}
			out = ""
			for _, b := range m.Content {
				if b.Type == session.BlockText {
					out += b.Text
				}
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// verify reads the file and checks it, and that what was shown is what was
// kept, every letter once: of each message that was committed, and of all that
// the model is sent, which holds what came of answers that were cut, too.
func (r *wireRig) verify() {
	r.t.Helper()
	if err := r.Close(context.Background(), "other"); err != nil {
		r.t.Fatal(err)
	}
	var events []session.Event
	got, err := r.store.Read(r.t.Context(), "s-wires", func(ev session.Event) error { events = append(events, ev); return nil })
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range session.Verify(got.State.Header, events) {
		r.t.Errorf("log: %s", p)
	}
	for id, text := range r.kept {
		if r.shown[id] != text {
			r.t.Errorf("message %s: %q was shown, %q kept", id, r.shown[id], text)
		}
	}
	var sent strings.Builder
	for _, m := range got.State.Messages {
		for _, b := range m.Content {
			if m.Role == session.RoleAssistant && b.Type == session.BlockText {
				sent.WriteString(b.Text)
			}
		}
	}
	if diff := cmp.Diff(r.said.String(), sent.String()); diff != "" {
		r.t.Errorf("-shown +sent to the model:\n%s", diff)
	}
	for at, n := range r.look.seen {
		if n != 1 {
			r.t.Errorf("look at %s ran %d times", at, n)
		}
	}
	for _, why := range r.fake.refused {
		r.t.Errorf("a strict provider refused: %s", why)
	}
}

// TestRequestsOfEachWire pins what each provider is sent, byte for byte: a turn
// with thinking, two calls at once, steering while they run, and a second turn.
func TestRequestsOfEachWire(t *testing.T) {
	for _, ref := range wireModels {
		t.Run(strings.ReplaceAll(ref, "/", "-"), func(t *testing.T) {
			f := newFakeModels(t)
			r := newWireRig(t, f, ref)
			r.look.on = func(at string) {
				if at == "onea" {
					if err := r.Steer(t.Context(), []session.Block{session.Text(" Steer <left> & \u2028 stay. ")}, session.Source{Kind: session.SourceUser}); err != nil {
						t.Error(err)
					}
				}
			}
			for _, p := range []string{"work one", "say two"} {
				if err := r.prompt(p); err != nil {
					t.Fatal(err)
				}
				if got := r.lastText(); got != finalText(p) {
					t.Errorf("%q ends with %q", p, got)
				}
			}
			r.verify()
			got := strings.Join(f.take(), "\n") + "\n"
			file := filepath.Join("testdata", "requests", strings.ReplaceAll(ref, "/", "-")+".expected.jsonl")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got (run with -update if it is meant):\n%s", diff)
			}
		})
	}
}

// TestRequestsGrowAtTheEnd holds what prompt caches live of: each request of a
// session begins as the one before it ended.
func TestRequestsGrowAtTheEnd(t *testing.T) {
	f := newFakeModels(t)
	r := newWireRig(t, f, wireModels[0])
	for i := range 4 {
		if err := r.prompt(fmt.Sprintf("work %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	bodies := f.take()
	for i := 1; i < len(bodies); i++ {
		if before := strings.TrimSuffix(bodies[i-1], "]}"); !strings.HasPrefix(bodies[i], before) {
			t.Errorf("request %d does not begin with request %d:\n%s", i+1, i, cmp.Diff(before, bodies[i]))
		}
	}
	r.verify()
}

// TestCallsWrittenAsText has DeepSeek write its calls into the text (TokenRhythm/opensquilla#985):
// they run, nothing of the markup is shown or sent back, also when requests fail.
func TestCallsWrittenAsText(t *testing.T) {
	f := newFakeModels(t)
	f.markup = true
	r := newWireRig(t, f, wireModels[0])
	for i, p := range []string{"work one", "say two", "work three"} {
		if i == 2 {
			f.chaos(rand.New(rand.NewPCG(1, 2)), 0.5, fault500, faultEmpty)
		}
		if err := r.prompt(p); err != nil {
			t.Fatal(err)
		}
		if got := r.lastText(); got != finalText(p) {
			t.Errorf("%q ends with %q", p, got)
		}
	}
	if len(r.look.seen) != 4 {
		t.Errorf("the calls that ran: %v", r.look.seen)
	}
	if s := r.said.String() + strings.Join(f.take(), ""); strings.Contains(s, "DSML") {
		t.Errorf("markup in: %s", s)
	}
	r.verify()
}

// TestSwitchProviders switches from each provider to each other and back, in
// the middle of a session and over a restart; every history must be one that
// the next provider takes.
func TestSwitchProviders(t *testing.T) {
	for _, from := range wireModels {
		for _, to := range wireModels {
			if from == to {
				continue
			}
			t.Run(strings.ReplaceAll(from+" "+to, "/", "-"), func(t *testing.T) {
				f := newFakeModels(t)
				r := newWireRig(t, f, from)
				want := []string{}
				for i, ref := range []string{from, to, from, to} {
					if err := r.SetModel(t.Context(), ref, "", session.Source{Kind: session.SourceClient}); err != nil {
						t.Fatal(err)
					}
					for _, p := range []string{fmt.Sprintf("work w%d", i), fmt.Sprintf("say s%d", i)} {
						if err := r.prompt(p); err != nil {
							t.Fatalf("%s on %s: %v", p, ref, err)
						}
						want = append(want, p)
						if got := r.lastText(); got != finalText(p) {
							t.Errorf("%q ends with %q", p, got)
						}
					}
					if i == 1 {
						r.reopen()
					}
				}
				if diff := cmp.Diff(want, prompts(f.last)); diff != "" {
					t.Errorf("the prompts that the last request holds: %s", diff)
				}
				r.verify()
			})
		}
	}
}

// TestChaos has three of ten requests fail, by each fault alone and by all of
// them. Every prompt must end, the session be usable after it, and nothing be
// doubled or lost: on the wire, in the log and in later requests.
func TestChaos(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	hit, run := map[fault]int{}, uint64(0)
	for _, ref := range wireModels {
		for _, fs := range append(slices.Collect(slices.Chunk(allFaults, 1)), allFaults) {
			name := strings.ReplaceAll(ref, "/", "-") + " " + string(fs[0])
			if len(fs) > 1 {
				name = strings.ReplaceAll(ref, "/", "-") + " all"
			}
			run++
			rnd := rand.New(rand.NewPCG(seed, run))
			t.Run(name, func(t *testing.T) {
				f := newFakeModels(t)
				chaos(t, f, rnd, ref, fs)
				for k, n := range f.hit {
					hit[k] += n
				}
			})
		}
	}
	t.Logf("faults: %v", hit)
	for _, k := range allFaults {
		if hit[k] == 0 {
			t.Errorf("no request failed with %q", k)
		}
	}
}

func chaos(t *testing.T, f *fakeModels, rnd *rand.Rand, ref string, fs []fault) {
	r := newWireRig(t, f, ref)
	f.chaos(rnd, 0.3, fs...)
	var want []string
	for i := range 12 {
		p := fmt.Sprintf("say p%d", i)
		if i%2 == 0 {
			p = fmt.Sprintf("work p%d", i)
		}
		want = append(want, p)
		before := len(r.shown) - len(r.kept)
		err := r.prompt(p)
		// What was shown and not kept is at most the one answer that failed.
		if lost := len(r.shown) - len(r.kept) - before; lost > 1 || lost == 1 && err == nil {
			t.Errorf("%q: %d answers were shown and then taken back, the turn's error is %v", p, lost, err)
		}
		var e *model.Error
		switch {
		case err == nil:
			if got := r.lastText(); got != finalText(p) {
				t.Errorf("%q ends with %q", p, got)
			}
		case !errors.As(err, &e) || !e.Retryable || e.Message == "":
			t.Errorf("%q: %v", p, err)
		}
		if i == 5 {
			r.reopen()
		}
	}
	f.chaos(nil, 0)
	if err := r.prompt("say last"); err != nil || r.lastText() != finalText("say last") {
		t.Errorf("after the chaos: %v, %q", err, r.lastText())
	}
	if diff := cmp.Diff(append(want, "say last"), prompts(f.last)); diff != "" {
		t.Errorf("the prompts that the last request holds: %s", diff)
	}
	r.verify()
}
