package session

import "fmt"

// Problem is something in a log that should not be there.
type Problem struct {
	// Seq is the event it was found at, 0 for the log as a whole.
	Seq  uint64
	Text string
	// Open: it is not damage but a turn that has not ended yet.
	Open bool
}

// String says where and what.
func (p Problem) String() string {
	if p.Seq == 0 {
		return p.Text
	}
	return fmt.Sprintf("event %d: %s", p.Seq, p.Text)
}

// Verify checks a log that has been read: that its events follow each other and
// fold, that the digest of every request can be computed again from the events
// before it, that every tool call has exactly one result, and that every turn is
// closed. It returns all that it found.
func Verify(h Header, events []Event) []Problem {
	v := NewVerifier(h)
	for _, ev := range events {
		v.Add(ev)
	}
	return v.Done()
}

// Verifier is Verify for a log that is too large to hold.
type Verifier struct {
	state     *State
	inquiries Inquiries
	problems  []Problem
	requests  int
	stopped   bool
}

// NewVerifier returns the verifier of a log with that header.
func NewVerifier(h Header) *Verifier {
	return &Verifier{state: NewState(h)}
}

// Requests returns how many request digests have been recomputed, those of hooks
// included.
func (v *Verifier) Requests() int { return v.requests }

// State returns the fold of the events so far.
func (v *Verifier) State() *State { return v.state }

// Add takes the next event. Behind one that does not fold nothing more can be
// said, so that what follows it is not looked at.
func (v *Verifier) Add(ev Event) {
	if v.stopped {
		return
	}
	v.before(ev)
	if err := v.state.Apply(ev); err != nil {
		v.stopped = true
		v.report(ev.Seq, "%v; what follows was not checked", err)
	}
}

func (v *Verifier) report(seq uint64, format string, args ...any) {
	v.problems = append(v.problems, Problem{Seq: seq, Text: fmt.Sprintf(format, args...)})
}

// before checks an event against the state that it meets.
func (v *Verifier) before(ev Event) {
	t := v.state.Turn
	inquiry := v.inquiries.Apply(ev.Data)
	switch d := ev.Data.(type) {
	case *HookRequest:
		v.requests++
		v.compare(ev.Seq, d.Digest, func() (string, error) { return RequestDigest(inquiry.Head, inquiry.Messages) })
	case *TurnStart:
		if d.Turn != v.state.Turns+1 {
			v.report(ev.Seq, "turn %d starts after turn %d", d.Turn, v.state.Turns)
		}
	case *TurnEnd:
		if t == nil {
			break // the fold says so
		}
		if d.Turn != t.Number {
			v.report(ev.Seq, "turn %d ends while turn %d is open", d.Turn, t.Number)
		}
		v.unanswered(ev.Seq, "the turn ends")
	case *AssistantMessage:
		if t == nil {
			v.report(ev.Seq, "a message of the model outside a turn")
		} else {
			v.unanswered(ev.Seq, "the model speaks again")
		}
	case *ToolCall:
		if v.state.open(d.CallID) == nil {
			v.report(ev.Seq, "tool/call %q is not a call of the model's last message that waits for its result", d.CallID)
		}
	case *ToolResult:
		if id := d.Block().CallID; v.state.open(id) == nil {
			v.report(ev.Seq, "tool/result %q answers no call that waits for one; the model is not sent it", id)
		}
	case *RequestSent:
		v.digest(ev.Seq, d)
	case *Compaction:
		if d.Status == "completed" && d.Through > v.state.Seq {
			v.report(ev.Seq, "the compaction replaces what comes after it, up to event %d", d.Through)
		}
		if d.Digest != "" { // logs of earlier versions have none
			v.requests++
			v.compare(ev.Seq, d.Digest, func() (string, error) {
				head, msgs := v.state.SummaryRequest(d)
				return RequestDigest(&head, msgs)
			})
		}
	}
}

func (v *Verifier) digest(seq uint64, d *RequestSent) {
	v.requests++
	if v.state.Turn == nil {
		v.report(seq, "a request was sent outside a turn")
	}
	v.unanswered(seq, "a request is sent")
	v.compare(seq, d.Digest, v.state.Digest)
}

func (v *Verifier) compare(seq uint64, logged string, compute func() (string, error)) {
	got, err := compute()
	switch {
	case err != nil:
		v.report(seq, "the request's digest cannot be computed: %v", err)
	case got != logged:
		v.report(seq, "the request that was sent does not follow from the events before it: the log says %s, they give %s", logged, got)
	}
}

func (v *Verifier) unanswered(seq uint64, when string) {
	if v.state.Turn == nil {
		return
	}
	for _, c := range v.state.Turn.Calls {
		v.report(seq, "%s while tool call %q (%s) has no result", when, c.ID, c.Name)
	}
}

// Done returns the problems of the whole log. A turn that is open at its end is
// one: the log is being written, or its process died and nobody opened it since.
func (v *Verifier) Done() []Problem {
	if t := v.state.Turn; t != nil && !v.stopped {
		open := len(v.problems)
		v.report(0, "turn %d is open at the end of the log: it is running, or its process was killed; the next load closes it", t.Number)
		v.unanswered(0, "the log ends")
		for i := range v.problems[open:] {
			v.problems[open+i].Open = true
		}
	}
	return v.problems
}
