package acp

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestMarshal(t *testing.T) {
	line := uint32(3)
	no := false
	for name, tc := range map[string]struct {
		in   any
		want string
	}{
		"required arrays are never null": {NewSessionRequest{Cwd: "/w"}, `{"cwd":"/w","mcpServers":[]}`},
		"empty object":                   {CloseSessionResponse{}, `{}`},
		"no html escaping":               {TextContent{Text: "<a&b>\u2028"}, "{\"text\":\"<a&b>\u2028\"}"},
		"meta too":                       {LogoutRequest{Meta: Meta{"k": "<"}}, `{"_meta":{"k":"<"}}`},
		"variant":                        {TextBlock("x"), `{"type":"text","text":"x"}`},
		"variant without discriminator":  {McpServer{Stdio: &McpServerStdio{Name: "n", Command: "/c"}}, `{"name":"n","command":"/c","args":[],"env":[]}`},
		"variant by key":                 {EmbeddedResourceResource{Blob: &BlobResourceContents{Blob: "AA", URI: "u"}}, `{"blob":"AA","uri":"u"}`},
		"common members and variant": {
			SessionConfigOption{ID: "b", Name: "B", Boolean: &SessionConfigBoolean{}},
			`{"type":"boolean","currentValue":false,"id":"b","name":"B"}`,
		},
		"grouped options": {
			SessionConfigSelectOptions{Grouped: []SessionConfigSelectGroup{{Group: "g", Name: "G"}}},
			`[{"group":"g","name":"G","options":[]}]`,
		},
		"no options":          {SessionConfigSelect{CurrentValue: "v"}, `{"currentValue":"v","options":[]}`},
		"unknown kind":        {SessionUpdate{Other: json.RawMessage(`{"sessionUpdate":"x"}`)}, `{"sessionUpdate":"x"}`},
		"patch left out":      {SessionInfoUpdate{}, `{}`},
		"patch cleared":       {SessionInfoUpdate{Title: Patch[string]{Null: true}}, `{"title":null}`},
		"patch set":           {SessionInfoUpdate{Title: Set("")}, `{"title":""}`},
		"new file":            {Diff{Path: "/a", NewText: "b"}, `{"path":"/a","oldText":null,"newText":"b"}`},
		"optional array kept": {ToolCallUpdate{ToolCallID: "t", Content: []ToolCallContent{}}, `{"toolCallId":"t","content":[]}`},
		"optional array gone": {ToolCallUpdate{ToolCallID: "t"}, `{"toolCallId":"t"}`},
		"raw on one line":     {ToolCall{ToolCallID: "t", RawInput: json.RawMessage("{\n\"a\": 1}")}, `{"toolCallId":"t","title":"","rawInput":{"a":1}}`},
		"pointer":             {ToolCallLocation{Path: "/a", Line: &line}, `{"path":"/a","line":3}`},
		"boolean value":       {SetSessionConfigOptionRequest{Type: "boolean", Value: SessionConfigOptionValue{Bool: &no}}, `{"sessionId":"","configId":"","type":"boolean","value":false}`},
		"marker":              {AgentCapabilities{LoadSession: true, SessionCapabilities: SessionCapabilities{List: &SessionListCapabilities{}}}, `{"loadSession":true,"sessionCapabilities":{"list":{}}}`},
		"outcome":             {RequestPermissionOutcome{Outcome: OutcomeCancelled}, `{"outcome":"cancelled"}`},
		"number":              {Cost{Amount: 0.25, Currency: "USD"}, `{"amount":0.25,"currency":"USD"}`},
		"foreign type":        {map[string]string{"a": "<"}, `{"a":"<"}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Marshal(tc.in)
			if err != nil || string(got) != tc.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
}

func TestAppendNotification(t *testing.T) {
	dst, err := AppendNotification([]byte("x\n"), "m", map[string]string{"a": "<"})
	if want := "x\n" + `{"jsonrpc":"2.0","method":"m","params":{"a":"<"}}` + "\n"; err != nil || string(dst) != want {
		t.Errorf("got %q, %v, want %q", dst, err, want)
	}
	if left, err := AppendNotification(dst, "m", ContentBlock{}); err == nil || string(left) != string(dst) {
		t.Errorf("what cannot be encoded left %q, %v", left, err)
	}
}

func TestMarshalRefuses(t *testing.T) {
	for name, in := range map[string]any{
		"no variant":   ContentBlock{},
		"two variants": ContentBlock{Text: &TextContent{}, Image: &ImageContent{}},
		"bad raw":      ToolCall{RawInput: json.RawMessage(`{`)},
	} {
		if got, err := Marshal(in); err == nil {
			t.Errorf("%s: got %s and no error", name, got)
		}
	}
}

func TestUnmarshalRules(t *testing.T) {
	type session = NewSessionRequest
	for name, tc := range map[string]struct {
		in, want string
		into     any
		field    string // of the expected error
	}{
		"absent mcpServers":            {in: `{"cwd":"/"}`, into: &session{}, want: `{"cwd":"/","mcpServers":[]}`},
		"null mcpServers":              {in: `{"cwd":"/","mcpServers":null}`, into: &session{}, want: `{"cwd":"/","mcpServers":[]}`},
		"null additionalDirectories":   {in: `{"cwd":"/","additionalDirectories":null}`, into: &session{}, want: `{"cwd":"/","mcpServers":[]}`},
		"malformed server":             {in: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":[],"env":[]},{"name":1}]}`, into: &session{}, field: "mcpServers[1].name"},
		"server lacks command":         {in: `{"cwd":"/","mcpServers":[{"name":"a"}]}`, into: &session{}, field: "mcpServers[0].command"},
		"server of unknown type":       {in: `{"cwd":"/","mcpServers":[{"type":"smoke","name":"a"}]}`, into: &session{}, field: "mcpServers[0].type"},
		"server says stdio":            {in: `{"cwd":"/","mcpServers":[{"type":"stdio","name":"a","command":"/b","args":null,"env":[]}]}`, into: &session{}, want: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":[],"env":[]}]}`},
		"null server":                  {in: `{"cwd":"/","mcpServers":[null]}`, into: &session{}, field: "mcpServers[0]"},
		"mcpServers is an object":      {in: `{"cwd":"/","mcpServers":{"a":{}}}`, into: &session{}, field: "mcpServers"},
		"object for list":              {in: `{"cwd":"/","mcpServers":{},"additionalDirectories":{ }}`, into: &session{}, want: `{"cwd":"/","additionalDirectories":[],"mcpServers":[]}`},
		"object for list, deeper":      {in: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":{},"env":{}}]}`, into: &session{}, want: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":[],"env":[]}]}`},
		"bare servers":                 {in: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b"},{"type":"http","name":"c","url":"u"}]}`, into: &session{}, want: `{"cwd":"/","mcpServers":[{"name":"a","command":"/b","args":[],"env":[]},{"type":"http","name":"c","url":"u","headers":[]}]}`},
		"output without truncated":     {in: `{"output":"a"}`, into: &TerminalOutputResponse{}, want: `{"output":"a","truncated":false}`},
		"malformed directory":          {in: `{"cwd":"/","additionalDirectories":[7]}`, into: &session{}, field: "additionalDirectories[0]"},
		"missing cwd":                  {in: `{}`, into: &session{}, field: "cwd"},
		"null cwd":                     {in: `{"cwd":null}`, into: &session{}, field: "cwd"},
		"params are a list":            {in: `["/"]`, into: &session{}},
		"unknown members":              {in: `{"cwd":"/","x":[{"y":1}],"Cwd":3}`, into: &session{}, want: `{"cwd":"/","mcpServers":[]}`},
		"wrong optional":               {in: `{"protocolVersion":1,"clientInfo":7,"clientCapabilities":"x"}`, into: &InitializeRequest{}, want: `{"protocolVersion":1}`},
		"wrong optional, deeper":       {in: `{"protocolVersion":1,"clientCapabilities":{"terminal":"yes","fs":{"readTextFile":true,"writeTextFile":0}}}`, into: &InitializeRequest{}, want: `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}}}`},
		"list for object":              {in: `{"protocolVersion":1,"clientCapabilities":[],"_meta":[]}`, into: &InitializeRequest{}, want: `{"protocolVersion":1,"_meta":{}}`},
		"list for marker":              {in: `{"session":{"notices":[]}}`, into: &ClientCapabilities{}, want: `{"session":{"notices":{}}}`},
		"list for params":              {in: `[]`, into: &ListSessionsRequest{}, want: `{}`},
		"strict optional":              {in: `{"cwd":7}`, into: &ListSessionsRequest{}, field: "cwd"},
		"null optional":                {in: `{"cwd":null}`, into: &ListSessionsRequest{}, want: `{}`},
		"unknown block":                {in: `{"sessionId":"s","prompt":[{"type":"smell"}]}`, into: &PromptRequest{}, field: "prompt[0].type"},
		"block without type":           {in: `{"sessionId":"s","prompt":[{"text":"x"}]}`, into: &PromptRequest{}, field: "prompt[0].type"},
		"block lacks text":             {in: `{"sessionId":"s","prompt":[{"type":"text"}]}`, into: &PromptRequest{}, field: "prompt[0].text"},
		"prompt missing":               {in: `{"sessionId":"s"}`, into: &PromptRequest{}, field: "prompt"},
		"escaped names and values":     {in: `{"session\u0049d":"\u0061\ud83d\ude00","prompt":[]}`, into: &PromptRequest{}, want: `{"sessionId":"a😀","prompt":[]}`},
		"last of two counts":           {in: `{"sessionId":"a","sessionId":"b","prompt":[]}`, into: &PromptRequest{}, want: `{"sessionId":"b","prompt":[]}`},
		"skipped items":                {in: `{"entries":[{"content":"a","priority":"low","status":"pending"},{"content":1},null]}`, into: &Plan{}, want: `{"entries":[{"content":"a","priority":"low","status":"pending"}]}`},
		"boolean option":               {in: `{"sessionId":"s","configId":"c","type":"boolean","value":true}`, into: &SetSessionConfigOptionRequest{}, want: `{"sessionId":"s","configId":"c","type":"boolean","value":true}`},
		"boolean option, string":       {in: `{"sessionId":"s","configId":"c","type":"boolean","value":"on"}`, into: &SetSessionConfigOptionRequest{}, field: "value"},
		"select option, boolean":       {in: `{"sessionId":"s","configId":"c","value":true}`, into: &SetSessionConfigOptionRequest{}, field: "value"},
		"option value of no kind":      {in: `{"sessionId":"s","configId":"c","value":1}`, into: &SetSessionConfigOptionRequest{}, field: "value"},
		"system prompt without mode":   {in: `{"cwd":"/","systemPrompt":{"content":[]}}`, into: &session{}, field: "systemPrompt.mode"},
		"unknown kind of update":       {in: `{"sessionId":"s","update":{"sessionUpdate":"new","a":1}}`, into: &SessionNotification{}, want: `{"sessionId":"s","update":{"sessionUpdate":"new","a":1}}`},
		"integer written as float":     {in: `{"path":"/a","line":3.0}`, into: &ToolCallLocation{}, want: `{"path":"/a","line":3}`},
		"outcome without option":       {in: `{"outcome":{"outcome":"selected"}}`, into: &RequestPermissionResponse{}, field: "outcome.optionId"},
		"unknown outcome":              {in: `{"outcome":{"outcome":"maybe"}}`, into: &RequestPermissionResponse{}, field: "outcome.outcome"},
		"auth method without type":     {in: `{"id":"a","name":"A"}`, into: &AuthMethod{}, want: `{"id":"a","name":"A"}`},
		"elicitation of unknown mode":  {in: `{"mode":"smoke","message":"m"}`, into: &CreateElicitationRequest{}, want: `{"mode":"smoke","message":"m"}`},
		"elicitation scope is missing": {in: `{"mode":"url","message":"m","elicitationId":"e","url":"u"}`, into: &CreateElicitationRequest{}, field: ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Unmarshal([]byte(tc.in), tc.into)
			if tc.want != "" {
				got, merr := Marshal(tc.into)
				if err != nil || merr != nil || string(got) != tc.want {
					t.Errorf("got %s, %v, %v\nwant %s", got, err, merr, tc.want)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeInvalidParams {
				t.Fatalf("got %v, want an error with code -32602", err)
			}
			if d, _ := e.Data.(FieldData); d.Field != tc.field || !strings.Contains(e.Message, tc.field) {
				t.Errorf("got %q and field %q, want field %q", e.Message, d.Field, tc.field)
			}
		})
	}
}

// Every type survives a round trip with every member set.
func TestRoundTrip(t *testing.T) {
	for _, root := range rootTypes {
		t.Run(root.Name(), func(t *testing.T) {
			for i := range 40 {
				in := reflect.New(root)
				fill(in.Elem(), i, 0)
				b, err := Marshal(in.Interface())
				if err != nil {
					t.Fatal(err)
				}
				if !json.Valid(b) {
					t.Fatalf("not JSON: %s", b)
				}
				out := reflect.New(root)
				if err := Unmarshal(b, out.Interface()); err != nil {
					t.Fatalf("%v: %s", err, b)
				}
				again, _ := Marshal(out.Interface())
				if string(again) != string(b) {
					t.Fatalf("first  %s\nsecond %s", b, again)
				}
			}
		})
	}
}

// fill sets every member; i chooses among variants.
func fill(v reflect.Value, i, depth int) {
	t := v.Type()
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(`{"raw":[1,null]}`)
		return
	case *SessionConfigOptionValue:
		x.ID = "value"
		return
	case *SetSessionConfigOptionRequest:
		x.SessionID, x.Value.ID = "s", "v"
		return
	case *RequestPermissionOutcome:
		x.Outcome, x.OptionID = OutcomeSelected, "o"
		return
	case *SessionConfigSelectOptions:
		if i%2 == 0 {
			x.Ungrouped = []SessionConfigSelectOption{{Value: "v", Name: "n"}}
		} else {
			x.Grouped = []SessionConfigSelectGroup{{Group: "g", Name: "n", Options: []SessionConfigSelectOption{}}}
		}
		return
	}
	switch t.Kind() {
	case reflect.String:
		v.SetString("é\n<" + t.Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		fill(v.Elem(), i, depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		fill(v.Index(0), i, depth)
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		e := reflect.New(t.Elem()).Elem()
		fill(e, i, depth)
		v.SetMapIndex(reflect.ValueOf("key"), e)
	case reflect.Struct:
		p := planOf(t)
		if p.custom {
			f := v.FieldByName("Value")
			f.Set(reflect.New(f.Type().Elem()))
			fill(f.Elem(), i, depth+1)
			return
		}
		for _, f := range p.fields {
			fill(v.Field(f.index), i, depth+1)
		}
		if len(p.variants) > 0 {
			fill(v.Field(p.variants[i%len(p.variants)].index), i, depth+1)
		}
	}
}

func TestUnionInForeignType(t *testing.T) {
	in := struct {
		B ContentBlock `json:"b"`
	}{TextBlock("x")}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"b":{"type":"text","text":"x"}}` {
		t.Fatalf("got %s, %v", b, err)
	}
	in.B = ContentBlock{}
	if err := json.Unmarshal(b, &in); err != nil || in.B.Text == nil || in.B.Text.Text != "x" {
		t.Fatalf("got %+v, %v", in, err)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(`{"sessionId":"s","prompt":[{"type":"text","text":"\u0041"},{"type":"resource","resource":{"uri":"u","blob":""}}]}`)
	f.Add(`{"cwd":"/","mcpServers":[{"name":"a","command":"b","args":[ ],"env":[{"name":"","value":""}]}] , "_meta":{"a":[1,{}]}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range []any{&PromptRequest{}, &NewSessionRequest{}, &InitializeRequest{}, &SessionNotification{}, &CreateElicitationRequest{}} {
			if Unmarshal([]byte(s), v) != nil {
				continue
			}
			b, err := Marshal(v)
			if err != nil || !json.Valid(b) {
				t.Fatalf("%T: %q gave %s, %v", v, s, b, err)
			}
		}
	})
}
