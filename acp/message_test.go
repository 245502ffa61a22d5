package acp

import (
	"testing"
)

func TestParseMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		code int // of the error to answer with; 0 for a message
		id   string
	}{
		"request":                   {`{"jsonrpc":"2.0","id":1,"method":"m"}`, 0, "1"},
		"string id":                 {`{"jsonrpc":"2.0","id":"a-1","method":"m"}`, 0, `"a-1"`},
		"escaped string id":         {`{"jsonrpc":"2.0","id":"\u0061","method":"m"}`, 0, `"\u0061"`},
		"empty string id":           {`{"jsonrpc":"2.0","id":"","method":"m"}`, 0, `""`},
		"id zero":                   {`{"jsonrpc":"2.0","id":0,"method":"m"}`, 0, "0"},
		"negative id":               {`{"jsonrpc":"2.0","id":-5,"method":"m"}`, 0, "-5"},
		"largest id":                {`{"jsonrpc":"2.0","id":9223372036854775807,"method":"m"}`, 0, "9223372036854775807"},
		"notification":              {`{"jsonrpc":"2.0","method":"m"}`, 0, ""},
		"spaces":                    {" { \"jsonrpc\" : \"2.0\" , \"id\" : 1 , \"method\" : \"m\" , \"params\" : [ ] } ", 0, "1"},
		"unknown members":           {`{"jsonrpc":"2.0","id":1,"method":"m","x":{"id":2}}`, 0, "1"},
		"result":                    {`{"jsonrpc":"2.0","id":1,"result":{}}`, 0, "1"},
		"null result":               {`{"jsonrpc":"2.0","id":1,"result":null}`, 0, "1"},
		"result and null error":     {`{"jsonrpc":"2.0","id":1,"result":{},"error":null}`, 0, "1"},
		"error and null result":     {`{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"m"}}`, 0, "1"},
		"malformed error":           {`{"jsonrpc":"2.0","id":1,"error":"no"}`, 0, "1"},
		"error without a request":   {`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, 0, "null"},
		"empty":                     {``, CodeParseError, "null"},
		"torn":                      {`{`, CodeParseError, "null"},
		"two values":                {`{} {}`, CodeParseError, "null"},
		"not UTF-8":                 {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", CodeParseError, "null"},
		"batch":                     {`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, CodeInvalidRequest, "null"},
		"number":                    {`1`, CodeInvalidRequest, "null"},
		"string":                    {`"x"`, CodeInvalidRequest, "null"},
		"null":                      {`null`, CodeInvalidRequest, "null"},
		"empty object":              {`{}`, CodeInvalidRequest, "null"},
		"no version":                {`{"id":1,"method":"m"}`, CodeInvalidRequest, "1"},
		"old version":               {`{"jsonrpc":"1.0","id":"x","method":"m"}`, CodeInvalidRequest, `"x"`},
		"version is a number":       {`{"jsonrpc":2.0,"id":1,"method":"m"}`, CodeInvalidRequest, "1"},
		"method is a number":        {`{"jsonrpc":"2.0","id":1,"method":2}`, CodeInvalidRequest, "1"},
		"method is empty":           {`{"jsonrpc":"2.0","id":1,"method":""}`, CodeInvalidRequest, "1"},
		"neither":                   {`{"jsonrpc":"2.0","id":1}`, 0, "1"},
		"neither, null id":          {`{"jsonrpc":"2.0","id":null}`, CodeInvalidRequest, "null"},
		"method and result":         {`{"jsonrpc":"2.0","id":1,"method":"m","result":1}`, CodeInvalidRequest, "1"},
		"null id":                   {`{"jsonrpc":"2.0","id":null,"method":"m"}`, CodeInvalidRequest, "null"},
		"fractional id":             {`{"jsonrpc":"2.0","id":1.5,"method":"m"}`, CodeInvalidRequest, "null"},
		"id 1.0":                    {`{"jsonrpc":"2.0","id":1.0,"method":"m"}`, 0, "1.0"},
		"id with an exponent":       {`{"jsonrpc":"2.0","id":1.0e2,"method":"m"}`, CodeInvalidRequest, "null"},
		"id of more than 64 bits":   {`{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}`, CodeInvalidRequest, "null"},
		"object id":                 {`{"jsonrpc":"2.0","id":{},"method":"m"}`, CodeInvalidRequest, "null"},
		"boolean id":                {`{"jsonrpc":"2.0","id":true,"method":"m"}`, CodeInvalidRequest, "null"},
		"result without id":         {`{"jsonrpc":"2.0","result":{}}`, CodeInvalidRequest, "null"},
		"result and error":          {`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, CodeInvalidRequest, "1"},
		"response without version":  {`{"id":1,"result":{}}`, CodeInvalidRequest, "1"},
		"null error and no result":  {`{"jsonrpc":"2.0","id":1,"error":null}`, CodeInvalidRequest, "1"},
		"control byte in a string":  {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x01\"}", CodeParseError, "null"},
		"escape in a member's name": {`{"json\u0072pc":"2.0","id":1,"\u006dethod":"m"}`, 0, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, bad := ParseMessage([]byte(tc.in))
			if bad == nil && tc.code != 0 || bad != nil && bad.Code != tc.code {
				t.Errorf("got %v, want code %d", bad, tc.code)
			}
			if string(m.ID) != tc.id {
				t.Errorf("got the id %s, want %s", m.ID, tc.id)
			}
		})
	}
}

// The answer to a malformed response must not carry its id: that is a number of ours, and the client
// would take the error for the answer to a request of its own.
func TestMalformedResponseEndsTheCall(t *testing.T) {
	for _, in := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`,
		`{"id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":null}`,
	} {
		m, bad := ParseMessage([]byte(in))
		if bad == nil || !m.IsResponse() || m.Error == nil || m.Error.Code != CodeInternalError {
			t.Errorf("%s: got %+v, %v", in, m, bad)
		}
	}
}

func TestParseMessageAliases(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"b"}}`)
	m, _ := ParseMessage(line)
	line[len(line)-4] = 'c'
	if string(m.Params) != `{"a":"c"}` {
		t.Errorf("params were copied: %s", m.Params)
	}
}

func TestIDKey(t *testing.T) {
	same := [][2]string{{`"a"`, `"\u0061"`}, {"0", "-0"}, {"7", "7.0"}}
	for _, p := range same {
		a, _ := IDKey(RequestId(p[0]))
		b, _ := IDKey(RequestId(p[1]))
		if a != b {
			t.Errorf("%s and %s have different keys", p[0], p[1])
		}
	}
	a, _ := IDKey(RequestId(`"1"`))
	b, _ := IDKey(RequestId(`1`))
	if a == b {
		t.Error(`"1" and 1 have the same key`)
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,{"b":"\\\""}]}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m","data":[]}}`))
	f.Add([]byte(`[1,2`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, bad := ParseMessage(line)
		if bad != nil || m.Hollow() {
			return
		}
		out, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		again, bad := ParseMessage(out)
		if bad != nil || string(again.ID) != string(m.ID) || again.Method != m.Method || string(again.Params) != string(m.Params) || string(again.Result) != string(m.Result) {
			t.Fatalf("%q came back as %q (%v)", line, out, bad)
		}
	})
}
