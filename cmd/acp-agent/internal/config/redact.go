package config

import (
	"io"
	"strings"
	"sync"
)

// Redacted stands in logs where a key stood.
const Redacted = "[redacted]"

// Redact replaces every known key in s.
func (c *Config) Redact(s string) string {
	for _, secret := range c.Secrets() {
		s = strings.ReplaceAll(s, secret, Redacted)
	}
	return s
}

// Redactor returns Redact with the keys looked up once, at the first use, for
// what is called often.
func (c *Config) Redactor() func(string) string {
	secrets := sync.OnceValue(c.Secrets)
	return func(s string) string {
		for _, secret := range secrets() {
			s = strings.ReplaceAll(s, secret, Redacted)
		}
		return s
	}
}

// RedactWriter wraps w so that no known key is written to it. The keys are
// looked up at the first write. A key that is split over two writes is not seen:
// use it for writers that get whole lines, as loggers write.
func (c *Config) RedactWriter(w io.Writer) io.Writer {
	return &redactWriter{w: w, secrets: sync.OnceValue(c.Secrets)}
}

type redactWriter struct {
	w       io.Writer
	secrets func() []string
}

func (r *redactWriter) Write(p []byte) (int, error) {
	s := string(p)
	for _, secret := range r.secrets() {
		s = strings.ReplaceAll(s, secret, Redacted)
	}
	if _, err := io.WriteString(r.w, s); err != nil {
		return 0, err
	}
	return len(p), nil
}
