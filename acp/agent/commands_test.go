package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"acp-agent/acp"
)

func TestSplitCommand(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want front
		body string
	}{
		{"Fix it.", front{}, "Fix it."},
		{"---\ndescription: \"Says: hello\"\nargument-hint: whom\nmodel: x\n---\nSay\n---\nhello", front{"Says: hello", "whom"}, "Say\n---\nhello"},
		{"---\r\ndescription: d\r\n---\r\nSay\r\n", front{"d", ""}, "Say\r\n"},
		{"---\n---\n", front{}, ""},
		{"---\ndescription: d", front{}, "---\ndescription: d"},
		{"--- \nx\n---\n", front{}, "--- \nx\n---\n"},
		{"", front{}, ""},
	} {
		if f, body := splitCommand(tc.in); f != tc.want || body != tc.body {
			t.Errorf("%q: %+v, %q", tc.in, f, body)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tc := range []struct{ body, args, want string }{
		{"Say hello to $1, $ARGUMENTS.", "Ann and Bob", "Say hello to Ann, Ann and Bob."},
		{"$2|$9", "a b", "b|"},
		{"Fix it.\n", "now", "Fix it.\n\nnow"},
		{"Fix it.\n", "", "Fix it.\n"},
		// A dollar sign is no placeholder: what was typed is not lost.
		{"Run echo $HOME for $5.00", "x", "Run echo $HOME for .00"},
		{"Run echo $HOME", "now", "Run echo $HOME\n\nnow"},
		{"Costs $", "a lot", "Costs $\n\na lot"},
		{"$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"},
	} {
		if got := expand(tc.body, tc.args); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.body, tc.args, got, tc.want)
		}
	}
}

// What editors and people make of command files: a mark at the start that nobody
// sees, a description in several lines, a file without a name.
func TestCommandFilesAsTheyCome(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"marked.md": "\ufeff---\ndescription: \"d\"\n---\nbody", ".md": "x", "sub/.md": "x",
		"lines.md": "---\r\ndescription: >-\r\n  One\r\n\r\n  two.\r\nargument-hint: x\r\n---\r\nbody",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]front{}
	CommandFiles(dir, func(name, path string) {
		f, body, err := readCommand(path)
		if err != nil || body != "body" {
			t.Errorf("%s: %q, %v", name, body, err)
		}
		got[name] = f
	})
	want := map[string]front{"marked": {"d", ""}, "lines": {"One two.", "x"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// FuzzExpand: what was typed is in the prompt whenever there is a place for it or
// none is named, and a prompt without placeholders is there as it is.
func FuzzExpand(f *testing.F) {
	f.Add("---\ndescription: d\n---\nSay $1 $ARGUMENTS", "a b")
	f.Add("x$", "$1")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, text, args string) {
		_, body := splitCommand(text)
		if !strings.HasSuffix(text, body) {
			t.Fatalf("%q has the prompt %q", text, body)
		}
		got := expand(body, args)
		if !strings.Contains(got, args) && (strings.Contains(body, "$ARGUMENTS") || !placeholder().MatchString(body)) {
			t.Fatalf("%q with %q: %q", body, args, got)
		}
		if !placeholder().MatchString(body) && !strings.HasPrefix(got, strings.TrimRight(body, "\n")) {
			t.Fatalf("%q became %q", body, got)
		}
	})
}

// FuzzLineRange: a range that is taken lies in a file and has an end.
func FuzzLineRange(f *testing.F) {
	for _, s := range []string{"L3", "L3-5", "L3-L5", "L3:5", "L0", "L5-3", "L", "", "L1-", "L99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if from, to, ok := lineRange(s); ok && (from < 1 || to < from) {
			t.Fatalf("%q is %d to %d", s, from, to)
		}
	})
}

// TestCancelledSetting: a request that its client takes back, or that the end of
// the connection ends, is no fault of the agent's.
func TestCancelledSetting(t *testing.T) {
	err := new(live).setError(fmt.Errorf("noting the mode: %w", context.Canceled))
	if e := acp.ToError(err); e.Code != int(acp.CodeRequestCancelled) {
		t.Errorf("it is answered with %d: %v", e.Code, e)
	}
}
