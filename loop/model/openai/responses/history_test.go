package responses

import (
	"math/rand/v2"
	"testing"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wiretest"
)

func writing(t testing.TB, cfg model.Config, refused func() without) wiretest.Writing {
	c := client(t, cfg)
	var w without
	return wiretest.Writing{
		Next: func(req *model.Request) ([][]byte, error) {
			w = refused()
			known := c.history.Take(req.SessionID)
			body, err := c.write(req, w, known)
			c.history.Keep(known)
			return body, err
		},
		Anew: func(req *model.Request) ([]byte, error) { return c.encode(req, w) },
	}
}

func TestHistoryChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	refused := func() without { return without{reasoning: r.IntN(16) == 0, summary: r.IntN(16) == 0} }
	openai.Histories(t, func() wiretest.Writing { return writing(t, model.Config{APIKey: "k"}, refused) })
	// Images of results are sent by users, and one vendor does not read what another
	// has sealed.
	gateway := wiretest.Wire{Provider: "gate", Models: []string{"m", "n"}}
	gateway.Histories(t, func() wiretest.Writing {
		return writing(t, model.Config{Provider: "gate", BaseURL: "http://h/v1", Info: &model.Info{Images: true}}, refused)
	})
}
