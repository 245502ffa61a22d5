package snapshots

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// foreignSkips says why a scenario asks for more than any ACP agent has, empty
// when it does not: hooks whose file the agent's command does not name, and
// waits on this project's own log and request record.
func foreignSkips(s *Scenario, agent []string) string {
	for _, name := range []string{claudeHooksFile, codexHooksFile} {
		if _, err := os.Stat(filepath.Join(s.Dir, workspaceDir, name)); err == nil && !strings.Contains(strings.Join(agent, " "), name) {
			return "it needs hooks: name {{cwd}}/" + name + " in the agent's command to run it"
		}
	}
	for _, st := range s.Input.Steps {
		if st.WaitForLogEvent != "" || st.WaitForRequest > 0 || st.Op == "waitForLogEvent" || st.Op == "waitForRequest" || st.Op == "waitForTurnStart" {
			return "it waits on the log or the requests of this project's agent"
		}
	}
	return ""
}

// turnResult is what any ACP agent and this one share of a turn.
type turnResult struct {
	text string
	// answer is the stop reason, or error and its code.
	answer string
}

// turnResults reads the turns off the wire: the text that was said in the
// session up to each answer of session/prompt. isPrompt tells which answers
// those are.
func turnResults(frames []record, isPrompt func(id string, f record) bool) []turnResult {
	var out []turnResult
	var said strings.Builder
	for _, f := range frames {
		switch {
		case f.text("params", "update", "sessionUpdate") == "agent_message_chunk":
			said.WriteString(f.text("params", "update", "content", "text"))
		case f.get("method") == nil && isPrompt(f.get("id").String(), f):
			t := turnResult{text: said.String(), answer: f.text("result", "stopReason")}
			if e := f.get("error"); e != nil {
				t.answer = "error " + e.get("code").String()
			}
			out = append(out, t)
			said.Reset()
		}
	}
	return out
}

// promptOf tells a run's answers of session/prompt by the requests that the
// client made.
func (g *got) promptOf(id string, _ record) bool {
	n, err := strconv.Atoi(id)
	return err == nil && g.calls[n].method == "session/prompt"
}

// compareForeign compares what a foreign agent shares with the recording: how
// each prompt was answered and what was said in it. Its ids, tool cards,
// thoughts, log and requests are its own.
func compareForeign(s *Scenario, g *got) []Difference {
	recorded, err := parseLines(wireFile, s.expected[wireFile])
	if err != nil {
		return []Difference{{wireFile, "", "JSON lines", err.Error()}}
	}
	// The client numbers its requests by the steps, so that the ids agree.
	return compareTurns(turnResults(recorded, g.promptOf), turnResults(g.frames, g.promptOf))
}

func compareTurns(want, have []turnResult) []Difference {
	var out []Difference
	for i := range max(len(want), len(have)) {
		at := fmt.Sprintf("prompt %d", i+1)
		switch {
		case i >= len(want):
			out = append(out, Difference{wireFile, at, "no such prompt", have[i].answer})
		case i >= len(have):
			out = append(out, Difference{wireFile, at, want[i].answer, "no answer"})
		default:
			if want[i].answer != have[i].answer {
				out = append(out, Difference{wireFile, at + " answer", want[i].answer, have[i].answer})
			}
			if want[i].text != have[i].text {
				out = append(out, Difference{wireFile, at + " text", strconv.Quote(want[i].text), strconv.Quote(have[i].text)})
			}
		}
	}
	return out
}
