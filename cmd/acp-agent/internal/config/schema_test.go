package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pelletier/go-toml/v2"
)

//go:generate go test -run TestSchema -update .

var update = flag.Bool("update", false, "rewrite docs/config.schema.json")

var schemaFile = filepath.Join("..", "..", "..", "..", "docs", "config.schema.json")

// reflectSchema makes the JSON schema of the config file from the types that
// read it.
func reflectSchema(t *testing.T) []byte {
	t.Helper()
	r := jsonschema.Reflector{
		FieldNameTag: "toml", DoNotReference: true, RequiredFromJSONSchemaTags: true,
		Mapper: func(typ reflect.Type) *jsonschema.Schema {
			if typ == reflect.TypeFor[Duration]() {
				return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`, Examples: []any{"90s", "5m"}}
			}
			return nil
		},
	}
	s := r.Reflect(&file{})
	s.ID, s.Title = "", "config.toml of acp-agent"
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestSchema fails when the committed schema is not that of the types.
func TestSchema(t *testing.T) {
	got := reflectSchema(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(schemaFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/config.schema.json is not up to date: run go generate ./cmd/acp-agent/internal/config (-want +got):\n%s", diff)
	}
}

// TestSchemaAgrees holds schema and decoder to the same verdict.
func TestSchemaAgrees(t *testing.T) {
	doc, err := validator.UnmarshalJSON(bytes.NewReader(reflectSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"",
		"model = \"deepseek/x\"\neffort = \"high\"\n[limits]\nmax_steps = 3\nidle_timeout = \"1m30s\"",
		"[providers.a]\nbase_url = \"http://127.0.0.1\"\nwire = \"messages\"\nheaders = { a = \"b\" }\nmodels = [\"m\"]\ncontext_window = 8192\nimages = true",
		"[hooks]\nenabled = false\nclaude_files = [\"a\"]\nenv = [\"OPENAI_API_KEY\"]\n[client]\nterminal = false",
		"[permissions]\nmode = \"plan\"\nallow = [\"read\"]\n[tools]\nenv = []",
		"modle = \"x\"",
		"[limits]\nmax_steps = \"many\"",
		"[limits]\nmax_steps = 0",
		"[limits]\nidle_timeout = \"soon\"",
		"[limits]\nidle_timeout = 5",
		"[permissions]\nmode = \"yolo\"",
		"[providers.a]\nbase_url = \"x\"\nwire = \"telnet\"",
		"[providers.a]\nbase_url = \"x\"\ncontext_window = 0",
		"effort = \"huge\"",
		"log_level = 3",
	} {
		var v any
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := validator.UnmarshalJSON(bytes.NewReader(j))
		if err != nil {
			t.Fatal(err)
		}
		bySchema := schema.Validate(inst)
		byDecoder := new(file).decode("config.toml", []byte(text))
		if (bySchema == nil) != (byDecoder == nil) {
			t.Errorf("%q: schema says %v, decoder says %v", text, bySchema, byDecoder)
		}
	}
}

// TestSchemaDescribesEverything: each key has a description, whole (a comma
// would end it).
func TestSchemaDescribesEverything(t *testing.T) {
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		if s.Properties == nil {
			return
		}
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			at := strings.TrimPrefix(path+"."+p.Key, ".")
			if !strings.HasSuffix(p.Value.Description, ".") {
				t.Errorf("%s: the description is missing or cut: %q", at, p.Value.Description)
			}
			walk(at, p.Value)
			if p.Value.AdditionalProperties != nil {
				walk(at, p.Value.AdditionalProperties)
			}
		}
	}
	r := jsonschema.Reflector{FieldNameTag: "toml", DoNotReference: true}
	walk("", r.Reflect(&file{}))
}
