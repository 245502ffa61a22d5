package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-agent/acp"
	"acp-agent/hooks"
	"acp-agent/loop"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/loop/tool/file"
	"acp-agent/session"
)

// view is one session as its client sees it: it projects events to updates,
// live and for a replay alike, and asks the client's permission.
type view struct {
	agent *Agent
	id    string
	env   *tool.Env
	proj  projection
	// frames is space for Events, which is called by one at a time.
	frames []byte

	mu     sync.Mutex
	output map[string]*liveOutput
	frame  []byte
	stuck  bool // a delta of a cancelled turn was not taken
	// offered are the commands that the client was told of last.
	offered []acp.AvailableCommand
}

func newView(a *Agent, cfg *loop.Config, st *session.State) *view {
	a.mu.Lock()
	caps := a.caps
	a.mu.Unlock()
	cwd := st.Header.Cwd
	if dir := st.Config[loop.ConfigCwd]; dir != "" {
		cwd = dir
	}
	// Files on the disk: a call is described for its title and its place, often in
	// a load, before whose answer the client knows no session to be asked in.
	env := &tool.Env{Cwd: cwd, Roots: cfg.Roots, Files: file.Disk(cfg.Roots), Environ: cfg.Environ, Seen: tool.NewSeen(), Progress: func(tool.Progress) {}}
	base := cfg.Tools
	v := &view{agent: a, id: st.Header.ID, env: env}
	v.proj = projection{
		id:      v.id,
		notices: caps.Session != nil && caps.Session.Notices != nil, compaction: caps.Session != nil && caps.Session.Compaction != nil,
		plans: caps.Plan != nil, tools: func() *tool.Registry { return base }, env: env, options: a.options, window: a.window,
		title: st.Title, used: spent(st), now: loop.Settings{Mode: cmp.Or(st.Mode, cfg.Mode), Model: cfg.ModelRef, Effort: cfg.Effort, Cwd: cwd},
	}
	v.proj.settings(st)
	return v
}

// spent is the last usage report with what hooks have cost since.
func spent(st *session.State) *session.UsageReport {
	if st.Used == nil || st.Cost <= st.Used.Cost {
		return st.Used
	}
	u := *st.Used
	u.Cost, u.Currency = st.Cost, "USD"
	return &u
}

// maxFrame is the largest buffer of frames that a session keeps.
const maxFrame = 64 << 10

// cancelledGrace is how long an update of a cancelled turn waits for a client
// that does not read.
const cancelledGrace = 250 * time.Millisecond

// send writes an update. What a client that has gone does not get is in the log.
//
// An update is written also when its turn has been cancelled: a tool call that
// the client was told of must end for it before the prompt is answered.
func (v *view) send(ctx context.Context, u acp.SessionUpdate) { v.write(ctx, v.appendUpdate(nil, u)) }

// write writes encoded updates.
func (v *view) write(ctx context.Context, frames []byte) (ok bool) {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), cancelledGrace)
		defer stop()
	}
	if err := v.agent.conn.WriteFrame(ctx, frames); err != nil {
		v.agent.cfg.Log.Debug("an update was not sent", "session", v.id, "error", err)
		return false
	}
	return true
}

// Events implements loop.Observer. The updates of what became durable together go
// out together: a client then wakes up once for them, and so does the writer.
func (v *view) Events(ctx context.Context, evs []session.Event) {
	frames := v.frames[:0]
	for i := range evs {
		if r, ok := evs[i].Data.(*session.ToolResult); ok {
			v.endOutput(r.Block().CallID)
		}
		for _, u := range v.proj.updates(evs[i], false) {
			frames = v.appendUpdate(frames, u)
		}
	}
	if len(frames) > 0 {
		v.write(ctx, frames)
	}
	if v.frames = frames; cap(frames) > maxFrame {
		v.frames = nil
	}
}

func (v *view) appendUpdate(dst []byte, u acp.SessionUpdate) []byte {
	out, err := acp.AppendNotification(dst, acp.MethodSessionUpdate, &acp.SessionNotification{SessionID: v.id, Update: u})
	if err != nil {
		v.agent.cfg.Log.Error("an update could not be encoded", "session", v.id, "error", err)
		return dst // what was encoded before goes out
	}
	if u.ToolCall != nil || u.ToolCallUpdate != nil {
		mild(out[len(dst):])
	}
	return out
}

// Delta implements loop.Observer: the hot path, one frame a delta, encoded by
// hand into a buffer that is used again.
func (v *view) Delta(ctx context.Context, messageID string, c *session.Chunk) {
	if c.Text == "" {
		return
	}
	kind := "agent_message_chunk"
	if c.Type == session.ChunkReasoning {
		kind, messageID = "agent_thought_chunk", thoughtID(messageID)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	// What a stream still has when its turn is cancelled stays in the transcript, so
	// that it is shown, too; a client that does not read is waited for once.
	cancelled := ctx.Err() != nil
	if cancelled && v.stuck {
		return
	}
	v.frame = acp.AppendTextChunk(v.frame[:0], v.id, kind, messageID, c.Text)
	v.stuck = !v.write(ctx, v.frame) && cancelled
	if cap(v.frame) > maxFrame {
		v.frame = nil
	}
}

// thoughtID is the message id of an assistant message's thoughts.
func thoughtID(messageID string) string {
	if messageID == "" {
		return ""
	}
	return messageID + "-thought"
}

// Ask implements loop.Asker. The tool call has been announced before.
func (v *view) Ask(ctx context.Context, q *loop.Question) (string, error) {
	up := acp.ToolCallUpdate{
		ToolCallID: q.CallID, Title: q.View.Title, Name: q.Name, Kind: acp.ToolKind(q.Kind),
		Status: acp.ToolCallStatusPending, Locations: wireLocations(q.View.Locations), RawInput: rawJSON(q.Input),
		Content: wireDiffs(q.View.Diffs),
	}
	if q.Announce {
		v.send(ctx, acp.SessionUpdate{ToolCall: &acp.ToolCall{
			ToolCallID: up.ToolCallID, Title: up.Title, Kind: up.Kind, Status: up.Status, Content: []acp.ToolCallContent{textContent(q.Reason)},
		}})
		defer v.send(context.WithoutCancel(ctx), acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: q.CallID, Status: acp.ToolCallStatusCompleted}})
	}
	if q.Reason != "" {
		up.Content = append(up.Content, textContent(q.Reason))
	}
	req := &acp.RequestPermissionRequest{SessionID: v.id, ToolCall: up}
	for _, o := range q.Options {
		req.Options = append(req.Options, acp.PermissionOption{OptionID: o.ID, Name: o.Name, Kind: acp.PermissionOptionKind(o.Kind)})
	}
	params, err := acp.Marshal(req)
	if err != nil {
		return "", err
	}
	mild(params)
	var res acp.RequestPermissionResponse
	if err := v.agent.conn.Call(ctx, acp.MethodSessionRequestPermission, json.RawMessage(params), &res); err != nil {
		return "", err
	}
	if res.Outcome.Outcome != acp.OutcomeSelected {
		return "", nil
	}
	return res.Outcome.OptionID, nil
}

// projection turns events into updates. It is the same for live and replay; a
// replay also shows what live has streamed as deltas.
type projection struct {
	id string // the session's
	// What the client takes beyond the baseline.
	notices, compaction, plans bool
	tools                      func() *tool.Registry
	env                        *tool.Env
	// options makes the option list of settings; now are those in force.
	options func(loop.Settings) []acp.SessionConfigOption
	now     loop.Settings
	// window is the context window of a model, 0 where it is not known; used is
	// the last usage report.
	window func(ref string) int64
	used   *session.UsageReport
	title  string
	// shown are the runs of hooks that the client sees running.
	shown map[string]bool
}

// settings takes over what a log says of the settings.
func (p *projection) settings(st *session.State) {
	if p.now.Mode == "" {
		p.now.Mode = permission.ModeDefault
	}
	for id, value := range st.Config {
		p.set(id, value)
	}
}

func (p *projection) set(id, value string) {
	switch id {
	case loop.ConfigModel:
		p.now.Model = value
	case loop.ConfigEffort:
		p.now.Effort = value
	case loop.ConfigCwd:
		p.now.Cwd = value
	}
}

func (p *projection) updates(ev session.Event, replay bool) []acp.SessionUpdate {
	switch d := ev.Data.(type) {
	case *session.UserMessage:
		if replay {
			return userChunks(d)
		}
	case *session.SteeringMessage:
		// What the person said into a running turn is part of the conversation;
		// what a stop hook said was never shown. Its id is made of its place: it
		// keeps two in a row apart, and apart from a prompt that follows.
		if replay && d.Source.Kind == session.SourceClient {
			return userChunks(&session.UserMessage{ID: fmt.Sprintf("%s-steering-%d", p.id, ev.Seq), Content: d.Content})
		}
	case *session.AssistantMessage:
		if replay {
			return assistantChunks(d)
		}
	case *session.ToolCall:
		if len(d.Input) > 0 { // a hook rewrote an announced call
			return one(acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: d.CallID, RawInput: rawJSON(d.Input), Title: p.look(d.Name, d.Input).Title}})
		}
		return one(acp.SessionUpdate{ToolCall: p.toolCall(d)})
	case *loop.Started:
		return one(inProgress(d.CallID))
	case *session.ToolResult:
		return one(acp.SessionUpdate{ToolCallUpdate: toolResult(d, replay)})
	case *session.TodoWrite:
		return one(p.plan(d.Todos))
	case *session.Compaction:
		return p.compacted(d, replay)
	}
	if replay {
		return nil
	}
	return p.liveUpdates(ev)
}

// liveUpdates are those of events that a replay does not show: the state they
// set is in the answer to session/load, or was for the moment.
func (p *projection) liveUpdates(ev session.Event) []acp.SessionUpdate {
	switch d := ev.Data.(type) {
	case *session.SessionTitle:
		p.title = d.Title
		return one(acp.SessionUpdate{SessionInfoUpdate: p.info(ev.Time)})
	case *session.UsageReport:
		p.used = d
		return p.usage(d.Window)
	case *session.HookInvoked:
		return p.hookRuns(d)
	case *session.HookResult:
		return p.hookEnded(d)
	case *session.HookAnswer:
		if d.Cost == 0 || p.used == nil {
			return nil
		}
		u := *p.used
		u.Cost, u.Currency = u.Cost+d.Cost, d.Currency
		p.used = &u
		return p.usage(u.Window)
	case *session.ModeSet:
		p.now.Mode = d.Mode
		return []acp.SessionUpdate{
			{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: d.Mode}},
			{ConfigOptionUpdate: &acp.ConfigOptionUpdate{ConfigOptions: p.options(p.now)}},
		}
	case *session.ConfigSet:
		p.set(d.ID, d.Value)
		if d.ID == loop.ConfigCwd {
			return nil
		}
		out := one(acp.SessionUpdate{ConfigOptionUpdate: &acp.ConfigOptionUpdate{ConfigOptions: p.options(p.now)}})
		if d.ID == loop.ConfigModel {
			out = append(out, p.usage(p.window(d.Value))...)
		}
		return out
	case *session.Notice:
		return p.notice(d.Severity, d.Text, d.Detail)
	case *session.TurnEnd:
		var out []acp.SessionUpdate
		if d.Reason.Message != "" {
			out = p.notice("warning", d.Reason.Message, "")
		}
		return append(out, acp.SessionUpdate{SessionInfoUpdate: p.info(ev.Time)})
	}
	return nil
}

// hookRuns shows the status message of a hook while it runs, as a tool call that
// the model did not make: ACP v1 has no other place for work that is under way.
// Outside a turn, when a session starts or ends, there is nobody to see it.
func (p *projection) hookRuns(d *session.HookInvoked) []acp.SessionUpdate {
	if d.StatusMessage == "" || d.Turn == 0 {
		return nil
	}
	if p.shown == nil {
		p.shown = map[string]bool{}
	}
	p.shown[d.HandlerID] = true
	return one(acp.SessionUpdate{ToolCall: &acp.ToolCall{
		ToolCallID: hookCallID(d.HandlerID), Title: tool.Title(d.StatusMessage), Kind: acp.ToolKind(tool.KindOther), Status: acp.ToolCallStatusInProgress,
	}})
}

func (p *projection) hookEnded(d *session.HookResult) []acp.SessionUpdate {
	if !p.shown[d.HandlerID] {
		return nil
	}
	delete(p.shown, d.HandlerID)
	status := acp.ToolCallStatusCompleted
	switch hooks.Decision(d.Decision) {
	case hooks.Failed, hooks.TimedOut, hooks.Cancelled:
		status = acp.ToolCallStatusFailed
	}
	return one(acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: hookCallID(d.HandlerID), Status: status}})
}

// hookCallID is apart from all ids that models give: those hold no colon.
func hookCallID(handler string) string { return "hook:" + handler }

// info is what lists show of the session.
func (p *projection) info(at time.Time) *acp.SessionInfoUpdate {
	u := &acp.SessionInfoUpdate{UpdatedAt: acp.Set(at.UTC().Format(time.RFC3339))}
	if p.title != "" {
		u.Title = acp.Set(p.title)
	}
	return u
}

// usage shows how full the context is, where its size is known.
func (p *projection) usage(size int64) []acp.SessionUpdate {
	if size <= 0 {
		return nil
	}
	d := p.used
	u := &acp.UsageUpdate{Size: uint64(size)}
	if d != nil {
		u.Used = uint64(max(0, d.Usage.Context()))
		if d.Currency != "" {
			// A client shows what it gets: no 0.0024000000000000002.
			u.Cost = &acp.Cost{Amount: math.Round(d.Cost*1e9) / 1e9, Currency: d.Currency}
		}
	}
	return one(acp.SessionUpdate{UsageUpdate: u})
}

// planID is the id of the session's one plan, for clients that take plans by id.
const planID = "todo"

func (p *projection) plan(todos []session.Todo) acp.SessionUpdate {
	plan := planOf(todos)
	if p.plans {
		return acp.SessionUpdate{PlanUpdate: &acp.PlanUpdate{Plan: acp.PlanUpdateContent{Items: &acp.PlanItems{PlanID: planID, Entries: plan.Entries}}}}
	}
	return acp.SessionUpdate{Plan: plan}
}

// compacted shows a compaction to clients that take it; to the others a word
// that it has happened.
func (p *projection) compacted(d *session.Compaction, replay bool) []acp.SessionUpdate {
	if !p.compaction {
		switch {
		case replay:
			return nil
		case d.Status == "completed":
			return p.notice("info", "The older part of the conversation was replaced by a summary.", "")
		case d.Status == "failed":
			return p.notice("warning", "The conversation could not be compacted: "+d.Error, "")
		}
		return nil
	}
	if replay && d.Status == "in_progress" {
		return nil
	}
	u := &acp.CompactionUpdate{CompactionID: d.ID, Status: acp.CompactionStatus(d.Status), Error: d.Error}
	if d.Status == "completed" {
		for i := range d.Content {
			if b := wireBlock(&d.Content[i]); b != nil {
				u.Summary = append(u.Summary, *b)
			}
		}
	}
	return one(acp.SessionUpdate{CompactionUpdate: u})
}

func one(u acp.SessionUpdate) []acp.SessionUpdate { return []acp.SessionUpdate{u} }

// sendUsage shows how full the context is once a session has been set up.
func (l *live) sendUsage() {
	v := l.view
	// As the owner, who also hears the events: the projection is theirs. A
	// session that has closed since needs no update.
	_ = l.Do(v.agent.ctx, func(*session.State) error {
		for _, u := range v.proj.usage(v.proj.window(v.proj.now.Model)) {
			v.send(v.agent.ctx, u)
		}
		return nil
	})
}

// notice tells the person something that is not the model's answer: as a notice
// where the client takes them, else as a message of its own, marked.
func (p *projection) notice(severity, text, detail string) []acp.SessionUpdate {
	if p.notices {
		title, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		if title == "" {
			return nil
		}
		if rest != "" {
			detail = strings.TrimSpace(text + "\n" + detail)
		}
		return one(acp.SessionUpdate{Notice: &acp.Notice{Severity: acp.NoticeSeverity(severity), Title: title, Description: detail}})
	}
	if detail != "" {
		text += "\n" + detail
	}
	meta := acp.Meta{NoticeMeta: map[string]any{"severity": severity}}
	return one(acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{Content: acp.TextBlock("[" + severity + "] " + text + "\n"), Meta: meta}})
}

// NoticeMeta is the _meta key that marks agent text which is the agent's own
// word to the person, not the model's answer.
const NoticeMeta = "acp-agent/notice"

// userChunks is a prompt as the person gave it.
func userChunks(d *session.UserMessage) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for i := range d.Content {
		if i == 0 && d.Typed != "" { // in its place the model had what a file says
			out = append(out, acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(d.Typed), MessageID: d.ID}})
			continue
		}
		if i > 0 && d.Content[i].Type == session.BlockResource && d.Content[i-1].Type == session.BlockResourceLink && d.Content[i].URI == d.Content[i-1].URI {
			continue // what the agent read behind a link
		}
		if b := wireBlock(&d.Content[i]); b != nil {
			out = append(out, acp.SessionUpdate{UserMessageChunk: &acp.ContentChunk{Content: *b, MessageID: d.ID}})
		}
	}
	return out
}

func assistantChunks(d *session.AssistantMessage) []acp.SessionUpdate {
	var out []acp.SessionUpdate
	for _, b := range d.Message.Content {
		switch {
		case b.Text == "":
		case b.Type == session.BlockText:
			out = append(out, acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{Content: acp.TextBlock(b.Text), MessageID: d.Message.ID}})
		case b.Type == session.BlockReasoning:
			out = append(out, acp.SessionUpdate{AgentThoughtChunk: &acp.ContentChunk{Content: acp.TextBlock(b.Text), MessageID: thoughtID(d.Message.ID)}})
		}
	}
	return out
}

// look describes a call by its tool; a tool that is gone by its name alone, and one
// of an MCP server as if it were there: a replay does not wait for the servers.
func (p *projection) look(name string, input []byte) tool.View {
	if t, ok := p.tools().Get(name); ok {
		return t.View(p.env, input)
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		if server, called, _ := strings.Cut(rest, "__"); server != "" && called != "" {
			return tool.View{Title: tool.RemoteTitle(server, called, input)}
		}
	}
	return tool.View{Title: name}
}

func (p *projection) toolCall(d *session.ToolCall) *acp.ToolCall {
	v := p.look(d.Name, []byte(d.Arguments))
	kind := tool.KindOther
	if t, ok := p.tools().Get(d.Name); ok {
		kind = t.Spec().Kind
	}
	if v.Title == "" {
		v.Title = d.Name
	}
	return &acp.ToolCall{
		ToolCallID: d.CallID, Title: v.Title, Name: d.Name, Kind: acp.ToolKind(kind), Status: acp.ToolCallStatusPending,
		Locations: wireLocations(v.Locations), RawInput: rawJSON([]byte(d.Arguments)),
	}
}

// maxRawOutput bounds rawOutput: the content has the text already. Where it has
// a diff there is none: an edit's answer holds the whole file.
const maxRawOutput = 16 << 10

// toolResult is how a call ended. A replay shows the text that the model read in
// the place of a terminal: it was another client's, or is long released, and its
// id may by now be that of another one.
func toolResult(d *session.ToolResult, replay bool) *acp.ToolCallUpdate {
	b := d.Block()
	u := &acp.ToolCallUpdate{ToolCallID: b.CallID, Status: acp.ToolCallStatusCompleted}
	if b.IsError {
		u.Status = acp.ToolCallStatusFailed
	}
	if m := d.Meta; m != nil {
		u.Content = wireDiffs(m.Diffs)
		if m.TerminalID != "" && !replay {
			u.Content = append(u.Content, acp.ToolCallContent{Terminal: &acp.Terminal{TerminalID: m.TerminalID}})
		}
		u.Locations = wireLocations(m.Locations)
		if len(m.Diffs) == 0 && len(m.Response) <= maxRawOutput {
			u.RawOutput = rawJSON(m.Response)
		}
	}
	if len(u.Content) == 0 || b.IsError {
		for i := range b.Content {
			if c := wireBlock(&b.Content[i]); c != nil {
				u.Content = append(u.Content, acp.ToolContent(*c))
			}
		}
	}
	return u
}

func textContent(s string) acp.ToolCallContent {
	return acp.ToolContent(acp.TextBlock(s))
}

func wireDiffs(in []session.Diff) []acp.ToolCallContent {
	var out []acp.ToolCallContent
	for _, d := range in {
		out = append(out, acp.ToolCallContent{Diff: &acp.Diff{Path: d.Path, OldText: d.OldText, NewText: d.NewText}})
	}
	return out
}

func wireLocations(in []session.Location) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, l := range in {
		if !filepath.IsAbs(l.Path) {
			continue
		}
		w := acp.ToolCallLocation{Path: l.Path}
		if l.Line > 0 {
			n := uint32(l.Line)
			w.Line = &n
		}
		out = append(out, w)
	}
	return out
}

func planOf(todos []session.Todo) *acp.Plan {
	p := &acp.Plan{Entries: []acp.PlanEntry{}}
	for _, t := range todos {
		p.Entries = append(p.Entries, acp.PlanEntry{Content: t.Content, Priority: acp.PlanEntryPriorityMedium, Status: acp.PlanEntryStatus(t.Status)})
	}
	return p
}
