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

// trustTexts are the words of a question about held hooks.
type trustTexts struct {
	id, title, reason, once, always, never, held string
}

var (
	trustHooks = trustTexts{
		id:     trustCallID,
		title:  "Run %d hook(s) that this project brings?",
		reason: "This project brings hooks that would run these commands on your machine. Scripts that they name are not part of what you trust: they may change later.",
		once:   "Run them in this session", always: "Trust these hooks", never: "Never run these hooks",
		held: "%d hook(s) of this project are held back in this session; `acp-agent hooks list` shows them, `acp-agent hooks trust` lets them run.",
	}
	trustSettings = trustTexts{
		id:     trustCallID + "-settings",
		title:  "Let %d setting(s) of this project turn hooks of yours off?",
		reason: "This project brings settings that would keep hooks from running which are yours, not the project's.",
		once:   "Let them count in this session", always: "Let them count in this project", never: "Never let them count",
		held: "%d setting(s) of this project that would turn hooks off do not count; `acp-agent hooks list` shows them, `acp-agent hooks trust` lets them count.",
	}
)

// askTrust asks, with the first prompt, about hooks that are held back: a
// repository must not run commands on the machine of whoever opens it before
// that person has seen them. Without an answer they stay held back. Settings of
// the repository that would turn off hooks of the person's are another question.
func (t *turn) askTrust() error {
	s := t.s
	if s.cfg.Trust == nil {
		return nil
	}
	var ids []string
	var commands, settings []HeldHook
	for _, h := range s.cfg.Trust.Held() {
		if s.trustAsked[h.ID] {
			continue
		}
		ids = append(ids, h.ID)
		if h.Setting {
			settings = append(settings, h)
		} else {
			commands = append(commands, h)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	s.cfg.Trust.Asked(ids)
	if err := t.askAbout(&trustHooks, commands); err != nil {
		return err
	}
	return t.askAbout(&trustSettings, settings)
}

func (t *turn) askAbout(words *trustTexts, held []HeldHook) error {
	s := t.s
	if len(held) == 0 || t.ctx.Err() != nil {
		return nil
	}
	ids := make([]string, len(held))
	var text strings.Builder
	text.WriteString(words.reason + "\n")
	for i, h := range held {
		ids[i] = h.ID
		text.WriteString("\n")
		if h.Event != "" {
			text.WriteString(strings.TrimSpace(h.Event+" "+h.Matcher) + " ")
		}
		fmt.Fprintf(&text, "(%s): %s", h.File, h.Text)
	}
	q := &Question{
		CallID: fmt.Sprintf("%s-%d", words.id, s.state.Turn.Number), Name: trustCallID, Kind: tool.KindExecute, Announce: true,
		View:   tool.View{Title: fmt.Sprintf(words.title, len(held))},
		Reason: text.String(),
		Options: []session.PermissionOption{
			{ID: "allow_once", Name: words.once, Kind: "allow_once"},
			{ID: "allow_always", Name: words.always, Kind: "allow_always"},
			{ID: "reject_once", Name: "Not in this session", Kind: "reject_once"},
			{ID: "reject_always", Name: words.never, Kind: "reject_always"},
		},
	}
	r, err := t.question(q)
	if err != nil || t.ctx.Err() != nil {
		return err // not asked, then: the next prompt does
	}
	if s.trustAsked == nil {
		s.trustAsked = map[string]bool{}
	}
	for _, id := range ids {
		s.trustAsked[id] = true
	}
	ans := &session.PermissionAnswered{Turn: s.state.Turn.Number, CallID: q.CallID, Outcome: "cancelled"}
	kind := kindOf(q.Options, r.id)
	if r.err != nil {
		ans.Outcome = "error"
	} else if kind != "" {
		ans.Outcome = kind
	}
	said := fmt.Sprintf(words.held, len(held))
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
		data = append(data, &session.Notice{Severity: "warning", Text: said, Source: agent})
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
	n := notification("permission_prompt", "Permission needed: "+q.View.Title)
	if !q.Announce {
		n.Fields["tool_name"] = q.Name
	}
	out, err := t.fire(n)
	if err != nil {
		return reply{}, err
	}
	t.contexts = append(t.contexts, contextData(out, hooks.Notification)...)
	return await(s, func() reply {
		id, err := s.cfg.Asker.Ask(t.ctx, q)
		return reply{id, err}
	}), nil
}
