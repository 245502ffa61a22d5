package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// ArgumentError is a fault in a call's arguments, worded for the model.
type ArgumentError struct {
	// Broken: the arguments are not JSON at all, most often because the answer
	// was cut. Otherwise they are JSON that does not fit the schema.
	Broken bool
	// Faults is one entry a fault.
	Faults []string
}

func (e *ArgumentError) Error() string {
	if e.Broken {
		return "The arguments are not valid JSON (" + strings.Join(e.Faults, "; ") + "). The tool did not run; write the call again with complete JSON."
	}
	return "The arguments do not fit: " + strings.Join(e.Faults, "; ") + ". The tool did not run."
}

// Decode reads a call's arguments into T, a struct whose fields carry json tags.
// A field without omitempty is required, which is also how its schema is made.
// The error is an *ArgumentError that names every fault; the value then holds
// what could be read.
//
// It is lenient where a model's slip has one meaning: unknown members are
// ignored, null counts as absent, "30" fits a number, 30.0 an integer and
// "true" a boolean. Member names match exactly, as the schema says, and not
// without regard to case as in encoding/json.
func Decode[T any](input json.RawMessage) (T, error) {
	var v T
	input = bytes.Trim(input, " \t\r\n")
	if len(input) == 0 {
		input = []byte("{}")
	}
	if err := validJSON(input); err != nil {
		return v, &ArgumentError{Broken: true, Faults: []string{err.Error()}}
	}
	var d decoder
	d.value(reflect.ValueOf(&v).Elem(), input, "")
	if len(d.faults) > 0 {
		return v, &ArgumentError{Faults: d.faults}
	}
	return v, nil
}

// Peek is Decode for a View: it gives what can be read and no error.
func Peek[T any](input json.RawMessage) T {
	v, _ := Decode[T](input)
	return v
}

// validJSON says where JSON is broken. Valid needs no memory and says no more than
// that it is.
func validJSON(input []byte) error {
	if json.Valid(input) {
		return nil
	}
	var raw json.RawMessage
	err := json.Unmarshal(input, &raw)
	if err == nil {
		return nil
	}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s, at byte %d of %d", s.Error(), s.Offset, len(input))
	}
	return err
}

// decoder collects faults while it walks the value. maxFaults keeps the answer
// short for a list that is wrong all over.
type decoder struct{ faults []string }

const maxFaults = 8

func (d *decoder) fault(format string, args ...any) {
	if len(d.faults) < maxFaults {
		d.faults = append(d.faults, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) value(v reflect.Value, raw json.RawMessage, path string) {
	switch v.Kind() {
	case reflect.Struct:
		d.object(v, raw, path)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(p.Elem(), raw, path)
		v.Set(p)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(bytes.Clone(raw))
			return
		}
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			d.misfit(path, "an array", raw)
			return
		}
		s := reflect.MakeSlice(v.Type(), len(items), len(items))
		for i, item := range items {
			d.value(s.Index(i), item, fmt.Sprintf("%s[%d]", path, i))
		}
		v.Set(s)
	case reflect.String:
		var s string
		if kindOf(raw) != "a string" || json.Unmarshal(raw, &s) != nil {
			d.misfit(path, "a string", raw)
			return
		}
		v.SetString(s)
	case reflect.Bool:
		switch strings.Trim(string(raw), `"`) {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			d.misfit(path, "true or false", raw)
		}
	case reflect.Int, reflect.Int64:
		f, ok := number(raw)
		switch {
		case !ok:
			d.misfit(path, "a number", raw)
		case f != math.Trunc(f):
			d.misfit(path, "a whole number", raw)
		case math.Abs(f) > 1<<53:
			d.misfit(path, "a smaller whole number", raw)
		default:
			v.SetInt(int64(f))
		}
	case reflect.Float64:
		f, ok := number(raw)
		if !ok {
			d.misfit(path, "a number", raw)
			return
		}
		v.SetFloat(f)
	default:
		panic("tool: arguments of type " + v.Type().String() + " are not supported")
	}
}

func (d *decoder) object(v reflect.Value, raw json.RawMessage, path string) {
	var members map[string]json.RawMessage
	if kindOf(raw) != "an object" || json.Unmarshal(raw, &members) != nil {
		d.misfit(path, "an object", raw)
		return
	}
	t := v.Type()
	for i := range t.NumField() {
		name, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		m, ok := members[name]
		if !ok || kindOf(m) == "null" {
			if !strings.Contains(opts, "omit") {
				d.fault("the required %q (%s) is missing", at, describe(t.Field(i).Type))
			}
			continue
		}
		d.value(v.Field(i), m, at)
	}
}

func (d *decoder) misfit(path, want string, raw json.RawMessage) {
	if path == "" {
		d.fault("they must be %s, not %s", want, kindOf(raw))
		return
	}
	d.fault("%q must be %s, not %s", path, want, shown(raw))
}

// number reads a JSON number, also one in quotes.
func number(raw json.RawMessage) (float64, bool) {
	s := string(raw)
	if kindOf(raw) == "a string" {
		if json.Unmarshal(raw, &s) != nil {
			return 0, false
		}
		s = strings.TrimSpace(s)
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
}

// kindOf names the JSON kind of a valid value.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// shown is the value's kind, with the value where it is a short scalar.
func shown(raw json.RawMessage) string {
	kind := kindOf(raw)
	if len(raw) <= 40 && raw[0] != '{' && raw[0] != '[' {
		return kind + " (" + string(raw) + ")"
	}
	return kind
}

func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	}
	return "object"
}
