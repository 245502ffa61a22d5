package loop

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long the turns of other sessions wait for the ends of cancelled
// ones. What does not end within it, as a command that is slow to die, waits for
// something else than the processor.
const patience = 25 * time.Millisecond

// Precedence lets a cancelled turn end before the turns of other sessions go on.
// Go's scheduler knows no priorities: with 50 turns busy, each of the three or four
// changes of goroutines between a cancel and its answer waited behind all of them,
// which made 100 ms and more (issue 6). One is shared by the sessions of a process;
// the zero value is ready to use.
type Precedence struct {
	mu   sync.Mutex
	open atomic.Pointer[ending]
}

// ending is some cancelled turns that are to end first. All of it but done is
// guarded by Precedence.mu.
type ending struct {
	turns int
	late  *time.Timer
	done  chan struct{} // closed when they have ended, or patience has
}

// claim has the other turns wait until end is called, once, or patience runs out.
func (p *Precedence) claim() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.open.Load()
	if e == nil {
		e = &ending{done: make(chan struct{})}
		e.late = time.AfterFunc(patience, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.clear(e)
		})
		p.open.Store(e)
	}
	e.turns++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.turns--; e.turns == 0 {
			p.clear(e)
		}
	}
}

// clear lets the others go on. p.mu is held.
func (p *Precedence) clear(e *ending) {
	if p.open.Load() == e {
		e.late.Stop()
		p.open.Store(nil)
		close(e.done)
	}
}

// giveWay waits while the cancelled turns of other sessions end. A turn that is
// cancelled itself goes on.
func (p *Precedence) giveWay(ctx context.Context) {
	e := p.open.Load()
	if e == nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-e.done:
	}
}

// giveWay is called between the pieces of a turn's work, none of which should take
// more than some tenths of a millisecond of the processor's time.
func (t *turn) giveWay() { t.s.cfg.Precedence.giveWay(t.ctx) }
