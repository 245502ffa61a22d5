package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStreamText(t *testing.T) {
	for in, want := range map[string]string{
		"":                 "",
		"\n":               "",
		"a\n":              "a",
		"a\r\n":            "a",
		"a\n\n":            "a\n",
		"a\r":              "a\r",
		" \ta \n":          " \ta ",
		"\n\na":            "\n\na",
		"\ufeffa\n":        "\ufeffa",
		"a\xffb\xfe\n":     "a\ufffdb\ufffd",
		"a\u2028\n":        "a\u2028",
		"<x>&\"\n":         "<x>&\"",
		"\u00e9\U0001f600": "\u00e9\U0001f600",
	} {
		if got := StreamText([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWholeObject(t *testing.T) {
	for in, want := range map[string]bool{
		"{}": true, "\ufeff {}\n": true, "{": false, "{}{}": false, "[]": false, "x": false, "": false, `{"a":1} x`: false,
	} {
		if got := WholeObject([]byte(in)); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestHeadTailSummary(t *testing.T) {
	s := "aé😀b"
	for n := range len(s) + 2 {
		if h := Head(s, n); !utf8.ValidString(h) || len(h) > n || !strings.HasPrefix(s, h) {
			t.Errorf("Head %d: %q", n, h)
		}
		if e := Tail(s, n); !utf8.ValidString(e) || len(e) > n || !strings.HasSuffix(s, e) {
			t.Errorf("Tail %d: %q", n, e)
		}
	}
	if got := Summary([]byte(strings.Repeat("😀", 2000))); got != strings.Repeat("😀", 500) {
		t.Errorf("%d runes", utf8.RuneCountInString(got))
	}
}

func TestPayloadText(t *testing.T) {
	w := NewObject(nil)
	w.Str("a", "<é\u2028😀\"\\\n\x01\xff>")
	w.Raw("b", json.RawMessage(" { \"k\\u00e9\" : [ 1 , \"\\u00e9\\n\" ] } "))
	w.Raw("c", json.RawMessage("{broken"))
	w.Object("d", func(w *ObjectWriter) { w.Bool("x", true); w.Null("y"); w.Int("z", -1) })
	w.OptStr("e", "")
	got := string(w.Close())
	want := "{\"a\":\"<é\u2028😀\\\"\\\\\\n\\u0001\ufffd>\",\"b\":{\"ké\":[1,\"é\\n\"]},\"c\":null,\"d\":{\"x\":true,\"y\":null,\"z\":-1}}"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if a := string(EscapeASCII([]byte("\"é😀\""))); a != `"\u00e9\ud83d\ude00"` {
		t.Error(a)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{`{"a" : "\ud800"}`, `["\\\"", 1e5, null]`, `"\u2028"`, `{"":{}}`, "{", "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := AppendJSON(nil, raw)
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q became %q", raw, out)
		}
		if !json.Valid(raw) {
			return
		}
		var a, b any
		_ = json.Unmarshal(raw, &a)
		_ = json.Unmarshal(out, &b)
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Fatalf("%q: %s became %s", raw, x, y)
		}
		if ascii := EscapeASCII(out); !json.Valid(ascii) {
			t.Fatalf("%q as ASCII: %q", raw, ascii)
		}
	})
}

func TestSpillIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path, err := spill(dir, "claude-code:Stop:1", "secret")
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(path)
	if err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	if fi, _ := os.Stat(dir); fi.Mode().Perm() != 0o700 {
		t.Errorf("%v", fi.Mode())
	}
	if _, err := spill("", "x", "y"); err == nil {
		t.Error("no directory, no error")
	}
}

func TestEnviron(t *testing.T) {
	e := Environ{"A=1", "OTEL_X=2", "B=x=y", "=C:=C:\\"}
	got := e.Without(IsOTel).Set("A", "3").Set("N", "a\nb").WithShellLevel()
	want := "A=3|B=x=y|=C:=C:\\|N=a\nb|SHLVL=1"
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
	if strings.Join(e, "|") != "A=1|OTEL_X=2|B=x=y|=C:=C:\\" {
		t.Errorf("the original was changed: %q", e)
	}
	for in, want := range map[string]string{"SHLVL=0": "1", "SHLVL=3": "3", "SHLVL=x": "1"} {
		if v, _ := (Environ{in}).WithShellLevel().Get("SHLVL"); v != want {
			t.Errorf("%s: %s", in, v)
		}
	}
}

func TestHasAnswer(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                 false,
		`{"decision":"block"}`:             true,
		"banner\n{\"decision\":\"block\"}": true,
		"banner\n \t{\n\"decision\":\n\"x\"} end":      true,
		"\ufeff{\"decision\":1}\nbye":                  true,
		"{\"level\":1}\n{\"decision\":1}":              true,
		"{\"level\":1}":                                false,
		"say {\"decision\":1}":                         false, // in the middle of a line it is prose
		"{\"decision\":1":                              false,
		strings.Repeat("{\n", 5000) + `{"decision":1}`: false,
	} {
		if got := HasAnswer([]byte(text), "decision"); got != want {
			t.Errorf("%.60q: %v", text, got)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"echo ok":                            "echo ok",
		"a\tb Grüße 日本 😀":                    "a\tb Grüße 日本 😀",
		"a\nStop (x): echo":                  "a\n    Stop (x): echo",
		"evil\rgood":                         `evil\rgood`,
		"evil\x1b[2K\x1b[1Gecho ok":          `evil\x1b[2K\x1b[1Gecho ok`,
		"a\u202eb\u200bc\u2028d\ufeff\u00a0": `a\u202eb\u200bc\u2028d\ufeff\u00a0`,
		"a\xffb\x00\x7f\u009b":               `a\xffb\x00\x7f\u009b`,
		`say \x1b`:                           `say \x1b`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTelling(t *testing.T) {
	const (
		node = "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module._resolve\n\nNode.js v22\n"
		code = "node:internal/modules/package_json_reader:314\n  throw new ERR_MODULE_NOT_FOUND();\n\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'a'\n"
		file = "/home/u/hook.js:3\n  a.b.c\n    ^\n\nTypeError: a is not b\n    at x\n"
		bun  = "1 | import x from \"y\"\n    ^\nerror: Cannot find package \"y\"\n"
		py   = "Traceback (most recent call last):\n  File \"h.py\", line 1, in <module>\n    import x\nModuleNotFoundError: No module named 'x'\nmore of it\n"
		two  = "Traceback (most recent call last):\n  File \"h.py\"\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"h.py\"\nValueError: b\n"
	)
	for in, want := range map[string]string{
		"": "", " \n\n": "", "plain\nError: later": "plain", "\r\none\r\ntwo": "one",
		node: "Error: Cannot find module '/x.js'", code: "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'a'",
		file: "TypeError: a is not b", bun: `error: Cannot find package "y"`,
		py: "ModuleNotFoundError: No module named 'x'", two: "ValueError: b",
		"/usr/bin/bash: line 1: x: command not found": "/usr/bin/bash: line 1: x: command not found",
		"node:a:1\nnothing known":                     "node:a:1",
		"Traceback (most recent call last):":          "Traceback (most recent call last):",
	} {
		if got := Telling([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Telling([]byte(strings.Repeat("x", 1<<20))); len(got) != 500 {
		t.Error(len(got))
	}
}
