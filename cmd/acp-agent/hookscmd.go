package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/hooks"
	"acp-agent/hooks/claudecode"
	"acp-agent/hooks/codex"
)

// hooksCmd is acp-agent hooks.
type hooksCmd struct {
	List    hooksListCmd    `cmd:"" help:"List every hook, where it comes from, and whether it would run."`
	Check   hooksCheckCmd   `cmd:"" help:"Run the hooks of an event as a session would, and show what they were given and what they said."`
	Trust   hooksTrustCmd   `cmd:"" help:"Trust this project's hooks as they are now."`
	Untrust hooksUntrustCmd `cmd:"" help:"Forget what was decided about this project's hooks."`
}

type hooksListCmd struct {
	Dir  string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print one JSON object a line."`
}

type hooksTrustCmd struct {
	Dir string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
	Yes bool   `short:"y" help:"Do not ask."`
}

type hooksUntrustCmd struct {
	Dir string `short:"C" help:"Project directory; default the current one." placeholder:"DIR"`
}

// hooksOf loads the hooks of a project directory, also those that come into force
// with a slash command. They ask no model.
func (a *app) hooksOf(dir string) (cfg *config.Config, abs string, l *loadedHooks, err error) {
	if cfg, err = a.config(); err != nil {
		return nil, "", nil, err
	}
	if abs, err = directory(dir); err != nil {
		return nil, "", nil, err
	}
	return cfg, abs, loadHooks(cfg, abs, hookOptions{mcp: noSession{}, judge: &dryJudge{}, commands: claudeCommands(cfg, abs)}), nil
}

// held says in a few words why a handler would not run, "" when it would.
func held(h *hooks.Handler) string {
	switch {
	case h.Why != "":
		return h.Why
	case h.OffBy != nil && h.OffBy.Trust.Runs():
		return "you agreed to " + h.OffBy.Command + " in " + h.OffBy.Place.File
	case h.Trust.Runs():
		return ""
	case h.Trust == hooks.TrustModified:
		return "changed since it was trusted"
	case h.Trust == hooks.TrustRejected:
		return "rejected"
	}
	return "not trusted yet"
}

// Run lists the hooks.
func (c *hooksListCmd) Run(a *app) error {
	cfg, _, l, err := a.hooksOf(c.Dir)
	if err != nil {
		return err
	}
	defer l.set.Close()
	out := bufio.NewWriter(a.stdout)
	if c.JSON {
		err = listHooksJSON(out, l)
	} else {
		listHooks(out, cfg, l)
		listAbsent(out)
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

// unread are the sources of both vendors that are not read here.
var unread = []struct {
	dialect string
	sources []hooks.Unread
}{{claudecode.Name, claudecode.Unread()}, {codex.Name, codex.Unread()}}

// listAbsent says what can never be in the list: sources that are not read,
// events that never come.
func listAbsent(w io.Writer) {
	fmt.Fprintln(w, "\nNot read here:")
	for _, v := range unread {
		for _, u := range v.sources {
			fmt.Fprintf(w, "  %s: %s (%s)\n", v.dialect, u.Source, u.Why)
		}
	}
	var names []string
	for _, ev := range hooks.Never() {
		names = append(names, string(ev))
	}
	fmt.Fprintf(w, "Events that never come here: %s.\n", strings.Join(names, ", "))
}

func listHooksJSON(w io.Writer, l *loadedHooks) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	handlers := l.set.Handlers()
	for i := range handlers {
		h := &handlers[i]
		why := cmp.Or(held(h), l.set.Idle(h))
		if err := enc.Encode(map[string]any{
			"dialect": h.Dialect, "event": h.Event, "matcher": h.Matcher, "type": h.Type, "handler": h.Raw,
			"file": h.Place.File, "layer": h.Place.Layer, "group": h.Place.Group, "index": h.Place.Index,
			"hash": h.Hash, "trust": h.Trust, "runs": why == "", "why": why,
		}); err != nil {
			return err
		}
	}
	for _, p := range l.problems {
		if err := enc.Encode(map[string]string{"file": p.File, "where": p.Where, "problem": p.Text}); err != nil {
			return err
		}
	}
	for _, v := range unread {
		for _, u := range v.sources {
			if err := enc.Encode(map[string]string{"dialect": v.dialect, "notRead": u.Source, "why": u.Why}); err != nil {
				return err
			}
		}
	}
	for _, ev := range hooks.Never() {
		if err := enc.Encode(map[string]any{"event": ev, "never": true, "why": hooks.Absent(ev)}); err != nil {
			return err
		}
	}
	return nil
}

// whatOf is the event of a handler and its matcher.
func whatOf(h *hooks.Handler) string {
	if h.Type == hooks.SwitchType {
		return "(a setting)"
	}
	return strings.TrimSpace(string(h.Event) + " " + h.Matcher)
}

func listHooks(w io.Writer, cfg *config.Config, l *loadedHooks) {
	handlers := l.set.Handlers()
	if !cfg.Hooks.Enabled {
		fmt.Fprintln(w, "Hooks are switched off (--no-hooks, ACP_AGENT_NO_HOOKS or hooks.enabled): none of these runs.")
	}
	last := ""
	for i := range handlers {
		h := &handlers[i]
		if head := fmt.Sprintf("%s (%s, %s)", hooks.Visible(h.Place.File), h.Dialect, h.Place.Layer); head != last {
			fmt.Fprintln(w, head)
			last = head
		}
		verdict := "runs"
		if h.Type == hooks.SwitchType {
			verdict = "counts"
		}
		if why := held(h); why != "" {
			verdict = "held back: " + why
		} else if why := l.set.Idle(h); why != "" {
			verdict = "never runs: " + why
		} else if h.After != "" {
			verdict += " once " + h.After + " has been typed"
		}
		fmt.Fprintf(w, "  %-28s %s\n  %-28s   %s\n", clip(hooks.Visible(whatOf(h)), 60), hooks.Visible(verdict), "", clip(hooks.Visible(h.Describe()), 160))
		if h.StatusMessage != "" {
			fmt.Fprintf(w, "  %-28s   shows %q while it runs\n", "", clip(h.StatusMessage, 120))
		}
	}
	if len(handlers) == 0 {
		fmt.Fprintln(w, "No hooks found.")
	}
	for _, p := range l.problems {
		fmt.Fprintf(w, "problem: %s\n", oneLine(p.String()))
	}
}

// Run trusts a project's hooks.
func (c *hooksTrustCmd) Run(a *app) error {
	cfg, dir, l, err := a.hooksOf(c.Dir)
	if err != nil {
		return err
	}
	set := l.set
	defer set.Close()
	if stateInProject(cfg, dir) {
		return &config.Error{What: "the state directory " + cfg.StateDir + " lies in this project, so trust is not kept there", Do: "name another with --state-dir or ACP_AGENT_STATE_DIR"}
	}
	var ids []string
	all := set.Handlers()
	for i := range all {
		h := &all[i]
		if h.Place.Layer.NeedsTrust() && !h.Trust.Runs() && h.Why == "" {
			ids = append(ids, h.ID())
			fmt.Fprintf(a.stderr, "%s %s in %s:\n  %s\n", h.Dialect, hooks.Visible(whatOf(h)), hooks.Visible(h.Place.File), h.Question())
		}
	}
	if len(ids) == 0 {
		_, err := fmt.Fprintf(a.stdout, "No hook of %s waits for trust.\n", inLine(dir))
		return err
	}
	if !c.Yes {
		if !isTerminal(a.stdin) {
			return &usageError{"trusting hooks needs a yes: run it in a terminal, or say --yes"}
		}
		fmt.Fprintf(a.stderr, "Let these %d commands run in sessions of %s? [y/N] ", len(ids), inLine(dir))
		answer, err := readLine(bufio.NewReader(a.stdin))
		if err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return &config.Error{What: "nothing was trusted", Do: "answer y to trust these hooks"}
		}
	}
	if _, err := cfg.EnsureStateDir(); err != nil {
		return err
	}
	if err := set.Approve(ids, true); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%d hooks of %s are trusted as they are now.\n", len(ids), inLine(dir))
	return err
}

// Run forgets a project's trust.
func (c *hooksUntrustCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	dir, err := directory(c.Dir)
	if err != nil {
		return err
	}
	if cfg.StateDir != "" {
		n, err := hooks.OpenTrust(cfg.StateDir).Forget(dir)
		if err != nil {
			return err
		}
		if n > 0 {
			_, err = fmt.Fprintf(a.stdout, "Forgotten: what was decided about %d hooks of %s.\n", n, inLine(dir))
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "Nothing was decided about hooks of %s.\n", inLine(dir))
	return err
}
