package loop

import "acp-agent/session"

// Action is what a turn does next.
type Action int

// The actions.
const (
	// CallModel: the model has not answered the newest message yet.
	CallModel Action = iota
	// RunTools: the model's last message has tool calls without a result.
	RunTools
	// AtStop: the model has stopped by itself; stop hooks decide.
	AtStop
	// End: the turn is over; Next's second result says how.
	End
)

// Limits bound a turn.
type Limits struct {
	// Steps is the number of model requests a turn may make, retries not
	// counted. It ends with max_turn_requests.
	Steps int
	// Continuations is how often in a row, without a tool having run, stop
	// hooks may keep a turn going; 0 sets no bound.
	Continuations int
}

// Next says what the open turn of a state does next. It is pure: the same log
// gives the same answer.
func Next(s *session.State, lim Limits) (Action, session.EndKind) {
	t := s.Turn
	switch {
	case len(t.Calls) > 0:
		return RunTools, ""
	case !t.Answered && lim.Steps > 0 && t.Step >= lim.Steps:
		return End, session.EndMaxTurnRequests
	case !t.Answered:
		return CallModel, ""
	case t.Stop == session.FinishMaxTokens:
		return End, session.EndMaxTokens
	case t.Stop == session.FinishRefusal:
		return End, session.EndRefusal
	}
	return AtStop, ""
}
