// Package replay is a model client that serves recorded streams in order, so
// that a session runs again without a model or a key. What is recorded is a
// session log, ours or the reference system's; the type parser says how calls
// are found in it. Requests are not compared with the recorded ones: the n-th
// call of a session gets the n-th recorded stream, and live sessions take the
// recorded ones in the order of their first calls. The requests of hooks
// (hook/request) are counted by handler: the n-th of a handler gets the n-th
// recorded answer of that handler, since handlers ask side by side.
//
// An attempt that failed in the recording fails in the replay, with the same
// kind, status and wait; it may be tried again exactly if the recording tried
// again or said that one might. So a replay makes the calls that were recorded,
// no more and no fewer; asking for more is an error of model.KindReplay, and
// Check says what was left over.
package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// Replay serves the recorded streams of one path. It is safe for concurrent
// use by several sessions.
type Replay struct {
	path string

	mu      sync.Mutex
	scripts []*script
	// bound maps a live session to its script, in the order of first calls:
	// live ids are random and never those of the recording.
	bound map[string]*script
}

var _ model.Client = (*Replay)(nil)

// script is one recorded session.
type script struct {
	name string
	// scenario: strings may hold cwdToken.
	scenario bool
	reel
	// asides are what the session's hooks asked, by handler.
	asides map[string]*reel
	// window and output are the recorded model's, 0 where they are not known.
	window, output int64
}

// reel is recorded calls, served in order.
type reel struct {
	calls []call
	next  int
}

func (r *reel) rest() []call { return r.calls[r.next:] }

// reels are the session's own calls, then its hooks', by handler.
func (s *script) reels() []*reel {
	out := []*reel{&s.reel}
	for _, id := range slices.Sorted(maps.Keys(s.asides)) {
		out = append(out, s.asides[id])
	}
	return out
}

// ending says how a recorded stream ended.
type ending int

const (
	// endFinish: a finish chunk, the last of chunks.
	endFinish ending = iota
	// endError: call.err.
	endError
	// endHang: nothing more came until the client cancelled.
	endHang
)

// call is one recorded model call.
type call struct {
	// where names the call in messages.
	where     string
	turn      int
	step      int
	chunks    []session.Chunk
	end       ending
	err       *model.Error
	readyFile string
	// templated: a string of chunks has a from-request placeholder.
	templated bool
}

// hangText is what a hanging stream of an override says before it waits; it is
// the reference's, and its fixtures expect it.
const hangText = "partial"

// Open reads a recording: a session log, or a scenario folder that holds
// session.jsonl, the logs of its further sessions (session.1.jsonl, …) and
// perhaps replay.override.json. A path that names the session.jsonl of such a
// folder is taken as the folder.
func Open(path string) (*Replay, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	r := &Replay{path: path, bound: map[string]*script{}}
	dir, file := filepath.Split(path)
	if info.IsDir() {
		dir, file = path, "session.jsonl"
	}
	main, err := load(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	r.scripts = []*script{main}
	if file != "session.jsonl" {
		return r, nil
	}
	for n := 1; ; n++ {
		s, err := load(filepath.Join(dir, fmt.Sprintf("session.%d.jsonl", n)))
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		r.scripts = append(r.scripts, s)
	}
	if err := override(filepath.Join(dir, "replay.override.json"), main); err != nil {
		return nil, err
	}
	return r, nil
}

func load(path string) (*script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the recording: %w", err)
	}
	defer f.Close()
	s, err := parse(filepath.Base(path), f)
	if err != nil {
		return nil, fmt.Errorf("reading the recording %s: %w", path, err)
	}
	return s, nil
}

// Window returns the recorded model's context window and what of it is kept for an
// answer, so that a compaction is due where it was; 0 where they are not recorded.
func (r *Replay) Window() (window, output int64) {
	s := r.scripts[0]
	return s.window, s.output
}

// Calls returns how many model calls are recorded.
func (r *Replay) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.scripts {
		for _, reel := range s.reels() {
			n += len(reel.calls)
		}
	}
	return n
}

// Leftover returns how many recorded calls have not been asked for.
func (r *Replay) Leftover() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, s := range r.scripts {
		for _, reel := range s.reels() {
			n += len(reel.rest())
		}
	}
	return n
}

// Check returns nil when the recording is used up, else an error that says what
// was not asked for. A replay that asks for less than was recorded has not done
// what the recording did.
func (r *Replay) Check() error {
	n := r.Leftover()
	if n == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var rest []string
	for _, s := range r.scripts {
		for _, reel := range s.reels() {
			if left := reel.rest(); len(left) > 0 {
				rest = append(rest, left[0].where)
			}
		}
	}
	return model.Errorf(model.KindReplay, "replaying %s: %d recorded model calls were not asked for, the next is %s: the agent behaved otherwise than when this was recorded",
		r.path, n, strings.Join(rest, ", then "))
}

// take binds the session if need be and returns its next call, or that of a hook
// of it.
func (r *Replay) take(sessionID, handler string) (c *call, scenario bool, err *model.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.bound[sessionID]
	if s == nil {
		if len(r.bound) == len(r.scripts) {
			return nil, false, model.Errorf(model.KindReplay, "replaying %s: session %q asks for a model call, but the %d recorded sessions are taken", r.path, sessionID, len(r.scripts))
		}
		s = r.scripts[len(r.bound)]
		r.bound[sessionID] = s
	}
	from, by := &s.reel, ""
	if handler != "" {
		by = " by the hook " + handler
		if from = s.asides[handler]; from == nil {
			from = &reel{}
		}
	}
	if len(from.rest()) == 0 {
		return nil, false, model.Errorf(model.KindReplay, "replaying %s: model call %d is asked for%s, but %s holds %d: the agent behaved otherwise than when this was recorded", r.path, from.next+1, by, s.name, len(from.calls))
	}
	c = &from.calls[from.next]
	from.next++
	return c, s.scenario, nil
}

// Stream serves the next recorded stream of the request's session. A stream
// that a cancel cut in the recording waits for ctx where it was cut.
func (r *Replay) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		// A request that was cancelled at once has been made all the same: the log
		// says so, and a recording of it holds its call.
		c, scenario, merr := r.take(req.SessionID, req.Handler)
		if merr != nil {
			yield(session.Chunk{}, merr)
			return
		}
		// What a cancel let through in the recording comes before it here too, however
		// soon it is sent: else each run would log another part of it.
		cut := c.end == endHang && len(c.chunks) > 0
		if err := ctx.Err(); err != nil && !cut {
			yield(session.Chunk{}, err)
			return
		}
		chunks := c.chunks
		if c.templated {
			var err error
			if chunks, err = resolve(chunks, req, scenario); err != nil {
				yield(session.Chunk{}, model.Errorf(model.KindReplay, "replaying %s: %w", c.where, err))
				return
			}
		}
		for i := range chunks {
			for _, d := range chunks[i].Unpack() {
				if err := ctx.Err(); err != nil && !cut {
					yield(session.Chunk{}, err)
					return
				}
				if !yield(d, nil) {
					return
				}
			}
		}
		switch c.end {
		case endError:
			// A copy: whoever gets it may set its fields.
			err := *c.err
			yield(session.Chunk{}, &err)
		case endHang:
			if err := c.ready(req.Cwd); err != nil {
				yield(session.Chunk{}, err)
				return
			}
			<-ctx.Done()
			yield(session.Chunk{}, ctx.Err())
		}
	}
}

// ready writes the empty marker that tells a driver that the stream hangs.
func (c *call) ready(cwd string) error {
	if c.readyFile == "" {
		return nil
	}
	if !filepath.IsLocal(c.readyFile) {
		return model.Errorf(model.KindReplay, "replaying %s: readyFile %q leaves the session's directory", c.where, c.readyFile)
	}
	if err := os.WriteFile(filepath.Join(cwd, c.readyFile), nil, 0o644); err != nil {
		return model.Errorf(model.KindReplay, "replaying %s: writing the ready file: %w", c.where, err)
	}
	return nil
}
