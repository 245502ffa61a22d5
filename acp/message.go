package acp

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Message is one JSON-RPC message. A stream that knows this type (acp/stdio) fills it without copying:
// Params and Result are slices of the line. With any other jsonrpc2.ObjectStream it goes through its
// MarshalJSON and UnmarshalJSON.
type Message struct {
	// ID is the id as its bytes on the wire; nil for a notification, null for an error that belongs to
	// no request.
	ID     RequestId
	Method string // empty for a response
	Params json.RawMessage
	Result json.RawMessage
	Error  *Error
}

// IsResponse reports whether m answers a request. A hollow message does not say (see Hollow).
func (m *Message) IsResponse() bool { return m.Method == "" && (m.Error != nil || m.Result != nil) }

// Hollow reports whether m has an id and nothing beside it. It is what a client sends whose result is
// the undefined of JavaScript or the nil of Lua, which their encoders leave out; or it is a request that
// lacks its method. Only who knows the open calls can tell.
func (m *Message) Hollow() bool {
	return m.ID != nil && m.Method == "" && m.Result == nil && m.Error == nil
}

// AppendJSON appends m without a newline. Params and Result are taken to be valid JSON on one line.
func (m *Message) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if m.ID != nil {
		dst = append(append(dst, `,"id":`...), m.ID...)
	}
	if m.Method != "" {
		dst = appendString(append(dst, `,"method":`...), m.Method)
		if m.Params != nil {
			dst = append(append(dst, `,"params":`...), m.Params...)
		}
		return append(dst, '}'), nil
	}
	if m.Error != nil {
		var err error
		if dst, err = Append(append(dst, `,"error":`...), m.Error); err != nil {
			return dst, err
		}
		return append(dst, '}'), nil
	}
	if m.Result == nil {
		return dst, errors.New("encode a message: it has no method, no result and no error")
	}
	return append(append(append(dst, `,"result":`...), m.Result...), '}'), nil
}

// MarshalJSON implements json.Marshaler.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

// UnmarshalJSON implements json.Unmarshaler.
func (m *Message) UnmarshalJSON(data []byte) error {
	parsed, perr := ParseMessage(append([]byte(nil), data...))
	*m = parsed
	if perr != nil {
		return perr
	}
	return nil
}

// ParseMessage reads one line. When the line is no JSON-RPC message it returns the error to answer
// with, in which case the message holds the id to answer to (null when there is none that may be
// used) and, if the line was meant as the answer to a call of ours, an Error to end that call with.
// The message aliases line.
func ParseMessage(line []byte) (Message, *Error) {
	null := Message{ID: RequestId("null")}
	if !utf8.Valid(line) {
		return null, ParseError("the line is not valid UTF-8")
	}
	if !json.Valid(line) {
		return null, ParseError("the line is not one JSON value")
	}
	start := skipSpace(line, 0)
	if line[start] != '{' {
		return null, InvalidRequest("want one JSON-RPC object a line, got " + kindOf(line[start:]))
	}
	var e envelope
	_ = eachMember(line[start:], e.member)
	return e.message()
}

// envelope holds the root members of a message as they were found.
type envelope struct {
	version, id, method, params, result, err []byte
}

func (e *envelope) member(key string, val []byte) error {
	switch key {
	case "jsonrpc":
		e.version = val
	case "id":
		e.id = val
	case "method":
		e.method = val
	case "params":
		e.params = val
	case "result":
		e.result = val
	case "error":
		e.err = val
	}
	return nil
}

func (e *envelope) message() (Message, *Error) {
	m := Message{ID: RequestId("null")}
	_, usable := IDKey(e.id)
	if e.method == nil && (e.result != nil || e.err != nil) {
		return e.response(usable)
	}
	if usable {
		m.ID = e.id
	}
	switch {
	case string(e.version) != `"2.0"`:
		return m, InvalidRequest(`want the member "jsonrpc" to be "2.0"`)
	case e.method == nil && usable:
		return m, nil // hollow
	case e.method == nil:
		return m, noMember()
	case e.method[0] != '"':
		return m, InvalidRequest("method: want a string, got " + kindOf(e.method))
	case len(e.method) == 2:
		return m, InvalidRequest("method: want a name, got an empty string")
	case e.result != nil || e.err != nil:
		return m, InvalidRequest("want a method or a response, not both in one message")
	case e.id != nil && !usable:
		return m, InvalidRequest("id: want a string or an integer of 64 bits, got " + clip(e.id))
	}
	m.ID = nil
	if e.id != nil {
		m.ID = e.id
	}
	m.Method = stringOf(e.method)
	m.Params = e.params
	return m, nil
}

// noMember is the error for a message that is neither a request nor an answer.
func noMember() *Error {
	return InvalidRequest("want a method, a result or an error; there is none")
}

// response never echoes an id in an error: the id of a response is one of ours, and the client would
// take the error for the answer to a request of its own with that number.
func (e *envelope) response(usable bool) (Message, *Error) {
	m := Message{ID: RequestId("null")}
	if !usable {
		if isNull(e.id) && e.err != nil {
			// The client could not read something we sent. There is no call to give it to.
			return Message{ID: RequestId("null"), Error: decodeError(e.err)}, nil
		}
		return m, InvalidRequest("a response needs the id of the request it answers")
	}
	m.ID = e.id
	hasErr := e.err != nil && !isNull(e.err)
	switch {
	case string(e.version) != `"2.0"`:
		m.Error = InternalError(`the response has no "jsonrpc":"2.0"`)
	case hasErr && e.result != nil && !isNull(e.result):
		m.Error = InternalError("the response has a result and an error")
	case hasErr:
		m.Error = decodeError(e.err)
		return m, nil
	case e.result == nil:
		m.Error = InternalError("the response has no result and a null error")
	default:
		m.Result = e.result
		return m, nil
	}
	return m, InvalidRequest(m.Error.Message[len("internal error: "):])
}

// decodeError takes any error object, however malformed: it ends a call all the same.
func decodeError(raw []byte) *Error {
	var parts struct {
		Code    *float64        `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil || parts.Code == nil {
		return InternalError("the peer answered with a malformed error object")
	}
	out := &Error{Code: int(*parts.Code), Message: parts.Message}
	if parts.Data != nil {
		out.Data = parts.Data
	}
	return out
}

// IDKey returns a key that is equal for equal ids, however they are spelled, and whether the id may be
// used at all: a string, or an integer of 64 bits, which may be written 1.0. Fractions and null may not.
func IDKey(id RequestId) (string, bool) {
	if len(id) == 0 {
		return "", false
	}
	if id[0] == '"' {
		return "s" + stringOf(id), true
	}
	head, frac, _ := strings.Cut(string(id), ".")
	n, err := strconv.ParseInt(head, 10, 64)
	if err != nil || strings.Trim(frac, "0") != "" {
		return "", false
	}
	return "n" + strconv.FormatInt(n, 10), true
}

func clip(b []byte) string {
	if len(b) > 40 {
		return string(b[:40]) + "…"
	}
	return string(b)
}
