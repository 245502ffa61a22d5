package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// RemoteTitle is the title of a call to a server's tool.
func RemoteTitle(server, name string, input json.RawMessage) string {
	title := server + ": " + name
	if args := summary(input); args != "" {
		title += " (" + args + ")"
	}
	return Title(title)
}

// summaryValue is how many characters of a value a title shows.
const summaryValue = 60

// summary is a call's arguments in short: the plain values, in the order in which
// the model wrote them.
func summary(input json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	var parts []string
	for n := 0; dec.More() && n < MaxTitle; {
		key, err := dec.Token()
		if err != nil {
			break
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			break
		}
		part := fmt.Sprintf("%v: %s", key, short(raw))
		parts = append(parts, part)
		n += len(part)
	}
	return strings.Join(parts, ", ")
}

func short(raw json.RawMessage) string {
	s := string(raw)
	switch raw[0] {
	case '{':
		return "{…}"
	case '[':
		return "[…]"
	case '"':
		_ = json.Unmarshal(raw, &s) // s stays what was written
	}
	if utf8.RuneCountInString(s) > summaryValue {
		s = string([]rune(s)[:summaryValue-1]) + "…"
	}
	if raw[0] == '"' {
		return `"` + s + `"`
	}
	return s
}
