package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"acp-agent/acp"
	"acp-agent/loop"
	"acp-agent/session"
)

// command is a slash command: one of the agent's own, or a prompt that a file
// holds.
type command struct {
	name, description, hint string
	// path is the file of a prompt command.
	path string
}

var builtin = []command{
	{name: "compact", description: "Replace the older part of the conversation by a summary.", hint: "what to keep in mind (optional)"},
	{name: "model", description: "Show or switch the model.", hint: "provider/name"},
	{name: "mode", description: "Show or switch the permission mode.", hint: "default, acceptEdits, plan or bypassPermissions"},
	{name: "hooks", description: "Show which hooks run here, and which do not and why."},
	{name: "status", description: "Show the session: model, mode, directory, use of the context."},
	{name: "help", description: "Show the commands."},
}

// commands lists what can be typed: the agent's own commands, then those of
// command files. Of one name the first counts. The files are read each time: a new
// one counts at once.
func (v *view) commands() []command {
	out := slices.Clone(builtin)
	seen := map[string]bool{}
	for _, c := range out {
		seen[c.name] = true
	}
	for _, dir := range v.agent.cfg.CommandDirs(v.env.Cwd) {
		for _, c := range commandFiles(dir) {
			if !seen[c.name] {
				seen[c.name] = true
				front, _, err := readCommand(c.path)
				if err != nil {
					front.description = "Cannot be read: " + err.Error()
				}
				if c.description, c.hint = front.description, front.hint; c.description == "" {
					c.description = "Prompt from " + c.path
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// maxCommands bounds what a directory of command files may add.
const maxCommands = 200

// CommandFiles calls f with the name and the path of each command that a
// directory of command files has, in the order of their names.
func CommandFiles(dir string, f func(name, path string)) {
	for _, c := range commandFiles(dir) {
		f(c.name, c.path)
	}
}

func commandFiles(dir string) []command {
	var out []command
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(d.Name(), ".md") || len(out) >= maxCommands {
			return nil // a directory that cannot be read has no commands
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return nil
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), ".md"), "/", ":")
		if strings.ContainsAny(name, " \t\n") || d.Name() == ".md" {
			return nil // nobody could type it
		}
		out = append(out, command{name: name, path: path})
		return nil
	})
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// front is the front matter of a command file, as far as it is used.
type front struct{ description, hint string }

// maxCommandFile bounds a command file, in bytes.
const maxCommandFile = 256 << 10

// readCommand reads a command file. A link to a device or a pipe is refused
// unread: it might have no end.
func readCommand(path string) (front, string, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return front{}, "", err
	case !st.Mode().IsRegular():
		return front{}, "", fmt.Errorf("%s is not a regular file", path)
	case st.Size() > maxCommandFile:
		return front{}, "", fmt.Errorf("%s has more than %d KiB: make it shorter", path, maxCommandFile>>10)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return front{}, "", err
	}
	f, body := splitCommand(strings.TrimPrefix(string(data), "\ufeff")) // of an editor on Windows, and no text
	return f, body, nil
}

// splitCommand parts the front matter of a command file, between lines of three
// dashes at its start, from its prompt.
func splitCommand(text string) (f front, body string) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimSuffix(first, "\r") != "---" {
		return front{}, text
	}
	for len(rest) > 0 {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "---" {
			return f, rest
		}
		key, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
			value, rest = block(rest)
		}
		value = strings.Trim(value, `"'`)
		switch strings.TrimSpace(key) {
		case "description":
			f.description = value
		case "argument-hint":
			f.hint = value
		}
	}
	return front{}, text // it was a rule, and not front matter
}

// block reads what stands below a key as | or > of YAML: the lines that are indented,
// here as one.
func block(text string) (value, rest string) {
	var words []string
	for text != "" {
		line, after, _ := strings.Cut(text, "\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			break
		}
		words, text = append(words, strings.Fields(line)...), after
	}
	return strings.Join(words, " "), text
}

// refreshCommands tells the client what can be typed, where it has changed since
// it was told last: after a session's start, and with a prompt that follows a
// change of the command files.
func (v *view) refreshCommands() {
	up := &acp.AvailableCommandsUpdate{}
	for _, c := range v.commands() {
		w := acp.AvailableCommand{Name: c.name, Description: c.description}
		if c.hint != "" {
			w.Input = &acp.AvailableCommandInput{Hint: c.hint}
		}
		up.AvailableCommands = append(up.AvailableCommands, w)
	}
	v.mu.Lock()
	changed := !reflect.DeepEqual(v.offered, up.AvailableCommands)
	v.offered = up.AvailableCommands
	v.mu.Unlock()
	if changed {
		v.send(v.agent.ctx, acp.SessionUpdate{AvailableCommandsUpdate: up})
	}
}

// parseCommand reads a prompt that is a command: its first block is text that
// begins with /name, as one of the session's commands is called.
func (v *view) parseCommand(content []session.Block) (command, string, bool) {
	if len(content) == 0 || content[0].Type != session.BlockText {
		return command{}, "", false
	}
	name, args, ok := typed(content[0].Text)
	if !ok {
		return command{}, "", false
	}
	for _, c := range v.commands() {
		if c.name == name {
			return c, args, true
		}
	}
	return command{}, "", false
}

// typed parts what was typed into the name of a command and what came after.
func typed(text string) (name, args string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name, args, _ = strings.Cut(strings.TrimSpace(text[1:]), " ")
	if n, rest, ok := strings.Cut(name, "\n"); ok {
		name, args = n, rest+" "+args
	}
	return name, strings.TrimSpace(args), true
}

// Expand returns what a text stands for that begins with the name of a command of
// one of the directories' command files, for who has a prompt and no client. ok is
// false for any other text; one of the agent's own commands is ErrOwnCommand.
func Expand(dirs []string, text string) (c loop.Typed, prompt string, ok bool, err error) {
	name, args, ok := typed(text)
	if !ok {
		return c, "", false, nil
	}
	for _, dir := range dirs {
		for _, f := range commandFiles(dir) {
			if f.name != name {
				continue
			}
			c = loop.Typed{Name: name, Path: f.path, Args: args, Text: text}
			_, body, err := readCommand(f.path)
			if err != nil {
				return c, "", true, fmt.Errorf("the command /%s cannot be used: %w", name, err)
			}
			if prompt = expand(body, args); strings.TrimSpace(prompt) == "" {
				return c, "", true, fmt.Errorf("the command /%s says nothing: %s is empty", name, f.path)
			}
			return c, prompt, true, nil
		}
	}
	if slices.ContainsFunc(builtin, func(b command) bool { return b.name == name }) {
		return c, "", false, fmt.Errorf("/%s %w", name, ErrOwnCommand)
	}
	return c, "", false, nil
}

// ErrOwnCommand is for who has no conversation in which the command would do
// something: the model must not be asked what it makes of it.
var ErrOwnCommand = errors.New("is a command of a conversation in an editor")

// placeholder stands in a command file for what was typed after the name.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(ARGUMENTS|[1-9])`) })

// expand fills in a command file's prompt: $ARGUMENTS is what was typed after the
// name, $1 to $9 are its words. Where it has none of them, what was typed follows
// the prompt. What was typed is not looked at again.
func expand(body, args string) string {
	words := strings.Fields(args)
	found := false
	out := placeholder().ReplaceAllStringFunc(body, func(p string) string {
		found = true
		if p == "$ARGUMENTS" {
			return args
		}
		if i := int(p[1] - '1'); i < len(words) {
			return words[i]
		}
		return ""
	})
	if !found && args != "" {
		return strings.TrimRight(body, "\n") + "\n\n" + args
	}
	return out
}

// run carries out a command in the turn slot it is given.
func (l *live) run(ctx context.Context, slot *loop.Slot, c command, args string, content []session.Block) (session.EndReason, error) {
	if c.path != "" {
		_, text, err := readCommand(c.path)
		if err != nil {
			return slot.Tell(session.Notice{
				Severity: "warning", Text: fmt.Sprintf("The command /%s cannot be used: %v.", c.name, err),
				Source: session.Source{Kind: session.SourceAgent, Name: "/" + c.name},
			})
		}
		body := expand(text, args)
		prompt := append([]session.Block{session.Text(body)}, content[1:]...)
		if empty(prompt) {
			return slot.Tell(session.Notice{
				Severity: "warning", Text: fmt.Sprintf("The command /%s says nothing: %s is empty.", c.name, c.path),
				Source: session.Source{Kind: session.SourceAgent, Name: "/" + c.name},
			})
		}
		return slot.Command(loop.Typed{Name: c.name, Path: c.path, Args: args, Text: content[0].Text}, prompt, session.Source{Kind: session.SourceUser, Name: "/" + c.name})
	}
	say := func(format string, a ...any) (session.EndReason, error) {
		return slot.Tell(session.Notice{Severity: "info", Text: fmt.Sprintf(format, a...), Source: session.Source{Kind: session.SourceAgent, Name: "/" + c.name}})
	}
	switch c.name {
	case "compact":
		return slot.Compact(args)
	case "model", "mode":
		s, err := l.Settings(ctx)
		if err != nil {
			slot.Release()
			return session.EndReason{}, err
		}
		current := map[string]string{"model": s.Model, "mode": s.Mode}[c.name]
		if args == "" {
			return say("%s: %s", c.name, current)
		}
		if err := l.set(ctx, c.name, args); err != nil {
			return say("%s", plain(err))
		}
		return say("%s: %s", c.name, args)
	case "hooks":
		return say("%s", l.view.agent.cfg.DescribeHooks(l.ID(), l.view.env.Cwd))
	case "status":
		return say("%s", l.status(ctx))
	}
	var b strings.Builder
	for _, c := range l.view.commands() {
		fmt.Fprintf(&b, "/%s %s\n    %s\n", c.name, c.hint, c.description)
	}
	return say("%s", strings.TrimSpace(b.String()))
}

// plain is why a setting was refused, for a person: without the words of the wire.
func plain(err error) string {
	var e *acp.Error
	if errors.As(err, &e) {
		return strings.TrimPrefix(strings.TrimPrefix(e.Message, "invalid params: value: "), "invalid request: ")
	}
	return err.Error()
}

func (l *live) status(ctx context.Context) string {
	s, err := l.Settings(ctx)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "session: %s\nmodel: %s\nmode: %s\ndirectory: %s\ntools: %s\n", l.ID(), s.Model, s.Mode, s.Cwd, strings.Join(l.Tools().Names(), ", "))
	_ = l.Do(ctx, func(st *session.State) error {
		fmt.Fprintf(&b, "turns: %d\ncompactions: %d\n", st.Turns, st.Compactions)
		fmt.Fprintf(&b, "tokens: %d in, %d out, %d from the cache\n", st.Total.InputTokens, st.Total.OutputTokens, st.Total.CacheReadTokens)
		if st.Used != nil && st.Used.Window > 0 {
			fmt.Fprintf(&b, "context: %d of %d tokens\n", st.Used.Usage.Context(), st.Used.Window)
		}
		return nil
	})
	return strings.TrimSpace(b.String())
}
