package acp

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"acp-agent/acp/schema"
)

// def is what the tests read of a schema definition.
type def struct {
	Type       any             `json:"type"`
	Properties map[string]*def `json:"properties"`
	Required   []string        `json:"required"`
	OneOf      []*def          `json:"oneOf"`
	AnyOf      []*def          `json:"anyOf"`
	AllOf      []*def          `json:"allOf"`
	Items      *def            `json:"items"`
	Ref        string          `json:"$ref"`
	Const      any             `json:"const"`
	Title      string          `json:"title"`
	Default    any             `json:"default"`
	OnError    bool            `json:"x-deserialize-default-on-error"`
	OnNull     bool            `json:"x-deserialize-default-on-null"`
	SkipItems  bool            `json:"x-deserialize-skip-invalid-items"`
	Method     string          `json:"x-method"`
	Side       string          `json:"x-side"`
	Ignore     bool            `json:"x-docs-ignore"`
}

// Definitions that are stable upstream but only in the unstable file of the copy we have.
var newlyStable = []string{
	"SystemPrompt", "SystemPromptMode", "SessionSystemPromptCapabilities", "SessionSystemPromptModeCapabilities",
	"SessionSystemPromptOverrideCapabilities", "PlanCapabilities", "PlanId", "PlanItems", "PlanMarkdown", "PlanRemoved",
	"PlanUpdate", "PlanUpdateContent", "SubagentCapabilities", "SubagentSessionCapabilities", "SessionCancelCapabilities",
	"SubagentUpdate", "StateUpdate", "RunningStateUpdate", "IdleStateUpdate", "RequiresActionStateUpdate",
	"UnknownStateUpdate", "SessionMessage", "SessionMessageChunk", "Usage", "SessionUpdate",
	// Not stable, but served where the configuration asks for it.
	"SessionForkCapabilities", "ForkSessionRequest", "ForkSessionResponse",
}

// The same for members of definitions that are in both.
var newlyStableMembers = map[string][]string{
	"SessionCapabilities":  {"systemPrompt", "fork"},
	"NewSessionRequest":    {"systemPrompt"},
	"LoadSessionRequest":   {"systemPrompt"},
	"ResumeSessionRequest": {"systemPrompt"},
	"ClientCapabilities":   {"plan", "subagents"},
}

// Definitions with no Go type of their own, and why.
var folded = map[string]string{
	"ElicitationAcceptAction":   "flat in CreateElicitationResponse",
	"SelectedPermissionOutcome": "flat in RequestPermissionOutcome",
	"ElicitationContentValue":   "any in CreateElicitationResponse.Content",
	"ElicitationSchemaType":     "a string with one value",
	"ExtRequest":                "free form",
	"ExtResponse":               "free form",
	"ExtNotification":           "free form",
	"ErrorStopReason":           "flat in IdleStateUpdate",
}

// Go types that differ from their definition on purpose; each has a test of its own below.
var handMade = []string{
	"RequestPermissionOutcome", "CreateElicitationResponse", "SetSessionConfigOptionRequest",
	"SessionConfigSelectOptions", "Error", "ErrorCode", "RequestId", "AvailableCommandInput", "IdleStateUpdate",
}

// Members that the copy of the schema lacks and a newer one has.
var ahead = map[string][]string{"PlanMarkdown": {"path"}}

func loadDefs(t testing.TB) map[string]*def {
	t.Helper()
	var stable, unstable struct {
		Defs map[string]*def `json:"$defs"`
	}
	if err := json.Unmarshal(schema.Stable, &stable); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(schema.Unstable, &unstable); err != nil {
		t.Fatal(err)
	}
	for _, n := range newlyStable {
		stable.Defs[n] = unstable.Defs[n]
	}
	for n, members := range newlyStableMembers {
		for _, m := range members {
			stable.Defs[n].Properties[m] = unstable.Defs[n].Properties[m]
		}
	}
	// The draft's third form of a plan was dropped.
	pu := stable.Defs["PlanUpdateContent"]
	pu.OneOf = slices.DeleteFunc(pu.OneOf, func(d *def) bool { return d.Properties["type"].Const == "file" })
	for n, d := range stable.Defs {
		if d.Ignore {
			delete(stable.Defs, n)
		}
	}
	return stable.Defs
}

// goTypes are the Go types by name: structs as reflection sees them, everything by its declaration.
type goTypes struct {
	structs  map[string]reflect.Type
	declared map[string]bool
	consts   map[string][]string
}

func loadTypes(t testing.TB) goTypes {
	t.Helper()
	g := goTypes{structs: map[string]reflect.Type{}, declared: map[string]bool{}, consts: map[string][]string{}}
	for _, root := range rootTypes {
		g.walk(root)
	}
	files, err := filepath.Glob("types_*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files, "errors.go") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if gd, ok := d.(*ast.GenDecl); ok {
				g.declare(gd)
			}
		}
	}
	return g
}

func (g goTypes) declare(gd *ast.GenDecl) {
	for _, s := range gd.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				g.declared[s.Name.Name] = true
			}
		case *ast.ValueSpec:
			id, ok := s.Type.(*ast.Ident)
			if !ok || len(s.Values) != 1 {
				continue
			}
			if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				v, _ := strconv.Unquote(lit.Value)
				g.consts[id.Name] = append(g.consts[id.Name], v)
			}
		}
	}
}

func (g goTypes) walk(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		g.walk(t.Elem())
	case reflect.Struct:
		if t.PkgPath() != pkgPath || g.structs[t.Name()] != nil {
			return
		}
		g.structs[t.Name()] = t
		for i := range t.NumField() {
			g.walk(t.Field(i).Type)
		}
	}
}

var rootTypes = []reflect.Type{
	reflect.TypeFor[InitializeRequest](), reflect.TypeFor[InitializeResponse](),
	reflect.TypeFor[AuthenticateRequest](), reflect.TypeFor[AuthenticateResponse](),
	reflect.TypeFor[LogoutRequest](), reflect.TypeFor[LogoutResponse](),
	reflect.TypeFor[NewSessionRequest](), reflect.TypeFor[NewSessionResponse](),
	reflect.TypeFor[LoadSessionRequest](), reflect.TypeFor[LoadSessionResponse](),
	reflect.TypeFor[ResumeSessionRequest](), reflect.TypeFor[ResumeSessionResponse](),
	reflect.TypeFor[ForkSessionRequest](), reflect.TypeFor[ForkSessionResponse](),
	reflect.TypeFor[ListSessionsRequest](), reflect.TypeFor[ListSessionsResponse](),
	reflect.TypeFor[DeleteSessionRequest](), reflect.TypeFor[DeleteSessionResponse](),
	reflect.TypeFor[CloseSessionRequest](), reflect.TypeFor[CloseSessionResponse](),
	reflect.TypeFor[SetSessionModeRequest](), reflect.TypeFor[SetSessionModeResponse](),
	reflect.TypeFor[SetSessionConfigOptionRequest](), reflect.TypeFor[SetSessionConfigOptionResponse](),
	reflect.TypeFor[PromptRequest](), reflect.TypeFor[PromptResponse](),
	reflect.TypeFor[CancelNotification](), reflect.TypeFor[CancelRequestNotification](),
	reflect.TypeFor[SessionNotification](),
	reflect.TypeFor[RequestPermissionRequest](), reflect.TypeFor[RequestPermissionResponse](),
	reflect.TypeFor[ReadTextFileRequest](), reflect.TypeFor[ReadTextFileResponse](),
	reflect.TypeFor[WriteTextFileRequest](), reflect.TypeFor[WriteTextFileResponse](),
	reflect.TypeFor[CreateTerminalRequest](), reflect.TypeFor[CreateTerminalResponse](),
	reflect.TypeFor[TerminalOutputRequest](), reflect.TypeFor[TerminalOutputResponse](),
	reflect.TypeFor[WaitForTerminalExitRequest](), reflect.TypeFor[WaitForTerminalExitResponse](),
	reflect.TypeFor[KillTerminalRequest](), reflect.TypeFor[KillTerminalResponse](),
	reflect.TypeFor[ReleaseTerminalRequest](), reflect.TypeFor[ReleaseTerminalResponse](),
	reflect.TypeFor[CreateElicitationRequest](), reflect.TypeFor[CreateElicitationResponse](),
	reflect.TypeFor[CompleteElicitationNotification](),
	reflect.TypeFor[Error](),
}

// Go types of this package that are in no schema.
var extra = []string{
	"Meta", "Patch", "PermissionOutcome", "ElicitationAction", "SessionConfigOptionValue",
	"FieldData", "SessionData", "UnstructuredCommandInput",
}

// compare lists every difference between the definitions and the Go types.
func compare(defs map[string]*def, g goTypes) []string {
	var diffs []string
	report := func(format string, args ...any) { diffs = append(diffs, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(g.declared)) {
		if defs[name] == nil && !slices.Contains(extra, name) {
			report("%s: a Go type that the schema does not have", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		d := defs[name]
		if _, ok := folded[name]; ok {
			continue
		}
		if !g.declared[name] {
			report("%s: no Go type", name)
			continue
		}
		if slices.Contains(handMade, name) {
			continue
		}
		if values := enumOf(d); values != nil {
			got := slices.Sorted(slices.Values(g.consts[name]))
			if !slices.Equal(got, values) {
				report("%s: Go has the values %q, the schema %q", name, got, values)
			}
			continue
		}
		if d.Type == "string" || d.Type == "integer" {
			continue // an alias
		}
		t := g.structs[name]
		if t == nil {
			report("%s: the Go type is no struct that a message can reach", name)
			continue
		}
		p := planOf(t)
		compareMembers(defs, name, d, p, report)
		compareVariants(defs, name, d, p, report)
	}
	return diffs
}

func compareMembers(defs map[string]*def, name string, d *def, p *plan, report func(string, ...any)) {
	for _, k := range slices.Sorted(maps.Keys(d.Properties)) {
		i, ok := p.byName[k]
		if !ok {
			report("%s.%s: no Go field", name, k)
			continue
		}
		f, prop := p.fields[i], d.Properties[k]
		if req := slices.Contains(d.Required, k); f.required != req {
			report("%s.%s: required is %v in Go, %v in the schema", name, k, f.required, req)
		}
		if f.lenient != prop.OnError {
			report("%s.%s: a wrong value is ignored: %v in Go, %v in the schema", name, k, f.lenient, prop.OnError)
		}
		if f.skip != prop.SkipItems {
			report("%s.%s: wrong items are skipped: %v in Go, %v in the schema", name, k, f.skip, prop.SkipItems)
		}
		if f.required && f.null != prop.OnNull {
			report("%s.%s: null is empty: %v in Go, %v in the schema", name, k, f.null, prop.OnNull)
		}
		want, got := jsonKinds(defs, prop, 0), goKind(f.typ)
		if got != "any" && !slices.Contains(want, "any") && !slices.Contains(want, got) {
			report("%s.%s: Go has %s (%v), the schema %q", name, k, got, f.typ, want)
		}
		if got == "any" && !slices.Contains(want, "any") && f.typ == rawType && k != "requestId" {
			report("%s.%s: raw in Go, %q in the schema", name, k, want)
		}
	}
	for _, f := range p.fields {
		if d.Properties[f.name] == nil && !slices.Contains(ahead[name], f.name) {
			report("%s.%s: a Go field that the schema does not have", name, f.name)
		}
	}
}

func compareVariants(defs map[string]*def, name string, d *def, p *plan, report func(string, ...any)) {
	want := map[string]string{} // discriminator value → definition
	disc, other := "", false
	for _, v := range append(slices.Clone(d.OneOf), d.AnyOf...) {
		if v.Title == "other" {
			other = true
			continue
		}
		ref := v.Ref
		if len(v.AllOf) == 1 {
			ref = v.AllOf[0].Ref
		}
		ref = strings.TrimPrefix(ref, "#/$defs/")
		value := "-" + ref
		for k, c := range v.Properties {
			if s, ok := c.Const.(string); ok {
				disc, value = k, s
			}
		}
		want[value] = ref
	}
	if disc != p.disc {
		report("%s: the discriminator is %q in Go, %q in the schema", name, p.disc, disc)
	}
	if name != "SessionUpdate" && other != (p.other >= 0) {
		report("%s: open to other kinds: %v in Go, %v in the schema", name, p.other >= 0, other)
	}
	got := map[string]string{}
	for _, v := range p.variants {
		value := v.value
		if v.key != "" || v.isDef {
			value = "-" + v.typ.Name()
		}
		got[value] = v.typ.Name()
	}
	if !maps.Equal(want, got) {
		report("%s: the variants are %v in Go, %v in the schema", name, got, want)
	}
	for _, v := range p.variants {
		if v.key != "" && !slices.Contains(defs[v.typ.Name()].Required, v.key) {
			report("%s: the variant %s is told by %q, which it need not have", name, v.typ.Name(), v.key)
		}
	}
}

func enumOf(d *def) []string {
	var out []string
	for _, v := range append(slices.Clone(d.OneOf), d.AnyOf...) {
		if s, ok := v.Const.(string); ok {
			out = append(out, s)
		} else if v.Title != "other" {
			return nil
		}
	}
	slices.Sort(out)
	return out
}

// jsonKinds are the JSON types that a schema accepts, null left out.
func jsonKinds(defs map[string]*def, d *def, depth int) []string {
	if d == nil || depth > 5 {
		return []string{"any"}
	}
	if d.Ref != "" {
		return jsonKinds(defs, defs[strings.TrimPrefix(d.Ref, "#/$defs/")], depth+1)
	}
	var out []string
	switch t := d.Type.(type) {
	case string:
		out = append(out, t)
	case []any:
		for _, x := range t {
			out = append(out, x.(string))
		}
	}
	if d.Const != nil && d.Type == nil {
		out = append(out, "string")
	}
	if len(out) == 0 {
		for _, v := range slices.Concat(d.OneOf, d.AnyOf, d.AllOf) {
			out = append(out, jsonKinds(defs, v, depth+1)...)
		}
	}
	if len(out) == 0 {
		return []string{"any"}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "null" })
}

func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return goKind(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t == rawType {
			return "any"
		}
		return "array"
	case reflect.Map:
		return "object"
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "Patch[") {
			f, _ := t.FieldByName("Value")
			return goKind(f.Type)
		}
		if planOf(t).custom {
			return "any"
		}
		return "object"
	}
	return "integer"
}

func TestTypesMatchSchema(t *testing.T) {
	for _, d := range compare(loadDefs(t), loadTypes(t)) {
		t.Error(d)
	}
}

// TestTypesMatchSchemaCanFail changes one thing of the schema at a time; each must show.
func TestTypesMatchSchemaCanFail(t *testing.T) {
	g := loadTypes(t)
	for name, tc := range map[string]struct {
		change func(defs map[string]*def)
		want   string
	}{
		"new type":        {func(d map[string]*def) { d["Novelty"] = &def{Type: "object"} }, "Novelty: no Go type"},
		"gone type":       {func(d map[string]*def) { delete(d, "Cost") }, "Cost: a Go type that the schema does not have"},
		"new member":      {func(d map[string]*def) { d["Cost"].Properties["x"] = &def{Type: "string"} }, "Cost.x: no Go field"},
		"gone member":     {func(d map[string]*def) { delete(d["Cost"].Properties, "amount") }, "Cost.amount: a Go field"},
		"now optional":    {func(d map[string]*def) { d["Cost"].Required = nil }, "Cost.amount: required is true in Go"},
		"now required":    {func(d map[string]*def) { d["Annotations"].Required = []string{"priority"} }, "Annotations.priority: required"},
		"other type":      {func(d map[string]*def) { d["Cost"].Properties["currency"].Type = "integer" }, "Cost.currency: Go has string"},
		"strict":          {func(d map[string]*def) { d["Annotations"].Properties["priority"].OnError = false }, "Annotations.priority: a wrong value"},
		"keeps items":     {func(d map[string]*def) { d["Plan"].Properties["entries"].SkipItems = false }, "Plan.entries: wrong items"},
		"null refused":    {func(d map[string]*def) { d["McpServerStdio"].Properties["args"].OnNull = false }, "McpServerStdio.args: null"},
		"new value":       {func(d map[string]*def) { d["StopReason"].OneOf = append(d["StopReason"].OneOf, &def{Const: "tired"}) }, "StopReason: Go has the values"},
		"gone value":      {func(d map[string]*def) { d["ToolKind"].OneOf = d["ToolKind"].OneOf[1:] }, "ToolKind: Go has the values"},
		"renamed value":   {func(d map[string]*def) { d["Role"].OneOf[0].Const = "robot" }, "Role: Go has the values"},
		"new variant":     {func(d map[string]*def) { d["SessionUpdate"].OneOf[0].Properties["sessionUpdate"].Const = "x" }, "SessionUpdate: the variants"},
		"gone variant":    {func(d map[string]*def) { d["ContentBlock"].OneOf = d["ContentBlock"].OneOf[1:] }, "ContentBlock: the variants"},
		"discriminator":   {func(d map[string]*def) { renameDisc(d["ToolCallContent"]) }, "ToolCallContent: the discriminator"},
		"variant retyped": {func(d map[string]*def) { d["ContentBlock"].OneOf[0].AllOf[0].Ref = "#/$defs/Diff" }, "ContentBlock: the variants"},
	} {
		t.Run(name, func(t *testing.T) {
			defs := loadDefs(t)
			tc.change(defs)
			diffs := compare(defs, g)
			if !slices.ContainsFunc(diffs, func(s string) bool { return strings.HasPrefix(s, tc.want) }) {
				t.Errorf("the change was not noticed; differences: %q", diffs)
			}
		})
	}
}

func renameDisc(d *def) {
	for _, v := range d.OneOf {
		v.Properties["kind"] = v.Properties["type"]
		delete(v.Properties, "type")
	}
}

func TestMethodsMatchSchema(t *testing.T) {
	defs := loadDefs(t)
	type row struct{ side, params, result string }
	want := map[string]row{}
	for name, d := range defs {
		if d.Method == "" {
			continue
		}
		r := want[d.Method]
		r.side = d.Side
		if strings.HasSuffix(name, "Response") {
			r.result = name
		} else {
			r.params = name
		}
		want[d.Method] = r
	}
	delete(want, MethodSessionFork) // a draft; served by configuration only
	for _, m := range Methods {
		w, ok := want[m.Name]
		if !ok {
			t.Errorf("%s is not in the schema", m.Name)
			continue
		}
		delete(want, m.Name)
		if got := (row{string(m.Side), m.Params, m.Result}); got != w {
			t.Errorf("%s: %+v in Go, %+v in the schema", m.Name, got, w)
		}
		if (m.Kind == KindNotification) != (m.Result == "") {
			t.Errorf("%s: kind %s does not go with result %q", m.Name, m.Kind, m.Result)
		}
	}
	for name := range want {
		t.Errorf("%s is in the schema and not in Methods", name)
	}
}
