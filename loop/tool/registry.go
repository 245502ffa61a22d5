package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"acp-agent/session"
)

// Registry is the set of tools of one session, in the order of their names:
// the same tools always give the same request, whoever added them first. It is
// filled before the session runs and not changed afterwards, so it has no lock.
type Registry struct {
	tools []named // sorted by name
}

// named is a tool with its name: Spec may build more than the name.
type named struct {
	name string
	Tool
}

// NewRegistry returns a registry with these tools.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{}
	if err := r.Add(tools...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds tools. It refuses a name that providers refuse (letters, digits, _
// and -, at most 64) and a name that is taken, and then adds none of them.
func (r *Registry) Add(tools ...Tool) error {
	next := slices.Clone(r.tools)
	for _, t := range tools {
		name := t.Spec().Name
		if !validName(name) {
			return fmt.Errorf("adding a tool: %q is not a tool name", name)
		}
		i, taken := slices.BinarySearchFunc(next, name, compareName)
		if taken {
			return fmt.Errorf("adding a tool: there are two tools named %q", name)
		}
		next = slices.Insert(next, i, named{name, t})
	}
	r.tools = next
	return nil
}

func compareName(t named, name string) int { return strings.Compare(t.name, name) }

func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// Get returns the tool of that name. A nil registry has no tools.
func (r *Registry) Get(name string) (Tool, bool) {
	if r == nil {
		return nil, false
	}
	i, ok := slices.BinarySearchFunc(r.tools, name, compareName)
	if !ok {
		return nil, false
	}
	return r.tools[i].Tool, true
}

// Names returns the tools' names in order.
func (r *Registry) Names() []string {
	if r == nil {
		return nil
	}
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.name
	}
	return names
}

// Schemas returns the tools as a model is told of them, in the order of their
// names.
func (r *Registry) Schemas() []session.ToolSchema {
	if r == nil {
		return nil
	}
	out := make([]session.ToolSchema, len(r.tools))
	for i, t := range r.tools {
		s := t.Spec()
		out[i] = session.ToolSchema{Name: s.Name, Description: s.Description, Parameters: s.Schema}
	}
	return out
}

// Check says, in words for the model, what is wrong with a call's arguments: the
// tool's own where it has some.
func Check(t Tool, input json.RawMessage) error {
	if c, ok := t.(Checker); ok {
		return c.Check(input)
	}
	if !json.Valid(input) {
		return errors.New("The arguments are not valid JSON: send one JSON object.") //nolint:staticcheck // a sentence for the model
	}
	return nil
}

// Schema returns an embedded schema file in the form that it is sent in, made at
// the first call: the file is indented for its reader, what is sent is not.
func Schema(file string) func() json.RawMessage {
	return sync.OnceValue(func() json.RawMessage {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(file)); err != nil {
			panic("tool: an embedded schema is not JSON: " + err.Error()) // its golden test fails first
		}
		return b.Bytes()
	})
}
