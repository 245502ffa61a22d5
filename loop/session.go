package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// What a session says that is not in the state for what was asked of it: Admit
// (ErrBusy), Steer (ErrIdle), each of them once it is closed. It stays as it was.
var (
	ErrBusy   = errors.New("a prompt is already running in this session")
	ErrClosed = errors.New("the session is closed")
	ErrIdle   = errors.New("no prompt is running in this session")
)

// Observer hears what a person may see. Its methods are called in order by
// whoever has the session's state, Delta and Progress also while it is lent; they
// may block on a slow client until ctx is done.
type Observer interface {
	// Events are told once each, in order, after they are durable: those that
	// became durable together at once. A *Started among them is not on the log. The
	// slice is valid until Events returns.
	Events(ctx context.Context, evs []session.Event)
	// Delta shows streamed text. messageID is that of the message it will be; c is
	// valid until Delta returns.
	Delta(ctx context.Context, messageID string, c *session.Chunk)
	// Progress shows that a tool started (zero Progress) or what it put out.
	Progress(ctx context.Context, callID string, p tool.Progress)
}

// Question asks the person whether a tool call may run.
type Question struct {
	CallID  string
	Name    string
	Input   []byte
	View    tool.View
	Kind    tool.Kind
	Reason  string
	Options []session.PermissionOption
	// Announce: the call is not the model's and has not been announced yet.
	Announce bool
}

// Asker puts a question to the client. It returns the id of the chosen option,
// "" when the client cancelled the question, or an error. It must return when
// ctx is done; a late answer is dropped.
type Asker interface {
	Ask(ctx context.Context, q *Question) (optionID string, err error)
}

// Models gives a client for a model by its name (provider/name).
type Models interface {
	Client(ref string) (model.Client, model.Info, error)
}

// HeldHook is a hook that a repository brings and that nobody has trusted yet, or
// a Setting of it that would turn hooks of the person's off. Text is what would
// run or count, fit to be shown.
type HeldHook struct {
	ID, File, Event, Matcher, Text string
	Setting                        bool
}

// Trust keeps what the person has said about held hooks. always is for later
// sessions too, as long as the hook stays what it is. Asked is called before the
// question about them.
type Trust interface {
	Held() []HeldHook
	Asked(ids []string)
	Approve(ids []string, always bool) error
	Reject(ids []string, always bool) error
}

// Reloaded are hooks that were read again.
type Reloaded struct {
	Hooks   hooks.Engine
	Trust   Trust
	Notices []session.Notice
	// Changed maps the changed files to Claude Code's name for their source
	// (user_settings, project_settings, local_settings, policy_settings, skills).
	Changed map[string]string
	// Continuations is Limits.Continuations from now on.
	Continuations int
	// Refused is called when hooks in force refuse the change; optional.
	Refused func()
}

// Config is what a session is made with. All fields but those marked optional
// are required.
type Config struct {
	Models Models
	// Precedence is shared by the sessions whose turns give way to each other's ends;
	// without it (nil) there are no others.
	Precedence *Precedence
	// Mode is the permission mode while the log does not set one; empty is
	// permission.ModeDefault.
	Mode string
	// ModelRef is the model to use while the log does not name one.
	ModelRef string
	Effort   string
	Tools    *tool.Registry
	Hooks    hooks.Engine // optional
	// Jobs are the commands that run in the background now, for stop hooks;
	// optional.
	Jobs func() []hooks.BackgroundJob
	// Trust asks about hooks that are held back; optional.
	Trust Trust
	// Reload returns the hooks anew when their files have changed since, with
	// the files that did; ok is false when they have not. Optional.
	Reload func() (h Reloaded, ok bool)
	// OnCommand returns the hooks with those that the file of a slash command brings
	// into force for the rest of the session; ok is false when it brings none.
	// Optional.
	OnCommand func(name, path string) (h Reloaded, ok bool)
	// HookModel is the model that a hook of type prompt or agent asks, by the name
	// that it gives, "" where it gives none; current is the session's. Optional: it
	// is then the session's.
	HookModel func(name, current string) string
	// Redact cuts the providers' keys out of a text; optional.
	Redact func(string) string
	// EnvFile is a file of export lines that SessionStart hooks may write and
	// that shell commands take their environment from; "" is none.
	EnvFile string
	// Servers are tool servers that are still connecting; optional.
	Servers Servers
	// Instructions finds project instructions; optional.
	Instructions Instructions
	// Notices are told to the person with the first prompt.
	Notices []session.Notice
	Rules   *permission.Rules
	// Remember keeps an "always" answer for later sessions of the project;
	// without it (nil) the answer is for the session.
	Remember func(rule string, allow bool) error
	Asker    Asker
	Observer Observer
	// System is the system prompt.
	System string
	// Environ is the environment of child processes; Files the file layer;
	// Terminal the client's terminals (optional).
	Environ  []string
	Files    tool.Files
	Terminal tool.Terminal
	// Forms are the client's forms (optional). Elicit shows it the questions of
	// MCP servers (optional).
	Forms  tool.Forms
	Elicit tool.Elicitor
	Roots  []string
	Limits Limits
	Retry  RetryPolicy
	// TranscriptDir is where the transcripts that hooks read are kept; "" keeps
	// none. Transcribers makes one for a dialect.
	TranscriptDir string
	Transcribers  func(dialect string, m hooks.TranscriptMeta) hooks.Transcriber
	// Version of the agent, for transcripts.
	Version string
	NewID   func() string
	Now     func() time.Time
	Log     *slog.Logger
	// History calls visit with every event of the session's log that is on disk.
	History func(visit func(session.Event) error) error
	// OnOpen is given the session before its first hook runs; OnClose is called
	// when it has closed. Both are optional.
	OnOpen  func(*Session)
	OnClose func()
}

// Session is one live session. Its exported methods are safe for concurrent
// use.
type Session struct {
	cfg   Config
	log   session.Log
	state *session.State
	seen  *tool.Seen
	mode  modeBox

	// owner is the ownership token: whoever has put a value in may append. loan is
	// how others do while the owner waits.
	owner chan struct{}
	loan  *loan
	// streaming is the stream that is under way; flushing logs what it has brought.
	streaming atomic.Pointer[deltas]
	flushing  pulse
	// running are calls that the client has not heard of; telling tells it.
	running atomic.Pointer[telling]
	telling pulse

	mu      sync.Mutex
	late    []lateText
	turn    *turn
	closed  bool
	idle    *time.Timer // until hooks are told that a prompt is waited for
	failed  error
	closing chan struct{}
	wg      sync.WaitGroup

	tools atomic.Pointer[tool.Registry]
	// lateServers are the tool servers that a prompt has gone on without.
	lateServers []string
	// envStart guards the making of the file that has commands read EnvFile.
	envStart    sync.Once
	envStartErr error
	// starts are hooks that the next prompt waits for; startLater is the source of
	// SessionStart while it waits for the question about trust.
	starts []*pendingStart
	// files are those that hooks hear of (FileChanged); watchPaths are what they
	// have named beside their matchers.
	files      hooks.Files
	watchPaths []string
	startLater string
	// instructed is what the model was told of which file, since that many
	// compactions.
	instructed  map[string]string
	compactions int
	// usedSeq is the event up to which the last usage report counts.
	usedSeq     uint64
	transcripts *transcripts
	trustAsked  map[string]bool // ids of held hooks that were asked about
	// unpublished are durable-to-be events that the observer has not heard of.
	unpublished []session.Event
}

// modeBox holds the permission mode for readers that are not the owner.
type modeBox struct {
	mu sync.Mutex
	v  string
}

func (m *modeBox) set(v string) { m.mu.Lock(); m.v = v; m.mu.Unlock() }
func (m *modeBox) get() string  { m.mu.Lock(); defer m.mu.Unlock(); return m.v }

// New takes over an open log. source is what SessionStart hooks are told:
// startup, resume, clear or compact; they are started at once and awaited by
// the first prompt.
func New(cfg Config, log session.Log, state *session.State, source string) (*Session, error) {
	if cfg.Precedence == nil {
		cfg.Precedence = new(Precedence)
	}
	s := &Session{
		cfg: cfg, log: log, state: state, seen: tool.NewSeen(),
		owner: make(chan struct{}, 1), loan: newLoan(), closing: make(chan struct{}),
	}
	s.flushing.after, s.flushing.fn = flushEvery, s.flush
	s.telling.after, s.telling.fn = tellAfter, s.tell
	s.tools.Store(cfg.Tools)
	s.compactions = state.Compactions
	s.mode.set(cmp.Or(state.Mode, cfg.Mode, permission.ModeDefault))
	s.checkEffort()
	s.transcripts = newTranscripts(&s.cfg, state.Header)
	if cfg.OnOpen != nil {
		cfg.OnOpen(s)
	}
	if counts, ok := cfg.Hooks.(interface{ Seen(handlerID string) }); ok {
		for _, id := range state.Handlers {
			counts.Seen(id)
		}
	}
	if err := s.open(source); err != nil {
		return nil, err
	}
	return s, nil
}

// ID returns the session's id.
func (s *Session) ID() string { return s.state.Header.ID }

// Mode returns the permission mode in force.
func (s *Session) Mode() string { return s.mode.get() }

// Record appends events outside the turn's own order, durably, and publishes
// them: a mode change, a title.
func (s *Session) Record(ctx context.Context, data ...session.Data) error {
	return s.Do(ctx, func(*session.State) error {
		for _, d := range data {
			if m, ok := d.(*session.ModeSet); ok {
				s.mode.set(m.Mode)
			}
		}
		if err := s.append(data...); err != nil {
			return err
		}
		return s.commit(ctx)
	})
}

// append logs events and folds them. The owner calls it.
func (s *Session) append(data ...session.Data) error {
	if s.failed != nil {
		return s.failed
	}
	evs, err := s.log.Append(data...)
	if err == nil {
		for _, ev := range evs {
			if err = s.state.Apply(ev); err != nil {
				break
			}
		}
	}
	if err != nil {
		return s.fail(err)
	}
	for _, ev := range evs {
		if _, chunk := ev.Data.(*session.AssistantChunk); !chunk {
			s.unpublished = append(s.unpublished, ev)
		}
	}
	return nil
}

// fail stops the session for good: a log that lost an event must not go on.
func (s *Session) fail(err error) error {
	s.failed = &LogError{Err: err}
	s.cfg.Log.Error("session log failed; the session takes no more prompts", "session", s.ID(), "error", err)
	return s.failed
}

// LogError is a failure of the session's log. The session is unusable after it;
// what is on disk stays.
type LogError struct{ Err error }

func (e *LogError) Error() string {
	do := "free the disk or fix the permissions, then load it again"
	switch {
	case errors.Is(e.Err, session.ErrGone):
		do = "what was said in it may be on disk no more: put the file back and load the session again, or start a new session"
	case errors.Is(e.Err, session.ErrCorrupt):
		do = "`acp-agent sessions verify` says what is left of it"
	}
	return fmt.Sprintf("the session log cannot be written: %v: the session is stopped; %s", e.Err, do)
}

// Unwrap returns the cause.
func (e *LogError) Unwrap() error { return e.Err }

// commit makes what was appended durable, then tells the observer.
func (s *Session) commit(ctx context.Context) error {
	if len(s.unpublished) == 0 {
		return nil
	}
	if s.failed != nil {
		return s.failed
	}
	if err := s.log.Sync(); err != nil {
		return s.fail(err)
	}
	s.publish(ctx)
	return nil
}

func (s *Session) publish(ctx context.Context) {
	evs := s.unpublished
	s.unpublished = nil
	for i := range evs {
		if evs[i].Seq > 0 {
			s.transcripts.add(evs[i])
		}
	}
	s.cfg.Observer.Events(ctx, evs)
	if cap(evs) <= 64 {
		clear(evs)
		s.unpublished = evs[:0]
	}
}

// closeGrace is how long Close waits for a cancelled turn.
const closeGrace = 5 * time.Second

// Close cancels the running turn, waits for it, runs SessionEnd hooks and
// closes the log. It may be called twice; ctx bounds the wait for the hooks. The
// session is closed also where it returns an error. A failure of the log that a
// prompt or another call has reported before is not reported again.
func (s *Session) Close(ctx context.Context, reason string) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.wg.Wait()
		return nil
	}
	s.closed = true
	s.stopWaiting()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.cancel(errCancelled)
	}
	// The turn gives the ownership back when it is over. One that does not end,
	// for a tool that ignores its context, must not keep the process.
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case s.owner <- struct{}{}:
	case <-timer.C:
		close(s.closing)
		if s.cfg.OnClose != nil {
			s.cfg.OnClose() // what it waits for may be among these children
		}
		go s.closeLate() // ends with the turn
		return fmt.Errorf("closing session %s: the running turn did not end within %v of its cancel; its log stays locked until it does, and will be mended when it is loaded", s.ID(), closeGrace)
	}
	close(s.closing)
	told := s.failed != nil
	s.endHooks(ctx, reason)
	s.wg.Wait()
	err := s.log.Close()
	s.transcripts.close()
	if s.cfg.OnClose != nil {
		s.cfg.OnClose()
	}
	switch {
	case err == nil:
		return nil
	case told:
		s.cfg.Log.Debug("the session's log had failed before", "session", s.ID(), "error", err)
		return nil
	}
	return fmt.Errorf("session %s is closed: %w", s.ID(), &LogError{Err: err})
}

// closeLate gives up, behind a turn that Close has left, what it did not: the log
// with its lock, so that the session can be loaded again, and the hooks that were
// started with the session.
func (s *Session) closeLate() {
	s.owner <- struct{}{}
	s.endStarts()
	if err := s.log.Close(); err != nil {
		s.cfg.Log.Error("a session was closed late, and its log with an error", "session", s.ID(), "error", err)
	}
	s.transcripts.close()
}
