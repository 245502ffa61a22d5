package snapshots

import (
	"strings"
	"testing"
)

// Each case is two files of a letter a line; a digit is an id.
func TestCompareLines(t *testing.T) {
	for name, c := range map[string]struct{ want, got, report string }{
		"same":            {"abc", "abc", ""},
		"another":         {"abc", "axc", "line 2 v: b/x"},
		"others":          {"abcd", "axyd", "line 2 v: b/x, line 3 v: c/y"},
		"one too few":     {"abcd", "acd", `line 2: {"v":"b"}/nothing`},
		"two too few":     {"abcde", "ade", `line 2: {"v":"b"} and 1 lines more/nothing`},
		"one too many":    {"acd", "abcd", `line 2: no line before this one/{"v":"b"}`},
		"many and few":    {"acdefgh", "abcdefh", `line 2: no line before this one/{"v":"b"}, line 6: {"v":"g"}/nothing`},
		"the last is few": {"abc", "ab", `line 3: {"v":"c"}/the end of the output`},
		"one at the end":  {"ab", "abcd", `line 3: the end of the file/{"v":"c"} and 1 lines more`},
		"swapped":         {"abcd", "acbd", "line 2 v: b/c, line 3 v: c/b"},
		"blank lines":     {"a\n\nbc", "abx", "line 5 v: c/x"},
		"moved ids":       {"a1x2", "ax1", `line 2: {"v":"{{uuid:1}}"}/nothing, line 4 v: {{uuid:2}}/{{uuid:1}}`},
		"nothing came":    {"ab", "", `line 1: {"v":"a"} and 1 lines more/the end of the output`},
		"nothing said":    {"", "a", `line 1: the end of the file/{"v":"a"}`},
	} {
		file := func(s string) []record {
			var b strings.Builder
			for _, r := range s {
				switch {
				case r >= '1' && r <= '9':
					b.WriteString(`{"v":"{{uuid:` + string(r) + `}}"}`)
				case r != '\n':
					b.WriteString(`{"v":"` + string(r) + `"}`)
				}
				b.WriteString("\n")
			}
			return lines(t, b.String())
		}
		var report []string
		for _, d := range compareLines("f", file(c.want), file(c.got)) {
			report = append(report, d.Path+": "+strings.Trim(d.Want, `"`)+"/"+strings.Trim(d.Got, `"`))
		}
		if got := strings.Join(report, ", "); got != c.report {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.report)
		}
	}
}

// A report shows the difference: not two texts that look alike.
func TestDifferenceIsSeen(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	for name, c := range map[string]struct{ want, got, in string }{
		"short":             {`"a"`, `"b"`, "f line 1\n  want \"a\"\n  got  \"b\""},
		"far in":            {long + "x" + long, long + "y" + long, "äx"},
		"far in, other end": {long, long + "y", "äy"},
		"another accent":    {`"é"`, "\"e\u0301\"", `"e\u{0301}"`},
		"another space":     {`"a b"`, "\"a\u00a0b\"", `"a\u{00a0}b"`},
		"no width":          {`"ab"`, "\"a\u200bb\"", `"a\u{200b}b"`},
		"letters as such":   {`"ün"`, `"un"`, `"ün"`},
		"half of a letter":  {"\"\u00e9\"", "\"\u00e8\"", `"è"`},
	} {
		s := Difference{"f", "line 1", c.want, c.got}.String()
		if !strings.Contains(s, c.in) || len(s) > 3*clipped || !strings.Contains(s, "\n  got  ") {
			t.Errorf("%s: %q is not in\n%s", name, c.in, s)
		}
	}
	if s := (Difference{File: "f", Want: "a", Got: "b"}).String(); !strings.HasPrefix(s, "f\n") {
		t.Errorf("%q", s)
	}
}

// A tool that a later version of the agent brings is no difference; one that is gone,
// or of an MCP server, is.
func TestNewToolIsNoDifference(t *testing.T) {
	head := func(names ...string) string {
		return `{"data":{"header":{"tools":[{"name":"` + strings.Join(names, `"},{"name":"`) + `"}]}}}`
	}
	want := head("bash", "read", "mcp__a__b")
	for got, same := range map[string]bool{
		want: true,
		head("ask", "bash", "fetch", "read", "mcp__a__b"):     true,
		head("bash", "read"):                                  false,
		head("bash", "mcp__a__b"):                             false,
		head("read", "bash", "mcp__a__b"):                     false,
		head("bash", "read", "mcp__a__b", "mcp__a__c"):        false,
		strings.Replace(want, "header", "other", 1):           false,
		strings.Replace(head("x", "bash"), "header", "to", 1): false,
	} {
		w, err := parseLines("want", []byte(want))
		if err != nil {
			t.Fatal(err)
		}
		g, err := parseLines("got", []byte(got))
		if err != nil {
			t.Fatal(err)
		}
		if d := compareLines("f", w, g); (len(d) == 0) != same {
			t.Errorf("%s: %v", got, d)
		}
	}
}
