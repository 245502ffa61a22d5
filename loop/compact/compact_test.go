package compact

import (
	"strings"
	"testing"

	"acp-agent/session"
)

func user(s string) session.Message {
	return session.Message{Role: session.RoleUser, Content: []session.Block{session.Text(s)}}
}

func calling(id string) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: []session.Block{{Type: session.BlockToolCall, ID: id, Name: "read"}}}
}

func result(id string, size int) session.Message {
	return session.Message{Role: session.RoleTool, Content: []session.Block{{Type: session.BlockToolResult, CallID: id, Content: []session.Block{session.Text(strings.Repeat("x", size))}}}}
}

func says(s string) session.Message {
	return session.Message{Role: session.RoleAssistant, Content: []session.Block{session.Text(s)}}
}

// The output budget counts: 256 000 of a window of 1 048 576 overflow a request
// at 792 k input, below 80 % of the window (deepseek-harness, user reports, humanize2#15).
func TestDueCountsTheOutputBudget(t *testing.T) {
	tests := []struct {
		used, window, output int64
		want                 bool
	}{
		{700_000, 1_048_576, 256_000, false},
		{745_000, 1_048_576, 256_000, true},
		{745_000, 1_048_576, 8_000, false},
		{840_000, 1_048_576, 8_000, true},
		{1 << 40, 0, 0, false},
	}
	for _, tc := range tests {
		if got := Due(tc.used, 0, tc.window, tc.output); got != tc.want {
			t.Errorf("Due(%d, 0, %d, %d) = %v", tc.used, tc.window, tc.output, got)
		}
	}
	if !Due(700_000, 50_000, 1_048_576, 256_000) {
		t.Error("what was added since the last call is not counted")
	}
}

func TestCutKeepsCallsAndResultsTogether(t *testing.T) {
	msgs := []session.Message{
		user("one"), calling("a"), result("a", 10), says("done"),
		user("two"), calling("b"), result("b", 10), calling("c"), result("c", 10),
	}
	if got := Cut(msgs, 100_000); got != 4 {
		t.Errorf("cut at %d, want before the newest prompt", got)
	}
	big := append(append([]session.Message{}, msgs[:6]...), result("b", 400_000), calling("c"), result("c", 10))
	if got := Cut(big, 100_000); got != 7 {
		t.Errorf("cut at %d, want the newest whole step kept", got)
	}
	huge := append(append([]session.Message{}, msgs[:8]...), result("c", 400_000))
	if got := Cut(huge, 100_000); got != len(huge) {
		t.Errorf("cut at %d, want everything", got)
	}
	for w := int64(1); w < 1<<20; w *= 2 {
		for n := range len(big) {
			if c := Cut(big[:n], w); c < n && c > 0 && big[c].Role == session.RoleTool {
				t.Fatalf("window %d, %d messages: cut %d parts a result from its call", w, n, c)
			}
		}
	}
	if got := Cut([]session.Message{user("only")}, 100_000); got != 0 {
		t.Errorf("cut %d of a single message", got)
	}
}

// What has just been asked is never replaced by a summary, whatever its size, and
// neither is what a hook added to it.
func TestCutKeepsAnUnansweredPrompt(t *testing.T) {
	before := []session.Message{user("one"), calling("a"), result("a", 10), says("done")}
	long := user(strings.Repeat("x", 1_000_000))
	for name, tail := range map[string][]session.Message{
		"long":              {long},
		"with a long note":  {user("two"), long},
		"with a short note": {long, user("context")},
		"short":             {user("two"), user("context")},
	} {
		if got := Cut(append(before[:4:4], tail...), 100_000); got != len(before) {
			t.Errorf("%s: cut at %d, want %d", name, got, len(before))
		}
		if got := Cut(tail, 100_000); got != 0 {
			t.Errorf("%s alone: cut at %d", name, got)
		}
	}
}
