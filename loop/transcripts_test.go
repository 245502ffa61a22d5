package loop

import (
	"testing"

	"acp-agent/hooks"
	"acp-agent/session"
)

// A turn's entry says by which model and in which mode it began.
func TestTranscriptEntriesKnowModelAndMode(t *testing.T) {
	x := entries{mode: "plan"}
	var got []hooks.Entry
	for _, d := range []session.Data{
		&session.TurnStart{Turn: 1, ID: "t1"},
		&session.ConfigSet{ID: ConfigModel, Value: "p/other"},
		&session.ModeSet{Mode: "bypassPermissions"},
		&session.TurnStart{Turn: 2, ID: "t2"},
	} {
		got = append(got, x.of(session.Event{Data: d})...)
	}
	if len(got) != 2 || got[0].Model != "" || got[0].Mode != "plan" || got[1].Model != "other" || got[1].Mode != "bypassPermissions" {
		t.Errorf("%+v", got)
	}
}

// A text that a hook gave names its event; the agent's own has none.
func TestTranscriptEntriesKnowTheHookEvent(t *testing.T) {
	text := []session.Block{session.Text("x")}
	hook := func(ev string) session.Source { return session.Source{Kind: session.SourceHook, Event: ev} }
	var x entries
	for _, tc := range []struct {
		data session.Data
		want hooks.Event
	}{
		{&session.SteeringMessage{Content: text, Source: hook("Stop")}, hooks.Stop},
		{&session.ContextMessage{Content: text, Source: hook("SessionStart")}, hooks.SessionStart},
		{&session.ContextMessage{Content: text, Source: session.Source{Kind: session.SourceAgent, Event: "Stop"}}, ""},
	} {
		if got := x.of(session.Event{Data: tc.data}); len(got) != 1 || got[0].Event != tc.want {
			t.Errorf("%T: %+v, want event %q", tc.data, got, tc.want)
		}
	}
}
