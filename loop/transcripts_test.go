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
