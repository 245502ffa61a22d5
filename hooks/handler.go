package hooks

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Layer is where a handler's config comes from. It decides about trust.
type Layer string

// The layers, both vendors'. A dialect uses those it has.
const (
	LayerManaged  Layer = "managed"  // an administrator's file
	LayerSystem   Layer = "system"   // Codex: /etc/codex
	LayerUser     Layer = "user"     // the person's own
	LayerProject  Layer = "project"  // in the repository, shared
	LayerLocal    Layer = "local"    // in the repository, not committed
	LayerPlugin   Layer = "plugin"   // brought by a plugin that the person or an administrator switched on
	LayerExplicit Layer = "explicit" // named on the command line
	LayerCommand  Layer = "command"  // front matter of a command file of the person's

	// LayerOffered is a plugin that only the repository switches on, or that lies
	// in the repository.
	LayerOffered Layer = "project-plugin"
	// LayerProjectCommand is front matter of a command file of the repository's.
	LayerProjectCommand Layer = "project-command"
)

// NeedsTrust reports whether handlers of the layer run only once the person has
// trusted exactly their content: whoever wrote the repository wrote them.
func (l Layer) NeedsTrust() bool {
	return l == LayerProject || l == LayerLocal || l == LayerOffered || l == LayerProjectCommand
}

// Command reports whether a command file brings handlers of the layer.
func (l Layer) Command() bool { return l == LayerCommand || l == LayerProjectCommand }

// Plugin reports whether a plugin brings handlers of the layer.
func (l Layer) Plugin() bool { return l == LayerPlugin || l == LayerOffered }

// TrustState is what the person has said about a handler.
type TrustState string

// The trust states. Only managed and trusted handlers run. The zero value is
// filled in by NewEngine, by layer and store.
const (
	TrustManaged   TrustState = "managed"   // an administrator's: never asked
	TrustTrusted   TrustState = "trusted"   // by layer, or by the person
	TrustUntrusted TrustState = "untrusted" // never seen
	TrustModified  TrustState = "modified"  // another content was trusted in its place
	TrustRejected  TrustState = "rejected"  // the person said no to this content
)

// Runs reports whether a handler in this state may be started.
func (s TrustState) Runs() bool { return s == TrustManaged || s == TrustTrusted }

// Place says where a handler is written: file, layer, and the indices of its
// matcher group and of itself, from 0. Either index is -1 where it has none.
type Place struct {
	File  string
	Layer Layer
	Group int
	Index int
}

// SwitchType is the Type of what is no handler but a setting of a repository that
// would turn handlers of the person's off (Handler.OffBy). It has no Event, is
// never run, and is asked about as handlers are: a repository must not silence
// the guards of whoever opens it.
const SwitchType = "switch"

// Handler is one handler of one config file, as a dialect has read it. It is
// not changed after the dialect has handed it to NewEngine, except for Trust,
// which the engine guards.
type Handler struct {
	// Dialect is claude-code or codex.
	Dialect string
	Event   Event
	// Matcher is its group's matcher as written, "" where there is none.
	Matcher string
	// Type is command, http, mcp_tool, prompt or agent.
	Type string

	// Command and Args are the command type's. ExecForm: Args were given (also
	// an empty list), so no shell runs it. Shell is the shell asked for.
	Command  string
	Args     []string
	ExecForm bool
	Shell    string

	// Timeout is the effective one, the dialect's default filled in; TimeoutSet
	// says that the config named it.
	Timeout    time.Duration
	TimeoutSet bool

	// Async: start it, do not wait; what it says is delivered later
	// (Options.Deliver). Rewake: and a block wakes an idle session.
	Async, Rewake bool
	// RewakeMessage goes before what such a block says, RewakeSummary is one line
	// about it for the person.
	RewakeMessage, RewakeSummary string
	// Once: no more runs in a session after one that succeeded. After is the slash
	// command that puts it into force for the rest of a session, mostly empty.
	Once  bool
	After string
	// Watches are the files that it wants to hear of (FileChanged).
	Watches []string
	// StatusMessage is what to show while it runs.
	StatusMessage string
	// With is what else whoever is to trust it should see: variables that are set
	// for it, headers that go with a request. Mostly empty.
	With string

	Place Place
	// Hash is HashHandler's: the content that trust is given to.
	Hash  string
	Trust TrustState
	// OffBy is the switch of a repository that turns it off, once the person has
	// agreed to that; nil for most.
	OffBy *Handler
	// Why says in a sentence why it can never run as it stands: an unsupported
	// type, an invalid matcher, a switch. Empty when it can. Such handlers are
	// listed, and Match may return them: they are reported as Held once.
	Why string

	// Raw is the handler as written, for people and for trust questions.
	Raw json.RawMessage
	// Ext is the dialect's own: compiled matchers, limits, http and MCP fields.
	Ext any
}

// ID names the handler for Approve and Reject, stable as long as its place and
// content are.
func (h *Handler) ID() string {
	return fmt.Sprintf("%s:%s:%s:%d:%d@%s", h.Dialect, h.Place.File, h.Event, h.Place.Group, h.Place.Index, h.Hash)
}

// Describe is what the handler does, for people: the command, URL or prompt.
func (h *Handler) Describe() string {
	s := h.Command
	for _, a := range h.Args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'") {
			a = strconv.Quote(a)
		}
		s += " " + a
	}
	return s
}

// Question is Describe for whoever is to trust the handler: whole, with nothing
// in it that a screen does not show as it is.
func (h *Handler) Question() string {
	s := h.Describe()
	if h.With != "" {
		s += "\nwith " + h.With
	}
	if h.Trust == TrustModified {
		s += "\nchanged since you trusted it"
	}
	return Visible(s)
}

// Problem is a fault in a config file. The rest of the file lives on, unless
// the dialect's vendor drops it whole; Text says which.
type Problem struct {
	File string
	// Where is the place inside, such as hooks.PreToolUse[0].hooks[1]; or
	// line:column; or empty.
	Where string
	// Text says what is wrong and what to do.
	Text string
	// Minor: whoever looks is told (hooks list), not everybody at a session's
	// start.
	Minor bool
}

func (p Problem) String() string {
	if p.Where == "" {
		return p.File + ": " + p.Text
	}
	return p.File + ": " + p.Where + ": " + p.Text
}

// Unread is a source of a vendor's hooks that is not read here, and why.
type Unread struct{ Source, Why string }
