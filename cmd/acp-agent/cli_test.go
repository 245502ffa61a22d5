package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestServeShortcut: the short way reads what it takes just as the command tree
// does, and leaves the rest to it.
func TestServeShortcut(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"serve"},
		{"--model", "deepseek/x"},
		{"--model=deepseek/x", "serve"},
		{"serve", "--model", "replay:C:\\a b\\s.jsonl", "--no-hooks"},
		{"--state-dir", "a", "--config=b", "--log-level", "debug", "--log-file=c", "--trace", "d"},
		{"--claude-hooks", "a,b", "--claude-hooks=c", "--codex-hooks", "d"},
		{"--model", "a/b", "--model", "c/d"},
	} {
		got, ok := parseServe(args)
		if !ok {
			t.Errorf("%q is left to the command tree", args)
			continue
		}
		want, err := parseTree(args, io.Discard, io.Discard)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		if diff := cmp.Diff(want.flags, got); diff != "" {
			t.Errorf("%q (-tree +shortcut):\n%s", args, diff)
		}
	}
	for _, args := range [][]string{
		{"--help"}, {"serve", "serve"}, {"version"}, {"--model"}, {"--model", "--no-hooks"}, {"--nope"}, {"--no-hooks=true"}, {"-x"}, {"serve", "extra"},
	} {
		if _, ok := parseServe(args); ok {
			t.Errorf("%q is not left to the command tree", args)
		}
	}
}

// What is no UTF-8 is not quietly another prompt or another file.
func TestArgumentsAreNotChanged(t *testing.T) {
	for _, args := range [][]string{{"exec", "caf\xe9"}, {"sessions", "list", "--state-dir", "/x\xff"}} {
		var usage *usageError
		if _, err := parse(args, io.Discard, io.Discard); !errors.As(err, &usage) || !strings.Contains(err.Error(), `is not UTF-8`) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if c, err := parse([]string{"serve", "--state-dir", "/x\xff"}, io.Discard, io.Discard); err != nil || c.flags.StateDir != "/x\xff" {
		t.Errorf("%+v, %v", c, err)
	}
}

// FuzzParseServe: what the shortcut takes, the command tree takes for the same.
func FuzzParseServe(f *testing.F) {
	for _, s := range []string{"serve\n--model\na/b", "--claude-hooks=a,b\n--claude-hooks\nc", "--no-hooks", "--model=", "--trace\n\n--config=x=y", "serve\nserve", "--model\n-", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) {
			return // the tree refuses it; the shortcut leaves it, as file names need
		}
		args := strings.Split(line, "\n")
		got, ok := parseServe(args)
		if !ok {
			return
		}
		want, err := parseTree(args, io.Discard, io.Discard)
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if diff := cmp.Diff(want.flags, got); diff != "" {
			t.Fatalf("%q (-tree +shortcut):\n%s", args, diff)
		}
	})
}

func TestSplitCommand(t *testing.T) {
	for in, want := range map[string][]string{
		`agent acp`:              {"agent", "acp"},
		`  "C:\a b\x.exe"  --y `: {`C:\a b\x.exe`, "--y"},
		`a 'b "c"' ""`:           {"a", `b "c"`, ""},
		`a"b c"d`:                {"ab cd"},
	} {
		got, err := splitCommand(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", in, err, diff)
		}
	}
	for _, in := range []string{"", "  ", `"a`, `a 'b`} {
		if got, err := splitCommand(in); err == nil {
			t.Errorf("%q gave %q", in, got)
		}
	}
}
