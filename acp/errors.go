package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// ErrorCode is the code of a wire error. Codes of our own stay outside -32768..-32000 and
// -32899..-32800.
type ErrorCode = int

// The codes that the protocol defines.
const (
	CodeParseError       ErrorCode = -32700
	CodeInvalidRequest   ErrorCode = -32600
	CodeMethodNotFound   ErrorCode = -32601
	CodeInvalidParams    ErrorCode = -32602
	CodeInternalError    ErrorCode = -32603
	CodeAuthRequired     ErrorCode = -32000
	CodeResourceNotFound ErrorCode = -32002
	CodeRequestCancelled ErrorCode = -32800
)

// ErrClosed is what calls and writes return once the connection has ended.
var ErrClosed = errors.New("acp: the connection is closed")

// Error is a wire error: what the other side gets instead of a result. Return it from a handler to
// choose code, text and data; any other error reaches the client as a bare internal error.
type Error struct {
	Code    ErrorCode `json:"code"`
	Message string    `json:"message"`
	Data    any       `json:"data,omitzero"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Is reports whether target is a wire error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// FieldData is the Data of an InvalidParams error.
type FieldData struct {
	Field string `json:"field"`
}

// SessionData is the Data of a SessionNotFound error.
type SessionData struct {
	SessionID SessionId `json:"sessionId"`
}

// ParseError says that what came in is not JSON.
func ParseError(detail string) *Error {
	return &Error{Code: CodeParseError, Message: "parse error: " + detail}
}

// InvalidRequest says that what came in is no JSON-RPC request, or comes at the wrong time.
func InvalidRequest(detail string) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "invalid request: " + detail}
}

// MethodNotFound says that the method is unknown or was not advertised.
func MethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// InvalidParams says which field of the params is wrong, and how; field may be empty.
func InvalidParams(field, detail string) *Error {
	if field == "" {
		return &Error{Code: CodeInvalidParams, Message: "invalid params: " + detail}
	}
	return &Error{Code: CodeInvalidParams, Message: "invalid params: " + field + ": " + detail, Data: FieldData{field}}
}

// InternalError is a failure of the agent that is not the client's doing. The client sees the text.
func InternalError(detail string) *Error {
	if detail == "" {
		return &Error{Code: CodeInternalError, Message: "internal error"}
	}
	return &Error{Code: CodeInternalError, Message: "internal error: " + detail}
}

// AuthRequired says that credentials are missing; detail should say which and where to put them.
func AuthRequired(detail string) *Error {
	return &Error{Code: CodeAuthRequired, Message: "authentication required: " + detail}
}

// SessionNotFound says that no session has this id, or that it is not active here.
func SessionNotFound(id SessionId) *Error {
	return &Error{Code: CodeResourceNotFound, Message: "session not found: " + id, Data: SessionData{id}}
}

// RequestCancelled answers a request that was ended by $/cancel_request.
func RequestCancelled() *Error {
	return &Error{Code: CodeRequestCancelled, Message: "request cancelled"}
}

// ToError maps any error to the wire error that the client gets. It is the only such mapping. The
// text of an error that was not made for the client stays here: it may hold paths or secrets.
func ToError(err error) *Error {
	var we *Error
	var re *jsonrpc2.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &we):
		return we
	case errors.As(err, &re):
		out := &Error{Code: int(re.Code), Message: re.Message}
		if re.Data != nil {
			out.Data = json.RawMessage(*re.Data)
		}
		return out
	case errors.Is(err, context.Canceled):
		return RequestCancelled()
	}
	return InternalError("")
}

// hidden reports whether ToError hides the text of err, which then has to be logged.
func hidden(err error) bool {
	return ToError(err).Code == CodeInternalError && !errors.Is(err, InternalError(""))
}
