package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"acp-agent/hooks"
	"acp-agent/loop/model"
	"acp-agent/session"
)

// The config options that a session's log keeps (session.ConfigSet.ID).
const (
	ConfigModel  = "model"
	ConfigEffort = "effort"
	ConfigMode   = "mode"
	ConfigCwd    = session.ConfigCwd
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

// checkEffort has the person told of a configured effort that the model does not
// have. It stays in force: adapters take the nearest that there is.
func (s *Session) checkEffort() {
	effort := s.effort()
	_, info, err := s.cfg.Models.Client(s.modelRef())
	if effort == "" || err != nil || len(info.Efforts) == 0 || slices.Contains(info.Efforts, effort) {
		return
	}
	s.cfg.Notices = append(s.cfg.Notices, session.Notice{
		Severity: "info", Text: EffortNote(info, effort), Source: session.Source{Kind: session.SourceAgent},
	})
}

// EffortNote says what becomes of an effort that a model does not have.
func EffortNote(info model.Info, effort string) string {
	return fmt.Sprintf("The model %s has no effort %q: the nearest of %s is used.", info.Ref, effort, strings.Join(info.Efforts, ", "))
}

// Settings are a session's settings in force.
type Settings struct{ Mode, Model, Effort, Cwd string }

// Settings returns the settings in force.
func (s *Session) Settings(ctx context.Context) (Settings, error) {
	var out Settings
	err := s.Do(ctx, func(*session.State) error {
		out = Settings{Mode: s.Mode(), Model: s.modelRef(), Effort: s.effort(), Cwd: s.cwd()}
		return nil
	})
	return out, err
}

// Model returns what is known of the model in use.
func (s *Session) Model(ctx context.Context) (model.Info, error) {
	var info model.Info
	err := s.Do(ctx, func(*session.State) error {
		var err error
		_, info, err = s.cfg.Models.Client(s.modelRef())
		return err
	})
	return info, err
}

// SetModel switches the model from the next request on. PreModelSwitch hooks may
// refuse it: the error then is a *Refused.
func (s *Session) SetModel(ctx context.Context, ref, effort string, src session.Source) error {
	return s.Do(ctx, func(*session.State) error {
		from := s.modelRef()
		_, name, _ := strings.Cut(ref, "/")
		_, old, _ := strings.Cut(from, "/")
		fields := map[string]any{"from_model": old, "to_model": name, "requested_model": name, "source": "picker"}
		s.cacheFields(fields, ref)
		if from != ref && s.hasHooks(hooks.PreModelSwitch) {
			c := &hooks.Call{Event: hooks.PreModelSwitch, Fields: fields}
			s.fill(c)
			out, err := s.fire(ctx, c, s.turnNumber())
			if err != nil {
				return err
			}
			if out.Blocked || out.Halted || out.Decision == hooks.Deny {
				return &Refused{Reason: denyText(out)}
			}
		}
		data := []session.Data{&session.ConfigSet{ID: ConfigModel, Value: ref, Source: src}}
		if effort != s.effort() {
			data = append(data, &session.ConfigSet{ID: ConfigEffort, Value: effort, Source: src})
		}
		if err := s.append(data...); err != nil {
			return err
		}
		if from != ref && s.hasHooks(hooks.PostModelSwitch) {
			c := &hooks.Call{Event: hooks.PostModelSwitch, Fields: fields}
			s.fill(c)
			out, err := s.fire(ctx, c, s.turnNumber())
			if err != nil {
				return err
			}
			s.keep(out.Contexts, hooks.PostModelSwitch)
		}
		return s.commit(ctx)
	})
}

// cacheTTL is how long a provider keeps a prompt's cache at least.
const cacheTTL = 5 * time.Minute

// cacheFields say what a switch to the model costs: the context that its cache
// has to be filled with (Claude Code hooks reference, events, PreModelSwitch).
func (s *Session) cacheFields(fields map[string]any, ref string) {
	var tokens int64
	if s.state.Used != nil {
		tokens = s.state.Used.Usage.Context()
	}
	cost, pricing := 0.0, "default"
	if _, info, err := s.cfg.Models.Client(ref); err == nil && info.Price != nil {
		cost, pricing = float64(tokens)*info.Price.CacheWrite/1e6, "catalog"
	}
	fields["context_tokens"], fields["cache_ttl"], fields["pricing"] = tokens, "5m", pricing
	fields["prompt_cache_warm"] = tokens > 0 && s.cfg.Now().Sub(s.state.Updated) < cacheTTL
	fields["estimated_cache_write_usd"] = cost
}

// SetCwd moves the session to another directory, when it is loaded with one.
func (s *Session) SetCwd(ctx context.Context, dir string) error {
	return s.Do(ctx, func(*session.State) error {
		old := s.cwd()
		if old == dir {
			return nil
		}
		if err := s.append(&session.ConfigSet{ID: ConfigCwd, Value: dir, Source: session.Source{Kind: session.SourceClient}}); err != nil {
			return err
		}
		if s.hasHooks(hooks.CwdChanged) {
			c := &hooks.Call{Event: hooks.CwdChanged, Fields: map[string]any{"old_cwd": old, "new_cwd": dir}}
			s.fill(c)
			if _, err := s.fire(ctx, c, s.turnNumber()); err != nil {
				return err
			}
		}
		return s.commit(ctx)
	})
}

// Refused is a change that a hook did not let through.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return e.Reason }

// head is the head of the next request. The bound of the output is left to the
// adapter, which knows the person's, the model's and the wire's.
func (s *Session) head(info model.Info) session.RequestHead {
	provider, name, ok := strings.Cut(info.Ref, "/")
	if !ok {
		provider, name, _ = strings.Cut(s.modelRef(), "/")
	}
	h := session.RequestHead{
		Config: session.Params{Provider: provider, Model: name, ReasoningEffort: s.effort()},
		System: s.cfg.System,
		Tools:  s.Tools().Schemas(),
	}
	return h
}
