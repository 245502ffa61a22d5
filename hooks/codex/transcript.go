package codex

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"acp-agent/hooks"
)

// Transcriber writes a session as a Codex rollout, the file that hooks find at
// transcript_path: lines {timestamp, ordinal, type, payload} of compact JSON
// (observed with Codex 0.171.0). It holds what readers use: the
// messages, calls and outputs as response_item, and of event_msg the turns,
// the messages and the token counts.
type Transcriber struct {
	meta    hooks.TranscriptMeta
	ordinal int
	opened  bool
	// last is the text of the turn's newest assistant message.
	last  *string
	total hooks.Usage
}

var _ hooks.Transcriber = (*Transcriber)(nil)

// NewTranscriber makes a transcriber of one session.
func NewTranscriber(meta hooks.TranscriptMeta) *Transcriber { return &Transcriber{meta: meta} }

// Path implements hooks.Transcriber: where Codex puts a rollout below its home.
func (t *Transcriber) Path() string {
	at := t.meta.CreatedAt
	return fmt.Sprintf("sessions/%s/rollout-%s-%s.jsonl", at.Format("2006/01/02"), at.Format("2006-01-02T15-04-05"), t.meta.SessionID)
}

// Append implements hooks.Transcriber.
func (t *Transcriber) Append(dst []byte, e *hooks.Entry) ([]byte, error) {
	if !t.opened {
		t.opened = true
		at := t.meta.CreatedAt
		if at.IsZero() {
			at = e.Time
		}
		dst = t.line(dst, at, "session_meta", t.sessionMeta)
	}
	switch e.Kind {
	case hooks.EntryTurnStart:
		t.last = nil
		dst = t.event(dst, e, "task_started", func(w *hooks.ObjectWriter) { w.Str("turn_id", e.TurnID) })
		return t.line(dst, e.Time, "turn_context", func(w *hooks.ObjectWriter) { t.turnContext(w, e) }), nil
	case hooks.EntryTurnEnd:
		return t.event(dst, e, "task_complete", func(w *hooks.ObjectWriter) {
			w.Str("turn_id", e.TurnID)
			optional(w, "last_agent_message", t.last)
		}), nil
	case hooks.EntryUser:
		dst = t.message(dst, e, "user", "input_text")
		return t.item(dst, e, "UserMessage", "content", textBlocks("text", e.Text)), nil
	case hooks.EntrySteering:
		dst = t.message(dst, e, "user", "input_text")
		w := hooks.NewObject([]byte{'['})
		w.Str("text", e.Text)
		return t.item(dst, e, "HookPrompt", "fragments", append(w.Close(), ']')), nil
	case hooks.EntryContext:
		return t.message(dst, e, "developer", "input_text"), nil
	case hooks.EntryText:
		last := e.Text
		t.last = &last
		dst = t.item(dst, e, "AgentMessage", "content", textBlocks("Text", e.Text))
		dst = t.message(dst, e, "assistant", "output_text")
		return t.usage(dst, e), nil
	case hooks.EntryReasoning:
		dst = t.response(dst, e, "reasoning", func(w *hooks.ObjectWriter) {
			w.Raw("summary", textBlocks("summary_text", e.Text))
		})
		return t.usage(dst, e), nil
	case hooks.EntryToolUse, hooks.EntryToolResult:
		return t.tool(dst, e)
	case hooks.EntrySummary:
		return t.line(dst, e.Time, "compacted", func(w *hooks.ObjectWriter) { w.Str("message", e.Text) }), nil
	}
	return dst, nil // a title, and what later versions bring
}

// line appends {timestamp, ordinal, type, payload}.
func (t *Transcriber) line(dst []byte, at time.Time, kind string, payload func(*hooks.ObjectWriter)) []byte {
	w := hooks.NewObject(dst)
	w.Str("timestamp", at.UTC().Format("2006-01-02T15:04:05.000Z"))
	w.Int("ordinal", int64(t.ordinal))
	t.ordinal++
	w.Str("type", kind)
	w.Object("payload", payload)
	return append(w.Close(), '\n')
}

func (t *Transcriber) sessionMeta(w *hooks.ObjectWriter) {
	w.Str("session_id", t.meta.SessionID)
	w.Str("id", t.meta.SessionID)
	w.Str("timestamp", t.meta.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z"))
	w.Str("cwd", t.meta.Cwd)
	w.Str("originator", "acp-agent")
	w.Str("cli_version", t.meta.Version)
	w.Str("source", "exec")
	w.Str("thread_source", "user")
	w.Object("base_instructions", func(in *hooks.ObjectWriter) { in.Str("text", t.meta.System) })
	if t.meta.GitBranch != "" {
		w.Object("git", func(in *hooks.ObjectWriter) { in.Str("branch", t.meta.GitBranch) })
	}
}

func (t *Transcriber) turnContext(w *hooks.ObjectWriter, e *hooks.Entry) {
	w.Str("turn_id", e.TurnID)
	w.Str("cwd", t.meta.Cwd)
	policy, sandbox := "on-request", "workspace-write"
	if permissionMode(e.Mode) == "bypassPermissions" {
		policy, sandbox = "never", "danger-full-access"
	}
	w.Str("approval_policy", policy)
	w.Object("sandbox_policy", func(in *hooks.ObjectWriter) { in.Str("type", sandbox) })
	model := e.Model
	if model == "" {
		model = t.meta.Model
	}
	w.Str("model", model)
}

// response appends a response_item, the shape of the model's API.
func (t *Transcriber) response(dst []byte, e *hooks.Entry, kind string, rest func(*hooks.ObjectWriter)) []byte {
	return t.line(dst, e.Time, "response_item", func(w *hooks.ObjectWriter) {
		w.Str("type", kind)
		rest(w)
	})
}

func (t *Transcriber) message(dst []byte, e *hooks.Entry, role, block string) []byte {
	return t.response(dst, e, "message", func(w *hooks.ObjectWriter) {
		w.Str("role", role)
		w.Raw("content", textBlocks(block, e.Text))
	})
}

func textBlocks(kind, text string) []byte {
	w := hooks.NewObject([]byte{'['})
	w.Str("type", kind)
	w.Str("text", text)
	return append(w.Close(), ']')
}

func (t *Transcriber) event(dst []byte, e *hooks.Entry, kind string, rest func(*hooks.ObjectWriter)) []byte {
	return t.line(dst, e.Time, "event_msg", func(w *hooks.ObjectWriter) {
		w.Str("type", kind)
		rest(w)
	})
}

// item appends an item_completed. Its id comes from its place in the file, so
// that a second transcript of the session is the same.
func (t *Transcriber) item(dst []byte, e *hooks.Entry, kind, key string, value []byte) []byte {
	id := "item_" + strconv.Itoa(t.ordinal)
	return t.completed(dst, e, func(w *hooks.ObjectWriter) {
		w.Str("type", kind)
		w.Str("id", id)
		w.Raw(key, value)
	})
}

func (t *Transcriber) completed(dst []byte, e *hooks.Entry, item func(*hooks.ObjectWriter)) []byte {
	return t.event(dst, e, "item_completed", func(w *hooks.ObjectWriter) {
		w.Str("thread_id", t.meta.SessionID)
		w.Str("turn_id", e.TurnID)
		w.Object("item", item)
	})
}

// tool appends a call or its output. Codex's model makes patches with a tool
// of the other kind, whose input is the bare patch.
func (t *Transcriber) tool(dst []byte, e *hooks.Entry) ([]byte, error) {
	if e.Tool == nil {
		return dst, fmt.Errorf("a %s entry (log event %d) without a tool", e.Kind, e.Seq)
	}
	name, in := t.call(e.Tool)
	kind, key := "function_call", "arguments"
	if name == "apply_patch" {
		kind, key = "custom_tool_call", "input"
	}
	if e.Kind == hooks.EntryToolUse {
		dst = t.response(dst, e, kind, func(w *hooks.ObjectWriter) {
			w.Str("name", name)
			w.Str(key, in)
			w.Str("call_id", e.Tool.CallID)
		})
		return t.usage(dst, e), nil
	}
	if name == "exec_command" && len(e.Tool.Response) > 0 {
		dst = t.command(dst, e)
	}
	return t.response(dst, e, kind+"_output", func(w *hooks.ObjectWriter) {
		w.Str("call_id", e.Tool.CallID)
		w.Str("output", e.Tool.Output)
	}), nil
}

// command appends the item of a command that has run.
func (t *Transcriber) command(dst []byte, e *hooks.Entry) []byte {
	var in bashInput
	var r hooks.BashResponse
	if json.Unmarshal(e.Tool.Input, &in) != nil || json.Unmarshal(e.Tool.Response, &r) != nil {
		return dst
	}
	return t.completed(dst, e, func(w *hooks.ObjectWriter) {
		w.Str("type", "CommandExecution")
		w.Str("id", e.Tool.CallID)
		w.Value("command", []string{"bash", "-c", in.Command})
		w.Str("cwd", t.meta.Cwd)
		status := "completed"
		if r.ExitCode != 0 {
			status = "failed"
		}
		w.Str("status", status)
		w.Str("aggregated_output", r.Stdout+r.Stderr)
		w.Int("exit_code", int64(r.ExitCode))
	})
}

// call is a tool call as Codex's model makes it: commands go to exec_command
// {cmd}, which hooks know as Bash, edits and writes are patches, and the rest
// have their arguments as a JSON text.
func (t *Transcriber) call(tool *hooks.Tool) (name, in string) {
	raw, err := toolInput(tool, t.meta.Cwd, false)
	if err != nil {
		return tool.Name, string(tool.Input) // a call that the model got wrong, as it was
	}
	var c bashInput
	switch tool.Name {
	case "bash", "edit", "write":
		if err := json.Unmarshal(raw, &c); err != nil {
			return tool.Name, string(tool.Input)
		}
	}
	switch tool.Name {
	case "bash":
		w := hooks.NewObject(nil)
		w.Str("cmd", c.Command)
		return "exec_command", string(w.Close())
	case "edit", "write":
		return "apply_patch", c.Command
	}
	return toolNames(tool.Name).name, string(raw)
}

// usage appends a token_count after the last entry of an assistant message.
func (t *Transcriber) usage(dst []byte, e *hooks.Entry) []byte {
	if !e.Last {
		return dst
	}
	t.total.Input += e.Usage.Input
	t.total.Output += e.Usage.Output
	t.total.CacheRead += e.Usage.CacheRead
	t.total.CacheWrite += e.Usage.CacheWrite
	t.total.Reasoning += e.Usage.Reasoning
	return t.event(dst, e, "token_count", func(w *hooks.ObjectWriter) {
		w.Object("info", func(in *hooks.ObjectWriter) {
			counts(in, "total_token_usage", t.total)
			counts(in, "last_token_usage", e.Usage)
		})
	})
}

func counts(w *hooks.ObjectWriter, key string, u hooks.Usage) {
	input := u.Input + u.CacheRead + u.CacheWrite // Codex counts the cached in
	w.Object(key, func(in *hooks.ObjectWriter) {
		in.Int("input_tokens", input)
		in.Int("cached_input_tokens", u.CacheRead)
		in.Int("cache_write_input_tokens", u.CacheWrite)
		in.Int("output_tokens", u.Output)
		in.Int("reasoning_output_tokens", u.Reasoning)
		in.Int("total_tokens", input+u.Output)
	})
}
