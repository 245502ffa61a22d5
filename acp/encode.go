package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// Marshal encodes a protocol value by the rules of the protocol: required members always there, empty
// arrays as [] and never null, optional members left out when zero, no HTML escaping. Types of other
// packages are encoded as encoding/json does, also without HTML escaping.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append is Marshal into a buffer of the caller's.
func Append(dst []byte, v any) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	return appendValue(dst, reflect.ValueOf(v))
}

func appendValue(dst []byte, v reflect.Value) ([]byte, error) {
	t := v.Type()
	if t == rawType {
		return appendRaw(dst, v.Bytes())
	}
	if t.Kind() == reflect.Pointer {
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, v.Elem())
	}
	switch t.Kind() {
	case reflect.String:
		return appendString(dst, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, fmt.Errorf("encode a number: JSON has no %v", f)
		}
		return appendForeign(dst, v)
	}
	if planned(t) {
		return appendStruct(dst, v)
	}
	if t.Implements(marshalerType) {
		b, err := v.Interface().(json.Marshaler).MarshalJSON()
		return append(dst, b...), err
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		return appendSlice(dst, v)
	}
	return appendForeign(dst, v)
}

func appendSlice(dst []byte, v reflect.Value) (_ []byte, err error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, v.Index(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendStruct(dst []byte, v reflect.Value) ([]byte, error) {
	p := planOf(v.Type())
	if p.other >= 0 {
		if raw := v.Field(p.other).Bytes(); len(raw) > 0 {
			return appendRaw(dst, raw)
		}
	}
	start := len(dst)
	dst = append(dst, '{')
	dst, err := appendMembers(dst, p, v)
	if err != nil {
		return dst, err
	}
	// Every member was written with a comma after it.
	if len(dst) > start+1 {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}'), nil
}

// appendMembers writes the members of v without braces, a comma after each.
func appendMembers(dst []byte, p *plan, v reflect.Value) (_ []byte, err error) {
	if p.union {
		if dst, err = appendVariant(dst, p, v); err != nil {
			return dst, err
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		fv := v.Field(f.index)
		if f.omit && fv.IsZero() {
			continue
		}
		dst = append(dst, f.prefix...)
		if fv.Kind() == reflect.Slice && fv.Type() == rawType && fv.Len() == 0 {
			dst = append(dst, "null,"...)
			continue
		}
		if dst, err = appendValue(dst, fv); err != nil {
			return dst, fmt.Errorf("%s: %w", f.name, err)
		}
		dst = append(dst, ',')
	}
	return dst, nil
}

func appendVariant(dst []byte, p *plan, v reflect.Value) ([]byte, error) {
	var set *variant
	for i := range p.variants {
		if v.Field(p.variants[i].index).IsNil() {
			continue
		}
		if set != nil {
			return dst, fmt.Errorf("encode %s: two variants are set; set exactly one", v.Type().Name())
		}
		set = &p.variants[i]
	}
	if set == nil {
		return dst, fmt.Errorf("encode %s: no variant is set; set exactly one", v.Type().Name())
	}
	if set.prefix != "" {
		dst = append(append(dst, set.prefix...), ',')
	}
	return appendMembers(dst, planOf(set.typ), v.Field(set.index).Elem())
}

// appendRaw copies JSON that was made elsewhere; a newline in it would break the line framing, and
// anything that is not JSON would break the message.
func appendRaw(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "null"...), nil
	}
	if !json.Valid(raw) {
		return dst, errors.New("encode a raw value: it is not valid JSON")
	}
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return append(dst, raw...), nil
	}
	buf := bytes.NewBuffer(dst)
	err := json.Compact(buf, raw)
	return buf.Bytes(), err
}

// appendForeign leaves a value to encoding/json, with HTML escaping off.
func appendForeign(dst []byte, v reflect.Value) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.Interface()); err != nil {
		return buf.Bytes(), err
	}
	b := buf.Bytes()
	return b[:len(b)-1], nil
}
