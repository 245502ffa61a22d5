package list

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"acp-agent/loop/model"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name, base, body, want, path string
		messages                     bool
	}{
		{"openai", "/v1", `{"object":"list","data":[{"id":"b","object":"model"},{"id":"a"},{"id":"b"}]}`, "b a", "/v1/models", false},
		{"deepseek", "", `{"data":[{"id":"deepseek-v4-flash"}]}`, "deepseek-v4-flash", "/models", false},
		{"the endpoint as the base", "/v1/chat/completions?k=v", `{"data":[]}`, "", "/v1/models?k=v", false},
		{"anthropic", "", `{"data":[{"type":"model","id":"claude-x","display_name":"X"}],"has_more":false}`, "claude-x", "/v1/models?limit=1000", true},
		{"anthropic with v1", "/v1/", `{"data":[{"id":"claude-x"}]}`, "claude-x", "/v1/models?limit=1000", true},
		{"ollama", "", `{"models":[{"name":"qwen:7b"}]}`, "qwen:7b", "/models", false},
		{"gemini", "", `{"object":"list","data":[{"id":"models/gemini-x"}]}`, "gemini-x", "/models", false},
		{"together", "", `[{"id":"x/y"}]`, "x/y", "/models", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got *http.Request
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r; io.WriteString(w, tt.body) }))
			defer s.Close()
			names, err := Names(t.Context(), model.Config{Provider: "p", BaseURL: s.URL + tt.base, APIKey: "sk-0123456789", Headers: map[string]string{"X-Own": "1"}, UserAgent: "u/1"}, tt.messages)
			if err != nil || strings.Join(names, " ") != tt.want {
				t.Errorf("%q, %v", names, err)
			}
			if got.Method != "GET" || got.URL.String() != tt.path || got.Header.Get("X-Own") != "1" || got.Header.Get("User-Agent") != "u/1" {
				t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
			}
			key, other := "Authorization", "X-Api-Key"
			if tt.messages {
				key, other = other, key
			}
			if !strings.HasSuffix(got.Header.Get(key), "sk-0123456789") || got.Header.Get(other) != "" || tt.messages != (got.Header.Get("Anthropic-Version") != "") {
				t.Errorf("keys: %v", got.Header)
			}
		})
	}
}

func TestBearer(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		io.WriteString(w, `{"data":[{"id":"m"}]}`)
	}))
	defer s.Close()
	if _, err := Names(t.Context(), model.Config{Provider: "p", BaseURL: s.URL, APIKey: "token", Bearer: true}, true); err != nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "Bearer token" || got["X-Api-Key"] != nil {
		t.Errorf("%v went out", got)
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		kind       model.Kind
	}{
		{"key refused", `{"error":{"message":"bad key sk-0123456789"}}`, 401, model.KindAuth},
		{"no such address", `not found`, 404, model.KindNotFound},
		{"page", `<html>`, 200, model.KindMalformed},
		{"key refused with 200", `{"error":{"message":"Invalid API key sk-0123456789"}}`, 200, model.KindAuth},
		{"other JSON", `{"x":1}`, 200, model.KindMalformed},
		{"redirect elsewhere", "", 307, model.KindTransport},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			}))
			defer s.Close()
			_, err := Names(t.Context(), model.Config{Provider: "p", BaseURL: s.URL, APIKey: "sk-0123456789"}, false)
			var e *model.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || strings.Contains(e.Message, "sk-0123456789") {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := Names(t.Context(), model.Config{Provider: "p", BaseURL: "ftp://x"}, false); err == nil {
		t.Error("ftp")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Names(ctx, model.Config{Provider: "p", BaseURL: "http://127.0.0.1:1"}, false); err == nil {
		t.Error("a context that has ended")
	}
}
