package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"acp-agent/session"
)

// fakeModels is a server of all wires at once, for tests that need a model's
// provider and not a model. It answers by a script that the prompts name, is as
// strict about histories as the providers are, and can be made to fail.
//
//	say N    thinks, then says "said N"
//	work N   thinks, says something, calls look twice at once; after the results
//	         it says "worked N" and what it was given
//
// The provider is the first element of the path: deepseek, openai (Chat
// Completions), anthropic (Messages) and gpt (Responses).
type fakeModels struct {
	url string

	mu sync.Mutex
	// rand decides about faults; faults are those to choose from, each request
	// has one with the probability rate.
	rand   *rand.Rand
	faults []fault
	rate   float64
	// markup: calls are written into the text, as DeepSeek's models do.
	markup bool
	// requests are the bodies of requests that were answered in full; refused
	// says what was wrong with those that were refused.
	requests []string
	refused  []string
	// last is the conversation of the last request.
	last []heard
	// hit counts the faults.
	hit map[fault]int
}

// fault is a way to fail.
type fault string

const (
	fault500       fault = "500"
	fault429       fault = "429"
	faultMalformed fault = "malformed JSON"
	faultDrop      fault = "disconnect before the head"
	faultCut       fault = "disconnect in the stream"
	faultEvent     fault = "error event in the stream"
	faultEmpty     fault = "empty stream"
	faultGarbage   fault = "garbage in the stream"
)

var allFaults = []fault{fault500, fault429, faultMalformed, faultDrop, faultCut, faultEvent, faultEmpty, faultGarbage}

// heard is one thing that a request holds, in the words of no wire.
type heard struct {
	// role is user, assistant (with text), call or result.
	role, id, text string
}

// reply is what the model says.
type reply struct {
	thinking, text string
	calls          []heard
}

func newFakeModels(t *testing.T) *fakeModels {
	t.Helper()
	f := &fakeModels{hit: map[fault]int{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// chaos makes requests fail from now on; a rate of 0 ends it.
func (f *fakeModels) chaos(r *rand.Rand, rate float64, faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rand, f.rate, f.faults = r, rate, faults
}

func (f *fakeModels) take() (requests []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests, f.requests = f.requests, nil
	return requests
}

// fakeWire is one provider's wire.
type fakeWire struct {
	read  func(body []byte) ([]heard, error)
	write func(reply) string
	// event is an error in the stream.
	event string
}

var fakeWires = map[string]fakeWire{
	"deepseek":  {readChat(true), writeChat(true), `data: {"error":{"message":"on purpose","type":"server_error"}}` + "\n\n"},
	"openai":    {readChat(false), writeChat(false), `data: {"error":{"message":"on purpose","type":"server_error"}}` + "\n\n"},
	"anthropic": {readMessages, writeMessages, "event: error\n" + `data: {"type":"error","error":{"type":"overloaded_error","message":"on purpose"}}` + "\n\n"},
	"gpt":       {readResponses, writeResponses, "event: error\n" + `data: {"type":"error","code":"server_error","message":"on purpose"}` + "\n\n"},
}

// ServeHTTP implements http.Handler.
func (f *fakeModels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	provider, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	wire, ok := fakeWires[provider]
	if !ok || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	said, err := wire.read(body)
	if err == nil {
		err = checkHistory(said)
	}
	if err != nil {
		f.refused = append(f.refused, fmt.Sprintf("%s: %v\n%s", provider, err, body))
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"refused: %s","type":"invalid_request_error"}}`, err)
		return
	}
	reply := answerTo(said)
	write := wire.write
	if strings.Contains(string(body), `"thinking":{"type":"disabled"}`) {
		reply.thinking = ""
		if provider == "deepseek" {
			write = writeChat(false)
		}
	}
	if f.markup && len(reply.calls) > 0 {
		reply.text += "\n\n<｜DSML｜tool_calls>\n"
		for _, c := range reply.calls {
			reply.text += "<｜DSML｜invoke name=\"look\">\n" + c.text + "\n</｜DSML｜invoke>\n"
		}
		reply.text += "</｜DSML｜tool_calls>"
		reply.calls = nil
	}
	answer := write(reply)
	var now fault
	if f.rand != nil && f.rand.Float64() < f.rate {
		now = f.faults[f.rand.IntN(len(f.faults))]
		f.hit[now]++
	}
	switch now {
	case fault500:
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error":{"message":"on purpose","type":"server_error"}}`)
		return
	case fault429:
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error":{"message":"on purpose","type":"rate_limit_error"}}`)
		return
	case faultMalformed:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{malformed json: <<<chaos>>>")
		return
	case faultDrop:
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	// Not behind the finish reason: what was cut off there was said.
	at := f.randN(strings.Index(answer, "finish"))
	switch now {
	case faultCut:
		io.WriteString(w, answer[:at])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case faultEvent, faultGarbage:
		at = strings.LastIndex(answer[:at], "\n\n")
		io.WriteString(w, answer[:max(at+2, 0)])
		if now == faultEvent {
			io.WriteString(w, wire.event)
		} else {
			io.WriteString(w, "data: {\"garb\n\n")
		}
	case faultEmpty:
	default:
		f.requests = append(f.requests, string(body))
		f.last = said
		io.WriteString(w, answer)
	}
}

func (f *fakeModels) randN(n int) int {
	if f.rand == nil || n <= 0 {
		return 0
	}
	return f.rand.IntN(n)
}

// checkHistory demands what every provider demands of calls and results.
func checkHistory(said []heard) error {
	var open, used []string
	for i, h := range said {
		switch h.role {
		case "call":
			if slices.Contains(used, h.id) {
				return fmt.Errorf("the call id %q comes twice", h.id)
			}
			used, open = append(used, h.id), append(open, h.id)
			continue
		case "result":
			k := slices.Index(open, h.id)
			if k < 0 {
				return fmt.Errorf("item %d is a result for %q, which is no open call", i, h.id)
			}
			open = slices.Delete(open, k, k+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("item %d (%s) comes while the calls %q have no result", i, h.role, open)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the calls %q have no result", open)
	}
	return nil
}

// answerTo is the script.
func answerTo(said []heard) reply {
	at := -1
	for i, h := range said {
		if h.role == "user" && (strings.HasPrefix(h.text, "say ") || strings.HasPrefix(h.text, "work ")) {
			at = i
		}
	}
	if at < 0 {
		return reply{text: "There is no prompt."}
	}
	verb, n, _ := strings.Cut(said[at].text, " ")
	if verb == "say" {
		return reply{thinking: "They want " + n + ". 🤔", text: "said " + n + " \u2028 <ok> & “so on”, 😀"}
	}
	var given []string
	for _, h := range said[at:] {
		if h.role == "result" {
			given = append(given, h.text)
		}
	}
	if len(given) == 0 {
		return reply{
			thinking: "Two looks at " + n + ".", text: "Looking at " + n + ".",
			calls: []heard{{"call", "call_" + n + "_a", `{"at":"` + n + `a"}`}, {"call", "call_" + n + "_b", `{"at": "` + n + `b"}`}},
		}
	}
	slices.Sort(given)
	return reply{text: "worked " + n + ": " + strings.Join(given, ", ")}
}

// finalText is what the answer to a prompt ends with when all goes well.
func finalText(prompt string) string {
	if _, n, ok := strings.Cut(prompt, "work "); ok {
		return answerTo([]heard{{"user", "", prompt}, {"result", "", "seen " + n + "a"}, {"result", "", "seen " + n + "b"}}).text
	}
	return answerTo([]heard{{"user", "", prompt}}).text
}

func quote(s string) string { return string(session.AppendString(nil, s)) }

// pieces cuts a text into deltas.
func pieces(s string) []string {
	var out []string
	runes := []rune(s)
	for i, n := 0, 1; i < len(runes); i, n = i+n, n%5+2 {
		out = append(out, string(runes[i:min(i+n, len(runes))]))
	}
	return out
}

// prompts are the prompts and steering texts that a conversation holds.
func prompts(said []heard) []string {
	var out []string
	for _, h := range said {
		if h.role == "user" {
			out = append(out, h.text)
		}
	}
	return out
}

func decodeBody(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the body is not what the wire has: %w", err)
	}
	return nil
}
