package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/internal/files"
	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// sessionsCmd is acp-agent sessions.
type sessionsCmd struct {
	List   sessionsListCmd   `cmd:"" help:"List the stored sessions, last active first."`
	Show   sessionsShowCmd   `cmd:"" help:"Show a session's log, or what the model was sent."`
	Verify sessionsVerifyCmd `cmd:"" help:"Check logs: every line, every request's digest."`
	Export sessionsExportCmd `cmd:"" help:"Write a session as Markdown or JSON."`
}

type sessionsListCmd struct {
	JSON bool   `name:"json" help:"Print one JSON object a line."`
	Cwd  string `help:"Only sessions of this working directory." placeholder:"DIR"`
}

type sessionsShowCmd struct {
	Session    string `arg:"" help:"Session id, the beginning of one, last, or the path of a log."`
	Transcript bool   `help:"Print exactly the messages that the model is sent."`
	Full       bool   `help:"Print all that was said in full."`
	JSON       bool   `name:"json" help:"Print the log's lines as they are; with --transcript, the messages as JSON."`
}

type sessionsVerifyCmd struct {
	Sessions []string `arg:"" optional:"" name:"session" help:"Sessions as for show; all of them by default."`
}

type sessionsExportCmd struct {
	Session string `arg:"" help:"Session id, the beginning of one, last, or the path of a log."`
	Format  string `help:"markdown or json." enum:"markdown,json" default:"markdown"`
	Output  string `short:"o" help:"File to write; default stdout." placeholder:"FILE"`
}

// errNoSessions: nothing was ever stored. That is an error for a command about
// one session only.
var errNoSessions = errors.New("no sessions")

// openStore opens the session store without making anything.
func (a *app) openStore() (*jsonl.Store, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	if cfg.StateDir == "" {
		_, err := cfg.EnsureStateDir()
		return nil, err
	}
	if _, err := os.Stat(cfg.SessionsDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, &config.Error{What: "no sessions are stored in " + cfg.SessionsDir(), Do: "run a session first, or name another directory with --state-dir", Err: errNoSessions}
	}
	return jsonl.Open(cfg.SessionsDir(), jsonl.Options{})
}

// listSessions lists what is stored, nothing where there is no store yet.
func (a *app) listSessions(ctx context.Context) ([]session.Info, error) {
	store, err := a.openStore()
	if errors.Is(err, errNoSessions) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return store.List(ctx)
}

// Run lists the sessions.
func (c *sessionsListCmd) Run(ctx context.Context, a *app) error {
	infos, err := a.listSessions(ctx)
	if err != nil {
		return err
	}
	cwd := ""
	if c.Cwd != "" {
		if cwd, err = filepath.Abs(c.Cwd); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(a.stdout)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "SESSION\tLAST ACTIVE\tDIRECTORY\tTITLE")
	}
	for i := range infos {
		info := &infos[i]
		if cwd != "" && info.Dir != cwd {
			continue
		}
		if c.JSON {
			if err := json.NewEncoder(out).Encode(listEntry(info)); err != nil {
				return err
			}
			continue
		}
		title := clip(info.Title, 60)
		if info.Err != nil {
			title = "! " + clip(info.Err.Error(), 100)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", info.ID, info.UpdatedAt.Local().Format(time.DateTime), inLine(info.Dir), inLine(title))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return out.Flush()
}

func listEntry(info *session.Info) any {
	e := struct {
		ID        string    `json:"id"`
		Cwd       string    `json:"cwd"`
		Title     string    `json:"title,omitempty"`
		CreatedAt time.Time `json:"createdAt"`
		UpdatedAt time.Time `json:"updatedAt"`
		Error     string    `json:"error,omitempty"`
	}{info.ID, info.Dir, info.Title, info.CreatedAt, info.UpdatedAt, ""}
	if info.Err != nil {
		e.Error = info.Err.Error()
	}
	return e
}

// logPath finds the log that a person means: a path, an id, the beginning of
// one, or the last.
func (a *app) logPath(ctx context.Context, name string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
		return name, nil
	}
	store, err := a.openStore()
	if err != nil {
		return "", err
	}
	if path, err := store.Path(name); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	infos, err := store.List(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for i := range infos {
		if name == "last" || strings.HasPrefix(infos[i].ID, name) {
			found = append(found, infos[i].ID)
		}
	}
	switch {
	case len(found) == 0:
		return "", &config.Error{What: "there is no session " + name + " in " + store.Dir(), Do: "see `acp-agent sessions list`"}
	case len(found) > 1 && name != "last":
		return "", &config.Error{What: fmt.Sprintf("%s is the beginning of %d session ids", name, len(found)), Do: "write more of it: " + strings.Join(found[:2], " or ")}
	}
	return store.Path(found[0])
}

// Run shows a session.
func (c *sessionsShowCmd) Run(ctx context.Context, a *app) error {
	path, err := a.logPath(ctx, c.Session)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.stdout)
	switch {
	case c.Transcript:
		err = showTranscript(ctx, out, path, c.JSON)
	case c.JSON:
		err = copyFile(out, path)
	default:
		err = showLog(ctx, out, path, c.Full)
	}
	return errors.Join(err, out.Flush()) // what stands before damage is shown
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &config.Error{What: "reading the session log " + path + ": " + reason(err), Do: "see `acp-agent sessions list`"}
	}
	defer f.Close() // opened for reading: nothing can be lost
	_, err = io.Copy(w, f)
	return err
}

func showTranscript(ctx context.Context, w io.Writer, path string, asJSON bool) error {
	got, damage := readLog(ctx, path, nil)
	if got == nil {
		return damage
	}
	messages := got.State.Transcript()
	if !asJSON {
		return errors.Join(damage, printTranscript(w, messages))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range messages {
		if err := enc.Encode(&messages[i]); err != nil {
			return err
		}
	}
	return damage
}

func showLog(ctx context.Context, w io.Writer, path string, full bool) error {
	p := &printEvents{w: w, full: full}
	got, damage := readLog(ctx, path, p.event)
	if got == nil {
		return damage
	}
	p.leftOut()
	h := &got.State.Header
	now := ""
	if dir := got.State.Config[session.ConfigCwd]; dir != "" && dir != h.Cwd {
		now = ", now in " + inLine(dir)
	}
	p.printf("session %s, created %s, in %s%s", h.ID, h.CreatedAt.Local().Format(time.DateTime), inLine(h.Cwd), now)
	if got.Torn > 0 {
		p.printf("the log ends in a broken line of %d bytes: it is being written, or its process was killed", got.Torn)
	}
	return errors.Join(damage, p.err)
}

// readLog reads a log. At damage it returns what stands before it and an error.
func readLog(ctx context.Context, path string, visit func(session.Event) error) (*jsonl.Reading, error) {
	got, err := jsonl.ReadFile(ctx, path, visit)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, &config.Error{What: "reading the session log " + path + ": " + files.Cause(err).Error(), Do: "see `acp-agent sessions list`", Err: err}
	}
	return got, err
}

// Run verifies logs. It says of each what it found and fails if any is wrong.
func (c *sessionsVerifyCmd) Run(ctx context.Context, a *app) error {
	names := c.Sessions
	if len(names) == 0 {
		infos, err := a.listSessions(ctx)
		if err != nil {
			return err
		}
		for i := range infos {
			names = append(names, infos[i].ID)
		}
	}
	if len(names) == 0 {
		fmt.Fprintln(a.stderr, "No sessions are stored: there is nothing to verify.")
		return nil
	}
	bad := 0
	for _, name := range names {
		path, err := a.logPath(ctx, name)
		if err != nil {
			return err
		}
		line, err := verifyLog(ctx, path)
		if err != nil {
			bad++
			line = "DAMAGED: " + oneLine(err.Error())
		}
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", strings.TrimSuffix(filepath.Base(path), ".jsonl"), line); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &config.Error{What: fmt.Sprintf("%d of %d session logs do not verify", bad, len(names)), Do: "nothing was changed; `acp-agent sessions export` writes what stands before the damage"}
	}
	return nil
}

// verifyLog reads a log twice: the first time for its form, the second time for
// what it says (session.Verify), which needs the header.
func verifyLog(ctx context.Context, path string) (string, error) {
	got, err := readLog(ctx, path, nil)
	if err != nil {
		return "", err
	}
	if id := strings.TrimSuffix(filepath.Base(path), ".jsonl"); id != got.State.Header.ID && filepath.Base(filepath.Dir(path)) == "sessions" {
		return "", fmt.Errorf("the header is that of session %s: the file has another name, by which it cannot be loaded", got.State.Header.ID)
	}
	v := session.NewVerifier(got.State.Header)
	if _, err := readLog(ctx, path, func(ev session.Event) error {
		v.Add(ev)
		return nil
	}); err != nil {
		return "", err
	}
	var wrong, open []string
	for _, p := range v.Done() {
		if p.Open {
			open = append(open, p.String())
		} else {
			wrong = append(wrong, p.String())
		}
	}
	if len(wrong) > 0 {
		return "", errors.New(strings.Join(append(wrong, open...), "; "))
	}
	state := v.State()
	s := fmt.Sprintf("ok, %d events, %d turns, %d request digests recomputed", state.Seq, state.Turns, v.Requests())
	if got.Torn > 0 {
		s += fmt.Sprintf(", %d bytes of a broken last line", got.Torn)
	}
	if len(open) > 0 { // what a kill -9 leaves is no damage
		s += "; " + strings.Join(open, "; ")
	}
	return s, nil
}
