package loop

import (
	"fmt"
	"strings"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// trustCallID is the call id of the question about held hooks. It is a question
// about the session, not about a tool call of the model.
const trustCallID = "hooks-trust"

// askTrust asks, with the first prompt, about hooks that are held back: a
// repository must not run commands on the machine of whoever opens it before
// that person has seen them. Without an answer they stay held back.
func (t *turn) askTrust() error {
	s := t.s
	if s.cfg.Trust == nil || s.trustAsked {
		return nil
	}
	s.trustAsked = true
	held := s.cfg.Trust.Held()
	if len(held) == 0 {
		return nil
	}
	ids := make([]string, len(held))
	var text strings.Builder
	text.WriteString("This project brings hooks that would run these commands on your machine. Scripts that they name are not part of what you trust: they may change later.\n")
	for i, h := range held {
		ids[i] = h.ID
		fmt.Fprintf(&text, "\n%s (%s): %s", h.Event, h.File, h.Command)
	}
	q := &Question{
		CallID: fmt.Sprintf("%s-%d", trustCallID, s.state.Turn.Number), Name: trustCallID, Kind: tool.KindExecute, Announce: true,
		View:   tool.View{Title: fmt.Sprintf("Run %d hook(s) that this project brings?", len(held))},
		Reason: text.String(),
		Options: []session.PermissionOption{
			{ID: "allow_once", Name: "Run them in this session", Kind: "allow_once"},
			{ID: "allow_always", Name: "Trust these hooks", Kind: "allow_always"},
			{ID: "reject_once", Name: "Not in this session", Kind: "reject_once"},
			{ID: "reject_always", Name: "Never run these hooks", Kind: "reject_always"},
		},
	}
	r, err := t.question(q)
	if err != nil || t.ctx.Err() != nil {
		s.trustAsked = t.ctx.Err() == nil
		return err
	}
	ans := &session.PermissionAnswered{Turn: s.state.Turn.Number, CallID: q.CallID, Outcome: "cancelled"}
	kind := kindOf(q.Options, r.id)
	if r.err != nil {
		ans.Outcome = "error"
	} else if kind != "" {
		ans.Outcome = kind
	}
	said := "are held back in this session; `acp-agent hooks trust` lets them run"
	switch kind {
	case "allow_once", "allow_always":
		ans.Scope, said = "session", ""
		err = s.cfg.Trust.Approve(ids, kind == "allow_always")
	case "reject_once", "reject_always":
		err = s.cfg.Trust.Reject(ids, kind == "reject_always")
	}
	if strings.HasSuffix(kind, "_always") {
		ans.Scope = "project"
	}
	data := []session.Data{ans}
	agent := session.Source{Kind: session.SourceAgent}
	if err != nil {
		data = append(data, &session.Notice{Severity: "error", Text: "The answer about hooks could not be kept: " + err.Error(), Source: agent})
	}
	if said != "" {
		data = append(data, &session.Notice{Severity: "warning", Text: fmt.Sprintf("%d hook(s) of this project %s.", len(held), said), Detail: text.String(), Source: agent})
	}
	return s.append(data...)
}

// reply is the client's answer to a question.
type reply struct {
	id  string
	err error
}

// question logs a question, puts it to the client and waits.
func (t *turn) question(q *Question) (reply, error) {
	s := t.s
	if err := s.append(&session.PermissionAsked{Turn: s.state.Turn.Number, CallID: q.CallID, Title: q.View.Title, Options: q.Options}); err != nil {
		return reply{}, err
	}
	if err := s.commit(t.ctx); err != nil {
		return reply{}, err
	}
	out, err := t.fire(notification("permission_prompt", "Permission needed: "+q.View.Title))
	if err != nil {
		return reply{}, err
	}
	t.contexts = append(t.contexts, contextData(out, hooks.Notification)...)
	return await(s, func() reply {
		id, err := s.cfg.Asker.Ask(t.ctx, q)
		return reply{id, err}
	}), nil
}
