package todo

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/tooltest"
	"acp-agent/session"
)

func TestSchema(t *testing.T) {
	tooltest.Schema[todoArgs](t, New(nil))
}

func TestWrite(t *testing.T) {
	w := New([]session.Todo{{Content: "before", Status: "pending"}})
	for _, tt := range []struct {
		input, text, response string
		todos                 []session.Todo
	}{
		{
			`{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`,
			"Todo list: 1 pending, 2 in progress, 0 completed.",
			`{"oldTodos":[{"content":"before","status":"pending"}],"newTodos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`,
			[]session.Todo{{Content: "a", Status: "in_progress"}, {Content: "b", Status: "in_progress"}, {Content: "c", Status: "pending"}},
		},
		{ // G13
			`{"todos":[{"content":"a","status":"cancelled"}]}`,
			"Todo list: 0 pending, 0 in progress, 1 completed.",
			`{"oldTodos":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}],"newTodos":[{"content":"a (cancelled)","status":"completed"}]}`,
			[]session.Todo{{Content: "a (cancelled)", Status: "completed"}},
		},
		{
			`{"todos":[]}`, "Todo list: 0 pending, 0 in progress, 0 completed.",
			`{"oldTodos":[{"content":"a (cancelled)","status":"completed"}],"newTodos":[]}`,
			[]session.Todo{},
		},
	} {
		r, err := w.Run(t.Context(), nil, json.RawMessage(tt.input))
		if err != nil || r.IsError || tooltest.Text(r) != tt.text {
			t.Errorf("%s: %q, %v", tt.input, tooltest.Text(r), err)
		}
		if string(r.Meta.Response) != tt.response {
			t.Errorf("response %s", r.Meta.Response)
		}
		if diff := cmp.Diff([]session.Data{&session.TodoWrite{Todos: tt.todos}}, r.Events); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ input, want string }{
		{`{"todos":[{"content":" ","status":"pending"}]}`, `The arguments do not fit: "todos[0].content" is empty. The tool did not run.`},
		{`{"todos":[{"content":"a","status":"pending"},{"content":"a","status":"done"}]}`, `The arguments do not fit: "todos[1].status" must be pending, in_progress or completed, not "done"; "todos[1].content" is in the list twice: "a". The tool did not run.`},
		{`{"todos":[{"content":"a"}]}`, `The arguments do not fit: the required "todos[0].status" (string) is missing. The tool did not run.`},
		{`{"todos":"a"}`, `The arguments do not fit: "todos" must be an array, not a string ("a"). The tool did not run.`},
	} {
		r, err := New(nil).Run(t.Context(), nil, json.RawMessage(tt.input))
		if err != nil || !r.IsError || tooltest.Text(r) != tt.want || r.Events != nil {
			t.Errorf("%s: %q, %v", tt.input, tooltest.Text(r), err)
		}
	}
}

func TestView(t *testing.T) {
	var tl tool.Tool = New(nil)
	if got := tl.View(nil, json.RawMessage(`{"todos":[{"content":"a","status":"pending"}]}`)).Title; got != "Todo list: 1 pending, 0 in progress, 0 completed" {
		t.Errorf("got %q", got)
	}
	if got := tl.View(nil, json.RawMessage(`{`)).Title; got != "Update the todo list" {
		t.Errorf("got %q", got)
	}
}
