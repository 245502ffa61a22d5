package claudecode

import (
	"crypto/sha1"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"acp-agent/hooks"
)

// transcriber writes a session in the form that hooks find at transcript_path
// (public samples of versions 2.0 to 2.1.205): one compact JSON object a line, each line of
// the conversation naming its parent.
type transcriber struct {
	meta   hooks.TranscriptMeta
	parent string // uuid of the last line of the conversation
	model  string
	seq    uint64
	nth    int // lines already written for seq
}

// NewTranscriber returns the writer of a session's transcript.
func NewTranscriber(meta hooks.TranscriptMeta) hooks.Transcriber {
	return &transcriber{meta: meta, model: meta.Model}
}

// Path implements hooks.Transcriber: the vendor keeps transcripts in a folder
// for each working directory.
func (t *transcriber) Path() string {
	dir := strings.NewReplacer("/", "-", ".", "-", `\`, "-", ":", "-").Replace(t.meta.Cwd)
	if dir == "" {
		dir = "-"
	}
	return filepath.Join(dir, t.meta.SessionID+".jsonl")
}

// Append implements hooks.Transcriber. The format has no opening lines; entries
// that it has no line for (the turn's start and end) add nothing.
func (t *transcriber) Append(dst []byte, e *hooks.Entry) ([]byte, error) {
	if e.Seq != t.seq {
		t.seq, t.nth = e.Seq, 0
	}
	if e.Model != "" {
		t.model = e.Model
	}
	switch e.Kind {
	case hooks.EntryUser:
		mode := func(w *hooks.ObjectWriter) { w.OptStr("permissionMode", e.Mode) }
		if e.Typed == "" {
			dst = t.user(dst, e, e.Text, mode)
			break
		}
		// What the command's file says was typed by nobody: guards look for a
		// person's consent in what was.
		dst = t.user(dst, e, commandLine(e.Typed), mode)
		dst = t.user(dst, e, e.Text, func(w *hooks.ObjectWriter) { w.Bool("isMeta", true) })
	case hooks.EntrySteering:
		// isMeta marks what no person typed, and so does the vendor's heading, by
		// which readers tell it from a prompt (public samples of 2.1.266).
		text := e.Text
		if e.Event == hooks.Stop {
			text = "Stop hook feedback:\n" + text
		}
		dst = t.user(dst, e, text, func(w *hooks.ObjectWriter) { w.Bool("isMeta", true) })
	case hooks.EntryContext:
		dst = t.context(dst, e)
	case hooks.EntryText, hooks.EntryReasoning, hooks.EntryToolUse:
		dst = t.assistant(dst, e)
	case hooks.EntryToolResult:
		dst = t.toolResult(dst, e)
	case hooks.EntrySummary:
		dst = t.line(dst, e, "system", func(w *hooks.ObjectWriter) {
			w.Str("subtype", "compact_boundary")
			w.Str("content", "Conversation compacted")
		}, nil)
		dst = t.user(dst, e, e.Text, func(w *hooks.ObjectWriter) { w.Bool("isCompactSummary", true) })
	case hooks.EntryTitle:
		w := hooks.NewObject(dst)
		w.Str("type", "summary")
		w.Str("summary", e.Text)
		w.Str("leafUuid", t.parent)
		dst = append(w.Close(), '\n')
	}
	return dst, nil
}

// commandLine is a slash command as the vendor's transcripts have it (public
// samples of 2.1.220 to 2.1.293).
func commandLine(typed string) string {
	name, args := strings.TrimSpace(strings.TrimPrefix(typed, "/")), ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], strings.TrimSpace(name[i:])
	}
	s := "<command-message>" + name + "</command-message>\n<command-name>/" + name + "</command-name>"
	if args != "" {
		s += "\n<command-args>" + args + "</command-args>"
	}
	return s
}

// line writes one line of the conversation: head, body, then identity and tail.
func (t *transcriber) line(dst []byte, e *hooks.Entry, kind string, body, tail func(*hooks.ObjectWriter)) []byte {
	id := t.uuid(e.Seq)
	w := hooks.NewObject(dst)
	if t.parent == "" {
		w.Null("parentUuid")
	} else {
		w.Str("parentUuid", t.parent)
	}
	w.Bool("isSidechain", false)
	w.Str("userType", "external")
	w.Str("cwd", t.meta.Cwd)
	w.Str("sessionId", t.meta.SessionID)
	w.Str("version", t.meta.Version)
	w.Str("gitBranch", t.meta.GitBranch)
	w.Str("type", kind)
	body(w)
	w.Str("uuid", id)
	w.Str("timestamp", e.Time.UTC().Format("2006-01-02T15:04:05.000Z"))
	if tail != nil {
		tail(w)
	}
	t.parent = id
	return append(w.Close(), '\n')
}

func (t *transcriber) user(dst []byte, e *hooks.Entry, text string, tail func(*hooks.ObjectWriter)) []byte {
	return t.line(dst, e, "user", func(w *hooks.ObjectWriter) {
		w.Object("message", func(w *hooks.ObjectWriter) {
			w.Str("role", "user")
			w.Str("content", text)
		})
	}, tail)
}

// context writes what was put beside the conversation. It is no user line:
// readers would take it for a prompt (public samples of 2.1.207 to 2.1.293).
func (t *transcriber) context(dst []byte, e *hooks.Entry) []byte {
	return t.line(dst, e, "attachment", func(w *hooks.ObjectWriter) {
		w.Object("attachment", func(w *hooks.ObjectWriter) {
			if e.Event == "" {
				w.Str("type", "nested_memory")
				w.Object("content", func(w *hooks.ObjectWriter) {
					w.Str("type", "Project")
					w.Str("content", e.Text)
				})
				return
			}
			w.Str("type", "hook_additional_context")
			w.Value("content", []string{e.Text})
			w.Str("hookName", string(e.Event))
			w.Str("hookEvent", string(e.Event))
		})
	}, nil)
}

// assistant writes one content block; the blocks of a message share its id and
// each line has the message's whole usage: readers count an id once, and many
// the first time they see it (claude-code#87303, measured with 2.1.228).
func (t *transcriber) assistant(dst []byte, e *hooks.Entry) []byte {
	return t.line(dst, e, "assistant", func(w *hooks.ObjectWriter) {
		w.Object("message", func(w *hooks.ObjectWriter) {
			w.Str("id", e.MessageID)
			w.Str("type", "message")
			w.Str("role", "assistant")
			w.Str("model", t.model)
			block := hooks.NewObject([]byte{'['})
			t.block(block, e)
			w.Raw("content", append(block.Close(), ']'))
			if e.StopReason == "" {
				w.Null("stop_reason")
			} else {
				w.Str("stop_reason", e.StopReason)
			}
			w.Null("stop_sequence")
			u := e.Usage
			w.Object("usage", func(w *hooks.ObjectWriter) {
				w.Int("input_tokens", u.Input)
				w.Int("cache_creation_input_tokens", u.CacheWrite)
				w.Int("cache_read_input_tokens", u.CacheRead)
				w.Int("output_tokens", u.Output)
			})
		})
		w.Str("requestId", "req_"+e.MessageID)
	}, nil)
}

func (t *transcriber) block(w *hooks.ObjectWriter, e *hooks.Entry) {
	switch e.Kind {
	case hooks.EntryText:
		w.Str("type", "text")
		w.Str("text", e.Text)
	case hooks.EntryReasoning:
		w.Str("type", "thinking")
		w.Str("thinking", e.Text)
		w.Str("signature", e.Signature)
	case hooks.EntryToolUse:
		tool := e.Tool
		if tool == nil {
			tool = &hooks.Tool{}
		}
		w.Str("type", "tool_use")
		w.Str("id", tool.CallID)
		w.Str("name", ToolName(tool.Name))
		input := ToolInput(tool.Name, tool.Input, t.meta.Cwd)
		if len(input) == 0 {
			input = []byte("{}")
		}
		w.Raw("input", input)
	}
}

// toolResult writes a tool's answer, beside it the structured one that
// PostToolUse gets too.
func (t *transcriber) toolResult(dst []byte, e *hooks.Entry) []byte {
	tool := e.Tool
	if tool == nil {
		tool = &hooks.Tool{}
	}
	text := tool.Output
	if text == "" {
		text = e.Text
	}
	failed := toolFailed(tool)
	return t.line(dst, e, "user", func(w *hooks.ObjectWriter) {
		w.Object("message", func(w *hooks.ObjectWriter) {
			w.Str("role", "user")
			block := hooks.NewObject([]byte{'['})
			block.Str("type", "tool_result")
			block.Str("tool_use_id", tool.CallID)
			block.Str("content", text)
			if failed {
				block.Bool("is_error", true)
			}
			w.Raw("content", append(block.Close(), ']'))
		})
	}, func(w *hooks.ObjectWriter) {
		if failed {
			w.Str("toolUseResult", "Error: "+failureError(tool))
			return
		}
		w.Raw("toolUseResult", ToolResponse(tool, t.meta.Cwd))
	})
}

// uuid derives a line's id from the session and the log event, so that writing
// the transcript anew gives the same ids. An event may have several lines.
func (t *transcriber) uuid(seq uint64) string {
	t.nth++
	sum := sha1.Sum([]byte(t.meta.SessionID + "\x00" + strconv.FormatUint(seq, 10) + "\x00" + strconv.Itoa(t.nth)))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80 // version 5, RFC 9562
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
