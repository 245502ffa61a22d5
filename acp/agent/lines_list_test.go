package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"acp-agent/acp"
)

var listLines = []line{
	{n: 51, name: "empty-list", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, nil)
			if got := string(r.Frames()[len(r.Frames())-1].Msg.Result); got != `{"sessions":[]}` {
				t.Errorf("an empty list is %s", got)
			}
			r.open()
			if got := r.list(r.dir + "-other"); len(got) != 0 {
				t.Errorf("of another directory: %v", got)
			}
		})
	}},
	{n: 52, name: "cwd-filter", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			a := r.open()
			sub := filepath.Join(r.dir, "sub")
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
			var b acp.NewSessionResponse
			r.call(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: sub}, &b)
			if got := r.list(r.dir); !slices.Equal(got, []string{a}) {
				t.Errorf("of %s: %v, want %s", r.dir, got, a)
			}
			if got := r.list(sub); !slices.Equal(got, []string{b.SessionID}) {
				t.Errorf("of %s: %v", sub, got)
			}
			if got := r.list(""); len(got) != 2 {
				t.Errorf("of all: %v", got)
			}
		})
	}},
	{n: 53, name: "bad-cursor", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			for _, c := range []string{"x", "0", "!!!", "MSBhIGI", "AAAA"} {
				r.refused(acp.MethodSessionList, &acp.ListSessionsRequest{Cursor: c}, -32602)
			}
		})
	}},
	{n: 54, name: "paging", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			var want []string
			for i := range 120 {
				id := r.open()
				r.close(id)
				want = append([]string{id}, want...)
				if i%7 != 0 { // some share a moment
					<-time.After(time.Second) // the bubble's clock
				}
			}
			var got []string
			pages := 0
			for cursor := ""; ; pages++ {
				var res acp.ListSessionsResponse
				r.call(acp.MethodSessionList, &acp.ListSessionsRequest{Cursor: cursor}, &res)
				for _, s := range res.Sessions {
					got = append(got, s.SessionID)
				}
				if pages == 0 { // a new one does not shift the pages that follow
					<-time.After(time.Second)
					r.open()
				}
				if cursor = res.NextCursor; cursor == "" {
					break
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if pages < 2 || !slices.Equal(got, want) {
				t.Errorf("%d pages, %d sessions of %d", pages+1, len(got), len(want))
			}
		})
	}},
	{n: 55, name: "cwd-and-updatedAt", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			r.say(r.open(), "hi", acp.StopReasonEndTurn)
			var res acp.ListSessionsResponse
			r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, &res)
			s := res.Sessions[0]
			if _, err := time.Parse(time.RFC3339, s.UpdatedAt); err != nil || !filepath.IsAbs(s.Cwd) || s.Title != "hi" {
				t.Errorf("%+v: %v", s, err)
			}
		})
	}},
	{n: 56, name: "deleted-sessions", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			a, b := r.open(), r.open()
			r.close(a)
			for _, id := range []string{a, b} { // a closed one and a live one
				r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: id}, nil)
			}
			if got := r.list(""); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
			r.refused(acp.MethodSessionPrompt, textPrompt(b, "x"), -32002)
		})
	}},
	{n: 57, name: "delete-twice", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			for range 2 {
				r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: id}, nil)
			}
			r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: "never-was"}, nil)
		})
	}},
	{n: 58, name: "listing-changes-nothing", test: func(t *testing.T) {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			r.say(id, "hi", acp.StopReasonEndTurn)
			r.close(id)
			before, err := os.ReadFile(filepath.Join(r.state, id+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				r.list("")
			}
			after, err := os.ReadFile(filepath.Join(r.state, id+".jsonl"))
			if err != nil || string(before) != string(after) {
				t.Errorf("the log changed: %v", err)
			}
			r.refused(acp.MethodSessionPrompt, textPrompt(id, "x"), -32002) // it is not active
		})
	}},
}

// list returns the ids of the first page for a directory.
func (r *rig) list(cwd string) []string {
	r.t.Helper()
	var res acp.ListSessionsResponse
	r.call(acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: cwd}, &res)
	var out []string
	for _, s := range res.Sessions {
		out = append(out, s.SessionID)
	}
	return out
}
