package snapshots

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"acp-agent/session"
)

// value is a JSON value that keeps the order of members and the spelling of
// numbers, so that a refreshed file differs from its old form only where the
// agent's output does.
type value struct {
	kind    valueKind
	str     string // a string, or a number as it was written
	truth   bool
	items   []*value
	members []member
	line    int // of a record: its line in the file
}

type member struct {
	key string
	val *value
}

type valueKind int

const (
	nullValue valueKind = iota
	boolValue
	numberValue
	stringValue
	arrayValue
	objectValue
)

func text(s string) *value { return &value{kind: stringValue, str: s} }

func number(s string) *value { return &value{kind: numberValue, str: s} }

// parseValue reads exactly one JSON value.
func parseValue(data []byte) (*value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := readValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func readValue(dec *json.Decoder) (*value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case nil:
		return &value{}, nil
	case bool:
		return &value{kind: boolValue, truth: t}, nil
	case json.Number:
		return number(t.String()), nil
	case string:
		return text(t), nil
	case json.Delim:
		if t == '[' {
			return readArray(dec)
		}
		return readObject(dec)
	}
	return nil, fmt.Errorf("unexpected token %v", tok)
}

func readArray(dec *json.Decoder) (*value, error) {
	v := &value{kind: arrayValue}
	for dec.More() {
		item, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		v.items = append(v.items, item)
	}
	_, err := dec.Token()
	return v, err
}

func readObject(dec *json.Decoder) (*value, error) {
	v := &value{kind: objectValue}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		val, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		v.members = append(v.members, member{key.(string), val})
	}
	_, err := dec.Token()
	return v, err
}

// get returns the value at a path of member names, nil when there is none.
func (v *value) get(path ...string) *value {
	for _, key := range path {
		if v = v.member(key); v == nil {
			return nil
		}
	}
	return v
}

func (v *value) member(key string) *value {
	if v == nil {
		return nil
	}
	for i := range v.members {
		if v.members[i].key == key {
			return v.members[i].val
		}
	}
	return nil
}

// text returns the string at a path, empty when there is none.
func (v *value) text(path ...string) string {
	if v = v.get(path...); v == nil || v.kind != stringValue {
		return ""
	}
	return v.str
}

// set replaces or appends a member.
func (v *value) set(key string, val *value) {
	for i := range v.members {
		if v.members[i].key == key {
			v.members[i].val = val
			return
		}
	}
	v.members = append(v.members, member{key, val})
}

func (v *value) remove(key string) {
	for i := range v.members {
		if v.members[i].key == key {
			v.members = append(v.members[:i:i], v.members[i+1:]...)
			return
		}
	}
}

// appendJSON appends the value as compact JSON. Strings are written as the log
// writes them: no HTML escaping, U+2028 and U+2029 escaped.
func (v *value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case boolValue:
		if v.truth {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case numberValue:
		return append(dst, v.str...)
	case stringValue:
		return session.AppendString(dst, v.str)
	case arrayValue:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.appendJSON(dst)
		}
		return append(dst, ']')
	case objectValue:
		dst = append(dst, '{')
		for i := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = session.AppendString(dst, v.members[i].key)
			dst = append(dst, ':')
			dst = v.members[i].val.appendJSON(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func (v *value) String() string {
	if v == nil {
		return "nothing"
	}
	return string(v.appendJSON(nil))
}

// record is one line of a JSON lines file.
type record = *value

// parseLines reads a JSON lines file; blank lines are skipped. The name is for
// the error.
func parseLines(name string, data []byte) ([]record, error) {
	var out []record
	data = bytes.TrimPrefix(data, byteOrderMark)
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, err := parseValue(line)
		if err != nil {
			return nil, fmt.Errorf("%s line %d is not JSON: %w", name, i+1, err)
		}
		v.line = i + 1
		out = append(out, v)
	}
	return out, nil
}

func formatLines(recs []record) []byte {
	var out []byte
	for _, r := range recs {
		out = append(r.appendJSON(out), '\n')
	}
	return out
}
