package tool_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
	"acp-agent/session"
)

type named string

func (n named) Spec() tool.Spec {
	return tool.Spec{Name: string(n), Description: "does " + string(n), Schema: json.RawMessage(`{"type":"object"}`)}
}

func (named) View(*tool.Env, json.RawMessage) tool.View { return tool.View{} }

func (named) Run(context.Context, *tool.Env, json.RawMessage) (tool.Result, error) {
	return tool.Result{}, nil
}

func TestRegistry(t *testing.T) {
	want := []string{"Bash", "a", "mcp__s__t", "z"}
	for _, order := range [][]tool.Tool{
		{named("z"), named("a"), named("mcp__s__t"), named("Bash")}, {named("a"), named("Bash"), named("z"), named("mcp__s__t")},
	} {
		r, err := tool.NewRegistry(order...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, r.Names()); diff != "" {
			t.Error(diff)
		}
		for i, s := range r.Schemas() {
			if diff := cmp.Diff(session.ToolSchema{Name: want[i], Description: "does " + want[i], Parameters: json.RawMessage(`{"type":"object"}`)}, s); diff != "" {
				t.Error(diff)
			}
		}
		for _, name := range want {
			if got, ok := r.Get(name); !ok || got != named(name) {
				t.Errorf("Get(%q) = %v, %v", name, got, ok)
			}
		}
		for _, name := range []string{"", "b", "zz"} {
			if _, ok := r.Get(name); ok {
				t.Errorf("Get(%q) finds something", name)
			}
		}
		for _, bad := range []tool.Tool{named("a"), named(""), named("a b"), named(strings.Repeat("x", 65)), named("é")} {
			if r.Add(named("new"), bad) == nil {
				t.Errorf("%q is added", bad)
			}
		}
		if _, ok := r.Get("new"); ok {
			t.Error("a refused Add added something")
		}
	}
	var none *tool.Registry
	if _, ok := none.Get("a"); ok || none.Schemas() != nil || none.Names() != nil {
		t.Error("a nil registry has tools")
	}
}

// Case G14: titles are one plain line of bounded length.
func TestG14Title(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"go test ./...", "go test ./..."},
		{"  a \t b  ", "a b"},
		{"a\nb\r\nc\rd", "a ⏎ b ⏎ c ⏎ d"},
		{"a\n\n\n  b", "a ⏎ ⏎ ⏎ b"},
		{"echo `date` ``x``", "echo `date` ``x``"},
		{"```go\nx\n````", "'''go ⏎ x ⏎ ''''"},
		{"a\x1b[31mb\x00c\u202ed\u200be", "a[31mbcde"},
		{"a\xffb", "a\uFFFDb"},
		{strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{strings.Repeat("é", 201), strings.Repeat("é", 199) + "…"},
		{strings.Repeat("x", 5000), strings.Repeat("x", 199) + "…"},
		{strings.Repeat("\u200b", 5000) + "x", "…"},
		{"", ""},
	} {
		if got := tool.Title(tt.in); got != tt.want {
			t.Errorf("%.40q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzTitle(f *testing.F) {
	f.Add("a\n```b\x00")
	f.Add(strings.Repeat("`\n", 300))
	f.Fuzz(func(t *testing.T, s string) {
		got := tool.Title(s)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > tool.MaxTitle || strings.Contains(got, "```") || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q", got)
		}
	})
}

type args struct {
	Text  string   `json:"text"`
	Count int      `json:"count,omitempty"`
	Wide  int64    `json:"wide,omitempty"`
	Share float64  `json:"share,omitempty"`
	Flag  bool     `json:"flag,omitempty"`
	Names []string `json:"names,omitempty"`
	Item  *item    `json:"item,omitempty"`
}

type item struct {
	Key string `json:"key"`
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want args
	}{
		{`{"text":"x"}`, args{Text: "x"}},
		{` {"text":""} `, args{}},
		{`{"text":"x","count":3,"wide":9007199254740992,"share":0.5,"flag":true,"names":["a","b"],"item":{"key":"k"}}`, args{"x", 3, 1 << 53, 0.5, true, []string{"a", "b"}, &item{"k"}}},
		{`{"text":"x","count":"3","share":" 0.5 ","flag":"true"}`, args{Text: "x", Count: 3, Share: 0.5, Flag: true}},
		{`{"text":"x","count":3.0,"wide":1e3}`, args{Text: "x", Count: 3, Wide: 1000}},
		{`{"text":"x","count":null,"names":null,"item":null}`, args{Text: "x"}},
		{`{"text":"x","extra":{"a":[1]},"TEXT":"y"}`, args{Text: "x"}},
		{`{"text":"x","text":"y"}`, args{Text: "y"}},
	} {
		got, err := tool.Decode[args](json.RawMessage(tt.in))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.in, err, diff)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	const broken, misfit, end = "The arguments are not valid JSON (", "The arguments do not fit: ", ". The tool did not run."
	for _, tt := range []struct{ in, want string }{
		{`{"text":"x`, broken + "unexpected end of JSON input, at byte 10 of 10). The tool did not run; write the call again with complete JSON."},
		{`{"text":"x"}}`, broken + "invalid character '}' after top-level value, at byte 13 of 13). The tool did not run; write the call again with complete JSON."},
		{`text`, broken + "invalid character 'e' in literal true (expecting 'r'), at byte 2 of 4). The tool did not run; write the call again with complete JSON."},
		{``, misfit + `the required "text" (string) is missing` + end},
		{`{"Text":"x"}`, misfit + `the required "text" (string) is missing` + end},
		{`{"text":null}`, misfit + `the required "text" (string) is missing` + end},
		{`[]`, misfit + "they must be an object, not an array" + end},
		{`"{}"`, misfit + "they must be an object, not a string" + end},
		{`{"text":5}`, misfit + `"text" must be a string, not a number (5)` + end},
		{`{"text":{"a":1}}`, misfit + `"text" must be a string, not an object` + end},
		{`{"text":"x","count":"many"}`, misfit + `"count" must be a number, not a string ("many")` + end},
		{`{"text":"x","count":1.5}`, misfit + `"count" must be a whole number, not a number (1.5)` + end},
		{`{"text":"x","wide":1e300}`, misfit + `"wide" must be a smaller whole number, not a number (1e300)` + end},
		{`{"text":"x","flag":1}`, misfit + `"flag" must be true or false, not a number (1)` + end},
		{`{"text":"x","names":"a"}`, misfit + `"names" must be an array, not a string ("a")` + end},
		{`{"text":"x","names":["a",1]}`, misfit + `"names[1]" must be a string, not a number (1)` + end},
		{`{"count":"x","item":{}}`, misfit + `the required "text" (string) is missing; "count" must be a number, not a string ("x"); the required "item.key" (string) is missing` + end},
	} {
		_, err := tool.Decode[args](json.RawMessage(tt.in))
		ae, ok := errors.AsType[*tool.ArgumentError](err)
		if !ok || ae.Error() != tt.want || ae.Broken != strings.HasPrefix(tt.want, broken) {
			t.Errorf("%s: got %v", tt.in, err)
		}
	}
	if got := tool.Peek[args](json.RawMessage(`{"text":5,"count":2}`)); got.Count != 2 {
		t.Errorf("Peek: %+v", got)
	}
}

// FuzzDecode: what encoding/json takes without a member that differs only in
// case, Decode takes to the same value; what it refuses it says why.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"text":"x","count":3}`, `{"text":"\ud800","names":["a"]}`, `{"text":"x","item":{"key":""}}`, `{"text":`, `[1]`, `{"text":"x","flag":"true"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := tool.Decode[args](json.RawMessage(in))
		if err != nil {
			if ae, ok := errors.AsType[*tool.ArgumentError](err); !ok || len(ae.Faults) == 0 || ae.Broken == json.Valid([]byte(in)) && strings.TrimSpace(in) != "" {
				t.Errorf("%q: %v", in, err)
			}
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(in), &members) != nil {
			t.Fatalf("%q is taken", in)
		}
		for name := range members {
			if name != strings.ToLower(name) || strings.ContainsFunc(name, func(r rune) bool { return r > 127 }) {
				return
			}
		}
		var want args
		if json.Unmarshal([]byte(in), &want) == nil && !cmp.Equal(want, got) && !strings.Contains(in, "null") {
			t.Errorf("%q: %s", in, cmp.Diff(want, got))
		}
	})
}

// confined makes a root with links in and out of it, and what lies outside.
func confined(t testing.TB) (env *tool.Env, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside := filepath.Join(top, "root"), filepath.Join(top, "outside")
	for _, d := range []string{root + "/a/b", root + "/.hidden", outside + "/d", top + "/root-not"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{root + "/f", root + "/a/g", outside + "/secret"} {
		if err := os.WriteFile(f, []byte(f), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"out": outside, "a/up": "..", "a/out": "../../outside", "file-out": outside + "/secret", "in": "a", "abs-in": root + "/a",
		"dangling": "nowhere", "dangling-out": outside + "/new", "loop": "loop", "a/root": "/",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	env = tooltest.Env(t, root)
	return env, outside
}

func TestLocate(t *testing.T) {
	env, outside := confined(t)
	for _, tt := range []struct{ path, real, err string }{
		{"f", "f", ""},
		{"./a/../f", "f", ""},
		{env.Cwd + "/f", "f", ""},
		{".", ".", ""},
		{"a/g", "a/g", ""},
		{"new", "new", ""},
		{"x/y/z", "x/y/z", ""},
		{"in/g", "a/g", ""},
		{"abs-in/g", "a/g", ""},
		{"a/up/f", "f", ""},
		{"in/new", "a/new", ""},
		{"...", "...", ""},
		{"..a", "..a", ""},
		{"..", "", "outside"},
		{"../outside/secret", "", "outside"},
		{outside, "", "outside"},
		{"/", "", "outside"},
		{"../root-not/x", "", "outside"},
		{"out/secret", "", "outside"},
		{"out", "", "outside"},
		{"out/new", "", "outside"},
		{"a/out/d", "", "outside"},
		{"file-out", "", "outside"},
		{"a/root/etc", "", "outside"},
		{"dangling", "", "leads nowhere"},
		{"dangling-out", "", "leads nowhere"},
		{"dangling/x", "", "leads nowhere"},
		{"loop", "", "cannot be used"},
		{"f/x", "", "cannot be used"},
		{"", "", "empty"},
		{" ", "", "empty"},
		{"a\x00b", "", "not a path"},
	} {
		p, err := tool.Locate(env, tt.path)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %+v, %v", tt.path, p, err)
			}
			continue
		}
		if err != nil || p.Real != filepath.Join(env.Cwd, tt.real) || p.Rel != tt.real {
			t.Errorf("%q: %+v, %v", tt.path, p, err)
		}
	}
	// A link in one root may lead into another.
	env.Roots = append(env.Roots, outside)
	if p, err := tool.Locate(env, "out/secret"); err != nil || p.Root != outside || p.Rel != "secret" || p.Shown != "out/secret" {
		t.Errorf("%+v, %v", p, err)
	}
	env.Roots = nil
	if _, err := tool.Locate(env, "f"); err == nil {
		t.Error("with no roots something is inside")
	}
}

// A directory that becomes a link after the check does not lead out.
func TestOpenHoldsAgainstASwap(t *testing.T) {
	env, outside := confined(t)
	if judged := tool.Touched(env, json.RawMessage(`{"file_path":"a/g"}`)); len(judged) != 1 {
		t.Fatalf("judged by %q", judged)
	}
	p, err := tool.Locate(env, "a/g")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(env.Cwd, "a"), filepath.Join(env.Cwd, "was-a")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "g"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(env.Cwd, "a")); err != nil {
		t.Fatal(err)
	}
	// What was judged is what is opened, if anything is.
	if again, err := tool.Locate(env, "a/g"); err != nil || again != p {
		t.Errorf("another place than was judged: %+v, %v", again, err)
	}
	if f, _, err := p.Open(); err == nil {
		f.Close()
		t.Error("opened")
	}
	if _, err := p.Stat(); err == nil {
		t.Error("seen")
	}
}

// FuzzLocate: whatever the path, what is located lies in the root, and opening
// it opens nothing else.
func FuzzLocate(f *testing.F) {
	for _, s := range []string{"f", "out/secret", "a/up/../outside", "a/root/etc/passwd", "in/up/f", "a//./b/../../..", "dangling-out", "file-out", "abs-in/up/out", "\\..\\x", "out/../f"} {
		f.Add(s)
	}
	env, outside := confined(f)
	secret, err := os.Stat(filepath.Join(outside, "secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := tool.Locate(env, path)
		if err != nil {
			return
		}
		rel, err := filepath.Rel(env.Cwd, p.Real)
		if err != nil || !filepath.IsLocal(rel) {
			t.Fatalf("%q leads to %q", path, p.Real)
		}
		file, info, err := p.Open()
		if err != nil {
			return
		}
		defer file.Close()
		if os.SameFile(info, secret) {
			t.Fatalf("%q opens what is outside", path)
		}
		if runtime.GOOS == "linux" {
			if at, err := os.Readlink("/proc/self/fd/" + itoa(file.Fd())); err == nil && at != env.Cwd && !strings.HasPrefix(at, env.Cwd+"/") {
				t.Fatalf("%q opens %q", path, at)
			}
		}
	})
}

func itoa(n uintptr) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestSeen(t *testing.T) {
	s := tool.NewSeen()
	if seen, same := s.KnownSum("a", sha256.Sum256(nil)); seen || same {
		t.Error("an empty memory knows a file")
	}
	s.Note("a", []byte("1"))
	if seen, same := s.KnownSum("a", sha256.Sum256([]byte("1"))); !seen || !same {
		t.Error("not known")
	}
	if seen, same := s.KnownSum("a", sha256.Sum256([]byte("2"))); !seen || same {
		t.Error("another version counts as seen")
	}
}
