package loop

import (
	"context"
	"fmt"

	"acp-agent/hooks"
	"acp-agent/loop/judge"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

var _ hooks.Judge = (*Session)(nil)

// Judge implements hooks.Judge for the hooks that fire in a turn of this session:
// the model in use, or the one that the hook names, answers with the session's
// reading tools at hand. It runs beside the owner and ends with ctx.
func (s *Session) Judge(ctx context.Context, q *hooks.Question) (string, error) {
	e := &evaluator{s: s, ctx: ctx, seen: tool.NewSeen()}
	// The state is the owner's: what is needed of it is taken once.
	if err := s.Do(ctx, func(*session.State) error { return e.take(q) }); err != nil {
		return "", err
	}
	j := &judge.Judge{Client: e.client, Info: e.info, Log: s, Retry: s.cfg.Retry.Next}
	c := &judge.Case{
		Turn: e.turn, Point: string(q.Event), Handler: q.Handler, SessionID: s.ID(), Cwd: e.cwd,
		System: q.System, Prompt: q.Prompt, Check: q.Check, Rounds: q.Rounds,
		Answer: session.ToolSchema{Name: q.Tool.Name, Description: q.Tool.Description, Parameters: q.Tool.Schema},
	}
	if q.Tool.Name != "" {
		j.Hands = &judge.Hands{Tools: e.tools, Env: e.env, Permit: e.permit, Redact: s.redact, Transcript: q.Transcript}
	}
	return j.Decide(ctx, c)
}

// evaluator is what a hook's model has around it: the session as it was when the
// hook fired.
type evaluator struct {
	s      *Session
	ctx    context.Context // of the hook; the evaluator does not outlive it
	client model.Client
	info   model.Info
	tools  *tool.Registry
	hooks  hooks.Engine
	turn   int
	cwd    string
	mode   string
	// seen is its own: what it has read is not read for the session's model.
	seen *tool.Seen
}

func (e *evaluator) take(q *hooks.Question) error {
	s := e.s
	ref := s.modelRef()
	if s.cfg.HookModel != nil {
		ref = s.cfg.HookModel(q.Model, ref)
	}
	var err error
	if e.client, e.info, err = s.cfg.Models.Client(ref); err != nil {
		return err
	}
	if e.info.Ref == "" {
		e.info.Ref = ref
	}
	if e.tools, err = judge.Offer(s.Tools(), s.cfg.Rules); err != nil {
		return fmt.Errorf("the tools of a hook's evaluator: %w", err)
	}
	e.turn, e.cwd, e.mode, e.hooks = s.turnNumber(), s.cwd(), s.Mode(), s.cfg.Hooks
	return nil
}

func (e *evaluator) env(callID string) *tool.Env {
	s := e.s
	return &tool.Env{
		CallID: callID, Cwd: e.cwd, Roots: s.cfg.Roots, Environ: s.environ(), Files: turnFiles{s.cfg.Files, e.ctx},
		Seen: e.seen, Images: e.info.Images, Progress: func(tool.Progress) {},
	}
}

// guarded is what a call is answered that a hook would look at before it runs.
const guarded = "This call did not run: hooks look at such calls before they run in this session, and they do not see those made here. Use the tools that read and search."

// permit applies the session's rules. No hook fires in an evaluator, so what a
// PreToolUse hook watches over, other than reading files, is not done at all.
func (e *evaluator) permit(c permission.Call) string {
	if why := judge.Permit(e.s.cfg.Rules, e.mode, c); why != "" {
		return why
	}
	switch c.Name {
	case "read", "glob", "grep":
		return ""
	}
	g, ok := e.hooks.(interface{ Guards(*hooks.Call) bool })
	if ok && g.Guards(&hooks.Call{
		Event: hooks.PreToolUse, SessionID: e.s.ID(), Cwd: e.cwd, ProjectDir: e.cwd, Mode: e.mode,
		Tool: &hooks.Tool{Name: c.Name, Input: c.Input},
	}) {
		return guarded
	}
	return ""
}
