package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"acp-agent/acp"
	"acp-agent/acp/acptest"
	"acp-agent/session"
)

// services are a client's files, terminals and forms. Every call is checked for
// what each must have: the session that was returned, absolute paths, an open
// terminal.
type services struct {
	t  *testing.T
	mu sync.Mutex
	// sessions that the client has been told of; nil takes any.
	calls    []string
	open     map[string]bool
	created  int
	released int
	// form answers elicitations; nil answers them with cancel.
	form func(*acp.CreateElicitationRequest) *acp.CreateElicitationResponse
	// exit is closed to let terminals end; nil lets them end at once.
	exit  chan struct{}
	forms []*acp.CreateElicitationRequest
	// buffers are unsaved texts by path.
	buffers map[string]string
	envs    [][]acp.EnvVariable
}

// serve makes the client of the rig offer what it advertised.
func serve(r *rig, caps acp.ClientCapabilities) *services {
	s := &services{t: r.t, open: map[string]bool{}, buffers: map[string]string{}}
	if caps.FS.ReadTextFile {
		acptest.Handle(r.Client, acp.MethodFSReadTextFile, s.read)
	}
	if caps.FS.WriteTextFile {
		acptest.Handle(r.Client, acp.MethodFSWriteTextFile, s.write)
	}
	if caps.Terminal {
		acptest.Handle(r.Client, acp.MethodTerminalCreate, s.create)
		acptest.Handle(r.Client, acp.MethodTerminalOutput, s.output)
		acptest.Handle(r.Client, acp.MethodTerminalWaitForExit, s.wait)
		acptest.Handle(r.Client, acp.MethodTerminalKill, s.kill)
		acptest.Handle(r.Client, acp.MethodTerminalRelease, s.release)
	}
	if caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL != nil) {
		acptest.Handle(r.Client, acp.MethodElicitationCreate, s.elicit)
	}
	return s
}

func (s *services) note(method, id, path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, method)
	if !strings.HasPrefix(id, "id-") {
		s.t.Errorf("%s names the session %q", method, id)
	}
	if path != "" && !filepath.IsAbs(path) {
		s.t.Errorf("%s has the relative path %q", method, path)
	}
}

func (s *services) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == method {
			n++
		}
	}
	return n
}

func (s *services) read(_ context.Context, p *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	s.note(acp.MethodFSReadTextFile, p.SessionID, p.Path)
	s.mu.Lock()
	text, ok := s.buffers[p.Path]
	s.mu.Unlock()
	if ok {
		return &acp.ReadTextFileResponse{Content: text}, nil
	}
	data, err := os.ReadFile(p.Path)
	if err != nil {
		return nil, &acp.Error{Code: -32002, Message: "no such file"}
	}
	return &acp.ReadTextFileResponse{Content: string(data)}, nil
}

func (s *services) write(_ context.Context, p *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	s.note(acp.MethodFSWriteTextFile, p.SessionID, p.Path)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.buffers[p.Path]; ok {
		s.buffers[p.Path] = p.Content
	}
	return &acp.WriteTextFileResponse{}, os.WriteFile(p.Path, []byte(p.Content), 0o644)
}

func (s *services) create(_ context.Context, p *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	s.note(acp.MethodTerminalCreate, p.SessionID, p.Cwd)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.created++
	s.envs = append(s.envs, p.Env)
	id := fmt.Sprintf("term-%d", s.created)
	s.open[id] = true
	return &acp.CreateTerminalResponse{TerminalID: id}, nil
}

func (s *services) alive(method, session, id string) error {
	s.note(method, session, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[id] {
		s.t.Errorf("%s of the terminal %q, which is not open", method, id)
		return &acp.Error{Code: -32602, Message: "no such terminal"}
	}
	return nil
}

func (s *services) output(_ context.Context, p *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	return &acp.TerminalOutputResponse{Output: "from the terminal\n"}, s.alive(acp.MethodTerminalOutput, p.SessionID, p.TerminalID)
}

func (s *services) wait(ctx context.Context, p *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err // taken back before this goroutine began; the terminal may be gone
	}
	if err := s.alive(acp.MethodTerminalWaitForExit, p.SessionID, p.TerminalID); err != nil {
		return nil, err
	}
	if s.exit != nil {
		select {
		case <-s.exit:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	code := uint32(0)
	return &acp.WaitForTerminalExitResponse{ExitCode: &code}, nil
}

func (s *services) kill(_ context.Context, p *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	return &acp.KillTerminalResponse{}, s.alive(acp.MethodTerminalKill, p.SessionID, p.TerminalID)
}

func (s *services) release(_ context.Context, p *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	err := s.alive(acp.MethodTerminalRelease, p.SessionID, p.TerminalID)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, p.TerminalID)
	s.released++
	return &acp.ReleaseTerminalResponse{}, err
}

func (s *services) elicit(_ context.Context, p *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	s.mu.Lock()
	s.forms = append(s.forms, p)
	form := s.form
	s.mu.Unlock()
	if form == nil {
		return &acp.CreateElicitationResponse{Action: acp.ElicitationCancel}, nil
	}
	return form(p), nil
}

// everyService runs a turn that reads, writes, edits, runs a command and asks:
// all that a client could offer a service for. Everything but the question must
// work.
func everyService(t *testing.T, r *rig) {
	t.Helper()
	everyServiceOn(t, r, func(id, text string) {
		if id != "c5" {
			t.Errorf("call %s failed: %s", id, text)
		}
	})
}

// everyServiceOn is everyService with a say in what may fail.
func everyServiceOn(t *testing.T, r *rig, failed func(id, text string)) {
	t.Helper()
	r.write("a.txt", "one\n")
	r.permissions(acp.PermissionOptionKindAllowOnce)
	id := r.open()
	asks := toolCall{"c5", "ask_user", args("questions", []any{map[string]any{"question": "Why?"}})}
	r.model.add(
		calls("", toolCall{"c1", "read", args("file_path", "a.txt")}),
		calls("", toolCall{"c2", "edit", args("file_path", "a.txt", "old_string", "one", "new_string", "two")}),
		calls("", toolCall{"c3", "write", args("file_path", "b.txt", "content", "new\n")}, toolCall{"c4", "bash", args("command", "echo hi")}, asks),
		calls("", toolCall{"c6", "todo_write", args("todos", []any{map[string]any{"content": "x", "status": "pending"}})}),
		says("done"))
	r.say(id, "go", acp.StopReasonEndTurn)
	if r.model.asked() != 5 {
		t.Errorf("the model was asked %d times", r.model.asked())
	}
	req := r.model.request(t, -1)
	for _, m := range req.Messages {
		if m.Role == session.RoleTool && m.Content[0].IsError {
			failed(m.Content[0].CallID, results(req)[m.Content[0].CallID])
		}
	}
}

// everyCombination runs the same turn with each set of client services.
func everyCombination(t *testing.T) {
	for bits := range 1 << 4 { // three services of their own, and the rest together
		has := func(n int) bool { return bits>>n&1 == 1 }
		var caps acp.ClientCapabilities
		caps.FS.ReadTextFile, caps.FS.WriteTextFile, caps.Terminal = has(0), has(1), has(2)
		if has(3) {
			caps.Session = &acp.ClientSessionCapabilities{Notices: &acp.NoticeCapabilities{}, Compaction: &acp.CompactionCapabilities{}}
		}
		if has(3) {
			caps.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}
		}
		if has(3) {
			caps.Plan = &acp.PlanCapabilities{}
		}
		t.Run(fmt.Sprintf("%04b", bits), func(t *testing.T) {
			bubble(t, options{caps: caps}, func(r *rig) {
				s := serve(r, caps)
				everyService(t, r)
				for method, allowed := range map[string]bool{
					acp.MethodFSReadTextFile: has(0), acp.MethodFSWriteTextFile: has(1), acp.MethodTerminalCreate: has(2), acp.MethodElicitationCreate: has(3),
				} {
					n := 0
					for _, f := range r.Frames() {
						if f.Msg.Method == method {
							n++
						}
					}
					if (n > 0) != allowed {
						t.Errorf("%s was called %d times; offered: %v", method, n, allowed)
					}
				}
				if s.created != s.released || len(s.open) > 0 {
					t.Errorf("%d terminals created, %d released", s.created, s.released)
				}
				r.holds(filepath.Join(r.dir, "a.txt"), "two\n")
				r.holds(filepath.Join(r.dir, "b.txt"), "new\n")
			})
		})
	}
}

// A client that makes a terminal only after the command has been given up is told
// to release it all the same.
func TestLateTerminalIsReleased(t *testing.T) {
	for _, name := range []string{"cancel", "time limit"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, options{caps: terminalCaps()}, func(r *rig) {
				s := serve(r, terminalCaps())
				slow := make(chan struct{})
				acptest.Handle(r.Client, acp.MethodTerminalCreate, func(ctx context.Context, p *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
					<-slow
					return s.create(ctx, p)
				})
				id := r.open()
				r.permissions(acp.PermissionOptionKindAllowOnce)
				r.model.add(calls("", toolCall{"c", "bash", args("command", "make", "timeoutMs", 300)}), says("ok"))
				p := r.Go(acp.MethodSessionPrompt, textPrompt(id, "go"))
				r.WaitFrame(r.t.Context(), 0, func(f acptest.Frame) bool { return f.Msg.Method == acp.MethodTerminalCreate })
				if name == "cancel" {
					r.Notify(acp.MethodSessionCancel, &acp.CancelNotification{SessionID: id})
					r.stops(p, acp.StopReasonCancelled)
				} else {
					r.stops(p, acp.StopReasonEndTurn)
				}
				close(slow)
				settle(r)
				if s.created != 1 || s.released != 1 {
					t.Errorf("%d created, %d released: %v", s.created, s.released, s.calls)
				}
			})
		})
	}
}
