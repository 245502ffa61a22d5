package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/acp/agent"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/session"
	"acp-agent/session/jsonl"
)

// B2: initialize is answered before anything is looked at.
func TestB2NothingBeforeInitialize(t *testing.T) {
	bubble(t, options{raw: true, config: func(c *agent.Config) {
		c.Store, c.Catalog, c.Builder, c.Models, c.CommandDirs = nil, nil, nil, nil, nil // touching one would panic
	}}, func(r *rig) { initialize(t, r, acp.ClientCapabilities{}) })
}

// C1: no update of a session comes before the reply that names it.
func TestC1ReplyFirst(t *testing.T) {
	bubble(t, options{config: withFork}, func(r *rig) {
		named := map[string]bool{}
		var open []*acptest.Pending
		for range 50 {
			open = append(open, r.Go(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir}))
		}
		for _, p := range open {
			if err := p.Wait(r.t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		r.call(acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: r.sessions()[0], Cwd: r.dir}, nil)
		settle(r)
		updates := 0
		for _, f := range r.Frames() {
			switch {
			case f.Update != nil:
				updates++
				if !named[f.Update.SessionID] {
					t.Fatalf("frame %d: an update of %s before its reply", f.N, f.Update.SessionID)
				}
			case f.Answers == acp.MethodSessionNew || f.Answers == acp.MethodSessionFork:
				var res acp.NewSessionResponse
				if err := acp.Unmarshal(f.Msg.Result, &res); err != nil {
					t.Fatal(err)
				}
				named[res.SessionID] = true
			}
		}
		if updates < 2*51 {
			t.Errorf("%d updates: commands and usage were expected for each", updates)
		}
	})
}

// C7: a log that is gone from the disk is not found, and nothing takes its place.
func TestC7DeletedOnDisk(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.close(id)
		if err := os.Remove(filepath.Join(r.state, id+".jsonl")); err != nil {
			t.Fatal(err)
		}
		r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: id, Cwd: r.dir}, -32002)
		r.refused(acp.MethodSessionResume, &acp.ResumeSessionRequest{SessionID: id, Cwd: r.dir}, -32002)
		if got := r.sessions(); len(got) != 0 {
			t.Errorf("there are %v", got)
		}
	})
}

// A damaged log and one that another process holds are said at load, and never
// stop the list.
func TestDamagedAndLockedLogs(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		good, damaged, locked := r.open(), r.open(), r.open()
		for _, id := range []string{good, damaged, locked} {
			r.say(id, "hi", acp.StopReasonEndTurn)
			r.close(id)
		}
		path := filepath.Join(r.state, damaged+".jsonl")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		lines[2] = "{broken\n"
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := jsonl.Open(r.state, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		log, _, err := other.Open(r.t.Context(), locked, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if e := r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: damaged, Cwd: r.dir}, -32603); !strings.Contains(e.Message, "damaged") || !strings.Contains(e.Message, "sessions verify") {
			t.Errorf("damaged: %v", e)
		}
		if e := r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: locked, Cwd: r.dir}, -32600); !strings.Contains(e.Message, "another process") {
			t.Errorf("locked: %v", e)
		}
		if got := r.list(""); len(got) != 3 {
			t.Errorf("the list has %v", got)
		}
		r.load(good)
		if after, err := os.ReadFile(path); err != nil || string(after) != strings.Join(lines, "") {
			t.Errorf("the damaged log was changed: %v", err)
		}
	})
}

// C8: the directory of a load rules from then on, and the person is told.
func TestC8OtherDirectory(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.close(id)
		other := realDir(t)
		if err := os.MkdirAll(filepath.Join(other, ".commands"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(other, ".commands", "here.md"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{acp.MethodSessionLoad, acp.MethodSessionResume} {
			r.call(method, map[string]any{"sessionId": id, "cwd": other, "mcpServers": []any{}}, nil)
			r.permissions(acp.PermissionOptionKindAllowOnce)
			name := strings.TrimPrefix(method, "session/") + ".txt"
			r.model.add(calls("", toolCall{"c", "write", args("file_path", name, "content", "x")}, toolCall{"d", "bash", args("command", "pwd")}), says("ok"))
			r.say(id, "go", acp.StopReasonEndTurn)
			r.holds(filepath.Join(other, name), "x")
			r.holds(filepath.Join(r.dir, name), "")
			if got := results(r.model.request(t, -1))["d"]; !strings.Contains(got, other) && !strings.Contains(got, "denied") {
				t.Errorf("%s: pwd says %q", method, got)
			}
			r.close(id)
		}
		if said := r.Text(id); strings.Count(said, "it works in "+other+" now") != 1 {
			t.Errorf("the person was told: %q", said)
		}
		up := last(r, id, func(u acp.SessionUpdate) *acp.AvailableCommandsUpdate { return u.AvailableCommandsUpdate })
		if !strings.Contains(string(mustJSON(up)), `"here"`) {
			t.Error("the commands are those of the old directory")
		}
	})
}

// A session is listed, and found by its directory, where it works now: at once
// after a load elsewhere, after turns there, and when it has been closed.
func TestListedWhereItWorks(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id, other := r.open(), realDir(t)
		r.say(id, "hi", acp.StopReasonEndTurn)
		at := func(when, want string) {
			t.Helper()
			for cwd, n := range map[string]int{"": 1, r.dir: 0, other: 0} {
				if cwd == want {
					n = 1
				}
				var res acp.ListSessionsResponse
				r.call(acp.MethodSessionList, &acp.ListSessionsRequest{Cwd: cwd}, &res)
				if len(res.Sessions) != n || n == 1 && res.Sessions[0].Cwd != want {
					t.Errorf("%s, in %q: %+v, want %s", when, cwd, res.Sessions, want)
				}
			}
		}
		load := func(cwd string) {
			t.Helper()
			r.call(acp.MethodSessionLoad, map[string]any{"sessionId": id, "cwd": cwd, "mcpServers": []any{}}, nil)
		}
		at("where it was made", r.dir)
		load(other)
		at("after the load", other)
		r.say(id, "hi", acp.StopReasonEndTurn)
		at("after a turn", other)
		r.close(id)
		at("closed", other)
		load(r.dir)
		r.say(id, "hi", acp.StopReasonEndTurn)
		r.close(id)
		at("back again", r.dir)
	})
}

// A configured effort that the model does not have is shown as it is, can be left
// and taken again, and the person is told once what becomes of it.
func TestEffortThatTheModelHasNot(t *testing.T) {
	o := options{caps: acp.ClientCapabilities{Session: &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}}}}
	o.hold = func(c loop.Config) loop.Config { c.Effort = "max"; return c }
	bubble(t, o, func(r *rig) {
		res := r.opened()
		id := res.SessionID
		currentIsOffered(t, res.ConfigOptions)
		if got := option(res.ConfigOptions, "effort"); got != "max" {
			t.Errorf("the effort is shown as %q", got)
		}
		r.say(id, "hi", acp.StopReasonEndTurn)
		r.say(id, "hi", acp.StopReasonEndTurn)
		if got := r.model.request(t, -1).Head.Config.ReasoningEffort; got != "max" {
			t.Errorf("the adapter is given %q", got)
		}
		told := 0
		for _, f := range r.Frames() {
			if strings.Contains(string(f.Msg.Params), `no effort \"max\": the nearest of low, high is used`) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the person was told %d times", told)
		}
		if got := option(r.set(id, "effort", "max"), "effort"); got != "max" {
			t.Errorf("set to what it is: %q", got)
		}
		if got := option(r.set(id, "effort", "low"), "effort"); got != "low" {
			t.Errorf("set to another: %q", got)
		}
		r.refused(acp.MethodSessionSetConfigOption, map[string]any{"sessionId": id, "configId": "effort", "value": "max"}, -32602)
	})
}

// C11: a session's time is that of its last activity.
func TestC11LastActivity(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		older := r.open()
		<-time.After(time.Hour) // the bubble's
		newer := r.open()
		if got := r.list(""); got[0] != newer {
			t.Errorf("order %v", got)
		}
		<-time.After(time.Hour)
		r.say(older, "hi", acp.StopReasonEndTurn)
		if got := r.list(""); got[0] != older {
			t.Errorf("order after a prompt in the older: %v", got)
		}
		info := last(r, older, func(u acp.SessionUpdate) *acp.SessionInfoUpdate { return u.SessionInfoUpdate })
		var res acp.ListSessionsResponse
		r.call(acp.MethodSessionList, &acp.ListSessionsRequest{}, &res)
		if *info.UpdatedAt.Value != res.Sessions[0].UpdatedAt || *info.Title.Value != res.Sessions[0].Title {
			t.Errorf("the update says %v, the list %+v", *info.UpdatedAt.Value, res.Sessions[0])
		}
	})
}

// C13: a close ends a running command and the model's stream.
func TestC13CloseEndsWork(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		p, gone := r.runs(id)
		r.close(id)
		r.stops(p, acp.StopReasonCancelled)
		gone()
		stopped := make(chan struct{})
		id = r.open()
		r.model.add(func(ctx context.Context, _ *model.Request, yield func(session.Chunk, error) bool) {
			<-ctx.Done()
			close(stopped)
			yield(session.Chunk{}, ctx.Err())
		})
		p = r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		settle(r)
		r.close(id)
		<-stopped
		r.stops(p, acp.StopReasonCancelled)
	})
}

// What was admitted before its session was closed, and runs after that, is told what
// any later request is.
func TestSettingsOfASessionThatIsBeingClosed(t *testing.T) {
	for range 20 {
		bubble(t, options{}, func(r *rig) {
			id := r.open()
			var all []*acptest.Pending
			for _, option := range []string{"mode", "effort", "model"} {
				all = append(all, r.Go(acp.MethodSessionSetConfigOption, map[string]any{"sessionId": id, "configId": option, "value": "plan"}))
			}
			all = append(all, r.Go(acp.MethodSessionSetMode, &acp.SetSessionModeRequest{SessionID: id, ModeID: "plan"}))
			r.close(id)
			for _, p := range all {
				var e *acp.Error
				if err := p.Wait(r.t.Context(), nil); errors.As(err, &e) && e.Code != acp.CodeResourceNotFound && e.Code != acp.CodeInvalidParams {
					t.Fatal(err)
				}
			}
		})
	}
}

// I2: the servers of a load are those of the load; the old ones are stopped.
func TestI2ServersOfALoad(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		server := func(name string) []any {
			return []any{map[string]any{"name": name, "command": "/bin/" + name, "args": []any{}, "env": []any{}}}
		}
		var res acp.NewSessionResponse
		r.call(acp.MethodSessionNew, map[string]any{"cwd": r.dir, "mcpServers": server("a")}, &res)
		r.call(acp.MethodSessionLoad, map[string]any{"sessionId": res.SessionID, "cwd": r.dir, "mcpServers": server("b")}, nil)
		r.call(acp.MethodSessionResume, map[string]any{"sessionId": res.SessionID, "cwd": r.dir, "mcpServers": server("c")}, nil)
		var got []string
		for _, p := range r.build.params {
			got = append(got, p.Servers[0].Name)
		}
		if strings.Join(got, "") != "abc" || r.build.closed != 2 {
			t.Errorf("servers %v, %d sessions closed", got, r.build.closed)
		}
	})
}

// J6: after a restart mode, model and effort are as they were; what there is no
// more gives way to the default, and that is said.
func TestJ6AfterARestart(t *testing.T) {
	state, dir := realDir(t), realDir(t)
	var id string
	bubble(t, options{state: state, dir: dir}, func(r *rig) {
		id = r.open()
		r.say(id, "hi", acp.StopReasonEndTurn)
		r.set(id, "mode", "acceptEdits")
		r.set(id, "model", "test/small")
	})
	bubble(t, options{state: state, dir: dir}, func(r *rig) {
		res := r.load(id)
		if res.Modes.CurrentModeID != "acceptEdits" || option(res.ConfigOptions, "model") != "test/small" {
			t.Errorf("after a restart: %+v %+v", res.Modes, res.ConfigOptions)
		}
		r.say(id, "again", acp.StopReasonEndTurn)
		if got := r.model.request(t, -1).Head.Config.Model; got != "small" {
			t.Errorf("the request's model is %s", got)
		}
	})
	path := filepath.Join(state, id+".jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), `"acceptEdits"`, `"yolo"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	bubble(t, options{state: state, dir: dir, models: testModels[:1]}, func(r *rig) {
		res := r.load(id)
		if res.Modes.CurrentModeID != "default" || option(res.ConfigOptions, "model") != "test/big" {
			t.Errorf("with what there is no more: %+v %+v", res.Modes, res.ConfigOptions)
		}
		currentIsOffered(t, res.ConfigOptions)
		r.say(id, "again", acp.StopReasonEndTurn)
		if said := r.Text(id); !strings.Contains(said, `mode "yolo"`) || !strings.Contains(said, "model test/small cannot be used") {
			t.Errorf("the person was told: %s", said)
		}
	})
}

func withFork(c *agent.Config) {
	store := c.Store.(*jsonl.Store)
	c.Fork = func(ctx context.Context, id string, visit func(session.Event) error) error {
		_, err := store.Read(ctx, id, visit)
		return err
	}
}

// session/fork: a copy that goes on by itself; the original stays as it is.
func TestFork(t *testing.T) {
	bubble(t, options{config: withFork, raw: true}, func(r *rig) {
		if c := initialize(t, r, acp.ClientCapabilities{}).AgentCapabilities; c.SessionCapabilities.Fork == nil {
			t.Error("fork is not advertised")
		}
		id := r.open()
		asks := r.permissions(acp.PermissionOptionKindAllowAlways)
		r.model.add(calls("Writing.", toolCall{"c", "write", args("file_path", "a.txt", "content", "a")}), says("done"))
		r.say(id, "one", acp.StopReasonEndTurn)
		r.set(id, "mode", "acceptEdits")
		before, err := os.ReadFile(filepath.Join(r.state, id+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var res acp.ForkSessionResponse
		r.call(acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: r.dir}, &res)
		if res.SessionID == id || res.Modes.CurrentModeID != "acceptEdits" || len(r.sessions()) != 2 {
			t.Errorf("the fork: %+v", res)
		}
		r.say(res.SessionID, "two", acp.StopReasonEndTurn)
		if got := allText(r.model.request(t, -1)); !strings.Contains(got, "one") || !strings.Contains(got, "two") {
			t.Errorf("the fork's request: %q", got)
		}
		paired(t, r.model.request(t, -1))
		if after, err := os.ReadFile(filepath.Join(r.state, id+".jsonl")); err != nil || string(after) != string(before) {
			t.Errorf("the original changed: %v", err)
		}
		// Both come back, apart; the copy knows its parent.
		r.close(res.SessionID)
		n := len(r.Updates(res.SessionID))
		r.load(res.SessionID)
		if got := strings.Join(conversation(r.Updates(res.SessionID)[n:]), "\n"); !strings.Contains(got, "one") || !strings.Contains(got, "two") || !strings.Contains(got, "a.txt") {
			t.Errorf("the fork shows:\n%s", got)
		}
		infos, err := r.store.List(r.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range infos {
			if want := map[bool]string{true: id}[in.ID == res.SessionID]; in.Parent != want {
				t.Errorf("%s has the parent %q, want %q", in.ID, in.Parent, want)
			}
		}
		if asks.count() != 1 {
			t.Errorf("asked %d times", asks.count())
		}
		r.refused(acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: "none", Cwd: r.dir}, -32002)
		r.refused(acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: "rel"}, -32602)
		if len(r.sessions()) != 2 {
			t.Errorf("a refused fork left a session: %v", r.sessions())
		}
		r.model.add(hangs("begun"))
		p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
		r.seenText(id, "begun")
		r.refused(acp.MethodSessionFork, &acp.ForkSessionRequest{SessionID: id, Cwd: r.dir}, -32600)
		r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
		r.stops(p, acp.StopReasonCancelled)
	})
}

// A session whose log has failed can be closed; the failure is told once, by what
// met it first, with what to do.
func TestFailedLogIsToldOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be deleted there")
	}
	remove := func(r *rig, id string) {
		t.Helper()
		path, err := r.store.Path(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	told := func(what string, e *acp.Error) {
		t.Helper()
		for _, w := range []string{"deleted", "put the file back"} {
			if text := e.Message + string(mustJSON(e.Data)); !strings.Contains(text, w) {
				t.Errorf("%s: %s does not say %q", what, text, w)
			}
		}
	}
	bubble(t, options{}, func(r *rig) {
		id := r.open()
		r.say(id, "hi", acp.StopReasonEndTurn)
		remove(r, id)
		told("the prompt", r.refused(acp.MethodSessionPrompt, textPrompt(id, "more"), -32603))
		told("the next one", r.refused(acp.MethodSessionPrompt, textPrompt(id, "more"), -32603))
		r.close(id)
		r.refused(acp.MethodSessionPrompt, textPrompt(id, "more"), -32002)
		r.close(id) // there is nothing left to do

		// Where nothing has met it before, the close tells.
		id = r.open()
		r.say(id, "hi", acp.StopReasonEndTurn)
		remove(r, id)
		told("the close", r.refused(acp.MethodSessionClose, &acp.CloseSessionRequest{SessionID: id}, -32603))
		r.close(id)
		if r.build.closed != 2 {
			t.Errorf("%d of 2 sessions have freed what they hold", r.build.closed)
		}
	})
}

// A loaded conversation shows the command that the person typed, not what its file
// says.
func TestLoadShowsTheCommand(t *testing.T) {
	bubble(t, options{}, func(r *rig) {
		r.write(".commands/fix.md", "Fix $ARGUMENTS, please.")
		id := r.open()
		r.say(id, "/fix  the parser\n", acp.StopReasonEndTurn)
		r.close(id)
		r.load(id)
		var got []string
		for _, u := range r.Updates(id) {
			if u.UserMessageChunk != nil {
				got = append(got, u.UserMessageChunk.Content.Text.Text)
			}
		}
		if len(got) != 1 || got[0] != "/fix  the parser\n" {
			t.Errorf("%q", got)
		}
	})
}

// A session/new that is taken back while it is served leaves nothing behind, neither
// a session that nobody knows of nor its log: it is answered with that session, or
// there is none.
func TestNewSessionThatIsTakenBack(t *testing.T) {
	const times = 20 // whether the end of the request is seen in time is a matter of chance
	var takeBack func()
	hold := func(c loop.Config) loop.Config {
		c.OnOpen = func(*loop.Session) { takeBack(); synctest.Wait() }
		return c
	}
	bubble(t, options{hold: hold}, func(r *rig) {
		for n := range times {
			id := acp.RequestId(strconv.Itoa(1000 + n))
			takeBack = func() { r.Notify(acp.MethodCancelRequest, &acp.CancelRequestNotification{RequestID: id}) }
			p := r.GoID(id, acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, McpServers: []acp.McpServer{}})
			var made acp.NewSessionResponse
			switch err := p.Wait(r.t.Context(), &made); {
			case err == nil:
				r.call(acp.MethodSessionDelete, &acp.DeleteSessionRequest{SessionID: made.SessionID}, nil)
			case !errors.Is(err, acp.RequestCancelled()):
				t.Errorf("the answer is %v", err)
			}
		}
		if r.build.closed != times {
			t.Errorf("%d of %d sessions were closed", r.build.closed, times)
		}
		if left := r.list(""); len(left) > 0 {
			t.Errorf("logs are left of %q", left)
		}
	})
}

// What was taken back before its log could be made or read is no fault of the agent's.
func TestTakenBackBeforeTheStore(t *testing.T) {
	bubble(t, options{config: func(c *agent.Config) { c.Store = takenBack{c.Store} }}, func(r *rig) {
		r.refused(acp.MethodSessionNew, &acp.NewSessionRequest{Cwd: r.dir, McpServers: []acp.McpServer{}}, acp.CodeRequestCancelled)
		r.refused(acp.MethodSessionLoad, &acp.LoadSessionRequest{SessionID: "s", Cwd: r.dir, McpServers: []acp.McpServer{}}, acp.CodeRequestCancelled)
	})
}

// takenBack is a store whose requests have all been taken back.
type takenBack struct{ session.Store }

// Create implements session.Store.
func (takenBack) Create(context.Context, session.Header) (session.Log, error) {
	return nil, fmt.Errorf("creating a log: %w", context.Canceled)
}

// Open implements session.Store.
func (takenBack) Open(context.Context, string, func(session.Event) error) (session.Log, *session.State, error) {
	return nil, nil, fmt.Errorf("reading a log: %w", context.Canceled)
}
