package wire

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"acp-agent/loop/model"
)

// Open fills in what a configuration leaves out, takes its address apart, and says
// what errors and streams need to know of the endpoint. home is the address of the
// provider that the wire was made for, "" for any other; suffixes are ParseAddress's.
func Open(cfg *model.Config, home string, suffixes ...string) (Address, Endpoint, error) {
	fixed := cfg.BaseURL == ""
	if cfg.BaseURL = cmp.Or(cfg.BaseURL, home); cfg.BaseURL == "" {
		return Address{}, Endpoint{}, fmt.Errorf("model provider %q: no base URL is configured", cfg.Provider)
	}
	addr, err := ParseAddress(cfg.Provider, cfg.BaseURL, suffixes...)
	if err != nil {
		return Address{}, Endpoint{}, err
	}
	if cfg.KeyName == "" && (fixed || cfg.APIKey != "") {
		cfg.KeyName = EnvName(cfg.Provider)
	}
	if cfg.IdleTimeout <= 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = DefaultClient()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	end := Endpoint{Name: cfg.Provider, Host: addr.Host, KeyName: cfg.KeyName, Idle: cfg.IdleTimeout, Now: cfg.Now}
	end.AddSecret(addr.Secrets...)
	end.AddSecret(cfg.APIKey)
	for _, v := range cfg.Headers {
		end.AddSecret(v)
	}
	return addr, end, nil
}

// Bearer are the headers of OpenAI's wires: the key as a bearer token, unless the
// configuration has an Authorization of its own.
func Bearer(cfg *model.Config) http.Header {
	header := http.Header{}
	if cfg.APIKey != "" {
		header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	if cfg.UserAgent != "" {
		header.Set("User-Agent", cfg.UserAgent)
	}
	for k, v := range cfg.Headers {
		header.Set(k, v)
	}
	return header
}
