package anthropic

import (
	"math/rand/v2"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

func writing(t testing.TB, cfg model.Config, refused func() bool) wiretest.Writing {
	c := client(t, cfg)
	bare := false
	return wiretest.Writing{
		Next: func(req *model.Request) ([][]byte, error) {
			bare = refused()
			known := c.history.Take(req.SessionID)
			body, _, err := c.write(req, nil, terms{bare: bare}, known)
			c.history.Keep(known)
			return body, err
		},
		Anew: func(req *model.Request) ([]byte, error) {
			body, _, err := c.encode(req, nil, terms{bare: bare})
			return body, err
		},
	}
}

func TestHistoryChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	refused := func() bool { return r.IntN(16) == 0 }
	messages.Histories(t, func() wiretest.Writing { return writing(t, model.Config{APIKey: "k"}, refused) })
	gateway := wiretest.Wire{Provider: "gate", Models: []string{"m", "n"}}
	gateway.Histories(t, func() wiretest.Writing {
		return writing(t, model.Config{Provider: "gate", BaseURL: "http://h/v1", Info: &model.Info{Images: true}}, refused)
	})
}
