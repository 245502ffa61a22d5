package openai

import (
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

var deepseek = wiretest.Wire{Provider: "deepseek", Models: []string{"deepseek-v4-flash", "deepseek-v4-pro"}}

func writing(t testing.TB, cfg Config) wiretest.Writing {
	c := client(t, cfg)
	return wiretest.Writing{
		Next: func(req *model.Request) ([][]byte, error) {
			known := c.history.Take(req.SessionID)
			body, err := c.write(req, known)
			c.history.Keep(known)
			return body, err
		},
		Anew: c.encode,
	}
}

func TestHistoryChangesNothing(t *testing.T) {
	deepseek.Histories(t, func() wiretest.Writing { return writing(t, Config{Provider: "deepseek", APIKey: "k"}) })
}

func BenchmarkEncodeNext(b *testing.B) {
	deepseek.EncodeNext(b, func() wiretest.Writing { return writing(b, Config{Provider: "deepseek", APIKey: "k"}) })
}
