// Package tooltest is for the tests of tools: it makes schemas out of argument
// structs, holds them against the files that are embedded and sent, and makes an
// Env. The product does not import it, so that nothing is reflected when the
// agent starts and the reflecting library is not even linked.
package tooltest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"

	"acp-agent/loop/tool"
)

var update = flag.Bool("update", false, "rewrite the committed schemas")

// SchemaOf returns the JSON schema of an argument struct as models get it: an
// object whose fields are inlined, with no $ref, $id or $schema (some providers
// refuse them), closed against unknown members. A field is required unless its
// json tag has omitempty, as in tool.Decode. Descriptions come from the
// jsonschema_description tag, enums from jsonschema.
func SchemaOf[T any]() (json.RawMessage, error) {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	s := r.Reflect(new(T))
	s.Version = ""
	return json.Marshal(s)
}

// Schema checks a tool with arguments T: the schema it sends is the one that
// reflection gives, which -update writes to schemas/NAME.json, and what the
// decoder accepts is what the schema says.
func Schema[T any](t *testing.T, tl tool.Tool) {
	t.Helper()
	spec := tl.Spec()
	want, err := SchemaOf[T]()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var b bytes.Buffer
		if err := json.Indent(&b, want, "", "  "); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
		if err := os.WriteFile(filepath.Join("schemas", spec.Name+".json"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(spec.Schema, want) {
		t.Errorf("%s: the embedded schema is not that of its arguments; run go test -update\n got %s\nwant %s", spec.Name, spec.Schema, want)
	}
	for _, noise := range []string{`"$ref"`, `"$id"`, `"$schema"`, `"$defs"`} {
		if bytes.Contains(want, []byte(noise)) {
			t.Errorf("%s: the schema holds %s", spec.Name, noise)
		}
	}
	agree[T](t, tl, want)
}

// schema is the part of a JSON schema that the tools use.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	Examples   []any             `json:"examples"`
	Additional any               `json:"additionalProperties"`
	Summary    string            `json:"description"`
}

// agree holds the decoder against the schema (case R17).
func agree[T any](t *testing.T, tl tool.Tool, raw json.RawMessage) {
	t.Helper()
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || s.Additional != false {
		t.Errorf("the schema is not that of a closed object: %s", raw)
	}
	for name, p := range s.Properties {
		if p.Summary == "" {
			t.Errorf("%q has no description", name)
		}
	}
	check := func(args map[string]any) error {
		in, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = tool.Decode[T](in); err != nil {
			return err
		}
		return tool.Check(tl, in)
	}
	required := sample(s, false)
	if err := check(required); err != nil {
		t.Errorf("a call with only the required arguments is refused: %v", err)
	}
	if err := check(sample(s, true)); err != nil {
		t.Errorf("a call with all arguments is refused: %v", err)
	}
	required["not_in_the_schema"] = 1
	if err := check(required); err != nil {
		t.Errorf("a call with an unknown argument is refused: %v", err)
	}
	for _, name := range s.Required {
		args := sample(s, true)
		delete(args, name)
		if err := check(args); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("without %q: error %v does not name it", name, err)
		}
	}
	for name := range s.Properties {
		args := sample(s, true)
		args[name] = []any{[]any{}}
		if err := check(args); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("with a %q of the wrong type: error %v does not name it", name, err)
		}
	}
}

func sample(s schema, all bool) map[string]any {
	args := map[string]any{}
	for name, p := range s.Properties {
		need := all
		for _, r := range s.Required {
			need = need || r == name
		}
		if need {
			args[name] = value(p, all)
		}
	}
	return args
}

func value(s schema, all bool) any {
	switch s.Type {
	case "string":
		if len(s.Enum) > 0 {
			return s.Enum[0]
		}
		if len(s.Examples) > 0 {
			return s.Examples[0]
		}
		return "x"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{value(*s.Items, all)}
	}
	return sample(s, all)
}

// Env returns what a call in the directory needs. Files is left to the caller.
func Env(t testing.TB, dir string) *tool.Env {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &tool.Env{
		CallID: "call-1", Cwd: root, Roots: []string{root}, Environ: os.Environ(),
		Progress: func(tool.Progress) {}, Seen: tool.NewSeen(),
	}
}

// Output collects what a tool shows while it runs.
type Output struct {
	mu       sync.Mutex
	text     strings.Builder
	terminal string
}

// Progress is an Env's Progress.
func (o *Output) Progress(p tool.Progress) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.WriteString(p.Output)
	if p.TerminalID != "" {
		o.terminal = p.TerminalID
	}
}

// Text returns what was shown so far.
func (o *Output) Text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Terminal returns the client terminal that was shown last.
func (o *Output) Terminal() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.terminal
}

// Text joins the text blocks of a result.
func Text(r tool.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Args makes arguments out of pairs of name and value.
func Args(pairs ...any) json.RawMessage {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}
