package prompt

import (
	"strings"
	"testing"
)

// The prompt must not change between sessions of one directory: a provider
// bills a prefix that does as new.
func TestSystemIsDeterministic(t *testing.T) {
	env := Environment{Cwd: "/w", Roots: []string{"/x", "/y"}, OS: "linux"}
	got := System(env)
	for range 3 {
		if System(env) != got {
			t.Fatal("two calls gave two prompts")
		}
	}
	for _, want := range []string{"\nWorking directory: /w\n", "\nFurther directory: /x\nFurther directory: /y\n", "\nPlatform: linux\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("prompt lacks %q", want)
		}
	}
}
