package main

import (
	"testing"

	"acp-agent/hooks"
)

// A file's faults are one notice, whatever their number, and come once.
func TestHookNoticesAreOneAFile(t *testing.T) {
	s := &sessionHooks{said: map[string]bool{}, loadedHooks: &loadedHooks{}}
	s.problems = []hooks.Problem{
		{File: "/a.json", Where: "hooks.X", Text: "one"},
		{File: "/b.json", Text: "all of it"},
		{File: "/a.json", Where: "hooks.Y", Text: "two"},
		{File: "/a.json", Where: "hooks.Z", Text: "small", Minor: true},
	}
	got := s.notices()
	if len(got) != 2 || got[0].Text != "Hooks: /a.json:\n- hooks.X: one\n- hooks.Y: two" || got[1].Text != "Hooks: /b.json: all of it" {
		t.Errorf("%+v", got)
	}
	s.problems = append(s.problems, hooks.Problem{File: "/a.json", Where: "hooks.N", Text: "new"})
	if got = s.notices(); len(got) != 1 || got[0].Text != "Hooks: /a.json: hooks.N: new" {
		t.Errorf("again: %+v", got)
	}
	// What a repository puts there is shown, not obeyed.
	s.problems = []hooks.Problem{{File: "/c\x1b[2K.json", Where: "hooks.X\nY", Text: "\u202eno"}}
	if got = s.notices(); len(got) != 1 || got[0].Text != `Hooks: /c\x1b[2K.json: hooks.X`+"\n    "+`Y: \u202eno` {
		t.Errorf("%q", got)
	}
}
