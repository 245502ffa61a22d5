// Package todo is the tool that keeps the plan of a session.
package todo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"acp-agent/loop/tool"
	"acp-agent/session"
)

type todoArgs struct {
	Todos []todoItem `json:"todos" jsonschema_description:"The whole list; it replaces the one before. Empty to clear it."`
}

type todoItem struct {
	Content string `json:"content" jsonschema_description:"What is to be done."`
	Status  string `json:"status" jsonschema:"enum=pending,enum=in_progress,enum=completed" jsonschema_description:"Where it stands."`
}

// todoResponse is hooks.TodoResponse.
type todoResponse struct {
	Old []session.Todo `json:"oldTodos"`
	New []session.Todo `json:"newTodos"`
}

//go:embed schemas/todo_write.json
var schemaFile string

var schema = tool.Schema(schemaFile)

// Write is todo_write. It remembers the list for the hooks, which are shown the
// old one too; the list itself is in the log.
type Write struct {
	mu  sync.Mutex
	old []session.Todo
}

// New returns the tool of a session whose list is todos.
func New(todos []session.Todo) *Write { return &Write{old: todos} }

// Spec describes the tool. It touches no file and runs nothing, so it counts as
// read-only.
func (*Write) Spec() tool.Spec {
	return tool.Spec{
		Name: "todo_write",
		Description: "Replaces the todo list, which the person sees. Use it for work of several steps: " +
			"keep one item in_progress, and mark items completed as soon as they are.",
		Schema: schema(), Kind: tool.KindThink, ReadOnly: true,
	}
}

// View names the counts.
func (*Write) View(_ *tool.Env, input json.RawMessage) tool.View {
	todos, err := decode(input)
	if err != nil {
		return tool.View{Title: "Update the todo list"}
	}
	return tool.View{Title: "Todo list: " + counts(todos)}
}

// Check refuses items without content, doubles and unknown statuses.
func (*Write) Check(input json.RawMessage) error {
	_, err := decode(input)
	return err
}

// decode reads the list as it is logged. ACP plans know three statuses: a
// cancelled item counts as completed and says so in its content.
func decode(input json.RawMessage) ([]session.Todo, error) {
	a, err := tool.Decode[todoArgs](input)
	if err != nil {
		return nil, err
	}
	var faults []string
	seen := map[string]bool{}
	todos := make([]session.Todo, 0, len(a.Todos))
	for i, item := range a.Todos {
		t := session.Todo{Content: strings.TrimSpace(item.Content), Status: item.Status}
		switch t.Status {
		case "pending", "in_progress", "completed":
		case "cancelled", "canceled":
			t.Status = "completed"
			if t.Content != "" {
				t.Content += " (cancelled)"
			}
		default:
			faults = append(faults, fmt.Sprintf(`"todos[%d].status" must be pending, in_progress or completed, not %q`, i, t.Status))
		}
		switch {
		case t.Content == "":
			faults = append(faults, fmt.Sprintf(`"todos[%d].content" is empty`, i))
		case seen[t.Content]:
			faults = append(faults, fmt.Sprintf(`"todos[%d].content" is in the list twice: %q`, i, t.Content))
		}
		seen[t.Content] = true
		todos = append(todos, t)
	}
	if faults != nil {
		return nil, &tool.ArgumentError{Faults: faults}
	}
	return todos, nil
}

func counts(todos []session.Todo) string {
	n := map[string]int{}
	for _, t := range todos {
		n[t.Status]++
	}
	return fmt.Sprintf("%d pending, %d in progress, %d completed", n["pending"], n["in_progress"], n["completed"])
}

// Run logs the list as a todo/write event.
func (w *Write) Run(_ context.Context, _ *tool.Env, input json.RawMessage) (tool.Result, error) {
	todos, err := decode(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	w.mu.Lock()
	resp := todoResponse{Old: append([]session.Todo{}, w.old...), New: todos}
	w.old = todos
	w.mu.Unlock()
	r := tool.Text("Todo list: " + counts(todos) + ".")
	r.Meta.Response, _ = json.Marshal(resp) // strings always encode
	r.Events = []session.Data{&session.TodoWrite{Todos: todos}}
	return r, nil
}
