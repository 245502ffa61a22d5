package loop

import (
	"strings"

	"acp-agent/loop/model"
	"acp-agent/session"
)

// The config options that a session's log keeps (session.ConfigSet.ID).
const (
	ConfigModel  = "model"
	ConfigEffort = "effort"
	ConfigMode   = "mode"
	ConfigCwd    = "cwd"
)

// modelRef is the model in use: the log's, else the configured one.
func (s *Session) modelRef() string {
	if v := s.state.Config[ConfigModel]; v != "" {
		return v
	}
	return s.cfg.ModelRef
}

// cwd is the working directory in force: that of the last load, else the
// header's.
func (s *Session) cwd() string {
	if v := s.state.Config[ConfigCwd]; v != "" {
		return v
	}
	return s.state.Header.Cwd
}

func (s *Session) effort() string {
	if v, ok := s.state.Config[ConfigEffort]; ok {
		return v
	}
	return s.cfg.Effort
}

// head is the head of the next request.
func (s *Session) head(info model.Info) session.RequestHead {
	provider, name, ok := strings.Cut(info.Ref, "/")
	if !ok {
		provider, name, _ = strings.Cut(s.modelRef(), "/")
	}
	h := session.RequestHead{
		Config: session.Params{Provider: provider, Model: name, ReasoningEffort: s.effort(), MaxTokens: info.MaxOutput},
		System: s.cfg.System,
		Tools:  s.cfg.Tools.Schemas(),
	}
	return h
}
