package session_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-agent/session"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, line string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	return s.Validate(v)
}

// TestLogsMatchSchema: every line that this package writes is as schema.json
// says, and a line that is not is told apart.
func TestLogsMatchSchema(t *testing.T) {
	s := compileSchema(t)
	h := header()
	h.AdditionalDirectories, h.Parent, h.Agent = []string{"/a"}, "p", "acp-agent 1"
	for _, h := range []session.Header{h, header()} {
		line, err := session.AppendHeader(nil, &h)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, string(line)); err != nil {
			t.Errorf("%v\n%s", err, line)
		}
	}
	data := allData()
	for _, typ := range session.Types {
		if typ != session.TypeAssistantChunk {
			data = append(data, session.New(typ)) // nothing set: no member may become null
		}
	}
	for seed := range uint64(5) {
		data = append(data, generate(seed, 2)...)
	}
	for _, ev := range number(data...) {
		line := encode(t, ev)
		if err := validate(t, s, string(line)); err != nil {
			t.Errorf("%s: %v\n%s", ev.Data.EventType(), err, line)
		}
	}
	for _, bad := range []string{
		`{}`, `[]`, `{"type":"session","version":1}`,
		`{"seq":0,"ts":"2026-01-02T03:04:05.006Z","type":"turn/start","data":{"turn":1}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"turn/start","data":{}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"turn/start","data":{"turn":1,"x":1}}`,
		`{"seq":1,"ts":"2026-01-02 03:04:05","type":"turn/start","data":{"turn":1}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"user/message","data":{"content":[{"type":"hologram"}],"source":{"kind":"user"}}}`,
		`{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta"}}}`,
	} {
		if validate(t, s, bad) == nil {
			t.Errorf("valid by the schema: %s", bad)
		}
	}
}
