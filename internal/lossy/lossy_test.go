package lossy

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The right values are those of Node.js 20 (buf.toString()) and of Python's
// decode("utf-8", "replace"), which keep to the same rule.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"ä€😀":                              "ä€😀",
		"a\xffb":                           "a\ufffdb",
		"\xff\xfe\xfd":                     "\ufffd\ufffd\ufffd",
		"\xe2\x82":                         "\ufffd",
		"\xe2\x82x":                        "\ufffdx",
		"\xf0\x9f\x98":                     "\ufffd",
		"\xf0\x9f\x98\xf0\x9f\x98\x80":     "\ufffd😀",
		"\xc0\x80":                         "\ufffd\ufffd",
		"\xed\xa0\x80":                     "\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":                 "\ufffd\ufffd\ufffd\ufffd",
		"\xe0\x80\x80":                     "\ufffd\ufffd\ufffd",
		"\xf1\x80\x80\x41\xe1\x80\xc3\xa4": "\ufffdA\ufffdä",
		"\x80\xbf":                         "\ufffd\ufffd",
		"\ufffd":                           "\ufffd",
	} {
		if got := Text([]byte(in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\xe2\x82\xf0\x9f\x98\x80"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := Text(b)
		switch {
		case !utf8.ValidString(got):
			t.Errorf("%q: %q", b, got)
		case utf8.Valid(b) && got != string(b):
			t.Errorf("%q was changed to %q", b, got)
		case strings.ReplaceAll(got, "\ufffd", "") != strings.ReplaceAll(strings.ToValidUTF8(string(b), ""), "\ufffd", ""):
			t.Errorf("%q: %q has other characters", b, got)
		}
	})
}
