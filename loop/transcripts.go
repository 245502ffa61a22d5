package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"acp-agent/hooks"
	"acp-agent/session"
)

// transcripts keeps the files that hooks read at transcript_path, one a
// dialect, each in the dialect's own format. A file is made when the first hook
// asks for its path, from the log on disk, and grows with the log from then on.
type transcripts struct {
	mu    sync.Mutex
	cfg   *Config
	meta  hooks.TranscriptMeta
	files map[string]*transcript
}

type transcript struct {
	t    hooks.Transcriber
	file *os.File
	path string
	seq  uint64
	ents entries
	buf  []byte
}

func newTranscripts(cfg *Config, h session.Header) *transcripts {
	_, name, _ := strings.Cut(cfg.ModelRef, "/")
	return &transcripts{cfg: cfg, files: map[string]*transcript{}, meta: hooks.TranscriptMeta{
		SessionID: h.ID, Cwd: h.Cwd, Version: cfg.Version, Model: name, CreatedAt: h.CreatedAt, System: cfg.System,
	}}
}

// path returns the dialect's file, complete up to the last durable event, or ""
// when it cannot be written; the hook then runs without one.
func (ts *transcripts) path(dialect string) string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if f, ok := ts.files[dialect]; ok {
		if f == nil {
			return ""
		}
		return f.path
	}
	f, err := ts.open(dialect)
	if err != nil {
		ts.cfg.Log.Error("hooks get no transcript", "dialect", dialect, "error", err)
	}
	ts.files[dialect] = f
	if f == nil {
		return ""
	}
	return f.path
}

func (ts *transcripts) open(dialect string) (*transcript, error) {
	if ts.cfg.TranscriptDir == "" || ts.cfg.Transcribers == nil || ts.cfg.History == nil {
		return nil, nil
	}
	meta := ts.meta
	meta.GitBranch = gitBranch(meta.Cwd)
	tr := ts.cfg.Transcribers(dialect, meta)
	if tr == nil {
		return nil, nil
	}
	path := filepath.Join(ts.cfg.TranscriptDir, dialect, tr.Path())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the transcript's directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making the transcript: %w", err)
	}
	f := &transcript{t: tr, file: file, path: path, ents: entries{mode: ts.cfg.Mode}}
	err = ts.cfg.History(func(ev session.Event) error { return f.add(ev) })
	if err == nil {
		err = f.write()
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("writing the transcript %s: %w", path, err)
	}
	return f, nil
}

// gitBranch is the branch that is checked out in the directory: "HEAD" when none
// is, "" outside a repository. It is read without git, which may not be there.
func gitBranch(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if text, err := os.ReadFile(git); err == nil {
			// A linked worktree has a file that names its directory.
			at, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
			if !ok {
				return ""
			}
			if git = at; !filepath.IsAbs(git) {
				git = filepath.Join(dir, git)
			}
		}
		if head, err := os.ReadFile(filepath.Join(git, "HEAD")); err == nil {
			if branch, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/"); ok {
				return branch
			}
			return "HEAD"
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
	}
}

// add takes an event that is durable.
func (ts *transcripts) add(ev session.Event) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for dialect, f := range ts.files {
		if f == nil || ev.Seq <= f.seq {
			continue
		}
		err := f.add(ev)
		if err == nil {
			err = f.write()
		}
		if err != nil {
			ts.cfg.Log.Error("a transcript is not complete any more; hooks get none", "path", f.path, "error", err)
			_ = f.file.Close()
			ts.files[dialect] = nil
		}
	}
}

func (ts *transcripts) close() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for dialect, f := range ts.files {
		if f != nil {
			_ = f.file.Close()
		}
		delete(ts.files, dialect)
	}
}

func (f *transcript) add(ev session.Event) error {
	f.seq = ev.Seq
	for _, e := range f.ents.of(ev) {
		var err error
		if f.buf, err = f.t.Append(f.buf, &e); err != nil {
			return err
		}
	}
	return nil
}

func (f *transcript) write() error {
	if len(f.buf) == 0 {
		return nil
	}
	_, err := f.file.Write(f.buf)
	f.buf = f.buf[:0]
	return err
}

// entries turns events into transcript entries. It remembers what a result
// needs of its call.
type entries struct {
	calls map[string]*hooks.Tool
	turn  string
	// model is the one that was switched to last; "" stands for the configured.
	model string
	mode  string
}

func (x *entries) of(ev session.Event) []hooks.Entry {
	e := hooks.Entry{Time: ev.Time, Seq: ev.Seq, TurnID: x.turn, Mode: x.mode}
	switch d := ev.Data.(type) {
	case *session.TurnStart:
		if x.turn = d.ID; x.turn == "" {
			x.turn = fmt.Sprintf("turn-%d", d.Turn)
		}
		e.Kind, e.TurnID, e.Model = hooks.EntryTurnStart, x.turn, x.model
	case *session.ModeSet:
		x.mode = d.Mode
		return nil
	case *session.ConfigSet:
		if d.ID == ConfigModel {
			_, x.model, _ = strings.Cut(d.Value, "/")
		}
		return nil
	case *session.TurnEnd:
		e.Kind = hooks.EntryTurnEnd
	case *session.UserMessage:
		e.Kind, e.Text, e.Typed = hooks.EntryUser, promptText(d.Content), d.Typed
	case *session.SteeringMessage:
		e.Event = hookEvent(d.Source)
		return texts(e, hooks.EntrySteering, d.Content)
	case *session.ContextMessage:
		e.Event = hookEvent(d.Source)
		return texts(e, hooks.EntryContext, d.Content)
	case *session.AssistantMessage:
		return x.assistant(e, d)
	case *session.ToolResult:
		b := d.Block()
		e.Kind = hooks.EntryToolResult
		e.Tool = &hooks.Tool{CallID: b.CallID}
		if c := x.calls[b.CallID]; c != nil {
			*e.Tool = *c
			delete(x.calls, b.CallID)
		}
		for _, c := range b.Content {
			e.Tool.Output += c.Text
		}
		e.Tool.Failed = b.IsError
		if d.Meta != nil {
			e.Tool.Response, e.Tool.ExitCode, e.Tool.NotRun = d.Meta.Response, d.Meta.ExitCode, d.Meta.NotRun != ""
		}
	case *session.SessionTitle:
		e.Kind, e.Text = hooks.EntryTitle, d.Title
	case *session.Compaction:
		if d.Status != "completed" {
			return nil
		}
		return texts(e, hooks.EntrySummary, d.Content)
	default:
		return nil
	}
	return []hooks.Entry{e}
}

func hookEvent(s session.Source) hooks.Event {
	if s.Kind != session.SourceHook {
		return ""
	}
	return hooks.Event(s.Event)
}

func texts(e hooks.Entry, kind hooks.EntryKind, content []session.Block) []hooks.Entry {
	var out []hooks.Entry
	for _, b := range content {
		e.Kind, e.Text = kind, b.Text
		out = append(out, e)
	}
	return out
}

func (x *entries) assistant(e hooks.Entry, d *session.AssistantMessage) []hooks.Entry {
	e.MessageID, e.Model = d.Message.ID, d.Message.Source.Model
	if u := d.Usage; u != nil {
		e.Usage = hooks.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadTokens, CacheWrite: u.CacheWriteTokens, Reasoning: u.ReasoningTokens}
	}
	switch d.Stop {
	case session.FinishToolCalls:
		e.StopReason = "tool_use"
	case session.FinishMaxTokens:
		e.StopReason = "max_tokens"
	default:
		e.StopReason = "end_turn"
	}
	var out []hooks.Entry
	for _, b := range d.Message.Content {
		e := e
		switch b.Type {
		case session.BlockText:
			e.Kind, e.Text = hooks.EntryText, b.Text
		case session.BlockReasoning:
			e.Kind, e.Text, e.Signature = hooks.EntryReasoning, b.Text, b.Signature
		case session.BlockToolCall:
			e.Kind = hooks.EntryToolUse
			e.Tool = &hooks.Tool{Name: b.Name, Input: []byte(b.Arguments), CallID: b.ID}
			if x.calls == nil {
				x.calls = map[string]*hooks.Tool{}
			}
			x.calls[b.ID] = e.Tool
		default:
			continue
		}
		out = append(out, e)
	}
	if n := len(out); n > 0 {
		out[n-1].Last = true
	}
	return out
}
