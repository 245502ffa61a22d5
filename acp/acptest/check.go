package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-agent/acp"
	"acp-agent/acp/schema"
)

// CheckParams checks the params of a message that the agent sent against the published schema. Extension
// methods, whose names begin with an underscore, are free.
func CheckParams(method string, params json.RawMessage) error {
	if strings.HasPrefix(method, "_") {
		return nil
	}
	m, ok := methodOf(method)
	if !ok || m.Side == acp.SideAgent {
		return fmt.Errorf("%s is no method of the client", method)
	}
	return Check(m.Params, params)
}

// CheckResult checks the result of a request to the agent against the published schema.
func CheckResult(method string, result json.RawMessage) error {
	if method == acp.MethodSessionFork {
		return Check("ForkSessionResponse", result)
	}
	m, ok := methodOf(method)
	if !ok {
		return nil
	}
	return Check(m.Result, result)
}

func methodOf(name string) (acp.Method, bool) {
	for _, m := range acp.Methods {
		if m.Name == name {
			return m, true
		}
	}
	return acp.Method{}, false
}

// Check checks a JSON value against a definition of the schema by name. What the stable schema refuses
// is tried on the unstable one, which has the kinds that became stable since; and no member may be
// there that the Go type does not know, since the schema itself is open and would let a typing error
// pass for an unknown member.
func Check(def string, value json.RawMessage) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%s: %w", def, err)
	}
	if err := validate(stable, def, doc); err != nil {
		if validate(unstable, def, doc) != nil {
			return fmt.Errorf("%s does not fit the schema: %w", def, err)
		}
	}
	return checkMembers(def, value)
}

type schemaFile struct {
	name string
	data []byte

	once     sync.Once
	compiler *jsonschema.Compiler
	mu       sync.Mutex // the compiler is not safe for concurrent use
	defs     map[string]*jsonschema.Schema
}

var (
	stable   = &schemaFile{name: "acp.json", data: schema.Stable}
	unstable = &schemaFile{name: "acp.unstable.json", data: schema.Unstable}
)

func validate(f *schemaFile, def string, doc any) error {
	f.once.Do(func() {
		d, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.data))
		if err != nil {
			panic(err) // an embedded file
		}
		f.compiler = jsonschema.NewCompiler()
		if err := f.compiler.AddResource(f.name, d); err != nil {
			panic(err)
		}
		f.defs = map[string]*jsonschema.Schema{}
	})
	f.mu.Lock()
	s := f.defs[def]
	if s == nil {
		var err error
		if s, err = f.compiler.Compile(f.name + "#/$defs/" + def); err != nil {
			f.mu.Unlock()
			return fmt.Errorf("compile the schema of %s: %w", def, err)
		}
		f.defs[def] = s
	}
	f.mu.Unlock()
	return s.Validate(doc)
}

// messageTypes are the Go types of what an agent sends.
var messageTypes = map[string]reflect.Type{
	"InitializeResponse":              reflect.TypeFor[acp.InitializeResponse](),
	"AuthenticateResponse":            reflect.TypeFor[acp.AuthenticateResponse](),
	"LogoutResponse":                  reflect.TypeFor[acp.LogoutResponse](),
	"NewSessionResponse":              reflect.TypeFor[acp.NewSessionResponse](),
	"LoadSessionResponse":             reflect.TypeFor[acp.LoadSessionResponse](),
	"ResumeSessionResponse":           reflect.TypeFor[acp.ResumeSessionResponse](),
	"ForkSessionResponse":             reflect.TypeFor[acp.ForkSessionResponse](),
	"ListSessionsResponse":            reflect.TypeFor[acp.ListSessionsResponse](),
	"DeleteSessionResponse":           reflect.TypeFor[acp.DeleteSessionResponse](),
	"CloseSessionResponse":            reflect.TypeFor[acp.CloseSessionResponse](),
	"SetSessionModeResponse":          reflect.TypeFor[acp.SetSessionModeResponse](),
	"SetSessionConfigOptionResponse":  reflect.TypeFor[acp.SetSessionConfigOptionResponse](),
	"PromptResponse":                  reflect.TypeFor[acp.PromptResponse](),
	"SessionNotification":             reflect.TypeFor[acp.SessionNotification](),
	"RequestPermissionRequest":        reflect.TypeFor[acp.RequestPermissionRequest](),
	"ReadTextFileRequest":             reflect.TypeFor[acp.ReadTextFileRequest](),
	"WriteTextFileRequest":            reflect.TypeFor[acp.WriteTextFileRequest](),
	"CreateTerminalRequest":           reflect.TypeFor[acp.CreateTerminalRequest](),
	"TerminalOutputRequest":           reflect.TypeFor[acp.TerminalOutputRequest](),
	"WaitForTerminalExitRequest":      reflect.TypeFor[acp.WaitForTerminalExitRequest](),
	"KillTerminalRequest":             reflect.TypeFor[acp.KillTerminalRequest](),
	"ReleaseTerminalRequest":          reflect.TypeFor[acp.ReleaseTerminalRequest](),
	"CreateElicitationRequest":        reflect.TypeFor[acp.CreateElicitationRequest](),
	"CompleteElicitationNotification": reflect.TypeFor[acp.CompleteElicitationNotification](),
	"CancelRequestNotification":       reflect.TypeFor[acp.CancelRequestNotification](),
}

// checkMembers decodes value into its Go type, encodes it again, and demands that no member got lost.
func checkMembers(def string, value json.RawMessage) error {
	t := messageTypes[def]
	if t == nil {
		return nil
	}
	v := reflect.New(t)
	if err := acp.Unmarshal(value, v.Interface()); err != nil {
		return err
	}
	again, err := acp.Marshal(v.Interface())
	if err != nil {
		return err
	}
	var before, after any
	if err := json.Unmarshal(value, &before); err != nil {
		return err
	}
	if err := json.Unmarshal(again, &after); err != nil {
		return err
	}
	return lost(def, before, after)
}

// lost names a member of before that after lacks. null, false, "" and empty containers may go: they are
// what an absent member means.
func lost(path string, before, after any) error {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for k, v := range b {
			if k == "_meta" || k == "rawInput" || k == "rawOutput" {
				continue
			}
			w, ok := a[k]
			if !ok && !isEmpty(v) {
				return fmt.Errorf("%s has a member %q that the protocol does not know (own members go under _meta)", path, k)
			}
			if err := lost(path+"."+k, v, w); err != nil {
				return err
			}
		}
	case []any:
		a, _ := after.([]any)
		for i := range b {
			if i >= len(a) {
				return fmt.Errorf("%s[%d] is malformed", path, i)
			}
			if err := lost(fmt.Sprintf("%s[%d]", path, i), b[i], a[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
