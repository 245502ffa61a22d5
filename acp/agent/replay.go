package agent

import (
	"context"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/session"
)

// replayer collects what session/load shows of a log: every message, each tool
// call in its final state, the last plan, compactions at their place.
type replayer struct {
	proj    projection
	updates []*acp.SessionUpdate // nil: superseded
	calls   map[string]int
	plan    int
}

func newReplayer(a *Agent, id string, cfg *loop.Config, cwd string) *replayer {
	v := newView(a, cfg, session.NewState(session.Header{ID: id, Cwd: cwd}))
	return &replayer{proj: v.proj, calls: map[string]int{}, plan: -1}
}

func (r *replayer) add(ev session.Event) {
	for _, u := range r.proj.updates(ev, true) {
		switch {
		case u.ToolCall != nil:
			r.calls[u.ToolCall.ToolCallID] = len(r.updates)
		case u.ToolCallUpdate != nil:
			if i, ok := r.calls[u.ToolCallUpdate.ToolCallID]; ok {
				merge(r.updates[i].ToolCall, u.ToolCallUpdate)
			}
			continue
		case u.Plan != nil || u.PlanUpdate != nil:
			if r.plan >= 0 {
				r.updates[r.plan] = nil
			}
			r.plan = len(r.updates)
		case u.SessionInfoUpdate != nil:
			continue // session/list has the title
		}
		r.updates = append(r.updates, &u)
	}
}

// merge applies an update to an announced call: what it leaves out stays.
func merge(c *acp.ToolCall, u *acp.ToolCallUpdate) {
	if u.Status != "" {
		c.Status = u.Status
	}
	if u.Title != "" {
		c.Title = u.Title
	}
	if u.Content != nil {
		c.Content = u.Content
	}
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	if u.RawInput != nil {
		c.RawInput = u.RawInput
	}
	if u.RawOutput != nil {
		c.RawOutput = u.RawOutput
	}
}

func (r *replayer) send(ctx context.Context, v *view) error {
	// A call without an end was cut; the log has been mended, so this is only
	// for calls of a question that was never answered.
	for _, i := range r.calls {
		if c := r.updates[i].ToolCall; c.Status == acp.ToolCallStatusPending || c.Status == acp.ToolCallStatusInProgress {
			c.Status = acp.ToolCallStatusFailed
		}
	}
	for _, u := range r.updates {
		if err := ctx.Err(); err != nil {
			return err
		}
		if u != nil {
			v.send(ctx, *u)
		}
	}
	r.updates = nil
	return ctx.Err()
}
