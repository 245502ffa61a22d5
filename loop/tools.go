package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// job is one tool call on its way from the model's message to its result.
type job struct {
	call  session.Call
	tool  tool.Tool // nil when there is no such tool
	spec  tool.Spec
	input json.RawMessage
	env   *tool.Env
	// result is set as soon as it is known; notRun says why the tool did not
	// run (session.ToolMeta.NotRun), empty when it did.
	result  *tool.Result
	notRun  string
	err     error
	took    time.Duration
	started bool
	// marked: that it started is told with the events (Started).
	marked bool
	// consented: the client was asked about this very call and has allowed it.
	consented bool
	end       *session.EndReason
}

// tools answers the calls of the model's last message: runs of read-only calls
// side by side, the others one by one, results in the model's order.
func (t *turn) tools() (*session.EndReason, error) {
	s := t.s
	st := s.state.Turn
	jobs := make([]*job, len(st.Calls))
	for i, c := range st.Calls {
		jobs[i] = t.newJob(c)
	}
	var end *session.EndReason
	for i := 0; i < len(jobs) && end == nil; {
		j := i + 1
		for jobs[i].parallel() && j < len(jobs) && jobs[j].parallel() {
			j++
		}
		var err error
		if end, err = t.group(jobs[i:j]); err != nil {
			return nil, err
		}
		i = j
	}
	if t.ctx.Err() != nil && end == nil {
		return &session.EndReason{Kind: session.EndCancelled}, nil
	}
	data := []session.Data{}
	if end != nil {
		data = append(data, s.state.CloseCalls()...)
	} else if out, err := t.batchHooks(jobs); err != nil {
		return nil, err
	} else if out != nil {
		for _, j := range jobs {
			t.follow(j, out)
		}
		t.contexts = append(t.contexts, contextData(out, hooks.PostToolBatch)...)
		if out.Blocked || out.Halted {
			end = &session.EndReason{Kind: session.EndCompleted, Message: blockText(out)}
		}
	}
	if err := t.touched(jobs); err != nil {
		return nil, err
	}
	data = append(data, t.takeContexts()...)
	data = append(data, &session.StepEnd{Turn: st.Number, Step: st.Step})
	// Not committed here: the next request, the stop or the turn's end does it at
	// once, and one fsync then serves the results and what follows them.
	return end, s.append(data...)
}

func (j *job) parallel() bool { return j.tool != nil && (j.spec.ReadOnly || j.spec.Hinted) }

func (t *turn) newJob(c session.Call) *job {
	s := t.s
	j := &job{call: c, input: json.RawMessage(c.Arguments)}
	if len(j.input) == 0 {
		j.input = json.RawMessage("{}")
	}
	j.tool, _ = s.Tools().Get(c.Name)
	if j.tool != nil {
		j.spec = j.tool.Spec()
	}
	j.env = s.env(c.ID)
	j.env.Progress = func(p tool.Progress) {
		if s.cfg.Redact != nil {
			p.Output = s.cfg.Redact(p.Output)
		}
		s.cfg.Observer.Progress(t.ctx, c.ID, p)
	}
	j.env.Files = turnFiles{s.cfg.Files, t.ctx}
	if s.cfg.Elicit != nil {
		j.env.Elicit = elicitor{t, j}
	}
	return j
}

// env is what a tool call has around it.
func (s *Session) env(callID string) *tool.Env {
	_, info, _ := s.cfg.Models.Client(s.modelRef())
	return &tool.Env{
		CallID: callID, Cwd: s.cwd(), Roots: s.cfg.Roots, Environ: s.environ(),
		Files: s.cfg.Files, Terminal: s.cfg.Terminal, Forms: s.cfg.Forms, Seen: s.seen, Images: info.Images,
		Progress: func(tool.Progress) {},
	}
}

func (t *turn) runOne(j *job) {
	s := t.s
	if t.ctx.Err() != nil {
		j.fail("cancelled", session.TextNotStarted)
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Log.Error("a tool panicked", "tool", j.call.Name, "panic", p)
			j.fail("", fmt.Sprintf("The tool %s failed inside: %v.", j.call.Name, p))
		}
	}()
	if !j.marked {
		s.cfg.Observer.Progress(t.ctx, j.call.ID, tool.Progress{})
	}
	j.started = true
	begin := s.cfg.Now()
	ctx := t.ctx
	if j.consented {
		ctx = tool.WithConsent(ctx)
	}
	res, err := j.tool.Run(ctx, j.env, j.input)
	j.took = s.cfg.Now().Sub(begin)
	switch {
	case err != nil && t.ctx.Err() != nil:
		j.fail("", session.TextUnknown)
	case err != nil:
		j.err = fmt.Errorf("running the tool %s: %w", j.call.Name, err)
		j.fail("", session.TextUnknown)
	default:
		s.redact(&res)
		j.result = &res
	}
}

// redact takes the providers' keys out of what a tool has read: a command can
// find them in places that its environment does not show.
func (s *Session) redact(r *tool.Result) {
	if s.cfg.Redact == nil {
		return
	}
	for i := range r.Content {
		r.Content[i].Text = s.cfg.Redact(r.Content[i].Text)
	}
	if len(r.Meta.Response) > 0 {
		r.Meta.Response = json.RawMessage(s.cfg.Redact(string(r.Meta.Response)))
	}
}

func (j *job) fail(notRun, text string) {
	r := tool.Fail(text)
	j.result, j.notRun = &r, notRun
}

// listed names tools for a model, which was sent them all with its request.
func listed(names []string) string {
	const most = 100
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// decide settles whether a call may run and on what: arguments, PreToolUse
// hooks, rules, PermissionRequest hooks, the person. It sets j.result where not.
func (t *turn) decide(j *job) error {
	s := t.s
	if t.ctx.Err() != nil {
		j.fail("cancelled", session.TextNotStarted)
		return nil
	}
	if j.tool == nil {
		j.fail("unknown", fmt.Sprintf("There is no tool named %.100q. The tools are: %s.", j.call.Name, listed(s.Tools().Names())))
		return nil
	}
	if err := tool.Check(j.tool, j.input); err != nil {
		j.fail("invalid", err.Error())
		return nil
	}
	out, err := t.fire(&hooks.Call{Event: hooks.PreToolUse, Tool: j.hookTool()})
	if err != nil {
		return err
	}
	if t.ctx.Err() != nil {
		j.fail("cancelled", session.TextNotStarted)
		return nil
	}
	t.contexts = append(t.contexts, contextData(out, hooks.PreToolUse)...)
	if out.Halted {
		text := "A hook stopped the turn before the tool ran."
		if out.Decision == hooks.Deny {
			text = denyText(out)
		}
		j.fail("denied", text)
		j.end = &session.EndReason{Kind: session.EndCompleted, Message: out.HaltReason.Text}
		return nil
	}
	if out.Decision == hooks.Deny || out.Blocked {
		j.fail("denied", denyText(out))
		return nil
	}
	if err := t.rewrite(j, out.UpdatedInput); err != nil || j.result != nil {
		return err
	}
	return t.permit(j, out)
}

// denyText is the reason of the hook that denied, verbatim.
func denyText(out *hooks.Outcome) string {
	if out.DecisionReason.Text != "" {
		return out.DecisionReason.Text
	}
	for _, r := range out.Reasons {
		if r.Text != "" {
			return r.Text
		}
	}
	return "A hook denied this call and gave no reason."
}

// rewrite makes the call run on the input that a hook gave. The model's own
// message keeps what the model wrote; the log keeps both.
func (t *turn) rewrite(j *job, input json.RawMessage) error {
	if len(input) == 0 {
		return nil
	}
	if err := tool.Check(j.tool, input); err != nil {
		j.fail("invalid", "A hook rewrote the arguments of this call to something the tool does not take: "+err.Error())
		return nil
	}
	j.input = input
	st := t.s.state.Turn
	return t.s.append(&session.ToolCall{
		Turn: st.Number, Step: st.Step, CallID: j.call.ID, Name: j.call.Name, Arguments: j.call.Arguments, Input: input,
	})
}

// permit asks rules, mode, PermissionRequest hooks and the person, in this
// order, whether the call may run. A hook's allow skips the question, not the
// rules that deny or ask.
func (t *turn) permit(j *job, pre *hooks.Outcome) error {
	s := t.s
	v := s.cfg.Rules.Decide(s.Mode(), j.request(s))
	verdict := v.Decision
	reason := v.Reason
	if verdict != permission.Deny {
		switch {
		case pre.Decision == hooks.Ask || pre.Decision == hooks.Defer:
			verdict, reason = permission.Ask, pre.DecisionReason.Text
		case pre.Decision == hooks.Allow && !v.Explicit:
			verdict = permission.Allow
		}
	}
	switch verdict {
	case permission.Allow:
		return nil
	case permission.Deny:
		return t.denied(j, reason)
	}
	out, err := t.fire(&hooks.Call{Event: hooks.PermissionRequest, Tool: j.hookTool()})
	if err != nil {
		return err
	}
	if t.ctx.Err() != nil {
		j.fail("cancelled", session.TextNotStarted)
		return nil
	}
	switch out.Decision {
	case hooks.Deny:
		j.fail("denied", denyText(out))
		if out.Interrupt {
			j.end = &session.EndReason{Kind: session.EndCompleted, Message: denyText(out)}
		}
		return nil
	case hooks.Allow:
		for _, u := range out.UpdatedPermissions {
			if err := s.cfg.Rules.Update(u); err != nil {
				if err := s.append(&session.Notice{Severity: "warning", Text: "A permission update of a hook was not taken: " + err.Error(), Source: hookSource(out.DecisionReason, hooks.PermissionRequest)}); err != nil {
					return err
				}
			}
		}
		return t.allowed(j, out.UpdatedInput)
	}
	return t.ask(j, reason)
}

// allowed lets a call run that a PermissionRequest hook allowed. The rules hold
// for what the hook made of the call, too.
func (t *turn) allowed(j *job, updated json.RawMessage) error {
	if err := t.rewrite(j, updated); err != nil || j.result != nil || len(updated) == 0 {
		return err
	}
	switch v := t.s.cfg.Rules.Decide(t.s.Mode(), j.request(t.s)); {
	case v.Decision == permission.Deny:
		return t.denied(j, v.Reason)
	case v.Decision == permission.Ask && v.Explicit:
		return t.ask(j, v.Reason)
	}
	return nil
}

func (t *turn) denied(j *job, reason string) error {
	j.fail("denied", reason)
	out, err := t.fire(&hooks.Call{Event: hooks.PermissionDenied, Tool: j.hookTool(), Reason: reason})
	if out.Retry {
		j.fail("denied", reason+"\nThe user's automation says that you may try this call again.")
	}
	return err
}

// request is the call as rules see it.
func (j *job) request(s *Session) permission.Call {
	return permission.Call{Name: j.call.Name, Input: j.input, ReadOnly: j.spec.ReadOnly, Hinted: j.spec.Hinted, Cwd: s.cwd(), Paths: tool.Touched(j.env, j.input)}
}

// ask puts the question to the person and remembers an answer that is for
// longer than once.
func (t *turn) ask(j *job, reason string) error {
	s := t.s
	st := s.state.Turn
	sug := s.cfg.Rules.Suggest(j.request(s))
	// A preview may read through the client, which may be slow.
	view := await(s, func() tool.View { return j.tool.View(j.env, j.input) })
	if t.ctx.Err() != nil {
		j.fail("cancelled", session.TextNotStarted)
		return nil
	}
	if view.Refused != "" {
		r := tool.Fail(view.Refused)
		s.redact(&r)
		j.result, j.started = &r, true // as if it had run, to hooks as well
		return nil
	}
	q := &Question{
		CallID: j.call.ID, Name: j.call.Name, Input: j.input, Reason: reason, Kind: j.spec.Kind,
		View: view, Options: options(sug),
	}
	r, err := t.question(q)
	if err != nil {
		return err
	}
	ans := &session.PermissionAnswered{Turn: st.Number, CallID: q.CallID, Outcome: "cancelled"}
	switch kind := kindOf(q.Options, r.id); {
	case t.ctx.Err() != nil:
		j.fail("cancelled", session.TextNotStarted)
	case r.err != nil:
		ans.Outcome = "error"
		s.cfg.Log.Warn("the client did not answer a permission question", "error", r.err)
		j.fail("rejected", "The tool did not run: the question whether it may could not be put to the user.")
	case kind == "allow_once" || kind == "allow_always":
		ans.Outcome, j.consented = kind, true
		if kind == "allow_always" && sug.Rule != "" {
			s.cfg.Rules.Allow(sug.Rule)
			if err := s.remember(ans, sug.Rule, true); err != nil {
				return err
			}
		}
	case kind == "reject_always":
		ans.Outcome = kind
		s.cfg.Rules.Reject(sug.Deny)
		if err := s.remember(ans, sug.Deny, false); err != nil {
			return err
		}
		j.fail("rejected", "The user rejected this tool call and every later one like it. Do not try it again; ask what to do instead.")
	case kind == "reject_once":
		ans.Outcome = kind
		j.fail("rejected", "The user rejected this tool call. The tool did not run.")
	case r.id == "":
		j.fail("rejected", "The question whether this tool may run was cancelled. The tool did not run.")
	default:
		ans.Outcome = "error"
		j.fail("rejected", "The tool did not run: the client gave an answer that was not offered.")
	}
	return s.append(ans)
}

// remember notes in the answer what is kept of it and for how long. Where it
// cannot be kept for the project it holds for the session, and the person is
// told.
func (s *Session) remember(ans *session.PermissionAnswered, rule string, allow bool) error {
	ans.Scope, ans.Rule = "session", rule
	if s.cfg.Remember == nil {
		return nil
	}
	if err := s.cfg.Remember(rule, allow); err != nil {
		return s.append(&session.Notice{Severity: "warning", Text: "The answer holds for this session only: " + err.Error(), Source: session.Source{Kind: session.SourceAgent}})
	}
	ans.Scope = "project"
	return nil
}

// options are the answers that are offered: one of each kind.
func options(sug permission.Suggestion) []session.PermissionOption {
	return []session.PermissionOption{
		{ID: "allow_once", Name: "Allow once", Kind: "allow_once"},
		{ID: "allow_always", Name: "Always allow " + sug.Label, Kind: "allow_always"},
		{ID: "reject_once", Name: "Reject", Kind: "reject_once"},
		{ID: "reject_always", Name: "Always reject " + sug.DenyLabel, Kind: "reject_always"},
	}
}

func kindOf(opts []session.PermissionOption, id string) string {
	for _, o := range opts {
		if o.ID == id {
			return o.Kind
		}
	}
	return ""
}

// answer shows a finished call to PostToolUse hooks and appends its result.
func (t *turn) answer(j *job) error {
	s := t.s
	st := s.state.Turn
	if j.err != nil {
		return j.err
	}
	r := j.result
	meta := r.Meta
	meta.NotRun, meta.DurationMs = j.notRun, j.took.Milliseconds()
	content, isErr := r.Content, r.IsError
	if j.started && t.ctx.Err() == nil {
		ev := hooks.PostToolUse
		out, err := t.fire(&hooks.Call{Event: ev, Tool: j.hookTool()})
		if err != nil {
			return err
		}
		if t.follow(j, out) {
			content = withLine(content, textHookChanged)
		}
		if out.ReplaceOutput != nil && t.ctx.Err() == nil {
			content = []session.Block{session.Text(out.ReplaceOutput.Text)}
		}
		if t.ctx.Err() == nil {
			for _, reason := range out.Reasons {
				t.contexts = append(t.contexts, &session.ContextMessage{
					Content: []session.Block{session.Text(reason.Text)}, Source: hookSource(reason, ev),
				})
			}
			t.contexts = append(t.contexts, contextData(out, ev)...)
			if out.Halted {
				j.end = &session.EndReason{Kind: session.EndCompleted, Message: out.HaltReason.Text}
			}
		}
	}
	data := []session.Data{session.NewToolResult(st.Number, st.Step, j.call.ID, content, isErr, &meta)}
	return s.append(append(data, r.Events...)...)
}

// hookTool is the call as hooks are shown it.
func (j *job) hookTool() *hooks.Tool {
	h := &hooks.Tool{Name: j.call.Name, Input: j.input, CallID: j.call.ID, Duration: j.took}
	if j.result == nil {
		return h
	}
	h.Failed, h.NotRun = j.result.IsError, j.notRun != ""
	h.Response, h.ExitCode = j.result.Meta.Response, j.result.Meta.ExitCode
	for _, b := range j.result.Content {
		if b.Type == session.BlockText {
			h.Output += b.Text
		}
	}
	return h
}

// batchHooks fires PostToolBatch for the calls of a step; nil without hooks.
func (t *turn) batchHooks(jobs []*job) (*hooks.Outcome, error) {
	if !t.s.hasHooks(hooks.PostToolBatch) {
		return nil, nil
	}
	call := &hooks.Call{Event: hooks.PostToolBatch}
	for _, j := range jobs {
		call.Tools = append(call.Tools, *j.hookTool())
	}
	return t.fire(call)
}

// failure classifies what ended a turn for the log and the client.
func (t *turn) failure(err error) session.EndReason {
	e := model.TurnError(err)
	return session.EndReason{Kind: session.EndError, Error: &e}
}
