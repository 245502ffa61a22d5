package snapshots

import (
	"bytes"
	"encoding/json"
	"fmt"

	"acp-agent/session"
)

// sentRequest is what the log says of one model request. handler is the hook's
// run that made it, empty for the session's own.
type sentRequest struct {
	turn, step, attempt int
	handler             string
	messages            *value
}

// checkLog holds a log of this project to the rules that every log keeps,
// whatever is recorded. It returns the faults, and the requests in order.
func checkLog(name string, data []byte, unknownTool bool) (faults []string, sent []sentRequest) {
	fail := func(format string, args ...any) {
		faults = append(faults, name+": "+fmt.Sprintf(format, args...))
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		fail("its last line has no end")
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	head, err := session.DecodeHeader(lines[0])
	if err != nil {
		fail("%v", err)
		return faults, nil
	}
	state := session.NewState(*head)
	var inquiries session.Inquiries
	for _, line := range lines[1:] {
		ev, err := session.DecodeEvent(line)
		if err != nil {
			fail("%v", err)
			return faults, sent
		}
		if end, ok := ev.Data.(*session.TurnEnd); ok && state.Turn != nil && len(state.Turn.Calls) > 0 {
			fail("turn %d ends with %d tool calls that have no result", end.Turn, len(state.Turn.Calls))
		}
		if err := state.Apply(ev); err != nil {
			fail("%v", err)
			return faults, sent
		}
		inquiry := inquiries.Apply(ev.Data)
		switch d := ev.Data.(type) {
		case *session.HookRequest:
			req := sentRequest{turn: d.Turn, step: d.Round, attempt: d.Attempt, handler: d.HandlerID}
			if digest, err := session.RequestDigest(inquiry.Head, inquiry.Messages); err != nil || digest != d.Digest {
				fail("event %d: the digest of the hook's request is %s and the log up to it has %s", ev.Seq, d.Digest, digest)
			}
			if req.messages, err = messages(inquiry.Messages); err != nil {
				fail("event %d: %v", ev.Seq, err)
			}
			sent = append(sent, req)
		case *session.RequestSent:
			req := sentRequest{turn: d.Turn, step: d.Step, attempt: d.Attempt}
			if digest, err := state.Digest(); err != nil || digest != d.Digest {
				fail("event %d: the request's digest is %s and the log up to it has %s", ev.Seq, d.Digest, digest)
			}
			if req.messages, err = messages(state.Transcript()); err != nil {
				fail("event %d: %v", ev.Seq, err)
			}
			sent = append(sent, req)
		case *session.Compaction:
			if d.Status != "in_progress" || state.Turn == nil {
				break
			}
			req := sentRequest{turn: state.Turn.Number, step: state.Turn.Step, attempt: 1}
			head, asked := state.SummaryRequest(d)
			if digest, err := session.RequestDigest(&head, asked); err != nil || digest != d.Digest {
				fail("event %d: the digest of the summary's request is %s and the log up to it has %s", ev.Seq, d.Digest, digest)
			}
			if req.messages, err = messages(asked); err != nil {
				fail("event %d: %v", ev.Seq, err)
			}
			sent = append(sent, req)
		case *session.ToolResult:
			if d.Meta != nil && d.Meta.NotRun == "unknown" && !unknownTool {
				fail(`event %d: the model called a tool that does not exist: repair the script, or set "unknownTool" in input.json`, ev.Seq)
			}
		case *session.Unknown:
			fail("event %d has the unknown type %q", ev.Seq, d.Kind)
		}
	}
	if state.Turn != nil {
		fail("turn %d is still open at the end", state.Turn.Number)
	}
	return faults, sent
}

func messages(m []session.Message) (*value, error) {
	if m == nil {
		m = []session.Message{}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return parseValue(buf.Bytes())
}

// checkRequests holds the requests that the model was sent against those that
// the logs project to: what the model sees is what is logged. logs are in the
// order of their first request. Hooks ask side by side, so that each has an order
// of its own.
func checkRequests(recorded []record, logs [][]sentRequest) []string {
	var faults []string
	type asker struct {
		session int
		handler string
	}
	left := map[asker][]sentRequest{}
	for i, l := range logs {
		for _, req := range l {
			a := asker{i + 1, req.handler}
			left[a] = append(left[a], req)
		}
	}
	for i, r := range recorded {
		a := asker{1, r.text("handler")}
		fmt.Sscan(r.get("session").String(), &a.session)
		if len(left[a]) == 0 {
			faults = append(faults, fmt.Sprintf("model request %d (session %d%s) is not in the log", i+1, a.session, ofHook(a.handler)))
			continue
		}
		want := left[a][0]
		left[a] = left[a][1:]
		if d := firstDifference(want.messages, r.get("messages"), "messages"); d != nil {
			faults = append(faults, fmt.Sprintf("model request %d (turn %d, step %d%s) is not what the log projects to:\n%v", i+1, want.turn, want.step, ofHook(a.handler), d))
		}
	}
	for i, l := range logs {
		rest := 0
		for a, reqs := range left {
			if a.session == i+1 {
				rest += len(reqs)
			}
		}
		if rest > 0 {
			faults = append(faults, fmt.Sprintf("the log of session %d has %d requests and the model was sent %d", i+1, len(l), len(l)-rest))
		}
	}
	return faults
}

func ofHook(handler string) string {
	if handler == "" {
		return ""
	}
	return ", hook " + handler
}
