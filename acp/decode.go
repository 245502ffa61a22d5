package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Unmarshal decodes a protocol value by the reading rules of the protocol (see the package comment).
// An error is an *Error with code -32602 that names the field.
func Unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		return InvalidParams("", "not valid JSON")
	}
	return unmarshalValid(data, v)
}

// unmarshalValid is Unmarshal for data that is known to be valid JSON.
func unmarshalValid(data []byte, v any) error {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Pointer || rv.IsNil() {
		return fmt.Errorf("decode into %T: want a pointer that is not nil", v)
	}
	i := skipSpace(data, 0)
	end := skipValue(data, i)
	data = data[i:end:end]
	var err error
	if tagged(rv.Elem().Type()) {
		err = decodeStruct(data, rv.Elem())
	} else {
		err = decodeValue(data, rv.Elem(), false)
	}
	var fe *fieldError
	if errors.As(err, &fe) {
		return InvalidParams(fe.path, fe.msg)
	}
	return err
}

func decodeValue(b []byte, v reflect.Value, skip bool) error {
	t := v.Type()
	if t == rawType {
		// A copy: the line's buffer must not live as long as one small value of it.
		v.SetBytes(slices.Clone(b))
		return nil
	}
	if planned(t) {
		return decodeStruct(b, v)
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(b); err != nil {
			return asFieldError(err)
		}
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if isNull(b) {
			v.SetZero()
			return nil
		}
		p := reflect.New(t.Elem())
		if err := decodeValue(b, p.Elem(), skip); err != nil {
			return err
		}
		v.Set(p)
		return nil
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return decodeSlice(b, v, skip)
		}
	case reflect.Map:
		return decodeMap(b, v)
	case reflect.String, reflect.Bool, reflect.Float64,
		reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeScalar(b, v)
	}
	return json.Unmarshal(b, v.Addr().Interface())
}

func asFieldError(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if d, ok := e.Data.(FieldData); ok {
		return &fieldError{path: d.Field, msg: strings.TrimPrefix(e.Message, "invalid params: "+d.Field+": ")}
	}
	return err
}

func decodeScalar(b []byte, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		if b[0] != '"' {
			return fieldErrorf("", "want a string, got %s", kindOf(b))
		}
		v.SetString(stringOf(b))
	case reflect.Bool:
		if b[0] != 't' && b[0] != 'f' {
			return fieldErrorf("", "want true or false, got %s", kindOf(b))
		}
		v.SetBool(b[0] == 't')
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil {
			return fieldErrorf("", "want a number, got %s", kindOf(b))
		}
		v.SetFloat(f)
	default:
		return decodeInt(b, v)
	}
	return nil
}

// decodeInt takes 3 and also 3.0, which is the same JSON number and what some Lua encoders write.
func decodeInt(b []byte, v reflect.Value) error {
	if k := kindOf(b); k != "a number" {
		return fieldErrorf("", "want an integer, got %s", k)
	}
	s := string(b)
	if head, frac, ok := strings.Cut(s, "."); ok && strings.Trim(frac, "0") == "" {
		s = head
	}
	if s == "-0" {
		s = "0"
	}
	if v.CanUint() {
		n, err := strconv.ParseUint(s, 10, v.Type().Bits())
		if err != nil {
			return fieldErrorf("", "want an integer from 0 to %d, got %.40s", uint64(1)<<v.Type().Bits()-1, b)
		}
		v.SetUint(n)
		return nil
	}
	n, err := strconv.ParseInt(s, 10, v.Type().Bits())
	if err != nil {
		return fieldErrorf("", "want an integer of %d bits, got %.40s", v.Type().Bits(), b)
	}
	v.SetInt(n)
	return nil
}

func decodeSlice(b []byte, v reflect.Value, skip bool) error {
	if isEmptyObject(b) {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return nil
	}
	if b[0] != '[' {
		return fieldErrorf("", "want an array, got %s", kindOf(b))
	}
	out := reflect.MakeSlice(v.Type(), 0, 4)
	elem := v.Type().Elem()
	err := eachItem(b, func(n int, val []byte) error {
		item := reflect.New(elem).Elem()
		err := decodeItem(val, item)
		if err != nil && skip {
			return nil
		}
		if err != nil {
			return under("["+strconv.Itoa(n)+"]", err)
		}
		out = reflect.Append(out, item)
		return nil
	})
	if err != nil {
		return err
	}
	v.Set(out)
	return nil
}

// decodeItem does not take null for an item: there is no such thing as an absent item.
func decodeItem(val []byte, item reflect.Value) error {
	if isNull(val) && item.Kind() != reflect.Interface {
		return fieldErrorf("", "want a value, got null")
	}
	return decodeValue(val, item, false)
}

func decodeMap(b []byte, v reflect.Value) error {
	t := v.Type()
	if isEmptyArray(b) {
		v.Set(reflect.MakeMap(t))
		return nil
	}
	if b[0] != '{' {
		return fieldErrorf("", "want an object, got %s", kindOf(b))
	}
	out := reflect.MakeMap(t)
	err := eachMember(b, func(key string, val []byte) error {
		item := reflect.New(t.Elem()).Elem()
		if err := decodeItem(val, item); err != nil {
			return under(key, err)
		}
		out.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
		return nil
	})
	if err != nil {
		return err
	}
	v.Set(out)
	return nil
}

// isEmptyArray tells the [] that Lua clients write for an empty table where {} is meant.
func isEmptyArray(b []byte) bool {
	return len(b) >= 2 && b[0] == '[' && b[skipSpace(b, 1)] == ']'
}

// isEmptyObject tells the {} that other Lua encoders, and Emacs, write for an empty list where [] is meant.
func isEmptyObject(b []byte) bool {
	return len(b) >= 2 && b[0] == '{' && b[skipSpace(b, 1)] == '}'
}

func decodeStruct(b []byte, v reflect.Value) error {
	p := planOf(v.Type())
	if b[0] != '{' && !isEmptyArray(b) {
		return fieldErrorf("", "want an object, got %s", kindOf(b))
	}
	if err := decodeMembers(b, p, v); err != nil {
		return err
	}
	if p.union {
		if err := decodeVariant(b, p, v); err != nil {
			return err
		}
	}
	if v.CanAddr() && v.Addr().Type().Implements(checkerType) {
		return v.Addr().Interface().(interface{ check() error }).check()
	}
	return nil
}

func decodeMembers(b []byte, p *plan, v reflect.Value) error {
	var buf [24]bool
	seen := buf[:]
	if len(p.fields) > len(buf) {
		seen = make([]bool, len(p.fields))
	}
	if b[0] == '{' {
		err := eachMember(b, func(key string, val []byte) error {
			i, ok := p.byName[key]
			if !ok {
				return nil // unknown members are ignored
			}
			seen[i] = true
			f := &p.fields[i]
			if err := decodeField(val, f, v.Field(f.index)); err != nil {
				return under(f.name, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		if seen[i] {
			continue
		}
		if f.required && !f.absent {
			return fieldErrorf(f.name, "missing; it is required")
		}
		if f.absent {
			setEmpty(v.Field(f.index))
		}
	}
	return nil
}

// setEmpty gives an array that counts as empty the form that a sent empty array has.
func setEmpty(v reflect.Value) {
	if v.Kind() == reflect.Slice && v.Type() != rawType {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
}

func decodeField(val []byte, f *field, v reflect.Value) error {
	v.SetZero() // a member given twice: the last one counts, whole
	if isNull(val) {
		switch {
		case f.null || f.lenient && f.required:
			setEmpty(v)
			return nil
		case f.typ == rawType || !planned(f.typ) && reflect.PointerTo(f.typ).Implements(unmarshaler):
			// null has a meaning of its own there (Patch, request ids)
		case !f.required:
			return nil
		default:
			return fieldErrorf("", "want a value, got null")
		}
	}
	if err := decodeValue(val, v, f.skip); err != nil {
		if !f.lenient {
			return err
		}
		v.SetZero()
		if f.required {
			setEmpty(v)
		}
	}
	return nil
}

func decodeVariant(b []byte, p *plan, v reflect.Value) error {
	vr, err := chooseVariant(b, p)
	if err != nil {
		return err
	}
	if vr == nil { // only with p.other
		v.Field(p.other).SetBytes(slices.Clone(b))
		return nil
	}
	val := reflect.New(vr.typ)
	if err := decodeStruct(b, val.Elem()); err != nil {
		return err
	}
	v.Field(vr.index).Set(val)
	return nil
}

// chooseVariant finds the variant that an object is; nil stands for "other".
func chooseVariant(b []byte, p *plan) (*variant, error) {
	var disc []byte
	var byKey *variant
	if b[0] == '{' {
		_ = eachMember(b, func(key string, val []byte) error {
			if p.disc != "" && key == p.disc {
				disc = val
			}
			for i := range p.variants {
				if vr := &p.variants[i]; vr.key != "" && vr.key == key && byKey == nil {
					byKey = vr
				}
			}
			return nil
		})
	}
	if disc == nil || isNull(disc) {
		for i := range p.variants {
			if p.variants[i].isDef {
				return &p.variants[i], nil
			}
		}
		if byKey != nil {
			return byKey, nil
		}
		return nil, fieldErrorf(p.disc, "missing; want %s", p.wanted())
	}
	if disc[0] != '"' {
		return nil, fieldErrorf(p.disc, "want a string, got %s", kindOf(disc))
	}
	name := stringOf(disc)
	for i := range p.variants {
		if vr := &p.variants[i]; vr.value == name && vr.key == "" {
			return vr, nil
		}
	}
	if byKey != nil {
		return byKey, nil
	}
	if p.other >= 0 {
		return nil, nil
	}
	return nil, fieldErrorf(p.disc, "unknown value %.60q; want %s", name, p.wanted())
}

// wanted lists what a discriminator may be, for an error message.
func (p *plan) wanted() string {
	var out []string
	for _, v := range p.variants {
		if v.key != "" {
			out = append(out, "member "+strconv.Quote(v.key))
		} else {
			out = append(out, strconv.Quote(v.value))
		}
	}
	return strings.Join(out, " or ")
}
