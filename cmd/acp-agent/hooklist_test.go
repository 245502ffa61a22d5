package main

import (
	"slices"
	"testing"

	"acp-agent/hooks"
	"acp-agent/loop/tool/shell"
)

// hooks list judges matchers by the tools that a session has.
func TestOccasionsAreTheTools(t *testing.T) {
	reg, err := newTools(shell.New(shell.Options{}), true)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range hooks.Occasions(hooks.PreToolUse) {
		got = append(got, c.Tool.Name)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(reg.Names())); !slices.Equal(got, want) {
		t.Errorf("occasions of tools %v, tools %v", got, want)
	}
}
