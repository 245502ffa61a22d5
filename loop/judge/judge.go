// Package judge has a model give a decision: the evaluator behind the hooks of
// type prompt and agent. It is a loop of its own, smaller than a turn: a question,
// the session's reading tools to look around with, a bounded number of rounds, and
// an answer by a tool made for it or as text.
//
// What it asks and is answered is logged (session.HookRequest, HookAnswer) before
// it is sent and before it is acted on, as a conversation of its own: nothing of
// it is in the session's transcript. No hook fires for what happens in it.
//
// It knows nothing of hooks' dialects and not what an answer means: the question
// brings a check.
package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Log makes what is asked and answered durable, in order, before it returns.
type Log interface {
	Record(ctx context.Context, data ...session.Data) error
}

// Judge asks one model.
type Judge struct {
	Client model.Client
	Info   model.Info
	Log    Log
	// Hands run the model's tool calls; nil for none.
	Hands *Hands
	// Retry says whether and when a failed attempt, counted from 1, is followed by
	// another.
	Retry func(err error, attempt int) (time.Duration, bool)
}

// Case is one question, and whose it is.
type Case struct {
	// Turn, Point and Handler say in the log which run of a hook asks; SessionID
	// and Cwd are the session's.
	Turn           int
	Point, Handler string
	SessionID, Cwd string

	System, Prompt string
	// Check says, in words for the model, what is wrong with an answer.
	Check func(answer string) error
	// Answer is the tool by whose arguments the answer may be given; without a name
	// there is none.
	Answer session.ToolSchema
	// Rounds is how many requests may be made.
	Rounds int
}

// talk is a case under way.
type talk struct {
	*Judge
	c        *Case
	head     session.RequestHead
	messages []session.Message
	// fresh counts the last of the messages, those that are not on the log yet.
	fresh int
	begun bool
	ids   map[string]bool
}

// Decide asks until there is an answer that the case's check takes, and returns
// it as the model wrote it. A message without a tool call and without an answer
// is met once with what is wrong with it. It returns when ctx ends.
func (j *Judge) Decide(ctx context.Context, c *Case) (string, error) {
	provider, name, _ := strings.Cut(j.Info.Ref, "/")
	t := &talk{Judge: j, c: c, ids: map[string]bool{}, head: session.RequestHead{
		Config: session.Params{Provider: provider, Model: name}, System: c.System,
	}}
	if c.Answer.Name != "" {
		t.head.Tools = append(j.Hands.schemas(), c.Answer)
	}
	t.say(session.Message{Role: session.RoleUser, Content: []session.Block{session.Text(c.Prompt)}})
	reminded := false
	for round := 1; round <= c.Rounds; round++ {
		m, err := t.ask(ctx, round)
		if err != nil {
			return "", err
		}
		calls := toolCalls(m.Content)
		if len(calls) == 0 {
			text := textOf(m.Content)
			err := c.Check(text)
			if err == nil {
				return text, nil
			}
			if c.Answer.Name == "" || reminded {
				return "", fmt.Errorf("it gave no decision: %w: it said %q", err, head(text, 200))
			}
			reminded = true
			t.say(session.Message{Role: session.RoleUser, Content: []session.Block{session.Text(
				"That is no decision: " + err.Error() + ". Call " + c.Answer.Name + " now.",
			)}})
			continue
		}
		for _, b := range calls {
			if b.Name == c.Answer.Name && c.Check(b.Arguments) == nil {
				return b.Arguments, nil
			}
		}
		if err := t.run(ctx, calls); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("it gave no decision in %d rounds", c.Rounds)
}

// run answers the calls of a message, one after the other.
func (t *talk) run(ctx context.Context, calls []session.Block) error {
	for _, b := range calls {
		var r session.Block
		if b.Name == t.c.Answer.Name {
			r = failed(b.ID, "That is no decision: "+t.c.Check(b.Arguments).Error()+".")
		} else {
			r = t.Hands.run(ctx, b)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.say(session.Message{Role: session.RoleTool, Content: []session.Block{r}})
	}
	return nil
}

func (t *talk) say(m session.Message) {
	t.messages = append(t.messages, m)
	t.fresh++
}

// ask makes one request, with its retries.
func (t *talk) ask(ctx context.Context, round int) (*session.LoggedMessage, error) {
	for attempt := 1; ; attempt++ {
		m, err := t.attempt(ctx, round, attempt)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
		wait, again := t.Retry(err, attempt)
		if !again {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
}

func (t *talk) attempt(ctx context.Context, round, attempt int) (*session.LoggedMessage, error) {
	digest, err := session.RequestDigest(&t.head, t.messages)
	if err != nil {
		return nil, err
	}
	sent := &session.HookRequest{
		Turn: t.c.Turn, Point: t.c.Point, HandlerID: t.c.Handler, Round: round, Attempt: attempt,
		Messages: t.messages[len(t.messages)-t.fresh:], Digest: digest,
	}
	if !t.begun {
		sent.Header = &t.head
	}
	if err := t.Log.Record(ctx, sent); err != nil {
		return nil, err
	}
	t.begun, t.fresh = true, 0
	var a session.Assembler
	err = t.stream(ctx, &a, round, attempt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	got := &session.HookAnswer{Turn: t.c.Turn, Point: t.c.Point, HandlerID: t.c.Handler, Round: round, Attempt: attempt, Usage: a.Usage(), Stop: a.Finish()}
	if got.Usage != nil {
		if cost, ok := t.Info.Cost(*got.Usage); ok {
			got.Cost, got.Currency = cost, "USD"
		}
	}
	if err != nil {
		failure := model.TurnError(err)
		got.Error, got.Stop = &failure, ""
		return nil, errors.Join(err, t.Log.Record(ctx, got))
	}
	// A call that the output limit cut is not whole.
	blocks := a.Blocks(got.Stop != session.FinishMaxTokens && got.Stop != session.FinishRefusal)
	model.NameCalls(blocks, fmt.Sprintf("call_%d", round), func(id string) bool { return t.ids[id] })
	for _, b := range toolCalls(blocks) {
		t.ids[b.ID] = true
	}
	m := &session.LoggedMessage{
		Role: session.RoleAssistant, Content: blocks,
		Source: session.Source{Kind: session.SourceModel, Provider: t.head.Config.Provider, Model: t.head.Config.Model},
	}
	got.Message = m
	if err := t.Log.Record(ctx, got); err != nil {
		return nil, err
	}
	if got.Stop == session.FinishRefusal {
		return nil, errors.New("the model refused to answer")
	}
	if len(blocks) > 0 {
		t.messages = append(t.messages, m.Answer())
	}
	return m, nil
}

func (t *talk) stream(ctx context.Context, a *session.Assembler, round, attempt int) error {
	req := &model.Request{
		Head: t.head, Messages: t.messages[:len(t.messages):len(t.messages)], SessionID: t.c.SessionID, Cwd: t.c.Cwd,
		Turn: t.c.Turn, Step: round, Attempt: attempt, Handler: t.c.Handler,
	}
	for c, err := range t.Client.Stream(ctx, req) {
		if err != nil {
			return err
		}
		a.Add(&c)
	}
	if a.Empty() && a.Finish() == session.FinishStop {
		return model.Errorf(model.KindEmpty, "the model's stream ended without anything in it")
	}
	return nil
}

func toolCalls(blocks []session.Block) []session.Block {
	var out []session.Block
	for _, b := range blocks {
		if b.Type == session.BlockToolCall {
			out = append(out, b)
		}
	}
	return out
}

func textOf(blocks []session.Block) string {
	var out strings.Builder
	for _, b := range blocks {
		if b.Type == session.BlockText {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

// head is the start of a text for people, cut on a rune.
func head(s string, runes int) string {
	n := 0
	for i := range s {
		if n == runes {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
