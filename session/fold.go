package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"
)

// State is the fold of a session's events: all that the agent knows of a
// session. Build it with NewState and Apply; it has no other writer.
type State struct {
	Header Header
	// Seq is the last event's, Updated its time.
	Seq     uint64
	Updated time.Time

	// Messages is the transcript so far: what the next request would hold. The
	// open turn's unanswered tool calls have no results yet (see Transcript).
	Messages []Message
	seqs     []uint64

	// Turns counts the turns that were started. Turn is the open one, or nil.
	Turns int
	Turn  *Turn

	// Head is the last request/header, nil before the first.
	Head *RequestHead
	// Mode, Config, Title and Todos are the last values set.
	Mode   string
	Config map[string]string
	Title  string
	Todos  []Todo
	// Handlers is the last handler id of each dialect and hook event, by
	// "<dialect>:<event>": ids count on when a session is resumed.
	Handlers map[string]string
	// Instructions maps files of project instructions that the model was shown
	// to the digest of what it was shown; a compaction clears it.
	Instructions map[string]string
	// MovedFrom is the directory that the session worked in before it was loaded
	// with another one, until a turn starts or hooks have been told.
	MovedFrom string
	// Used is the last usage event, Total the sum over the session, the requests
	// of hooks included. Cost is what the session has cost so far, in USD, where
	// prices are known.
	Used  *UsageReport
	Total Usage
	Cost  float64
	// Prompts counts user/message events; Compactions completed ones.
	Prompts     int
	Compactions int

	// compacting is the compaction that is under way, summary its stream.
	compacting *Compaction
	summary    *Assembler

	callIDs map[string]bool
	// sum holds Messages[:summed]; head is Head's line in the digest, nil when
	// it has not been encoded yet.
	sum    hash.Hash
	summed int
	head   []byte
}

// Turn is the open turn.
type Turn struct {
	Number int
	// Step is the last step started, Steps how many.
	Step     int
	StepOpen bool
	// Calls are the tool calls of the last assistant message that have no
	// result yet, in the model's order.
	Calls []Call
	// Answered says that the last thing the model was shown has been answered:
	// the newest message is the assistant's.
	Answered bool
	// Stop is the finish kind of the last assistant message of the turn.
	Stop FinishKind
	// LastText is the last assistant message's text (all text blocks).
	LastText string
	// HasText says whether any assistant message of the turn had text.
	HasText bool
	// Continued counts the rounds in which stop hooks kept the turn going since
	// a tool last ran; Continuations those of the whole turn.
	Continued     int
	Continuations int
	// Prompted says that the turn's user message is in.
	Prompted bool

	stream *Assembler
	// messageID is that of the answer to the last request.
	messageID string
}

// Call is a tool call that has no result yet.
type Call struct {
	ID, Name, Arguments string
	// Started says that tool/call was logged: unless Held, the tool may have run.
	Started bool
	// Held says that the permission to run was asked for and not given (yet).
	Held bool
}

// ConfigCwd is the id of the ConfigSet that says where a session works now.
const ConfigCwd = "cwd"

// NewState returns the state of a log that holds only its header.
func NewState(h Header) *State {
	return &State{Header: h, Updated: h.CreatedAt, Config: map[string]string{}, callIDs: map[string]bool{}, sum: sha256.New()}
}

// Fold applies events to a new state.
func Fold(h Header, events []Event) (*State, error) {
	s := NewState(h)
	for _, ev := range events {
		if err := s.Apply(ev); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Apply takes the next event. A seq that is not the next one, or a step or turn
// event that contradicts the state, wraps ErrCorrupt and changes nothing.
func (s *State) Apply(ev Event) error {
	if ev.Seq != s.Seq+1 {
		return fmt.Errorf("%w: event %d follows event %d", ErrCorrupt, ev.Seq, s.Seq)
	}
	if err := s.apply(ev); err != nil {
		return fmt.Errorf("event %d (%s): %w", ev.Seq, ev.Data.EventType(), err)
	}
	s.Seq, s.Updated = ev.Seq, ev.Time
	return nil
}

func (s *State) apply(ev Event) error {
	switch d := ev.Data.(type) {
	case *TurnStart:
		if s.Turn != nil {
			return fmt.Errorf("%w: turn %d starts while turn %d is open", ErrCorrupt, d.Turn, s.Turn.Number)
		}
		s.Turns, s.MovedFrom = d.Turn, ""
		s.Turn = &Turn{Number: d.Turn}
	case *TurnEnd:
		if s.Turn == nil {
			return fmt.Errorf("%w: a turn ends that is not open", ErrCorrupt)
		}
		s.Turn = nil
	case *StepStart:
		if s.Turn == nil {
			return fmt.Errorf("%w: a step starts outside a turn", ErrCorrupt)
		}
		s.Turn.Step, s.Turn.StepOpen = d.Step, true
		s.Turn.stream = nil
	case *StepEnd:
		if s.Turn != nil {
			s.Turn.StepOpen = false
		}
	case *UserMessage:
		s.Prompts++
		s.said(ev.Seq, d.Content)
		if s.Turn != nil {
			s.Turn.Prompted = true
		}
	case *SteeringMessage:
		s.continued(d.Source)
		s.said(ev.Seq, d.Content)
	case *ContextMessage:
		s.instructed(d)
		s.continued(d.Source)
		s.said(ev.Seq, d.Content)
	case *RequestHeader:
		head := d.Header
		s.Head, s.head = &head, nil
	case *RequestSent:
		if s.Turn != nil {
			s.Turn.messageID = d.MessageID
		}
	case *AssistantChunk:
		return s.chunk(d)
	case *AssistantMessage:
		s.assistant(ev.Seq, d)
	case *ToolCall:
		s.started(d.CallID)
	case *ToolResult:
		s.result(ev.Seq, d)
	case *PermissionAsked:
		s.held(d.CallID, true)
	case *PermissionAnswered:
		s.held(d.CallID, !strings.HasPrefix(d.Outcome, "allow"))
	case *ModelRetry:
		if s.Turn != nil {
			s.Turn.stream = nil
		}
	case *ModeSet:
		s.Mode = d.Mode
	case *ConfigSet:
		if d.ID == ConfigCwd {
			s.MovedFrom = cmp.Or(s.Config[ConfigCwd], s.Header.Cwd)
		}
		s.Config[d.ID] = d.Value
	case *SessionTitle:
		s.Title = d.Title
	case *UsageReport:
		s.Used = d
		s.Total = s.Total.Add(d.Usage)
		if d.Currency != "" {
			s.Cost = d.Cost
		}
	case *HookAnswer:
		if d.Usage != nil {
			s.Total = s.Total.Add(*d.Usage)
		}
		s.Cost += d.Cost
	case *TodoWrite:
		s.Todos = d.Todos
	case *HookInvoked:
		if s.Handlers == nil {
			s.Handlers = map[string]string{}
		}
		s.Handlers[d.Dialect+":"+d.Point] = d.HandlerID
		if d.Point == "CwdChanged" {
			s.MovedFrom = ""
		}
	case *Compaction:
		s.compact(ev.Seq, d)
	}
	return nil
}

// instructed notes project instructions that are shown to the model.
func (s *State) instructed(d *ContextMessage) {
	if d.Source.Kind != SourceAgent || d.Source.Name != "instructions" {
		return
	}
	var m struct{ Path, Digest string }
	if json.Unmarshal(d.Meta, &m) != nil || m.Path == "" {
		return
	}
	if s.Instructions == nil {
		s.Instructions = map[string]string{}
	}
	s.Instructions[m.Path] = m.Digest
}

// said is the one branch that renders user, steering and context messages: a
// user message of exactly the logged blocks.
func (s *State) said(seq uint64, content []Block) {
	s.push(seq, Message{Role: RoleUser, Content: content})
	if s.Turn != nil {
		s.Turn.Answered = false
	}
}

// continued counts a round of stop hooks that kept the turn going: the first
// message that one of them put after the model's last answer.
func (s *State) continued(src Source) {
	if s.Turn != nil && s.Turn.Answered && src.Kind == SourceHook && (src.Event == "Stop" || src.Event == "SubagentStop") {
		s.Turn.Continued++
		s.Turn.Continuations++
	}
}

func (s *State) push(seq uint64, m Message) {
	s.Messages = append(s.Messages, m)
	s.seqs = append(s.seqs, seq)
}

func (s *State) chunk(d *AssistantChunk) error {
	if s.compacting != nil {
		if s.summary == nil {
			s.summary = new(Assembler)
		}
		s.summary.Add(&d.Chunk)
		return nil
	}
	if s.Turn == nil {
		return fmt.Errorf("%w: streamed output outside a turn", ErrCorrupt)
	}
	if s.Turn.stream == nil {
		s.Turn.stream = new(Assembler)
	}
	s.Turn.stream.Add(&d.Chunk)
	return nil
}

func (s *State) assistant(seq uint64, d *AssistantMessage) {
	m := &d.Message
	if len(m.Content) > 0 {
		s.push(seq, m.Answer())
	}
	t := s.Turn
	if t == nil {
		return
	}
	t.stream = nil
	t.Answered, t.Stop, t.Calls, t.LastText = true, d.Stop, nil, ""
	for _, b := range m.Content {
		switch b.Type {
		case BlockToolCall:
			t.Calls = append(t.Calls, Call{ID: b.ID, Name: b.Name, Arguments: b.Arguments})
			s.callIDs[b.ID] = true
		case BlockText:
			t.LastText += b.Text
			t.HasText = true
		}
	}
}

func (s *State) started(id string) {
	if c := s.open(id); c != nil {
		c.Started = true
	}
}

func (s *State) held(id string, held bool) {
	if c := s.open(id); c != nil {
		c.Held = held
	}
}

// open returns the unanswered call with that id, nil when there is none.
func (s *State) open(id string) *Call {
	if s.Turn == nil {
		return nil
	}
	for i := range s.Turn.Calls {
		if s.Turn.Calls[i].ID == id {
			return &s.Turn.Calls[i]
		}
	}
	return nil
}

// result renders the answer to an open call. One that answers none (a second
// one, a stranger) stays in the log alone: a model that was sent it would refuse
// the whole session from then on. Verify reports it.
func (s *State) result(seq uint64, d *ToolResult) {
	b := d.Block()
	t := s.Turn
	if t == nil {
		return
	}
	i := slices.IndexFunc(t.Calls, func(c Call) bool { return c.ID == b.CallID })
	if i < 0 {
		return
	}
	// Not in place: the caller may hold the calls from before.
	t.Calls = append(t.Calls[:i:i], t.Calls[i+1:]...)
	s.push(seq, Message{Role: RoleTool, Content: []Block{*b}})
	t.Answered = false
	if d.Meta == nil || d.Meta.NotRun == "" {
		t.Continued = 0
	}
}

func (s *State) compact(seq uint64, d *Compaction) {
	if d.Status == "in_progress" {
		s.compacting, s.summary = d, nil
		return
	}
	s.compacting, s.summary = nil, nil
	if d.Status != "completed" {
		return
	}
	s.Compactions++
	s.Instructions = nil
	i := 0
	for i < len(s.seqs) && s.seqs[i] <= d.Through {
		i++
	}
	msgs := []Message{{Role: RoleUser, Content: d.Content}}
	seqs := []uint64{seq}
	// A result goes with its call: no provider takes one without the other. Those
	// of a call that is gone stand before the model's next message.
	orphans := true
	for ; i < len(s.Messages); i++ {
		switch s.Messages[i].Role {
		case RoleAssistant:
			orphans = false
		case RoleTool:
			if orphans {
				continue
			}
		}
		msgs, seqs = append(msgs, s.Messages[i]), append(seqs, s.seqs[i])
	}
	s.Messages, s.seqs = msgs, seqs
	s.sum, s.summed = sha256.New(), 0
}

// MessageSeq returns the seq of the event that made Messages[i].
func (s *State) MessageSeq(i int) uint64 { return s.seqs[i] }

// SummaryRequest returns what the model is sent for a compaction that begins:
// the messages that it is to replace, then what it asks.
func (s *State) SummaryRequest(c *Compaction) (RequestHead, []Message) {
	n := len(s.seqs) - s.MessagesSince(c.Through)
	var head RequestHead
	if s.Head != nil {
		head = *s.Head
	}
	head.Config.MaxTokens = c.MaxTokens
	return head, append(s.Messages[:n:n], Message{Role: RoleUser, Content: c.Content})
}

// MessagesSince returns how many of the Messages came after event seq.
func (s *State) MessagesSince(seq uint64) int {
	n := 0
	for i := len(s.seqs) - 1; i >= 0 && s.seqs[i] > seq; i-- {
		n++
	}
	return n
}

// Summary returns the stream of the compaction that is under way, nil when
// nothing has come.
func (s *State) Summary() *Assembler { return s.summary }

// UsedCallID reports whether a tool call of the session has that id.
func (s *State) UsedCallID(id string) bool { return s.callIDs[id] }

// Stream returns the assembler of the open step's stream, nil when nothing has
// been streamed that is not committed.
func (s *State) Stream() *Assembler {
	if s.Turn == nil {
		return nil
	}
	return s.Turn.stream
}

// Digest returns the digest of the request that the state projects to: SHA-256
// over the messages, each as its JSON line, then the head as its JSON line, as
// "sha256:<hex>". Messages are hashed once; the cost of a call is that of what
// is new since the last.
//
// What is digested does not depend on whether the state was folded from events
// as they were made or as they were read back.
func (s *State) Digest() (string, error) {
	var line []byte
	for ; s.summed < len(s.Messages); s.summed++ {
		var err error
		if line, err = appendMessageJSON(line[:0], &s.Messages[s.summed]); err != nil {
			return "", fmt.Errorf("digest of message %d: %w", s.summed, err)
		}
		line = append(line, '\n')
		s.sum.Write(line)
	}
	c, err := s.sum.(hash.Cloner).Clone()
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	if s.Head != nil && s.head == nil {
		if s.head, err = appendHeadJSON(nil, s.Head); err != nil {
			return "", fmt.Errorf("digest of the request head: %w", err)
		}
		s.head = append(s.head, '\n')
	}
	c.Write(s.head)
	return "sha256:" + hex.EncodeToString(c.Sum(nil)), nil
}

func appendMessageJSON(dst []byte, m *Message) ([]byte, error) {
	w := objectWriter{dst: append(dst, '{')}
	w.str("role", string(m.Role))
	w.key("content")
	var err error
	if w.dst, err = appendBlocks(w.dst, m.Content); err != nil {
		return dst, err
	}
	w.optStr("provider", m.Provider)
	w.optStr("model", m.Model)
	return append(w.dst, '}'), nil
}

// appendHeadJSON writes what encoding/json would, except that bytes which are
// not UTF-8 become what a reader of the log gets for them: a project's
// instructions may be in any encoding.
func appendHeadJSON(dst []byte, h *RequestHead) ([]byte, error) {
	w := objectWriter{dst: append(dst, '{')}
	w.key("config")
	p := objectWriter{dst: append(w.dst, '{')}
	p.str("provider", h.Config.Provider)
	p.str("model", h.Config.Model)
	p.optStr("reasoningEffort", h.Config.ReasoningEffort)
	if h.Config.MaxTokens != 0 {
		p.int("maxTokens", h.Config.MaxTokens)
	}
	w.dst = append(p.dst, '}')
	w.optStr("system", h.System)
	if len(h.Tools) > 0 {
		w.key("tools")
		w.dst = append(w.dst, '[')
		for i := range h.Tools {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			t := objectWriter{dst: append(w.dst, '{')}
			t.str("name", h.Tools[i].Name)
			t.str("description", h.Tools[i].Description)
			t.key("parameters")
			var err error
			if w.dst, err = appendRaw(t.dst, h.Tools[i].Parameters); err != nil {
				return dst, fmt.Errorf("parameters of the tool %s: %w", h.Tools[i].Name, err)
			}
			w.dst = append(w.dst, '}')
		}
		w.dst = append(w.dst, ']')
	}
	return append(w.dst, '}'), nil
}
