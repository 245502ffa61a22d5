package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/file"
	"acp-agent/loop/tool/search"
	"acp-agent/session"
)

// script answers request n with answers[n]: text, or a call as NAME{…}, or an
// error as !KIND.
type script struct {
	answers  []string
	requests []*model.Request
}

func (s *script) Stream(_ context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	n := len(s.requests)
	cp := *req
	s.requests = append(s.requests, &cp)
	return func(yield func(session.Chunk, error) bool) {
		if n >= len(s.answers) {
			yield(session.Chunk{}, model.Errorf(model.KindReplay, "request %d was not scripted", n+1))
			return
		}
		a := s.answers[n]
		if kind, ok := strings.CutPrefix(a, "!"); ok {
			yield(session.Chunk{}, model.Errorf(model.Kind(kind), "%s", kind))
			return
		}
		finish := session.FinishStop
		for i, part := range strings.Split(a, " & ") {
			c := session.Chunk{Type: session.ChunkText, Index: i, Text: part}
			if name, args, ok := strings.Cut(part, "{"); ok && name != "" {
				c = session.Chunk{Type: session.ChunkToolCall, Index: i, Name: name, Text: "{" + args}
				finish = session.FinishToolCalls
			}
			if part != "" && !yield(c, nil) {
				return
			}
		}
		if a == "refuse" {
			finish = session.FinishRefusal
		}
		yield(session.Chunk{Type: session.ChunkFinish, Finish: finish}, nil)
	}
}

// recorder is a log in memory.
type recorder struct {
	data []session.Data
	full int // fails from that record on; 0 never
}

func (r *recorder) Record(_ context.Context, data ...session.Data) error {
	r.data = append(r.data, data...)
	if r.full > 0 && len(r.data) >= r.full {
		return errors.New("the disk is full")
	}
	return nil
}

// verify holds the log to what was sent.
func (r *recorder) verify(t *testing.T, sent []*model.Request) {
	t.Helper()
	var q session.Inquiries
	n := 0
	for _, d := range r.data {
		in := q.Apply(d)
		if in == nil {
			continue
		}
		want, _ := session.RequestDigest(&sent[n].Head, sent[n].Messages)
		got, _ := session.RequestDigest(in.Head, in.Messages)
		if logged := d.(*session.HookRequest).Digest; want != got || want != logged {
			t.Errorf("request %d: sent %s, the log gives %s and says %s", n+1, want, got, logged)
		}
		n++
	}
	if n != len(sent) {
		t.Errorf("%d requests on the log, %d sent", n, len(sent))
	}
}

func check(answer string) error {
	var v struct{ OK *bool }
	if json.Unmarshal([]byte(answer), &v) != nil || v.OK == nil {
		return errors.New("it does not say ok")
	}
	return nil
}

func agentCase() *Case {
	return &Case{
		Turn: 1, Point: "Stop", Handler: "h", System: "s", Prompt: " p\n", Check: check, Rounds: 4,
		Answer: session.ToolSchema{Name: "Say", Parameters: json.RawMessage(`{"type":"object"}`)},
	}
}

func retries(err error, attempt int) (time.Duration, bool) {
	var me *model.Error
	return time.Second, errors.As(err, &me) && me.Retryable && attempt < 3
}

func TestDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		answers  []string
		prompt   bool // without tools, one round
		full     int
		want     string
		err      string
		requests int
	}{
		"by the tool":                    {answers: []string{`Say{"ok":true}`}, want: `{"ok":true}`},
		"by text":                        {answers: []string{`{"ok":false}`}, want: `{"ok":false}`},
		"a bad call, then a good one":    {answers: []string{`Say{"no":1}`, `Say{"ok":true}`}, want: `{"ok":true}`},
		"the decision comes first":       {answers: []string{`nothing{} & Say{"ok":true}`}, want: `{"ok":true}`},
		"unknown tools are survived":     {answers: []string{`nothing{}`, `Say{"ok":true}`}, want: `{"ok":true}`},
		"a reminder":                     {answers: []string{"well", `Say{"ok":true}`}, want: `{"ok":true}`},
		"one reminder only":              {answers: []string{"well", "hm"}, err: `it gave no decision: it does not say ok: it said "hm"`},
		"rounds end":                     {answers: []string{"x{}", "x{}", "x{}", "x{}", "x{}"}, err: "it gave no decision in 4 rounds", requests: 4},
		"a refusal":                      {answers: []string{"refuse"}, err: "the model refused to answer"},
		"a try that passes":              {answers: []string{"!overloaded", "!server", `{"ok":true}`}, want: `{"ok":true}`},
		"too many tries":                 {answers: []string{"!server", "!server", "!server"}, err: "server"},
		"nothing at all is tried again":  {answers: []string{"", `{"ok":true}`}, want: `{"ok":true}`},
		"a failure that does not pass":   {answers: []string{"!auth"}, err: "auth"},
		"a prompt":                       {answers: []string{`{"ok":true}`}, prompt: true, want: `{"ok":true}`},
		"a prompt has no second chance":  {answers: []string{"well"}, prompt: true, err: `it gave no decision: it does not say ok: it said "well"`},
		"what is not logged is not sent": {answers: []string{`{"ok":true}`}, full: 1, err: "the disk is full", requests: -1},
		"nor acted on":                   {answers: []string{`{"ok":true}`}, full: 2, err: "the disk is full"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, log := &script{answers: tc.answers}, &recorder{full: tc.full}
				c := agentCase()
				if tc.prompt {
					c.Answer, c.Rounds = session.ToolSchema{}, 1
				}
				got, err := (&Judge{Client: m, Info: model.Info{Ref: "p/m/x"}, Log: log, Retry: retries}).Decide(t.Context(), c)
				if got != tc.want || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
					t.Errorf("%q %v", got, err)
				}
				want := len(tc.answers)
				if tc.requests != 0 {
					want = max(0, tc.requests)
				}
				if len(m.requests) != want {
					t.Errorf("%d requests, want %d", len(m.requests), want)
				}
				if tc.full == 0 {
					log.verify(t, m.requests)
				}
				for _, r := range m.requests {
					if r.Head.Config.Provider != "p" || r.Head.Config.Model != "m/x" || r.Handler != "h" || r.Messages[0].Content[0].Text != " p\n" {
						t.Errorf("%+v", r)
					}
				}
			})
		})
	}
}

// What is wrong with a decision is said where the model looks for it.
func TestCorrections(t *testing.T) {
	m := &script{answers: []string{`Say{"no":1}`, "well", `Say{"ok":true}`}}
	if _, err := (&Judge{Client: m, Log: &recorder{}, Retry: retries}).Decide(t.Context(), agentCase()); err != nil {
		t.Fatal(err)
	}
	last := m.requests[2].Messages
	if r := last[2].Content[0]; !r.IsError || r.CallID != last[1].Content[0].ID || r.Content[0].Text != "That is no decision: it does not say ok." {
		t.Errorf("%+v", r)
	}
	if u := last[4]; u.Role != session.RoleUser || u.Content[0].Text != "That is no decision: it does not say ok. Call Say now." {
		t.Errorf("%+v", u)
	}
}

// The files that an evaluator reaches: the session's roots, and the transcript
// alone of all that lies beside it.
func TestHandsReachTheTranscript(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	transcript := filepath.Join(state, "t.jsonl")
	for path, text := range map[string]string{filepath.Join(root, "a"): "in the root", transcript: "said before", filepath.Join(state, "other.jsonl"): "another's"} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tools, err := tool.NewRegistry(append(file.Tools(), search.Tools()...)...)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := permission.NewRules("", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tools, err = Offer(tools, rules); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tools.Names()); got != "[glob grep read]" {
		t.Errorf("offered %s", got)
	}
	h := &Hands{
		Tools: tools, Transcript: transcript,
		Env: func(id string) *tool.Env {
			return &tool.Env{CallID: id, Cwd: root, Roots: []string{root}, Files: file.Disk([]string{root}), Seen: tool.NewSeen(), Progress: func(tool.Progress) {}}
		},
		Permit: func(c permission.Call) string { return Permit(rules, permission.ModeBypass, c) },
		Redact: func(r *tool.Result) { r.Content[0].Text = strings.ReplaceAll(r.Content[0].Text, "said", "S") },
	}
	for _, tc := range []struct{ name, args, want string }{
		{"read", `{"file_path":"a"}`, "in the root"},
		{"read", `{"file_path":` + quote(transcript) + `}`, "S before"},
		{"grep", `{"pattern":"before","path":` + quote(transcript) + `}`, "S before"},
		{"read", `{"file_path":` + quote(filepath.Join(state, "other.jsonl")) + `}`, "outside the session's directories"},
		{"grep", `{"pattern":".","path":` + quote(state) + `}`, "outside the session's directories"},
		{"read", `{"file_path":` + quote(state) + `}`, "outside the session's directories"},
		{"read", `{}`, "file_path"},
	} {
		b := h.run(t.Context(), session.Block{Type: session.BlockToolCall, ID: "c", Name: tc.name, Arguments: tc.args})
		if got := b.Content[0].Text; !strings.Contains(got, tc.want) || strings.Contains(got, "another's") || b.CallID != "c" {
			t.Errorf("%s %s: %q", tc.name, tc.args, got)
		}
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestPermit(t *testing.T) {
	rules, err := permission.NewRules("", []string{"Bash(go test:*)"}, []string{"Read(secret)"}, []string{"Bash(go test -exec:*)"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		mode, name, input string
		readOnly, may     bool
	}{
		{permission.ModeDefault, "bash", `{"command":"go test ./..."}`, false, true},
		{permission.ModePlan, "bash", `{"command":"go test ./..."}`, false, false},
		{permission.ModeBypass, "bash", `{"command":"go vet"}`, false, false},
		{permission.ModeDefault, "bash", `{"command":"go test ./... && rm x"}`, false, false},
		{permission.ModeBypass, "bash", `{"command":"go test -exec x"}`, false, false},
		{permission.ModeAcceptEdits, "write", `{"file_path":"x"}`, false, false},
		{permission.ModePlan, "read", `{"file_path":"x"}`, true, true},
		{permission.ModeBypass, "read", `{"file_path":"secret"}`, true, false},
	} {
		if why := Permit(rules, tc.mode, permission.Call{Name: tc.name, Input: json.RawMessage(tc.input), ReadOnly: tc.readOnly, Cwd: "/w"}); (why == "") != tc.may {
			t.Errorf("%s %s %s: %q", tc.mode, tc.name, tc.input, why)
		}
	}
}

// hinted is a tool of an MCP server that is said to be read-only.
type hinted struct{ tool.Tool }

func (hinted) Spec() tool.Spec {
	return tool.Spec{Name: "mcp__s__look", Hinted: true, Kind: tool.KindOther}
}

// What a server says of its tools lets an evaluator use none of them: a rule does.
func TestOfferOfServers(t *testing.T) {
	all, err := tool.NewRegistry(hinted{})
	if err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[string]string{"Bash(ls)": "[]", "mcp__s__*": "[mcp__s__look]"} {
		rules, err := permission.NewRules("", []string{rule}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Offer(all, rules)
		if err != nil || fmt.Sprint(got.Names()) != want {
			t.Errorf("%s: offered %v, %v", rule, got.Names(), err)
		}
		c := permission.Call{Name: "mcp__s__look", Hinted: true, Input: json.RawMessage(`{}`)}
		if why := Permit(rules, permission.ModeBypass, c); (why == "") != (want != "[]") {
			t.Errorf("%s: %q", rule, why)
		}
	}
}
