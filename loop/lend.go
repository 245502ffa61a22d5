package loop

import (
	"context"
	"sync"
	"time"

	"acp-agent/session"
)

// loan is how short operations get at the session's state while its owner waits
// for something (a model, a tool, a hook, a person). The owner does not serve
// them: it lays the state out, and whoever has something to do takes it, does it
// on its own goroutine, and puts it back. So nothing that the owner waits for
// needs a goroutine of its own.
type loan struct {
	// out holds one token while the owner waits: it stands for the state, and
	// who has taken it out may read, append and publish.
	out chan struct{}
	// ops are the operations that have begun and not ended. More than one: an
	// operation that waits for something lends the state on. It belongs to the
	// state.
	ops int
	// ended is signalled, by the holder, when an operation has ended.
	ended *sync.Cond
	// waited: the owner has waited for something since this was last cleared. It
	// belongs to the state.
	waited bool
}

func newLoan() *loan {
	l := &loan{out: make(chan struct{}, 1)}
	l.ended = sync.NewCond(l)
	return l
}

// Lock takes the state, Unlock puts it back: a sync.Locker for ended.
func (l *loan) Lock() { <-l.out }

// Unlock puts the state back.
func (l *loan) Unlock() { l.out <- struct{}{} }

// give lends the state. Its result is for take.
func (l *loan) give() (depth int) {
	depth, l.waited = l.ops, true
	l.Unlock()
	return depth
}

// take gets the state back, after the operations that began meanwhile: one that
// waits for a hook is not to find the turn further on, or over.
func (l *loan) take(depth int) {
	l.Lock()
	for l.ops > depth {
		l.ended.Wait()
	}
}

// lease is one wait of the owner, for what has something to do with the state in it:
// log what has streamed, tell of what has begun.
type lease struct {
	loan  *loan
	depth int
	over  chan struct{} // closed when the owner has the state again
}

// lease prepares a wait, which begins with give. The owner calls it.
func (l *loan) lease() *lease {
	l.waited = true
	return &lease{loan: l, depth: l.ops, over: make(chan struct{})}
}

// end ends the wait.
func (w *lease) end() {
	w.loan.take(w.depth)
	close(w.over)
}

// enter takes the state for a moment, which loan.Unlock ends. It reports false
// when the wait is over, and when an operation is under way that waits for
// something: nothing comes between its events.
func (w *lease) enter() bool {
	select {
	case <-w.loan.out:
	case <-w.over:
		return false
	}
	select {
	case <-w.over: // it is another wait's loan
	default:
		if w.loan.ops == w.depth {
			return true
		}
	}
	w.loan.Unlock()
	return false
}

// tryEnter is enter for who does not wait.
func (w *lease) tryEnter() bool {
	select {
	case <-w.loan.out:
		if w.loan.ops == w.depth {
			return true
		}
		w.loan.Unlock()
	default:
	}
	return false
}

// pulse calls fn some time after it was armed, or earlier: one that is armed already
// stays as it is. Arming it for each of many short waits so costs next to nothing,
// where a timer a wait would wake a thread each time.
type pulse struct {
	after time.Duration
	fn    func()

	mu    sync.Mutex
	timer *time.Timer
	armed bool
}

func (p *pulse) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.armed:
		return
	case p.timer == nil:
		p.timer = time.AfterFunc(p.after, p.beat) // its goroutine ends with fn, which ends with the wait
	default:
		p.timer.Reset(p.after)
	}
	p.armed = true
}

func (p *pulse) beat() {
	p.mu.Lock()
	p.armed = false
	p.mu.Unlock()
	p.fn()
}

// Do runs fn as the owner: at once when the session is idle, in a wait of the
// running turn otherwise. fn must be short and may append.
func (s *Session) Do(ctx context.Context, fn func(*session.State) error) error {
	select {
	case s.owner <- struct{}{}:
		defer func() { <-s.owner }()
		return fn(s.state)
	case <-s.loan.out:
		s.loan.ops++
		defer func() {
			s.loan.ops--
			s.loan.ended.Broadcast()
			s.loan.Unlock()
		}()
		return fn(s.state)
	case <-s.closing:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await runs fn while the state is lent to short operations.
func await[T any](s *Session, fn func() T) T {
	depth := s.loan.give()
	defer s.loan.take(depth)
	return fn()
}
