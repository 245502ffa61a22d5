package hooks

import "strings"

// Heard is one handler's answer on its way into an Outcome.
type Heard struct {
	Answer
	Dialect, Handler string
	// Order is its place among the handlers of the call that finished.
	Order int
}

// rank orders permission decisions: deny > defer > ask > allow (Claude Code hooks reference, output).
// Between dialects the same holds, so a deny of one beats an allow of the other.
func rank(d Decision) int {
	switch d {
	case Allow:
		return 1
	case Ask:
		return 2
	case Defer:
		return 3
	case Deny:
		return 4
	}
	return 0
}

// Merge puts the answers, in config order with the dialects one after the
// other, into the outcome. It is a pure function of its arguments. Texts are
// never joined, each keeps its handler; the one exception is Codex's
// replacement of a tool result (Answer.JoinReplace).
func Merge(out *Outcome, ev Event, hs []Heard) {
	var rewrite, replace *Heard
	var joined []string
	for i := range hs {
		h := &hs[i]
		text := func(s string) Text { return Text{Text: s, Dialect: h.Dialect, Handler: h.Handler} }
		if h.Halt && !out.Halted {
			out.Halted, out.HaltReason = true, text(h.HaltReason)
		}
		if h.Blocked {
			out.Blocked = true
			out.Reasons = append(out.Reasons, text(h.Reason))
		}
		if rank(h.Permission) > rank(out.Decision) {
			out.Decision, out.DecisionReason = h.Permission, text(h.PermissionReason)
		}
		if h.Permission == Deny {
			out.Blocked = true
			out.Interrupt = out.Interrupt || h.Interrupt
			out.Reasons = append(out.Reasons, text(h.PermissionReason))
		}
		if len(h.UpdatedInput) > 0 && (rewrite == nil || h.Order > rewrite.Order) {
			rewrite = h
		}
		out.UpdatedPermissions = append(out.UpdatedPermissions, h.UpdatedPermissions...)
		if h.Context != nil {
			out.Contexts = append(out.Contexts, text(*h.Context))
		}
		switch {
		case h.Replace == nil:
		case h.JoinReplace:
			joined = append(joined, *h.Replace)
			replace = h
		case replace == nil || !replace.JoinReplace && h.Order > replace.Order:
			replace = h
		}
		if h.Message != "" {
			out.Messages = append(out.Messages, text(h.Message))
		}
		if h.Title != "" {
			out.Title = h.Title
		}
		out.Retry = out.Retry || h.Retry
		if h.WatchPaths != nil {
			out.WatchPaths = append(append([]string{}, out.WatchPaths...), h.WatchPaths...)
		}
		if h.Action != "" && (out.Action == "" || out.Action == "accept") {
			out.Action, out.Content, out.DecisionReason = h.Action, h.Content, text(h.Reason)
		}
	}
	if out.Blocked || out.Halted {
		kept := out.Contexts[:0]
		for i := range hs {
			if h := &hs[i]; h.Context != nil && !h.ContextDropped {
				kept = append(kept, Text{Text: *h.Context, Dialect: h.Dialect, Handler: h.Handler})
			}
		}
		out.Contexts = kept
	}
	if replace != nil {
		t := Text{Text: *replace.Replace, Dialect: replace.Dialect, Handler: replace.Handler}
		if len(joined) > 0 {
			t.Text = strings.Join(joined, "\n\n")
		}
		out.ReplaceOutput = &t
	}
	// The last to finish wins (claude-code#83353); a refusal drops all rewrites.
	if rewrite != nil && out.Decision != Deny && out.Decision != Defer && !out.Blocked {
		out.UpdatedInput = rewrite.UpdatedInput
	}
	if out.Decision == Deny {
		out.UpdatedPermissions = nil
	}
	// continue:false from any hook beats every block of a stop (Claude Code hooks reference, Stop, 2.6).
	// Elsewhere both stand: a refused tool must not run in a halted turn either.
	if out.Halted && (ev == Stop || ev == SubagentStop) {
		out.Blocked, out.Reasons = false, nil
	}
}
