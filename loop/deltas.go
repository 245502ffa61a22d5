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
// for a moment when there are many, the session's pulse when they have waited long
// enough. An answer of less than flushEvery needs neither, nor a second goroutine.
type deltas struct {
	s          *Session
	turn, step int
	wait       *lease
	// fail ends the stream when the log cannot be written.
	fail context.CancelFunc
	// told is closed when what led to the request is committed, or when that has
	// failed (untold); nil where it was committed before.
	told   chan struct{}
	untold bool

	mu     sync.Mutex
	packer session.Packer
	// ready are the packs that are complete; n counts the chunks in them and in
	// the packer.
	ready []session.Data
	n     int

	// Who has the state:
	synced time.Time
	dirty  bool // something was logged since
}

func newDeltas(s *Session, at *session.Turn, fail context.CancelFunc) *deltas {
	d := &deltas{s: s, turn: at.Number, step: at.Step, wait: s.loan.lease(), fail: fail, synced: s.cfg.Now()}
	if len(s.unpublished) > 0 {
		d.told = make(chan struct{})
	}
	return d
}

// run consumes a stream and returns how it ended. It has the state before and
// after, not meanwhile.
func (d *deltas) run(ctx context.Context, chunks iter.Seq2[session.Chunk, error], messageID string) error {
	d.s.streaming.Store(d)
	d.lend(ctx)
	defer func() {
		if d.told != nil {
			<-d.told
		}
		d.wait.end()
		d.s.streaming.Store(nil)
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
		d.s.cfg.Precedence.giveWay(ctx)
	}
	return nil
}

// lend lends the state, at once or when what is to be committed first has been.
func (d *deltas) lend(ctx context.Context) {
	if d.told == nil {
		d.s.loan.Unlock()
		return
	}
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
	d.mu.Unlock()
	if n == 1 {
		d.s.flushing.arm()
	}
	if n < drainAt {
		return
	}
	if n < stallAt {
		if !d.wait.tryEnter() {
			return
		}
	} else {
		d.s.loan.take(d.wait.depth)
	}
	defer d.s.loan.Unlock()
	if d.drain() != nil || d.write() != nil {
		d.fail()
	}
}

// add takes complete packs. d.mu is held.
func (d *deltas) add(cs []session.Chunk) {
	for i := range cs {
		d.ready = append(d.ready, &session.AssistantChunk{Turn: d.turn, Step: d.step, Chunk: cs[i]})
	}
}

// flush is the session's pulse: it logs what has waited for flushEvery, and makes
// durable what has waited for syncEvery.
func (s *Session) flush() {
	d := s.streaming.Load()
	if d == nil {
		return
	}
	again := true
	if d.wait.enter() {
		if d.drain() != nil || d.write() != nil || d.sync() != nil {
			d.fail()
		}
		again = d.dirty
		s.loan.Unlock()
	}
	if again {
		s.flushing.arm()
	}
}

// sync makes the log durable when that is due.
func (d *deltas) sync() error {
	now := d.s.cfg.Now()
	if !d.dirty || now.Sub(d.synced) < syncEvery {
		return nil
	}
	d.synced, d.dirty = now, false
	if err := d.s.log.Sync(); err != nil {
		return d.s.fail(err)
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
	d.dirty = true
	return d.s.append(data...)
}

// write hands the log to the operating system.
func (d *deltas) write() error {
	if err := d.s.log.Flush(); err != nil {
		return d.s.fail(err)
	}
	return nil
}
