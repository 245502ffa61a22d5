package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/loop"
	"acp-agent/loop/judge"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/file"
	"acp-agent/loop/tool/shell"
	"acp-agent/session"
)

// sessionJudge lets the hooks of a session ask in it.
type sessionJudge struct{ live *atomic.Pointer[loop.Session] }

// Judge implements hooks.Judge.
func (j sessionJudge) Judge(ctx context.Context, q *hooks.Question) (string, error) {
	l := j.live.Load()
	if l == nil {
		return "", errors.New("the session is not open yet")
	}
	return l.Judge(ctx, q)
}

// dryJudge keeps what would be asked and asks nobody; with next it asks there,
// and keeps the answers too.
type dryJudge struct {
	next hooks.Judge

	mu    sync.Mutex
	asked map[string]*inquiry
}

// inquiry is what a run of a hook asked, or would have.
type inquiry struct {
	*hooks.Question
	answer string
}

// errDry is why a handler that would ask a model was not run.
type errDry struct{}

func (errDry) Error() string        { return "a check asks no model unless you say --ask" }
func (errDry) Is(target error) bool { return target == hooks.ErrNotAsked }

// Judge implements hooks.Judge.
func (j *dryJudge) Judge(ctx context.Context, q *hooks.Question) (string, error) {
	in := &inquiry{Question: q}
	j.mu.Lock()
	if j.asked == nil {
		j.asked = map[string]*inquiry{}
	}
	j.asked[q.Handler] = in
	j.mu.Unlock()
	if j.next == nil {
		return "", errDry{}
	}
	answer, err := j.next.Judge(ctx, q)
	in.answer = answer // read when the hooks have ended
	return answer, err
}

// bench judges where there is no session, for a check: with the tools that a
// session in the directory would have, under the config file's rules. Nothing of
// it is logged.
type bench struct {
	cfg   *config.Config
	dir   string
	sh    *shell.Shell
	tools *tool.Registry
	rules *permission.Rules
	// models are made when a hook asks: most checks need no model.
	models func() (*models, error)
}

func newBench(cfg *config.Config, dir string) (*bench, error) {
	b := &bench{cfg: cfg, dir: dir, sh: shell.New(shell.Options{Timeout: cfg.Limits.ToolTimeout})}
	b.models = sync.OnceValues(func() (*models, error) { return newModels(cfg, slog.New(slog.DiscardHandler)) })
	var err error
	if b.rules, err = permissionRules(cfg); err != nil {
		return nil, err
	}
	all, err := newTools(b.sh, false)
	if err != nil {
		return nil, err
	}
	b.tools, err = judge.Offer(all, b.rules)
	return b, err
}

func (b *bench) close() error { return b.sh.Close() }

// ref is the model that a question of a hook goes to.
func (b *bench) ref(name string) (string, error) {
	m, err := b.models()
	if err != nil {
		return "", err
	}
	ref, err := m.defaultRef()
	if err != nil {
		return "", err
	}
	return m.hookModel(name, ref), nil
}

// Record implements judge.Log: a check leaves no session behind.
func (b *bench) Record(context.Context, ...session.Data) error { return nil }

// Judge implements hooks.Judge.
func (b *bench) Judge(ctx context.Context, q *hooks.Question) (string, error) {
	ref, err := b.ref(q.Model)
	if err != nil {
		return "", err
	}
	m, err := b.models()
	if err != nil {
		return "", err
	}
	client, info, err := m.Client(ref)
	if err != nil {
		return "", err
	}
	j := &judge.Judge{Client: client, Info: info, Log: b, Retry: m.retry(b.cfg.Limits.Retries).Next}
	if q.Tool.Name != "" {
		j.Hands = b.hands(q, info)
	}
	return j.Decide(ctx, &judge.Case{
		Point: string(q.Event), Handler: q.Handler, Cwd: b.dir, System: q.System, Prompt: q.Prompt, Check: q.Check, Rounds: q.Rounds,
		Answer: session.ToolSchema{Name: q.Tool.Name, Description: q.Tool.Description, Parameters: q.Tool.Schema},
	})
}

func (b *bench) hands(q *hooks.Question, info model.Info) *judge.Hands {
	seen, roots, redact := tool.NewSeen(), []string{b.dir}, b.cfg.Redactor()
	return &judge.Hands{
		Tools: b.tools, Transcript: q.Transcript,
		Env: func(id string) *tool.Env {
			return &tool.Env{
				CallID: id, Cwd: b.dir, Roots: roots, Environ: b.cfg.Environ(), Files: file.Disk(roots), Seen: seen,
				Images: info.Images, Progress: func(tool.Progress) {},
			}
		},
		Permit: func(c permission.Call) string { return judge.Permit(b.rules, b.cfg.Permissions.Mode, c) },
		Redact: func(r *tool.Result) {
			for i := range r.Content {
				r.Content[i].Text = redact(r.Content[i].Text)
			}
		},
	}
}

// claudeFamilies are the short names by which Claude Code's settings name models
// (Claude Code model configuration, aliases).
var claudeFamilies = []string{"haiku", "sonnet", "opus", "fable", "mythos"}

// hookModel is the model that a hook asks, by the name that it gives: one of this
// agent's (provider/name, or the name alone), one of Claude Code's short names
// where a provider has such a model, any Claude where there is Anthropic's key;
// else current.
func (m *models) hookModel(name, current string) string {
	if name == "" || m.replay != nil {
		return current
	}
	if strings.Contains(name, "/") {
		if _, _, err := m.Client(name); err == nil {
			return name
		}
		return current
	}
	// The session's own provider first.
	provider, _, _ := strings.Cut(current, "/")
	var own, others []string
	for _, info := range m.known() {
		if strings.HasPrefix(info.Ref, provider+"/") {
			own = append(own, info.Ref)
		} else {
			others = append(others, info.Ref)
		}
	}
	refs := append(own, others...)
	for _, ref := range refs {
		if _, n, _ := strings.Cut(ref, "/"); n == name {
			return ref
		}
	}
	if slices.Contains(claudeFamilies, name) {
		for _, ref := range refs {
			if strings.Contains(ref, "/claude-"+name+"-") {
				return ref
			}
		}
	}
	if strings.HasPrefix(name, "claude-") {
		if _, err := m.cfg.Key("anthropic"); err == nil {
			return "anthropic/" + name
		}
	}
	return current
}
