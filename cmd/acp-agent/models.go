package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"acp-agent/cmd/acp-agent/internal/config"
	"acp-agent/loop"
	"acp-agent/loop/model"
	"acp-agent/loop/model/anthropic"
	"acp-agent/loop/model/openai"
	"acp-agent/loop/model/openai/responses"
	"acp-agent/loop/model/replay"
	"acp-agent/session"
)

// models makes clients by name and keeps them: sessions of one model share its
// connections. It implements loop.Models.
type models struct {
	cfg    *config.Config
	log    *slog.Logger
	replay *replay.Replay
	record *recorder

	mu      sync.Mutex
	clients map[string]modelClient
	// listed is what known last returned, at listedAt. It is never changed.
	listed   []model.Info
	listedAt time.Time
}

type modelClient struct {
	client model.Client
	info   model.Info
}

// replayRef is how a replayed model is called in a log: the recording's place
// is no property of the session.
const replayRef = "replay/recorded"

func newModels(cfg *config.Config, log *slog.Logger) (*models, error) {
	m := &models{cfg: cfg, log: log, clients: map[string]modelClient{}}
	if cfg.Model.Provider == config.Replay {
		r, err := replay.Open(cfg.Model.Name)
		if err != nil {
			return nil, &config.Error{What: err.Error(), Do: "name a session.jsonl or a scenario folder after replay:"}
		}
		m.replay = r
	}
	if path := cfg.Getenv("ACP_AGENT_REQUESTS"); path != "" {
		rec, err := newRecorder(path)
		if err != nil {
			return nil, err
		}
		m.record = rec
	}
	return m, nil
}

// defaultRef is the model that new sessions start with. The error says which
// variable or file to set.
func (m *models) defaultRef() (string, error) {
	if m.replay != nil {
		return replayRef, nil
	}
	ref, err := m.cfg.ResolveModel()
	if err != nil {
		return "", err
	}
	if _, err := m.cfg.Key(ref.Provider); err != nil {
		return "", err
	}
	return ref.String(), nil
}

// known are the models to choose from: the one that is set, and those of the table
// and of the config file, whose provider has a key. A replay has only itself.
//
// It is made anew once a second at the most: sessions that are opened together
// ask for the same list, and it reads the stored keys.
func (m *models) known() []model.Info {
	if m.replay != nil {
		return []model.Info{m.replayInfo()}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listed == nil || time.Since(m.listedAt) > time.Second {
		m.listed, m.listedAt = m.list(), time.Now()
	}
	return m.listed
}

func (m *models) list() []model.Info {
	out := []model.Info{}
	for _, name := range m.cfg.ProviderNames() {
		if _, err := m.cfg.Key(name); err != nil {
			continue
		}
		p, err := m.cfg.Provider(name)
		if err != nil {
			continue
		}
		names := m.names(p)
		if set := m.cfg.Model; set.Provider == name && !slices.Contains(names, set.Name) {
			names = slices.Insert(names, 0, set.Name) // a session that has left it can go back
		}
		for _, n := range names {
			info := lookup(p, n)
			info.Ref = name + "/" + n
			out = append(out, info)
		}
	}
	return out
}

func (m *models) replayInfo() model.Info {
	window, output := m.replay.Window()
	return model.Info{Ref: replayRef, Images: true, Window: window, Budget: output}
}

// retry is the retry policy: a replay waits for nothing.
func (m *models) retry(max int) loop.RetryPolicy {
	p := loop.RetryPolicy{Max: max, Base: 500 * time.Millisecond, Cap: 10 * time.Second, MaxAfter: 60 * time.Second}
	if m.replay != nil {
		p.Base, p.Cap = time.Millisecond, time.Millisecond
	}
	return p
}

// Client implements loop.Models.
func (m *models) Client(ref string) (model.Client, model.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.clients[ref]; ok {
		return c.client, c.info, nil
	}
	c, err := m.make(ref)
	if err != nil {
		return nil, model.Info{}, err
	}
	if m.record != nil {
		c.client = &recording{next: c.client, to: m.record}
	}
	m.clients[ref] = c
	return c.client, c.info, nil
}

func (m *models) make(ref string) (modelClient, error) {
	if m.replay != nil {
		return modelClient{m.replay, m.replayInfo()}, nil
	}
	r, err := config.ParseModel(ref)
	if err != nil {
		return modelClient{}, &model.Error{Kind: model.KindInvalidRequest, Message: err.Error()}
	}
	p, err := m.cfg.Provider(r.Provider)
	if err != nil {
		return modelClient{}, &model.Error{Kind: model.KindInvalidRequest, Message: err.Error()}
	}
	key, err := m.cfg.Key(r.Provider)
	if err != nil {
		return modelClient{}, &model.Error{Kind: model.KindAuth, Message: err.Error()}
	}
	return m.adapter(r, p, key)
}

// names are a provider's models to offer: those of its config, then those that
// the tables know.
func (m *models) names(p config.Provider) []string {
	names := slices.Clone(p.Models)
	known := openai.Known(p.Name)
	switch p.Wire {
	case config.WireMessages:
		known = anthropic.Known(p.Name)
	case config.WireResponses:
		known = responses.Known(p.Name)
	}
	for _, info := range known {
		_, n, _ := strings.Cut(info.Ref, "/")
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// lookup is what is known of a provider's model; what it can do depends on the
// wire, too, and what a person says of it stands.
func lookup(p config.Provider, name string) model.Info {
	var info model.Info
	switch p.Wire {
	case config.WireMessages:
		info = anthropic.Lookup(p.Name, name)
	case config.WireResponses:
		info = responses.Lookup(p.Name, name)
	default:
		info = openai.Lookup(p.Name, name)
	}
	if p.Window > 0 {
		info.Window = p.Window
	}
	if p.Images != nil {
		info.Images = *p.Images
	}
	return info
}

// finish fails when a recording was not used up, or was asked for too much.
func (m *models) finish() error {
	if m.record != nil {
		if err := m.record.close(); err != nil {
			return err
		}
	}
	if m.replay == nil {
		return nil
	}
	return m.replay.Check()
}

// recorder writes each request that a model is sent, as projected, one JSON
// object a line (ACP_AGENT_REQUESTS, for snapshots).
type recorder struct {
	mu       sync.Mutex
	f        *os.File
	w        *bufio.Writer
	sessions map[string]int
}

func newRecorder(path string) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, &config.Error{What: "opening the request record " + path + ": " + reason(err), Do: "set ACP_AGENT_REQUESTS to a writable file or unset it"}
	}
	return &recorder{f: f, w: bufio.NewWriter(f), sessions: map[string]int{}}, nil
}

func (r *recorder) write(req *model.Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.sessions[req.SessionID]
	if !ok {
		n = len(r.sessions) + 1
		r.sessions[req.SessionID] = n
	}
	enc := json.NewEncoder(r.w)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Session  int                 `json:"session"`
		ID       string              `json:"sessionId"`
		Turn     int                 `json:"turn"`
		Step     int                 `json:"step"`
		Attempt  int                 `json:"attempt"`
		Handler  string              `json:"handler,omitempty"`
		Head     session.RequestHead `json:"head"`
		Messages []session.Message   `json:"messages"`
	}{n, req.SessionID, req.Turn, req.Step, req.Attempt, req.Handler, req.Head, req.Messages})
	if err != nil {
		return err
	}
	return r.w.Flush()
}

func (r *recorder) close() error { return r.f.Close() }

// recording is a model client that records its requests.
type recording struct {
	next model.Client
	to   *recorder
}

// Stream implements model.Client.
func (c *recording) Stream(ctx context.Context, req *model.Request) iter.Seq2[session.Chunk, error] {
	if err := c.to.write(req); err != nil {
		return func(yield func(session.Chunk, error) bool) {
			yield(session.Chunk{}, model.Errorf(model.KindReplay, "recording the request: %w", err))
		}
	}
	return c.next.Stream(ctx, req)
}

// adapter makes the client of a provider's wire.
func (m *models) adapter(r config.ModelRef, p config.Provider, key string) (modelClient, error) {
	var c model.Client
	var err error
	known := lookup(p, r.Name)
	cfg := model.Config{
		Provider: p.Name, BaseURL: p.BaseURL, APIKey: key, Bearer: p.Bearer, Model: r.Name, Headers: p.Headers, KeyName: p.KeyEnv, UserAgent: agentName + "/" + version(),
		IdleTimeout: m.cfg.Limits.IdleTimeout, MaxTokens: m.cfg.Limits.MaxTokens, Info: &known,
	}
	switch p.Wire {
	case config.WireChat:
		c, err = openai.New(cfg)
	case config.WireMessages:
		c, err = anthropic.New(cfg)
	case config.WireResponses:
		c, err = responses.New(cfg)
	default:
		return modelClient{}, &model.Error{Kind: model.KindInvalidRequest, Message: fmt.Sprintf("the provider %s speaks the wire %q, which this version does not: use a provider with wire = %q, %q or %q",
			p.Name, p.Wire, config.WireChat, config.WireMessages, config.WireResponses)}
	}
	if err != nil {
		return modelClient{}, err
	}
	info := known
	info.Ref = r.String()
	if n := m.cfg.Limits.MaxTokens; n > 0 {
		info.Budget = n
	}
	return modelClient{c, info}, nil
}
