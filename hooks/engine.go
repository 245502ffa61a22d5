package hooks

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options make an engine.
type Options struct {
	// Dialects in merge order: claude-code, then codex.
	Dialects []Dialect
	// ProjectDir keys trust: where the session started.
	ProjectDir string
	// Trust is the store of what the person has trusted; nil trusts nothing that
	// needs trust.
	Trust *Trust
	// Watch is what the dialects were loaded from; nil: nothing ever changes.
	Watch *Watch
	// SpillDir is a private directory for texts that are over a dialect's cap; it
	// is made when needed. Empty: such texts are cut.
	SpillDir string
	// Deliver is called with what async handlers say, from any goroutine, at any
	// time until Close. Nil drops it.
	Deliver func(Late)
	// Notify is called with what the person should know of async handlers that
	// failed, and of handlers that take long, from any goroutine. Nil drops it.
	Notify func(Text)
	// Now is the clock for durations; nil is time.Now.
	Now func() time.Time
	// Background is the life of async handlers; nil is context.Background. Close
	// ends them too.
	Background context.Context
	// Decided are decisions that hold for the session from the start: Set.Decisions
	// of another engine. Previous brings its own.
	Decided map[string]TrustState
	// Previous is the session's engine until now, when its files have changed and
	// were loaded anew. What the session remembers goes on: how far handler ids
	// have counted, what has been said, decisions for the session, handlers that
	// run in the background. Previous is done with; closing it does nothing.
	Previous *Set
}

// Set is the Engine of a session, and what the trust flow and the command line
// need beside it.
type Set struct {
	opts    Options
	byEvent map[Event][]*Handler
	*life
}

// life is what a session's engines have in common, the one after the other.
type life struct {
	bg     context.Context
	cancel context.CancelFunc
	// idle is bg's part for handlers that only wait to wake the model (Rewake): it
	// ends first.
	idle    context.Context
	endIdle context.CancelFunc
	wg      sync.WaitGroup           // async handlers
	slots   map[string]chan struct{} // per dialect: running async handlers

	mu      sync.Mutex
	owner   *Set                  // the engine in use
	counts  map[string]int        // runs so far, by "<dialect>:<event>:"
	said    map[string]struct{}   // notices already given
	spent   map[string]bool       // Once handlers that have run, by ID
	decided map[string]TrustState // decisions for the session, by ID
	closed  bool
}

var _ Engine = (*Set)(nil)

// NewEngine makes the engine of a session from its loaded dialects. Trust of
// each handler is settled here: managed layers run, layers that need trust ask
// the store, the rest is trusted. A dialect may have settled it before.
func NewEngine(o Options) *Set {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Set{opts: o, byEvent: map[Event][]*Handler{}}
	if o.Previous != nil {
		s.life = o.Previous.life
	} else {
		s.life = newLife(o.Background)
		maps.Copy(s.decided, o.Decided)
	}
	s.opts.Previous = nil // not kept alive
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = s
	for _, d := range o.Dialects {
		for _, h := range d.Handlers() {
			s.settle(h)
			for _, ev := range heardBy(h.Event) {
				s.byEvent[ev] = append(s.byEvent[ev], h)
			}
		}
		if l, ok := d.(AsyncLimiter); ok && l.AsyncLimit() > 0 && s.slots[d.Name()] == nil {
			s.slots[d.Name()] = make(chan struct{}, l.AsyncLimit())
		}
	}
	return s
}

func newLife(bg context.Context) *life {
	if bg == nil {
		bg = context.Background()
	}
	l := &life{
		slots: map[string]chan struct{}{}, counts: map[string]int{}, said: map[string]struct{}{},
		spent: map[string]bool{}, decided: map[string]TrustState{},
	}
	l.bg, l.cancel = context.WithCancel(bg)
	l.idle, l.endIdle = context.WithCancel(l.bg)
	return l
}

// heardBy returns the events of calls that may fire handlers of the event. The
// loop makes one call for a tool's result; whether that is PostToolUse or
// PostToolUseFailure is for each dialect to say.
func heardBy(e Event) []Event {
	if e == PostToolUse || e == PostToolUseFailure {
		return []Event{PostToolUse, PostToolUseFailure}
	}
	return []Event{e}
}

func (s *Set) settle(h *Handler) {
	switch {
	case h.Trust != "":
	case h.Place.Layer == LayerManaged:
		h.Trust = TrustManaged
	case !h.Place.Layer.NeedsTrust():
		h.Trust = TrustTrusted
	case s.opts.Trust == nil:
		h.Trust = TrustUntrusted
	default:
		h.Trust = s.opts.Trust.State(s.opts.ProjectDir, h)
	}
	if st, ok := s.decided[h.ID()]; ok && h.Place.Layer.NeedsTrust() {
		h.Trust = st
	}
}

// Has implements Engine: a handler that is held back counts until it has been
// reported.
func (s *Set) Has(e Event) bool {
	hs := s.byEvent[e]
	if len(hs) == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hs {
		if heldReason(h) == "" {
			if !h.Once || !s.spent[h.ID()] {
				return true
			}
			continue
		}
		if _, done := s.said[heldKey(h)]; !done {
			return true
		}
	}
	return false
}

func heldKey(h *Handler) string { return "held " + h.ID() }

// Asked tells the engine that the person is asked about the handlers with these
// ids: whether they run is no news any more.
func (s *Set) Asked(ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.said["asked "+id] = struct{}{}
	}
}

// Match implements Engine.
func (s *Set) Match(c *Call) Batch {
	if len(s.byEvent[c.Event]) == 0 {
		return nil
	}
	b := &batch{s: s, call: c}
	for _, d := range s.opts.Dialects {
		for _, h := range d.Match(c) {
			s.admit(b, d, h)
		}
	}
	if len(b.entries) == 0 {
		return nil
	}
	return b
}

// Guards reports whether the call would start a handler, without starting one or
// counting it.
func (s *Set) Guards(c *Call) bool {
	if len(s.byEvent[c.Event]) == 0 {
		return false
	}
	for _, d := range s.opts.Dialects {
		for _, h := range d.Match(c) {
			s.mu.Lock()
			runs := heldReason(h) == ""
			s.mu.Unlock()
			if runs {
				return true
			}
		}
	}
	return false
}

// admit adds the handler to the batch, as one to run or as one to report.
func (s *Set) admit(b *batch, d Dialect, h *Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &entry{d: d, h: h}
	if why := heldReason(h); why != "" {
		if !s.firstLocked(heldKey(h)) {
			return
		}
		e.held = why
		if _, asked := s.said["asked "+h.ID()]; h.Why != "" || h.Trust != TrustRejected && !h.switchedOff() && !asked {
			// Who rejected it, or agreed that it is off, or has the question before
			// them, need not be told that it does not run.
			e.note = heldNotice(h, why)
		}
	} else if h.Once && s.spent[h.ID()] {
		return
	}
	// The handler's own event: it may listen to PostToolUseFailure where the call
	// says PostToolUse.
	key := d.Name() + ":" + string(h.Event) + ":"
	s.counts[key]++
	e.id = key + strconv.Itoa(s.counts[key])
	b.entries = append(b.entries, e)
}

// Payload is what the dialect's handlers would get on stdin for the call.
func (s *Set) Payload(dialect string, c *Call) ([]byte, error) {
	for _, d := range s.opts.Dialects {
		if d.Name() == dialect {
			return d.Payload(c)
		}
	}
	return nil, fmt.Errorf("there is no dialect %s", dialect)
}

// switchedOff reports whether a repository's switch has turned it off with the
// person's consent.
func (h *Handler) switchedOff() bool { return h.OffBy != nil && h.OffBy.Trust.Runs() }

// heldReason says why the handler is not to be started, or "".
func heldReason(h *Handler) string {
	switch {
	case h.Why != "":
		return h.Why
	case h.switchedOff():
		return "you agreed to " + h.OffBy.Command + " in " + h.OffBy.Place.File
	case h.Trust.Runs():
		return ""
	case h.Trust == TrustModified:
		return "it has changed since you trusted it"
	case h.Trust == TrustRejected:
		return "you rejected it"
	}
	return "you have not trusted it yet"
}

// ran notes that a handler has run and has not failed.
func (s *Set) ran(h *Handler) {
	if h.Once {
		s.mu.Lock()
		s.spent[h.ID()] = true
		s.mu.Unlock()
	}
}

// Again lets the handlers of a file that were to run once run once more.
func (s *Set) Again(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all() {
		if h.Place.File == file {
			delete(s.spent, h.ID())
		}
	}
}

// all returns the handlers themselves. s.mu is held.
func (s *Set) all() []*Handler {
	var out []*Handler
	for _, d := range s.opts.Dialects {
		out = append(out, d.Handlers()...)
	}
	return out
}

// first reports whether the key comes up for the first time in the session.
func (s *Set) first(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.firstLocked(key)
}

func (s *Set) firstLocked(key string) bool {
	if _, ok := s.said[key]; ok {
		return false
	}
	s.said[key] = struct{}{}
	return true
}

// Seen tells the engine of a handler id that a resumed session's log has, so
// that ids count on instead of repeating.
func (s *Set) Seen(handlerID string) {
	i := strings.LastIndexByte(handlerID, ':')
	n, err := strconv.Atoi(handlerID[i+1:])
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[handlerID[:i+1]] = max(n, s.counts[handlerID[:i+1]])
}

// Handlers returns copies of all handlers, in dialect and config order.
func (s *Set) Handlers() []Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Handler
	for _, h := range s.all() {
		out = append(out, *h)
	}
	return out
}

// Held returns the handlers that only wait for the person's trust.
func (s *Set) Held() []Handler {
	var out []Handler
	for _, h := range s.Handlers() {
		if h.Why == "" && (h.Trust == TrustUntrusted || h.Trust == TrustModified) {
			out = append(out, h)
		}
	}
	return out
}

// Approve lets the handlers with these ids (Handler.ID) run, in this session,
// and with always in every later one of the project, as long as their content
// stays what it is.
func (s *Set) Approve(ids []string, always bool) error {
	return s.decide(ids, always, TrustTrusted)
}

// Reject keeps the handlers with these ids from running and from being asked
// about, with always in later sessions too.
func (s *Set) Reject(ids []string, always bool) error {
	return s.decide(ids, always, TrustRejected)
}

func (s *Set) decide(ids []string, always bool, st TrustState) error {
	want := map[string]bool{}
	for _, id := range ids {
		want[id] = true
	}
	var hs []*Handler
	s.mu.Lock()
	for _, h := range s.all() {
		if want[h.ID()] && h.Place.Layer.NeedsTrust() {
			delete(want, h.ID())
			h.Trust = st
			s.decided[h.ID()] = st
			hs = append(hs, h)
		}
	}
	s.mu.Unlock()
	if len(want) > 0 {
		return fmt.Errorf("%d of %d hooks are not among those that need trust: list them again", len(want), len(ids))
	}
	if !always {
		return nil
	}
	if s.opts.Trust == nil {
		return fmt.Errorf("there is no trust store: the decision holds for this session only")
	}
	if err := s.opts.Trust.Set(s.opts.ProjectDir, hs, st); err != nil {
		return err
	}
	// The store has the word from now on: who takes the decision back there, takes
	// it back here.
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hs {
		delete(s.decided, h.ID())
	}
	return nil
}

// Decisions are what the person has decided for the session alone, by Handler.ID.
func (s *Set) Decisions() map[string]TrustState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.decided)
}

// Changed reports whether something that the dialects were loaded from has
// changed, appeared or vanished since (Options.Watch): time to load them anew.
// The trust store counts: another process may have written it.
func (s *Set) Changed() bool {
	return len(s.ChangedFiles()) > 0 || s.opts.Trust != nil && s.opts.Trust.changed()
}

// ChangedFiles names the files and directories for which Changed holds.
func (s *Set) ChangedFiles() []string {
	if s.opts.Watch == nil {
		return nil
	}
	return s.opts.Watch.Changed()
}

// closeGrace is what async handlers have left when the session is closed: as long as
// Claude Code's SessionEnd hooks. People have them send, save and sum up what a turn
// has brought, which a session that is closed right after it must not lose.
const closeGrace = 1500 * time.Millisecond

// Close waits for the async handlers for a moment and ends those that still run;
// the ones that would wake the model it ends at once. What they say is dropped, but
// not that one has failed. It may be called twice.
func (s *Set) Close() {
	s.mu.Lock()
	if s.owner != s {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.mu.Unlock()
	s.endIdle()
	late := time.AfterFunc(closeGrace, s.cancel) // stopped below
	s.wg.Wait()
	late.Stop()
	s.cancel()
}

// over reports whether the session is closed: no model will hear what a handler says.
func (s *Set) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// goAsync starts fn in the background unless the engine is closed.
func (s *Set) goAsync(fn func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(fn)
	return true
}
