package session

import "slices"

// The texts of results that the agent writes for calls that were cut. They say
// truthfully whether the tool ran; the model reads them.
const (
	TextNotStarted = "The tool did not run: the turn ended before it was started."
	TextUnknown    = "The turn ended while this tool call was in progress, before the tool reported. Whether it ran to its end is not known: check before you run it again."
)

// Transcript returns what a model would be sent for a log that ends here: the
// projection of all events, with the open turn's unanswered tool calls
// answered, so that every provider accepts it.
func (s *State) Transcript() []Message {
	out := slices.Clone(s.Messages)
	for _, d := range s.Repair() {
		switch d := d.(type) {
		case *AssistantMessage:
			if len(d.Message.Content) > 0 {
				out = append(out, d.Message.Answer())
			}
		case *ToolResult:
			out = append(out, Message{Role: RoleTool, Content: []Block{*d.Block()}})
		}
	}
	return out
}

// Repair returns the events that close a turn which was cut by a crash: the
// streamed text that was not committed, a result for each unanswered call, the
// step's and the turn's end. It is empty when no turn is open. Whoever opens a
// log for writing appends them.
func (s *State) Repair() []Data {
	if s.Turn == nil {
		return nil
	}
	out := s.CloseCalls()
	if s.Turn.StepOpen {
		out = append(out, &StepEnd{Turn: s.Turn.Number, Step: s.Turn.Step})
	}
	return append(out, &TurnEnd{Turn: s.Turn.Number, Reason: EndReason{Kind: EndInterrupted}})
}

// CloseCalls returns the events that make the open turn's transcript whole:
// the uncommitted part of a cut stream and a result for each unanswered call.
func (s *State) CloseCalls() []Data {
	t := s.Turn
	if t == nil {
		return nil
	}
	var out []Data
	if c := s.compacting; c != nil {
		out = append(out, &Compaction{ID: c.ID, Trigger: c.Trigger, Status: "failed", Error: "the turn ended before the summary was there"})
	}
	if t.stream != nil && !t.stream.Empty() {
		m := &AssistantMessage{Turn: t.Number, Step: t.Step, Interrupted: true, Usage: t.stream.Usage()}
		m.Message = LoggedMessage{ID: t.messageID, Role: RoleAssistant, Content: t.stream.Blocks(false), Source: Source{Kind: SourceModel}}
		if s.Head != nil {
			m.Message.Source.Provider, m.Message.Source.Model = s.Head.Config.Provider, s.Head.Config.Model
		}
		if len(m.Message.Content) > 0 {
			out = append(out, m)
		}
	}
	for _, c := range t.Calls {
		text, notRun := TextNotStarted, "interrupted"
		switch {
		case c.Started && !c.Held:
			text, notRun = TextUnknown, ""
		case !c.Started:
			out = append(out, &ToolCall{Turn: t.Number, Step: t.Step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		out = append(out, NewToolResult(t.Number, t.Step, c.ID, []Block{Text(text)}, true, &ToolMeta{NotRun: notRun}))
	}
	return out
}

// NewToolResult returns the event of a tool's answer in the reference's shape.
func NewToolResult(turn, step int, callID string, content []Block, isError bool, meta *ToolMeta) *ToolResult {
	if content == nil {
		content = []Block{}
	}
	return &ToolResult{
		Turn: turn, Step: step, Meta: meta,
		Message: LoggedMessage{
			Role:    RoleUser,
			Source:  Source{Kind: SourceTool, CallID: callID},
			Content: []Block{{Type: BlockToolResult, CallID: callID, Content: content, IsError: isError}},
		},
	}
}
