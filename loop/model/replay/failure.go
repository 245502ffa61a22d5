package replay

import (
	"strconv"
	"strings"
	"time"

	"acp-agent/loop/model"
)

// failure is a failed call as our log (kind) or the reference's (code) has it.
type failure struct {
	Kind         string `json:"kind"`
	Code         string `json:"code"`
	Message      string `json:"message"`
	Status       int    `json:"status"`
	Retryable    bool   `json:"retryable"`
	RetryAfterMs int64  `json:"retryAfterMs"`
}

func (f *failure) retryAfter() time.Duration {
	return time.Duration(f.RetryAfterMs) * time.Millisecond
}

func (f *failure) error(retryable bool) *model.Error {
	kind := model.Kind(f.Kind)
	if f.Kind == "" {
		kind = kindOf(f.Code)
	}
	return &model.Error{Kind: kind, Status: f.Status, Message: f.Message, RetryAfter: f.retryAfter(), Retryable: retryable}
}

// kindOf maps the reference's error codes (deepseek-harness 0.1.1-rc.2, model client, "Errors"). An unknown code
// is a finish reason of the provider in capitals, which is the provider's fault.
func kindOf(code string) model.Kind {
	switch code {
	case "AUTH", "MISSING_CREDENTIAL", "INVALID_CREDENTIAL":
		return model.KindAuth
	case "QUOTA":
		return model.KindQuota
	case "RATE_LIMIT":
		return model.KindRateLimit
	case "CONTEXT_WINDOW_EXCEEDED":
		return model.KindContextOverflow
	case "INVALID_REQUEST":
		return model.KindInvalidRequest
	case "MODEL_NOT_FOUND":
		return model.KindNotFound
	case "OVERLOADED":
		return model.KindOverloaded
	case "TIMEOUT":
		return model.KindTimeout
	case "TRANSPORT":
		return model.KindTransport
	case "STREAM_CLOSED":
		return model.KindStreamClosed
	case "MALFORMED_RESPONSE":
		return model.KindMalformed
	case "EMPTY_RESPONSE":
		return model.KindEmpty
	case "SERVER":
		return model.KindServer
	}
	if s, ok := strings.CutPrefix(code, "HTTP_"); ok {
		switch n, _ := strconv.Atoi(s); {
		case n == 404:
			return model.KindNotFound
		case n == 408:
			return model.KindTimeout
		case n >= 400 && n < 500:
			return model.KindInvalidRequest
		}
	}
	return model.KindServer
}
