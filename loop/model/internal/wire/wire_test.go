package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func events(r io.Reader) []string {
	var out []string
	s := NewSSE(r)
	for {
		data, name, _, err := s.Next()
		if err != nil {
			return append(out, err.Error())
		}
		out = append(out, string(name)+"|"+string(data))
	}
}

func TestSSE(t *testing.T) {
	for body, want := range map[string]string{
		"data: a\r\n\r\ndata:b\rdata: c\n\n":    "|a;|b\nc;EOF",
		": x\nevent: e\ndata\n\ndata: y":        "e|;|y;EOF",
		"\ufeff\ndata: a\n\n":                   "|a;EOF",
		"\ufeffdata: a\n\n":                     "|a;EOF",
		"event: lost\n\ndata: a\n\n":            "|a;EOF",
		"":                                      "EOF",
		"\n\n{\"error\":1}\n":                   "not an event stream",
		"data: {\ndata: }\n\nid: 7\nretry: 1\n": "|{\n};EOF",
	} {
		for _, r := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body))} {
			if got := strings.Join(events(r), ";"); got != want {
				t.Errorf("%q gave %q, want %q", body, got, want)
			}
		}
	}
	endless := io.MultiReader(strings.NewReader("data: "), endlessReader{})
	s := NewSSE(endless)
	if _, _, _, err := s.Next(); !errors.Is(err, ErrEventTooLong) {
		t.Errorf("an endless line ended with %v", err)
	}
}

type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestParseAddress(t *testing.T) {
	for base, want := range map[string]string{
		"https://h":                       "https://h/ h",
		"https://h/v1/":                   "https://h/ h",
		"https://h/a/v1/messages?x=1#y":   "https://h/a/ h",
		"http://u:p@127.0.0.1:1/messages": "http://u:p@127.0.0.1:1/ 127.0.0.1:1",
	} {
		a, err := ParseAddress("p", base, "/messages", "/v1")
		if err != nil || a.Base+" "+a.Host != want {
			t.Errorf("%s gave %s %s, %v", base, a.Base, a.Host, err)
		}
	}
	if _, err := ParseAddress("p", "ftp://user:hunter22@h"); err == nil || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("%v", err)
	}
}

// FuzzScanner holds that the scanner reads what encoding/json reads.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, `{"content":"x","b":[1,{"c":"}"}],"d":null}`, `{"content":"\ud83d\ude00\ud83d \u12"}`, ` { "content" : "a\"b" , "n" : -1.5e3 } `, `{"content":`, `[1]`, `"x"`, "{\"content\":\"\xff\"}", `{"con\u0074ent":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := NewScanner(data)
		got := map[string]string{}
		if s.Enter('{') {
			for ok := s.First('}'); ok; ok = s.Next('}') {
				key := string(s.Key())
				if v, ok := s.Str(); ok {
					got[key] = v
				} else {
					delete(got, key)
				}
			}
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return // what json refuses may be read leniently, but must not hang
		}
		if s.Bad() {
			t.Fatalf("encoding/json reads %q, the scanner does not", data)
		}
		for k, raw := range want {
			var v string
			if raw[0] != '"' || json.Unmarshal(raw, &v) != nil {
				continue
			}
			if g, ok := got[k]; ok && g != v && !strings.ContainsRune(k, '\ufffd') {
				t.Fatalf("%q: key %q is %q, want %q", data, k, g, v)
			}
		}
	})
}

// FuzzSSE holds that events do not depend on where reads end.
func FuzzSSE(f *testing.F) {
	f.Add([]byte("data: a\r\n\r\ndata:b\rdata: c\n\n"), 3)
	f.Add([]byte("\ufeff\n: x\nevent: e\ndata\n\ndata: y"), 1)
	f.Add([]byte(": x\nevent: e\ndata\n\ndata: y"), 1)
	f.Fuzz(func(t *testing.T, body []byte, cut int) {
		if len(body) == 0 {
			return
		}
		cut = int(uint(cut) % uint(len(body)))
		whole := events(bytes.NewReader(body))
		parts := events(io.MultiReader(bytes.NewReader(body[:cut]), bytes.NewReader(body[cut:])))
		if strings.Join(whole, "\x00") != strings.Join(parts, "\x00") {
			t.Fatalf("%q cut at %d:\n%q\n%q", body, cut, whole, parts)
		}
	})
}

// FuzzFailure holds that any body gives an error with a kind and a short, clean
// message.
func FuzzFailure(f *testing.F) {
	for _, s := range []string{`{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, `[{"error":"x"}]`, `{"response":{"error":{"code":"rate_limit_exceeded"}}}`, "<html>", "key=sk-abcdef0123"} {
		f.Add([]byte(s), 400)
	}
	e := &Endpoint{Name: "p", KeyName: "P_API_KEY"}
	e.AddSecret("0123456789secret")
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		fl := ReadFailure(append(body, "0123456789secret"...))
		if fl.Message == "" {
			fl.Message = string(body) + "0123456789secret"
		}
		err := e.Failure(&fl, 300+int(uint(status)%300))
		if err.Kind == "" || strings.Contains(err.Message, "0123456789secret") || strings.ContainsAny(err.Message, "\n\r\x00") || len([]rune(err.Message)) > 600 {
			t.Fatalf("%q", err.Message)
		}
	})
}

// TestClean: a key goes out of what is said, a word that happens to be one does
// not.
func TestClean(t *testing.T) {
	e := &Endpoint{Name: "p"}
	e.AddSecret("k")
	e.AddSecret("0123456789secret")
	if got := e.Clean("check  the\nkey 0123456789secret, or sk-abcdef0123."); got != "check the key [redacted], or [redacted]" {
		t.Errorf("%q", got)
	}
}
