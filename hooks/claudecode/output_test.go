package claudecode

import "testing"

// An updatedToolOutput replaces what the model gets by its text, where it has the
// shape of the tool's answer.
func TestReplacement(t *testing.T) {
	for _, c := range []struct {
		native, raw, want string
		ok                bool
	}{
		{"web_fetch", `{"result":" page \n","code":200}`, " page \n", true},
		{"web_fetch", `{"code":200}`, "", false},
		{"web_fetch", `"page"`, "", false},
		{"grep", `{"content":"1: x\n"}`, "1: x\n", true},
		{"mcp__s__t", `"text"`, "text", true},
	} {
		if got, ok := replacement(c.native, []byte(c.raw)); got != c.want || ok != c.ok {
			t.Errorf("%s %s: %q, %v; want %q, %v", c.native, c.raw, got, ok, c.want, c.ok)
		}
	}
}
