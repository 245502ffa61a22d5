package snapshots

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// seeds are the files of a name in the scenarios.
func seeds(f *testing.F, name string) (all [][]byte) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*", name))
	if err != nil || len(files) == 0 {
		f.Fatalf("no %s in the scenarios: %v", name, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, data)
	}
	return all
}

// FuzzInput: no input.json makes the reader fall over, and of what it takes each
// step is one that the driver knows.
func FuzzInput(f *testing.F) {
	for _, data := range seeds(f, inputFile) {
		f.Add(data)
	}
	f.Add([]byte(`{"steps":[{"op":"sleep"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseInput(data)
		if err != nil {
			return
		}
		if len(in.Steps) == 0 {
			t.Fatalf("%q has no steps and was taken", data)
		}
		for _, s := range in.Steps {
			if _, ok := stepFields[s.Op]; !ok {
				t.Fatalf("%q has the op %q and was taken", data, s.Op)
			}
		}
	})
}

// FuzzValue: what is read is JSON, what is written is read as the same value, and
// reading and writing again changes no byte.
func FuzzValue(f *testing.F) {
	for _, data := range seeds(f, "stdout.expected.jsonl") {
		line, _, _ := bytes.Cut(data, []byte("\n"))
		f.Add(line)
	}
	for _, s := range []string{`null`, `[1.50,-0,1e400,""]`, `{"a":{"a":1,"a":2}}`, "\"\xff\u2028\"", `{} {}`, `[`, ` true `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseValue(data)
		if valid := json.Valid(data); valid != (err == nil) {
			t.Fatalf("%q: valid %v, %v", data, valid, err)
		}
		if err != nil {
			return
		}
		once := v.appendJSON(nil)
		var want, got any
		if json.Unmarshal(data, &want) == nil { // numbers may be too large for it
			if err := json.Unmarshal(once, &got); err != nil {
				t.Fatalf("%q became %q: %v", data, once, err)
			}
			a, _ := json.Marshal(want)
			b, _ := json.Marshal(got)
			if !bytes.Equal(a, b) {
				t.Fatalf("%q became %q", data, once)
			}
		}
		again, err := parseValue(once)
		if err != nil || !bytes.Equal(again.appendJSON(nil), once) {
			t.Fatalf("%q, then %q: %v", once, again.appendJSON(nil), err)
		}
	})
}
