package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/agent"
	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop"
	"acp-agent/loop/permission"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

// execRequest is one headless turn.
type execRequest struct {
	// Dir is the working directory, absolute.
	Dir    string
	Prompt string
	// Mode is the permission mode; empty is the config's.
	Mode string
	// JSON prints the log's events, one a line, instead of the answer.
	JSON bool
	// Session is the stored session that goes on; empty for a new one.
	Session string
	// typed is the slash command that Prompt stands for.
	typed *loop.Typed
}

// exec runs one headless turn; the answer goes to stdout.
func (a *app) exec(ctx context.Context, r execRequest) error {
	w, err := a.runtime()
	if err != nil {
		return err
	}
	defer w.close()
	return a.execIn(ctx, w, r)
}

// resume goes on with a stored session: id, or the newest of the directory for
// "last". dir is the directory that was asked for, empty for that of the session.
func (a *app) resume(ctx context.Context, id, dir string, r execRequest) error {
	w, err := a.runtime()
	if err != nil {
		return err
	}
	defer w.close()
	last := id == "last"
	if last || dir != "" {
		if r.Dir, err = directory(dir); err != nil {
			return err
		}
	}
	infos, err := w.List(ctx)
	if err != nil {
		return fmt.Errorf("looking for the session: %w", err)
	}
	var found *session.Info
	for i := range infos {
		info := &infos[i]
		switch {
		case !last && info.ID == id:
			found = info
		case last && info.Err == nil && sameDir(info.Dir, r.Dir) && (found == nil || info.UpdatedAt.After(found.UpdatedAt)):
			found = info
		}
	}
	switch {
	case found == nil && last:
		return &config.Error{What: "no session is stored that works in " + r.Dir, Do: "leave --resume out, or name one of `acp-agent sessions list`"}
	case found == nil:
		return &config.Error{What: "no session " + id + " is stored", Do: "name one of `acp-agent sessions list`"}
	}
	r.Session = found.ID
	if r.Dir == "" {
		if r.Dir, err = directory(found.Dir); err != nil {
			return err
		}
	}
	return a.execIn(ctx, w, r)
}

// sameDir reports whether two names are of one directory, whatever links they go by.
func sameDir(a, b string) bool {
	if a == b {
		return true
	}
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

func (a *app) execIn(ctx context.Context, w *wiring, r execRequest) error {
	if err := namedHooks(w.cfg); err != nil {
		return err
	}
	if c, prompt, ok, err := agent.Expand(w.commandDirs(r.Dir), r.Prompt); errors.Is(err, agent.ErrOwnCommand) {
		return &usageError{err.Error() + ": exec takes a prompt, or a slash command that is a file"}
	} else if err != nil {
		return err
	} else if ok {
		r.typed, r.Prompt = &c, prompt
	}
	h := session.Header{
		Version: session.Version, ID: cmp.Or(r.Session, newID()), CreatedAt: time.Now().UTC(), Cwd: r.Dir, Agent: agentName + "/" + version(),
	}
	cfg, err := w.Session(ctx, &agent.SessionParams{Header: h, Roots: []string{r.Dir}})
	if err != nil {
		return startError(err)
	}
	out := &headless{w: a.stdout, stderr: a.stderr, json: r.JSON}
	cfg.Observer, cfg.Asker = out, out
	s, err := w.start(ctx, cfg, h, r.Session != "")
	if err != nil {
		if cfg.OnClose != nil {
			cfg.OnClose()
		}
		return err
	}
	reason, perr := out.run(ctx, s, r)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := s.Close(end, "other"); err != nil {
		return err
	}
	if out.err != nil {
		return fmt.Errorf("writing the answer: %w", out.err)
	}
	if err := w.finish(); err != nil && perr == nil {
		return err
	}
	return exitOf(reason, perr)
}

// namedHooks refuses to go on without a hook file that was named: it may be a guard,
// and nobody is there to read a warning.
func namedHooks(cfg *config.Config) error {
	if !cfg.Hooks.Enabled {
		return nil
	}
	for _, name := range slices.Concat(cfg.Hooks.ClaudeFiles, cfg.Hooks.CodexFiles) {
		if _, err := os.Stat(name); err != nil {
			return &config.Error{What: "hooks " + name + ": " + reason(err), Do: "correct the path, or leave it out", Usage: true}
		}
	}
	return nil
}

// start makes the session of a header, or goes on with the stored one of its id.
func (w *wiring) start(ctx context.Context, cfg loop.Config, h session.Header, stored bool) (*loop.Session, error) {
	var log session.Log
	var err error
	st, source := session.NewState(h), "startup"
	if stored {
		source = "resume"
		if log, st, err = agent.Reopen(ctx, w, &cfg, h.ID, h.Cwd, func(ev session.Event, said bool) {
			if said {
				cfg.Observer.Events(ctx, []session.Event{ev})
			}
		}); err != nil {
			return nil, startError(err)
		}
	} else if log, err = w.Create(ctx, h); err != nil {
		return nil, fmt.Errorf("making the session's log: %w", err)
	}
	s, err := loop.New(cfg, log, st, source)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return s, nil
}

// startError is a session's failure to start without the protocol's code, which
// says nothing on a command line.
func startError(err error) error {
	text := err.Error()
	if wire, ok := errors.AsType[*acp.Error](err); ok {
		text = wire.Message
	}
	return &config.Error{What: "starting the session: " + text, Err: err}
}

// exitOf says by the exit code whether the turn did what was asked.
func exitOf(reason session.EndReason, err error) error {
	switch {
	case err != nil:
		return err
	case reason.Kind == session.EndCompleted:
		return nil
	case reason.Message != "":
		return fmt.Errorf("the turn ended: %s: %s", reason.Kind, reason.Message)
	}
	does := map[session.EndKind]string{
		session.EndMaxTokens:       "the answer has reached the limit of the output: raise limits.max_tokens in the config file, or ask for less at once",
		session.EndMaxTurnRequests: "the model was asked limits.max_steps times: raise that in the config file, or ask for less at once",
		session.EndRefusal:         "the model, or a filter of its provider, refused to answer: ask in another way, or use another model",
	}
	if what := does[reason.Kind]; what != "" {
		return fmt.Errorf("the turn ended: %s: %s", reason.Kind, what)
	}
	return fmt.Errorf("the turn ended: %s", reason.Kind)
}

// headless shows a turn on a terminal or to a program. Nobody is there to be
// asked: what would need a question is refused.
type headless struct {
	w, stderr io.Writer
	json      bool

	mu       sync.Mutex
	answered bool // text of the current message is on the line
	err      error
}

func (o *headless) run(ctx context.Context, s *loop.Session, r execRequest) (session.EndReason, error) {
	if r.Mode != "" && (r.Mode != permission.ModeDefault || r.Mode != s.Mode()) {
		if err := s.Record(ctx, &session.ModeSet{Mode: r.Mode, Source: session.Source{Kind: session.SourceUser}}); err != nil {
			return session.EndReason{}, err
		}
	}
	slot, err := s.Admit(ctx)
	if err != nil {
		return session.EndReason{}, err
	}
	prompt, src := []session.Block{session.Text(r.Prompt)}, session.Source{Kind: session.SourceUser}
	if r.typed != nil {
		src.Name = "/" + r.typed.Name
		return slot.Command(*r.typed, prompt, src)
	}
	return slot.Prompt(prompt, src)
}

func (o *headless) write(b []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(b)
	}
}

// Events implements loop.Observer.
func (o *headless) Events(_ context.Context, evs []session.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range evs {
		if evs[i].Seq > 0 { // else it is not on the log
			o.event(&evs[i])
		}
	}
}

func (o *headless) event(ev *session.Event) {
	if o.json {
		line, err := session.AppendEvent(nil, ev)
		if err != nil {
			o.err = errors.Join(o.err, err)
			return
		}
		o.write(line)
		return
	}
	switch d := ev.Data.(type) {
	case *session.AssistantMessage:
		if o.answered {
			o.write([]byte("\n"))
			o.answered = false
		}
	case *session.ToolCall:
		fmt.Fprintf(o.stderr, "tool %s %s\n", inLine(d.Name), oneLine(d.Arguments))
	case *session.ToolResult:
		if d.Meta != nil && d.Meta.NotRun == "denied" {
			for _, b := range d.Block().Content {
				fmt.Fprintf(o.stderr, "refused: %s\n", oneLine(b.Text))
			}
		}
	case *session.HookInvoked:
		if d.StatusMessage != "" {
			fmt.Fprintf(o.stderr, "hook %s\n", oneLine(d.StatusMessage))
		}
	case *session.ModelRetry:
		wait := time.Duration(d.DelayMs) * time.Millisecond
		fmt.Fprintf(o.stderr, "retry %d of %d in %s: %s\n", d.Retry, d.Max, wait.Round(100*time.Millisecond), oneLine(d.Failure.Message))
	case *session.Notice:
		fmt.Fprintf(o.stderr, "%s: %s\n", d.Severity, oneLine(d.Text))
	case *session.TurnEnd:
		if d.Reason.Kind == session.EndCompleted && d.Reason.Message != "" {
			fmt.Fprintln(o.stderr, oneLine(d.Reason.Message))
		}
	}
}

// Delta implements loop.Observer.
func (o *headless) Delta(_ context.Context, _ string, c *session.Chunk) {
	if o.json || c.Type != session.ChunkText || c.Text == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered = true
	o.write([]byte(c.Text))
}

// Progress implements loop.Observer.
func (o *headless) Progress(context.Context, string, tool.Progress) {}

// Ask implements loop.Asker.
func (o *headless) Ask(_ context.Context, q *loop.Question) (string, error) {
	if q.Announce { // about held hooks: they stay held, which a notice says
		return "", nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	mode := "bypassPermissions"
	if q.Kind == tool.KindEdit {
		mode = "acceptEdits"
	}
	fmt.Fprintf(o.stderr, "refused (nobody to ask): %s: run with --mode %s, or add an allow rule to the config file\n", q.View.Title, mode)
	return "reject_once", nil
}
