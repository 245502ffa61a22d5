// Package list asks an endpoint which models it serves. All wires have that
// request, and much the same answer; a session never needs it.
package list

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"acp-agent/loop/model"
	"acp-agent/loop/model/internal/wire"
)

// maxAnswer bounds what is read of an answer: gateways list some hundred models
// with a description each.
const maxAnswer = 8 << 20

// Names returns the names of the models, as the endpoint orders them. messages: it
// speaks the Messages wire. The error is a *model.Error.
//
// Sources: platform.openai.com/docs/api-reference/models/list,
// api-docs.deepseek.com/api/list-models, docs.claude.com/en/api/models-list.
func Names(ctx context.Context, c model.Config, messages bool) ([]string, error) {
	suffixes, path := []string{"/chat/completions", "/responses"}, "models"
	if messages {
		suffixes, path = []string{"/messages", "/v1"}, "v1/models"
	}
	addr, end, err := wire.Open(&c, "", suffixes...)
	if err != nil {
		return nil, &model.Error{Kind: model.KindInvalidRequest, Message: err.Error()}
	}
	header := http.Header{}
	if c.UserAgent != "" {
		header.Set("User-Agent", c.UserAgent)
	}
	if messages {
		header.Set("Anthropic-Version", "2023-06-01")
		addr.Query.Set("limit", "1000") // the most there is; the usual is 20
	}
	for k, v := range c.Headers {
		header.Set(k, v)
	}
	if c.APIKey != "" && header.Get("Authorization") == "" {
		if messages && !c.Bearer {
			header.Set("X-Api-Key", c.APIKey)
		} else {
			header.Set("Authorization", "Bearer "+c.APIKey)
		}
	}
	p, err := wire.NewPoster(c.HTTPClient, addr, path, header)
	if err != nil {
		return nil, &model.Error{Kind: model.KindInvalidRequest, Message: err.Error()}
	}
	res, err := p.Get(ctx)
	if err != nil {
		return nil, end.TransportError(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, end.TransportError(err)
	case res.StatusCode >= 300:
		return nil, end.StatusError(res.StatusCode, res.Header, body)
	}
	names, ok := read(body)
	if f := wire.ReadFailure(body); !ok && f.Message != "" {
		return nil, end.Said(body) // with the status of a success
	}
	if !ok {
		return nil, model.Errorf(model.KindMalformed, "%s answered with something that is no list of models: check the base URL", c.Provider)
	}
	return names, nil
}

// read takes {"data":[{"id":…}]}, the list alone, and {"models":[…]} with a name
// or an id (Ollama's and Gemini's own).
func read(body []byte) ([]string, bool) {
	type item struct{ ID, Name string }
	var list []item
	if json.Unmarshal(body, &list) != nil {
		var v struct{ Data, Models []item }
		if json.Unmarshal(body, &v) != nil || v.Data == nil && v.Models == nil {
			return nil, false
		}
		list = slices.Concat(v.Data, v.Models)
	}
	names := []string{}
	for _, m := range list {
		name := m.ID
		if name == "" {
			name = m.Name
		}
		name = strings.TrimPrefix(name, "models/") // Gemini's, which are asked for without
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, true
}
