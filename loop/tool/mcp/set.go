// Package mcp makes the tools of MCP servers that a client names for a session
// into tools of that session. Servers connect in the background, side by side;
// their processes, connections and names belong to one Set, which ends them all.
// The protocol itself is the official SDK's.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-agent/loop/tool"
)

const (
	defaultConnectTimeout = 30 * time.Second
	// defaultCallTimeout is long: a tool may wait for a person.
	defaultCallTimeout = 10 * time.Minute
	// closeLimit bounds Close, whatever servers do.
	closeLimit = 2 * time.Second
)

// Server is one server as a client names it. With a Command it is started and
// spoken to on stdin and stdout; otherwise it is reached at the URL, by
// streamable HTTP or, with SSE, by the older event stream transport.
type Server struct {
	Name    string
	Command string
	Args    []string
	// Env is laid over Options.Environ, one K=V an entry.
	Env []string
	URL string
	// Headers go with each request to the URL's own host.
	Headers map[string]string
	SSE     bool
}

// Options are what a session's servers share.
type Options struct {
	// Cwd is where servers are started, at each start.
	Cwd string
	// Environ is the environment that servers start from.
	Environ []string
	// Name and Version are how the agent introduces itself.
	Name, Version string
	// ConnectTimeout bounds one attempt to connect: start, handshake and list of
	// tools. 0 is 30 seconds.
	ConnectTimeout time.Duration
	// CallTimeout bounds the silence of a tool: progress starts it anew. 0 is 10
	// minutes, negative is no bound.
	CallTimeout time.Duration
	// AskForm and AskURL say which questions of servers the person can be asked
	// (MCP elicitation): only those are offered to servers. A call puts them through
	// Env.Elicit. NewID makes their ids; it is needed where either is set.
	AskForm, AskURL bool
	NewID           func() string
	// Log gets what servers write to stderr. Nil: nothing is logged.
	Log *slog.Logger
}

// Set is the servers of one session. Its methods are safe for concurrent use.
type Set struct {
	opts    Options
	log     *slog.Logger
	servers []*server

	// soft ends what goes on, first of all attempts to connect; hard cuts what
	// has not ended by itself when Close runs out of time.
	soft, hard             context.Context
	cancelSoft, cancelHard context.CancelFunc

	// wg counts the goroutines of all servers.
	wg        sync.WaitGroup
	closeOnce sync.Once

	mu sync.Mutex
	// changed is closed, and made anew, at each change of a server's state.
	changed chan struct{}
	closed  bool
}

// Start begins to connect to the servers and returns at once. The connections
// last until Close; the end of ctx cuts them without grace. Close must be called
// in any case.
func Start(ctx context.Context, servers []Server, o Options) *Set {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = defaultConnectTimeout
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = defaultCallTimeout
	}
	if o.Name == "" {
		o.Name = "acp-agent"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Set{opts: o, log: o.Log, changed: make(chan struct{})}
	s.hard, s.cancelHard = context.WithCancel(ctx)
	s.soft, s.cancelSoft = context.WithCancel(s.hard)
	for _, cfg := range servers {
		s.servers = append(s.servers, newServer(s, cfg))
	}
	for _, sv := range s.servers {
		sv.connect()
	}
	return s
}

// Tools waits until all servers have connected or failed, or ctx is done. It
// returns the tools of those connected, in the order of their names, and each
// failure once: a sentence for the person. late are the servers that are still
// connecting for the first time; their tools come with a later call. A server that
// ended after it had connected keeps its tools: a call starts it again.
func (s *Set) Tools(ctx context.Context) (tools []tool.Tool, failures, late []string) {
	for {
		s.mu.Lock()
		changed := s.changed
		if s.settledLocked() || ctx.Err() != nil || s.closed {
			tools, failures = s.toolsLocked()
			for _, sv := range s.servers {
				if sv.attempt != nil && !sv.met {
					late = append(late, sv.cfg.Name)
				}
			}
			s.mu.Unlock()
			return tools, failures, late
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (s *Set) settledLocked() bool {
	return !slices.ContainsFunc(s.servers, func(sv *server) bool { return sv.pendingLocked() })
}

func (s *Set) toolsLocked() ([]tool.Tool, []string) {
	var all []remote
	var failures []string
	for _, sv := range s.servers {
		if sv.failure != "" && !sv.told {
			sv.told = true
			failures = append(failures, sv.failure)
		}
		for _, t := range sv.tools {
			all = append(all, remote{server: sv, def: t})
		}
	}
	names := make([]origin, len(all))
	for i, r := range all {
		names[i] = origin{r.server.cfg.Name, r.def.Name}
	}
	var tools []tool.Tool
	for i, name := range toolNames(names) {
		r := all[i]
		r.spec = r.server.spec(name, r.def)
		tools = append(tools, &r)
	}
	slices.SortFunc(tools, func(a, b tool.Tool) int { return strings.Compare(a.(*remote).spec.Name, b.(*remote).spec.Name) })
	return tools, failures
}

// CallTool calls a tool by its server's own names. It waits for a server that is
// still connecting and starts one again that has ended. The error is for a call
// that was not answered; what the tool itself reports is text and isError.
func (s *Set) CallTool(ctx context.Context, serverName, name string, input json.RawMessage) (text string, isError bool, err error) {
	i := slices.IndexFunc(s.servers, func(sv *server) bool { return sv.cfg.Name == serverName })
	if i < 0 {
		return "", false, fmt.Errorf("there is no MCP server named %q in this session: %s", serverName, s.known())
	}
	res, err := s.servers[i].call(ctx, name, input, caller{})
	if err != nil {
		return "", false, err
	}
	return plainText(res), res.IsError, nil
}

func (s *Set) known() string {
	if len(s.servers) == 0 {
		return "it has none"
	}
	names := make([]string, len(s.servers))
	for i, sv := range s.servers {
		names[i] = sv.cfg.Name
	}
	return "it has " + strings.Join(names, ", ")
}

// Close ends all servers and returns when they are gone, within two seconds. A
// process has its stdin closed, then gets SIGTERM, then SIGKILL, with its whole
// group. Calls that wait are answered with an error. Close may be called again.
func (s *Set) Close() {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.changeLocked()
		s.mu.Unlock()
		// No goroutine is added from here on: see (*Set).run.
		s.cancelSoft()
		done := make(chan struct{})
		go func() { // ends with the servers' goroutines, which cancelHard cuts
			s.wg.Wait()
			close(done)
		}()
		limit := time.NewTimer(closeLimit)
		defer limit.Stop()
		cut := time.NewTimer(closeLimit - closeSpare)
		defer cut.Stop()
		select {
		case <-done:
		case <-cut.C:
			s.log.Warn("MCP servers were cut off: they did not end in time")
			s.cancelHard()
			select {
			case <-done:
			case <-limit.C:
			}
		}
		s.cancelHard()
	})
}

// closeSpare is what is left of closeLimit for what was cut off to unwind.
const closeSpare = 300 * time.Millisecond

// run starts a goroutine that Close waits for; false once the set is closed.
func (s *Set) run(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runLocked(f)
}

func (s *Set) runLocked(f func()) bool {
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

// changeLocked wakes all that wait for a state.
func (s *Set) changeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}
