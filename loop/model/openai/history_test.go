package openai

import (
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

func writing(t testing.TB) wiretest.Writing {
	c := client(t, model.Config{Provider: "deepseek", APIKey: "k"})
	return wiretest.Writing{
		Next: func(req *model.Request) ([][]byte, error) {
			known := c.history.Take(req.SessionID)
			body, err := c.write(req, 0, known)
			c.history.Keep(known)
			return body, err
		},
		Anew: c.encode,
	}
}

func TestHistoryChangesNothing(t *testing.T) {
	chat.Histories(t, func() wiretest.Writing { return writing(t) })
}
