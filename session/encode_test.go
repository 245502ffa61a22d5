package session

import (
	"encoding/json"
	"reflect"
	"testing"
)

// fill returns values of t in which each set of the fields is set, up to depth
// levels of structs.
func fill(t reflect.Type) []reflect.Value {
	if t == reflect.TypeFor[json.RawMessage]() {
		return []reflect.Value{reflect.Zero(t), reflect.ValueOf(json.RawMessage(`{"a": [1,  "<\u2028"]}`))}
	}
	switch t.Kind() {
	case reflect.String:
		return []reflect.Value{reflect.Zero(t), reflect.ValueOf("a\"\\<&>\n\t\x01\u2028é").Convert(t)}
	case reflect.Int, reflect.Int64:
		return []reflect.Value{reflect.Zero(t), reflect.ValueOf(-7).Convert(t)}
	case reflect.Float64:
		return []reflect.Value{reflect.Zero(t), reflect.ValueOf(1e-7)}
	case reflect.Pointer:
		out := []reflect.Value{reflect.Zero(t)}
		for _, v := range fill(t.Elem()) {
			p := reflect.New(t.Elem())
			p.Elem().Set(v)
			out = append(out, p)
		}
		return out
	case reflect.Slice:
		out := []reflect.Value{reflect.Zero(t), reflect.MakeSlice(t, 0, 0)}
		all := reflect.MakeSlice(t, 0, 0)
		for _, v := range fill(t.Elem()) {
			all = reflect.Append(all, v)
		}
		return append(out, all.Slice(0, min(1, all.Len())), all)
	case reflect.Struct:
		out := []reflect.Value{reflect.Zero(t)}
		for i := range t.NumField() {
			var more []reflect.Value
			for _, v := range fill(t.Field(i).Type) {
				for _, base := range out {
					s := reflect.New(t).Elem()
					s.Set(base)
					s.Field(i).Set(v)
					more = append(more, s)
				}
			}
			if out = more; len(out) > 3000 {
				out = out[len(out)-3000:]
			}
		}
		return out
	}
	panic("cannot fill " + t.String())
}

// What is written by hand is what encoding/json writes.
func TestEncodedByHand(t *testing.T) {
	for _, d := range []Data{&StepStart{}, &StepEnd{}, &RequestSent{}, &ToolCall{}, &UsageReport{}} {
		for _, v := range fill(reflect.TypeOf(d).Elem()) {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			want, err := encode(p.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if got, err := appendData(nil, p.Interface().(Data)); err != nil || string(got) != string(want) {
				t.Fatalf("%T: %v\ngot  %s\nwant %s", d, err, got, want)
			}
		}
	}
	for typ, write := range map[reflect.Type]func(w *objectWriter, v any) error{
		reflect.TypeFor[Source]():   func(w *objectWriter, v any) error { s := v.(Source); w.source("meta", &s); return nil },
		reflect.TypeFor[Usage]():    func(w *objectWriter, v any) error { u := v.(Usage); w.usage("meta", &u); return nil },
		reflect.TypeFor[ToolMeta](): func(w *objectWriter, v any) error { m := v.(ToolMeta); return w.meta(&m) },
	} {
		for _, v := range fill(typ) {
			want, err := encode(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			var w objectWriter
			if err := write(&w, v.Interface()); err != nil || string(w.dst) != `"meta":`+string(want) {
				t.Fatalf("%v: %v\ngot  %s\nwant %s", typ, err, w.dst, want)
			}
		}
	}
}

func BenchmarkAppendStep(b *testing.B) {
	usage := Usage{InputTokens: 100, OutputTokens: 10}
	src := Source{Kind: SourceModel, Provider: "openai", Model: "mock-model"}
	step := []Data{
		&StepStart{1, 7}, &RequestSent{Turn: 1, Step: 7, Attempt: 1, Digest: "sha256:0123456789abcdef", MessageID: "m"},
		&AssistantMessage{Turn: 1, Step: 7, Usage: &usage, Stop: FinishToolCalls, Message: LoggedMessage{
			ID: "m", Role: RoleAssistant, Source: src, Content: []Block{{Type: BlockToolCall, ID: "c", Name: "read", Arguments: `{"file_path":"/w/file.txt"}`}},
		}},
		&UsageReport{Turn: 1, Step: 7, Usage: usage},
		&ToolCall{Turn: 1, Step: 7, CallID: "c", Name: "read", Arguments: `{"file_path":"/w/file.txt"}`},
		NewToolResult(1, 7, "c", []Block{Text("1: line one\n2: line two\n")}, false, &ToolMeta{
			Locations: []Location{{"/w/file.txt", 1}}, Response: json.RawMessage(`{"path":"/w/file.txt","content":"line one\nline two"}`),
		}),
		&StepEnd{1, 7},
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i, d := range step {
			var err error
			if dst, err = AppendEvent(dst, &Event{Seq: uint64(i + 1), Data: d}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
