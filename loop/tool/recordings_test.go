package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"acp-agent/loop/tool"
	"acp-agent/loop/tool/file"
	"acp-agent/loop/tool/search"
	"acp-agent/loop/tool/shell"
	"acp-agent/loop/tool/todo"
	"acp-agent/loop/tool/tooltest"
)

// The calls of the reference system's recordings, arguments as the model wrote
// them, must do here what they did there.
func TestRecordedCalls(t *testing.T) {
	sh := shell.New(shell.Options{TempDir: t.TempDir()})
	defer sh.Close()
	all, err := tool.NewRegistry(sh.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Add(append(append(file.Tools(), search.Tools()...), todo.New(nil))...); err != nil {
		t.Fatal(err)
	}
	env := tooltest.Env(t, t.TempDir())
	env.Files = file.Disk(env.Roots)
	for name, content := range map[string]string{"config.txt": "mode=DEBUG\nlevel=info\n", "greeting.txt": "hello\n"} {
		if err := os.WriteFile(filepath.Join(env.Cwd, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, call := range []struct{ name, arguments, want string }{
		{"bash", `{"command": "echo TERMINAL_OK", "description": "Echo TERMINAL_OK to verify terminal access"}`, "TERMINAL_OK\n"},
		{"bash", `{"command": "printf 'escalated\\n' > escalated.txt && cat escalated.txt && rm escalated.txt", "description": "Write file outside workspace and verify", "sandbox_permissions": "danger-full-access", "justification": "the user asked to write a file outside the workspace"}`, "escalated\n"},
		{"read", `{"file_path": "config.txt"}`, "1: mode=DEBUG\n2: level=info\n\n[end of file, 2 lines]"},
		{"edit", `{"file_path": "config.txt", "old_string": "DEBUG", "new_string": "RELEASE"}`, "Updated config.txt (1 replacement)."},
		{"read", `{"file_path": "greeting.txt"}`, "1: hello\n\n[end of file, 1 line]"},
		{"write", `{"file_path": "notes.txt", "content": "hello world"}`, "Created notes.txt (1 line)."},
		{"todo_write", `{"todos": [{"content": "read the code", "status": "in_progress"}, {"content": "watch the background build", "status": "in_progress"}, {"content": "write the fix", "status": "pending"}]}`, "Todo list: 1 pending, 2 in progress, 0 completed."},
		{"grep", `{"pattern": "RELEASE"}`, "config.txt\nLine 1: mode=RELEASE\n\n[1 match in 1 file]"},
		{"glob", `{"pattern": "notes.*"}`, "notes.txt"},
	} {
		tl, ok := all.Get(call.name)
		if !ok {
			t.Fatalf("no %s", call.name)
		}
		in := json.RawMessage(call.arguments)
		if err := tool.Check(tl, in); err != nil {
			t.Errorf("%s %s: %v", call.name, in, err)
		}
		if v := tl.View(env, in); v.Title == "" {
			t.Errorf("%s: no title", call.name)
		}
		r, err := tl.Run(t.Context(), env, in)
		if got := tooltest.Text(r); err != nil || r.IsError || got != call.want {
			t.Errorf("%s %s: got %q, %v", call.name, in, got, err)
		}
	}
}
