package loop

import (
	"sync"
	"time"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

// maxParallel bounds how many read-only tools run at once.
const maxParallel = 10

// tellAfter is how long calls that only read the disk may run before a client hears
// of them. Most are done by then: what began and what came of it then becomes
// durable, and is told, at once.
const tellAfter = 5 * time.Millisecond

// Started is told among the events of Observer.Events, without a number: it is not
// on the log. The call runs from there on.
type Started struct{ CallID string }

// EventType implements session.Data. It is no type of the log.
func (*Started) EventType() session.Type { return "" }

// group handles one run of calls: announced together, decided in order, run at
// once, answered in order. The announcement is durable before a call runs that can
// have an effect. The answers become durable with what comes next: the next
// group's announcement, a hook that may read them, the next request.
func (t *turn) group(jobs []*job) (*session.EndReason, error) {
	s := t.s
	st := s.state.Turn
	var data []session.Data
	for _, j := range jobs {
		data = append(data, &session.ToolCall{Turn: st.Number, Step: st.Step, CallID: j.call.ID, Name: j.call.Name, Arguments: j.call.Arguments})
	}
	if err := s.append(data...); err != nil {
		return nil, err
	}
	quick := t.quick(jobs)
	if !quick {
		if err := s.commit(t.ctx); err != nil {
			return nil, err
		}
	}
	for i, j := range jobs {
		if err := t.decide(j); err != nil {
			return nil, err
		}
		if j.end != nil {
			for _, later := range jobs[i+1:] { // nobody has said that they may run
				later.fail("interrupted", session.TextNotStarted)
			}
			break
		}
	}
	if quick {
		t.runQuick(jobs)
	} else {
		if err := s.commit(t.ctx); err != nil {
			return nil, err
		}
		await(s, func() struct{} { t.runAll(jobs); return struct{}{} })
	}
	var end *session.EndReason
	for _, j := range jobs {
		if err := t.answer(j); err != nil {
			return nil, err
		}
		if end == nil { // what has run beside it is answered all the same
			end = j.end
		}
	}
	return end, nil
}

// quick reports whether all that these calls can do is to read the disk.
func (t *turn) quick(jobs []*job) bool {
	d, ok := t.s.cfg.Files.(tool.Direct)
	direct := ok && d.Direct()
	for _, j := range jobs {
		if j.tool != nil && !(j.spec.Disk && direct) {
			return false
		}
	}
	return true
}

// runQuick runs such calls. They, and that they run, are told when tellAfter is
// over, else with what comes of them.
func (t *turn) runQuick(jobs []*job) {
	s := t.s
	for _, j := range jobs {
		if j.runs() && t.ctx.Err() == nil {
			j.marked = true
			s.unpublished = append(s.unpublished, session.Event{Data: &Started{j.call.ID}})
		}
	}
	wait := s.loan.lease()
	s.running.Store(&telling{t, wait})
	s.telling.arm()
	s.loan.Unlock()
	defer func() {
		wait.end()
		s.running.Store(nil)
	}()
	t.runAll(jobs)
}

// telling are calls that run untold.
type telling struct {
	t    *turn
	wait *lease
}

// tell is the session's pulse: it makes durable and tells what has begun.
func (s *Session) tell() {
	r := s.running.Load()
	if r == nil {
		return
	}
	if !r.wait.enter() {
		s.telling.arm()
		return
	}
	defer s.loan.Unlock()
	_ = s.commit(r.t.ctx) // a failure sticks: the turn finds it when the calls are done
}

func (j *job) runs() bool { return j.result == nil && j.end == nil }

// runAll runs the bodies of those jobs that may run.
func (t *turn) runAll(jobs []*job) {
	var run []*job
	for _, j := range jobs {
		if j.runs() {
			run = append(run, j)
		}
	}
	if len(run) == 1 {
		t.runOne(run[0])
		return
	}
	slots := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for _, j := range run {
		all.Go(func() {
			slots <- struct{}{}
			t.runOne(j)
			<-slots
		})
	}
	all.Wait()
}
