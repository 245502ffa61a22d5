package session

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/invopop/jsonschema"
)

var update = flag.Bool("update", false, "rewrite session/schema.json from the Go types; read the diff before you commit it")

// The generator lives in the tests, so that the package itself does not import
// it.

type member struct {
	name string
	s    *jsonschema.Schema
}

type props = []member

var (
	str = &jsonschema.Schema{Type: "string"}
	num = &jsonschema.Schema{Type: "integer"}
	yes = &jsonschema.Schema{Type: "boolean"}
)

func array(of *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: of}
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// object is an object of exactly these members; the first n are required.
func object(n int, members props) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for i, m := range members {
		s.Properties.Set(m.name, m.s)
		if i < n {
			s.Required = append(s.Required, m.name)
		}
	}
	return s
}

// variant is object with the type that discriminates it.
func variant(typ string, n int, members props) *jsonschema.Schema {
	return object(n+1, append(props{{"type", &jsonschema.Schema{Const: typ}}}, members...))
}

// JSONSchema describes the union that AppendJSON writes.
func (Block) JSONSchema() *jsonschema.Schema {
	media := props{{"data", str}, {"mimeType", str}, {"uri", str}}
	resource := func(body string) *jsonschema.Schema {
		return object(2, props{{"uri", str}, {body, str}, {"mimeType", str}})
	}
	return &jsonschema.Schema{
		Description: "Block is one piece of content.",
		OneOf: []*jsonschema.Schema{
			variant(string(BlockText), 1, props{{"text", str}}),
			variant(string(BlockReasoning), 1, props{{"text", str}, {"signature", str}, {"redacted", str}}),
			variant(string(BlockToolCall), 3, props{{"id", str}, {"name", str}, {"arguments", str}, {"signature", str}}),
			variant(string(BlockToolResult), 3, props{{"toolCallId", str}, {"content", array(ref("Block"))}, {"isError", yes}}),
			variant(string(BlockImage), 2, media),
			variant(string(BlockAudio), 2, media),
			variant(string(BlockResourceLink), 2, props{{"uri", str}, {"name", str}, {"title", str}, {"description", str}, {"mimeType", str}, {"size", num}}),
			variant(string(BlockResource), 1, props{{"resource", &jsonschema.Schema{OneOf: []*jsonschema.Schema{resource("text"), resource("blob")}}}}),
		},
	}
}

// JSONSchema describes the union that AppendJSON writes.
func (Chunk) JSONSchema() *jsonschema.Schema {
	of := func(t ChunkType, n int, more ...member) *jsonschema.Schema {
		return variant(string(t), n+1, append(props{{"index", num}}, more...))
	}
	dt, id, name := member{"dt", array(num)}, member{"id", str}, member{"name", str}
	reason := object(1, props{{"kind", str}, {"failure", object(2, props{{"message", str}, {"code", str}})}})
	return &jsonschema.Schema{
		Description: "Chunk is one event of a model's stream, or several deltas packed.",
		OneOf: []*jsonschema.Schema{
			of(ChunkBlockStart, 1, member{"blockType", str}),
			of(ChunkText, 1, member{"text", str}),
			of(ChunkReasoning, 1, member{"text", str}),
			of(ChunkToolCall, 1, member{"argumentsDelta", str}, id, name),
			of(ChunkBlockEnd, 0, member{"block", ref("Block")}),
			variant(string(ChunkUsage), 1, props{{"usage", ref("Usage")}}),
			variant(string(ChunkFinish), 1, props{{"reason", reason}}),
			of(ChunkPackedText, 2, dt, member{"texts", array(str)}),
			of(ChunkPackedReasoning, 2, dt, member{"texts", array(str)}),
			of(ChunkPackedToolCall, 2, dt, member{"args", array(str)}, id, name),
		},
	}
}

// schema describes one line of a log.
func schema(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{Anonymous: true}
	if err := r.AddGoComments("acp-agent/session", "."); err != nil {
		t.Fatal(err)
	}
	root := &jsonschema.Schema{
		Version: jsonschema.Version, Title: "acp-agent session log",
		Description: "One line of a session log (see session/jsonl): the header, then events.",
		Definitions: jsonschema.Definitions{},
	}
	add := func(v any) string {
		s := r.Reflect(v)
		for name, def := range s.Definitions {
			root.Definitions[name] = def
		}
		return s.Ref
	}
	refHeader := add(&Header{})
	h := root.Definitions["Header"]
	h.Properties.Set("type", &jsonschema.Schema{Const: "session"})
	if err := h.Properties.MoveToFront("type"); err != nil {
		t.Fatal(err)
	}
	h.Required = append([]string{"type"}, h.Required...)
	root.OneOf = append(root.OneOf, &jsonschema.Schema{Ref: refHeader})

	event := func(typ, data *jsonschema.Schema) *jsonschema.Schema {
		return object(4, props{
			{"seq", &jsonschema.Schema{Type: "integer", Minimum: "1"}},
			{"ts", &jsonschema.Schema{Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}},
			{"type", typ},
			{"data", data},
		})
	}
	var known []any
	for _, typ := range Types {
		known = append(known, typ)
		root.OneOf = append(root.OneOf, event(&jsonschema.Schema{Const: typ}, &jsonschema.Schema{Ref: add(New(typ))}))
	}
	later := &jsonschema.Schema{Type: "string", Not: &jsonschema.Schema{Enum: known}, Description: "A type of a later version: kept, and not understood."}
	root.OneOf = append(root.OneOf, event(later, jsonschema.TrueSchema))
	old, _ := root.Definitions["Diff"].Properties.Get("oldText")
	old.Type, old.OneOf = "", []*jsonschema.Schema{str, {Type: "null"}}

	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

// TestSchemaIsCurrent fails when the Go types and schema.json drift apart.
func TestSchemaIsCurrent(t *testing.T) {
	got := schema(t)
	if *update {
		if err := os.WriteFile("schema.json", got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("schema.json is not what the Go types say: run `go test ./session -run TestSchemaIsCurrent -update` and read the diff")
	}
}
