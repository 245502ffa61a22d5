package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	"acp-agent/hooks"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// elicitor puts the questions of an MCP server to hooks and the person while one
// of its tools runs, and logs them. It works beside the owner, on goroutines that
// end before the tool does; what it does to the session is done by the owner
// (Session.Do), who waits for the tool meanwhile.
type elicitor struct {
	t *turn
	j *job
}

var _ tool.Elicitor = elicitor{}

// elicited is what became of a question, and who says so.
type elicited struct {
	tool.ElicitAnswer
	reason string
	src    session.Source
}

// is compares what a server is told.
func (a *elicited) is(b *elicited) bool {
	return a.Action == b.Action && string(a.Content) == string(b.Content)
}

// actionError is logged where a question could not be shown. A server is never
// told that a person declined who was not asked (claude-code#89858).
const actionError = tool.FormAction("error")

var errNotShown = errors.New("the question could not be shown to the person")

// Elicit implements tool.Elicitor.
func (e elicitor) Elicit(ctx context.Context, q *tool.Elicitation) (tool.ElicitAnswer, error) {
	cancelled := tool.ElicitAnswer{Action: tool.FormCancel}
	err := e.asked(ctx, q)
	if err != nil {
		return cancelled, unless(ctx, err)
	}
	a, err := e.answer(ctx, q)
	if ctx.Err() != nil {
		a, err = elicited{ElicitAnswer: cancelled, src: session.Source{Kind: session.SourceAgent}}, nil
	}
	if err != nil {
		return cancelled, err
	}
	if err := e.answered(ctx, q, &a); err != nil {
		return cancelled, unless(ctx, err)
	}
	if a.src.Kind == session.SourceUser {
		b, err := e.result(ctx, q, a)
		if ctx.Err() != nil {
			b, err = elicited{ElicitAnswer: cancelled, src: session.Source{Kind: session.SourceAgent}}, nil
		}
		if err == nil && !b.is(&a) {
			err = e.answered(ctx, q, &b)
		}
		if err != nil {
			return cancelled, unless(ctx, err)
		}
		a = b
	}
	if a.Action == actionError {
		return cancelled, fmt.Errorf("%w: %s", errNotShown, a.reason)
	}
	return a.ElicitAnswer, nil
}

// unless is the error where it is not the end of ctx: then the question is
// cancelled, which is an answer.
func unless(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// asked logs the question.
func (e elicitor) asked(ctx context.Context, q *tool.Elicitation) error {
	s := e.t.s
	return s.Do(ctx, func(*session.State) error {
		return e.log(ctx, &session.ElicitAsked{
			Turn: s.turnNumber(), CallID: q.CallID, ID: q.ID, Server: q.Server, Mode: q.Mode(), Message: s.cut(q.Message),
			Schema: json.RawMessage(s.cut(string(q.Schema))), URL: s.cut(q.URL), ElicitationID: q.ServerID,
		})
	})
}

// answered logs what became of the question. It is logged also when the turn was
// cancelled meanwhile; then it becomes durable with the turn's end.
func (e elicitor) answered(ctx context.Context, q *tool.Elicitation, a *elicited) error {
	s := e.t.s
	return s.Do(context.WithoutCancel(ctx), func(*session.State) error {
		data := []session.Data{&session.ElicitAnswered{
			Turn: s.turnNumber(), CallID: q.CallID, ID: q.ID, Action: string(a.Action),
			Content: json.RawMessage(s.cut(string(a.Content))), Reason: a.reason, Source: a.src,
		}}
		if a.reason != "" && a.src.Kind == session.SourceAgent {
			data = append(data, &session.Notice{Severity: "warning", Text: fmt.Sprintf("A question of the MCP server %q was not answered: %s.", q.Server, a.reason), Source: a.src})
		}
		return e.log(ctx, data...)
	})
}

// log appends events and, while the turn goes on, makes them durable.
func (e elicitor) log(ctx context.Context, data ...session.Data) error {
	if err := e.t.s.append(data...); err != nil || ctx.Err() != nil {
		return err
	}
	return e.t.s.commit(ctx)
}

// cut takes the providers' keys out of what is logged.
func (s *Session) cut(text string) string {
	if s.cfg.Redact == nil {
		return text
	}
	return s.cfg.Redact(text)
}

// answer gets an answer: from this agent where nobody may be asked, from a hook,
// or from the person.
func (e elicitor) answer(ctx context.Context, q *tool.Elicitation) (elicited, error) {
	s := e.t.s
	if why := refusal(q); why != "" {
		return elicited{ElicitAnswer: tool.ElicitAnswer{Action: tool.FormDecline}, reason: why, src: session.Source{Kind: session.SourceAgent}}, nil
	}
	c := &hooks.Call{Event: hooks.Elicitation, Fields: map[string]any{"mcp_server_name": q.Server, "message": q.Message, "mode": q.Mode()}}
	if q.URL != "" {
		c.Fields["url"] = q.URL
	}
	if q.ServerID != "" {
		c.Fields["elicitation_id"] = q.ServerID
	}
	if len(q.Schema) > 0 {
		c.Fields["requested_schema"] = q.Schema
	}
	out, err := e.fire(ctx, c)
	if err != nil || ctx.Err() != nil {
		return elicited{}, err
	}
	if a, ok := decided(out, hooks.Elicitation, q); ok {
		return a, nil
	}
	kind := "elicitation_dialog"
	if q.URL != "" {
		kind = "elicitation_url_dialog"
	}
	if err := e.notify(ctx, kind, fmt.Sprintf("The MCP server %q asks: %s", q.Server, q.Message)); err != nil || ctx.Err() != nil {
		return elicited{}, err
	}
	a := elicited{src: session.Source{Kind: session.SourceUser}}
	a.ElicitAnswer, err = s.cfg.Elicit.Elicit(ctx, q)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			s.cfg.Log.Warn("a question of an MCP server was not shown", "mcp", q.Server, "error", err)
		}
		return elicited{ElicitAnswer: tool.ElicitAnswer{Action: actionError}, reason: err.Error(), src: session.Source{Kind: session.SourceAgent}}, nil
	case a.Action == tool.FormAccept && q.URL == "" && len(a.Content) == 0:
		a.Content = json.RawMessage("{}")
	case a.Action != tool.FormAccept || q.URL != "":
		a.Content = nil
	}
	return a, nil
}

// result shows the person's answer to ElicitationResult hooks, which may change
// it, and tells Notification hooks what the server gets.
func (e elicitor) result(ctx context.Context, q *tool.Elicitation, a elicited) (elicited, error) {
	c := &hooks.Call{Event: hooks.ElicitationResult, Fields: map[string]any{"mcp_server_name": q.Server, "mode": q.Mode(), "action": string(a.Action)}}
	if q.ServerID != "" {
		c.Fields["elicitation_id"] = q.ServerID
	}
	if len(a.Content) > 0 {
		c.Fields["content"] = a.Content
	}
	out, err := e.fire(ctx, c)
	if err != nil || ctx.Err() != nil {
		return a, err
	}
	if b, ok := decided(out, hooks.ElicitationResult, q); ok {
		if b.Action == tool.FormAccept && len(out.Content) == 0 {
			b.Content = a.Content
		}
		a = b
	}
	return a, e.notify(ctx, "elicitation_response", fmt.Sprintf("The answer to the MCP server %q: %s", q.Server, a.Action))
}

// decided is the answer that hooks gave, where they did: exit code 2 and a block
// decline, continue:false cancels (and ends the turn, see fire).
func decided(out *hooks.Outcome, ev hooks.Event, q *tool.Elicitation) (elicited, bool) {
	a := elicited{src: hookSource(out.DecisionReason, ev)}
	switch {
	case out.Halted:
		a.Action, a.reason, a.src = tool.FormCancel, out.HaltReason.Text, hookSource(out.HaltReason, ev)
	case out.Blocked:
		a.Action = tool.FormDecline
		if len(out.Reasons) > 0 {
			a.reason, a.src = out.Reasons[0].Text, hookSource(out.Reasons[0], ev)
		}
	case out.Action != "":
		a.Action = tool.FormAction(out.Action)
		if a.Action == tool.FormAccept && q.URL == "" {
			if a.Content = out.Content; len(a.Content) == 0 {
				a.Content = json.RawMessage("{}")
			}
		}
	default:
		return a, false
	}
	return a, true
}

// fire runs the hooks of a call beside the owner. A hook that says continue:false
// ends the turn once the tool has come back.
func (e elicitor) fire(ctx context.Context, c *hooks.Call) (*hooks.Outcome, error) {
	s := e.t.s
	c.TurnID, c.PromptID = e.t.id, e.t.promptID
	return s.fireBeside(ctx, c, func(out *hooks.Outcome) {
		if out.Halted {
			e.j.end = &session.EndReason{Kind: session.EndCompleted, Message: out.HaltReason.Text}
		}
	})
}

func (e elicitor) notify(ctx context.Context, kind, message string) error {
	_, err := e.fire(ctx, notification(kind, message))
	return err
}

// fireBeside is fire for who is not the owner. apply, which may be nil, is called
// as the owner with what the hooks said.
func (s *Session) fireBeside(ctx context.Context, c *hooks.Call, apply func(*hooks.Outcome)) (*hooks.Outcome, error) {
	var batch hooks.Batch
	turn := 0
	err := s.Do(ctx, func(*session.State) error {
		if !s.hasHooks(c.Event) {
			return nil
		}
		s.fill(c)
		if batch = s.cfg.Hooks.Match(c); batch == nil {
			return nil
		}
		turn = s.turnNumber()
		if err := s.invoked(c, batch, turn); err != nil {
			return err
		}
		return s.commit(ctx)
	})
	if batch == nil || err != nil {
		return noOutcome, err
	}
	out := batch.Run(ctx)
	return out, s.Do(context.WithoutCancel(ctx), func(*session.State) error {
		s.keep(out.Contexts, c.Event)
		if apply != nil {
			apply(out)
		}
		return s.ran(c, out, turn)
	})
}

// Elicited implements tool.Elicitor.
func (e elicitor) Elicited(ctx context.Context, q *tool.Elicitation) error {
	s := e.t.s
	n := notification("elicitation_complete", fmt.Sprintf("The MCP server %q says that what it asked for is done.", q.Server))
	if _, err := s.fireBeside(ctx, n, nil); err != nil {
		return err
	}
	return s.cfg.Elicit.Elicited(ctx, q)
}

// refusal says why the person may not be asked this, "" where they may: a form
// is not for secrets, a URL not for anything but web pages, without credentials
// in it (ACP, elicitation).
func refusal(q *tool.Elicitation) string {
	if q.URL != "" {
		return urlRefusal(q.URL)
	}
	var form struct {
		Properties map[string]struct {
			Type, Title, Description string
			Enum                     []any
			OneOf                    []any
		}
	}
	if json.Unmarshal(q.Schema, &form) != nil {
		return "" // not a form that a client could show, which it says itself
	}
	var texts []string
	for name, p := range form.Properties {
		if p.Type != "string" || len(p.Enum) > 0 || len(p.OneOf) > 0 {
			continue
		}
		texts = append(texts, name)
		if slices.ContainsFunc([]string{name, p.Title, p.Description}, tool.AsksSecret) {
			return fmt.Sprintf("its field %q asks for a secret, which must not be typed into a form", name)
		}
	}
	if len(texts) == 1 && tool.AsksSecret(q.Message) {
		return "it asks for a secret, which must not be typed into a form"
	}
	return ""
}

func urlRefusal(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return "its URL is not one of a web page"
	case u.User != nil:
		return "its URL holds credentials"
	case u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()):
		return ""
	}
	return fmt.Sprintf("its URL is not a secure one (%s)", u.Scheme)
}

// loopback: a server on this machine has no certificate, and needs none.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
