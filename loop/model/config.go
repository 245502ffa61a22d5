package model

import (
	"net/http"
	"time"
)

// Config says which endpoint a client talks to, whatever wire that speaks. The zero
// value of a field is its default.
type Config struct {
	// Provider is the name in model references and logs. Those that a wire was made
	// for bring their address and key name to it, any other needs BaseURL.
	Provider string
	// BaseURL is the address below which the wire's own path lies.
	BaseURL string
	// APIKey goes out as the wire has it; empty sends none, which only an own
	// BaseURL accepts.
	APIKey string
	// Bearer sends APIKey as Authorization: Bearer where the wire has another header
	// for it, as gateways want it.
	Bearer bool
	// KeyName is the environment variable that errors tell people to set. Without one
	// it is named after the provider, where there is a key or the address is its own.
	KeyName string
	// Model is asked for when a request names none.
	Model string
	// Headers go out with each request.
	Headers map[string]string
	// UserAgent names the program.
	UserAgent string
	// HTTPClient carries the requests.
	HTTPClient *http.Client
	// IdleTimeout is the longest silence of a stream, two minutes by default; any
	// bytes count as activity, comments included: DeepSeek sends them while a
	// request waits for its turn. It also bounds the wait for the answer's head. Of
	// keep-alives alone there may be three times as much, and 15 minutes at least.
	IdleTimeout time.Duration
	// MaxTokens bounds the output of requests that set no bound.
	MaxTokens int64
	// Info overrides what the wire knows of the model.
	Info *Info
	// Now tells the time, for Retry-After.
	Now func() time.Time
}
