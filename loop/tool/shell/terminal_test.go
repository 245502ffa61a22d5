package shell

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
)

type terminal func(ctx context.Context, c tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error)

func (t terminal) Run(ctx context.Context, c tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error) {
	return t(ctx, c, shown)
}

// Cases G8 and G11: the client's terminal is used where there is one, and the
// command runs here where that cannot be had.
func TestClientTerminal(t *testing.T) {
	two := 2
	for _, tt := range []struct {
		name     string
		run      terminal
		want     string
		terminal string
		fails    bool
	}{
		{"exit code", func(_ context.Context, c tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error) {
			if !slices.Equal(c.Args, []string{"-c", "echo here"}) || c.Cwd == "" || c.OutputLimit != streamLimit {
				t.Errorf("got %+v", c)
			}
			shown("term-1")
			return tool.TerminalExit{Output: "there\xff\n", ExitCode: &two}, nil
		}, "there\uFFFD\n[exit code: 2]", "term-1", false},
		{"signal and cut output", func(_ context.Context, _ tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error) {
			shown("term-1")
			return tool.TerminalExit{Output: "end", Truncated: true, Signal: "SIGKILL"}, nil
		}, "[the start of the output was left out]\nend\n[killed by signal: SIGKILL]", "term-1", false},
		{"time limit", func(ctx context.Context, _ tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error) {
			shown("term-1")
			<-ctx.Done()
			return tool.TerminalExit{Output: "so far"}, ctx.Err()
		}, "so far\n[timed out after 50ms]", "term-1", false},
		{"none to be had", func(context.Context, tool.TerminalCommand, func(string)) (tool.TerminalExit, error) {
			return tool.TerminalExit{}, errors.New("method not found")
		}, "here\n", "", false},
		{"breaks while it runs", func(_ context.Context, _ tool.TerminalCommand, shown func(string)) (tool.TerminalExit, error) {
			shown("term-1")
			return tool.TerminalExit{}, errors.New("gone")
		}, "The client's terminal failed: gone", "term-1", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{})
			defer s.Close()
			env := tooltest.Env(t, t.TempDir())
			var out tooltest.Output
			env.Terminal, env.Progress = tt.run, out.Progress
			args := []any{"command", "echo here"}
			if tt.name == "time limit" {
				args = append(args, "timeoutMs", 50)
			}
			r, err := (&bash{s}).Run(t.Context(), env, tooltest.Args(args...))
			if err != nil || tooltest.Text(r) != tt.want || r.IsError != tt.fails || r.Meta.TerminalID != tt.terminal || out.Terminal() != tt.terminal {
				t.Errorf("got %q, %+v, %v", tooltest.Text(r), r.Meta, err)
			}
		})
	}
	t.Run("never answers", func(t *testing.T) {
		s := New(Options{})
		defer s.Close()
		env := tooltest.Env(t, t.TempDir())
		asked := 0
		env.Terminal = terminal(func(ctx context.Context, _ tool.TerminalCommand, _ func(string)) (tool.TerminalExit, error) {
			asked++
			<-ctx.Done()
			return tool.TerminalExit{}, ctx.Err()
		})
		r, err := (&bash{s}).Run(t.Context(), env, tooltest.Args("command", "echo here", "timeoutMs", 50))
		if err != nil || !r.IsError || !strings.HasPrefix(tooltest.Text(r), "The client did not give the command a terminal within 50ms") {
			t.Errorf("got %q, %v", tooltest.Text(r), err)
		}
		r, err = (&bash{s}).Run(t.Context(), env, tooltest.Args("command", "echo here"))
		if err != nil || tooltest.Text(r) != "here\n" || asked != 1 {
			t.Errorf("then: %q, %v, asked %d times", tooltest.Text(r), err, asked)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		s := New(Options{})
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		env := tooltest.Env(t, t.TempDir())
		env.Terminal = terminal(func(ctx context.Context, _ tool.TerminalCommand, _ func(string)) (tool.TerminalExit, error) {
			cancel()
			<-ctx.Done()
			return tool.TerminalExit{}, ctx.Err()
		})
		r, err := (&bash{s}).Run(ctx, env, tooltest.Args("command", "echo here"))
		if err != nil || tooltest.Text(r) != "(no output)\n[cancelled]" || !r.IsError {
			t.Errorf("got %q, %v", tooltest.Text(r), err)
		}
	})
}
