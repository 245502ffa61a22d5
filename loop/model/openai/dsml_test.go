package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
	"acp-agent/loop/model/internal/wiretest"
	"acp-agent/session"
)

var dsmlTools = []session.ToolSchema{{Name: "read"}, {Name: "exec_command"}}

// markupDecode decodes a body with the filter on.
func markupDecode(r io.Reader) wiretest.Result {
	e := &wire.Endpoint{Name: "deepseek", Host: "test"}
	return wiretest.Collect(e.Decode(r, func(y *wire.Yield) wire.Answer {
		tr := newTranslator(y, e)
		tr.filter = newMarkupFilter("deepseek", dsmlTools)
		return tr
	}))
}

// filtered runs the pieces through the filter as an answer's text deltas.
func filtered(finish string, pieces ...string) wiretest.Result {
	return wiretest.Collect(func(yield func(session.Chunk, error) bool) {
		tr := newTranslator(wire.NewYield(yield), &wire.Endpoint{Name: "deepseek"})
		tr.filter = newMarkupFilter("deepseek", dsmlTools)
		for _, p := range pieces {
			tr.event(&event{content: p})
			if tr.broken != nil {
				yield(session.Chunk{}, tr.broken)
				return
			}
		}
		tr.finish = finish
		if err := tr.End(); err != nil {
			yield(session.Chunk{}, err)
		}
	})
}

const (
	dsmlCall = `<｜DSML｜invoke name="read">` + "\n" +
		`<｜DSML｜parameter name="path" string="true">a <b> "c".txt</｜DSML｜parameter>` + "\n" +
		`<｜DSML｜parameter name="limit" string="false">20</｜DSML｜parameter>` + "\n</｜DSML｜invoke>\n"
	dsmlBlock = "<｜DSML｜tool_calls>\n" + dsmlCall + "</｜DSML｜tool_calls>"
	dsmlWant  = `call  read {"path":"a <b> \"c\".txt","limit":20}` + "\n"
	malformed = "error malformed_response 0 retryable=true\n"
)

// bars writes the markup with other bars.
func bars(s, open string) string { return strings.ReplaceAll(s, "｜", open) }

// dsmlCases are answers and what they mean. The shapes are those of the reports
// that TokenRhythm/opensquilla#985 names and of the parsers in vLLM and SGLang.
var dsmlCases = []struct{ name, text, want string }{
	{"V4", dsmlBlock, dsmlWant + "finish tool-calls\n"},
	{"V3.2", strings.ReplaceAll("I'll look.\n\n"+dsmlBlock, "tool_calls", "function_calls"), "text \"I'll look.\\n\\n\"\n" + dsmlWant + "finish tool-calls\n"},
	{"two calls", "<｜DSML｜tool_calls>" + dsmlCall + "<｜DSML｜invoke name='exec_command'></｜DSML｜invoke></｜DSML｜tool_calls>\n", dsmlWant + "call  exec_command {}\nfinish tool-calls\n"},
	{"ASCII bars", bars(dsmlBlock, "|"), dsmlWant + "finish tool-calls\n"},
	{"doubled bars", bars(dsmlBlock, "｜｜"), dsmlWant + "finish tool-calls\n"},
	{"double bar", bars(dsmlBlock, "‖"), dsmlWant + "finish tool-calls\n"},
	{"blanks", bars(dsmlBlock, " | "), dsmlWant + "finish tool-calls\n"},
	{"gap mark", strings.ReplaceAll(bars(dsmlBlock, "|"), "DSML|tool_calls", "DSML|_|calls"), dsmlWant + "finish tool-calls\n"},
	{"bar before the end", strings.ReplaceAll(dsmlBlock, `">`, `"｜>`), dsmlWant + "finish tool-calls\n"},
	{"no outer tag", "So.\n" + dsmlCall + dsmlCall, "text \"So.\\n\"\n" + dsmlWant + dsmlWant + "finish tool-calls\n"},
	{"JSON body", "<｜DSML｜function_calls><｜DSML｜invoke name=\"read\">\n {\"path\": \"</x>\"}\n</｜DSML｜invoke></｜DSML｜function_calls>", "call  read {\"path\": \"</x>\"}\nfinish tool-calls\n"},
	{"text after", dsmlBlock + "\n\nDone.", dsmlWant + "text \"Done.\"\nfinish tool-calls\n"},
	{"markup in a value", strings.ReplaceAll(dsmlBlock, "a <b>", "<｜DSML｜invoke> </｜DSML｜invoke>"), `call  read {"path":"<｜DSML｜invoke> </｜DSML｜invoke> \"c\".txt","limit":20}` + "\nfinish tool-calls\n"},
	{"after a closed code block", "```sh\nls\n```\n" + dsmlBlock, "text \"```sh\\nls\\n```\\n\"\n" + dsmlWant + "finish tool-calls\n"},
	{"on the line of a fence", "```\nls\n```" + dsmlBlock, "text \"```\\nls\\n```\"\n" + dsmlWant + "finish tool-calls\n"},
	{"after a lone backtick", "It`s.\n" + dsmlBlock, "text \"It`s.\\n\"\n" + dsmlWant + "finish tool-calls\n"},
	{"after a code block in a list", "- ```\n  x\n  ```\n" + dsmlBlock, "text \"- ```\\n  x\\n  ```\\n\"\n" + dsmlWant + "finish tool-calls\n"},
	{
		"V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\":\"a\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>exec_command\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"call  read {\"path\":\"a\"}\ncall  exec_command {}\nfinish tool-calls\n",
	},
	{"V3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"path\":\"a\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "call  read {\"path\":\"a\"}\nfinish tool-calls\n"},
	{"V3.1 in ASCII", "<|tool_calls_begin|><|tool_call_begin|>read<|tool_sep|>{\"path\":\"a\"}<|tool_call_end|><|tool_calls_end|>", "call  read {\"path\":\"a\"}\nfinish tool-calls\n"},

	{"unknown tool", strings.ReplaceAll(dsmlBlock, `"read"`, `"launch"`), malformed},
	{"unknown tool of two", strings.ReplaceAll(dsmlBlock, "</｜DSML｜tool_calls>", `<｜DSML｜invoke name="launch"></｜DSML｜invoke></｜DSML｜tool_calls>`), malformed},
	{"unknown tool, V3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>launch<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", malformed},
	{"outer tag not closed", strings.TrimSuffix(dsmlBlock, "</｜DSML｜tool_calls>"), malformed},
	{"tool as the tag", "Hm.\n<｜DSML｜read><｜DSML｜path>x</｜DSML｜path></｜DSML｜invoke>", "text \"Hm.\\n\"\n" + malformed},
	{"value as an attribute", "<｜｜DSML｜｜tool_calls><｜｜DSML｜｜invoke name=\"read\"><｜｜DSML｜｜invoke name=\"path\" string=\"x\" /></｜｜DSML｜｜invoke></｜｜DSML｜｜tool_calls>", malformed},
	{"parameter without its mark", "<｜DSML｜invoke name=\"read\"><parameter name=\"path\">x</｜DSML｜parameter></｜DSML｜invoke>", malformed},
	{"parameter without its kind", "<｜DSML｜invoke name=\"read\"><｜DSML｜parameter name=\"path\">x</｜DSML｜parameter></｜DSML｜invoke>", malformed},
	{"parameter twice", strings.ReplaceAll(dsmlBlock, `"limit"`, `"path"`), malformed},
	{"value is not JSON", strings.ReplaceAll(dsmlBlock, `>20<`, `>2 0<`), malformed},
	{"body is not JSON", "<｜DSML｜invoke name=\"read\">{\"path\":</｜DSML｜invoke>", malformed},
	{"name that does not end", "<｜DSML｜tool_calls><｜DSML｜invoke name=\"read {\ncategory", malformed},
	{"closing tags alone", "Hm.\n</｜DSML｜invoke></｜DSML｜tool_calls>", "text \"Hm.\\n\"\n" + malformed},
	{"no separator, V3", "<｜tool▁call▁begin｜>read{}<｜tool▁call▁end｜>", malformed},

	{"quoted in a block", "So:\n```xml\n" + dsmlBlock + "\n```\nThat.", "text " + fmt.Sprintf("%q", "So:\n```xml\n"+dsmlBlock+"\n```\nThat.") + "\nfinish stop\n"},
	{"quoted in a block of tildes", "~~~~\n" + dsmlBlock + "\n~~~~", "text " + fmt.Sprintf("%q", "~~~~\n"+dsmlBlock+"\n~~~~") + "\nfinish stop\n"},
	{"quoted in a span", "It begins with `<｜DSML｜tool_calls>` or ``<｜tool▁calls▁begin｜>``.", "text \"It begins with `<｜DSML｜tool_calls>` or ``<｜tool▁calls▁begin｜>``.\"\nfinish stop\n"},
	{"the mark in prose", "The marker <｜DSML｜ has full-width bars, <|DSML|> has not.", "text \"The marker <｜DSML｜ has full-width bars, <|DSML|> has not.\"\nfinish stop\n"},
	{"other angle brackets", "a < b, f <| g <|> h, x <- y, <div>, </div>, List<T>, <|end|>, <_>, < |", "text \"a < b, f <| g <|> h, x <- y, <div>, </div>, List<T>, <|end|>, <_>, < |\"\nfinish stop\n"},
	{"ends with <", "1 <", "text \"1 <\"\nfinish stop\n"},
}

func TestMarkup(t *testing.T) {
	for _, c := range dsmlCases {
		t.Run(c.name, func(t *testing.T) {
			if got := filtered("stop", c.text).String(); got != c.want {
				t.Errorf("got:\n%swant:\n%s", got, c.want)
			}
			for i := range c.text {
				if got := filtered("stop", c.text[:i], c.text[i:]).String(); got != c.want {
					t.Fatalf("in two at %d:\n%swant:\n%s", i, got, c.want)
				}
			}
			if got := filtered("stop", strings.Split(c.text, "")...).String(); got != c.want {
				t.Errorf("rune by rune:\n%swant:\n%s", got, c.want)
			}
			bytewise := make([]string, len(c.text))
			for i := range len(c.text) {
				bytewise[i] = c.text[i : i+1]
			}
			// Text that is cut inside a rune is put together again by nobody.
			if got := filtered("stop", bytewise...).String(); strings.Contains(c.want, "call ") != strings.Contains(got, "call ") {
				t.Errorf("byte by byte:\n%s", got)
			}
		})
	}
}

// TestMarkupCut ends the answer at each byte of each case that has calls: no
// call comes of half a block, and none of the markup is text.
func TestMarkupCut(t *testing.T) {
	for _, c := range dsmlCases {
		if !strings.Contains(c.want, "call ") || c.name == "no outer tag" {
			continue
		}
		last := strings.LastIndex(c.text, ">") + 1
		start := strings.IndexAny(c.text, "<")
		for i := start + 1; i < len(c.text); i++ {
			for _, reason := range []string{"stop", "length"} {
				r := filtered(reason, c.text[:i])
				for _, ch := range r.Chunks {
					if ch.Type == session.ChunkText && strings.ContainsAny(ch.Text, "｜‖") {
						t.Fatalf("%s cut at %d: text %q", c.name, i, ch.Text)
					}
				}
				if reason == "length" && r.Err != nil {
					t.Fatalf("%s cut at %d by the output limit: %v", c.name, i, r.Err)
				}
				if got := r.String(); i < last && strings.Contains(got, "finish tool-calls") {
					t.Fatalf("%s cut at %d runs: %s", c.name, i, got)
				}
			}
		}
	}
}

// TestMarkupDelay holds that text is passed on at once unless it may begin a
// marker.
func TestMarkupDelay(t *testing.T) {
	var said []string
	tr := newTranslator(wire.NewYield(func(c session.Chunk, _ error) bool {
		if c.Type == session.ChunkText {
			said = append(said, c.Text)
		}
		return true
	}), &wire.Endpoint{Name: "deepseek"})
	tr.filter = newMarkupFilter("deepseek", dsmlTools)
	for _, d := range []string{"Hello ", "x <", "d", " <｜", "DS", "X", " ", "`", "<｜", "DSML", "`"} {
		tr.event(&event{content: d})
	}
	want := []string{"Hello ", "x ", "<d", " ", "<｜DSX", " ", "`", "<｜", "DSML", "`"}
	if fmt.Sprintf("%q", said) != fmt.Sprintf("%q", want) {
		t.Errorf("%q\nwant %q", said, want)
	}
}

// TestMarkupOverHTTP sends a block in small deltas, and cuts the connection's
// bytes at each place.
func TestMarkupOverHTTP(t *testing.T) {
	var events []string
	for p := range strings.SplitSeq(dsmlBlock, "DSML") {
		events = append(events, deltaEvent(`{"content":`+string(session.AppendString(nil, p))+`}`), deltaEvent(`{"content":"DSML"}`))
	}
	events = append(events[:len(events)-1], finish("stop"), done)
	body := sse(events...)
	want := dsmlWant + "finish tool-calls\n"
	url := wiretest.Server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
	req := chat.Hello()
	req.Head.Tools = dsmlTools
	if got := wiretest.Collect(client(t, model.Config{Provider: "deepseek", BaseURL: url}).Stream(t.Context(), req)).String(); got != want {
		t.Errorf("deepseek: %s", got)
	}
	for i := range len(body) {
		r := markupDecode(io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:])))
		if got := r.String(); got != want {
			t.Fatalf("cut at %d: %s", i, got)
		}
	}
	// A server may have parsed the calls and left their end behind.
	url = wiretest.Server(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, sse(toolDelta(`"index":0,"id":"a","function":{"name":"read","arguments":"{}"}`), deltaEvent(`{"content":"</｜DSML｜tool_calls>"}`), finish("tool_calls"), done))
	})
	if got := wiretest.Collect(client(t, model.Config{Provider: "vllm", BaseURL: url}).Stream(t.Context(), req)).String(); got != "call a read {}\nfinish tool-calls\n" {
		t.Errorf("end left behind: %s", got)
	}
}

func TestMarkupErrorSaysWhatToDo(t *testing.T) {
	r := filtered("stop", strings.ReplaceAll(dsmlBlock, `"read"`, `"launch"`))
	var e *model.Error
	if !errors.As(r.Err, &e) {
		t.Fatal(r.Err)
	}
	for _, part := range []string{"deepseek", "as text", "launch", "nothing of it was run", "send the prompt again"} {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%q is missing in: %s", part, e.Message)
		}
	}
}

// FuzzMarkup holds that cuts do not matter, that text without marks is passed
// on as it is, and that marks outside code are never text.
func FuzzMarkup(f *testing.F) {
	for _, c := range dsmlCases {
		f.Add(c.text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		text = strings.ToValidUTF8(text, "\ufffd")
		if text == "" {
			return
		}
		cut = int(uint(cut) % uint(len(text)))
		whole := filtered("stop", text)
		if got := filtered("stop", text[:cut], text[cut:]); got.String() != whole.String() {
			t.Fatalf("%q cut at %d:\n%s\nwhole:\n%s", text, cut, got, whole)
		}
		said := whole.Text()
		low := strings.ToLower(text)
		if !strings.Contains(low, "dsml") && !strings.Contains(low, "tool") && whole.Err == nil && said != text {
			t.Fatalf("%q became %q", text, said)
		}
		if !strings.ContainsAny(text, "`~") && (strings.Contains(said, "<｜DSML｜invoke ") || strings.Contains(said, "<|DSML|tool_calls>")) {
			t.Fatalf("shown: %q", said)
		}
	})
}
