package snapshots

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// driver carries out the steps of one scenario.
type driver struct {
	c     *client
	in    *Input
	place place
	// sessions are the ids in the order of their creation; refs name them.
	sessions []string
	refs     map[string]string
	prompts  []int
	seen     map[string]int // update kinds that a waitForUpdate has consumed
	// lenient accepts an end of turn other than the recorded one: a foreign
	// agent's is compared later.
	lenient bool
	// reference: the scenario is a recording of the reference system, from which
	// this project differs on purpose; notes say where it did.
	reference bool
	notes     []string
}

// play runs all steps, in order.
func (d *driver) play(ctx context.Context) error {
	for i := range d.in.Steps {
		s := &d.in.Steps[i]
		if err := d.step(ctx, s); err != nil {
			return fmt.Errorf("%s step %d (%s): %w", inputFile, i+1, s.Op, err)
		}
	}
	for _, id := range d.prompts {
		if _, err := d.c.answer(ctx, id); err != nil {
			return fmt.Errorf("after the last step: %w", err)
		}
	}
	return nil
}

func (d *driver) step(ctx context.Context, s *Step) error {
	switch s.Op {
	case "initialize":
		return d.initialize(ctx, s)
	case "newSession", "newSessionExpectError":
		return d.newSession(ctx, s)
	case "loadSession", "closeSession":
		return d.onSession(ctx, s)
	case "prompt", "promptContent", "promptExpectError", "promptAsync", "promptAndCancel", "promptAndWaitForAgentMessage":
		return d.prompt(ctx, s)
	case "cancel":
		return d.cancel(ctx, s)
	case "setMode":
		return d.call(ctx, s, "session/set_mode", map[string]any{"modeId": s.ModeID})
	case "setConfigOption":
		return d.call(ctx, s, "session/set_config_option", map[string]any{"configId": s.ConfigID, "value": s.Value})
	case "request":
		return d.request(ctx, s)
	case "notify":
		d.c.notify(s.Method, d.value(s.Params))
		return nil
	case "rawLine":
		return d.rawLine(ctx, s)
	case "writeFile":
		return d.writeFile(ctx, s)
	case "closeInput":
		d.c.out.close()
		return nil
	}
	return d.wait(ctx, s)
}

func (d *driver) wait(ctx context.Context, s *Step) error {
	switch s.Op {
	case "waitForFile":
		return d.file(ctx, s.Path)
	case "waitForText":
		return d.c.await(ctx, "the text "+strconv.Quote(s.Text), func() bool { return strings.Contains(d.c.said(), s.Text) })
	case "waitForUpdate":
		n := d.seen[s.Kind]
		d.seen[s.Kind]++
		return d.c.await(ctx, "an update of kind "+s.Kind, func() bool { return d.updates(s.Kind) > n })
	case "waitForLogEvent":
		return d.logEvent(ctx, s.Type, max(1, s.Count))
	case "waitForRequest":
		return d.modelAsked(ctx, max(1, s.Count))
	case "waitForTurnStart":
		return d.logEvent(ctx, "turn/start", max(1, s.MinimumTurn))
	case "waitForTurnEnd":
		for _, id := range d.prompts {
			if _, err := d.c.answer(ctx, id); err != nil {
				return err
			}
		}
		d.prompts = nil
		return nil
	}
	return fmt.Errorf("unknown op %q", s.Op)
}

func (d *driver) updates(kind string) int {
	n := 0
	for _, f := range d.c.frames {
		if f.text("params", "update", "sessionUpdate") == kind {
			n++
		}
	}
	return n
}

func (d *driver) file(ctx context.Context, path string) error {
	full := filepath.Join(d.place.cwd, filepath.FromSlash(path))
	return d.c.poll(ctx, "the file "+path, func() bool {
		_, err := os.Lstat(full)
		return err == nil
	})
}

// writeFile writes a file of the working directory, its folders too. For a named
// pipe it waits until somebody reads.
func (d *driver) writeFile(ctx context.Context, s *Step) error {
	if !filepath.IsLocal(filepath.FromSlash(s.Path)) {
		return fmt.Errorf("path %q leaves the working directory", s.Path)
	}
	full := filepath.Join(d.place.cwd, filepath.FromSlash(s.Path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	var werr error
	err := d.c.poll(ctx, "somebody who reads "+s.Path, func() bool {
		werr = writeAtOnce(full, d.expand(s.Text))
		return !errors.Is(werr, syscall.ENXIO)
	})
	return cmp.Or(err, werr)
}

// writeAtOnce fails with ENXIO where a pipe has no reader.
func writeAtOnce(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	return cmp.Or(err, f.Close())
}

// logEvent waits until the logs hold n events of a type. The log is the one
// place that shows what the wire does not (a request that went out, a retry).
func (d *driver) logEvent(ctx context.Context, typ string, n int) error {
	mark := `"type":` + text(typ).String()
	return d.c.poll(ctx, "the log event "+typ, func() bool {
		found := 0
		files, _ := filepath.Glob(filepath.Join(d.place.state, "sessions", "*.jsonl"))
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err == nil {
				found += strings.Count(string(data), mark)
			}
		}
		return found >= n
	})
}

// modelAsked waits until the model was sent n requests. Unlike request/sent in
// the log, which precedes it, this says that the request is out.
func (d *driver) modelAsked(ctx context.Context, n int) error {
	return d.c.poll(ctx, fmt.Sprintf("model request %d", n), func() bool {
		data, err := os.ReadFile(d.place.requests)
		return err == nil && strings.Count(string(data), "\n") >= n
	})
}

func (d *driver) initialize(ctx context.Context, s *Step) error {
	params := map[string]any{
		"protocolVersion":    max(1, s.ProtocolVersion),
		"clientCapabilities": s.ClientCapabilities,
		"clientInfo":         map[string]any{"name": "acp-agent-snapshots", "version": "1"},
	}
	switch {
	case s.ClientCapabilities != nil:
	case d.reference:
		// What the reference says to nobody must not look like the model's text.
		params["clientCapabilities"] = map[string]any{"session": map[string]any{"notices": map[string]any{}}}
	default:
		params["clientCapabilities"] = map[string]any{}
	}
	return d.expect(ctx, "initialize", "", params, nil)
}

func (d *driver) newSession(ctx context.Context, s *Step) error {
	servers := s.MCPServers
	if servers == nil {
		servers = []any{}
	}
	params := map[string]any{"cwd": filepath.Join(d.place.cwd, filepath.FromSlash(s.Cwd)), "mcpServers": servers}
	if len(s.AdditionalDirectories) > 0 {
		params["additionalDirectories"] = s.AdditionalDirectories
	}
	wrong := s.ExpectErrorCode
	if s.Op == "newSessionExpectError" && wrong == nil {
		wrong = anyError
	}
	got, err := d.c.answer(ctx, d.c.request("session/new", "", d.value(params)))
	if err != nil {
		return err
	}
	if d.reference && wrong != nil && got.get("error") == nil && (len(s.AdditionalDirectories) > 0 || s.MCPServers != nil) {
		wrong = nil
		d.notes = append(d.notes, whyDirectories)
	}
	if err := checkAnswer(got, wrong); err != nil || wrong != nil {
		return err
	}
	id := got.text("result", "sessionId")
	if id == "" {
		return errors.New("session/new was answered without a sessionId")
	}
	d.sessions = append(d.sessions, id)
	if s.Ref != "" {
		d.refs[s.Ref] = id
	}
	return nil
}

// session returns the id that a step means.
func (d *driver) session(s *Step) (string, error) {
	if s.Session != "" {
		id, ok := d.refs[s.Session]
		if !ok {
			return "", fmt.Errorf("no session has the ref %q", s.Session)
		}
		return id, nil
	}
	if len(d.sessions) == 0 {
		return "", errors.New("there is no session yet: put newSession before it")
	}
	return d.sessions[len(d.sessions)-1], nil
}

func (d *driver) onSession(ctx context.Context, s *Step) error {
	if s.Op == "closeSession" {
		return d.call(ctx, s, "session/close", map[string]any{})
	}
	return d.call(ctx, s, "session/load", map[string]any{"cwd": d.place.cwd, "mcpServers": []any{}})
}

// call sends a request about a session and waits for its answer.
func (d *driver) call(ctx context.Context, s *Step, method string, params map[string]any) error {
	id, err := d.session(s)
	if err != nil {
		return err
	}
	params["sessionId"] = id
	return d.expect(ctx, method, id, params, s.ExpectErrorCode)
}

func (d *driver) request(ctx context.Context, s *Step) error {
	params := d.value(s.Params)
	_, err := d.sendValue(ctx, s.Method, params.text("sessionId"), params, s.ExpectErrorCode)
	return err
}

func (d *driver) rawLine(ctx context.Context, s *Step) error {
	d.c.mu.Lock()
	from := len(d.c.frames)
	d.c.mu.Unlock()
	d.c.out.line(d.expand(s.Line))
	if s.Expect == nil {
		return nil
	}
	want := d.value(s.Expect)
	return d.c.await(ctx, "a frame with "+want.String(), func() bool {
		for _, f := range d.c.frames[from:] {
			if holds(f, want) {
				return true
			}
		}
		return false
	})
}

// holds reports whether a value has all that want has, members beyond it aside.
func holds(v, want *value) bool {
	if want.kind != objectValue {
		return v != nil && equal(want, v)
	}
	for _, m := range want.members {
		if !holds(v.member(m.key), m.val) {
			return false
		}
	}
	return v != nil
}

func (d *driver) prompt(ctx context.Context, s *Step) error {
	id, err := d.session(s)
	if err != nil {
		return err
	}
	content := s.Content
	if s.Op != "promptContent" {
		content = []any{map[string]any{"type": "text", "text": s.Text}}
	}
	if s.Op == "promptAndCancel" && s.WaitForPermission {
		d.c.mu.Lock()
		d.c.hold = true
		d.c.mu.Unlock()
	}
	params := d.value(map[string]any{"sessionId": id, "prompt": content})
	n := d.c.request("session/prompt", id, params)
	switch s.Op {
	case "promptAsync":
		d.prompts = append(d.prompts, n)
		return nil
	case "promptAndWaitForAgentMessage":
		d.prompts = append(d.prompts, n)
		return d.wait(ctx, &Step{Op: "waitForText", Text: s.WaitForText})
	case "promptAndCancel":
		if err := d.cancel(ctx, s); err != nil {
			return err
		}
		got, err := d.c.answer(ctx, n)
		d.c.mu.Lock()
		d.c.hold = false
		d.c.mu.Unlock()
		if err != nil || d.lenient {
			return err
		}
		return wantStop(got, "cancelled")
	}
	got, err := d.c.answer(ctx, n)
	switch {
	case err != nil || d.lenient:
		return err
	case s.Op == "promptExpectError" && s.ExpectErrorCode == nil:
		return checkAnswer(got, anyError)
	case s.Op == "promptExpectError":
		return checkAnswer(got, s.ExpectErrorCode)
	case s.ExpectStopReason != "":
		return wantStop(got, s.ExpectStopReason)
	}
	return checkAnswer(got, nil)
}

func wantStop(got record, reason string) error {
	if err := checkAnswer(got, nil); err != nil {
		return err
	}
	if r := got.text("result", "stopReason"); r != reason {
		return fmt.Errorf("the prompt ended with %q, not %q", r, reason)
	}
	return nil
}

// cancel waits for the step's occasion and cancels the turn.
func (d *driver) cancel(ctx context.Context, s *Step) error {
	id, err := d.session(s)
	if err != nil {
		return err
	}
	switch {
	case s.WaitForFile != nil:
		err = d.file(ctx, s.WaitForFile.Path)
	case s.WaitForText != "":
		err = d.wait(ctx, &Step{Op: "waitForText", Text: s.WaitForText})
	case s.WaitForLogEvent != "":
		err = d.logEvent(ctx, s.WaitForLogEvent, 1)
	case s.WaitForRequest > 0:
		err = d.modelAsked(ctx, s.WaitForRequest)
	case s.WaitForElicitation:
		err = d.c.await(ctx, "an elicitation that is held", func() bool { return len(d.c.held) > 0 })
	case s.WaitForPermission:
		err = d.c.await(ctx, "a permission question", func() bool { return len(d.c.held) > 0 })
	case s.WaitForToolCall != "":
		err = d.c.await(ctx, "the tool call "+s.WaitForToolCall, func() bool {
			for _, f := range d.c.frames {
				if f.text("params", "update", "toolCallId") == s.WaitForToolCall {
					return true
				}
			}
			return false
		})
	}
	if err != nil {
		return err
	}
	d.c.notify("session/cancel", d.value(map[string]any{"sessionId": id}))
	return nil
}

// anyError stands for an error of any code.
var anyError = new(int)

func (d *driver) expect(ctx context.Context, method, sessionID string, params map[string]any, wrong *int) error {
	_, err := d.send(ctx, method, sessionID, params, wrong)
	return err
}

func (d *driver) send(ctx context.Context, method, sessionID string, params map[string]any, wrong *int) (record, error) {
	return d.sendValue(ctx, method, sessionID, d.value(params), wrong)
}

func (d *driver) sendValue(ctx context.Context, method, sessionID string, params *value, wrong *int) (record, error) {
	got, err := d.c.answer(ctx, d.c.request(method, sessionID, params))
	if err != nil {
		return nil, err
	}
	return got, checkAnswer(got, wrong)
}

func checkAnswer(got record, wrong *int) error {
	fault := got.get("error")
	switch {
	case wrong == nil && fault != nil:
		return fmt.Errorf("answered with an error: %s", clip(fault.String()))
	case wrong != nil && fault == nil:
		return fmt.Errorf("answered %s where an error was expected", clip(got.get("result").String()))
	case wrong != nil && wrong != anyError && fault.get("code").String() != strconv.Itoa(*wrong):
		return fmt.Errorf("answered with code %s, not %d: %s", fault.get("code"), *wrong, clip(fault.String()))
	}
	return nil
}

// value turns a Go value into JSON with the placeholders filled in.
func (d *driver) value(v any) *value {
	if v == nil {
		v = map[string]any{}
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic("snapshots: a step does not encode: " + err.Error()) // it was decoded from JSON
	}
	out, err := parseValue(data)
	if err != nil {
		panic("snapshots: a step does not decode: " + err.Error())
	}
	d.fill(out)
	return out
}

func (d *driver) fill(v *value) {
	if v.kind == stringValue {
		v.str = d.expand(v.str)
	}
	for _, item := range v.items {
		d.fill(item)
	}
	for i := range v.members {
		d.fill(v.members[i].val)
	}
}

// expand fills in {{cwd}}, {{home}}, {{state}}, {{scenario}}, {{sessionId}} and
// {{session:REF}}.
func (d *driver) expand(s string) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	s = d.place.expand(s)
	if len(d.sessions) > 0 {
		s = strings.ReplaceAll(s, "{{sessionId}}", d.sessions[len(d.sessions)-1])
	}
	for ref, id := range d.refs {
		s = strings.ReplaceAll(s, "{{session:"+ref+"}}", id)
	}
	return s
}
