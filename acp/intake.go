package acp

import (
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// A client that sends requests faster than it reads the answers would have them fill memory: 11,500
// session/list in one write made 300 MB. So only so many requests run at once, each of these keeps its
// place until there is room for its answer, and what comes after them waits as the line that it is. What
// must not wait passes: answers to our own calls, and cancels. A client that writes all that it has and
// reads then is read to its end, up to maxWaiting.
const (
	// maxRunning is how many requests run at once, prompts aside.
	maxRunning = 128
	// maxWaiting is how many bytes of messages may wait before reading stops.
	maxWaiting = 16 << 20
	// waitingCost is what a waiting message takes beside its params, in bytes.
	waitingCost = 512
)

// Roomer is what a stream implements, beside jsonrpc2.ObjectStream, to have answers wait for a client that
// does not read. Room returns nil while there is room for an answer, or when the stream has ended; else
// what is closed when it is worth asking again.
type Roomer interface {
	Room() <-chan struct{}
}

// arrival is a request, or a notification, as it came.
type arrival struct {
	Message
	rpc     *jsonrpc2.Conn
	private jsonrpc2.ID // our number for a request
}

// intake admits messages in the order of the wire.
type intake struct {
	mu      sync.Mutex // held while a message is admitted
	running int        // requests that count towards maxRunning
	waiting []arrival
	size    int       // of waiting, in bytes
	sunk    sync.Cond // size has sunk
}

func (m *arrival) size() int { return len(m.Params) + waitingCost }

// take admits a message, or has it wait where others wait already or too many requests run. A cancel that
// has to wait is done twice: at once, for what it finds, and in its place, for what waits before it.
func (l *link) take(m arrival) {
	in := &l.intake
	in.mu.Lock()
	defer in.mu.Unlock()
	if m.ID == nil {
		l.notification(&m.Message)
	}
	for in.size >= maxWaiting && !l.refused() {
		in.sunk.Wait()
	}
	switch {
	case l.refused() || len(in.waiting) == 0 && (in.running < maxRunning || m.Method == MethodSessionPrompt):
		if m.ID != nil {
			l.request(m)
		}
	case m.ID != nil || len(in.waiting) > 0:
		in.waiting = append(in.waiting, m)
		in.size += m.size()
	}
}

// leave gives up a request's place to those that wait.
func (l *link) leave() {
	in := &l.intake
	in.mu.Lock()
	defer in.mu.Unlock()
	in.running--
	for len(in.waiting) > 0 && in.running < maxRunning {
		m := in.waiting[0]
		in.waiting[0] = arrival{}
		in.waiting = in.waiting[1:]
		in.size -= m.size()
		if m.ID == nil {
			l.notification(&m.Message)
		} else {
			l.request(m)
		}
	}
	if len(in.waiting) == 0 {
		in.waiting = nil
	}
	in.sunk.Signal()
}

// dismiss refuses what waits, once no more is taken.
func (l *link) dismiss() {
	in := &l.intake
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, m := range in.waiting {
		if m.ID != nil {
			l.request(m)
		}
	}
	in.waiting, in.size = nil, 0
	in.sunk.Signal()
}

func (l *link) refused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refusing
}

// room returns nil while there is room for an answer.
func (c *Conn) room() <-chan struct{} {
	if r, ok := c.stream.(Roomer); ok {
		return r.Room()
	}
	return nil
}

// awaitRoom returns when there is room for an answer, or when the answer is to go out all the same, since
// the connection is being closed.
func (l *link) awaitRoom() {
	for room := l.room(); room != nil; room = l.room() {
		select {
		case <-room:
		case <-l.ctx.Done():
			return
		}
	}
}
