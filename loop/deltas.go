package loop

import (
	"context"
	"iter"
	"sync"
	"time"

	"acp-agent/session"
)

// Batch bounds of streamed output in the log: it is handed to the operating
// system at least every flushEvery, made durable every syncEvery, so that a
// crash loses at most that much of an answer that is not finished.
const (
	flushEvery = 100 * time.Millisecond
	syncEvery  = time.Second
	// drainAt deltas are logged before the time is up; the stream waits for the
	// state to be there for it at stallAt, which only a hook that takes long
	// between two operations or a stalled disk reaches.
	drainAt = 1024
	stallAt = 16 * drainAt
)

// deltas are the chunks of one stream on their way to the log. The stream runs on
// the turn's goroutine, with the state lent, and collects them; it takes the state
// for a moment when there are many, the timer when they have waited long enough.
// An answer of less than flushEvery needs neither, nor a second goroutine.
type deltas struct {
	s          *Session
	turn, step int
	// depth is what the loan was given with.
	depth int
	// fail ends the stream when the log cannot be written.
	fail context.CancelFunc

	mu     sync.Mutex
	packer session.Packer
	// ready are the packs that are complete; n counts the chunks in them and in
	// the packer.
	ready []session.Data
	n     int
	// armed: the timer will drain what there is.
	armed bool
	timer *time.Timer
	// over is closed when the stream has ended: the timer has nothing to do then.
	over chan struct{}
	// told is closed when what led to the request is committed, or when that has
	// failed (untold); nil where it was committed before.
	told   chan struct{}
	untold bool

	// Who has the state:
	synced time.Time
	dirty  bool // something was logged since
}

func newDeltas(s *Session, at *session.Turn, fail context.CancelFunc) *deltas {
	return &deltas{s: s, turn: at.Number, step: at.Step, fail: fail, over: make(chan struct{}), synced: s.cfg.Now()}
}

// run consumes a stream and returns how it ended. It has the state before and
// after, not meanwhile.
func (d *deltas) run(ctx context.Context, chunks iter.Seq2[session.Chunk, error], messageID string) error {
	d.lend(ctx)
	defer func() {
		if d.told != nil {
			<-d.told
		}
		d.s.loan.take(d.depth)
		close(d.over)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer != nil {
			d.timer.Stop()
		}
	}()
	told := d.told == nil
	var shown session.Chunk // one for all deltas: a variable of the loop would be one for each
	for c, err := range chunks {
		if err != nil {
			return err
		}
		if messageID != "" && (c.Type == session.ChunkText || c.Type == session.ChunkReasoning) {
			if !told {
				if <-d.told; d.untold {
					return nil
				}
				told = true
			}
			shown = c
			d.s.cfg.Observer.Delta(ctx, messageID, &shown)
		}
		d.put(c)
	}
	return nil
}

// lend lends the state, at once or when what is to be committed first has been.
func (d *deltas) lend(ctx context.Context) {
	if d.told == nil {
		d.depth = d.s.loan.give()
		return
	}
	d.depth = d.s.loan.ops
	go func() { // joined by run
		defer close(d.told)
		if d.s.commit(ctx) != nil {
			d.untold = true
			d.fail()
		}
		d.s.loan.Unlock()
	}()
}

// put collects a chunk.
func (d *deltas) put(c session.Chunk) {
	now := d.s.cfg.Now()
	d.mu.Lock()
	d.add(d.packer.Add(c, now))
	d.n++
	n := d.n
	if !d.armed {
		d.armed = true
		d.arm(flushEvery)
	}
	d.mu.Unlock()
	if n < drainAt {
		return
	}
	if n < stallAt {
		if !d.s.loan.tryTake(d.depth) {
			return
		}
	} else {
		d.s.loan.take(d.depth)
	}
	defer d.s.loan.Unlock()
	if d.drain() != nil {
		d.fail()
	}
}

// add takes complete packs. d.mu is held.
func (d *deltas) add(cs []session.Chunk) {
	for i := range cs {
		d.ready = append(d.ready, &session.AssistantChunk{Turn: d.turn, Step: d.step, Chunk: cs[i]})
	}
}

// arm sets the timer. d.mu is held.
func (d *deltas) arm(after time.Duration) {
	if d.timer == nil {
		d.timer = time.AfterFunc(after, d.tick) // its goroutine ends with over at the latest
		return
	}
	d.timer.Reset(after)
}

// tick logs what has waited for flushEvery, and makes durable what has waited
// for syncEvery.
func (d *deltas) tick() {
	select {
	case <-d.s.loan.out:
	case <-d.over:
		return
	}
	defer d.s.loan.Unlock()
	select {
	case <-d.over: // it is another wait's loan
		return
	default:
	}
	if d.s.loan.ops > d.depth { // an operation waits for something: not between its events
		d.mu.Lock()
		d.arm(flushEvery)
		d.mu.Unlock()
		return
	}
	d.mu.Lock()
	d.armed = false
	d.mu.Unlock()
	if d.drain() != nil || d.sync() != nil {
		d.fail()
	}
}

// sync makes the log durable when that is due, and sees to it that it will be.
func (d *deltas) sync() error {
	now := d.s.cfg.Now()
	if d.dirty && now.Sub(d.synced) >= syncEvery {
		d.synced, d.dirty = now, false
		if err := d.s.log.Sync(); err != nil {
			return d.s.fail(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dirty && !d.armed {
		d.arm(syncEvery - now.Sub(d.synced))
	}
	return nil
}

// drain moves what has streamed into the log. Who calls it has the state.
func (d *deltas) drain() error {
	d.mu.Lock()
	d.add(d.packer.Flush())
	data := d.ready
	d.ready, d.n = nil, 0
	d.mu.Unlock()
	if len(data) == 0 {
		return nil
	}
	if err := d.s.append(data...); err != nil {
		return err
	}
	d.dirty = true
	if err := d.s.log.Flush(); err != nil {
		return d.s.fail(err)
	}
	return nil
}
