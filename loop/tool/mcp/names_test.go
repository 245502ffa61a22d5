package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, c := range []struct {
		name string
		in   []origin
		want []string // a trailing * stands for a hash
	}{
		{"plain", []origin{{"git", "log"}, {"git", "show-branch_2"}}, []string{"mcp__git__log", "mcp__git__show-branch_2"}},
		{"other characters", []origin{{"my server", "a.b/c"}, {"é", "ü日"}}, []string{"mcp__my_server__a_b_c", "mcp_______"}},
		{"too long", []origin{{"s", long}}, []string{"mcp__s__" + strings.Repeat("x", 47) + "_*"}},
		{"just fits", []origin{{"s", long[:56]}}, []string{"mcp__s__" + long[:56]}},
		{"first of equals", []origin{{"s", "a.b"}, {"s", "a/b"}}, []string{"mcp__s__a_b", "mcp__s__a_b_*"}},
		{"who needs no change", []origin{{"s", "a.b"}, {"s", "a_b"}, {"s", "a/b"}}, []string{"mcp__s__a_b_*", "mcp__s__a_b", "mcp__s__a_b_*"}},
		{"where the line is", []origin{{"a__b", "c"}, {"a", "b__c"}}, []string{"mcp__a__b__c", "mcp__a__b__c_*"}},
		{"same long start", []origin{{"s", long + "1"}, {"s", long + "2"}}, []string{"mcp__s__" + strings.Repeat("x", 47) + "_*", "mcp__s__" + strings.Repeat("x", 47) + "_*"}},
	} {
		got := toolNames(c.in)
		for i, want := range c.want {
			ok := got[i] == want
			if cut, hash := strings.CutSuffix(want, "*"); hash {
				ok = strings.HasPrefix(got[i], cut) && len(got[i]) == len(cut)+hashLen
			}
			if !ok {
				t.Errorf("%s: %v is %q, want %q", c.name, c.in[i], got[i], want)
			}
		}
		if again := toolNames(c.in); !slices.Equal(got, again) {
			t.Errorf("%s: %v, then %v", c.name, got, again)
		}
		checkNames(t, c.in, got)
	}
	if a, b := toolNames([]origin{{"s", long}})[0], "mcp__s__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_7790a31a"; a != b {
		t.Errorf("the hash has changed, and with it the names in old sessions: %s", a)
	}
}

func checkNames(t *testing.T, in []origin, names []string) {
	t.Helper()
	seen := map[string]bool{}
	for i, n := range names {
		if n == "" || len(n) > maxName || clean(n) != n || !strings.HasPrefix(n, "mcp_") || seen[n] {
			t.Errorf("%q is no name for %q", n, in[i])
		}
		seen[n] = true
	}
}

func FuzzToolNames(f *testing.F) {
	f.Add("a", "b__c", "a__b", "c", "a", "b.c")
	f.Add(strings.Repeat("s", 80), "t", strings.Repeat("s", 80), "u", "", "")
	hashed := strings.TrimPrefix(origin{"s", "a.b"}.hashed(), "mcp__s__")
	f.Add("s", "a_b", "s", "a.b", "s", hashed)
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2, s3, t3 string) {
		in := []origin{{s1, t1}, {s2, t2}, {s3, t3}}
		if in[0] == in[1] || in[1] == in[2] || in[0] == in[2] {
			return // a set has each tool once
		}
		names := toolNames(in)
		checkNames(t, in, names)
		if !slices.Equal(names, toolNames(in)) {
			t.Error("not the same twice")
		}
	})
}

func TestInputSchema(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","pattern":"<&>"}},"$schema":"x"}`: `{"$schema":"x","properties":{"a":{"pattern":"<&>","type":"string"}},"type":"object"}`,
		`{"properties":{}}`: `{"properties":{},"type":"object"}`,
		`{"type":"string"}`: `{"type":"object"}`,
		`true`:              `{"type":"object"}`,
		`null`:              `{"type":"object"}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if got := string(inputSchema(v)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("é", 40_000, 1)
	f.Add("日本", 20_000, 2)
	f.Add("\xff", 70_000, 0)
	f.Fuzz(func(t *testing.T, unit string, n, skew int) {
		if len(unit) == 0 || n < 0 || n*len(unit) > 1<<20 || skew < 0 || skew > 3 {
			return // no longer than a test may take, and no skew that says nothing new
		}
		s := strings.Repeat("x", skew) + strings.Repeat(unit, n)
		got := cut(s)
		if !utf8.ValidString(got) || utf8.ValidString(s) && len(got) > textLimit+100 {
			t.Errorf("%d bytes of %q", len(got), unit)
		}
		if utf8.ValidString(s) && strings.ContainsRune(got, utf8.RuneError) && !strings.ContainsRune(s, utf8.RuneError) {
			t.Errorf("a rune was cut: %q", unit)
		}
		if len(s) <= textLimit && utf8.ValidString(s) && got != s {
			t.Error("a short text was changed")
		}
	})
}
