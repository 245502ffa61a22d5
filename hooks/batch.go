package hooks

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// batch is a matched call.
type batch struct {
	s       *Set
	call    *Call
	entries []*entry
	once    sync.Once
	out     *Outcome
}

// entry is one handler of a batch. All but the last group is fixed by Match.
type entry struct {
	d    Dialect
	h    *Handler
	id   string
	held string // why it is not started
	note string // what the person is told of that

	exit   Exit
	answer Answer
	order  int64 // place among those that finished
	took   time.Duration
	async  bool // it went on in the background
	// ended is set when it has, before the others have.
	ended atomic.Bool
}

var _ Batch = (*batch)(nil)

// Runs implements Batch.
func (b *batch) Runs() []Run {
	var out []Run
	for _, e := range b.entries {
		if e.held == "" {
			out = append(out, e.run())
		}
	}
	return out
}

func (e *entry) run() Run {
	return Run{Dialect: e.d.Name(), Event: e.h.Event, Handler: e.id, Matcher: e.h.Matcher, Command: e.h.Describe(), StatusMessage: e.h.StatusMessage}
}

// Run implements Batch. A second call returns the first one's outcome.
func (b *batch) Run(ctx context.Context) *Outcome {
	b.once.Do(func() { b.out = b.runAll(ctx) })
	return b.out
}

func (b *batch) runAll(ctx context.Context) *Outcome {
	// Payloads are made on the caller's goroutine: Call's transcript belongs to
	// the turn.
	type made struct {
		data []byte
		err  error
	}
	payloads := map[string]made{}
	for _, e := range b.entries {
		if _, ok := payloads[e.d.Name()]; !ok && e.held == "" {
			data, err := e.d.Payload(b.call)
			payloads[e.d.Name()] = made{data, err}
		}
	}
	var (
		wg       sync.WaitGroup
		finished atomic.Int64
	)
	for _, e := range b.entries {
		if e.held != "" {
			continue
		}
		p := payloads[e.d.Name()]
		if e.h.Async {
			e.async = true
			b.background(e, e.h, func(ctx context.Context) Exit { return b.exec(ctx, e, p.data, p.err) })
			continue
		}
		wg.Go(func() {
			start := b.s.opts.Now()
			e.exit = b.exec(ctx, e, p.data, p.err)
			e.ended.Store(true)
			switch {
			case e.exit.Rest != nil && b.call.Event == SessionEnd: // the end of the session would be its end
				e.async = true
				<-e.exit.Rest
			case e.exit.Rest != nil:
				e.async = true
				b.detached(e)
			default:
				e.answer = e.d.Decode(b.call, e.h, e.exit)
			}
			e.took = b.s.opts.Now().Sub(start)
			e.order = finished.Add(1)
		})
	}
	slow := time.AfterFunc(patience, b.slow) // it ends by itself: see slow
	wg.Wait()
	slow.Stop()
	if ctx.Err() != nil {
		return b.cancelled()
	}
	out := &Outcome{}
	heard := make([]Heard, 0, len(b.entries))
	for _, e := range b.entries {
		out.Runs = append(out.Runs, b.result(e, out))
		if e.held == "" && !e.async {
			heard = append(heard, Heard{Answer: e.answer, Dialect: e.d.Name(), Handler: e.id, Order: int(e.order)})
		}
	}
	Merge(out, b.call.Event, heard)
	return out
}

// patience is how long a hook may keep everybody waiting before the person is told
// which one it is.
const patience = 10 * time.Second

// slow tells of the hooks that still run and that nobody can see: one with a status
// message is shown, but not at a session's start. At its end there is nobody to tell.
func (b *batch) slow() {
	if b.s.opts.Notify == nil || b.call.Event == SessionEnd {
		return
	}
	for _, e := range b.entries {
		hidden := e.h.StatusMessage == "" || b.call.Event == SessionStart
		if e.held == "" && !e.h.Async && hidden && !e.ended.Load() && b.s.first("slow "+e.h.ID()) {
			b.s.opts.Notify(b.text(e, fmt.Sprintf("%s has been running for %g s; it is waited for, %g s at most", nameOf(e.h), patience.Seconds(), e.h.Timeout.Seconds())))
		}
	}
}

// cancelled is the outcome after ctx has ended: what was said no longer counts. A
// handler that was held back, which is said but once, and one that goes on in the
// background have not been cancelled.
func (b *batch) cancelled() *Outcome {
	out := &Outcome{}
	for _, e := range b.entries {
		if e.held != "" || e.async {
			out.Runs = append(out.Runs, b.result(e, out))
			continue
		}
		r := e.run()
		r.Decision, r.Duration = Cancelled, e.took
		out.Runs = append(out.Runs, r)
	}
	return out
}

func (b *batch) exec(ctx context.Context, e *entry, payload []byte, err error) Exit {
	if err != nil {
		return Exit{Code: -1, StartErr: fmt.Errorf("making its input: %w", err)}
	}
	return e.d.Exec(ctx, &Job{Call: b.call, Handler: e.h, ID: e.id, Payload: payload, Background: b.s.bg})
}

// result turns an entry into its Run, caps its texts, and adds notices.
func (b *batch) result(e *entry, out *Outcome) Run {
	r := e.run()
	r.Duration = e.took
	switch {
	case e.held != "":
		r.Decision, r.Reason = Held, e.held
		if e.note != "" {
			out.Notices = append(out.Notices, b.text(e, e.note))
		}
		return r
	case e.async:
		r.Decision, r.Reason = Pass, "it goes on in the background"
		b.s.ran(e.h)
		return r
	}
	if e.exit.StartErr == nil {
		code := e.exit.Code
		r.ExitCode = &code
	}
	r.Stderr = Summary(e.exit.Stderr)
	a := &e.answer
	r.Decision, r.Reason = a.Decision, a.Why
	if r.Decision == "" {
		r.Decision = Pass
	}
	if refused := a.Blocked && e.h.Type != "command" && e.h.Type != "http"; r.Decision != Failed && r.Decision != TimedOut && e.exit.Code == 0 && !refused {
		b.s.ran(e.h)
	}
	b.cap(e, out)
	if r.Decision == Failed || r.Decision == TimedOut {
		b.notice(e, out, string(r.Decision)+" "+e.h.ID(), failNotice(e.h, a))
	}
	for _, n := range a.Notices {
		b.notice(e, out, n+" "+e.h.ID(), nameOf(e.h)+": "+n)
	}
	if e.exit.Truncated {
		b.notice(e, out, "cut "+e.h.ID(), fmt.Sprintf("%s wrote more than %d MiB; the rest is dropped.", nameOf(e.h), MaxOutput>>20))
	}
	r.Injected = injected(b.call.Event, a)
	return r
}

// cap applies the dialect's limits to the texts of an answer.
func (b *batch) cap(e *entry, out *Outcome) {
	c, ok := e.d.(Capper)
	if !ok {
		return
	}
	one := func(kind TextKind, text string) string {
		var path string
		short, over := c.Cap(e.h, kind, text, func(full string) (p string, err error) {
			path, err = spill(b.s.opts.SpillDir, e.id, full)
			return path, err
		})
		if over {
			b.notice(e, out, "spill "+e.h.ID(), spillNotice(e.h, path))
		}
		return short
	}
	a := &e.answer
	if a.Context != nil {
		s := one(ContextText, *a.Context)
		a.Context = &s
	}
	if a.Replace != nil {
		s := one(ReplaceText, *a.Replace)
		a.Replace = &s
	}
	if a.Message != "" {
		a.Message = one(MessageText, a.Message)
	}
	if a.Reason != "" {
		a.Reason = one(ReasonText, a.Reason)
	}
	if a.PermissionReason != "" {
		a.PermissionReason = one(ReasonText, a.PermissionReason)
	}
}

func (b *batch) text(e *entry, s string) Text {
	return Text{Text: s, Dialect: e.d.Name(), Handler: e.id}
}

func (b *batch) notice(e *entry, out *Outcome, key, text string) {
	if b.s.first(key) {
		out.Notices = append(out.Notices, b.text(e, text))
	}
}

// injected names the kinds of text that came out, for the log.
func injected(ev Event, a *Answer) []string {
	var out []string
	switch {
	case a.Blocked && a.Reason != "" && (ev == PostToolUse || ev == PostToolUseFailure),
		a.Replace != nil:
		out = append(out, "feedback")
	case a.Blocked && a.Reason != "",
		a.Permission == Deny && a.PermissionReason != "":
		out = append(out, "reason")
	}
	if a.Context != nil {
		out = append(out, "context")
	}
	return out
}

// background runs an async handler, or waits for a detached one, and delivers
// what it says.
func (b *batch) background(e *entry, h *Handler, exec func(context.Context) Exit) {
	slots, life := b.s.slots[e.d.Name()], b.s.bg
	if h.Rewake {
		life = b.s.idle
	}
	b.s.goAsync(func() {
		if slots != nil {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-life.Done():
				return
			}
		}
		exit := exec(life)
		if exit.Rest != nil {
			// It is in the background already: wait it out.
			exit = <-exit.Rest
		}
		if life.Err() != nil || exit.Cancelled {
			return
		}
		late := &entry{d: e.d, h: h, id: e.id, exit: exit, answer: e.d.Decode(b.call, h, exit)}
		var out Outcome
		if b.s.over() {
			b.failure(late, &out)
			return
		}
		b.cap(late, &out)
		b.deliver(late, &out)
	})
}

// detached follows a handler that printed {"async":true} on its own.
func (b *batch) detached(e *entry) {
	b.s.mu.Lock() // guards Trust, which the copy takes along
	h := *e.h
	b.s.mu.Unlock()
	h.Async = true
	rest := e.exit.Rest
	b.background(e, &h, func(context.Context) Exit { return <-rest })
}

// failure tells the person of out's notices and, if the handler has failed, of that.
func (b *batch) failure(e *entry, out *Outcome) {
	a := &e.answer
	if a.Decision == Failed || a.Decision == TimedOut {
		b.notice(e, out, string(a.Decision)+" "+e.h.ID(), failNotice(e.h, a))
	}
	if b.s.opts.Notify != nil {
		for _, t := range out.Notices {
			b.s.opts.Notify(t)
		}
	}
}

func (b *batch) deliver(e *entry, out *Outcome) {
	a := &e.answer
	b.failure(e, out)
	if b.s.opts.Deliver == nil {
		return
	}
	say := func(text string) { b.s.opts.Deliver(Late{Text: b.text(e, text), Event: e.h.Event}) }
	if a.Blocked && (a.Reason != "" || e.h.RewakeMessage != "") {
		b.s.opts.Deliver(Late{
			Text: b.text(e, a.Reason), Event: e.h.Event, Rewake: e.h.Rewake, Lead: e.h.RewakeMessage, Summary: e.h.RewakeSummary,
		})
	}
	if a.Context != nil {
		say(*a.Context)
	}
	// An async hook's systemMessage goes to the model too (Claude Code hooks reference, handlers).
	if a.Message != "" {
		say(a.Message)
	}
}

// nameOf is how a handler is called in notices.
func nameOf(h *Handler) string {
	cmd, _, more := strings.Cut(h.Describe(), "\n")
	cmd = Visible(cmd)
	if short := Head(cmd, 120); short != cmd || more {
		cmd = short + "…"
	}
	if cmd == "" {
		return string(h.Event) + " hook of " + h.Place.File
	}
	return string(h.Event) + " hook `" + cmd + "`"
}

func failNotice(h *Handler, a *Answer) string {
	refused := a.Blocked || a.Permission == Deny
	switch {
	case a.Decision == TimedOut && refused:
		return nameOf(h) + " " + a.Why + " and was ended; that counts as a refusal."
	case a.Decision == TimedOut:
		return nameOf(h) + " " + a.Why + " and was ended; it decided nothing."
	case refused:
		return nameOf(h) + " failed, which counts as a refusal: " + a.Why
	}
	return nameOf(h) + " failed: " + a.Why
}

func heldNotice(h *Handler, why string) string {
	s := nameOf(h)
	if h.Describe() != "" { // else the file is its name
		s += " of " + Visible(h.Place.File)
	}
	s += " was not run: " + why + "."
	if h.Why == "" && (h.Trust == TrustUntrusted || h.Trust == TrustModified) {
		s += " Read it, then run `acp-agent hooks trust`."
	}
	return s
}

func spillNotice(h *Handler, path string) string {
	if path == "" {
		return nameOf(h) + " wrote more than the limit; the model got the start of it."
	}
	return nameOf(h) + " wrote more than the limit; the model got the start of it, the rest is in " + path + "."
}
