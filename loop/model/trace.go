package model

import (
	"context"
	"net/http"
)

// Trace is a W3C trace context, as it came with a prompt. An adapter passes it
// on with its requests, so that whoever operates both ends sees one trace.
type Trace struct{ Parent, State, Baggage string }

type traceKey struct{}

// WithTrace returns a context that carries the trace; an empty one changes
// nothing.
func WithTrace(ctx context.Context, t Trace) context.Context {
	if t.Parent == "" {
		return ctx // the other two mean nothing without it
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// SetTrace sets the headers of the trace that ctx carries. Values that no header
// can hold are left out.
func SetTrace(ctx context.Context, h http.Header) {
	for name, v := range TraceValues(ctx) {
		h.Set(name, v)
	}
}

// TraceValues returns the trace that ctx carries by the names that the W3C
// recommendations give its parts: traceparent, tracestate and baggage. Parts that
// are missing, or that no header could hold, are left out.
func TraceValues(ctx context.Context) map[string]string {
	t, _ := ctx.Value(traceKey{}).(Trace)
	out := map[string]string{}
	for name, v := range map[string]string{"traceparent": t.Parent, "tracestate": t.State, "baggage": t.Baggage} {
		if v != "" && printable(v) {
			out[name] = v
		}
	}
	return out
}

// maxTraceValue is what the W3C recommendation has every party accept of
// baggage, the longest of the three.
const maxTraceValue = 8192

func printable(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return len(s) <= maxTraceValue
}
