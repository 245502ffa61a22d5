package model

import (
	"context"
	"net/http"
	"testing"
)

func TestTrace(t *testing.T) {
	for name, tc := range map[string]struct {
		in   Trace
		want http.Header
	}{
		"none":      {Trace{}, http.Header{}},
		"all":       {Trace{"00-a-b-01", "k=v", "u=1"}, http.Header{"Traceparent": {"00-a-b-01"}, "Tracestate": {"k=v"}, "Baggage": {"u=1"}}},
		"no parent": {Trace{State: "k=v"}, http.Header{}},
		"injection": {Trace{Parent: "00-a", State: "k\r\nAuthorization: x"}, http.Header{"Traceparent": {"00-a"}}},
	} {
		h := http.Header{}
		SetTrace(WithTrace(context.Background(), tc.in), h)
		if len(h) != len(tc.want) {
			t.Errorf("%s: headers %v, want %v", name, h, tc.want)
		}
		for k := range tc.want {
			if h.Get(k) != tc.want.Get(k) {
				t.Errorf("%s: %s is %q, want %q", name, k, h.Get(k), tc.want.Get(k))
			}
		}
	}
}
