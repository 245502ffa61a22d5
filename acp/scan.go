package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The functions of this file walk over JSON that is already known to be valid (json.Valid is the gate
// for every line that comes in). They hand out slices of their input and copy nothing, so that a
// prompt with a 20 MB image costs its own size and not a multiple of it.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at b[i].
func skipString(b []byte, i int) int {
	start := i + 1
	for i = start; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		// The quote ends the string if an even number of backslashes stands before it.
		slashes := 0
		for j := i - 1; j >= start && b[j] == '\\'; j-- {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
}

// skipValue returns the index after the value that starts at b[i].
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// eachMember calls fn for every member of the object obj, in order; val has no space around it.
func eachMember(obj []byte, fn func(key string, val []byte) error) error {
	i := skipSpace(obj, 0) + 1
	for {
		i = skipSpace(obj, i)
		if i >= len(obj) || obj[i] == '}' {
			return nil
		}
		if obj[i] == ',' {
			i++
			continue
		}
		end := skipString(obj, i)
		key := stringOf(obj[i:end])
		i = skipSpace(obj, end) + 1 // over the colon
		i = skipSpace(obj, i)
		end = skipValue(obj, i)
		if err := fn(key, obj[i:end:end]); err != nil {
			return err
		}
		i = end
	}
}

// eachItem calls fn for every item of the array arr.
func eachItem(arr []byte, fn func(n int, val []byte) error) error {
	i := skipSpace(arr, 0) + 1
	for n := 0; ; n++ {
		i = skipSpace(arr, i)
		if i < len(arr) && arr[i] == ',' {
			i = skipSpace(arr, i+1)
		}
		if i >= len(arr) || arr[i] == ']' {
			return nil
		}
		end := skipValue(arr, i)
		if err := fn(n, arr[i:end:end]); err != nil {
			return err
		}
		i = end
	}
}

// stringOf decodes a JSON string with its quotes.
func stringOf(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 && len(b) >= 2 {
		return string(b[1 : len(b)-1])
	}
	var s string
	_ = json.Unmarshal(b, &s) // valid by the contract of this file
	return s
}

// kindOf names the JSON type of a value for an error message.
func kindOf(val []byte) string {
	if len(val) == 0 {
		return "nothing"
	}
	switch val[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func isNull(val []byte) bool { return len(val) == 4 && val[0] == 'n' }

// fieldError says which field of a message is wrong and in what way; path grows outwards.
type fieldError struct {
	path string
	msg  string
}

func (e *fieldError) Error() string {
	if e.path == "" {
		return e.msg
	}
	return e.path + ": " + e.msg
}

func fieldErrorf(path, format string, args ...any) *fieldError {
	return &fieldError{path: path, msg: fmt.Sprintf(format, args...)}
}

// under puts a path element before the path of err.
func under(elem string, err error) error {
	fe, ok := err.(*fieldError)
	if !ok {
		fe = &fieldError{msg: err.Error()}
	}
	switch {
	case fe.path == "":
		fe.path = elem
	case fe.path[0] == '[':
		fe.path = elem + fe.path
	default:
		fe.path = elem + "." + fe.path
	}
	return fe
}
