package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"acp-agent/hooks"
)

const dir = "/home/u/proj"

func native(name string, in any) *hooks.Tool {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return &hooks.Tool{Name: name, Input: b, CallID: "call_1"}
}

type m map[string]any

// TestToolInput: our arguments in Codex's shape.
func TestToolInput(t *testing.T) {
	for _, c := range []struct {
		name string
		tool *hooks.Tool
		want string
	}{
		{"bash", native("bash", m{"command": "echo <é>", "description": "say", "timeoutMs": 5}), `{"command":"echo <é>"}`},
		{
			"new file", native("write", m{"file_path": dir + "/a/b.txt", "content": "x\ny\n"}),
			`{"command":"*** Begin Patch\n*** Add File: a/b.txt\n+x\n+y\n*** End Patch"}`,
		},
		{"no last line end", native("write", m{"file_path": "b.txt", "content": "x"}), `{"command":"*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch"}`},
		{"empty file", native("write", m{"file_path": "/etc/x", "content": ""}), `{"command":"*** Begin Patch\n*** Add File: /etc/x\n*** End Patch"}`},
		{"blank lines", native("write", m{"file_path": "b", "content": "\n\nx\n\n"}), `{"command":"*** Begin Patch\n*** Add File: b\n+\n+\n+x\n+\n*** End Patch"}`},
		{
			"edit", native("edit", m{"file_path": dir + "/b", "old_string": "x", "new_string": "y\nz"}),
			`{"command":"*** Begin Patch\n*** Update File: b\n@@\n-x\n+y\n+z\n*** End Patch"}`,
		},
		{
			"edit of whole lines", native("edit", m{"file_path": "b", "old_string": "x\n", "new_string": "y\n"}),
			`{"command":"*** Begin Patch\n*** Update File: b\n@@\n-x\n+y\n*** End Patch"}`,
		},
		{"removal", native("edit", m{"file_path": "b", "old_string": "x", "new_string": ""}), `{"command":"*** Begin Patch\n*** Update File: b\n@@\n-x\n*** End Patch"}`},
		{
			"a name that forges a header", native("write", m{"file_path": "b\n*** Delete File: c", "content": ""}),
			`{"command":"*** Begin Patch\n*** Add File: b\\n*** Delete File: c\n*** End Patch"}`,
		},
		{"outside", native("write", m{"file_path": "/home/u/project2/x", "content": ""}), `{"command":"*** Begin Patch\n*** Add File: /home/u/project2/x\n*** End Patch"}`},
		{"mcp", &hooks.Tool{Name: "mcp__a__b", Input: json.RawMessage(`{ "z": 1.50, "a": "\u00e9<" }`)}, `{"z":1.50,"a":"é<"}`},
		{"other", native("glob", m{"pattern": "**"}), `{"pattern":"**"}`},
		{"no arguments", &hooks.Tool{Name: "mcp__a__b"}, `{}`},
	} {
		got, err := toolInput(c.tool, dir, false)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
	got, err := toolInput(native("bash", m{"command": "x", "description": "why"}), dir, true)
	if err != nil || string(got) != `{"command":"x","description":"why"}` {
		t.Errorf("with a description: %s, %v", got, err)
	}
	for _, bad := range []string{`{"command":1}`, `[]`, `{`} {
		if _, err := toolInput(&hooks.Tool{Name: "bash", Input: json.RawMessage(bad)}, dir, false); err == nil {
			t.Errorf("arguments %s were taken", bad)
		}
	}
}

// TestToolResponse: text for commands and others, an object for MCP, and the
// names of files for patches.
func TestToolResponse(t *testing.T) {
	raw := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		name string
		tool hooks.Tool
		want string
	}{
		{"bash", hooks.Tool{Name: "bash", Output: "out\n[exit code 3]", Response: raw(hooks.BashResponse{Stdout: "out\n", Stderr: "err", ExitCode: 3})}, `"out\nerr"`},
		{"bash without a response", hooks.Tool{Name: "bash", Output: "out"}, `"out"`},
		{
			"new file",
			hooks.Tool{Name: "write", Duration: 1234 * time.Millisecond, Response: raw(hooks.WriteResponse{Path: dir + "/a", Created: true})},
			`"Exit code: 0\nWall time: 1.2 seconds\nOutput:\nSuccess. Updated the following files:\nA a\n"`,
		},
		{
			"edit",
			hooks.Tool{Name: "edit", Response: raw(hooks.EditResponse{Path: "/etc/a"})},
			`"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM /etc/a\n"`,
		},
		{
			"mcp",
			hooks.Tool{Name: "mcp__a__b", Response: json.RawMessage(`{"content": [{"type":"text","text":"é"}], "structuredContent":{"a":1}}`)},
			`{"content":[{"type":"text","text":"é"}],"structuredContent":{"a":1}}`,
		},
		{"mcp text", hooks.Tool{Name: "mcp__a__b", Output: "x", Failed: true}, `{"content":[{"type":"text","text":"x"}],"isError":true}`},
		{"other", hooks.Tool{Name: "read", Output: "1\tx", Response: raw(hooks.ReadResponse{Path: "x"})}, `"1\tx"`},
	} {
		got, err := toolResponse(&c.tool, dir)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// TestNativeInput: a hook's updatedInput in our own arguments, or a refusal
// that says why.
func TestNativeInput(t *testing.T) {
	bash := native("bash", m{"command": "a", "timeoutMs": 5})
	edit := native("edit", m{"file_path": dir + "/b", "old_string": "x\n", "new_string": "y\n", "replace_all": true})
	put := native("write", m{"file_path": "b", "content": "x\n"})
	patch := func(lines ...string) string {
		return string(hooks.AppendString(nil, "*** Begin Patch\n"+strings.Join(lines, "\n")+"\n*** End Patch"))
	}
	cmd := func(p string) string { return `{"command":` + p + `}` }
	for _, c := range []struct {
		name    string
		tool    *hooks.Tool
		updated string
		want    string
		wrong   string
	}{
		{"bash", bash, `{"command":"b"}`, `{"command":"b","timeoutMs":5}`, ""},
		{"bash and more", bash, `{"command":"b","x":1}`, `{"command":"b","timeoutMs":5}`, ""},
		{"bash, other name", bash, `{"cmd":"b"}`, "", `must have a string "command"`},
		{"bash, list", bash, `{"command":["b"]}`, "", `must have a string "command"`},
		{"no object", bash, `"b"`, "", "must be an object, not a string"},
		{"mcp", native("mcp__a__b", m{"x": 1}), `{ "y" : "é" }`, `{"y":"é"}`, ""},
		{"same patch", edit, cmd(patch("*** Update File: b", "@@", "-x", "+y")), string(edit.Input), ""},
		{
			"edit", edit, cmd(patch("*** Update File: b", "@@", " k", "-x", "+z", "+", " l")),
			`{"file_path":"` + dir + `/b","new_string":"k\nz\n\nl\n","old_string":"k\nx\nl\n","replace_all":true}`, "",
		},
		{
			"edit without @@", edit, cmd(patch("*** Update File: c", "-x", "+z")),
			`{"file_path":"` + dir + `/c","new_string":"z\n","old_string":"x\n","replace_all":true}`, "",
		},
		{"write", put, cmd(patch("*** Add File: b", "+k", "+")), `{"content":"k\n\n","file_path":"b"}`, ""},
		{"write nothing", put, cmd(patch("*** Add File: b")), `{"content":"","file_path":"b"}`, ""},
		{"write elsewhere", put, cmd(patch("*** Add File: /tmp/c", "+k")), `{"content":"k\n","file_path":"/tmp/c"}`, ""},
		{
			"a name that ends in a blank", native("edit", m{"file_path": "b ", "old_string": "x\n", "new_string": "y\n"}), cmd(patch("*** Update File: b ", "@@", "-x", "+z")),
			`{"file_path":"b ","new_string":"z\n","old_string":"x\n"}`, "",
		},
		{"no patch", edit, cmd(`"x"`), "", "must begin with"},
		{"no file", edit, `{"command":"*** Begin Patch\n*** End Patch"}`, "", "changes no file"},
		{"two files", edit, cmd(patch("*** Update File: b", "-x", "+z", "*** Add File: c", "+d")), "", "more than one file"},
		{"write to edit", put, cmd(patch("*** Update File: b", "-x", "+z")), "", "takes an Add File patch only"},
		{"edit to write", edit, cmd(patch("*** Add File: b", "+z")), "", "takes an Update File patch only"},
		{"deletes", edit, cmd(patch("*** Delete File: b")), "", "deletes a file"},
		{"moves", edit, cmd(patch("*** Update File: b", "*** Move to: c", "-x", "+z")), "", "moves the file"},
		{"two hunks", edit, cmd(patch("*** Update File: b", "@@", "-x", "+z", "@@", "-k", "+l")), "", "second hunk"},
		{"a place", edit, cmd(patch("*** Update File: b", "@@ func f", "-x", "+z")), "", "names a place"},
		{"end of file", edit, cmd(patch("*** Update File: b", "@@", "-x", "+z", "*** End of File")), "", "end of the file"},
		{"insertion", edit, cmd(patch("*** Update File: b", "@@", "+z")), "", "removes nothing"},
		{"nothing", edit, cmd(patch("*** Update File: b", "@@")), "", "changes nothing in b"},
		{"bad line", edit, cmd(patch("*** Update File: b", "@@", "x")), "", "line 4 of the patch must begin with"},
		{"bad content", put, cmd(patch("*** Add File: b", "x")), "", "line 3 of the patch must begin with"},
	} {
		n, err := parseJSON([]byte(c.updated))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := nativeInput(c.tool, dir, n)
		switch {
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %s, %v; want an error with %q", c.name, got, err, c.wrong)
			}
		case err != nil || string(got) != c.want:
			t.Errorf("%s: %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// FuzzPatch: what we write for an edit or a write, we read back as the same
// arguments when a hook changes nothing but the path, and nothing that a hook
// writes makes the parser fall over.
func FuzzPatch(f *testing.F) {
	f.Add("a.txt", "x\n", "y\n", "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch")
	f.Add("a b", "x", "", "*** Begin Patch\n*** Update File: a\n@@\n-x\n \n\n+y\n*** End Patch\n")
	f.Add("é", "\n", "\n\n", "*** Begin Patch\n*** Update File: a\n@@ f\n*** End Patch")
	f.Fuzz(func(t *testing.T, name, old, new, patch string) {
		_, _ = parsePatch(patch)
		if name == "" || strings.TrimSpace(name) != name || strings.ContainsAny(name, "\n\r") || old == "" {
			return
		}
		p, err := parsePatch(addPatch(name, old))
		if err != nil || p.path != name || strings.Join(p.lines, "\n") != strings.TrimSuffix(old, "\n") {
			t.Fatalf("write of %q to %q came back as %+v, %v", old, name, p, err)
		}
		p, err = parsePatch(updatePatch(name, old, new))
		if err != nil {
			t.Fatalf("edit of %q to %q: %v", old, new, err)
		}
		end := ""
		if sharedEnd(old, new) {
			end = "\n"
		}
		if strings.Join(p.old, "\n")+end != old || strings.Join(p.new, "\n")+end != new {
			t.Fatalf("edit of %q to %q came back as %q to %q", old, new, p.old, p.new)
		}
	})
}
