package jsonstring

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestForms(t *testing.T) {
	for _, tc := range []struct{ in, stringify, lines string }{
		{"", `""`, `""`},
		{"a<b>&'/é😀", `"a<b>&'/é😀"`, `"a<b>&'/é😀"`},
		{"\"\\\n\r\t", `"\"\\\n\r\t"`, `"\"\\\n\r\t"`},
		{"\b\f\x00\x1f\x7f", `"\b\f\u0000\u001f` + "\x7f\"", `"\u0008\u000c\u0000\u001f` + "\x7f\""},
		{"a\u2028b\u2029", "\"a\u2028b\u2029\"", `"a\u2028b\u2029"`},
		{"x\xff\xc3y", "\"x\ufffd\ufffdy\"", "\"x\ufffd\ufffdy\""},
		{"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\"", "\"\ufffd\ufffd\ufffd\""}, // half of a surrogate pair, which is not UTF-8
		{"\ufffd", "\"\ufffd\"", "\"\ufffd\""},
	} {
		if got := string(Stringify.Append([]byte("x"), tc.in)); got != "x"+tc.stringify {
			t.Errorf("Stringify of %q: %s, want %s", tc.in, got[1:], tc.stringify)
		}
		if got := string(Lines.Append([]byte("x"), tc.in)); got != "x"+tc.lines {
			t.Errorf("Lines of %q: %s, want %s", tc.in, got[1:], tc.lines)
		}
	}
}

// What is written is what encoding/json would have written for the text, reads
// back the same, and is the same bytes when written again.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"", "plain", "é\"\\/\b\f\n\r\t\x00\x1f\x7f", "\u2028\u2029<>&", "bad \xff\xc3", "\xed\xa0\x80", "😀", "\xf0\x9f\x98", strings.Repeat("x\n", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		std, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(std, &want); err != nil {
			t.Fatal(err)
		}
		for name, form := range map[string]*Form{"Stringify": Stringify, "Lines": Lines} {
			got := form.Append(nil, s)
			var back string
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatalf("%s of %q: %v: %s", name, s, err, got)
			}
			if back != want || utf8.ValidString(s) && back != s {
				t.Fatalf("%s: %q came back as %q, by encoding/json as %q", name, s, back, want)
			}
			if bytes.ContainsAny(got, "\n\r") || form.separators && bytes.ContainsAny(got, "\u2028\u2029") {
				t.Fatalf("%s of %q has a line end: %s", name, s, got)
			}
			if again := form.Append(nil, back); !bytes.Equal(again, got) {
				t.Fatalf("%s of %q: %s, read and written again %s", name, s, got, again)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	text := strings.Repeat("func (s *Session) append(data ...session.Data) error {\n\tif s.failed != nil {\n\t\treturn s.failed\n\t}\n", 200)
	for _, c := range [][2]string{
		{"code", text},
		{"prose", strings.Repeat("a line of a file that is read ", 600)},
		{"quotes", strings.Repeat("\"a\":1,", 3000)},
		{"foreign", strings.Repeat("строка файла ", 700)},
	} {
		s := c[1]
		b.Run(c[0], func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			buf := make([]byte, 0, 2*len(s))
			for b.Loop() {
				buf = Lines.Append(buf[:0], s)
			}
		})
	}
}
