package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"acp-agent/hooks"
)

// A node is a JSON (or TOML) value that remembers where it stood, so that a
// refusal can name the line and column as Codex does. encoding/json's own
// struct decoding will not do here: it takes "HOOKS" for "hooks", keeps silent
// about a key given twice, and rounds a float into an integer field's error
// without a place.
type node struct {
	kind    nodeKind
	off     int // byte offset of the value's first byte; -1 when unknown (TOML)
	members []member
	elems   []*node
	text    string // a string's value, a number's literal
	truth   bool
}

type member struct {
	key   string
	off   int // of the key
	value *node
}

type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// String names the kind in an error.
func (k nodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// maxDepth is the nesting at which serde_json gives up too.
const maxDepth = 127

// parseJSON reads exactly one JSON value. A comment, a trailing comma or
// anything after the value is an error, and so is text that is not UTF-8.
func parseJSON(data []byte) (*node, error) {
	if !utf8.Valid(data) {
		return nil, &placedError{off: invalidUTF8At(data), msg: "the text is not valid UTF-8"}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	p := &nodeParser{dec: dec, data: data}
	n, err := p.value(0)
	if err != nil {
		return nil, p.place(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &placedError{off: p.skip(int(dec.InputOffset())), msg: "there is more text after the JSON value"}
	}
	return n, nil
}

func invalidUTF8At(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

type nodeParser struct {
	dec  *json.Decoder
	data []byte
}

// skip moves past what stands between two tokens.
func (p *nodeParser) skip(off int) int {
	for off < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[off]) >= 0 {
		off++
	}
	return off
}

func (p *nodeParser) value(depth int) (*node, error) {
	off := p.skip(int(p.dec.InputOffset()))
	if depth > maxDepth {
		return nil, &placedError{off: off, msg: fmt.Sprintf("values are nested more than %d deep", maxDepth)}
	}
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &node{off: off}
	switch t := tok.(type) {
	case nil:
	case bool:
		n.kind, n.truth = boolNode, t
	case json.Number:
		n.kind, n.text = numberNode, t.String()
	case string:
		n.kind, n.text = stringNode, t
	case json.Delim:
		if t == '[' {
			n.kind = arrayNode
			for p.dec.More() {
				e, err := p.value(depth + 1)
				if err != nil {
					return nil, err
				}
				n.elems = append(n.elems, e)
			}
		} else {
			n.kind = objectNode
			if err := p.object(n, depth); err != nil {
				return nil, err
			}
		}
		if _, err := p.dec.Token(); err != nil { // the closing bracket
			return nil, err
		}
	}
	return n, nil
}

func (p *nodeParser) object(n *node, depth int) error {
	for p.dec.More() {
		off := p.skip(int(p.dec.InputOffset()))
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return &placedError{off: off, msg: "a key must be a string"}
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key: key, off: off, value: v})
	}
	return nil
}

// place turns the decoder's errors into placed ones.
func (p *nodeParser) place(err error) error {
	switch e := err.(type) {
	case *placedError:
		return e
	case *json.SyntaxError:
		// The scanner counts the offending byte in, Token does not.
		off := int(e.Offset)
		if off >= len(p.data) || !strings.HasPrefix(e.Error(), fmt.Sprintf("invalid character %q", p.data[off])) {
			off = max(off-1, 0)
		}
		return &placedError{off: off, msg: e.Error()}
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &placedError{off: len(p.data), msg: "the text ends in the middle of a value"}
	}
	return &placedError{off: int(p.dec.InputOffset()), msg: err.Error()}
}

// placedError is an error at a byte offset. in gives it line and column.
type placedError struct {
	off int
	// path says where in the value, for a source without offsets.
	path string
	msg  string
}

func (e *placedError) Error() string {
	if e.path != "" {
		return e.path + ": " + e.msg
	}
	return e.msg
}

// in spells the error with the line and the column in data, both from 1, the
// column in characters.
func (e *placedError) in(data []byte) string {
	if e.off < 0 || data == nil {
		return e.Error()
	}
	head := data[:min(e.off, len(data))]
	line := bytes.Count(head, []byte("\n")) + 1
	col := utf8.RuneCount(head[bytes.LastIndexByte(head, '\n')+1:]) + 1
	return fmt.Sprintf("line %d column %d: %s", line, col, e.Error())
}

func (n *node) fail(path, format string, args ...any) error {
	return &placedError{off: n.off, path: path, msg: fmt.Sprintf(format, args...)}
}

// get returns the last member of that name (serde_json's rule for a value that
// is parsed as a whole first), nil when there is none.
func (n *node) get(key string) *node {
	for i := len(n.members) - 1; i >= 0; i-- {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// fromTOML makes nodes of what go-toml decodes into an any. The order of a
// table's keys is lost, so they are put into one that stays the same.
func fromTOML(v any) *node {
	n := &node{off: -1}
	switch v := v.(type) {
	case map[string]any:
		n.kind = objectNode
		for k, e := range v {
			n.members = append(n.members, member{key: k, off: -1, value: fromTOML(e)})
		}
		sort.Slice(n.members, func(i, j int) bool { return n.members[i].key < n.members[j].key })
	case []any:
		n.kind = arrayNode
		for _, e := range v {
			n.elems = append(n.elems, fromTOML(e))
		}
	case []map[string]any:
		n.kind = arrayNode
		for _, e := range v {
			n.elems = append(n.elems, fromTOML(e))
		}
	case string:
		n.kind, n.text = stringNode, v
	case bool:
		n.kind, n.truth = boolNode, v
	case int64:
		n.kind, n.text = numberNode, strconv.FormatInt(v, 10)
	case float64:
		n.kind = numberNode
		n.text = strconv.FormatFloat(v, 'f', -1, 64)
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			n.text += ".0" // stays a float: an integer field must refuse it
		}
	case nil:
	default: // a date or a time
		n.kind, n.text = stringNode, fmt.Sprint(v)
	}
	return n
}

// uint reads a whole number of seconds or tokens: no sign, no fraction, no
// exponent (Codex 0.171.0, handlers: a u64, and a float drops the whole file).
func (n *node) uint(path string) (uint64, error) {
	if n.kind != numberNode {
		return 0, n.fail(path, "%s where a whole number was expected", n.kind)
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	switch {
	case err == nil:
		return v, nil
	case strings.HasPrefix(n.text, "-"):
		return 0, n.fail(path, "%s is negative; a whole number from 0 was expected", n.text)
	case strings.ContainsAny(n.text, ".eE"):
		return 0, n.fail(path, "%s is not a whole number; Codex takes whole seconds and tokens only", n.text)
	}
	return 0, n.fail(path, "%s does not fit into 64 bits", n.text)
}

// json writes the value back as compact JSON, members in their order and the
// last of doubled keys only.
func (n *node) json() json.RawMessage {
	return n.append(nil)
}

func (n *node) append(b []byte) []byte {
	switch n.kind {
	case boolNode:
		return strconv.AppendBool(b, n.truth)
	case numberNode:
		return append(b, n.text...)
	case stringNode:
		return hooks.AppendString(b, n.text)
	case arrayNode:
		b = append(b, '[')
		for i, e := range n.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.append(b)
		}
		return append(b, ']')
	case objectNode:
		b = append(b, '{')
		first := true
		for i, m := range n.members {
			if doubledLater(n.members, i) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = hooks.AppendString(b, m.key)
			b = append(b, ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func doubledLater(ms []member, i int) bool {
	for _, m := range ms[i+1:] {
		if m.key == ms[i].key {
			return true
		}
	}
	return false
}

// findNull returns the first null in the value, or nil.
func (n *node) findNull() *node {
	if n.kind == nullNode {
		return n
	}
	for _, e := range n.elems {
		if found := e.findNull(); found != nil {
			return found
		}
	}
	for _, m := range n.members {
		if found := m.value.findNull(); found != nil {
			return found
		}
	}
	return nil
}
