package wire

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// TestFailures holds what is made of what vendors say of a failure, with the status
// that they say it with; 0 is an event of a stream or the body of a success.
func TestFailures(t *testing.T) {
	e := &Endpoint{Name: "local", KeyName: "LOCAL_API_KEY", Now: time.Now}
	const openRouter = `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.\"}}","provider_name":"Poolside"}}}`
	tests := []struct {
		name   string
		status int
		body   string
		kind   model.Kind
		after  time.Duration
		says   string
	}{
		{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, model.KindContextOverflow, 0, ""},
		{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 268536)","type":"invalid_request_error"}}`, model.KindContextOverflow, 0, ""},
		{"Alibaba", 400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"}}`, model.KindContextOverflow, 0, ""},
		{"Z.ai", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, model.KindContextOverflow, 0, ""},
		{"Z.ai, in a stream", 0, `{"error":{"code":"1261","message":"tokens in request more than max tokens allowed"}}`, model.KindContextOverflow, 0, ""},
		{"GitHub", 400, `{"error":{"message":"prompt token count of 140000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, model.KindContextOverflow, 0, ""},
		{"vLLM", 400, `{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","code":400}`, model.KindContextOverflow, 0, ""},
		{"TGI", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193\"}", model.KindContextOverflow, 0, ""},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`, model.KindContextOverflow, 0, ""},
		{"behind OpenRouter", 400, openRouter, model.KindContextOverflow, 0, "Provider returned error: Input length 131393"},
		{"behind OpenRouter, in a stream", 0, openRouter, model.KindContextOverflow, 0, ""},
		{"Z.ai's own number", 0, `{"error":{"code":"1302","message":"Rate limit reached for requests"}}`, model.KindRateLimit, 0, ""},
		{"MiniMax", 0, `{"status_code":1008,"status_msg":"insufficient balance"}`, model.KindQuota, 0, "top up"},
		{"MiniMax, with a status", 500, `{"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"}}`, model.KindQuota, 0, "top up"},
		{"MiniMax, key", 0, `{"status_code":1004,"status_msg":"login fail: Please carry the API secret key"}`, model.KindAuth, 0, "LOCAL_API_KEY"},
		{"Groq", 429, `{"error":{"message":"Rate limit reached for model on tokens per minute (TPM): Limit 6000. Please try again in 7.66s. Need more tokens? Upgrade at https://console.groq.com/settings/billing","code":"rate_limit_exceeded"}}`, model.KindRateLimit, 7660 * time.Millisecond, ""},
		{"Gemini", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\nPlease retry in 34.5s.","status":"RESOURCE_EXHAUSTED"}}]`, model.KindRateLimit, 34500 * time.Millisecond, ""},
		{"OpenAI", 429, `{"error":{"message":"Rate limit reached. Please try again in 1m2s. Visit https://platform.openai.com/account/rate-limits"}}`, model.KindRateLimit, 62 * time.Second, ""},
		{"OpenAI, ms", 429, `{"error":{"message":"Please try again in 20ms."}}`, model.KindRateLimit, 20 * time.Millisecond, ""},
		{"Azure", 429, `{"error":{"message":"Please retry after 59 seconds."}}`, model.KindRateLimit, 59 * time.Second, ""},
		{"in words", 429, `{"error":{"message":"Please try again in a few minutes."}}`, model.KindRateLimit, 0, ""},
		{"out of quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details."}}`, model.KindQuota, 0, ""},
		{"Google's wrong key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.KindAuth, 0, "LOCAL_API_KEY"},
		{"Cloudflare", 400, `{"errors":[{"message":"AiError: Bad input","code":5006}],"success":false,"result":{},"messages":[]}`, model.KindInvalidRequest, 0, "(HTTP 400): AiError: Bad input"},
		{"Amazon", 403, `{"Message":"User is not authorized"}`, model.KindAuth, 0, "(HTTP 403): User is not authorized"},
		{"where", 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"name"],"msg":"Extra inputs are not permitted"}]}}`, model.KindInvalidRequest, 0, "body.messages.2.name: Extra inputs are not permitted"},
		{"no effort", 400, `{"error":{"message":"property 'reasoning_effort' is unsupported"}}`, model.KindInvalidRequest, 0, "ACP_AGENT_EFFORT"},
		{"no tools", 400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`, model.KindInvalidRequest, 0, "a model that can call tools"},
		{"no tools, OpenRouter", 404, `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, model.KindNotFound, 0, "a model that can call tools"},
		{"too large", 413, `<html>Request Entity Too Large</html>`, model.KindInvalidRequest, 0, "start a new session"},
		{"not for this key", 403, `{"error":{"message":"Country, region, or territory not supported"}}`, model.KindAuth, 0, "refused access"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := e.Said([]byte(tt.body))
			if tt.status != 0 {
				err = e.StatusError(tt.status, http.Header{}, []byte(tt.body))
			}
			if err.Kind != tt.kind || err.RetryAfter != tt.after || err.Retryable != tt.kind.Retryable() {
				t.Errorf("got %s after %s, want %s after %s: %s", err.Kind, err.RetryAfter, tt.kind, tt.after, err.Message)
			}
			if !contains(err.Message, tt.says) {
				t.Errorf("%q does not say %q", err.Message, tt.says)
			}
		})
	}
}

func TestLongWait(t *testing.T) {
	e := &Endpoint{Name: "local", Now: time.Now}
	for after, says := range map[string]string{"30": "slow", "5400": "slow: try again in 1h30m0s"} {
		if err := e.StatusError(429, http.Header{"Retry-After": {after}}, []byte(`{"error":"slow"}`)); !strings.HasSuffix(err.Message, says) {
			t.Errorf("%s s: %s", after, err.Message)
		}
	}
}

func contains(s, sub string) bool { return sub == "" || containsAny(s, sub) }

func TestFinish(t *testing.T) {
	e := &Endpoint{Name: "local"}
	for reason, want := range map[string]session.FinishKind{
		"stop": session.FinishStop, "STOP": session.FinishStop, "end_turn": session.FinishStop, "eos_token": session.FinishStop, "tool_use": session.FinishStop,
		"length": session.FinishMaxTokens, "MAX_TOKENS": session.FinishMaxTokens, "model_length": session.FinishMaxTokens, "model_context_window_exceeded": session.FinishMaxTokens,
		"content_filter": session.FinishRefusal, "sensitive": session.FinishRefusal, "SAFETY": session.FinishRefusal,
		"network_error": "", "abort": "", "error": "", "function_call_filter: MALFORMED_FUNCTION_CALL": "",
	} {
		if got := Finish(reason); got != want {
			t.Errorf("%s is %q, want %q", reason, got, want)
		}
		if err := e.Unfinished(reason, true); (err != nil) != (want == "") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	if err := e.Unfinished("model_context_window_exceeded", false); err == nil || err.Kind != model.KindContextOverflow {
		t.Errorf("a full window: %v", err)
	}
}

// Where no key is configured there is no variable to set and nothing to log in with.
func TestFailureWithoutKey(t *testing.T) {
	e := &Endpoint{Name: "local", Now: time.Now}
	for _, status := range []int{401, 403} {
		err := e.Failure(&Failure{Message: "no"}, status)
		if err.Kind != model.KindAuth || !strings.Contains(err.Message, "api_key_env of [providers.local]") || strings.Contains(err.Message, "login") {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A proxy that looks into what is encrypted is the common cause, and a retry is none
// of the cures.
func TestUnknownAuthority(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	_, err := DefaultClient().Get(s.URL)
	e := &Endpoint{Name: "local", Host: "model.example", Now: time.Now}
	if got := e.TransportError(err); got.Retryable || !strings.HasPrefix(got.Message, "cannot reach model.example: tls: failed to verify certificate") || !strings.Contains(got.Message, "authority's certificate") {
		t.Errorf("%+v", got)
	}
}
